/* Training of networks of diffusion (Ho et al. 2020): noise at a random timestep is added to each picture, and the
 * network learns to tell the noise, or the velocity sqrt(a_bar) noise - sqrt(1 - a_bar) x (Salimans & Ho 2022). The
 * loss is the mean squared error.
 *
 * Noise and timestep of a picture are functions of seed, epoch and row. Where models are measured, noise depends on the
 * row alone, and timesteps are spread evenly over the rows, so that losses can be compared. */
#include "task/diffusion/diffusion_training.h"
#include "base/ctx.h"
#include "task/vision/picture_batches.h"
#include "tensor/engine.h"
#include "train/loop.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#define SEED    0xD1FF7EA1D1FF7EA1u
#define AT_ONCE 64 /* pictures that are measured together */
/* Streams of what is drawn beside the noise. */
#define TIMESTEP ((uint64_t)1 << 58)
#define CLASS    ((uint64_t)1 << 59)
/* Multiples of it, modulo 1, are spread evenly, however many there are (Weyl's sequence). */
#define GOLDEN 0.61803398874989485

struct diffusion_training {
    struct diffusion_opts opts;
    heed_augment augment;
    struct picture_batches_opts batches_opts;
    heed_metrics metrics;
    heed_loop_source loop;
    struct picture_batches *batches;
    const struct picture_part *part; /* under way, */
    int64_t update;                  /* of this update */
    float *noise;                    /* of a picture */
    char train[NOTES_DATA], valid[NOTES_DATA];
};

/* ---- a batch ---- */

struct drawn {
    const struct diffusion_opts *o;
    uint64_t seed, stream;
    bool measures;
    float *noise; /* room for that of a picture */
};

static int32_t timestep_of(const struct drawn *d, int64_t row) {
    const int64_t steps = heed_scheduler_train_steps(d->o->scheduler);
    float u;
    heed_random_uniform(d->seed ^ SEED, d->stream ^ TIMESTEP, (uint64_t)row, &u, 1);
    const double place = d->measures ? fmod(0.5 + GOLDEN * (double)row, 1) : (double)u;
    const int64_t t = (int64_t)(place * (double)steps);
    return (int32_t)(t < steps ? t : steps - 1);
}

static int32_t label_of(const struct drawn *d, int64_t row, int32_t label) {
    float u;
    if (d->measures || d->o->no_class < 0 || d->o->dropout <= 0) return label;
    heed_random_uniform(d->seed ^ SEED, d->stream ^ CLASS, (uint64_t)row, &u, 1);
    return (double)u < d->o->dropout ? (int32_t)d->o->no_class : label;
}

/* What the network is to say. */
static bool put_target(heed_ctx *cx, const struct drawn *d, const float *x, int32_t t, float *target) {
    const heed_scheduler *const s = d->o->scheduler;
    const char *const kind = heed_scheduler_prediction(s);
    const int64_t n = d->o->denoiser.numbers;
    if (strcmp(kind, "epsilon") == 0 || strcmp(kind, "sample") == 0)
        return memcpy(target, *kind == 'e' ? d->noise : x, (size_t)n * sizeof *target);
    return heed_scheduler_velocity(cx, s, x, d->noise, &t, 1, n, target);
}

