/* Residual blocks, and what makes maps larger and smaller. blocks.h says what they compute. */
#include "model/diffusion/blocks.h"
#include "tensor/engine.h"

bool block_conv(heed_ctx *cx, heed_params *set, const char *prefix, int64_t in, int64_t out, int64_t kernel,
                heed_conv_layer *conv) {
    const int64_t padding = (kernel - 1) / 2;
    return heed_conv2d_make(cx, set, prefix, in, out, (int64_t[]){kernel, kernel}, true,
                            &(heed_conv_opts){.padding = {padding, padding}}, conv);
}

bool block_norm(heed_ctx *cx, heed_params *set, const char *prefix, int64_t groups, int64_t channels, float eps,
                heed_group_norm_layer *norm) {
    if (heed_failed(cx)) return false;
    if (channels % groups != 0)
        return heed_fail(cx, HEED_ERR_FORMAT, "%s: %lld groups do not divide %lld channels", prefix, (long long)groups,
                         (long long)channels);
    return heed_group_norm_make(cx, set, prefix, groups, channels, eps, norm);
}

bool downsample_make(heed_ctx *cx, heed_params *set, const char *prefix, int64_t channels, int64_t padding,
                     heed_conv_layer *conv) {
    const int64_t behind = padding == 0;
    return heed_conv2d_make(
        cx, set, part_under(cx, prefix, "conv").s, channels, channels, (int64_t[]){3, 3}, true,
        &(heed_conv_opts){.stride = {2, 2}, .padding = {padding, padding}, .more = {behind, behind}}, conv);
}

bool upsample_make(heed_ctx *cx, heed_params *set, const char *prefix, int64_t channels, heed_conv_layer *conv) {
    return block_conv(cx, set, part_under(cx, prefix, "conv").s, channels, channels, 3, conv);
}

static heed_tensor *twice(heed_ctx *cx, heed_tensor *x) {
    return heed_interpolate(cx, x, &(heed_interpolate_opts){.kind = HEED_NEAREST, .scale = {2, 2}});
}

heed_tensor *upsample_run(heed_ctx *cx, const heed_conv_layer *conv, heed_tensor *x, const int64_t *size) {
    const heed_interpolate_opts to = {.kind = HEED_NEAREST, .size = {size ? size[0] : 0, size ? size[1] : 0}};
    heed_scope_begin(cx);
    return heed_scope_end(cx, heed_conv_run(cx, conv, size ? heed_interpolate(cx, x, &to) : twice(cx, x)));
}

bool residual_make(heed_ctx *cx, heed_params *set, const char *prefix, const struct residual_plan *plan, int64_t in,
                   int64_t out, enum resampling resampling, struct residual *r) {
    *r = (struct residual){.plan = *plan, .resampling = resampling};
    return block_norm(cx, set, part_under(cx, prefix, "norm1").s, plan->groups, in, plan->eps, &r->norm1) &&
           block_conv(cx, set, part_under(cx, prefix, "conv1").s, in, out, 3, &r->conv1) &&
           (!plan->time || heed_linear_make(cx, set, part_under(cx, prefix, "time_emb_proj").s, plan->time,
                                            plan->scale_shift ? 2 * out : out, true, &r->time)) &&
           block_norm(cx, set, part_under(cx, prefix, "norm2").s, plan->groups, out, plan->eps, &r->norm2) &&
           block_conv(cx, set, part_under(cx, prefix, "conv2").s, out, out, 3, &r->conv2) &&
           (in == out || block_conv(cx, set, part_under(cx, prefix, "conv_shortcut").s, in, out, 1, &r->shortcut));
}

static heed_tensor *resampled(heed_ctx *cx, const struct residual *r, heed_tensor *x) {
    if (r->resampling == RESAMPLE_UP) return twice(cx, x);
    return r->resampling == RESAMPLE_DOWN ? heed_avg_pool2d(cx, x, &(heed_pool_opts){.kernel = {2, 2}}) : x;
}

/* The second norm of h, with what the step says: before it, or as scale and shift behind it. */
static heed_tensor *timed_norm(heed_ctx *cx, const struct residual *r, heed_tensor *h, const struct condition *given) {
    if (!r->time.weight || !h) return heed_group_norm_run(cx, &r->norm2, h);
    heed_tensor *const t = heed_linear_run(cx, &r->time, r->plan.skip_act ? given->time : given->active, HEED_ACT_NONE);
    if (!t) return NULL;
    const int64_t C = h->shape[1], B = t->shape[0];
    heed_tensor *const place = heed_reshape(cx, t, 4, (int64_t[]){B, t->shape[1], 1, 1});
    if (!r->plan.scale_shift) return heed_group_norm_run(cx, &r->norm2, heed_add(cx, h, place));
    heed_tensor *part[2];
    if (!heed_split(cx, place, 1, (int64_t[]){C, C}, 2, part)) return NULL;
    h = heed_mul(cx, heed_group_norm_run(cx, &r->norm2, h), heed_affine(cx, part[0], 1, 1));
    return heed_add(cx, h, part[1]);
}

heed_tensor *residual_run(heed_ctx *cx, const struct residual *r, heed_tensor *x, const struct condition *given) {
    heed_scope_begin(cx);
    heed_tensor *h = heed_activate(cx, heed_group_norm_run(cx, &r->norm1, x), r->plan.act);
    h = heed_conv_run(cx, &r->conv1, resampled(cx, r, h));
    h = heed_activate(cx, timed_norm(cx, r, h, given), r->plan.act);
    h = heed_conv_run(cx, &r->conv2, heed_dropout(cx, h, r->plan.dropout));
    x = resampled(cx, r, x);
    if (r->shortcut.weight) x = heed_conv_run(cx, &r->shortcut, x);
    heed_tensor *const y = heed_add(cx, x, h);
    return heed_scope_end(cx, r->plan.scale == 1 ? y : heed_affine(cx, y, 1 / r->plan.scale, 0));
}
