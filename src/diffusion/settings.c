/* Settings that several schedulers have, read from a config in which every key of the kind's table is there. */
#include "diffusion/scheduler.h"
#include "model/core/families.h"
#include <math.h>
#include <string.h>

/* May prediction be original_sample, Euler's older name of sample, it is the last of the names. */
bool scheduler_read_prediction(heed_ctx *cx, heed_scheduler *s, const char *const *names) {
    static const char *const usual[] = {"epsilon", "sample", "v_prediction", NULL};
    const int kind = config_choice(cx, s->config, "prediction_type", names ? names : usual);
    if (kind < 0) return false;
    s->prediction = (enum prediction)kind;
    if (names && strcmp(names[kind], "original_sample") == 0) s->prediction = PREDICTS_SAMPLE;
    return true;
}

bool scheduler_read_spacing(heed_ctx *cx, heed_scheduler *s) {
    static const char *const names[] = {"leading", "linspace", "trailing", NULL};
    const int kind = config_choice(cx, s->config, "timestep_spacing", names);
    s->spacing = kind < 0 ? SPACING_LEADING : (enum spacing)kind;
    s->offset = config_int(cx, s->config, "steps_offset", -MAX_TRAIN_STEPS, MAX_TRAIN_STEPS);
    return !heed_failed(cx);
}

bool scheduler_read_clipping(heed_ctx *cx, heed_scheduler *s) {
    const bool has_range = heed_json_kind_of(heed_json_find(cx, s->config, "clip_sample_range")) != HEED_JSON_NONE;
    s->clipping = heed_json_bool(cx, s->config, "thresholding")                         ? CLIP_DYNAMIC
                  : has_range && heed_json_bool_or(cx, s->config, "clip_sample", false) ? CLIP_RANGE
                                                                                        : CLIP_NONE;
    s->quantile = config_number(cx, s->config, "dynamic_thresholding_ratio", 0, 1);
    s->most = config_number(cx, s->config, "sample_max_value", 1e-6, 1e30);
    s->clip = has_range ? config_number(cx, s->config, "clip_sample_range", 0, 1e30) : 0;
    return !heed_failed(cx);
}

bool scheduler_read_ramp(heed_ctx *cx, heed_scheduler *s) {
    const bool karras = heed_json_bool(cx, s->config, "use_karras_sigmas");
    const bool exponential = heed_json_bool(cx, s->config, "use_exponential_sigmas");
    if (heed_json_bool(cx, s->config, "use_beta_sigmas"))
        return heed_json_fail(cx, heed_json_find(cx, s->config, "use_beta_sigmas"),
                              "noise levels of a beta distribution are not supported");
    if (karras && exponential)
        return heed_json_fail(cx, heed_json_find(cx, s->config, "use_exponential_sigmas"),
                              "use_karras_sigmas is true, too; only one of them can be");
    s->ramp = karras ? RAMP_KARRAS : exponential ? RAMP_EXPONENTIAL : RAMP_NONE;
    s->sigma_min = config_number_or(cx, s->config, "sigma_min", 1e-10, 1e10, (double)NAN);
    s->sigma_max = config_number_or(cx, s->config, "sigma_max", 1e-10, 1e10, (double)NAN);
    return !heed_failed(cx);
}

bool scheduler_read_final(heed_ctx *cx, heed_scheduler *s) {
    static const char *const names[] = {"sigma_min", "zero", NULL};
    s->ends_at_zero = config_choice(cx, s->config, "final_sigmas_type", names) == 1;
    return !heed_failed(cx);
}
