/* Batches of pictures, decoded and augmented ahead by threads. What a batch holds is a function of seed, epoch and
 * position alone, whoever makes it and whenever. */
#ifndef TASK_VISION_PICTURE_BATCHES_H
#define TASK_VISION_PICTURE_BATCHES_H

#include "heed/picture_training.h"
#include "train/loop.h"

struct picture_batches_opts {
    const heed_picture_set *set;
    const int64_t *rows; /* which pictures; NULL: all */
    int64_t n;
    const heed_picture_input *input;
    const heed_augment *augment; /* NULL: as pictures are measured */
    int64_t batch, micro;        /* pictures in a batch, and in a part of it; micro 0: all */
    int64_t repeats;             /* of a picture in a batch, each augmented differently */
    bool shuffle;
    /* What is drawn for a picture in an epoch: changes its floats, or writes others. NULL: nothing */
    void (*alter)(const void *own, int64_t epoch, int64_t row, const float *pixels, float *altered);
    const void *own;
    bool both; /* floats stay as they are beside altered ones, else they are altered in place */
    uint64_t seed;
    int64_t step; /* the first batch, counted from the beginning of the run */
    int workers;  /* threads that work ahead; 0: none */
};

/* A part of a batch: rows of (channels, height, width) floats and their targets. */
struct picture_part {
    int64_t n;
    const int64_t *row;
    const float *pixels, *altered; /* altered: NULL unless both are asked for */
    const int32_t *label;
    const float *targets; /* (n, classes) where pictures are mixed; NULL: labels say all */
    int64_t part, parts, total;
};

struct picture_batches;
struct picture_batches *picture_batches_open(heed_ctx *cx, const struct picture_batches_opts *opts);
/* The next part, batch after batch, for ever; valid until the next call. NULL where a picture cannot be read, or the
 * context has failed. */
const struct picture_part *picture_batches_next(heed_ctx *cx, struct picture_batches *b);
void picture_batches_close(heed_ctx *cx, struct picture_batches *b);
int64_t picture_batches_per_epoch(const struct picture_batches_opts *o);
int64_t picture_batches_parts(const struct picture_batches_opts *o); /* of a whole batch */

/* The name of the pictures of these rows (NULL: all) among the settings of a checkpoint; one that is there stays. */
void picture_batches_name(char text[NOTES_DATA], const heed_picture_set *set, const int64_t *rows, int64_t n);

#endif
