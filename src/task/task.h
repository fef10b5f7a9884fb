/* Tasks from the inside. A task is one file: a record and its functions. */
#ifndef TASK_TASK_H
#define TASK_TASK_H

#include "data/tagged_words.h"
#include "heed/run.h"
#include "heed/task.h"

struct heed_text_task {
    const char *name;
    const char *metrics;                                   /* by name; the first chooses the best model */
    const char *(*metrics_of)(const heed_task_data *data); /* where they depend on the data; NULL: they do not */
    const char *cut;                                       /* what is cut when it is too long; NULL: "text" */
    bool (*read)(heed_ctx *cx, const char *path, const heed_task_opts *opts, heed_task_data *data);
    bool (*encode)(heed_ctx *cx, const heed_text_reader *reader, heed_task_data *data);
    bool (*measure)(heed_ctx *cx, const heed_model *model, const heed_task_data *data, const int64_t *rows, int64_t n,
                    heed_score *score, int32_t *predicted);
    /* The rows of an epoch, drawn anew, `set` being empty: what they take from others is from these rows (NULL: all).
     * NULL: rows stay. */
    bool (*draw)(heed_ctx *cx, const heed_task_data *data, uint64_t seed, int64_t epoch, const int64_t *rows, int64_t n,
                 heed_dataset *set);
    int64_t (*held_out)(const heed_task_data *data); /* rows at its end that are for validation; NULL: any may be */
    void (*settings)(heed_ctx *cx, const heed_task_data *data, heed_json at); /* for checkpoints; NULL: none */
    bool tokens;                                                              /* are counted, not examples */
    int64_t (*examples)(const heed_task_data *data); /* where an example may be several rows; NULL: rows are examples */
    int64_t (*example_of)(const heed_task_data *data, int64_t row);
    heed_forward forward; /* in place of the model's own, its own is the data; NULL: none */
    bool mixes;           /* the loss compares the rows of a batch with each other */
    /* Writes what a directory holds beside the model; NULL: nothing. */
    bool (*write)(heed_ctx *cx, const heed_model *model, const heed_text_reader *reader, const char *dir);
    heed_transform transform;                         /* of encoded rows, its own is the data; NULL: none */
    void (*free)(heed_ctx *cx, heed_task_data *data); /* of data->own; NULL: there is nothing */

    /* What a run of it does otherwise than others of texts (text/texts.h). */
    bool next; /* the model predicts next tokens: it is a decoder, and its windows are as long as the field context */
    bool streams;                   /* windows are drawn from a text that has at least one of them */
    bool whole;                     /* examples are not cut to the context, which is that of windows to train on */
    int labels;                     /* of the head; 0: the classes of the data */
    const char *problem;            /* the setting that says what they are: "problem_type=regression"; NULL: none */
    const char *recurrent_size;     /* the setting of a fresh recurrent network, which is quick; NULL: as others */
    const char *begin;              /* the token that a text begins with; NULL: the one that it ends with */
    bool (*read_sets)(heed_run *r); /* NULL: a file, or the files of a directory */
    const char *(*part_of)(const heed_run *r,
                           const char *part); /* of data to measure on, that are in one file; NULL: files */
    /* Trained on the data; NULL: an encoder's. */
    heed_tokenizer *(*tokenizer)(heed_ctx *cx, const heed_task_data *data, heed_tokenizer_kind kind, int64_t size);
    /* What a model of it says of a line (answers.h); NULL: it writes, or there is nothing to say. */
    bool (*answer)(heed_ctx *cx, const heed_text_model *m, const char *line, heed_json at);
};
/* Among those of a task the one of that name, else the first. */
const heed_text_task *task_of_texts(const heed_task *task, const char *name);

struct heed_task_data {
    const heed_text_task *task;
    heed_task_opts opts;   /* without what it points to */
    char name[256];        /* of the file, for sentences */
    heed_lines text, pair; /* examples; pair.count 0: single texts */
    int64_t *line;         /* (n) of the file */
    int32_t *label;        /* (n) classes, of words (labels) of them, or */
    int64_t labels;        /* 0: one for each example */
    float *y;              /* (n) numbers */
    char **names;          /* of the classes, sorted; ends in NULL */
    int64_t classes;
    float *weight; /* (classes) in the loss; NULL: all count the same */
    heed_dataset set;
    int64_t cut;
    void *own; /* the task's */
};

extern const heed_text_task task_classify, task_regress, task_tag, task_qa, task_choose, task_masked, task_lm,
    task_sentence_pairs, task_replaced, task_pairs, task_text2text, task_music;

/* ---- what tasks share ---- */

/* A sorted list of the different texts among n, which ends in NULL, in one block. */
char **task_names(heed_ctx *cx, const char *const *texts, int64_t n, int64_t *count);
int32_t task_label(char **names, int64_t count, const char *text); /* -1: none of them */
char **task_copy_names(heed_ctx *cx, char **names, int64_t *count);
/* A column of a table by name or number (from 1), `otherwise` without a name; -1 with a sentence. */
int64_t task_column(heed_ctx *cx, const heed_task_data *d, const heed_table *t, const char *name, int64_t otherwise);
/* Opens a table of texts: a file of tabs has no quoted cells; where a column is given by name, there is a header. */
heed_table *task_table(heed_ctx *cx, const char *path, const heed_task_opts *opts);
bool task_put_line(heed_ctx *cx, heed_string *to, const char *text); /* newlines within it become spaces */
/* The labels to go by: those of opts, or NULL. */
char **task_known_labels(const heed_task_opts *opts);

/* The cells of a column, and the line of each row. */
bool task_read_texts(heed_ctx *cx, const heed_table *table, int64_t column, heed_lines *to);
bool task_read_lines(heed_ctx *cx, const heed_table *table, heed_task_data *data);

void task_tagged_words(const heed_task_data *data, struct tagged_words *to); /* of data of tags */

/* By its usual names; -1 with a sentence that begins with the task's name. */
int32_t task_mask_token(heed_ctx *cx, const char *task, const heed_tokenizer *tokens);

heed_text_model *text_model_of(heed_ctx *cx, const heed_directory *d, const char *task); /* heed_text_model_open's */

/* Class weights: reads or finds those of d->opts; the loss of a batch, as torch's; and the forward function with it. */
bool task_weigh(heed_ctx *cx, heed_task_data *d);
heed_tensor *task_weighted_loss(heed_ctx *cx, heed_tensor *logits, heed_tensor *labels, const float *weight,
                                int64_t classes);
bool task_weighted_forward(heed_ctx *cx, const void *own, const heed_model *model, const heed_io *in, heed_io *out);

/* The mean loss of the tokens that are predicted in these rows (NULL: in all), and their number; `fill` completes rows.
 */
bool task_token_loss(heed_ctx *cx, const heed_model *model, const heed_task_data *d, const int64_t *rows, int64_t n,
                     heed_transform fill, double *loss, int64_t *tokens);
bool task_all_finite(heed_ctx *cx, const float *x, int64_t n); /* else a sentence */
void task_softmax(float *x, int64_t n);                        /* in place */
void task_unit_length(float *x, int64_t n);                    /* divided by its length */

/* Logits (n, width) of all examples in their order, from heed_loop_over. */
struct task_logits {
    float *value;
    int64_t width, n;
    bool dry;
};
bool task_take_logits(heed_ctx *cx, void *own, const heed_batch *batch, const heed_io *out);

#endif
