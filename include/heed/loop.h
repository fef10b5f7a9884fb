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
#include "heed/translate.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A metric, as tasks name, print and compare it. */
typedef struct heed_metric {
    const char *name;  /* in logs and JSON: "accuracy" */
    const char *label; /* for people: "accuracy" */
    const char *text;  /* a format for its value, times scale: "accuracy %.2f %%" */
    double scale;      /* 0: 1 */
    const char *loss;  /* a format for the loss beside it: "loss %.4g" */
    bool smaller;      /* is better */
} heed_metric;
HEED_API const heed_metric *heed_metric_find(const char *name); /* NULL: heed knows no such metric */

/* What one evaluation found: the mean loss, and the task's metrics, the first of which is `metric`. */
#define HEED_METRICS_MAX 8
/* A list of metrics by their names, separated by spaces; it ends in NULL. */
typedef struct heed_metrics {
    const heed_metric *list[HEED_METRICS_MAX + 1];
} heed_metrics;
HEED_API bool heed_metrics_find(heed_ctx *cx, const char *names, heed_metrics *metrics);
typedef struct heed_score {
    double loss, metric;
    double more[HEED_METRICS_MAX - 1];
} heed_score;
HEED_API double heed_score_value(const heed_score *score, int metric); /* by number from 0; -1: the loss */

/* A part of the loss, by the model's name for it: "loss_bbox" of a model that gives loss_dict.loss_bbox. Those of
 * single layers are not listed. */
#define HEED_LOSS_PARTS 12
typedef struct heed_loss_part {
    char name[28];
    double value; /* before it is weighted */
} heed_loss_part;

/* What a run has done so far; given to the report callback after every update, and written to the log. */
typedef struct heed_loop_state {
    int64_t step, steps, epoch;           /* updates done, of so many; whole epochs done */
    int64_t seen;                         /* examples or tokens so far */
    double loss, lr;                      /* of the last update */
    heed_loss_part part[HEED_LOSS_PARTS]; /* of its loss, */
    int parts;                            /* so many; 0: the model says none */
    double seconds;                       /* of work in this run and those it resumes */
    double seen_per_second;               /* while training: evaluations do not count */
    double seconds_left;                  /* with the evaluations to come */
    bool evaluated;                       /* this update was followed by an evaluation: valid holds it */
    heed_score valid;
    int64_t best_step; /* of the best evaluation so far; 0: there was none */
    heed_score best;
    bool validated;   /* after the last update, where evaluations took some of the validation examples: */
    heed_score whole; /* the model that is kept, on all of them */
    bool tested;      /* after the last update, when there is a test set */
    heed_score test;
} heed_loop_state;

/* A model's outputs, with a loss that its head does not have: in place of heed_model_forward. */
typedef bool (*heed_forward)(heed_ctx *cx, const void *own, const heed_model *model, const heed_io *in, heed_io *out);

/* What the loop asks of data of any kind. What update number s (from 0) takes depends on s alone. */
typedef struct heed_loop_source {
    void *own;
    const char *unit;                  /* what is counted: "examples", "tokens" */
    const heed_metric *const *metrics; /* what evaluations find beside the loss; ends in NULL */
    int64_t per_epoch;                 /* updates in an epoch */
    int64_t passes;                    /* most backward passes in an update */
    bool valid, test;                  /* there are such sets */
    int64_t n_train, n_valid, n_test;  /* examples in each, for the time left; 0: not known */
    /* Updates to go through when planning memory: `n_plan` from `plan_from` on. */
    int64_t plan_from, n_plan;
    int64_t (*seen)(const void *own, int64_t step);      /* units in the updates before `step` */
    bool (*seek)(heed_ctx *cx, void *own, int64_t step); /* the next batch is that of update `step` */
    int64_t (*next)(heed_ctx *cx, void *own);            /* takes it; its passes, 0 when it failed */
    bool (*feed)(heed_ctx *cx, void *own, int64_t pass, heed_io *in, float *share); /* and their share of its loss */
    heed_forward forward;                                                           /* NULL: heed_model_forward */
    bool (*measure)(heed_ctx *cx, void *own, const heed_model *model, bool test, heed_score *score);
    /* The same on n examples of the validation set, by their numbers (0 to n_valid - 1), ascending; NULL: there is no
     * such way, and the loop's valid_examples is refused. */
    bool (*measure_some)(heed_ctx *cx, void *own, const heed_model *model, const int64_t *some, int64_t n,
                         heed_score *score);
    void (*settings)(heed_ctx *cx, void *own, heed_json at); /* texts: what a checkpoint must agree with */
    void (*close)(heed_ctx *cx, void *own);                  /* what seek and next took; may be NULL */
    float *carried; /* (n_carried) what updates leave for later ones, beside the weights: kept in checkpoints, and what
                     * a checkpoint holds is put there before seek; NULL: nothing. An update that fails may change only
                     * what it would have left */
    int64_t n_carried;
} heed_loop_source;

