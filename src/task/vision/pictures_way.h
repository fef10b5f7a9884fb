/* The parts of the way of pictures that are files of their own. */
#ifndef TASK_VISION_PICTURES_WAY_H
#define TASK_VISION_PICTURES_WAY_H

#include "heed/augment.h"
#include "heed/picture_training.h"
#include "task/run.h"

/* ---- the sizes of a model, which follow from the set to train on (picture_sizes.c) ---- */

#define PICTURE_SETTINGS 12
struct picture_settings {
    char text[PICTURE_SETTINGS][96]; /* KEY=VALUE, of a fresh model */
    int n;
    char labels[96]; /* the number of classes, also with --init */
};
bool picture_sizes(const heed_run *r, const heed_picture_set *set, struct picture_settings *to);

/* ---- augmentation and HAT, as the fields ask for them (augment_fields.c) ---- */

bool picture_augment(const heed_run *r, heed_augment *to);
bool picture_hat_fits(const heed_run *r); /* fails where its fields are given without it */
heed_hat picture_hat(const heed_run *r, int64_t per_epoch);

#endif
