/* DDPM (Ho et al. 2020): from x_t to the mean of x_{t-1} given x_t and the predicted x_0, and noise of its variance.
 *
 *     mean = sqrt(a') b / (1 - a_bar) x_0 + sqrt(a) (1 - a_bar') / (1 - a_bar) x_t,   a = a_bar / a_bar',   b = 1 - a
 *
 * The variance is (1 - a_bar') / (1 - a_bar) b or b, or the model predicts it (Nichol & Dhariwal 2021). */
#include "diffusion/scheduler.h"
#include "model/core/families.h"
#include <math.h>

enum variance { FIXED_SMALL, FIXED_SMALL_LOG, FIXED_LARGE, FIXED_LARGE_LOG, LEARNED, LEARNED_RANGE };

static const heed_key keys[] = {
    BETA_KEYS,
    {"variance_type", HEED_KEY_TEXT, "fixed_small",
     "variance of the noise that is added: fixed_small, fixed_small_log, fixed_large, fixed_large_log, learned or "
     "learned_range"},
    CLIP_KEYS,
    THRESHOLD_KEYS,
    SPACING_KEYS("leading"),
    END_OF_KEYS,
};

static bool ddpm_open(heed_ctx *cx, heed_scheduler *s) {
    static const char *const variances[] = {"fixed_small", "fixed_small_log", "fixed_large", "fixed_large_log",
                                            "learned",     "learned_range",   NULL};
    s->variance = config_choice(cx, s->config, "variance_type", variances);
    return scheduler_read_betas(cx, s, true) && scheduler_read_prediction(cx, s, NULL) &&
           scheduler_read_clipping(cx, s) && scheduler_read_spacing(cx, s);
}

static bool ddpm_space(heed_ctx *cx, heed_scheduler *s, int64_t steps) {
    return scheduler_space(cx, s, steps, s->train_steps, false, true) && scheduler_within(cx, s);
}

bool scheduler_learns_variance(const heed_scheduler *s) { return s->variance >= LEARNED; }

/* The deviation of the noise; v is what the model predicts of the variance. */
static float deviation(const heed_scheduler *s, float least, float beta, float v) {
    switch ((enum variance)s->variance) {
    case FIXED_SMALL:
        return sqrtf(least);
    case FIXED_SMALL_LOG:
        return expf(0.5f * logf(least));
    case FIXED_LARGE:
        return sqrtf(beta);
    case FIXED_LARGE_LOG:
        return sqrtf(logf(beta)); /* as diffusers has it: not a number */
    case LEARNED:
        return sqrtf(v);
    case LEARNED_RANGE: {
        const float share = (v + 1.0f) / 2.0f;
        return expf(0.5f * (share * logf(beta) + (1.0f - share) * logf(least)));
    }
    }
    return 0;
}

static bool ddpm_needs_noise(const heed_scheduler *s, int64_t i, double eta) {
    (void)eta;
    return s->timesteps[i] > 0;
}

static bool ddpm_step(heed_ctx *cx, heed_scheduler *s, int64_t i, const heed_denoising *d, float *original) {
    const bool split = scheduler_learns_variance(s) && d->output_channels == 2 * d->channels,
               noisy = ddpm_needs_noise(s, i, 0);
    if (scheduler_learns_variance(s) && noisy && !split)
        return heed_fail(cx, HEED_ERR_SHAPE,
                         "%s: the model's output has %lld channels, and a learned variance needs %lld", s->kind->name,
                         (long long)d->output_channels, (long long)(2 * d->channels));
    if (!split && !scheduler_plain_output(cx, s, d)) return false;
    const bool last = i == s->count - 1 || s->timesteps[i + 1] < 0;
    const float left = scheduler_alpha(s, s->timesteps[i]),
                left_then = last ? 1 : scheduler_alpha(s, s->timesteps[i + 1]);
    const float gone = 1.0f - left, gone_then = 1.0f - left_then, alpha = left / left_then, beta = 1.0f - alpha;
    const float of_original = sqrtf(left_then) * beta / gone, of_sample = sqrtf(alpha) * gone_then / gone;
    const float least = fmaxf(gone_then / gone * beta, 1e-20f);
    scheduler_original(s, d, sqrtf(left), sqrtf(gone), original);
    if (!scheduler_clip(cx, s, d, original)) return false;
    const int64_t n = d->channels * d->each;
    for (int64_t b = 0; b < d->batch; b++) {
        const float *const v = output_of(d, b) + n;
        const float all = split ? 0 : deviation(s, least, beta, 0);
        for (int64_t j = 0; j < n; j++) {
            const int64_t at = b * n + j;
            const float noise = noisy ? (split ? deviation(s, least, beta, v[j]) : all) * d->noise[at] : 0;
            d->previous[at] = of_original * original[at] + of_sample * d->sample[at] + noise;
        }
    }
    return true;
}

const struct scheduler_kind scheduler_ddpm = {.name = "DDPMScheduler",
                                              .keys = keys,
                                              .whole = true,
                                              .open = ddpm_open,
                                              .space = ddpm_space,
                                              .step = ddpm_step,
                                              .needs_noise = ddpm_needs_noise};
