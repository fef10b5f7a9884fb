/* Linear attention as models see it, beside heed/attention.h: decoding from a state, and drawn features. */
#ifndef ATTENTION_LINEAR_ATTENTION_H
#define ATTENTION_LINEAR_ATTENTION_H

#include "heed/attention.h"

/* Floats of the state of one head, whose memory is the caller's, and a state of nothing. */
int64_t linear_attention_state(int64_t features, int64_t size);
void linear_attention_clear(float *state, int64_t features, int64_t size);
/* Causal, without gradient: q (B,T,H,M) ... -> (B,T,H,E). state (B,H,linear_attention_state) holds the sums of all that
 * came before and is left with these keys in it, of row b the first counts[b] (NULL: all T). */
heed_tensor *linear_attention_step(heed_ctx *cx, heed_tensor *q, heed_tensor *k, heed_tensor *v, heed_tensor *key_shift,
                                   const int32_t *counts, float *state);

/* heed_favor_draw, of sizes that were checked. */
void favor_draw(uint64_t seed, uint64_t stream, bool orthogonal, int64_t m, int64_t size, float *w);

#endif
