/* Models of pictures in use, from the inside. */
#ifndef TASK_VISION_PICTURE_MODEL_H
#define TASK_VISION_PICTURE_MODEL_H

#include "heed/vision.h"

/* What becomes of pictures first to first + n - 1, which the model got in this height and width. */
typedef bool (*picture_take)(heed_ctx *cx, void *own, int64_t first, int64_t n, const int64_t size[2],
                             const heed_io *out);
/* Runs the model on n pictures, those of one size together; states: hidden states are wanted too. */
bool picture_model_run(heed_ctx *cx, const heed_picture_model *m, const heed_image *pictures, int64_t n, bool states,
                       picture_take take, void *own);

#endif