struct heed_plan;
typedef struct heed_loop_opts {
    const char *dir; /* the model directory to write: model.safetensors (the best by validation, else the last, with the
                        average where there is one), checkpoint.safetensors on the way */
    heed_trainer_opts
        trainer; /* its schedule's steps 0: those of the run; accumulate stays 0, a source has micro-batches */
    int64_t epochs, steps;          /* steps overrides epochs; 0: the other */
    uint64_t seed;                  /* of dropout */
    const heed_loop_source *source; /* the data: heed_source_loop of a data set, or one's own */
    const char *best_by;    /* the metric that chooses the best model, or "loss"; NULL: the source's first metric */
    int64_t evaluate_every; /* updates; 0: at the end of each epoch */
    int64_t valid_examples; /* evaluations take so many examples of the validation set, chosen by the seed, the same
                               ones each time; the model that is kept is measured on all of them at the end. 0: all */
    int64_t patience;       /* evaluations without a better one before stopping early; 0: never */
    int64_t keep;           /* the last so many evaluated models stay in dir/kept/step-N */
    int64_t save_every;     /* updates between checkpoints; 0: about every ten seconds of work */
    bool drop_checkpoint;   /* remove checkpoint.safetensors once the run has ended; one that is stopped keeps it */
    bool resume;            /* from dir's checkpoint; where there is none the run begins */
    const char *log;        /* JSON lines go here, "-" is standard output; NULL: none */
    int64_t log_every; /* updates between lines; 0: one line each, in a long run fewer. Evaluations always have one */
    /* Called after every update; false: save a checkpoint and stop (Ctrl-C). NULL: none. */
    bool (*report)(void *user, const heed_loop_state *state);
    void *user;
    const struct heed_plan *plan; /* of this run, by heed_plan_run in a context of as many threads, which the caller has
                                   * found to be within the budget; NULL: a run within a budget plans itself */
} heed_loop_opts;

typedef enum heed_loop_end { HEED_LOOP_FAILED, HEED_LOOP_DONE, HEED_LOOP_EARLY, HEED_LOOP_STOPPED } heed_loop_end;

/* Trains; afterwards the model is the one that was kept. A loss that is not finite stops the run with a sentence at
 * once; the last checkpoint stays. A checkpoint of another configuration is refused with a sentence that says what
 * differs; what may differ: the number of steps where the schedule does not depend on it, and how often to save and
 * log. A run that the context's cancel callback stops is saved as well. A byte budget that the run would exceed is
 * refused before it begins. state may be NULL. */
HEED_API heed_loop_end heed_loop_run(heed_ctx *cx, heed_model *model, const heed_loop_opts *opts,
                                     heed_loop_state *state);

/* ---- plans: what a run will take, found without computing ---- */

/* Bytes of heed's own memory, but for the data set: all that the context holds, the model and its threads' scratch
 * included. Of steps it is to the byte what the same steps take in a context of as many threads that holds the same;
 * of a run it is never less, and at most 1 KiB more: numbers in the text of a checkpoint count as long as they get. */
