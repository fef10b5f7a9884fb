/* Objects as a model gives them, and as a picture has them. */
#ifndef TASK_VISION_DETECTING_H
#define TASK_VISION_DETECTING_H

#include "heed/detect.h"

/* A list that grows. */
struct detections {
    heed_detection *at;
    int64_t n, room;
};

/* Adds what the outputs say of example b of a batch, which is picture `picture` of this height and width; the
 * highest score first. classes: those of the model. */
bool detections_add(heed_ctx *cx, struct detections *to, const heed_io *out, int64_t b, int64_t classes,
                    const int64_t size[2], int64_t picture, const heed_detect_opts *opts);

#endif
