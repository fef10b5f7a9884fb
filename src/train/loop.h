/* The loop from the inside. A step is `settled` when its evaluation and its line in the log are done; a checkpoint may
 * be taken before that (a run cancelled while it evaluates), and then resuming begins with what is missing. */
#ifndef TRAIN_LOOP_H
#define TRAIN_LOOP_H

#include "heed/loop.h"

#define NOTES_DATA 64 /* bytes of the name of a set of data */

struct loop {
    heed_ctx *cx;
    heed_model *model;
    heed_params *params;
    heed_loop_opts opts;
    heed_loop_state *state;
    heed_trainer *trainer;
    heed_loop_source source;
    int best_by;         /* the metric that chooses the best model, by its number; -1: the loss */
    int64_t settled;     /* the last settled step */
    int64_t evaluated;   /* the last step that was evaluated */
    int64_t waited;      /* evaluations since the best */
    float *best;         /* the weights of the best evaluation, or of the end */
    bool has_best;       /* there are such */
    bool best_unsaved;   /* model.safetensors does not have them yet */
    bool best_shown;     /* the model's weights and `best` are exchanged */
    bool unsaved;        /* something happened since the last checkpoint */
    double began, saved; /* seconds on the clock */
    double earlier;      /* seconds of the runs that this one resumes */
    int64_t began_step;
    int64_t *some; /* (n_some) the validation examples that evaluations take, ascending; NULL: all */
    int64_t n_some;
    double measuring, measured; /* seconds of evaluations in this run, and how many examples they took */
    char *checkpoint;           /* path */
    int log;                    /* a file descriptor, or -1 */
};

/* ---- what a run and its plan (plan.c) share ---- */

/* Fills *l; false when the options make no sense. */
bool loop_open(struct loop *l, heed_ctx *cx, heed_model *model, const heed_loop_opts *opts, heed_loop_state *state);
/* The number of the metric of that name, which chooses the best model; -1: the loss. NULL: the first. */
bool loop_metric(heed_ctx *cx, const heed_loop_source *source, const char *name, int *number);
bool loop_hold(struct loop *l); /* counts the steps and takes the memory that a run holds throughout */
bool loop_update(struct loop *l);
void loop_release(struct loop *l);
/* The output to take the gradient of: training_loss, where the model gives one, else loss. */
heed_tensor *loop_goal(const heed_io *out);

/* ---- evaluations (measuring.c) ---- */

enum loop_part { MEASURE_VALID, MEASURE_TEST, MEASURE_SOME };
bool loop_measure(struct loop *l, enum loop_part what, heed_score *score);
bool loop_choose(struct loop *l); /* the examples of MEASURE_SOME, where the options ask for some */
/* Numbers of validation examples as rows of their data set, of which these are the validation set (NULL: all are). */
int64_t *loop_rows(heed_ctx *cx, const int64_t *rows, const int64_t *some, int64_t n);
int64_t loop_evaluate_every(const struct loop *l);
/* Seconds of the evaluations to come; before the first has been timed they are guessed from those of an update. */
double loop_measuring_left(const struct loop *l, double update);

/* Whether a run keeps within the context's budget, found by a plan; says how much it takes when not. */
bool plan_fits(heed_ctx *cx, heed_model *model, const heed_loop_opts *opts);

/* ---- notes: what a checkpoint says beside its numbers ---- */

/* A number that changes when any of the bytes does. */
uint64_t notes_mix(uint64_t hash, const void *data, size_t size);
/* The same of a column of a data set. */
uint64_t notes_mix_column(uint64_t hash, const heed_dataset *set, int column);
/* Which data: how many, and the number that they were mixed to. */
void notes_name_data(char text[NOTES_DATA], int64_t n, const char *unit, uint64_t hash);
/* The settings of a source: the names of its data, valid "" without any, and its batches. */
void notes_put_source(heed_ctx *cx, heed_json at, const char *train, const char *valid, int64_t batch, int64_t micro);

/* A setting, in as few digits as read back the same. */
void notes_put_number(heed_ctx *cx, heed_json at, const char *key, double value);

/* Where the run is, and the settings that its result depends on, as JSON text; free with heed_mem_free. */
char *notes_write(struct loop *l);
/* Takes up what notes_write wrote; fails with a sentence that says what differs when the settings are others. */
bool notes_read(struct loop *l, const char *text);

/* ---- names in a config ---- */

void schema_put_names(heed_ctx *cx, heed_json at, const char *key, char **names); /* NULL: an empty list */
/* The texts of a list, ended by NULL, in one block; NULL when there is none. expected -1: as many as there are. */
char **schema_names(heed_ctx *cx, heed_json list, int64_t expected);
/* The columns of d->width inputs, with their names and categories; without any, each input is a column. */
void schema_columns(heed_ctx *cx, heed_json config, heed_data *d);

/* ---- the log ---- */

/* Opens l->opts.log for the lines after step `step`; later ones, of a run that was killed, are dropped. */
bool log_open(struct loop *l, int64_t step);
bool log_state(struct loop *l); /* one line */
/* Writes "accuracy 98.12 %, loss 0.0641" and the like. */
void score_text(char *out, size_t size, const heed_metric *const *metrics, const heed_score *score);
/* A score as "SET_loss" and "SET_METRIC" of all metrics; null where it is no number. */
void log_score(heed_ctx *cx, heed_json line, const char *set, const heed_metric *const *metrics,
               const heed_score *score);
void log_close(struct loop *l);

#endif