typedef struct heed_plan {
    size_t total; /* all of it, at the worst moment */
    size_t weights, trainer,
        batches;   /* of that, what is held throughout: with gradients, moments, averages, the best */
    size_t step;   /* and the tensors of a step, at most */
    size_t arena;  /* and all of the arena that they lie in */
    size_t mapped; /* beside the total: weights that are read from mapped files, memory that processes share */
} heed_plan;

/* For a context opened with `dry` in which the model was made or loaded, and nothing else is done. Steps on `batch`
 * examples of `length` tokens (unused by models of vectors): training with such a trainer, or (NULL) only running. */
HEED_API bool heed_plan_step(heed_ctx *dry, const heed_model *model, const heed_trainer_opts *trainer, int64_t batch,
                             int64_t length, heed_plan *plan);
/* The same for heed_loop_run with these options: updates, evaluations and checkpoints. Nothing is written. */
HEED_API bool heed_plan_run(heed_ctx *dry, heed_model *model, const heed_loop_opts *opts, heed_plan *plan);

/* ---- teacher forcing ---- what a decoder is given in training: the true token with a probability, else the one that
 * it predicted itself. The first is teacher forcing, 1, and free running, 0 (Williams & Zipser 1989); a probability
 * that falls with the updates i is scheduled sampling (Bengio et al. 2015). Drawn by seed, update, row and place. For
 * models that take teacher_forcing (heed_model_takes). Evaluations are teacher forced. */
typedef enum heed_forcing_kind {
    HEED_FORCING_CONSTANT,        /* probability */
    HEED_FORCING_LINEAR,          /* 1 - decay i, at least probability, as the others */
    HEED_FORCING_EXPONENTIAL,     /* decay^i, decay below 1 */
    HEED_FORCING_INVERSE_SIGMOID, /* decay / (decay + exp(i / decay)), decay at least 1 */
} heed_forcing_kind;
typedef struct heed_forcing {
    heed_forcing_kind kind;
    double probability; /* of the true token; of a schedule, the least */
    double decay;
} heed_forcing;
HEED_API double heed_forcing_at(const heed_forcing *forcing,
                                int64_t step); /* the probability at update `step`, from 0 */
/* A decay for so many updates: linear, down to 0 at the end; exponential, to 0.01; inverse sigmoid, to a half midway.
 */
HEED_API double heed_forcing_decay(heed_forcing_kind kind, int64_t steps);

/* ---- sources: data sets as the loop takes them ---- */

typedef struct heed_source heed_source;
typedef struct heed_source_opts {
    const heed_dataset *train, *valid, *test; /* valid, test: NULL for none. test is measured once, at the end */
    const int64_t *train_rows, *valid_rows;   /* which examples; NULL: all */
    int64_t n_train, n_valid;                 /* of those rows; 0 without them */
    int64_t batch, micro_batch;   /* examples per update and per backward pass; micro 0: the whole batch. Equal to the
                                   * large batch up to rounding */
    bool by_length;               /* batches of examples of similar length, grouped anew in each epoch */
    int64_t tokens, micro_tokens; /* instead: tokens per update, padding included, in groups of similar length */
    bool count_tokens;            /* tokens of the last ragged column are counted, not examples; with by_length */
    uint64_t seed;                /* of shuffling and of what is drawn */
    void *own;                    /* of the functions: */
    heed_transform transform;     /* of rows, in each epoch; NULL: none */
    heed_forward forward;         /* NULL: heed_model_forward */
    const heed_forcing *forcing;  /* of what is trained on, looked at when an update begins; NULL: teacher forcing */
    /* The training set of an epoch, with as many examples; it may change the one that it gave before. NULL: train. */
    bool (*draw)(heed_ctx *cx, void *own, int64_t epoch, heed_dataset *set);
    bool (*measure)(heed_ctx *cx, void *own, const heed_model *model, bool test, heed_score *score);
    /* The same on these rows of `valid`, ascending; NULL: validation takes all of its examples. */
    bool (*measure_some)(heed_ctx *cx, void *own, const heed_model *model, const int64_t *rows, int64_t n,
                         heed_score *score);
    const char *metrics; /* what it finds, by name: "accuracy f1_macro"; the first is the score's `metric` */
    void (*settings)(heed_ctx *cx, void *own,
                     heed_json at); /* texts: what else a checkpoint must agree with; or NULL */
    const char *examples;           /* what they are called: "pairs"; NULL: "examples" */
} heed_source_opts;
/* What opts points to must stay until it is freed. */
HEED_API heed_source *heed_source_new(heed_ctx *cx, const heed_source_opts *opts);
HEED_API void heed_source_free(heed_ctx *cx, heed_source *source);
HEED_API const heed_loop_source *heed_source_loop(const heed_source *source);

