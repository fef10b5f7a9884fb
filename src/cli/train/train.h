/* Tasks: what heed train and heed eval do for each. train.c is the command, train_options.c the options of all tasks; a
 * task is one file. */
#ifndef CLI_TRAIN_TRAIN_H
#define CLI_TRAIN_TRAIN_H

#include "cli/core/options.h"
#include "cli/core/progress.h"
#include "heed/words.h"
#include <stdio.h>

struct train_run;

/* Texts "key=value" for heed_model_new. */
#define SETTINGS_MOST 256
struct train_settings {
    const char *text[SETTINGS_MOST];
    int n;
};

/* A task: its page of help, and what it does. Functions fail through the context. */
struct train_task {
    struct command page;                /* its options include train_options, unless it has a run of its own */
    const struct train_task *text;      /* the same for families that read text; NULL: there is none. A task of text
                                         * alone has no load of its own, but may have usage and next */
    const struct train_task *pictures;  /* the same for families that take pictures; NULL: there is none */
    const char *family;                 /* --model names a kind of it, not a family; NULL: it names families */
    const char *head;                   /* the task of the head to make; NULL: its own name */
    const char *next, *next_how;        /* the command to type next, and what follows its directory */
    bool (*usage)(struct train_run *r); /* false after saying which options contradict each other; NULL: none do */
    bool (*load)(struct train_run *r);  /* the data */
    bool (*set)(struct train_run *r);   /* what it adds to the options of the loop */
    heed_model *(*model)(const struct train_run *r, heed_ctx *cx); /* fresh, its config complete */
    bool (*begin)(struct train_run *r);                            /* r->model is made: fills it; says what is there */
    void (*print)(struct train_run *r, FILE *to);                  /* what it adds to the summary; NULL: nothing */
    void (*put)(struct train_run *r, heed_json result);
    void (*free)(struct train_run *r);
    /* Whether the options ask for a model that is no network; it is then trained, *status the exit status. NULL: none
     */
    bool (*other)(struct options *o, int *status);
    /* heed eval: loads the model of a directory, measures it on the data of a path and prints what it finds. */
    void (*evaluate)(const struct options *o, heed_ctx *cx, const char *dir, const char *path);
};
#define TASK(name) extern const struct train_task train_##name;
#include "cli/train/tasks.def"
#undef TASK
extern const struct train_task train_text, train_pictures;
extern const heed_field text_column_options[]; /* of tasks with tables of texts */
extern const heed_field text_options[];        /* of tasks with text: lengths, tokenizers */
extern const heed_field augment_options[];     /* of pictures: augmentation, distillation */
extern const heed_field forcing_options[];     /* of tasks with decoders */
extern const heed_field train_options[];       /* of all tasks */
/* clang-format off */
/* What the tasks with text have beside their own; `unit`: what their examples are called. */
#define TEXT_PART_OPTIONS(unit)                                                                                        \
    {.name = "test", .kind = HEED_FIELD_FILE, .value = "PATH",                                                             \
     .help = "test data, measured once at the end; by default a directory's own test file"},                           \
    {.name = "valid", .kind = HEED_FIELD_NUMBER, .value = "FRACTION", .high = 0.999,                                       \
     .help = "fraction of the " unit " held out for validation; by default 0.1, where no file holds them"}
#define CLASS_WEIGHTS_OPTION                                                                                           \
    {.name = "class-weights", .kind = HEED_FIELD_TEXT, .value = "WEIGHTS",                                                 \
     .help = "of texts: how much each class counts in the loss: balanced (inversely to how often it occurs), or a "    \
             "number for each class in the order of their names, as 1,2.5"}
