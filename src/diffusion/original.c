/* What a model's output says about the sample behind the noise, clipped or thresholded. */
#include "diffusion/scheduler.h"
#include <math.h>
#include <stdlib.h>

int64_t denoising_size(const heed_denoising *d) { return d->batch * d->channels * d->each; }

bool scheduler_plain_output(heed_ctx *cx, const heed_scheduler *s, const heed_denoising *d) {
    return d->output_channels == d->channels ||
           heed_fail(cx, HEED_ERR_SHAPE, "%s: the model's output has %lld channels, and the sample %lld", s->kind->name,
                     (long long)d->output_channels, (long long)d->channels);
}

void scheduler_original(const heed_scheduler *s, const heed_denoising *d, float signal, float spread, float *original) {
    const int64_t n = d->channels * d->each;
    for (int64_t b = 0; b < d->batch; b++) {
        const float *const x = d->sample + b * n, *const y = output_of(d, b);
        float *const to = original + b * n;
        for (int64_t i = 0; i < n; i++)
            to[i] = s->prediction == PREDICTS_NOISE      ? (x[i] - spread * y[i]) / signal
                    : s->prediction == PREDICTS_SAMPLE   ? y[i]
                    : s->prediction == PREDICTS_VELOCITY ? signal * x[i] - spread * y[i]
                                                         : x[i] - spread * y[i];
    }
}

/* As torch.clamp: NaN stays. */
static float clamp(float x, float low, float high) { return x < low ? low : x > high ? high : x; }

static int compare(const void *a, const void *b) {
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* torch.quantile of magnitudes, with linear interpolation; NaN where there is one. */
static float quantile(float *magnitudes, int64_t n, float q) {
    for (int64_t i = 0; i < n; i++)
        if (isnan(magnitudes[i])) return NAN;
    qsort(magnitudes, (size_t)n, sizeof *magnitudes, compare);
    const float rank = q * (float)(n - 1);
    const int64_t below = (int64_t)rank, above = (int64_t)ceilf(rank);
    const float w = rank - (float)below, low = magnitudes[below], high = magnitudes[above < n ? above : n - 1];
    return w < 0.5f ? low + w * (high - low) : high - (high - low) * (1.0f - w);
}

/* Saharia et al. 2022: each sample is clipped to a quantile of its magnitudes, if that is above 1, and divided by it.
 */
static bool threshold(heed_ctx *cx, const heed_scheduler *s, const heed_denoising *d, float *original) {
    const int64_t n = d->channels * d->each;
    float *const magnitudes = heed_mem_new(cx, (size_t)n * sizeof *magnitudes);
    if (!magnitudes) return false;
    for (int64_t b = 0; b < d->batch && n > 0; b++) {
        float *const x = original + b * n;
        for (int64_t i = 0; i < n; i++) magnitudes[i] = fabsf(x[i]);
        const float q = quantile(magnitudes, n, (float)s->quantile);
        const float at_least = q < 1 ? 1.0f : q, bound = at_least > (float)s->most ? (float)s->most : at_least;
        for (int64_t i = 0; i < n; i++) x[i] = clamp(x[i], -bound, bound) / bound;
    }
    heed_mem_free(cx, magnitudes);
    return true;
}

bool scheduler_clip(heed_ctx *cx, const heed_scheduler *s, const heed_denoising *d, float *original) {
    if (s->clipping == CLIP_DYNAMIC) return threshold(cx, s, d, original);
    const int64_t n = s->clipping == CLIP_RANGE ? denoising_size(d) : 0;
    for (int64_t i = 0; i < n; i++) original[i] = clamp(original[i], -(float)s->clip, (float)s->clip);
    return true;
}
