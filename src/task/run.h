/* Runs and ways from the inside. A task has a way for each kind of data that it takes; a way is one file. */
#ifndef TASK_RUN_H
#define TASK_RUN_H

#include "base/dry.h"
#include "heed/run.h"
#include "heed/words.h"
#include "io/fields.h"
#include <string.h>

/* What a way's defaults are, where they are not those of the task's fields. */
struct task_default {
    const char *field, *standard, *tuned; /* tuned: with --init; NULL: the same */
};

/* Functions fail through the context of the run. */
struct task_way {
    const char *what;      /* its data, for sentences: "texts" */
    const char *input;     /* models take it that have this input: "input_ids"; NULL: all others */
    const char *model;     /* the name of its models, "hmm", by which they are asked for; NULL: that of a family */
    const heed_field *own; /* fields that other ways of the task do not know; NULL: none */
    const struct task_default *defaults; /* NULL at the end, or none */
    const char *next, *next_how;
    bool (*check)(heed_run *r); /* fails when what is asked for does not go together; NULL: it does */
    bool (*load)(heed_run *r);  /* the data */
    bool (*plan)(heed_run *r);  /* the source, and what follows from the data for the loop */
    heed_model *(*model_of)(const heed_run *r, heed_ctx *cx); /* fresh, or of --init; its config complete */
    bool (*begin)(heed_run *r); /* r->model is made: fills it, writes what belongs beside it, says what there is */
    heed_loop_end (*train)(heed_run *r); /* in place of plan, model_of, begin and the loop; claims the directory */
    const char *unit; /* of a train that learns in steps, reports them and resumes: what it counts; NULL: it does not */
    void (*put)(heed_run *r, heed_json result);      /* what it adds to the result; NULL: nothing */
    bool (*remarks)(heed_run *r, heed_string *text); /* the same for people */
    void (*free)(heed_run *r);                       /* r->user */
    const char *type; /* model_type of directories that are no networks: "heed-hmm"; NULL: they are networks */
    bool (*is)(const char *path,
               size_t budget); /* whether a path leads to a model of this type, where files may; NULL: none may */
    /* Measures the directory r->dir on a part of r->path; of the run there are only task, way, family and values. */
    bool (*evaluate)(heed_run *r, const char *part, heed_evaluation *to);
};

struct heed_run {
    heed_ctx *cx;
    const struct values *values;
    struct values *owned; /* the same, unless they are the caller's */
    const heed_task *task;
    const struct task_way *way;
    const heed_family *family; /* NULL: no network */
    const char *head;          /* the task of the head to make, where that is not the task's name; NULL: it is */
    const char *path, *dir;    /* of the data; to write */
    size_t held;               /* bytes that the context held before */
    size_t budget;             /* bytes: field memory, else the context's; 0: none */
    bool prepared;
    void *user; /* the way's */
    struct dry drying;
    heed_ctx *dry; /* of the draft; NULL: there is none */
    heed_model *draft, *model;
    heed_words *vectors[2]; /* of --embeddings and --target-embeddings, until they are taken; NULL: none */
    int lock;               /* on dir, or -1 */
    heed_plan planned;      /* of the loop, within a budget */
    heed_loop_opts loop;
    heed_loop_state state;
    bool (*report)(void *user, const heed_loop_state *state);
    void *report_user;
};

#define TASK(name) extern const heed_task task_of_##name;
#include "task/tasks.def"
#undef TASK

/* The same as heed_run_open with values that were read elsewhere and stay until the run is closed. */
heed_run *run_open(heed_ctx *cx, const heed_task *task, const struct values *values);
extern const char *const run_exclusive[][2]; /* pairs of fields of which only one makes sense; NULL at the end */
/* Options of a C program, "name=value" or "name"; `what` begins the sentence when one is none. */
bool run_give_options(heed_ctx *cx, struct values *v, const char *what, const char *const *options);
const struct task_way *run_way_of(const heed_task *task, const heed_head *head); /* the last that its inputs fit */
void run_report(heed_run *r, bool (*report)(void *user, const heed_loop_state *state), void *user);

struct evaluated_translation {
    int64_t beams; /* that sentences were decoded with; 1: greedily */
    heed_bleu bleu;
    const heed_length_score *by_length; /* where field by-length is given */
    int n_lengths;
};
/* What only some tasks find; NULL: this one does not. */
struct heed_evaluated {
    const struct evaluated_translation *translation;
    /* Of models that are no networks. */
    const struct ngram_sum *ngram;
    int ngram_order;
    const struct hmm_accuracy *hmm;
};

/* The same as heed_evaluate with values that were read elsewhere. */
bool run_evaluate(heed_ctx *cx, const char *dir, const char *path, const char *part, const struct values *values,
                  heed_evaluation *to);
extern const heed_field evaluate_fields[];
#define EVALUATE_PARTS "test val train"

