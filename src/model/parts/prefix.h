/* Decoding for models that can keep nothing of the tokens before but the tokens themselves: a step computes all of them
 * anew, at the cost of a forward pass. Rows of equal length run together, others one by one, so that a row has the same
 * bits alone and in a batch. */
#ifndef MODEL_PARTS_PREFIX_H
#define MODEL_PARTS_PREFIX_H

#include "model/core/stepper.h"

struct prefix_state {
    int64_t rows, room; /* room: tokens that a row can hold */
    int32_t *ids, *next_ids;
    int64_t *held, *next_held; /* tokens of each row */
};

/* The members of a stepper that do not know the model; it writes sizes, begin and step. */
#define PREFIX_STATE                                                                                                   \
    .size = sizeof(struct prefix_state), .reorder = prefix_reorder, .copy = prefix_copy, .rewind = prefix_rewind,      \
    .forget = prefix_forget, .end = prefix_end

bool prefix_begin(heed_ctx *cx, struct stepper_sizes sizes, void *state, const struct stepper_begin *b);
/* input_ids (R,T) -> logits (R,V) of what follows the last token */
typedef heed_tensor *prefix_run(heed_ctx *cx, const void *own, const heed_io *in);
heed_tensor *prefix_step(heed_ctx *cx, const void *own, struct stepper_sizes sizes, void *state, heed_tensor *ids,
                         const int32_t *counts, prefix_run *run);
bool prefix_reorder(heed_ctx *cx, void *state, const int32_t *order, int64_t n, int64_t per);
bool prefix_copy(heed_ctx *cx, const void *state, void *to, const int32_t *order, int64_t n, int64_t rows);
bool prefix_rewind(heed_ctx *cx, void *state, int64_t rows);
void prefix_forget(void *state, int64_t row);
void prefix_end(heed_ctx *cx, void *state);

#endif
