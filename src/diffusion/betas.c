/* How much noise each timestep of training adds: betas and their cumulated products, in f32 as in diffusers. */
#include "diffusion/scheduler.h"
#include "model/core/families.h"
#include <math.h>
#include <string.h>

#define HALF_PI 1.57079632679489661923

float torch_linspace_at(float from, float to, int64_t n, int64_t i) {
    if (n == 1) return from;
    const double step = (double)((to - from) / (float)(n - 1));
    return i < n / 2 ? (float)((double)from + step * (double)i) : (float)((double)to - step * (double)(n - i - 1));
}

/* The share of the sample that is left after `t` of the time, alpha_bar. */
static double cosine_share(double t) {
    const double c = cos((t + 0.008) / 1.008 * HALF_PI);
    return c * c;
}

static double laplace_share(double t) {
    const double lambda = -0.5 * copysign(1, 0.5 - t) * log(1 - 2 * fabs(0.5 - t) + 1e-6), snr = exp(lambda);
    return sqrt(snr / (1 + snr));
}

static float beta_of_share(double (*share)(double), int64_t n, int64_t i) {
    return (float)fmin(1 - share((double)(i + 1) / (double)n) / share((double)i / (double)n), 0.999);
}

static float sigmoid_beta(double start, double end, int64_t n, int64_t i) {
    return 1.0f / (1.0f + expf(-torch_linspace_at(-6, 6, n, i))) * (float)(end - start) + (float)start;
}

static bool read_schedule(heed_ctx *cx, heed_scheduler *s, bool more, float *betas) {
    static const char *const names[] = {"linear", "scaled_linear", "squaredcos_cap_v2", "laplace", "sigmoid", NULL};
    static const char *const few[] = {"linear", "scaled_linear", "squaredcos_cap_v2", NULL};
    const int64_t n = s->train_steps;
    const double start = config_number(cx, s->config, "beta_start", 0, 1),
                 end = config_number(cx, s->config, "beta_end", 0, 1);
    const int kind = config_choice(cx, s->config, "beta_schedule", more ? names : few);
    s->smooth = kind == 2;
    for (int64_t i = 0; kind >= 0 && i < n; i++) {
        const float root = torch_linspace_at((float)sqrt(start), (float)sqrt(end), n, i);
        betas[i] = kind == 0   ? torch_linspace_at((float)start, (float)end, n, i)
                   : kind == 1 ? root * root
                   : kind == 2 ? beta_of_share(cosine_share, n, i)
                   : kind == 3 ? beta_of_share(laplace_share, n, i)
                               : sigmoid_beta(start, end, n, i);
    }
    return !heed_failed(cx);
}

static bool read_trained(heed_ctx *cx, const heed_scheduler *s, heed_json list, float *betas) {
    int64_t i = 0;
    if (heed_json_count(list) != s->train_steps)
        return heed_json_fail(cx, list, "%lld betas for %lld timesteps of training", (long long)heed_json_count(list),
                              (long long)s->train_steps);
    for (heed_json v = heed_json_first(list); heed_json_kind_of(v) != HEED_JSON_NONE; v = heed_json_next(v)) {
        const double beta = heed_json_number(cx, v, NULL);
        if (!heed_failed(cx) && !(beta >= 0 && beta <= 1))
            return heed_json_fail(cx, v, "%g is not between 0 and 1", beta);
        betas[i++] = (float)beta;
    }
    return !heed_failed(cx);
}

/* PyTorch cumulates in double and rounds each product. */
static void cumulate(const float *betas, int64_t n, float *alphas) {
    double product = 1;
    for (int64_t i = 0; i < n; i++) alphas[i] = (float)(product *= (double)(1.0f - betas[i]));
}

/* Shifts and scales sqrt(alpha_bar) so that the last is 0 and the first stays (Lin et al. 2024, algorithm 1). */
static void rescale(float *betas, int64_t n, float *alphas) {
    cumulate(betas, n, alphas);
    const float first = sqrtf(alphas[0]), last = sqrtf(alphas[n - 1]);
    for (int64_t i = 0; i < n; i++) {
        const float root = (sqrtf(alphas[i]) - last) * (first / (first - last));
        alphas[i] = root * root;
    }
    for (int64_t i = n - 1; i > 0; i--) betas[i] = 1.0f - alphas[i] / alphas[i - 1];
    betas[0] = 1.0f - alphas[0];
}

bool scheduler_read_betas(heed_ctx *cx, heed_scheduler *s, bool more) {
    s->train_steps = config_int(cx, s->config, "num_train_timesteps", 1, MAX_TRAIN_STEPS);
    s->rescaled = heed_json_bool(cx, s->config, "rescale_betas_zero_snr");
    if (heed_failed(cx)) return false;
    const heed_json trained = heed_json_find(cx, s->config, "trained_betas");
    float *betas = heed_mem_new(cx, (size_t)s->train_steps * sizeof *betas);
    s->alphas = heed_mem_new(cx, (size_t)s->train_steps * sizeof *s->alphas);
    const bool given = heed_json_kind_of(trained) == HEED_JSON_ARRAY;
    if (betas && s->alphas && read_schedule(cx, s, more, betas) && (!given || read_trained(cx, s, trained, betas))) {
        if (s->rescaled) rescale(betas, s->train_steps, s->alphas);
        cumulate(betas, s->train_steps, s->alphas);
    }
    heed_mem_free(cx, betas);
    return !heed_failed(cx);
}

bool scheduler_flow_levels(heed_ctx *cx, heed_scheduler *s) {
    if (heed_failed(cx)) return false;
    s->levels = heed_mem_new(cx, (size_t)s->train_steps * sizeof *s->levels);
    for (int64_t i = 0; s->levels && i < s->train_steps; i++) {
        const float level = (float)(i + 1) / (float)s->train_steps;
        s->levels[i] = (float)s->shift * level / (1.0f + (float)(s->shift - 1) * level);
    }
    return s->levels != NULL;
}
