/* Runs and ways from the inside. A task has a way for each kind of data that it takes; a way is one file. */
#ifndef TASK_RUN_H
#define TASK_RUN_H

#include "base/dry.h"
#include "heed/objects.h"
#include "heed/run.h"
#include "heed/words.h"
#include "io/fields.h"
#include <string.h>

/* A default of a way that differs from that of the task's field. */
struct task_default {
    const char *field, *standard, *tuned; /* tuned: with --init; NULL: the same */
};

/* The functions of a way fail through the context of the run. */
struct task_way {
    const char *what;      /* its data, for sentences: "tables" */
    const char *input;     /* it is for models with this input: "input_ids"; NULL: for all others */
    const char *model;     /* of models that are no networks: the value of the field `model`, "hmm"; NULL: networks */
    const heed_field *own; /* fields of the task that only this way knows; NULL: none */
    const struct task_default *defaults; /* NULL at the end, or none */
    const char *next, *next_how;
    bool (*check)(heed_run *r); /* fails when options contradict each other, before anything is read; NULL: no check */
    bool (*load)(heed_run *r);  /* reads the data; r->user is its own */
    bool (*plan)(heed_run *r);  /* sets r->loop.source, and what of r->loop follows from the data */
    heed_model *(*model_of)(const heed_run *r, heed_ctx *cx); /* makes the model, or loads that of --init; may be dry */
    bool (*begin)(heed_run *r); /* before the first step: completes r->model, writes the files beside it, says what is
                                 * trained on what */
    heed_loop_end (*train)(heed_run *r); /* in place of plan, model_of, begin and the loop; claims the directory */
    const char *unit; /* what `train` counts, where it learns in steps, reports them and resumes; NULL: it does not */
    void (*put)(heed_run *r, heed_json result);                     /* adds to the result as JSON; NULL: nothing */
    bool (*remarks)(heed_run *r, heed_string *text);                /* adds to the result for people; NULL: nothing */
    bool (*answer)(heed_run *r, const char *example, heed_json at); /* what the trained model says; NULL: none */
    void (*free)(heed_run *r);                                      /* r->user */
    const char *type; /* model_type of directories that are no networks: "heed-hmm"; NULL: they are networks */
    /* Whether a path leads to a model of this type, where such a model may be a file; NULL: it may not. */
    bool (*is)(const char *path, size_t budget);
    /* Measures the directory r->measured, whose path is r->dir, on a part of r->path; the run has only a task, a way, a
     * family and values. */
    bool (*evaluate)(heed_run *r, const char *part, heed_evaluation *to);
};

