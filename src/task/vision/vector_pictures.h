/* Pictures for models of vectors that were trained on pictures: digits, MNIST, arrays. */
#ifndef TASK_VISION_VECTOR_PICTURES_H
#define TASK_VISION_VECTOR_PICTURES_H

#include "heed/vision.h"

/* How m->model, which takes x, wants its pictures, and its labels. */
bool vector_pictures_set(heed_ctx *cx, const char *dir, heed_picture_model *m);
/* A picture as those that the model was trained on: dark on light or light on dark. Says what becomes of it. */
bool vector_pictures_adapt(heed_ctx *cx, const heed_picture_model *m, const char *path, heed_image *picture);

#endif