/* sample, timestep, class_labels and target of a part. */
static bool put_part(heed_ctx *cx, const struct drawn *d, const struct picture_part *p, heed_io *in) {
    const struct diffusion_opts *const o = d->o;
    const heed_denoiser *const s = &o->denoiser;
    const int64_t shape[] = {p->n, s->channels, s->height, s->width};
    heed_tensor *const sample = heed_zeros(cx, HEED_F32, 4, shape), *const target = heed_zeros(cx, HEED_F32, 4, shape);
    heed_tensor *const timestep = heed_zeros(cx, HEED_F32, 1, &p->n), *const labels =
                                                                          heed_zeros(cx, HEED_I32, 1, &p->n);
    if (!labels || heed_failed(cx)) return false;
    for (int64_t i = 0; !cx->config.dry && i < p->n; i++) {
        const float *const x = p->pixels + i * s->numbers;
        const int32_t t = timestep_of(d, p->row[i]);
        heed_random_normal(d->seed ^ SEED, d->stream, (uint64_t)(p->row[i] * s->numbers), d->noise, s->numbers);
        if (!heed_scheduler_add_noise(cx, o->scheduler, x, d->noise, &t, 1, s->numbers,
                                      (float *)(void *)sample->data + i * s->numbers) ||
            !put_target(cx, d, x, t, (float *)(void *)target->data + i * s->numbers))
            return false;
        ((float *)(void *)timestep->data)[i] = (float)heed_scheduler_model_timestep(cx, o->scheduler, t);
        ((int32_t *)(void *)labels->data)[i] = o->classes ? label_of(d, p->row[i], p->label[i]) : 0;
    }
    return heed_io_put(cx, in, "sample", sample) && heed_io_put(cx, in, "timestep", timestep) &&
           heed_io_put(cx, in, "target", target) && (s->labels == 0 || heed_io_put(cx, in, "class_labels", labels));
}

/* The network takes all but the target. */
static bool forward(heed_ctx *cx, const void *own, const heed_model *model, const heed_io *in, heed_io *out) {
    heed_tensor *const target = heed_io_get(in, "target");
    heed_io given = {0};
    (void)own;
    for (int i = 0; i < in->n; i++)
        if (in->tensor[i] != target && !heed_io_put(cx, &given, in->name[i], in->tensor[i])) return false;
    if (!heed_model_forward(cx, model, &given, out)) return false;
    heed_tensor *const loss = heed_mse_loss(cx, heed_io_get(out, "sample"), target, HEED_REDUCE_MEAN);
    return loss && heed_io_put(cx, out, "loss", loss);
}

/* ---- what the loop asks for ---- */

static int64_t seen(const void *own, int64_t step) {
    const struct diffusion_training *const t = own;
    const int64_t some = step % t->loop.per_epoch * t->opts.batch, n = t->opts.n_train;
    return step / t->loop.per_epoch * n + (some < n ? some : n);
}

static void close(heed_ctx *cx, void *own) {
    struct diffusion_training *const t = own;
    picture_batches_close(cx, t->batches);
    heed_mem_free(cx, t->noise);
    t->batches = NULL;
    t->noise = NULL;
    t->part = NULL;
}

static bool seek(heed_ctx *cx, void *own, int64_t step) {
    struct diffusion_training *const t = own;
    struct picture_batches_opts opts = t->batches_opts;
    close(cx, own);
    opts.step = step;
    t->update = step - 1;
    t->noise = heed_mem_new(cx, (size_t)t->opts.denoiser.numbers * sizeof *t->noise);
    t->batches = t->noise ? picture_batches_open(cx, &opts) : NULL;
    return t->batches;
}

static int64_t next(heed_ctx *cx, void *own) {
    struct diffusion_training *const t = own;
    t->part = heed_failed(cx) ? NULL : picture_batches_next(cx, t->batches);
    t->update++;
    return t->part ? t->part->parts : 0;
}

static bool feed(heed_ctx *cx, void *own, int64_t pass, heed_io *in, float *share) {
    struct diffusion_training *const t = own;
    if (pass > 0) t->part = picture_batches_next(cx, t->batches);
    const struct picture_part *const p = t->part;
    if (!p) return false;
    *share = p->n == p->total ? 1.0f : (float)p->n / (float)p->total;
    *in = (heed_io){.loss_only = true};
    const struct drawn drawn = {.o = &t->opts,
                                .seed = t->opts.seed,
                                .stream = DIFFUSION_STREAM_TRAIN + 1 + (uint64_t)(t->update / t->loop.per_epoch),
                                .noise = t->noise};
    return put_part(cx, &drawn, p, in);
}

/* ---- measuring ---- */

/* What an error of the network's output is as one of the noise that it tells, squared:
 *     x_t = signal x + spread noise, so that noise = signal v + spread x_t = (x_t - signal x) / spread */
