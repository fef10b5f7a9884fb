/* The trainer: one pass over flat blocks updates all parameters. Stretches of neighbouring parameters that are treated
 * alike go through the kernels in one call. A parameter that got no gradient is left alone, as PyTorch leaves one whose
 * grad is None. */
#include "train/trainer.h"
#include "base/ctx.h"
#include "base/profile.h"
#include "kernel/rows.h"
#include "nn/params.h"
#include "tensor/engine.h"
#include <math.h>
#include <string.h>

const char *optimizer_name(heed_optimizer_kind kind) {
    static const char *const names[] = {
        [HEED_SGD] = "sgd", [HEED_ADAM] = "adam", [HEED_ADAMW] = "adamw", [HEED_ADAFACTOR] = "adafactor"};
    return names[kind];
}

static bool opts_ok(heed_ctx *cx, const heed_trainer_opts *o) {
    const heed_optimizer *p = &o->optimizer;
    if ((int)p->kind < HEED_SGD || p->kind > HEED_ADAFACTOR)
        return heed_fail(cx, HEED_ERR_USAGE, "trainer: %d is not an optimizer", (int)p->kind);
    const double lr = o->schedule.lr;
    if (!(lr > 0 && isfinite(lr)) && !(lr == 0 && cx->config.dry)) /* a plan needs none */
        return heed_fail(cx, HEED_ERR_RANGE, "trainer: the learning rate is %g: must be finite and above 0", lr);
    if (!(p->beta1 >= 0 && p->beta1 < 1 && p->beta2 >= 0 && p->beta2 < 1 && p->eps >= 0))
        return heed_fail(cx, HEED_ERR_RANGE,
                         "trainer: betas %g, %g and eps %g: betas lie in [0, 1), eps is not negative", p->beta1,
                         p->beta2, p->eps);
    if (!(p->momentum >= 0 && p->momentum < 1 && p->weight_decay >= 0 && o->clip >= 0 && o->accumulate >= 0 &&
          o->average >= 0 && o->average < 1))
        return heed_fail(cx, HEED_ERR_RANGE, "trainer: momentum, decay, clip, accumulate or average out of range");
    if (p->nesterov && p->momentum == 0) return heed_fail(cx, HEED_ERR_USAGE, "trainer: Nesterov needs a momentum");
    return true;
}

/* A dry context only counts it: pages that nobody touches are not taken from the system. */
static float *block(heed_ctx *cx, int64_t n, bool zero) {
    float *b = heed_mem_new(cx, (size_t)n * sizeof *b);
    if (b && zero && !cx->config.dry) memset(b, 0, (size_t)n * sizeof *b);
    return b;
}

/* Adafactor's moments of a parameter: of the rows and columns of its last two dimensions, or of each number. */
static int64_t factors_of(const heed_param *p) {
    if (p->rank < 2 || p->count == 0) return p->count;
    return p->count / p->shape[p->rank - 1] + p->count / p->shape[p->rank - 2];
}

/* Where Adafactor's parameter p lies in the blocks; -1: it is not trained. It sees parameters as files have them:
 * queries, keys and values apart, though one fused matrix holds them. */
static int64_t factored_place(const heed_trainer *t, const heed_param *p) {
    if (!heed_param_stored(p)) return -1;
    const int64_t place = t->place[p->target ? p->target->index : p->index];
    return place < 0 ? -1 : place + (p->target ? p->offset : 0);
}

static int64_t moments_of(const heed_trainer *t) {
    int64_t n = 0;
    if (t->opts.optimizer.kind != HEED_ADAFACTOR) return t->numbers;
    for (int i = 0; i < t->count; i++) {
        const heed_param *p = heed_params_at(t->params, i);
        if (factored_place(t, p) >= 0) n += factors_of(p);
    }
    return n;
}

/* Lays out what is trained: frozen parameters cost neither gradient nor moments. */
static bool lay_out(heed_ctx *cx, heed_trainer *t) {
    t->place = heed_mem_new(cx, (size_t)t->count * sizeof *t->place);
    for (int i = 0; t->place && i < t->count; i++) {
        const heed_param *p = heed_params_at(t->params, i);
        const bool trained = !p->target && !p->frozen;
        t->place[i] = trained ? t->numbers : -1;
        if (trained) t->numbers += p->count;
    }
    if (t->place) t->n_moments = moments_of(t);
    if (t->place && t->count > 0 && t->numbers == 0)
        heed_fail(cx, HEED_ERR_USAGE, "trainer: all parameters are frozen: nothing is left to train");
    return !heed_failed(cx);
}

