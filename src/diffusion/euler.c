/* Euler's method on dx / dsigma = (x - x_0) / sigma, where x = x_0 + sigma noise (Karras et al. 2022, algorithm 1
 * without churn). The model sees x / sqrt(sigma^2 + 1). */
#include "diffusion/scheduler.h"
#include "model/core/families.h"
#include <math.h>

static const heed_key keys[] = {
    BETA_KEYS,
    {"interpolation_type", HEED_KEY_TEXT, "linear", "of noise levels between timesteps: linear or log_linear"},
    {"timestep_type", HEED_KEY_TEXT, "discrete", "continuous: with v_prediction the model is given log(sigma) / 4"},
    {"final_sigmas_type", HEED_KEY_TEXT, "zero", "where the last step leads: zero or sigma_min"},
    RAMP_KEYS,
    SPACING_KEYS("linspace"),
    END_OF_KEYS,
};

static bool euler_open(heed_ctx *cx, heed_scheduler *s) {
    static const char *const interpolations[] = {"linear", "log_linear", NULL};
    static const char *const types[] = {"discrete", "continuous", NULL};
    static const char *const predictions[] = {"epsilon", "sample", "v_prediction", "original_sample", NULL};
    s->log_linear = config_choice(cx, s->config, "interpolation_type", interpolations) == 1;
    s->continuous = config_choice(cx, s->config, "timestep_type", types) == 1;
    if (!scheduler_read_betas(cx, s, false) || !scheduler_read_prediction(cx, s, predictions) ||
        !scheduler_read_spacing(cx, s) || !scheduler_read_ramp(cx, s) || !scheduler_read_final(cx, s))
        return false;
    s->continuous = s->continuous && s->prediction == PREDICTS_VELOCITY;
    if (s->rescaled) s->alphas[s->train_steps - 1] = 0x1p-24f; /* so that the first noise level is finite */
    return true;
}

/* Level i of n + 1 from the largest to the least, evenly spaced in their logarithms, in f32. */
static double log_level(const heed_scheduler *s, int64_t n, int64_t i) {
    const float from = logf(scheduler_sigma(s, s->train_steps - 1)), to = logf(scheduler_sigma(s, 0));
    return (double)expf(torch_linspace_at(from, to, n + 1, i));
}

static bool euler_space(heed_ctx *cx, heed_scheduler *s, int64_t steps) {
    if (!scheduler_space(cx, s, steps, s->train_steps, false, false)) return false;
    int64_t levels = s->log_linear ? steps + 1 : s->count;
    double high = 0, low = 0;
    for (int64_t i = 0; i < levels; i++) {
        const double sigma = s->log_linear ? log_level(s, steps, i) : scheduler_sigma_between(s, s->timesteps[i]);
        if (i == 0) high = sigma;
        low = sigma;
        s->sigmas[i] = (float)sigma;
    }
    if (s->ramp != RAMP_NONE) {
        if (!isnan(s->sigma_max)) high = s->sigma_max;
        if (!isnan(s->sigma_min)) low = s->sigma_min;
        levels = s->count = steps;
        for (int64_t i = 0; i < levels; i++) {
            const double sigma = scheduler_ramp_at(s, high, low, steps, i);
            s->sigmas[i] = (float)sigma;
            s->timesteps[i] = (double)(float)scheduler_timestep_of(s, sigma);
        }
    }
    s->sigmas[levels] = s->ends_at_zero ? 0 : scheduler_sigma(s, 0);
    if (s->continuous) s->count = levels;
    for (int64_t i = 0; s->continuous && i < levels; i++) s->timesteps[i] = (double)(0.25f * logf(s->sigmas[i]));
    return true;
}

static bool euler_step(heed_ctx *cx, heed_scheduler *s, int64_t i, const heed_denoising *d, float *original) {
    if (!scheduler_plain_output(cx, s, d)) return false;
    const float sigma = s->sigmas[i], change = s->sigmas[i + 1] - sigma;
    const float square = sigma * sigma + 1.0f, of_output = -sigma / sqrtf(square);
    scheduler_original(s, d, 1, sigma, original);
    for (int64_t j = 0; j < denoising_size(d); j++) {
        const float x = d->sample[j];
        if (s->prediction == PREDICTS_VELOCITY) original[j] = d->model_output[j] * of_output + x / square;
        d->previous[j] = x + (x - original[j]) / sigma * change;
    }
    return true;
}

const struct scheduler_kind scheduler_euler = {
    .name = "EulerDiscreteScheduler", .keys = keys, .open = euler_open, .space = euler_space, .step = euler_step};
