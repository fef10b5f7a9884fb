/* The attention weights of one forward pass. */
#ifndef INSPECT_ATTEND_CAPTURE_H
#define INSPECT_ATTEND_CAPTURE_H

#include "heed/model.h"

/* Runs the model without gradients; *maps: all attention of it, in the order in which it was computed, whatever fails.
 */
bool attend_capture(heed_ctx *cx, const heed_model *model, const heed_io *in, heed_capture_map **maps, int *n);
void attend_capture_free(heed_ctx *cx, heed_capture_map *maps, int n);

#endif
