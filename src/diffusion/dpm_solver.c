/* DPM-Solver and DPM-Solver++ (Lu et al. 2022), multistep: the probability flow's equation is solved exactly but for
 * the model's output, which is extrapolated from the last one, two or three steps as a polynomial in lambda = log(alpha
 * / sigma).
 *
 *     x_t = of_sample x_s + of_value D0 + of_slope D1 + of_curve D2 + of_noise z,   h = lambda_t - lambda_s
 *
 * D0 is what the model says at s, D1 and D2 are differences with what it said before; of the predicted sample (++) or
 * of the predicted noise. The sde kinds add noise z. */
#include "base/text.h"
#include "diffusion/scheduler.h"
#include "model/core/families.h"
#include <math.h>
#include <string.h>

enum algorithm { PLUS, SDE_PLUS, PLAIN, SDE, DEIS };

static const heed_key keys[] = {
    BETA_KEYS,
    {"solver_order", HEED_KEY_INT, "2", "1, 2 or 3: how many outputs of the model a step looks at"},
    {"algorithm_type", HEED_KEY_TEXT, "dpmsolver++", "dpmsolver++, sde-dpmsolver++, dpmsolver or sde-dpmsolver"},
    {"solver_type", HEED_KEY_TEXT, "midpoint", "midpoint or heun, of order 2"},
    {"lower_order_final", HEED_KEY_BOOL, "true", "lower orders in the last steps, of fewer than 15"},
    {"euler_at_final", HEED_KEY_BOOL, "false", "order 1 in the last step"},
    {"use_lu_lambdas", HEED_KEY_BOOL, "false", "noise levels evenly spaced in lambda"},
    {"use_flow_sigmas", HEED_KEY_BOOL, "false", "noise levels of flow matching"},
    {"flow_shift", HEED_KEY_NUMBER, "1.0", "their shift"},
    {"use_dynamic_shifting", HEED_KEY_BOOL, "false", "refused when true"},
    {"final_sigmas_type", HEED_KEY_TEXT, "zero", "where the last step leads: zero or sigma_min"},
    {"lambda_min_clipped", HEED_KEY_NUMBER, "-1e38", "timesteps with lambda below this are left out"},
    {"variance_type", HEED_KEY_TEXT_OR_NULL, "null", "learned, learned_range: the output has a variance, not used"},
    THRESHOLD_KEYS,
    RAMP_KEYS,
    SPACING_KEYS("linspace"),
    END_OF_KEYS,
};

static bool read_solver(heed_ctx *cx, heed_scheduler *s) {
    static const char *const algorithms[] = {"dpmsolver++", "sde-dpmsolver++", "dpmsolver", "sde-dpmsolver", "deis",
                                             NULL};
    static const char *const solvers[] = {"heun", "midpoint", "logrho", "bh1", "bh2", NULL};
    s->solver.order = (int)config_int(cx, s->config, "solver_order", 1, MAX_ORDER);
    s->solver.algorithm = config_choice(cx, s->config, "algorithm_type", algorithms);
    if (s->solver.algorithm == DEIS) s->solver.algorithm = PLUS; /* as diffusers takes it, and the other solvers */
    s->solver.heun = config_choice(cx, s->config, "solver_type", solvers) == 0;
    s->solver.lower_order_final = heed_json_bool(cx, s->config, "lower_order_final");
    s->solver.euler_at_final = heed_json_bool(cx, s->config, "euler_at_final");
    s->solver.lambda_min = heed_json_number(cx, s->config, "lambda_min_clipped");
    const char *const variance = heed_json_text_or(cx, s->config, "variance_type", "");
    s->variance = variance && *variance && text_among("learned learned_range", variance);
    if (!scheduler_read_final(cx, s)) return false;
    if (s->ends_at_zero && s->solver.algorithm >= PLAIN)
        return heed_json_fail(cx, heed_json_find(cx, s->config, "final_sigmas_type"),
                              "algorithm_type dpmsolver and sde-dpmsolver need sigma_min");
    if (s->solver.order == 3 && s->solver.algorithm == SDE)
        return heed_json_fail(cx, heed_json_find(cx, s->config, "solver_order"),
                              "sde-dpmsolver has orders 1 and 2 only");
    return !heed_failed(cx);
}