#define OPTIMIZERS "adamw adam sgd adafactor"
#define TEXT_FAMILY "bert" /* where no other is asked for */
#define TEXT_TRAIN_OPTIONS(unit) TEXT_TRAIN_OPTIONS_OF(unit, TEXT_FAMILY)
#define TEXT_TRAIN_OPTIONS_OF(unit, family)                                                                                     \
    {.name = "texts", .kind = HEED_FIELD_TABLE, .table = text_options},                                                    \
    {.name = "shared", .kind = HEED_FIELD_TABLE, .table = train_options},                                                  \
    {.name = "model", .letter = 'm', .kind = HEED_FIELD_TEXT, .standard = family, .value = "FAMILY",                       \
     .help = "model family, without --init; 'heed list' shows them"},                                                  \
    {.name = "epochs", .letter = 'e', .kind = HEED_FIELD_INT, .value = "N", .low = 1, .high = 1e9,                         \
     .help = "number of passes over the training data; by default 10, with --init 3"},                                 \
    {.name = "batch", .letter = 'b', .kind = HEED_FIELD_INT, .value = "N", .low = 1, .high = 1e9,                          \
     .help = unit " per update; by default 32"},                                                                       \
    {.name = "lr", .letter = 'l', .kind = HEED_FIELD_NUMBER, .value = "X", .high = 1e6,                                    \
     .help = "peak learning rate; by default 5e-4, with --init 5e-5"}
/* clang-format on */
void translate_evaluate(const struct options *o, heed_ctx *cx, const char *dir, const char *path);
const struct train_task *train_find_task(const char *name); /* NULL when there is none */

/* One run, as it was asked for. */
struct train_run {
    struct options *o;
    heed_ctx *cx;
    int argc;
    char **argv;
    const struct train_task *task; /* its page and name */
    const struct train_task *how;  /* what it does: task, its text or its pictures */
    const heed_family *family;
    const char *head; /* the task of the head to make, where that is not the task's name; NULL: it is */
    const char *path, *dir;
    void *own; /* the task's */
    heed_model *model;
    heed_words *vectors[2]; /* of --embeddings and --target-embeddings, until they are taken; NULL: none */
    int lock;               /* on dir, or -1 */
    heed_loop_opts loop;
    heed_loop_state state;
    struct progress progress;
};

/* What the options say of LoRA. false after saying which do not go together. */
struct train_lora {
    heed_lora_opts opts;
    const char *target[64];
    char text[4096];
};
bool train_lora_fits(const struct options *o);
const heed_lora_opts *train_lora(const struct options *o, struct train_lora *to); /* NULL: not asked for */

/* Of a model that takes no pictures, or reads no text: false after saying which option is for those alone. */
bool train_augment_unused(const struct train_run *r);
bool train_text_unused(const struct train_run *r);
/* False after saying which of the options is given, though it is for models of `what`. */
bool train_options_unused(const struct train_run *r, const heed_field *rows, const char *what);

bool train_has_key(const heed_family *family, const char *name);   /* of config.json */
bool train_takes_key(const struct train_run *r, const char *name); /* the same, those of the run's head too */

/* The model of a run: fresh, with these settings and what the user set; or with --init the weights of a directory, of
 * whose config only the `kept` settings (of the head) and the user's are changed. */
heed_model *train_make_model(const struct train_run *r, heed_ctx *cx, struct train_settings *fresh,
                             struct train_settings *kept);

/* --teacher-forcing and its kin: false after saying which do not go together, or with the family; and what they ask
 * for, once the loop's source and length are known. */
bool train_forcing_fits(const struct train_run *r);
void train_set_forcing(const struct train_run *r, heed_forcing *to);

/* --embeddings and --target-embeddings. false after saying that they do not go with --init. */
bool train_embeddings_fit(const struct train_run *r);
/* Opens what was asked for; a model that has a choice gets the width of the vectors, unless --set says another. */
bool train_open_embeddings(struct train_run *r);
void train_put_embedding_size(const struct train_run *r, struct train_settings *settings, char text[48]);
/* Copies the vectors of known words into the tables of r->model, says how many, and closes them. */
bool train_take_embeddings(struct train_run *r, const heed_tokenizer *source, const heed_tokenizer *target);
void train_close_embeddings(struct train_run *r);
#define EMBEDDINGS_OPTION                                                                                              \
    {                                                                                                                  \
        .name = "embeddings", .kind = HEED_FIELD_FILE, .value = "PATH",                                                \
        .help = "begin with these word vectors: a directory of 'heed train words', or a file of word2vec's or GloVe's" \
    }

#endif
