/* Flow matching (Lipman et al. 2023): x = (1 - sigma) sample + sigma noise, sigma from 1 to 0, and the model predicts
 * dx / dsigma = noise - sample. A shift spends more steps where there is more noise (Esser et al. 2024): shift sigma /
 * (1 + (shift - 1) sigma). */
#include "diffusion/scheduler.h"
#include "model/core/families.h"
#include <math.h>

static const heed_key keys[] = {
    {"num_train_timesteps", HEED_KEY_INT, "1000", "timesteps of training"},
    {"shift", HEED_KEY_NUMBER, "1.0", "above 1 spends more steps where there is more noise"},
    {"shift_terminal", HEED_KEY_NUMBER_OR_NULL, "null", "the noise level that is stretched to be the last but 0"},
    {"invert_sigmas", HEED_KEY_BOOL, "false", "noise levels rise from 0 to 1"},
    {"stochastic_sampling", HEED_KEY_BOOL, "false", "each step draws its noise anew"},
    {"use_dynamic_shifting", HEED_KEY_BOOL, "false", "refused when true"},
    RAMP_KEYS,
    END_OF_KEYS,
};

static bool flow_open(heed_ctx *cx, heed_scheduler *s) {
    s->train_steps = config_int(cx, s->config, "num_train_timesteps", 1, MAX_TRAIN_STEPS);
    s->prediction = PREDICTS_FLOW;
    s->shift = config_number(cx, s->config, "shift", 1e-6, 1e6);
    s->terminal = config_number_or(cx, s->config, "shift_terminal", 0, 0.999999, 0);
    s->inverted = heed_json_bool(cx, s->config, "invert_sigmas");
    s->stochastic = heed_json_bool(cx, s->config, "stochastic_sampling");
    if (heed_json_bool(cx, s->config, "use_dynamic_shifting"))
        return heed_json_fail(cx, heed_json_find(cx, s->config, "use_dynamic_shifting"),
                              "a shift that depends on the picture's size is not supported");
    return scheduler_read_ramp(cx, s) && scheduler_flow_levels(cx, s);
}

/* Level i of n before the ramp. The levels of training are shifted already, and are shifted once more. */
static double level_of(const heed_scheduler *s, int64_t n, int64_t i) {
    const double all = (double)s->train_steps, high = (double)s->levels[s->train_steps - 1], low = (double)s->levels[0];
    const double level = linspace_at(high * all, low * all, n, i) / all;
    return s->shift * level / (1 + (s->shift - 1) * level);
}

static bool flow_space(heed_ctx *cx, heed_scheduler *s, int64_t steps) {
    (void)cx;
    const double scale = s->terminal > 0 ? (1 - level_of(s, steps, steps - 1)) / (1 - s->terminal) : 1;
    double high = 0, low = 0;
    s->count = steps;
    for (int64_t i = 0; i < steps; i++) {
        double level = level_of(s, steps, i);
        if (s->terminal > 0) level = 1 - (1 - level) / scale;
        if (i == 0) high = isnan(s->sigma_max) ? level : s->sigma_max;
        low = isnan(s->sigma_min) ? level : s->sigma_min;
        s->sigmas[i] = (float)level;
    }
    for (int64_t i = 0; i < steps; i++) {
        if (s->ramp != RAMP_NONE) s->sigmas[i] = (float)scheduler_ramp_at(s, high, low, steps, i);
        if (s->inverted) s->sigmas[i] = 1.0f - s->sigmas[i];
        s->timesteps[i] = (double)(s->sigmas[i] * (float)s->train_steps);
    }
    s->sigmas[steps] = s->inverted ? 1 : 0;
    return true;
}

static bool flow_needs_noise(const heed_scheduler *s, int64_t i, double eta) {
    (void)i, (void)eta;
    return s->stochastic;
}

static bool flow_step(heed_ctx *cx, heed_scheduler *s, int64_t i, const heed_denoising *d, float *original) {
    if (!scheduler_plain_output(cx, s, d)) return false;
    const float now = s->sigmas[i], then = s->sigmas[i + 1];
    scheduler_original(s, d, 1, now, original);
    for (int64_t j = 0; j < denoising_size(d); j++)
        d->previous[j] = s->stochastic ? (1.0f - then) * original[j] + then * d->noise[j]
                                       : d->sample[j] + (then - now) * d->model_output[j];
    return true;
}

const struct scheduler_kind scheduler_flow_match = {.name = "FlowMatchEulerDiscreteScheduler",
                                                    .keys = keys,
                                                    .open = flow_open,
                                                    .space = flow_space,
                                                    .step = flow_step,
                                                    .needs_noise = flow_needs_noise};
