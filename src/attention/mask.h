/* Masks as the rest of the room sees them. */
#ifndef ATTENTION_MASK_H
#define ATTENTION_MASK_H

#include "heed/attention.h"

/* One sentence about what is wrong with a mask over (B,H,Tq,Tk), prefixed by `who`; false then. Numbers of tensors are
 * not looked at. */
bool mask_check(heed_ctx *cx, const char *who, const heed_mask *mask, int64_t batch, int64_t heads, int64_t queries,
                int64_t keys);
/* Are all lengths within [0, most]? Not asked in dry contexts. */
bool mask_check_lengths(heed_ctx *cx, const char *who, const heed_tensor *lengths, int64_t most, const char *what);

#endif
