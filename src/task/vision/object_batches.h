/* Batches of pictures with objects, decoded and augmented ahead by threads. What a batch holds is a function of seed,
 * epoch and position alone, whoever makes it and whenever. */
#ifndef TASK_VISION_OBJECT_BATCHES_H
#define TASK_VISION_OBJECT_BATCHES_H

#include "heed/objects.h"

/* Denoising queries (Li et al. 2022): noised copies of a picture's objects, to be reconstructed. The centre moves by at
 * most box_noise of half the sides, the sides change by at most box_noise of themselves; a class is drawn anew with
 * probability label_noise. */
struct object_noise {
    int64_t groups; /* copies of each object; 0: none */
    double box, label;
};

struct object_batches_opts {
    const heed_object_set *set;
    const int64_t *rows; /* which pictures; NULL: all */
    int64_t n;
    const heed_image_processor *processor;
    const heed_object_augment *augment; /* NULL: as pictures are measured */
    struct object_noise noise;
    bool padded_boxes;              /* targets are relative to the padded picture, as transformers has it */
    bool masks;                     /* the model takes them */
    int64_t height, width, objects; /* no batch has larger ones, or more in a picture: for plans */
    int64_t batch, micro;           /* pictures in a batch, and in a part of it; micro 0: all */
    bool shuffle;
    uint64_t seed;
    int64_t step; /* the first batch, counted from the beginning of the run */
    int workers;  /* threads that work ahead; 0: none */
};

/* A part of a batch: pictures (3, height, width), padded with 0 at the right and the bottom, and their objects. */
struct object_part {
    int64_t n, height, width;
    const int64_t *row;
    const float *pixels;
    const int32_t *mask;         /* (n, height, width) 1 where there is picture; NULL: everywhere */
    const int64_t (*size)[2];    /* (n) height and width of the pictures before they were resized */
    int64_t most;                /* objects of a picture, at least 1 */
    const int64_t *objects;      /* (n) how many, */
    const int32_t *label;        /* (n, most) */
    const float *box;            /* (n, most, 4) centre, width, height, from 0 to 1 */
    const int32_t *noised_label; /* (n, groups, most), -1: none; NULL without noise */
    const float *noised_box;     /* (n, groups, most, 4) */
    int64_t part, parts, total;
};

struct object_batches;
struct object_batches *object_batches_open(heed_ctx *cx, const struct object_batches_opts *opts);
/* The next part, batch after batch, for ever; valid until the next call. NULL where a picture cannot be read, or the
 * context has failed. */
const struct object_part *object_batches_next(heed_ctx *cx, struct object_batches *b);
void object_batches_close(heed_ctx *cx, struct object_batches *b);
int64_t object_batches_per_epoch(const struct object_batches_opts *o);
int64_t object_batches_parts(const struct object_batches_opts *o); /* of a whole batch */

#endif
