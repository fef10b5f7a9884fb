/* Tables over grids of other sizes: positions of patches, and biases by distance. */
#ifndef MODEL_CORE_RESIZED_H
#define MODEL_CORE_RESIZED_H

#include "heed/model.h"

/* Weights w (to,from), zeroed, of one axis in bicubic interpolation as torch does it: row i is what point i of the new
 * grid takes of the old. smooth: with antialias. */
void resize_weights(int64_t from, int64_t to, bool smooth, float *w);

/* Positions (1, first + h w, C) may come from a file with those of another square grid, when a model is fine-tuned: by
 * the rule that their forward function has for pictures of other sizes. p may be NULL. */
bool resizable_positions(heed_ctx *cx, heed_params *set, heed_param *p, int64_t first, const int64_t grid[2],
                         bool smooth);
/* Likewise a table ((2 h - 1) (2 w - 1), heads) of biases by distance in windows of h x w, as timm does it. */
bool resizable_biases(heed_ctx *cx, heed_params *set, heed_param *p, const int64_t window[2]);

/* Tables with a row for each of `rows` tokens may come from a file that has fewer: a new row is the mean of the others.
 * Beside adapters they are trained as well. */
bool resizable_tokens(heed_ctx *cx, heed_params *set, int64_t rows);

#endif