#define RUN_RESERVE              ((size_t)32 << 20) /* what may be taken in any case, to read data and say what they need */
#define RUN_STANDARD_INPUT(path) (strcmp(path, "-") == 0 ? "standard input" : (path))

/* Values of fields, by name: what was given, else the way's default, else the task's. */
static inline bool run_knows(const heed_run *r, const char *name) { return value_known(r->values, name); }
static inline bool run_given(const heed_run *r, const char *name) { return value_given(r->values, name); }
static inline bool run_flag(const heed_run *r, const char *name) { return value_flag(r->values, name); }
const char *run_text(const heed_run *r, const char *name);
int64_t run_int(const heed_run *r, const char *name);
double run_number(const heed_run *r, const char *name);
int run_list(const heed_run *r, const char *name, const char *const **values);
static inline const char *run_init(const heed_run *r) { return run_text(r, "init"); }

/* Fails with HEED_ERR_USAGE and "train: " before the sentence. */
bool run_misused(const heed_run *r, const char *format, ...) HEED_PRINTF(2, 3);
/* The same with "train TASK: ", of what is wrong whatever the model and its data. */
bool run_option_misused(const heed_run *r, const char *format, ...) HEED_PRINTF(2, 3);
/* Fails where one of these fields is given, though it is for models of `what`. */
bool run_fields_unused(const heed_run *r, const heed_field *rows, const char *what);
/* The directory becomes this run's: nobody else writes into it. */
bool run_claim(heed_run *r);
/* Adds to what a way has to say for people. */
bool run_remark(heed_run *r, heed_string *text, const char *format, ...) HEED_PRINTF(3, 4);

/* ---- the model (run_model.c) ---- */

/* Texts "key=value" for heed_model_new. */
#define SETTINGS_MAX 256
struct settings {
    const char *text[SETTINGS_MAX];
    int n;
};

const char *run_head(const heed_run *r);                       /* the task of the head to make */
bool run_has_key(const heed_family *family, const char *name); /* of config.json */
bool run_takes_key(const heed_run *r, const char *name);       /* the same, those of the run's head too */
const char *run_setting(const heed_run *r, const char *key);   /* what field `set` says of it; NULL: nothing */
/* Fresh, with these settings and what the user set; or with --init the weights of a directory, of whose config only
 * the `kept` settings (of the head) and the user's are changed. */
heed_model *run_make_model(const heed_run *r, heed_ctx *cx, struct settings *fresh, struct settings *kept);
/* The model in a dry context, r->dry: made once, to find out what it takes and then what the run will. NULL: the run
 * has failed. */
heed_model *run_draft(heed_run *r);
bool run_drafted(heed_run *r); /* passes on what has failed in r->dry */
bool run_lora_fits(const heed_run *r);

/* ---- batches ---- */

/* How many examples an update and a backward pass take: fields batch, micro-batch and accumulate. `good`: the batch
 * where none was asked for; it is refused when it is larger than the n examples, of this name. */
struct run_batch {
    int64_t batch, micro_batch;
};
bool run_batch(const heed_run *r, int64_t good, int64_t n, const char *one, const char *many, struct run_batch *to);
/* The fraction of n examples that is held out for validation, where no file holds it: field valid, by default 0.1 of
 * ten examples or more. */
double run_held_out(const heed_run *r, int64_t n);
/* "data.csv: 80 examples to train on, 10 to validate, 10 to test; mlp with 650 parameters"; `more` stands between. */
void run_say_sets(const heed_run *r, const char *examples, int64_t valid, int64_t test, const char *more);

/* ---- the ways, each in a room of its own ---- */

extern const struct task_way way_texts; /* text/: the only one of a task */
extern const struct task_way *const ways_of_texts[];
extern const struct task_way way_texts_beside; /* the same beside others */
extern const struct task_way way_pictures;     /* vision/ */
extern const struct task_way way_tables;       /* tables/: tables, and pictures as vectors */
/* classical/: what is no network */
extern const struct task_way way_ngram, way_words;
extern const struct task_way way_tag_hmm; /* words, tagged by a hidden Markov model */
extern const heed_field hmm_fields[];     /* its own */

/* ---- models that are no networks ---- */

const heed_task *run_task_of(const struct task_way *way);
/* Says how such a model is made, by its name or type: "heed train tag --model hmm". NULL: there is none of this name.
 */
const char *run_plain_how(const char *name, char how[96]);

/* ---- fields of several tasks (run_fields.c and others) ---- */

