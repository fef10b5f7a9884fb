/* Tokens as recurrent networks read them: padding is taken to the end of the rows, wherever it was. */
#ifndef MODEL_PARTS_PACKED_TOKENS_H
#define MODEL_PARTS_PACKED_TOKENS_H

#include "heed/model.h"

struct packed_tokens {
    heed_tensor *ids;     /* (B,T) */
    heed_tensor *lengths; /* (B) of each row, f32 (B,1) too; NULL, as the others: all are tokens */
    heed_tensor *counts;
    heed_tensor *seen; /* u8 (B,T,1): a token, not padding */
    heed_tensor *back; /* (B T): from where each place of the input gets what became of it */
};

/* Of input_ids and attention_mask. */
bool packed_find(heed_ctx *cx, const heed_io *in, struct packed_tokens *tokens);
/* The rows of h (B,T,C) in another order: row i of all B T becomes what row order[i] was; h itself when order is NULL.
 */
heed_tensor *packed_order(heed_ctx *cx, heed_tensor *h, heed_tensor *order);

#endif
