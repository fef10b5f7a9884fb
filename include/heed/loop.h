/* heed/loop.h: the training loop: batches, updates, evaluation, the log, checkpoints, the way back after an
 * interruption.
 *
 * A run is a function of its options and its data: stopped at any moment (kill -9 too) and resumed, it ends with the
 * same bits as one that was never stopped, for any number of threads. */
#ifndef HEED_LOOP_H
#define HEED_LOOP_H

#include "heed/data.h"
#include "heed/model.h"
#include "heed/train.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What one evaluation found. */
typedef struct heed_score {
    double loss;
    double metric; /* accuracy as a fraction, or whatever metric_name says */
} heed_score;

/* What a run has done so far; given to the progress callback after every update, and written to the log. */
typedef struct heed_loop_state {
    int64_t step, steps, epoch; /* updates done, of so many; epoch counts from 0 */
    int64_t examples;           /* seen so far */
    double loss, lr;            /* of the last update */
    double seconds;             /* of work in this run and those it resumes */
    double examples_per_second, seconds_left;
    bool evaluated; /* this update was followed by an evaluation: valid holds it */
    heed_score valid, best;
} heed_loop_state;

typedef struct heed_loop_opts {
    const char *dir; /* the model directory to write: model.safetensors at the end (the best, when there is validation),
                        checkpoint.safetensors on the way */
    heed_trainer_opts trainer;
    int64_t batch, epochs, steps; /* steps stands over epochs; 0: the other */
    int64_t micro_batch; /* examples per backward pass; 0: the whole batch. Equal to the large batch up to rounding */
    uint64_t seed;
    const heed_data *train, *valid;
    const int64_t *train_rows, *valid_rows; /* NULL: all */
    int64_t n_train, n_valid;
    int64_t evaluate_every; /* updates; 0: at the end of each epoch */
    int64_t patience;       /* evaluations without a better one before stopping early; 0: never */
    int64_t save_every;     /* updates between checkpoints; 0: about every ten seconds of work and at each evaluation */
    bool resume;
    const char *log;         /* JSON lines are appended here; NULL: none */
    const char *fingerprint; /* text that must be equal for a resume: the options that matter; NULL: none */
    const char *metric_name; /* "valid_accuracy" */
    bool larger_is_better;
    /* Called after every update; false: save a checkpoint and stop (Ctrl-C). NULL: none. */
    bool (*report)(void *user, const heed_loop_state *state);
    void *user;
} heed_loop_opts;

typedef enum heed_loop_end { HEED_LOOP_FAILED, HEED_LOOP_DONE, HEED_LOOP_EARLY, HEED_LOOP_STOPPED } heed_loop_end;

/* Trains. A loss that is not finite stops the run with a sentence at once; the last checkpoint stays. */
HEED_API heed_loop_end heed_loop_run(heed_ctx *cx, heed_model *model, const heed_loop_opts *opts,
                                     heed_loop_state *state);
/* Mean loss and metric of a model on examples: accuracy for labels; R^2 for numbers. */
HEED_API bool heed_loop_evaluate(heed_ctx *cx, const heed_model *model, const heed_data *data, const int64_t *rows,
                                 int64_t n, int64_t batch, heed_score *score);

#ifdef __cplusplus
}
#endif
#endif