static bool dpm_open(heed_ctx *cx, heed_scheduler *s) {
    static const char *const predictions[] = {"epsilon", "sample", "v_prediction", "flow_prediction", NULL};
    if (!scheduler_read_betas(cx, s, false) || !scheduler_read_prediction(cx, s, predictions) ||
        !scheduler_read_clipping(cx, s) || !scheduler_read_spacing(cx, s) || !scheduler_read_ramp(cx, s) ||
        !read_solver(cx, s))
        return false;
    if (heed_json_bool(cx, s->config, "use_dynamic_shifting"))
        return heed_json_fail(cx, heed_json_find(cx, s->config, "use_dynamic_shifting"),
                              "a shift that depends on the picture's size is not supported");
    if (s->rescaled) s->alphas[s->train_steps - 1] = 0x1p-24f; /* so that the first noise level is finite */
    if (s->ramp != RAMP_KARRAS && heed_json_bool(cx, s->config, "use_lu_lambdas")) s->ramp = RAMP_LU;
    s->solver.flow = heed_json_bool(cx, s->config, "use_flow_sigmas");
    if (s->ramp == RAMP_NONE && s->solver.flow) s->ramp = RAMP_FLOW;
    s->shift = config_number(cx, s->config, "flow_shift", 1e-6, 1e6);
    if (s->prediction == PREDICTS_FLOW && s->solver.algorithm >= PLAIN)
        return heed_json_fail(cx, heed_json_find(cx, s->config, "prediction_type"),
                              "flow_prediction needs algorithm_type dpmsolver++ or sde-dpmsolver++");
    return !s->solver.flow || scheduler_flow_levels(cx, s);
}

/* ---- timesteps ---- */

static float log_ratio(float alpha, float sigma) { return logf(alpha) - logf(sigma); }

/* How many timesteps of training have lambda below the least allowed; lambda falls with time. */
static int64_t clipped(const heed_scheduler *s) {
    int64_t n = 0;
    while (n < s->train_steps) {
        const float left = s->alphas[s->train_steps - 1 - n];
        if (!(log_ratio(sqrtf(left), sqrtf(1.0f - left)) < (float)s->solver.lambda_min)) break;
        n++;
    }
    return n;
}

/* Level i of n and the last, which is not there: from 1 downwards, shifted. */
static double flow_level(const heed_scheduler *s, int64_t n, int64_t i) {
    const double level = 1.0 - linspace_at(1, 1.0 / (double)s->train_steps, n + 1, n - i);
    return s->shift * level / (1 + (s->shift - 1) * level);
}

static bool dpm_space(heed_ctx *cx, heed_scheduler *s, int64_t steps) {
    const int64_t end = s->train_steps - clipped(s);
    const bool own = s->ramp == RAMP_LU; /* whose levels are those of training, whatever the settings say */
    const double high = own || isnan(s->sigma_max) ? (double)scheduler_sigma(s, s->train_steps - 1) : s->sigma_max,
                 low = own || isnan(s->sigma_min) ? (double)scheduler_sigma(s, 0) : s->sigma_min;
    if (end < 1) return heed_json_fail(cx, heed_json_find(cx, s->config, "lambda_min_clipped"), "no timestep is left");
    scheduler_space(cx, s, steps, end, true, true);
    if (s->ramp != RAMP_NONE) s->count = steps;
    for (int64_t i = 0; i < s->count; i++) {
        const double sigma = s->ramp == RAMP_NONE   ? scheduler_sigma_between(s, s->timesteps[i])
                             : s->ramp == RAMP_FLOW ? flow_level(s, steps, i)
                                                    : scheduler_ramp_at(s, high, low, steps, i);
        s->sigmas[i] = (float)sigma;
        if (s->ramp == RAMP_NONE) continue;
        const double t = s->ramp == RAMP_FLOW ? sigma * (double)s->train_steps : scheduler_timestep_of(s, sigma);
        s->timesteps[i] = s->ramp == RAMP_FLOW || s->ramp == RAMP_EXPONENTIAL || s->smooth ? trunc(t) : rint(t);
    }
    s->sigmas[s->count] = s->ends_at_zero ? 0 : scheduler_sigma(s, 0);
    return true;
}