static double of_noise(heed_ctx *cx, const heed_scheduler *s, int32_t t) {
    const char *const kind = heed_scheduler_prediction(s);
    const float *const alphas = heed_scheduler_alphas(s);
    if (!alphas) { /* of flow matching: noise = x_t + (1 - level) v */
        const double left = 1 - heed_scheduler_model_timestep(cx, s, t) / (double)heed_scheduler_train_steps(s);
        return left * left;
    }
    const double left = (double)alphas[t];
    return strcmp(kind, "epsilon") == 0 ? 1 : strcmp(kind, "v_prediction") == 0 ? left : left / (1 - left);
}

struct errors {
    double loss, noise; /* sums over pictures */
};

static bool add_errors(heed_ctx *cx, const struct drawn *d, const struct picture_part *p, const heed_model *model,
                       struct errors *to) {
    const int64_t n = d->o->denoiser.numbers;
    heed_io in = {0}, out = {0};
    if (!put_part(cx, d, p, &in) || !forward(cx, NULL, model, &in, &out)) return false;
    const heed_tensor *const y = heed_contiguous(cx, heed_io_get(&out, "sample")), *const target =
                                                                                       heed_io_get(&in, "target");
    for (int64_t i = 0; y && !cx->config.dry && i < p->n; i++) {
        double sum = 0;
        for (int64_t k = i * n; k < (i + 1) * n; k++) {
            const double e = (double)f32_of(y)[k] - (double)f32_of(target)[k];
            sum += e * e;
        }
        to->loss += sum / (double)n;
        to->noise += sum / (double)n * of_noise(cx, d->o->scheduler, timestep_of(d, p->row[i]));
    }
    heed_reset(cx);
    return !heed_failed(cx);
}

bool diffusion_measure(heed_ctx *cx, const struct diffusion_opts *o, const heed_model *model,
                       const struct diffusion_measure *m, heed_score *score) {
    const int64_t n = m->rows ? m->n : heed_picture_set_data(m->set)->n, batch = m->batch > 0 ? m->batch : AT_ONCE;
    const struct picture_batches_opts opts = {.set = m->set,
                                              .rows = m->rows,
                                              .n = n,
                                              .input = o->input,
                                              .batch = batch < n ? batch : n,
                                              .repeats = 1,
                                              .workers = o->workers};
    struct errors sum = {0};
    struct drawn drawn = {.o = o, .seed = m->seed, .stream = m->stream, .measures = true};
    drawn.noise = heed_mem_new(cx, (size_t)o->denoiser.numbers * sizeof *drawn.noise);
    if (!drawn.noise) return false;
    const bool recording = heed_set_grad(cx, false), training = heed_set_training(cx, false);
    struct picture_batches *const b = picture_batches_open(cx, &opts);
    for (int64_t done = 0; b && done < n && !heed_cancelled(cx);) {
        const struct picture_part *const p = picture_batches_next(cx, b);
        if (!p || !add_errors(cx, &drawn, p, model, &sum)) break;
        done += p->n;
    }
    picture_batches_close(cx, b);
    heed_set_grad(cx, recording);
    heed_set_training(cx, training);
    heed_mem_free(cx, drawn.noise);
    *score = (heed_score){.loss = sum.loss / (double)n, .metric = sum.noise / (double)n};
    return !heed_failed(cx);
}

static bool measure_rows(heed_ctx *cx, const struct diffusion_training *t, const heed_model *model, bool test,
                         const int64_t *rows, int64_t n, heed_score *score) {
    const struct diffusion_opts *const o = &t->opts;
    const struct diffusion_measure m = {.set = test ? o->test : o->valid,
                                        .rows = rows,
                                        .n = n,
                                        .batch = o->micro_batch,
                                        .seed = o->seed,
                                        .stream = test                   ? DIFFUSION_STREAM_TEST
                                                  : o->valid != o->train ? DIFFUSION_STREAM_VALID
                                                                         : DIFFUSION_STREAM_TRAIN};
    return diffusion_measure(cx, o, model, &m, score);
}

static bool measure(heed_ctx *cx, void *own, const heed_model *model, bool test, heed_score *score) {
    const struct diffusion_training *const t = own;
    return measure_rows(cx, t, model, test, test ? NULL : t->opts.valid_rows, t->opts.n_valid, score);
}