heed_trainer *heed_trainer_new(heed_ctx *cx, heed_params *params, const heed_trainer_opts *opts) {
    if (heed_failed(cx)) return NULL;
    if (!params || !opts || !(params->block || params->file)) {
        heed_fail(cx, HEED_ERR_USAGE, "trainer: %s", opts ? "allocated parameters are needed" : "the options are NULL");
        return NULL;
    }
    if (!opts_ok(cx, opts) || !heed_params_own(cx, params)) return NULL;
    heed_trainer *t = heed_mem_new(cx, sizeof *t);
    if (!t) return NULL;
    *t = (heed_trainer){.params = params, .opts = *opts, .count = heed_params_count(params)};
    heed_optimizer *o = &t->opts.optimizer;
    if (o->beta1 == 0 && o->beta2 == 0 && o->eps == 0) o->beta1 = 0.9, o->beta2 = 0.999, o->eps = 1e-8;
    if (t->opts.accumulate == 0) t->opts.accumulate = 1;
    const int count = t->count;
    const int moments = o->kind == HEED_SGD ? o->momentum > 0 : o->kind == HEED_ADAFACTOR ? 1 : 2;
    t->grads = heed_mem_new(cx, (size_t)count * sizeof *t->grads);
    if (lay_out(cx, t)) {
        t->grad = block(cx, t->numbers, false);
        for (int i = 0; i < moments; i++) t->moment[i] = block(cx, t->n_moments, true);
        if (opts->average > 0) t->average = block(cx, t->numbers, false);
    }
    if (heed_failed(cx)) {
        heed_trainer_free(cx, t);
        return NULL;
    }
    for (int i = 0; i < count; i++) {
        const heed_param *p = heed_params_at(params, i);
        t->grads[i] = (heed_grad){.data = t->place[i] < 0 ? NULL : t->grad + t->place[i]};
        if (t->average && t->place[i] >= 0 && !cx->config.dry)
            memcpy(t->average + t->place[i], p->value, (size_t)p->count * sizeof(float));
    }
    return t;
}

void heed_trainer_free(heed_ctx *cx, heed_trainer *t) {
    if (!cx || !t) return;
    if (cx->bound_grads == t->grads) heed_bind(cx, NULL, NULL);
    engine_forget_slots(cx, t->grads, t->count); /* the parameters may be gone */
    heed_mem_free(cx, t->grads);
    heed_mem_free(cx, t->place);
    heed_mem_free(cx, t->grad);
    for (int i = 0; i < 2; i++) heed_mem_free(cx, t->moment[i]);
    heed_mem_free(cx, t->average);
    heed_mem_free(cx, t);
}

void heed_trainer_begin(heed_ctx *cx, heed_trainer *t) {
    if (heed_failed(cx) || !t) return;
    heed_bind(cx, t->params, t->grads);
    heed_set_grad(cx, true);
    heed_set_training(cx, true);
    heed_set_recompute(cx, t->opts.recompute);
}

/* ---- stretches: numbers that lie side by side among the weights and in the blocks ---- */

struct stretch {
    float *weights;
    int64_t from, count; /* in the blocks */
    bool decays;
    float lr_scale;
};

/* The next stretch of trained parameters at or after parameter *i; `filled`: of those with a gradient; `alike`: that
 * have one learning rate and weight decay. */
static bool next_stretch(const heed_trainer *t, int *i, bool filled, bool alike, struct stretch *s) {
    *s = (struct stretch){0};
    for (; *i < t->count; ++*i) {
        heed_param *p = heed_params_at(t->params, *i);
        if (p->target) continue;
        const bool taken = t->place[*i] >= 0 && (!filled || t->grads[*i].filled);
        const bool follows = s->weights && s->weights + s->count == p->value &&
                             (!alike || (p->decays == s->decays && p->lr_scale == s->lr_scale));
        if (s->weights && !(taken && follows)) return true;
        if (!taken) continue;
        if (!s->weights) *s = (struct stretch){p->value, t->place[*i], 0, p->decays, p->lr_scale};
        s->count += p->count;
    }
    return s->weights != NULL;
}

static double gradient_norm(heed_ctx *cx, const heed_trainer *t) {
    const struct profile_mark mark = profile_begin(cx);
    struct stretch s;
    double sum = 0;
    for (int i = 0; next_stretch(t, &i, true, false, &s);)
        sum += kernel_square_sum(cx->pool, t->grad + s.from, s.count);
    profile_end(cx, mark, "gradient norm", PROFILE_FORWARD);
    return sqrt(sum);
}