/* ---- steps ---- */

struct level { /* of noise: x = alpha sample + sigma noise */
    float alpha, sigma, lambda;
};
static struct level level_at(const heed_scheduler *s, int64_t i) {
    const float sigma = s->sigmas[i];
    const float alpha = s->solver.flow ? 1.0f - sigma : 1.0f / sqrtf(sigma * sigma + 1.0f);
    const float spread = s->solver.flow ? sigma : sigma * alpha;
    return (struct level){alpha, spread, log_ratio(alpha, spread)};
}

struct solution {
    float of_sample, of_value, of_slope, of_curve, of_noise;
};

/* From level `from` to level `to`, h apart in lambda. order: of this step. */
static struct solution solve(const heed_scheduler *s, int order, struct level to, struct level from) {
    const float h = to.lambda - from.lambda;
    const bool curved = order == 3 || s->solver.heun; /* the slope's integral, not its value in the middle */
    struct solution c = {0};
    switch ((enum algorithm)s->solver.algorithm) {
    case PLUS:
    case DEIS: {
        const float e = expf(-h) - 1.0f;
        c.of_sample = to.sigma / from.sigma;
        c.of_value = -(to.alpha * e);
        c.of_slope = curved ? to.alpha * (e / h + 1.0f) : -(0.5f * (to.alpha * e));
        c.of_curve = -(to.alpha * ((e + h) / (h * h) - 0.5f));
        break;
    }
    case SDE_PLUS: {
        const float e = 1.0f - expf(-2.0f * h);
        c.of_sample = to.sigma / from.sigma * expf(-h);
        c.of_value = to.alpha * e;
        c.of_slope = curved ? to.alpha * (e / (-2.0f * h) + 1.0f) : 0.5f * (to.alpha * e);
        c.of_curve = to.alpha * ((e - 2.0f * h) / (4.0f * h * h) - 0.5f);
        c.of_noise = to.sigma * sqrtf(e);
        break;
    }
    case PLAIN:
    case SDE: {
        const float e = expf(h) - 1.0f, twice = s->solver.algorithm == SDE ? 2.0f : 1.0f;
        c.of_sample = to.alpha / from.alpha;
        c.of_value = -twice * (to.sigma * e);
        c.of_slope = curved ? -twice * (to.sigma * (e / h - 1.0f)) : -twice * (0.5f * (to.sigma * e));
        c.of_curve = -(to.sigma * ((e - h) / (h * h) - 0.5f));
        if (s->solver.algorithm == SDE) c.of_noise = to.sigma * sqrtf(expf(2.0f * h) - 1.0f);
        break;
    }
    }
    if (order < 2) c.of_slope = 0;
    if (order < 3) c.of_curve = 0;
    return c;
}

/* What the model says: the sample behind the noise; of DPM-Solver without ++ the noise. */
static bool convert(heed_ctx *cx, const heed_scheduler *s, const heed_denoising *d, struct level at, float *original,
                    float *value) {
    const int64_t n = denoising_size(d);
    const bool noise = s->solver.algorithm >= PLAIN;
    if (!(s->variance && s->prediction == PREDICTS_NOISE)) {
        if (!scheduler_plain_output(cx, s, d)) return false;
    } else if (d->channels != 3 || d->output_channels < 3)
        return heed_fail(
            cx, HEED_ERR_SHAPE,
            "%s: with variance_type the sample has 3 channels, and the output at least 3; not %lld and %lld",
            s->kind->name, (long long)d->channels, (long long)d->output_channels);
    scheduler_original(s, d, at.alpha, at.sigma, original);
    if (!scheduler_clip(cx, s, d, original)) return false;
    for (int64_t i = 0; i < n; i++)
        value[i] = !noise ? original[i] : (d->sample[i] - at.alpha * original[i]) / at.sigma;
    if (!noise || s->clipping != CLIP_NONE || s->prediction == PREDICTS_SAMPLE) return true;
    const int64_t each = d->channels * d->each;
    for (int64_t i = 0; i < n; i++) { /* the noise itself, not by way of the sample */
        const float y = output_of(d, i / each)[i % each];
        value[i] = s->prediction == PREDICTS_NOISE ? y : at.alpha * y + at.sigma * d->sample[i];
    }
    return true;
}

