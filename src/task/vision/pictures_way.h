/* The parts of the way of pictures that are files of their own. */
#ifndef TASK_VISION_PICTURES_WAY_H
#define TASK_VISION_PICTURES_WAY_H

#include "heed/augment.h"
#include "heed/picture_set.h"
#include "task/run.h"

/* ---- the sizes of a model, which follow from the set to train on (picture_sizes.c) ---- */

#define PICTURE_SETTINGS 12
struct picture_settings {
    char text[PICTURE_SETTINGS][96]; /* KEY=VALUE, of a fresh model */
    int n;
    char labels[96]; /* the number of classes, also with --init */
};
bool picture_sizes(const heed_run *r, const heed_picture_set *set, struct picture_settings *to);

/* ---- augmentation, as the fields ask for it (augment_fields.c) ---- */

bool picture_augment(const heed_run *r, heed_augment *to);

#endif
