/* Embeddings of steps: waves of many lengths (Ho et al. 2020), then two linear layers. */
#include "model/diffusion/blocks.h"
#include "tensor/engine.h"
#include <math.h>

bool step_waves_read(heed_ctx *cx, heed_json config, int64_t width, struct step_waves *waves) {
    *waves = (struct step_waves){.width = width,
                                 .flip = heed_json_bool(cx, config, "flip_sin_to_cos"),
                                 .shift = config_number(cx, config, "freq_shift", -1e6, 1e6)};
    if (heed_failed(cx)) return false;
    if (width < 2 || (double)(width / 2) == waves->shift)
        return heed_json_fail(cx, heed_json_find(cx, config, "freq_shift"), "%g makes no waves of %lld channels",
                              waves->shift, (long long)width);
    return true;
}

/* Rounded to f32 where PyTorch rounds: far steps are those of models that were trained there. */
static heed_tensor *speeds_of(heed_ctx *cx, const struct step_waves *w) {
    const int64_t half = w->width / 2;
    heed_tensor *const speeds = heed_zeros(cx, HEED_F32, 1, &half);
    if (!speeds || cx->config.dry) return speeds;
    float *const to = (float *)(void *)speeds->data;
    for (int64_t i = 0; i < half; i++) {
        const float exponent = (float)-log(10000) * (float)i / (float)((double)half - w->shift);
        to[i] = (float)exp((double)exponent);
    }
    return speeds;
}

heed_tensor *step_waves_run(heed_ctx *cx, const struct step_waves *w, heed_tensor *t) {
    if (!t) return NULL;
    const int64_t n = heed_count(t);
    heed_tensor *const at =
        heed_mul(cx, heed_reshape(cx, heed_cast(cx, t, HEED_F32), 2, (int64_t[]){n, 1}), speeds_of(cx, w));
    heed_tensor *const sines = heed_sin(cx, at), *const cosines = heed_cos(cx, at);
    heed_tensor *const y =
        heed_concat(cx, (heed_tensor *[]){w->flip ? cosines : sines, w->flip ? sines : cosines}, 2, 1);
    return w->width % 2 ? heed_pad(cx, y, (int64_t[]){0, 0}, (int64_t[]){0, 1}, 0) : y;
}

bool step_embedding_make(heed_ctx *cx, heed_params *set, const char *prefix, int64_t in, int64_t out, int64_t more,
                         struct step_embedding *e) {
    e->act = HEED_ACT_SILU;
    return heed_linear_make(cx, set, part_under(cx, prefix, "linear_1").s, in, out, true, &e->linear_1) &&
           (!more ||
            heed_linear_make(cx, set, part_under(cx, prefix, "cond_proj").s, more, in, false, &e->cond_proj)) &&
           heed_linear_make(cx, set, part_under(cx, prefix, "linear_2").s, out, out, true, &e->linear_2);
}

heed_tensor *step_embedding_run(heed_ctx *cx, const struct step_embedding *e, heed_tensor *x, heed_tensor *more) {
    if (more) x = heed_add(cx, x, heed_linear_run(cx, &e->cond_proj, more, HEED_ACT_NONE));
    return heed_linear_run(cx, &e->linear_2, heed_linear_run(cx, &e->linear_1, x, e->act), e->post);
}