extern const heed_field run_fields[];         /* of all tasks that are learnt in steps */
extern const heed_field text_column_fields[]; /* of tasks with tables of texts */
extern const heed_field text_fields[];        /* of tasks with text: lengths, tokenizers */
extern const heed_field augment_fields[];     /* of pictures: augmentation, distillation */
extern const heed_field forcing_fields[];     /* of tasks with decoders */
/* clang-format off */
/* What the tasks with text have beside their own; `unit`: what their examples are called. */
#define TEXT_PART_FIELDS(unit)                                                                                        \
    {.name = "test", .kind = HEED_FIELD_FILE, .value = "PATH",                                                             \
     .help = "test data, measured once at the end; by default a directory's own test file"},                           \
    {.name = "valid", .kind = HEED_FIELD_NUMBER, .value = "FRACTION", .high = 0.999,                                       \
     .help = "fraction of the " unit " held out for validation; by default 0.1, where no file holds them"}
#define CLASS_WEIGHTS_FIELD                                                                                           \
    {.name = "class-weights", .kind = HEED_FIELD_TEXT, .value = "WEIGHTS",                                                 \
     .help = "of texts: how much each class counts in the loss: balanced (inversely to how often it occurs), or a "    \
             "number for each class in the order of their names, as 1,2.5"}
#define OPTIMIZERS "adamw adam sgd adafactor"
/* Learning rates where the task has no other. */
#define ADAM_LR "0.001"
#define SGD_LR "0.01"
#define LINE_LR "0.01" /* of linear regression */
#define ADAFACTOR_LR "0.01"
#define ADAFACTOR_TUNED_LR "0.001"
#define TEXT_FAMILY "bert" /* where no other is asked for */
#define EPOCHS_FIELD(standard_, tuned_, more)                                                                          \
    {.name = "epochs", .letter = 'e', .kind = HEED_FIELD_INT, .standard = standard_, .tuned = tuned_, .value = "N",    \
     .low = 1, .high = 1e9, .help = "number of passes over the training data" more}
#define BATCH_FIELD(standard_, help_)                                                                                  \
    {.name = "batch", .letter = 'b', .kind = HEED_FIELD_INT, .standard = standard_, .value = "N", .low = 1,            \
     .high = 1e9, .help = help_}
#define LR_FIELD(standard_, tuned_, help_)                                                                             \
    {.name = "lr", .letter = 'l', .kind = HEED_FIELD_NUMBER, .standard = standard_, .tuned = tuned_, .value = "X",     \
     .high = 1e6, .help = help_}
#define MODEL_FIELD(standard_, help_)                                                                                  \
    {.name = "model", .letter = 'm', .kind = HEED_FIELD_TEXT, .standard = standard_, .value = "FAMILY", .help = help_}
#define TOKENS_FIELD(standard_)                                                                                        \
    {.name = "tokens", .kind = HEED_FIELD_CHOICE, .standard = standard_, .value = "KIND",                              \
     .choices = "wordpiece bpe byte-bpe unigram word char byte",                                                       \
     .help = "kind of tokenizer to train (perceiver: byte), one of"}
#define TEXT_MODEL_HELP "model family, without --init; 'heed list' shows them"
#define TEXT_TRAIN_FIELDS(unit)                                                                             \
    {.name = "texts", .kind = HEED_FIELD_TABLE, .table = text_fields},                                                 \
    {.name = "shared", .kind = HEED_FIELD_TABLE, .table = run_fields},                                                 \
    MODEL_FIELD(TEXT_FAMILY, TEXT_MODEL_HELP),                                       \
    EPOCHS_FIELD("10", "3", ""),                                                                                       \
    BATCH_FIELD("32", unit " per update"),                                                                             \
    LR_FIELD("5e-4", "5e-5", "peak learning rate")
#define LENGTH_PENALTY_FIELD                                                                                           \
    {.name = "length-penalty", .kind = HEED_FIELD_NUMBER, .standard = "1", .value = "X", .low = -16, .high = 16,           \
     .help = "divide scores by length^X: larger values prefer longer outputs"}
#define EMBEDDINGS_FIELD                                                                                               \
    {.name = "embeddings", .kind = HEED_FIELD_FILE, .value = "PATH",                                                   \
     .help = "begin with these word vectors: a directory of 'heed train words', or a file of word2vec's or GloVe's"}
/* clang-format on */

/* --teacher-forcing and its kin (forcing_fields.c): false after saying which do not go together, or with the family;
 * and what they ask for, once the loop's source and length are known. */
bool run_forcing_fits(const heed_run *r);
void run_set_forcing(const heed_run *r, heed_forcing *to);

/* --embeddings and --target-embeddings (embeddings_field.c). False after saying that they do not go with --init. */
bool run_embeddings_fit(const heed_run *r);
/* Opens what was asked for; a model that has a choice gets the width of the vectors, unless --set says another. */
bool run_open_embeddings(heed_run *r);
void run_put_embedding_size(const heed_run *r, struct settings *settings, char text[48]);
/* Copies the vectors of known words into the tables of r->model, says how many, and closes them. */
bool run_take_embeddings(heed_run *r, const heed_tokenizer *source, const heed_tokenizer *target);
void run_close_embeddings(heed_run *r);

#endif