/* The inputs of a model: the columns of a batch, borrowed: valid as long as the batch. */
HEED_API bool heed_loop_feed(heed_ctx *cx, const heed_batch *batch, heed_io *in);

/* Runs a model over a data set, in groups of similar length where it has ragged columns. `take` (may be NULL) is given
 * every batch and what came out; the mean loss goes to *loss (may be NULL). */
typedef struct heed_over_opts {
    const int64_t *rows; /* which examples; NULL: all */
    int64_t n_rows;
    int64_t batch;  /* examples at a time; 0: a good number, or */
    int64_t tokens; /* so many tokens, padding included */
    bool loss_only; /* the logits are not needed */
    bool (*take)(heed_ctx *cx, void *own, const heed_batch *batch, const heed_io *out);
    void *own;
    heed_transform transform; /* of rows, with epoch 0 and this seed; NULL: none */
    heed_forward forward;     /* NULL: heed_model_forward */
    const void *data;         /* what both are given */
    uint64_t seed;
} heed_over_opts;
HEED_API bool heed_loop_over(heed_ctx *cx, const heed_model *model, const heed_dataset *set, const heed_over_opts *opts,
                             double *loss);

/* Tables and pictures: the metric is the accuracy, or R^2 of numbers. */
typedef struct heed_examples_opts {
    const heed_data *train, *valid, *test;
    const int64_t *train_rows, *valid_rows;
    int64_t n_train, n_valid, batch, micro_batch;
    uint64_t seed;
} heed_examples_opts;
typedef struct heed_examples heed_examples;
HEED_API heed_examples *heed_examples_new(heed_ctx *cx, const heed_examples_opts *opts);
HEED_API void heed_examples_free(heed_ctx *cx, heed_examples *examples);
HEED_API const heed_loop_source *heed_examples_source(const heed_examples *examples);

/* ---- translation ---- pairs in groups of like length; the metric is BLEU, of all pairs decoded greedily. */

typedef struct heed_translation_set {
    const heed_pairs *pairs;
    const heed_lines *text; /* the targets as text, prepared; one for each pair. Not needed for training */
} heed_translation_set;
typedef struct heed_translation_opts {
    heed_translation_set train, valid, test; /* valid, test: their pairs may be NULL */
    const heed_tokenizer *target;            /* turns what is decoded into text */
    int64_t tokens, micro_tokens; /* places of a batch and of a backward pass, on either side; micro 0: all */
    int32_t pad;                  /* the token that fills up */
    uint64_t seed;                /* of shuffling */
    heed_bleu_opts bleu;
    /* BPE-dropout, which encodes train's pairs anew in every epoch: */
    double merge_dropout;                 /* 0: none. It takes */
    const heed_parallel_text *train_text; /* what they were made of */
    int64_t max_length;                   /* and the most tokens that a side may then have, 0: any */
    const heed_forcing *forcing;          /* see heed_source_opts */
} heed_translation_opts;
typedef struct heed_translation heed_translation;
/* What opts points to must stay until it is freed. */
HEED_API heed_translation *heed_translation_new(heed_ctx *cx, const heed_translation_opts *opts);
HEED_API void heed_translation_free(heed_ctx *cx, heed_translation *t);
HEED_API const heed_loop_source *heed_translation_source(const heed_translation *t);
/* Mean loss of a target token, and BLEU of what `decode` (NULL: greedy) gives. */
HEED_API bool heed_translation_measure(heed_ctx *cx, const heed_model *model, const heed_translation_set *set,
                                       const heed_tokenizer *target, const heed_generate_opts *decode,
                                       const heed_bleu_opts *bleu, heed_score *score, heed_bleu *details);
