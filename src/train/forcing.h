/* Draws of teacher forcing, as sources make them. */
#ifndef TRAIN_FORCING_H
#define TRAIN_FORCING_H

#include "train/loop.h"

/* Whether update `step` gives the true token at a place of a row of the data. */
bool forcing_given(const heed_forcing *forcing, uint64_t seed, int64_t step, int64_t row, int64_t place);
/* Puts teacher_forcing (n,T) of these rows of the data (NULL: 0, 1, …); nothing where all is given, or forcing is NULL.
 * Where label (n,T; may be NULL) counts for nothing, padding, the token is given. */
bool forcing_put(heed_ctx *cx, const heed_forcing *forcing, uint64_t seed, int64_t step, const int64_t *row, int64_t n,
                 int64_t T, const int32_t *label, heed_io *in);
bool forcing_put_batch(heed_ctx *cx, const heed_forcing *forcing, uint64_t seed, int64_t step, const heed_batch *batch,
                       heed_io *in);
/* What a checkpoint must agree with; nothing of plain teacher forcing. */
void forcing_settings(heed_ctx *cx, const heed_forcing *forcing, heed_json at);

#endif
