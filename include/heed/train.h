/* heed/train.h: optimizers, schedules, the trainer and its checkpoints. */
#ifndef HEED_TRAIN_H
#define HEED_TRAIN_H

#include "heed/nn.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- optimizers: torch.optim's formulas and defaults ---- */
typedef enum heed_optimizer_kind { HEED_SGD, HEED_ADAM, HEED_ADAMW, HEED_ADAFACTOR } heed_optimizer_kind;
typedef struct heed_optimizer {
    heed_optimizer_kind kind;
    double momentum;          /* SGD */
    bool nesterov;            /* SGD */
    double beta1, beta2, eps; /* Adam, AdamW; 0, 0, 0 mean 0.9, 0.999, 1e-8 */
    double weight_decay;      /* of parameters that decay (heed_param.decays) */
} heed_optimizer;

/* ---- schedules: the learning rate of step 0, 1, 2, ... ---- */
typedef enum heed_schedule_kind {
    HEED_CONSTANT,     /* lr, after warm-up */
    HEED_STEP,         /* lr * factor^floor(step / every) */
    HEED_LINEAR,       /* warm-up, then straight down, to reach lr * floor after the last step */
    HEED_COSINE,       /* warm-up, then half a cosine down to lr * floor */
    HEED_INVERSE_ROOT, /* warm-up, then lr * sqrt(warmup / step), as the Transformer's */
} heed_schedule_kind;
typedef struct heed_schedule {
    heed_schedule_kind kind;
    double lr;             /* must be given, but for plans */
    int64_t warmup, steps; /* steps: of the whole run, for linear and cosine */
    int64_t every;         /* STEP */
    double factor;         /* STEP */
    double floor;          /* least fraction of lr, for linear and cosine */
} heed_schedule;
HEED_API double heed_schedule_at(const heed_schedule *s, int64_t step);

/* ---- the trainer: gradients, moments, average, one update over flat blocks ---- */
typedef struct heed_trainer heed_trainer;
typedef struct heed_trainer_opts {
    heed_optimizer optimizer;
    heed_schedule schedule;
    double clip;        /* maximum gradient norm; 0: no clipping */
    int64_t accumulate; /* backward passes per update, whose gradients are averaged; 0 and 1: every one */
    double average;     /* decay of the exponential moving average of weights, from the first update on; 0: none */
    bool recompute;     /* gradient checkpointing: heed_set_recompute */
} heed_trainer_opts;
HEED_API heed_trainer *heed_trainer_new(heed_ctx *cx, heed_params *params, const heed_trainer_opts *opts);
HEED_API void heed_trainer_free(heed_ctx *cx, heed_trainer *t);
/* Binds the gradients to the context; call before the forward pass of each step. */
HEED_API void heed_trainer_begin(heed_ctx *cx, heed_trainer *t);
/* After backward: counts the pass and, when enough have come, clips, updates, averages and clears; *updated (may be
 * NULL) says whether. False when clipping finds a gradient that is not finite: nothing is changed then. */
HEED_API bool heed_trainer_step(heed_ctx *cx, heed_trainer *t, bool *updated);
HEED_API int64_t heed_trainer_steps(const heed_trainer *t); /* updates so far */
HEED_API double heed_trainer_lr(const heed_trainer *t);     /* of the next update */
HEED_API double
heed_trainer_norm(const heed_trainer *t); /* of the last gradient, before clipping; 0 without clipping */
/* Exchanges weights and their average: before and after evaluating with the average. Nothing without one. */
HEED_API void heed_trainer_swap_average(heed_ctx *cx, heed_trainer *t);

/* ---- checkpoints ---- one safetensors file, written beside and renamed, that holds everything a run needs to go on
 * with the same bits: weights, moments, average, counts, and the run's own notes (configuration, data position, best so
 * far) as text. */
HEED_API bool heed_checkpoint_save(heed_ctx *cx, const heed_trainer *t, const char *path, const char *notes);
/* Strict: another model or optimizer is refused with a sentence and nothing is changed. */
HEED_API bool heed_checkpoint_load(heed_ctx *cx, heed_trainer *t, const char *path);
HEED_API char *heed_checkpoint_notes(heed_ctx *cx, const char *path); /* free with heed_mem_free */

#ifdef __cplusplus
}
#endif
#endif