/* Sizes of weights and of updates are those of whole parameters: one by one. */
static void update_factored(heed_ctx *cx, heed_trainer *t, float scale) {
    const double lr = heed_schedule_at(&t->opts.schedule, t->steps);
    float *moments = t->moment[0];
    for (int i = 0; i < t->count; i++) {
        const heed_param *p = heed_params_at(t->params, i), *const whole = p->target ? p->target : p;
        const int64_t place = factored_place(t, p);
        if (place < 0) continue;
        const bool factored = p->rank > 1;
        const int64_t cols = factored ? p->shape[p->rank - 1] : p->count, rows = factored ? p->shape[p->rank - 2] : 1;
        const struct adafactor a = {lr * (double)whole->lr_scale, whole->decays ? t->opts.optimizer.weight_decay : 0,
                                    t->steps + 1, scale};
        if (t->grads[whole->index].filled && p->count > 0)
            kernel_adafactor(cx->pool, p->value, moments, t->grad + place, p->count / (rows * cols), rows, cols,
                             factored, &a);
        moments += factors_of(p);
    }
}

static void update_stretches(heed_ctx *cx, heed_trainer *t, float scale) {
    const heed_optimizer *o = &t->opts.optimizer;
    struct stretch s;
    for (int i = 0; next_stretch(t, &i, true, true, &s);) {
        const double decay = s.decays ? o->weight_decay : 0;
        const double lr = heed_schedule_at(&t->opts.schedule, t->steps) * (double)s.lr_scale;
        if (o->kind == HEED_SGD) {
            const struct sgd sgd = {lr, o->momentum, decay, o->nesterov, scale};
            kernel_sgd(cx->pool, s.weights, t->moment[0] ? t->moment[0] + s.from : NULL, t->grad + s.from, s.count,
                       &sgd);
        } else {
            const struct adam adam = {lr,           o->beta1, o->beta2, o->eps, decay, o->kind == HEED_ADAMW,
                                      t->steps + 1, scale};
            kernel_adam(cx->pool, s.weights, t->moment[0] + s.from, t->moment[1] + s.from, t->grad + s.from, s.count,
                        &adam);
        }
    }
}

static void update(heed_ctx *cx, heed_trainer *t, float scale) {
    const struct profile_mark mark = profile_begin(cx);
    (t->opts.optimizer.kind == HEED_ADAFACTOR ? update_factored : update_stretches)(cx, t, scale);
    profile_end(cx, mark, optimizer_name(t->opts.optimizer.kind), PROFILE_FORWARD);
}

void trainer_clear(heed_trainer *t) {
    for (int i = 0; i < heed_params_count(t->params); i++) t->grads[i].filled = false;
    t->passes = 0;
}

/* The first update begins the average, as torch.optim.swa_utils.AveragedModel does: no trace of the first draw. */
static void average(heed_ctx *cx, heed_trainer *t) {
    const struct profile_mark mark = profile_begin(cx);
    struct stretch s;
    for (int i = 0; next_stretch(t, &i, false, false, &s);)
        if (t->steps == 0)
            kernel_copy(cx->pool, t->average + s.from, s.weights, s.count);
        else
            kernel_ema(cx->pool, t->average + s.from, s.weights, s.count, t->opts.average);
    profile_end(cx, mark, "average of weights", PROFILE_FORWARD);
}

bool heed_trainer_step(heed_ctx *cx, heed_trainer *t, bool *updated) {
    if (updated) *updated = false;
    if (heed_failed(cx)) return false;
    if (!t) return heed_fail(cx, HEED_ERR_USAGE, "trainer: the trainer is NULL");
    if (t->swapped) return heed_fail(cx, HEED_ERR_USAGE, "trainer: a step while the average is swapped in");
    if (cx->config.dry) return true; /* there are no gradients */
    if (++t->passes < t->opts.accumulate) return true;
    double scale = 1 / (double)t->passes;
    if (t->opts.clip > 0) {
        t->norm = gradient_norm(cx, t) * scale;
        if (!isfinite(t->norm)) {
            trainer_clear(t);
            return heed_fail(cx, HEED_ERR_RANGE, "trainer: the gradient of step %lld is not finite",
                             (long long)t->steps);
        }
        /* as torch.nn.utils.clip_grad_norm_ */
        scale *= fmin(1, t->opts.clip / (t->norm + 1e-6));
    }
    update(cx, t, (float)scale);
    if (t->average) average(cx, t);
    trainer_clear(t);
    t->steps++;
    if (updated) *updated = true;
    return true;
}

int64_t heed_trainer_steps(const heed_trainer *t) { return t ? t->steps : 0; }
double heed_trainer_lr(const heed_trainer *t) { return t ? heed_schedule_at(&t->opts.schedule, t->steps) : 0; }
double heed_trainer_norm(const heed_trainer *t) { return t ? t->norm : 0; }

void heed_trainer_swap_average(heed_ctx *cx, heed_trainer *t) {
    if (heed_failed(cx) || !t || !t->average) return;
    struct stretch s;
    for (int i = 0; next_stretch(t, &i, false, false, &s);)
        for (int64_t k = 0; k < s.count; k++) {
            const float was = s.weights[k];
            s.weights[k] = t->average[s.from + k];
            t->average[s.from + k] = was;
        }
    t->swapped = !t->swapped;
}
