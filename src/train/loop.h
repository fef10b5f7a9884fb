/* The loop from the inside. A step is `settled` when its evaluation and its line in the log are done; a checkpoint may
 * be taken before that (a run cancelled while it evaluates), and then resuming begins with what is missing. */
#ifndef TRAIN_LOOP_H
#define TRAIN_LOOP_H

#include "heed/loop.h"

struct loop {
    heed_ctx *cx;
    heed_model *model;
    heed_params *params;
    heed_loop_opts opts;
    heed_loop_state *state;
    heed_trainer *trainer;
    heed_batches *batches;
    int64_t per_epoch, passes; /* updates in an epoch; most backward passes in an update */
    int64_t settled;           /* the last settled step */
    int64_t evaluated;         /* the last step that was evaluated */
    int64_t waited;            /* evaluations since the best */
    float *best;               /* the weights of the best evaluation, or of the end */
    bool has_best;             /* there are such */
    bool best_unsaved;         /* model.safetensors does not have them yet */
    bool best_shown;           /* the model's weights and `best` are exchanged */
    bool unsaved;              /* something happened since the last checkpoint */
    double began, saved;       /* seconds on the clock */
    double earlier;            /* seconds of the runs that this one resumes */
    int64_t began_step;
    char *checkpoint;                    /* path */
    char train_text[64], valid_text[64]; /* which examples, for the notes */
    int log;                             /* a file descriptor, or -1 */
};

/* ---- what a run and its plan (plan.c) share ---- */

/* Fills *l; false when the options make no sense. */
bool loop_open(struct loop *l, heed_ctx *cx, heed_model *model, const heed_loop_opts *opts, heed_loop_state *state);
bool loop_hold(struct loop *l);                /* counts the steps and takes the memory that a run holds throughout */
bool loop_fetch(struct loop *l, int64_t step); /* opens the batches from that of update `step` on */
bool loop_update(struct loop *l);
bool loop_measure(struct loop *l, const heed_data *data, const int64_t *rows, int64_t n, heed_score *score);
void loop_release(struct loop *l);
/* The output to take the gradient of: training_loss, where the model gives one, else loss. */
heed_tensor *loop_goal(const heed_io *out);

/* Whether a run keeps within the context's budget, found by a plan; says how much it takes when not. */
bool plan_fits(heed_ctx *cx, heed_model *model, const heed_loop_opts *opts);

/* ---- notes: what a checkpoint says beside its numbers ---- */

void notes_begin(struct loop *l); /* before the others */
/* Where the run is, and the settings that its result depends on, as JSON text; free with heed_mem_free. */
char *notes_write(struct loop *l);
/* Takes up what notes_write wrote; fails with a sentence that says what differs when the settings are others. */
bool notes_read(struct loop *l, const char *text);

/* ---- the log ---- */

/* Opens l->opts.log for the lines after step `step`; later ones, of a run that was killed, are dropped. */
bool log_open(struct loop *l, int64_t step);
bool log_state(struct loop *l); /* one line */
void log_close(struct loop *l);

#endif
