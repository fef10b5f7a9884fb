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

/* ---- accuracy against frequencies (frequencies.c) ---- */

/* Takes room for the radii of a list such as "2,4,8"; NULL: for nine of them. */
bool picture_radii(heed_ctx *cx, const char *radii, const heed_picture_input *input, struct evaluated_frequencies *to);
bool picture_frequencies(heed_ctx *cx, const heed_model *model, const heed_picture_set *set,
                         const heed_picture_input *input, const heed_picture_measure_opts *opts,
                         struct evaluated_frequencies *to);
void picture_frequencies_free(heed_ctx *cx, struct evaluated_frequencies *f);

#endif
