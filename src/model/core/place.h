/* Where the tokens of an attention lie in a picture: what a family of pictures says of itself. */
#ifndef MODEL_CORE_PLACE_H
#define MODEL_CORE_PLACE_H

#include "heed/model.h"

struct picture_place {
    int64_t grid[2];                       /* patches, down and across */
    int64_t patch[2];                      /* pixels of one; the last may reach beyond the picture */
    int64_t query_grid[2], query_patch[2]; /* of queries that are another grid of tokens; 0: they are the keys' */
    int64_t learned; /* queries that are parameters: of attention pooling, latents; 0: tokens are the queries */
    bool late;       /* the one learned query is a class token that comes late, and the first of the keys */
    /* Tokens before the patches, in this order. */
    int64_t classes, distillations, registers;
    /* Attention within windows of window[0] x window[1] patches; 0: there are none. The grid is padded to count[0] x
     * count[1] of them, and rolled by `shift` before or after that. */
    int64_t window[2], shift[2], count[2];
    bool rolled_first;
    int stage; /* of those between which patches are merged, 2 x 2 to one */
};

#endif
