/* heed train classify: the sizes of a fresh model of pictures. */
#ifndef CLI_TRAIN_TRAIN_PICTURE_SIZES_H
#define CLI_TRAIN_TRAIN_PICTURE_SIZES_H

#include "cli/train/train.h"
#include "heed/picture_set.h"

#define PICTURE_SETTINGS 12

struct picture_settings {
    char text[PICTURE_SETTINGS][96]; /* KEY=VALUE, of a fresh model */
    int n;
    char labels[96]; /* the number of classes, also with --init */
};

/* What follows from the set to train on; false after saying what does not fit. */
bool train_picture_sizes(const struct train_run *r, heed_picture_set *set, struct picture_settings *to);

#endif