/* The same, and what was decoded: a line for each pair, to be freed. details may be NULL. */
HEED_API bool heed_translation_measure_lines(heed_ctx *cx, const heed_model *model, const heed_translation_set *set,
                                             const heed_tokenizer *target, const heed_generate_opts *decode,
                                             const heed_bleu_opts *bleu, heed_score *score, heed_bleu *details,
                                             heed_lines *decoded);
/* BLEU of sentences by the number of words of their sources: 1 to width, width + 1 to 2 width, …; lengths that do not
 * occur are left out. At most `most`, the longest in the last; how many, 0 when something failed. */
typedef struct heed_length_score {
    int64_t from, to, sentences;
    double words; /* mean number of the sources' words */
    double bleu;
} heed_length_score;
HEED_API int heed_bleu_by_length(heed_ctx *cx, const heed_lines *sources, const heed_lines *hypotheses,
                                 const heed_lines *references, int64_t width, const heed_bleu_opts *bleu,
                                 heed_length_score *scores, int most);

/* ---- what a model knows of its data ---- */

/* Puts what a data set calls its columns, categories and classes into the model's config: input_names,
 * input_categories, output_names, id2label, label2id; of grey pictures that are dark on light image_background. */
HEED_API bool heed_model_describe(heed_ctx *cx, heed_model *model, const heed_data *data);
/* What the config says of the data, as a data set without examples: to load others `like` it (heed_data_opts). For
 * models of vectors. Free with heed_data_free. */
HEED_API heed_data *heed_model_data(heed_ctx *cx, const heed_model *model);

/* ---- measuring ---- */

/* Mean loss and metric of a model on examples (rows NULL: all): for labels the accuracy as a fraction; for numbers R^2,
 * the mean over the outputs. batch 0: a good one. */
HEED_API bool heed_loop_evaluate(heed_ctx *cx, const heed_model *model, const heed_data *data, const int64_t *rows,
                                 int64_t n, int64_t batch, heed_score *score);
HEED_API const char *heed_loop_metric(const heed_data *data); /* "accuracy" or "r2" */
/* The same on all of the data, and what is predicted for each example: its class, to label (n), or its numbers, to
 * y (n, outputs), whichever the targets are. A prediction that is not finite fails with the example's line or number.
 */
HEED_API bool heed_loop_predict(heed_ctx *cx, const heed_model *model, const heed_data *data, int64_t batch,
                                heed_score *score, int32_t *label, float *y);

/* Of a class, or the mean of several; 0 where a denominator is. */
typedef struct heed_class_score {
    double precision, recall, f1;
    int64_t support, predicted; /* examples of the class, and examples said to be of it */
} heed_class_score;
/* The figures of scikit-learn's classification_report. */
typedef struct heed_class_report {
    int64_t n, classes;
    double accuracy;
    int64_t *confusion;               /* (classes, classes): true class by predicted class; NULL beyond 4096 classes */
    heed_class_score *score;          /* (classes) */
    heed_class_score macro, weighted; /* means over the classes that occur or are predicted; weighted by support */
} heed_class_report;
HEED_API heed_class_report *heed_class_report_new(heed_ctx *cx, const int32_t *label, const int32_t *predicted,
                                                  int64_t n, int64_t classes);
HEED_API void heed_class_report_free(heed_ctx *cx, heed_class_report *report);

/* R^2, mean absolute error and root mean squared error of each output: y and predicted are (n, outputs). */
typedef struct heed_output_score {
    double r2, mae, rmse;
} heed_output_score;
HEED_API bool heed_output_scores(heed_ctx *cx, const float *y, const float *predicted, int64_t n, int64_t outputs,
                                 heed_output_score *scores);

#ifdef __cplusplus
}
#endif
#endif
