/* unfold: all patches of a picture side by side, as torch's; fold adds patches up where they came from.
 *   cols[b, (c,k), i] = x[b, c, i stride - padding + k dilation]        x (B,C,H,W), cols (B, C KH KW, OH OW)
 * Each is the other's gradient. */
#include "kernel/planes.h"
#include "tensor/engine.h"
#include "tensor/ops.h"

#define MOST ((int64_t)1 << 30) /* of sizes, strides, paddings and dilations: no sum of them overflows */

struct unfold_attr {
    int64_t kernel[2], stride[2], padding[2], dilation[2];
    int64_t size[2]; /* of the picture that fold makes; of unfold: 0 */
};

static bool patches_of(heed_op_call *c, int i, int64_t in, int64_t *out) {
    const struct unfold_attr *const a = c->attr;
    const int64_t k = a->kernel[i], s = a->stride[i], p = a->padding[i], d = a->dilation[i];
    if (k < 1 || k > MOST || s < 1 || s > MOST || d < 1 || d > MOST || p < 0 || p > MOST || in < 1 || in > MOST)
        return heed_op_fail(c, HEED_ERR_RANGE,
                            "patches of %lld places, stride %lld, dilation %lld, padding %lld of %lld places: all but "
                            "the padding are at least 1",
                            (long long)k, (long long)s, (long long)d, (long long)p, (long long)in);
    const int64_t rest = in + 2 * p - d * (k - 1) - 1;
    if (rest < 0)
        return heed_op_fail(c, HEED_ERR_SHAPE, "%lld places with a padding of %lld are fewer than the %lld of a patch",
                            (long long)in, (long long)p, (long long)(d * (k - 1) + 1));
    *out = rest / s + 1;
    return true;
}

static struct unfold unfold_of(const heed_op_call *c) {
    const struct unfold_attr *const a = c->attr;
    const heed_tensor *const x = a->size[0] ? c->out[0] : c->in[0];
    struct unfold u = {.planes = x->shape[0] * x->shape[1]};
    for (int i = 0; i < 2; i++) {
        u.in[i] = x->shape[2 + i];
        u.kernel[i] = a->kernel[i], u.stride[i] = a->stride[i];
        u.padding[i] = a->padding[i], u.dilation[i] = a->dilation[i];
        u.out[i] = (u.in[i] + 2 * u.padding[i] - u.dilation[i] * (u.kernel[i] - 1) - 1) / u.stride[i] + 1;
    }
    return u;
}

static bool unfold_infer(heed_op_call *c) {
    const struct unfold_attr *const a = c->attr;
    const heed_tensor *const x = c->in[0];
    int64_t out[2];
    if (!heed_op_want(c, 0, HEED_F32)) return false;
    if (x->rank != 4) return heed_op_fail(c, HEED_ERR_SHAPE, "x of shape %s is not (B,C,H,W)", heed_shape_text(x).s);
    for (int i = 0; i < 2; i++)
        if (!patches_of(c, i, x->shape[2 + i], &out[i])) return false;
    return heed_op_out(c, 0, HEED_F32, 3,
                       (int64_t[]){x->shape[0], x->shape[1] * a->kernel[0] * a->kernel[1], out[0] * out[1]});
}

static bool fold_infer(heed_op_call *c) {
    const struct unfold_attr *const a = c->attr;
    const heed_tensor *const x = c->in[0];
    int64_t out[2];
    if (!heed_op_want(c, 0, HEED_F32)) return false;
    for (int i = 0; i < 2; i++)
        if (!patches_of(c, i, a->size[i], &out[i])) return false;
    if (x->rank != 3 || x->shape[1] % (a->kernel[0] * a->kernel[1]) != 0 || x->shape[2] != out[0] * out[1])
        return heed_op_fail(c, HEED_ERR_SHAPE, "x of shape %s is not (B, C %lld %lld, %lld %lld)", heed_shape_text(x).s,
                            (long long)a->kernel[0], (long long)a->kernel[1], (long long)out[0], (long long)out[1]);
    return heed_op_out(c, 0, HEED_F32, 4,
                       (int64_t[]){x->shape[0], x->shape[1] / (a->kernel[0] * a->kernel[1]), a->size[0], a->size[1]});
}

static bool unfold_forward(heed_op_call *c) {
    const struct unfold u = unfold_of(c);
    kernel_unfold(pool_of(c), &u, heed_op_f32(c, 0), false, f32_of(c->in[0]));
    return true;
}
static bool unfold_backward(heed_op_call *c) {
    const struct unfold u = unfold_of(c);
    kernel_fold_patches(pool_of(c), &u, c->din[0], c->add[0], c->dout[0]);
    return true;
}
static bool fold_forward(heed_op_call *c) {
    const struct unfold u = unfold_of(c);
    kernel_fold_patches(pool_of(c), &u, heed_op_f32(c, 0), false, f32_of(c->in[0]));
    return true;
}
static bool fold_backward(heed_op_call *c) {
    const struct unfold u = unfold_of(c);
    kernel_unfold(pool_of(c), &u, c->din[0], c->add[0], c->dout[0]);
    return true;
}

const heed_op op_unfold = {.name = "unfold",
                           .infer = unfold_infer,
                           .forward = unfold_forward,
                           .backward = unfold_backward,
                           .flags = HEED_OP_ADDS,
                           .attr_size = sizeof(struct unfold_attr)};
const heed_op op_fold = {.name = "fold",
                         .infer = fold_infer,
                         .forward = fold_forward,
                         .backward = fold_backward,
                         .flags = HEED_OP_ADDS,
                         .attr_size = sizeof(struct unfold_attr)};

static struct unfold_attr attr_of(const int64_t kernel[2], const heed_conv_opts *o) {
    struct unfold_attr a = {0};
    for (int i = 0; i < 2; i++) {
        a.kernel[i] = kernel ? kernel[i] : 0;
        a.stride[i] = o && o->stride[i] ? o->stride[i] : 1;
        a.dilation[i] = o && o->dilation[i] ? o->dilation[i] : 1;
        a.padding[i] = o ? o->padding[i] : 0;
    }
    return a;
}

heed_tensor *heed_unfold(heed_ctx *cx, heed_tensor *x, const int64_t kernel[2], const heed_conv_opts *opts) {
    const struct unfold_attr a = attr_of(kernel, opts);
    return apply1(cx, &op_unfold, &a, &x, 1);
}
heed_tensor *heed_fold(heed_ctx *cx, heed_tensor *x, const int64_t size[2], const int64_t kernel[2],
                       const heed_conv_opts *opts) {
    struct unfold_attr a = attr_of(kernel, opts);
    for (int i = 0; i < 2; i++) a.size[i] = size ? size[i] : 0;
    return apply1(cx, &op_fold, &a, &x, 1);
}
