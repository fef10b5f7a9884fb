/* The decoding state of recurrent networks: what model/core/stepper.h asks for, beside begin and step. */
#ifndef MODEL_PARTS_RECURRENT_STATE_H
#define MODEL_PARTS_RECURRENT_STATE_H

#include "model/core/stepper.h"

/* Of each row the states of all cells, h and then c, side by side. */
struct recurrent_state {
    float *now, *next; /* (rows, width); next: room for reorder */
    int64_t rows, width;
};

/* Room for so many rows of so many numbers; what was there is lost when there is not enough. */
bool recurrent_room(heed_ctx *cx, struct recurrent_state *state, int64_t rows, int64_t width);
/* Numbers at, at + 1, … of the first rows as a tensor (cells,rows,n), and back. */
heed_tensor *recurrent_get(heed_ctx *cx, const struct recurrent_state *state, int64_t at, int64_t cells, int64_t rows,
                           int64_t n);
bool recurrent_put(heed_ctx *cx, struct recurrent_state *state, int64_t at, heed_tensor *t);

bool recurrent_begin(heed_ctx *cx, struct recurrent_state *state, const heed_rnn *rnn, const struct stepper_begin *b);
/* x (R,T,C), of which the first counts[r] are real (NULL: all) -> (R,T,P); the state goes on. */
heed_tensor *recurrent_step(heed_ctx *cx, const heed_rnn *rnn, struct recurrent_state *state, heed_tensor *x,
                            const int32_t *counts);
bool recurrent_reorder(heed_ctx *cx, void *state, const int32_t *order, int64_t n, int64_t per);
bool recurrent_copy(heed_ctx *cx, const void *state, void *to, const int32_t *order, int64_t n, int64_t rows);
bool recurrent_rewind(heed_ctx *cx, void *state, int64_t rows);
void recurrent_end(heed_ctx *cx, void *state);
#define RECURRENT_STATE                                                                                                \
    .size = sizeof(struct recurrent_state), .reorder = recurrent_reorder, .copy = recurrent_copy,                      \
    .rewind = recurrent_rewind, .end = recurrent_end

#endif
