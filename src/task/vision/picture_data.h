/* Pictures by path: folders, archives, MNIST's files, arrays, or the words digits and same-shapes. */
#ifndef TASK_VISION_PICTURE_DATA_H
#define TASK_VISION_PICTURE_DATA_H

#include "heed/picture_set.h"

/* A part, "train", "val" or "test"; opts may be NULL. NULL also where an optional part is not there. */
heed_picture_set *picture_data_load(heed_ctx *cx, const char *path, const char *part,
                                    const heed_picture_set_opts *opts);

#endif
