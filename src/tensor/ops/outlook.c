/* Outlook attention's sums: every place of a window gets one over the window's places, and those of all windows add up.
 *   y = fold(W unfold(x)),  dx = fold(W' unfold(dy)),  dW = unfold(dy) unfold(x)'
 * x, y (B,H,W,C), W (B, OH OW, heads, KH KW, KH KW) */
#include "kernel/outlook.h"
#include "tensor/engine.h"
#include "tensor/ops.h"

struct outlook_attr {
    int64_t kernel[2], stride[2], padding[2];
};

static struct outlook outlook_of(const heed_op_call *c) {
    const struct outlook_attr *const a = c->attr;
    const heed_tensor *const x = c->in[0], *const w = c->in[1];
    struct outlook o = {.batch = x->shape[0], .heads = w->shape[2], .size = x->shape[3] / w->shape[2]};
    for (int i = 0; i < 2; i++) {
        o.in[i] = x->shape[1 + i];
        o.kernel[i] = a->kernel[i], o.stride[i] = a->stride[i], o.padding[i] = a->padding[i];
        o.out[i] = (o.in[i] + 2 * o.padding[i] - o.kernel[i]) / o.stride[i] + 1;
    }
    return o;
}

static bool check_windows(heed_op_call *c) {
    const struct outlook_attr *const a = c->attr;
    for (int i = 0; i < 2; i++)
        if (a->kernel[i] < 1 || a->kernel[i] > MAX_OUTLOOK || a->stride[i] < 1 || a->stride[i] > 1 << 20 ||
            a->padding[i] < 0 || a->padding[i] >= a->kernel[i])
            return heed_op_fail(c, HEED_ERR_RANGE,
                                "windows of %lld places, stride %lld, padding %lld: 1 to %d places, a stride of at "
                                "least 1, and less padding than places",
                                (long long)a->kernel[i], (long long)a->stride[i], (long long)a->padding[i],
                                MAX_OUTLOOK);
    return true;
}

static bool outlook_infer(heed_op_call *c) {
    const struct outlook_attr *const a = c->attr;
    const heed_tensor *const x = c->in[0], *const w = c->in[1];
    const int64_t taps = a->kernel[0] * a->kernel[1];
    if (!heed_op_want(c, 0, HEED_F32) || !heed_op_want(c, 1, HEED_F32) || !check_windows(c)) return false;
    bool fits = x->rank == 4 && w->rank == 5 && w->shape[2] > 0 && x->shape[3] % w->shape[2] == 0 &&
                x->shape[0] == w->shape[0] && w->shape[3] == taps && w->shape[4] == taps;
    for (int i = 0; fits && i < 2; i++) fits = x->shape[1 + i] + 2 * a->padding[i] >= a->kernel[i];
    if (fits) {
        const struct outlook o = outlook_of(c);
        if (o.out[0] * o.out[1] == w->shape[1]) return heed_op_like(c, 0, 0);
    }
    return heed_op_fail(c, HEED_ERR_SHAPE,
                        "x of shape %s is not (B,H,W,C) with weights of shape %s for its windows of %lld x %lld",
                        heed_shape_text(x).s, heed_shape_text(w).s, (long long)a->kernel[0], (long long)a->kernel[1]);
}

static bool outlook_forward(heed_op_call *c) {
    const struct outlook o = outlook_of(c);
    kernel_outlook(pool_of(c), &o, heed_op_f32(c, 0), f32_of(c->in[0]), f32_of(c->in[1]));
    return true;
}

static bool outlook_backward(heed_op_call *c) {
    const struct outlook o = outlook_of(c);
    kernel_outlook_grad(pool_of(c), &o, c->din[0], c->add[0], c->din[1], c->add[1], c->dout[0], f32_of(c->in[0]),
                        f32_of(c->in[1]));
    return true;
}

const heed_op op_outlook = {.name = "outlook",
                            .infer = outlook_infer,
                            .forward = outlook_forward,
                            .backward = outlook_backward,
                            .flags = HEED_OP_ADDS,
                            .save_in = 3,
                            .attr_size = sizeof(struct outlook_attr)};

heed_tensor *heed_outlook(heed_ctx *cx, heed_tensor *x, heed_tensor *weights, const int64_t kernel[2],
                          const heed_conv_opts *opts) {
    struct outlook_attr a = {0};
    for (int i = 0; i < 2; i++) {
        a.kernel[i] = kernel ? kernel[i] : 0;
        a.stride[i] = opts && opts->stride[i] ? opts->stride[i] : 1;
        a.padding[i] = opts ? opts->padding[i] : 0;
    }
    return apply1(cx, &op_outlook, &a, (heed_tensor *const[]){x, weights}, 2);
}