/* The model's outputs of the steps before move on by one place; the newest is at 0. */
static bool make_room(heed_ctx *cx, heed_scheduler *s, int64_t n) {
    float **const h = s->history;
    if (s->history_size != n) {
        for (int k = 0; k < MAX_ORDER; k++) {
            heed_mem_free(cx, h[k]);
            h[k] = heed_mem_new(cx, (size_t)n * sizeof(float));
        }
        s->history_size = h[0] && h[1] && h[2] ? n : -1;
        s->taken = 0;
    }
    float *const oldest = h[MAX_ORDER - 1];
    memmove(h + 1, h, (MAX_ORDER - 1) * sizeof *h);
    h[0] = oldest;
    return s->history_size == n;
}

static int order_of(const heed_scheduler *s, int64_t i) {
    const bool few = s->count < 15 && s->solver.lower_order_final;
    if (s->solver.order == 1 || s->taken < 1) return 1;
    if (i == s->count - 1 && (s->solver.euler_at_final || few || s->ends_at_zero)) return 1;
    return s->solver.order == 2 || s->taken < 2 || (i == s->count - 2 && few) ? 2 : 3;
}

static bool dpm_needs_noise(const heed_scheduler *s, int64_t i, double eta) {
    (void)i, (void)eta;
    return s->solver.algorithm == SDE || s->solver.algorithm == SDE_PLUS;
}

static bool dpm_step(heed_ctx *cx, heed_scheduler *s, int64_t i, const heed_denoising *d, float *original) {
    const int64_t n = denoising_size(d);
    if (i != s->next) s->taken = 0; /* another run */
    if (!make_room(cx, s, n) || !convert(cx, s, d, level_at(s, i), original, s->history[0])) return false;
    const int order = order_of(s, i);
    const struct level to = level_at(s, i + 1), from = level_at(s, i);
    const struct solution c = solve(s, order, to, from);
    const float h = to.lambda - from.lambda;
    const float r0 = order > 1 ? (from.lambda - level_at(s, i - 1).lambda) / h : 1;
    const float r1 = order > 2 ? (level_at(s, i - 1).lambda - level_at(s, i - 2).lambda) / h : 1;
    const float *const m0 = s->history[0], *const m1 = s->history[1], *const m2 = s->history[2];
    const bool noisy = dpm_needs_noise(s, i, 0);
    for (int64_t j = 0; j < n; j++) {
        float x = c.of_sample * d->sample[j] + c.of_value * m0[j];
        if (order > 1) {
            float slope = 1.0f / r0 * (m0[j] - m1[j]);
            if (order > 2) {
                const float change = slope - 1.0f / r1 * (m1[j] - m2[j]);
                slope += r0 / (r0 + r1) * change;
                x += c.of_curve * (1.0f / (r0 + r1) * change);
            }
            x += c.of_slope * slope;
        }
        d->previous[j] = noisy ? x + c.of_noise * d->noise[j] : x;
    }
    s->taken += s->taken < s->solver.order;
    s->next = i + 1;
    return true;
}

const struct scheduler_kind scheduler_dpm_solver = {.name = "DPMSolverMultistepScheduler",
                                                    .keys = keys,
                                                    .whole = true,
                                                    .open = dpm_open,
                                                    .space = dpm_space,
                                                    .step = dpm_step,
                                                    .needs_noise = dpm_needs_noise};
