/* Masked pictures (SimMIM: Xie et al. 2022), of ViT and Swin: patches that are hidden behind a token, and a decoder
 * that makes the pixels of each token's place. */
#ifndef MODEL_VISION_MASKED_PICTURES_H
#define MODEL_VISION_MASKED_PICTURES_H

#include "model/core/inputs.h"
#include "model/vision/patches.h"

#define MASKED_POSITIONS "bool_masked_pos" /* (B,h w): not 0 where a patch is hidden */

/* The decoder, a convolution of 1 x 1: a product for every place, of `width` to stride x stride pixels. */
bool masked_make(heed_ctx *cx, heed_json config, heed_params *set, int64_t width, int64_t channels, heed_init init,
                 heed_linear_layer *decoder, int64_t *stride);
/* x (B,h w,E), with the token (1,1,E) where the mask of the inputs says so; x where they have none. */
heed_tensor *masked_embed(heed_ctx *cx, const heed_param *token, const heed_io *in, heed_tensor *x);
/* h (B,h w,E) of a grid: puts `reconstruction`, and with a mask `loss`, the mean distance of hidden pixels. */
bool masked_decode(heed_ctx *cx, const struct patches *p, const heed_linear_layer *decoder, int64_t stride,
                   heed_tensor *h, const int64_t grid[2], const heed_io *in, heed_io *out);
/* Inputs for plans; with a mask where stride x stride pixels are `merged` x `merged` patches, so that there is a loss.
 */
bool masked_sample(heed_ctx *cx, const struct patches *p, int64_t stride, int64_t merged, int64_t batch, heed_io *in);

#endif