struct heed_run {
    heed_ctx *cx;
    const struct values *values;
    struct values *owned; /* the same; NULL: they are the caller's */
    const heed_task *task;
    const struct task_way *way;
    heed_directory *init;      /* that of --init; NULL: none */
    heed_directory *measured;  /* that is measured */
    const heed_family *family; /* NULL: no network */
    const char *head;          /* the task of the head to make, where that is not the task's name; NULL: it is */
    const char *path, *dir;    /* of the data; of the directory to write */
    size_t held;               /* bytes that the context held when the run was opened */
    size_t budget;             /* bytes: --memory, else the context's budget; 0: none */
    bool prepared, trained;
    void *user; /* what the way keeps */
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

/* heed_run_open with values that were read elsewhere, which must stay until the run is closed. */
heed_run *run_open(heed_ctx *cx, const heed_task *task, const struct values *values);
extern const char *const run_exclusive[][2]; /* pairs of fields that exclude each other; NULL at the end */
/* Reads the options of a C program, "name=value" or "name"; `what` begins the sentence about a wrong one. */
bool run_give_options(heed_ctx *cx, struct values *v, const char *what, const char *const *options);
/* The last way of a task that fits the head's inputs. */
const struct task_way *run_way_of(const heed_task *task, const heed_head *head);
void run_report(heed_run *r, bool (*report)(void *user, const heed_loop_state *state), void *user);

struct evaluated_translation {
    int64_t beams; /* beam width of decoding; 1: greedy */
    heed_bleu bleu;
    const heed_length_score *by_length; /* where the field by-length is given; else NULL */
    int n_lengths;
};
/* How well a model classifies pictures of which only some frequencies are left: those up to a radius, and those beyond.
 */
struct evaluated_frequencies {
    int64_t height, width; /* of the pictures, as the model takes them */
    int n;
    double *radius;         /* (n) in waves to the shorter side */
    heed_score *low, *high; /* (n) */
};
/* Of objects in pictures: COCO's figures, of all classes and of each. */
struct evaluated_objects {
    heed_coco_score coco;
    const char *const *names; /* (classes) */
    int64_t classes;
    bool given; /* the detections are those of a file: there is no loss */
    const heed_object_set *set;
    const heed_detection *found; /* a model's, picture after picture */
    int64_t n;
};
/* Codes of pictures. */
struct evaluated_codes {
    int64_t n, latent;
    float *code;          /* (n, latent) */
    const int32_t *label; /* (n) classes, */
    int64_t classes;      /* so many; 1: they have none */
    char *const *names;   /* NULL: unknown */
};
/* What only some tasks find; a member that is NULL was not found. */
struct heed_evaluated {
    const struct evaluated_translation *translation;
    const struct ngram_sum *ngram;
    int ngram_order;
    const struct hmm_accuracy *hmm;
    const struct evaluated_frequencies *frequencies;
    const struct evaluated_objects *objects;
    const struct evaluated_codes *codes;
};

/* Zeroed room for what an evaluation finds, `size` bytes at to->own, which `free` takes back. */
void *evaluation_room(heed_ctx *cx, heed_evaluation *to, size_t size, void (*free)(heed_ctx *cx, void *own));

/* heed_evaluate with values that were read elsewhere. */
bool run_evaluate(heed_ctx *cx, const char *dir, const char *path, const char *part, const struct values *values,
                  heed_evaluation *to);
extern const heed_field evaluate_fields[];
#define EVALUATE_PARTS "test val train"

/* Under a smaller budget, too, so many bytes may be taken to read the data and say what they need. */
#define RUN_RESERVE              ((size_t)32 << 20)
#define RUN_STANDARD_INPUT(path) (strcmp(path, "-") == 0 ? "standard input" : (path))

/* The values of fields by name: what was given, else the default of the way, else that of the task. */
static inline bool run_knows(const heed_run *r, const char *name) { return value_known(r->values, name); }
static inline bool run_given(const heed_run *r, const char *name) { return value_given(r->values, name); }
static inline bool run_flag(const heed_run *r, const char *name) { return value_flag(r->values, name); }
const char *run_text(const heed_run *r, const char *name);
int64_t run_int(const heed_run *r, const char *name);
double run_number(const heed_run *r, const char *name);
int run_list(const heed_run *r, const char *name, const char *const **values);
static inline const char *run_init(const heed_run *r) { return heed_directory_path(r->init); }

/* Fails with HEED_ERR_USAGE and "train: " before the sentence. */
bool run_misused(const heed_run *r, const char *format, ...) HEED_PRINTF(2, 3);
/* The same with "train TASK: ", for what would be wrong with any model and any data. */
bool run_option_misused(const heed_run *r, const char *format, ...) HEED_PRINTF(2, 3);
/* Fails where one of these fields is given: they are for models of `what`, which this one is not. */
bool run_fields_unused(const heed_run *r, const heed_field *rows, const char *what);
/* Locks the directory: until the run is closed nobody else writes into it. */
bool run_claim(heed_run *r);
/* Adds to the remarks of a way. */
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
bool run_takes_key(const heed_run *r, const char *name);       /* the same, or a key of the run's head */
const char *run_setting(const heed_run *r, const char *key);   /* the value that --set gives it; NULL: none */
/* A fresh model with the settings `fresh` and those of --set; with --init that of the directory, whose config changes
 * only by the settings `kept`, which are those of the head, and by --set. */
heed_model *run_make_model(const heed_run *r, heed_ctx *cx, struct settings *fresh, struct settings *kept);
/* The model in the dry context r->dry. It is made once, to find out first what it is like and then what the run takes.
 * NULL: the run has failed. */
heed_model *run_draft(heed_run *r);
bool run_drafted(heed_run *r); /* passes on what has failed in r->dry */
bool run_lora_fits(const heed_run *r);

/* ---- batches ---- */

/* How many examples an update and a backward pass take: the fields batch, micro-batch and accumulate. `good` is the
 * batch where none is given. A batch of more than the n examples is refused; one and many are what these are called. */
struct run_batch {
    int64_t batch, micro_batch;
};
bool run_batch(const heed_run *r, int64_t good, int64_t n, const char *one, const char *many, struct run_batch *to);
/* The fraction of n examples that is held out for validation where no file holds it: the field valid, or 0.1 where
 * there are at least ten examples. */
double run_held_out(const heed_run *r, int64_t n);
/* "data.csv: 80 examples to train on, 10 to validate, 10 to test; mlp with 650 parameters"; `more` stands before the
 * model. */
void run_say_sets(const heed_run *r, const char *examples, int64_t valid, int64_t test, const char *more);

/* ---- the ways, each in a room of its own ---- */

extern const struct task_way way_texts; /* text/: the only one of a task */
extern const struct task_way *const ways_of_texts[];
extern const struct task_way way_texts_beside; /* the same beside others */
extern const struct task_way way_pictures;     /* vision/ */
extern const struct task_way way_objects;      /* vision/: pictures with objects */
extern const struct task_way way_tables;       /* tables/: tables, and pictures as vectors */
/* classical/: models that are no networks */
extern const struct task_way way_ngram, way_words;
extern const struct task_way way_tag_hmm; /* words, tagged by a hidden Markov model */
extern const heed_field hmm_fields[];     /* its own fields */

/* ---- models that are no networks ---- */

const heed_task *run_task_of(const struct task_way *way);
/* The command that makes such a model, by its name or type: "heed train tag --model hmm". NULL: there is none of this
 * name. */
const char *run_plain_how(const char *name, char how[96]);

/* ---- fields of several tasks (run_fields.c and others) ---- */

extern const heed_field run_fields[];         /* of all tasks that are learnt in steps */
extern const heed_field text_column_fields[]; /* of tasks with tables of texts */
extern const heed_field text_fields[];        /* of tasks with text: lengths, tokenizers */
extern const heed_field augment_fields[];     /* of pictures: augmentation, distillation */
extern const heed_field forcing_fields[];     /* of tasks with decoders */
/* clang-format off */
/* Further fields of tasks with text; `unit` is what their examples are called. */
#define TEXT_PART_FIELDS(unit)                                                                                        \
    {.name = "test", .kind = HEED_FIELD_FILE, .value = "PATH",                                                             \
     .help = "test data, measured once at the end; by default a directory's own test file"},                           \
    {.name = "valid", .kind = HEED_FIELD_NUMBER, .value = "FRACTION", .high = 0.999,                                       \
     .help = "fraction of the " unit " held out for validation where no file holds them; by default 0.1"}
#define CLASS_WEIGHTS_FIELD                                                                                           \
    {.name = "class-weights", .kind = HEED_FIELD_TEXT, .value = "WEIGHTS",                                                 \
     .help = "for texts: weight of each class in the loss: balanced (inversely to how often it occurs), or a number "  \
             "for each class in the order of their names, such as 1,2.5"}
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

/* --teacher-forcing and its kin (forcing_fields.c). The first fails where they contradict each other or the family; the
 * second reads them, once the loop's source and length are known. */
bool run_forcing_fits(const heed_run *r);
void run_set_forcing(const heed_run *r, heed_forcing *to);

/* --embeddings and --target-embeddings (embeddings_field.c). Fails where they are given with --init. */
bool run_embeddings_fit(const heed_run *r);
/* Opens the files. A family with the key embedding_size gets the width of the vectors, unless --set says otherwise. */
bool run_open_embeddings(heed_run *r);
void run_put_embedding_size(const heed_run *r, struct settings *settings, char text[48]);
/* Copies the vectors of known words into the embeddings of r->model, notes how many, and closes the files. */
bool run_take_embeddings(heed_run *r, const heed_tokenizer *source, const heed_tokenizer *target);
void run_close_embeddings(heed_run *r);

#endif
