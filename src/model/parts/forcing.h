/* What a decoder reads in training: at each place the true token (teacher forcing), or the one that it predicted itself
 * from what it had read before (free running; Williams & Zipser 1989). Where both occur, the places are drawn:
 * scheduled sampling (Bengio et al. 2015), whose draws train/forcing.c makes. */
#ifndef MODEL_PARTS_FORCING_H
#define MODEL_PARTS_FORCING_H

#include "heed/model.h"

/* Reads ids (B,1), one more token of each row, and predicts the next: i32, B numbers; own goes on. */
typedef heed_tensor *(*forcing_step)(heed_ctx *cx, void *own, heed_tensor *ids);

/* ids (B,T), with the step's own tokens at the places where given (B,T) is 0, but for the first, which follows none;
 * given NULL: ids. Predictions are made without dropout, and no gradient goes through them. */
heed_tensor *forcing_tokens(heed_ctx *cx, forcing_step step, void *own, heed_tensor *ids, heed_tensor *given);
/* The most probable of logits (B,1,V) = x weight' + bias, without keeping them. */
heed_tensor *forcing_best(heed_ctx *cx, heed_tensor *x, heed_tensor *weight, heed_tensor *bias);

#endif
