/* From noise to pictures: the network is asked at every timestep of a run what noise there is, and the scheduler takes
 * some of it away. */
#include "diffusion/scheduler.h"
#include "heed/pipeline.h"
#include "tensor/engine.h"
#include <string.h>

#define STEPS   50
#define AT_ONCE 16 /* pictures */
#define SEED    0xD1FF05EDA0A1F00Du
/* Streams: the noise to begin with, and behind it that of each step. */
#define FIRST_NOISE 0
#define STEP_NOISE  1

struct diffusing {
    heed_ctx *cx;
    const heed_pipeline *p;
    const heed_diffuse_opts *o;
    int64_t steps, first, n;                         /* of the pictures under way: where they begin, and how many */
    float *x, *input, *y, *other, *noise, *original; /* (n, ...); y and other: what the network says, and of no class */
    int32_t *label;                                  /* (n) */
    int64_t channels;                                /* of y, as the scheduler takes it */
};

static bool guided(const struct diffusing *d) { return d->o->guidance != 0 && d->o->guidance != 1; }

/* What the network says of d->input at a timestep; labels NULL: of no class. */
static bool predict(struct diffusing *d, double timestep, bool labelled, float *y) {
    heed_ctx *const cx = d->cx;
    const heed_denoiser *const s = &d->p->denoiser;
    const int64_t shape[] = {d->n, s->channels, s->height, s->width}, one = 1;
    const float t = (float)timestep;
    heed_io in = {0}, out = {0};
    heed_scope_begin(cx);
    bool ok = heed_io_put(cx, &in, "sample", heed_borrow(cx, HEED_F32, d->input, 4, shape, NULL)) &&
              heed_io_put(cx, &in, "timestep", heed_borrow(cx, HEED_F32, &t, 1, &one, NULL));
    for (int64_t i = 0; i < d->n; i++)
        d->label[i] = (int32_t)(labelled && d->o->label ? d->o->label[d->first - d->o->first + i]
                                : d->p->no_class >= 0   ? d->p->no_class
                                                        : 0);
    if (ok && s->labels > 0)
        ok = heed_io_put(cx, &in, "class_labels", heed_borrow(cx, HEED_I32, d->label, 1, &d->n, NULL));
    ok = ok && heed_model_forward(cx, d->p->model, &in, &out);
    heed_tensor *sample = ok ? heed_io_get(&out, "sample") : NULL;
    if (sample && d->channels < s->output_channels) /* the variance, which this scheduler does not ask for */
        sample = heed_contiguous(cx, heed_slice(cx, sample, 1, 0, d->channels));
    ok = sample && heed_copy_f32(cx, sample, y, d->n * d->channels * s->height * s->width);
    heed_scope_end(cx, NULL);
    return ok && !heed_failed(cx);
}

/* none + guidance (class - none), of what the network says of the noise and not of the variance. */
static bool predict_guided(struct diffusing *d, double timestep) {
    const heed_denoiser *const s = &d->p->denoiser;
    const int64_t each = d->channels * s->height * s->width;
    const float by = (float)d->o->guidance;
    if (!predict(d, timestep, true, d->y)) return false;
    if (!guided(d)) return true;
    if (!predict(d, timestep, false, d->other)) return false;
    for (int64_t b = 0; b < d->n; b++)
        for (int64_t i = b * each; i < b * each + s->numbers; i++) d->y[i] = d->other[i] + by * (d->y[i] - d->other[i]);
    return true;
}

static void draw(const struct diffusing *d, uint64_t stream, float *to) {
    const int64_t numbers = d->p->denoiser.numbers;
    heed_random_normal(d->o->seed ^ SEED, stream, (uint64_t)(d->first * numbers), to, d->n * numbers);
}

static bool take_step(struct diffusing *d, int64_t i) {
    heed_ctx *const cx = d->cx;
    heed_scheduler *const s = d->p->scheduler;
    const heed_denoiser *const shape = &d->p->denoiser;
    const bool noisy = heed_scheduler_needs_noise(s, i, d->o->eta);
    memcpy(d->input, d->x, (size_t)(d->n * shape->numbers) * sizeof *d->x);
    if (!heed_scheduler_scale_model_input(cx, s, i, d->input, d->n * shape->numbers) ||
        !predict_guided(d, heed_scheduler_timesteps(s)[i]))
        return false;
    if (noisy) draw(d, STEP_NOISE + (uint64_t)i, d->noise);
    const heed_denoising step = {.batch = d->n,
                                 .channels = shape->channels,
                                 .each = shape->height * shape->width,
                                 .output_channels = d->channels,
                                 .sample = d->x,
                                 .model_output = d->y,
                                 .noise = noisy ? d->noise : NULL,
                                 .eta = d->o->eta,
                                 .previous = d->x,
                                 .original = d->original};
    if (!heed_scheduler_step(cx, s, i, &step)) return false;
    if (d->o->show)
        d->o->show(d->o->user, &(heed_diffusing){.first = d->first,
                                                 .n = d->n,
                                                 .step = i + 1,
                                                 .steps = heed_scheduler_steps(s),
                                                 .sample = d->x,
                                                 .predicted = d->original});
    return true;
}