static bool measure_some(heed_ctx *cx, void *own, const heed_model *model, const int64_t *some, int64_t n,
                         heed_score *score) {
    const struct diffusion_training *const t = own;
    int64_t *const rows = loop_rows(cx, t->opts.valid_rows, some, n);
    const bool ok = rows && measure_rows(cx, t, model, false, rows, n, score);
    heed_mem_free(cx, rows);
    return ok;
}

/* ---- what a checkpoint must agree with ---- */

static void settings(heed_ctx *cx, void *own, heed_json at) {
    struct diffusion_training *const t = own;
    const struct diffusion_opts *const o = &t->opts;
    picture_batches_name(t->train, o->train, o->train_rows, o->n_train);
    picture_batches_name(t->valid, o->valid, o->valid_rows, o->n_valid);
    notes_put_source(cx, at, t->train, t->valid, o->batch, o->micro_batch);
    heed_json_put_text(cx, at, "classes", o->classes ? "yes" : "no");
    notes_put_number(cx, at, "class dropout", o->dropout);
    notes_put_number(cx, at, "flip", o->flip);
    for (heed_json v = heed_json_first(heed_scheduler_config(o->scheduler)); heed_json_kind_of(v) != HEED_JSON_NONE;
         v = heed_json_next(v)) {
        char key[128];
        snprintf(key, sizeof key, "scheduler %s", heed_json_key(v));
        char *const text = heed_json_print(cx, v, 0, NULL);
        if (text) heed_json_put_text(cx, at, key, text);
        heed_mem_free(cx, text);
    }
}

/* ---- making ---- */

static int64_t pictures_in(const heed_picture_set *set) { return set ? heed_picture_set_data(set)->n : 0; }

struct diffusion_training *diffusion_training_new(heed_ctx *cx, const struct diffusion_opts *opts) {
    struct diffusion_training *const t = heed_mem_new(cx, sizeof *t);
    if (!t) return NULL;
    *t = (struct diffusion_training){.opts = *opts, .augment.flip = opts->flip};
    struct diffusion_opts *const o = &t->opts;
    if (!o->train_rows) o->n_train = pictures_in(o->train);
    if (!o->valid_rows) o->n_valid = pictures_in(o->valid);
    t->batches_opts = (struct picture_batches_opts){.set = o->train,
                                                    .rows = o->train_rows,
                                                    .n = o->n_train,
                                                    .input = o->input,
                                                    .augment = o->flip > 0 ? &t->augment : NULL,
                                                    .batch = o->batch,
                                                    .micro = o->micro_batch,
                                                    .repeats = 1,
                                                    .shuffle = true,
                                                    .seed = o->seed,
                                                    .workers = o->workers};
    const int64_t per_epoch = picture_batches_per_epoch(&t->batches_opts);
    t->loop = (heed_loop_source){.own = t,
                                 .unit = "examples",
                                 .metrics = t->metrics.list,
                                 .per_epoch = per_epoch,
                                 .passes = picture_batches_parts(&t->batches_opts),
                                 .valid = o->valid != NULL,
                                 .test = o->test != NULL,
                                 .n_train = o->n_train,
                                 .n_valid = o->n_valid,
                                 .n_test = pictures_in(o->test),
                                 .plan_from = per_epoch > 1 ? per_epoch - 2 : 0,
                                 .n_plan = 3,
                                 .seen = seen,
                                 .seek = seek,
                                 .next = next,
                                 .feed = feed,
                                 .forward = forward,
                                 .measure = measure,
                                 .measure_some = measure_some,
                                 .settings = settings,
                                 .close = close};
    if (heed_metrics_find(cx, DIFFUSION_METRICS, &t->metrics)) return t;
    heed_mem_free(cx, t);
    return NULL;
}

void diffusion_training_free(heed_ctx *cx, struct diffusion_training *t) {
    if (!t) return;
    close(cx, t);
    heed_mem_free(cx, t);
}

const heed_loop_source *diffusion_training_source(const struct diffusion_training *t) { return t ? &t->loop : NULL; }
