/* DDIM (Song et al. 2021): x_{t'} has the predicted x_0 and the predicted noise in the shares of timestep t'; with eta,
 * some of the noise is drawn anew.
 *
 *     x_{t'} = sqrt(a_bar') x_0 + sqrt(1 - a_bar' - sigma^2) noise + sigma z
 *     sigma  = eta sqrt((1 - a_bar') / (1 - a_bar) (1 - a_bar / a_bar')) */
#include "diffusion/scheduler.h"
#include "model/core/families.h"
#include <math.h>

static const heed_key keys[] = {
    BETA_KEYS,
    {"set_alpha_to_one", HEED_KEY_BOOL, "true", "the last step leads to no noise at all, not to that of timestep 0"},
    CLIP_KEYS,
    THRESHOLD_KEYS,
    SPACING_KEYS("leading"),
    END_OF_KEYS,
};

static bool ddim_open(heed_ctx *cx, heed_scheduler *s) {
    s->final_alpha_one = heed_json_bool(cx, s->config, "set_alpha_to_one");
    return scheduler_read_betas(cx, s, false) && scheduler_read_prediction(cx, s, NULL) &&
           scheduler_read_clipping(cx, s) && scheduler_read_spacing(cx, s);
}

static bool ddim_space(heed_ctx *cx, heed_scheduler *s, int64_t steps) {
    return scheduler_space(cx, s, steps, s->train_steps, false, true) && scheduler_within(cx, s);
}

/* The noise in sample and output: pred_epsilon. */
static float noise_in(const heed_scheduler *s, float x, float y, float signal, float spread) {
    return s->prediction == PREDICTS_NOISE    ? y
           : s->prediction == PREDICTS_SAMPLE ? (x - signal * y) / spread
                                              : signal * y + spread * x;
}

static bool ddim_needs_noise(const heed_scheduler *s, int64_t i, double eta) {
    (void)s, (void)i;
    return eta > 0;
}

static bool ddim_step(heed_ctx *cx, heed_scheduler *s, int64_t i, const heed_denoising *d, float *original) {
    if (!scheduler_plain_output(cx, s, d)) return false;
    const double then = s->timesteps[i] - (double)(s->train_steps / s->steps);
    const float left = scheduler_alpha(s, s->timesteps[i]), left_then = then >= 0            ? scheduler_alpha(s, then)
                                                                        : s->final_alpha_one ? 1
                                                                                             : s->alphas[0];
    const float gone = 1.0f - left, signal = sqrtf(left), spread = sqrtf(gone);
    const float sigma = (float)d->eta * sqrtf((1.0f - left_then) / gone * (1.0f - left / left_then));
    const float signal_then = sqrtf(left_then), kept = sqrtf(1.0f - left_then - sigma * sigma);
    scheduler_original(s, d, signal, spread, original);
    if (!scheduler_clip(cx, s, d, original)) return false;
    for (int64_t j = 0; j < denoising_size(d); j++) {
        const float noise = noise_in(s, d->sample[j], d->model_output[j], signal, spread);
        d->previous[j] = signal_then * original[j] + kept * noise + (d->eta > 0 ? sigma * d->noise[j] : 0);
    }
    return true;
}

const struct scheduler_kind scheduler_ddim = {.name = "DDIMScheduler",
                                              .keys = keys,
                                              .whole = true,
                                              .open = ddim_open,
                                              .space = ddim_space,
                                              .step = ddim_step,
                                              .needs_noise = ddim_needs_noise};
