/* Pictures as the loop's source, for networks of diffusion: noise is added, and what was added is to be found. */
#ifndef TASK_DIFFUSION_DIFFUSION_TRAINING_H
#define TASK_DIFFUSION_DIFFUSION_TRAINING_H

#include "heed/picture_training.h"
#include "heed/pipeline.h"

/* Streams of what is drawn for the pictures of a set; in training each epoch has one of its own. */
#define DIFFUSION_STREAM_TRAIN ((uint64_t)0)
#define DIFFUSION_STREAM_VALID ((uint64_t)1 << 40)
#define DIFFUSION_STREAM_TEST  ((uint64_t)2 << 40)

/* What the metrics are called. */
#define DIFFUSION_METRICS "noise_mse"

struct diffusion_opts {
    const heed_picture_set *train, *valid, *test; /* valid, test: NULL for none */
    const int64_t *train_rows, *valid_rows;       /* which pictures; NULL: all */
    int64_t n_train, n_valid;
    const heed_picture_input *input;
    const heed_scheduler *scheduler;
    heed_denoiser denoiser;
    bool classes;     /* pictures' classes are given */
    int64_t no_class; /* given in place of the class to `dropout` of the pictures in training; -1: none is dropped */
    double dropout, flip;       /* flip: probability that left and right are exchanged */
    int64_t batch, micro_batch; /* micro 0: the whole batch */
    uint64_t seed;
    int workers;
};
struct diffusion_training;
/* What opts points to must stay until it is freed. */
struct diffusion_training *diffusion_training_new(heed_ctx *cx, const struct diffusion_opts *opts);
void diffusion_training_free(heed_ctx *cx, struct diffusion_training *t);
const heed_loop_source *diffusion_training_source(const struct diffusion_training *t);

/* Mean loss of a model on pictures of a set, with noise and timesteps that are functions of seed, stream and row. */
struct diffusion_measure {
    const heed_picture_set *set;
    const int64_t *rows; /* NULL: all */
    int64_t n, batch;    /* batch 0: a good one */
    uint64_t seed, stream;
};
bool diffusion_measure(heed_ctx *cx, const struct diffusion_opts *o, const heed_model *model,
                       const struct diffusion_measure *m, heed_score *score);

#endif