/* Pixels from -1 to 1 become those from 0 to 1; what is no number is black. */
static void put_pixels(const struct diffusing *d, float *pixels) {
    const int64_t numbers = d->p->denoiser.numbers;
    float *const to = pixels + (d->first - d->o->first) * numbers;
    for (int64_t i = 0; i < d->n * numbers; i++) {
        const float v = d->x[i] / 2 + 0.5f;
        to[i] = v > 0 ? v < 1 ? v : 1 : 0;
    }
}

static bool run(struct diffusing *d, float *pixels) {
    heed_ctx *const cx = d->cx;
    heed_scheduler *const s = d->p->scheduler;
    const int64_t batch = d->o->batch > 0 ? d->o->batch : AT_ONCE, end = d->o->first + d->o->count;
    for (d->first = d->o->first; d->first < end; d->first += d->n) {
        d->n = end - d->first < batch ? end - d->first : batch;
        if (!heed_scheduler_set_timesteps(cx, s, d->steps)) return false; /* forgets the pictures before */
        const int64_t steps = heed_scheduler_steps(s);
        const float deviation = (float)heed_scheduler_start_deviation(s);
        draw(d, FIRST_NOISE, d->x);
        for (int64_t i = 0; i < d->n * d->p->denoiser.numbers; i++) d->x[i] *= deviation;
        for (int64_t i = 0; i < steps; i++) {
            if (heed_cancelled(cx) || !take_step(d, i)) return false;
            heed_progress(cx, "steps", (d->first - d->o->first) * steps + (i + 1) * d->n, d->o->count * steps);
        }
        put_pixels(d, pixels);
    }
    return true;
}

static bool opts_ok(heed_ctx *cx, const heed_pipeline *p, const heed_diffuse_opts *o, const float *pixels) {
    if (!p || !o || !pixels)
        return heed_fail(cx, HEED_ERR_USAGE, "diffuse: a pipeline, options and a place for the pixels are needed");
    if (o->count < 1 || o->first < 0 || o->batch < 0 || o->steps < 0 || !(o->eta >= 0))
        return heed_fail(cx, HEED_ERR_RANGE,
                         "diffuse: at least one picture, and numbers, steps, a batch and an eta from 0 on are needed");
    if (o->label && p->classes == 0) return heed_fail(cx, HEED_ERR_USAGE, "diffuse: the model knows no classes");
    for (int64_t i = 0; o->label && i < o->count; i++)
        if (o->label[i] < 0 || o->label[i] >= p->classes)
            return heed_fail(cx, HEED_ERR_RANGE, "diffuse: class %lld is not one of the model's %lld",
                             (long long)o->label[i], (long long)p->classes);
    if (!o->label && p->classes > 0 && p->no_class < 0)
        return heed_fail(cx, HEED_ERR_USAGE, "diffuse: the model makes pictures of a class, and none is given");
    if (o->guidance == 0 || o->guidance == 1) return true;
    if (p->no_class < 0)
        return heed_fail(cx, HEED_ERR_USAGE,
                         "diffuse: guidance needs a model that was trained with classes and, for "
                         "some pictures, without them");
    return o->label || heed_fail(cx, HEED_ERR_USAGE, "diffuse: guidance needs a class to be guided to");
}

bool heed_diffuse(heed_ctx *cx, const heed_pipeline *p, const heed_diffuse_opts *opts, float *pixels) {
    if (heed_failed(cx) || !opts_ok(cx, p, opts, pixels)) return false;
    const heed_denoiser *const s = &p->denoiser;
    const int64_t most = opts->batch > 0 ? opts->batch : AT_ONCE, n = opts->count < most ? opts->count : most;
    const int64_t trained = heed_scheduler_train_steps(p->scheduler);
    const bool both = scheduler_learns_variance(p->scheduler) && s->output_channels > s->channels;
    struct diffusing d = {.cx = cx,
                          .p = p,
                          .o = opts,
                          .steps = opts->steps > 0   ? opts->steps
                                   : trained < STEPS ? trained
                                                     : STEPS,
                          .channels = both ? s->output_channels : s->channels};
    const int64_t each = n * s->numbers, said = both ? 2 * each : each;
    float *const room = heed_mem_new(cx, (size_t)(4 * each + 2 * said) * sizeof *room);
    d.label = room ? heed_mem_new(cx, (size_t)n * sizeof *d.label) : NULL;
    bool ok = false;
    if (d.label) {
        d.x = room, d.input = d.x + each, d.noise = d.input + each, d.original = d.noise + each;
        d.y = d.original + each, d.other = d.y + said;
        const bool recording = heed_set_grad(cx, false), training = heed_set_training(cx, false);
        ok = run(&d, pixels);
        heed_set_grad(cx, recording);
        heed_set_training(cx, training);
    }
    heed_mem_free(cx, d.label);
    heed_mem_free(cx, room);
    return ok && !heed_failed(cx);
}
