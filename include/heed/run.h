/* heed/run.h: what heed train and heed eval do: from data to a trained model, and how good it is.
 *
 *     heed_run *run = heed_run_open(cx, &(heed_run_opts){
 *         .task = "classify", .init = "all-MiniLM-L6-v2", .data = "sst2.tsv", .out = "sentiment"});
 *     heed_run_train(cx, run);
 *     heed_run_close(cx, run);
 *
 * A task is a record in one list (src/task/tasks.def). It has fields, which are the options of heed train, and a way
 * for each kind of data that it takes: how they are read, encoded, learnt and measured. What is not given has a
 * default, or follows from the data. */
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
    const struct task_way *const *ways; /* NULL at the end; the first one is for models that fit no other */
    const struct heed_text_task *const *texts; /* how its texts are read and measured, one for each head; NULL: none */
    bool (*check)(heed_run *run); /* fails when options contradict each other; may choose the head. NULL: none */
    const char *family;   /* the only family, of which the field `model` names a kind; NULL: `model` names a family */
    const char *head;     /* the task of the head to make; NULL: its own name */
    const char *files;    /* a field that names the data in place of `data`; NULL: none */
    bool whole_data;      /* an update takes all of the data, so that no smaller batch takes less memory */
    const char *measures; /* the tasks of further heads that it can measure, separated by spaces; NULL: none */
} heed_task;

HEED_API const heed_task *heed_task_at(int i);              /* NULL after the last */
HEED_API const heed_task *heed_task_find(const char *name); /* NULL: there is none */

typedef struct heed_run_opts {
    const char *task;
    const char *data, *out, *init, *model; /* the fields of these names; NULL: not given */
    const char *const *options;            /* further fields: "epochs=3", "force"; NULL at the end, or none */
    bool (*report)(void *user, const heed_loop_state *state); /* see heed_loop_opts */
    void *user;
} heed_run_opts;

/* Checks the options; nothing is read but the config of `init`. NULL: they are refused with a sentence. A run is closed
 * with the context that opened it. */
HEED_API heed_run *heed_run_open(heed_ctx *cx, const heed_run_opts *opts);
HEED_API void heed_run_close(heed_ctx *cx, heed_run *run);
/* Reads the data and makes the model. A run that would exceed the context's byte budget is refused here, before it
 * trains. heed_run_train calls this where the program has not. */
HEED_API bool heed_run_prepare(heed_ctx *cx, heed_run *run);
/* Trains, or resumes; once. Afterwards the directory holds the model that was kept: the best by validation, else the
 * last. */
HEED_API heed_loop_end heed_run_train(heed_ctx *cx, heed_run *run);

/* The model and the source are NULL until the run is prepared. */
HEED_API const heed_model *heed_run_model(const heed_run *run);
HEED_API const heed_loop_source *heed_run_source(const heed_run *run); /* NULL too where the loop does not train */
HEED_API const heed_loop_state *heed_run_state(const heed_run *run);
HEED_API const heed_task *heed_run_task(const heed_run *run);
HEED_API double heed_run_epochs(const heed_run *run); /* that it has trained for, 2.5 within the third */
/* The command to type next, and what follows its directory (*how, may be NULL). */
HEED_API const char *heed_run_next(const heed_run *run, const char **how);
/* The result, as heed train --json prints it: model, steps, epochs, seconds, loss and metrics. Freed with
 * heed_json_free. */
HEED_API heed_json heed_run_result(heed_ctx *cx, heed_run *run);
/* What the task adds to the result for people to read, as lines; nothing where it adds nothing. */
HEED_API bool heed_run_remarks(heed_ctx *cx, heed_run *run, heed_string *text);

/* What the trained model says of one example, with the members that the task's command prints with --json. An example
 * is what that command takes: a line of text, or several texts with tabs between them; the path of a picture; the
 * numbers and categories of a row, with commas. Freed with heed_json_free. Tasks whose models write or forecast have no
 * such answer, which is a sentence. */
HEED_API heed_json heed_run_answer(heed_ctx *cx, heed_run *run, const char *example);

/* ---- measuring ---- */

/* What an evaluation found. What it points to is freed by heed_evaluation_free. */
typedef struct heed_evaluation {
    const heed_task *task;
    int64_t n;              /* how many examples were measured, */
    const char *one, *many; /* and what they are called: "word", "words" */
    heed_metrics metrics;
    heed_score score;
    /* Of classes and numbers: the truth with its names, and what was predicted for each of truth->n; else NULL. */
    const heed_data *truth, *like; /* like: what the model knows of its data, where it has more names than truth */
    const int32_t *label;
    const float *y;
    bool words;                               /* each of truth->n is a word */
    const struct heed_forecast_score *series; /* of forecasts; else NULL */
    int64_t season;                           /* the comparison repeats the last so many steps */
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
/* Measures the directory that a run has written on a part of its data, which is read as it was for training. */
HEED_API bool heed_run_evaluate(heed_ctx *cx, const heed_run *run, const char *part, heed_evaluation *to);

#ifdef __cplusplus
}
#endif
#endif
