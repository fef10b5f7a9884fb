/* heed/run.h: from data to a trained model, and what it is worth: what heed train and heed eval do.
 *
 *     heed_run *run = heed_run_open(cx, &(heed_run_opts){
 *         .task = "classify", .init = "all-MiniLM-L6-v2", .data = "sst2.tsv", .out = "sentiment"});
 *     heed_run_train(cx, run);
 *     heed_run_close(cx, run);
 *
 * A task is a record in one list: what can be asked of it (its fields, which are the options of heed train), and for
 * each kind of data that it takes how they are read, encoded, learnt and measured. What is not asked for follows from
 * the data. */
#ifndef HEED_RUN_H
#define HEED_RUN_H

#include "heed/fields.h"
#include "heed/loop.h"

#ifdef __cplusplus
extern "C" {
#endif

struct task_way;
struct heed_text_task;
typedef struct heed_run heed_run;

typedef struct heed_task {
    const char *name, *summary; /* "classify", "classes from numbers, pictures or texts" */
    const char *about;          /* paragraphs, with an empty line between them */
    const char *examples;       /* commands, a line each */
    const heed_field *fields;
    const char *next, *next_how;        /* the command to type next, and what follows its directory; NULL: the way's */
    const struct task_way *const *ways; /* NULL at the end; the first is that of models that fit no other */
    const struct heed_text_task *const *texts; /* how its texts are read and measured, by the head's task; NULL: none */
    bool (*check)(
        heed_run *run);   /* fails when what is asked for does not go together; may choose the head. NULL: none */
    const char *family;   /* field `model` names a kind of it, not a family; NULL: it names families */
    const char *head;     /* the task of the head to make; NULL: its own name */
    const char *measures; /* further tasks of heads that it measures, separated by spaces; NULL: none */
} heed_task;

HEED_API const heed_task *heed_task_at(int i);              /* NULL after the last */
HEED_API const heed_task *heed_task_find(const char *name); /* NULL: there is none */

typedef struct heed_run_opts {
    const char *task;
    const char *data, *out, *init, *model; /* the fields of these names; NULL: not given */
    const char *const *options;            /* further fields, "epochs=3", "force"; NULL at the end, or none */
    bool (*report)(void *user, const heed_loop_state *state); /* see heed_loop_opts */
    void *user;
} heed_run_opts;

/* Looks at what is asked for; nothing is read but the config of `init`. NULL with a sentence. A run is closed with the
 * context that opened it. */
HEED_API heed_run *heed_run_open(heed_ctx *cx, const heed_run_opts *opts);
HEED_API void heed_run_close(heed_ctx *cx, heed_run *run);
/* Reads the data and makes the model, within the field `memory` or else the context's budget: a run that would exceed
 * it is refused here. heed_run_train does it where nobody has. */
HEED_API bool heed_run_prepare(heed_ctx *cx, heed_run *run);
/* Trains, or resumes; the directory then holds the model that was kept. */
HEED_API heed_loop_end heed_run_train(heed_ctx *cx, heed_run *run);

/* Of a run that is prepared, else NULL. */
HEED_API const heed_model *heed_run_model(const heed_run *run);
HEED_API const heed_loop_source *heed_run_source(const heed_run *run); /* NULL too where nothing is learnt in steps */
HEED_API const heed_loop_state *heed_run_state(const heed_run *run);
HEED_API const heed_task *heed_run_task(const heed_run *run);
HEED_API double heed_run_epochs(const heed_run *run);
/* The command to type next, as in heed_task. */
HEED_API const char *heed_run_next(const heed_run *run, const char **how);
/* What came out: model, steps, epochs, seconds, loss and metrics. Freed with heed_json_free. */
HEED_API heed_json heed_run_result(heed_ctx *cx, heed_run *run);
/* What the task adds to that for people, in lines; empty where it adds nothing. */
HEED_API bool heed_run_remarks(heed_ctx *cx, heed_run *run, heed_string *text);

/* ---- measuring ---- */

/* What an evaluation found. What it points to is heed_evaluation_free's. */
typedef struct heed_evaluation {
    const heed_task *task;
    int64_t n;              /* examples, */
    const char *one, *many; /* as they are called: "example", "examples" */
    heed_metrics metrics;
    heed_score score;
    /* Of classes and numbers: what is true, with names, and what was predicted for each of truth->n; else NULL. */
    const heed_data *truth, *like; /* like: what the model knows of its data, where that has more names */
    const int32_t *label;
    const float *y;
    bool words;                               /* they are words */
    const struct heed_forecast_score *series; /* of series; else NULL */
    int64_t season;                           /* that the comparison repeats */
    char *const *target_names;                /* of the columns that are forecast */
    const struct heed_evaluated *more;        /* what only some tasks find (src/task/run.h); NULL: nothing */
    void *own;
    void (*free)(heed_ctx *cx, void *own);
} heed_evaluation;

typedef struct heed_evaluate_opts {
    const char *dir, *data;     /* a model directory, and data as for training */
    const char *part;           /* of a directory of data: "test", "val" or "train"; NULL: test */
    const char *const *options; /* further fields of heed_evaluate_fields, "max-length=64"; NULL at the end, or none */
} heed_evaluate_opts;
HEED_API bool heed_evaluate(heed_ctx *cx, const heed_evaluate_opts *opts, heed_evaluation *to);
HEED_API void heed_evaluation_free(heed_ctx *cx, heed_evaluation *e);
HEED_API const heed_field *heed_evaluate_fields(void);
/* The directory that a run has written, on a part of its data. */
HEED_API bool heed_run_evaluate(heed_ctx *cx, const heed_run *run, const char *part, heed_evaluation *to);

#ifdef __cplusplus
}
#endif
#endif
