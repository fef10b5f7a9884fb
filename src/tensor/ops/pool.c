/* Pooling of pictures: the largest, or the average, of each window.   x (B,C,H,W), y (B,C,OH,OW)
 *   max: the gradient goes to the first of the largest;   average: it is shared among the window's places
 * Adaptive windows share out the input: output i takes places i H / OH, rounded down, to (i + 1) H / OH, rounded up. */
#include "kernel/planes.h"
#include "tensor/engine.h"
#include "tensor/ops.h"

struct pool_attr {
    heed_pool_opts opts;
    int64_t out[2]; /* of adaptive ones */
    bool adaptive, max;
};

#define MOST ((int64_t)1 << 30) /* of windows, strides and dilations: no sum of them overflows */

static struct pooling pooling_of(const heed_op_call *c, const int64_t out[2]) {
    const struct pool_attr *const a = c->attr;
    const heed_tensor *const x = c->in[0];
    struct pooling p = {.planes = x->shape[0] * x->shape[1], .count_pad = !a->opts.exclude_padding};
    for (int i = 0; i < 2; i++)
        *(i ? &p.x : &p.y) = (struct window_axis){.in = x->shape[2 + i],
                                                  .out = out[i],
                                                  .adaptive = a->adaptive,
                                                  .size = a->opts.kernel[i],
                                                  .stride = a->opts.stride[i],
                                                  .padding = a->opts.padding[i],
                                                  .dilation = a->opts.dilation[i]};
    return p;
}

/* Windows along an axis. */
static bool windows(heed_op_call *c, int i, int64_t *out) {
    const struct pool_attr *const a = c->attr;
    const int64_t in = c->in[0]->shape[2 + i], k = a->opts.kernel[i], s = a->opts.stride[i], p = a->opts.padding[i],
                  d = a->opts.dilation[i];
    if (a->adaptive) {
        *out = a->out[i];
        if (*out < 1 || in < 1 || *out > MOST)
            return heed_op_fail(c, HEED_ERR_SHAPE, "x of shape %s into (%lld,%lld)", heed_shape_text(c->in[0]).s,
                                (long long)a->out[0], (long long)a->out[1]);
        return true;
    }
    if (k < 1 || k > MOST || s < 1 || s > MOST || d < 1 || d > MOST || p < 0 || p > ((k - 1) * d + 1) / 2)
        return heed_op_fail(
            c, HEED_ERR_RANGE,
            "a window of %lld places, stride %lld, dilation %lld, padding %lld: at least 1 each, and no "
            "more padding than half a window",
            (long long)k, (long long)s, (long long)d, (long long)p);
    /* With ceil_mode a window may reach beyond the end, also the only one. */
    const int64_t rest = in + 2 * p - d * (k - 1) - 1 + (a->opts.ceil_mode ? s - 1 : 0);
    if (rest < 0 || in < 1)
        return heed_op_fail(c, HEED_ERR_SHAPE, "x of shape %s with a padding of %lld is smaller than a window of %lld",
                            heed_shape_text(c->in[0]).s, (long long)p, (long long)(d * (k - 1) + 1));
    *out = rest / s + 1;
    if (a->opts.ceil_mode && (*out - 1) * s >= in + p) --*out; /* windows begin inside, or in the padding before */
    return true;
}

static bool pool_infer(heed_op_call *c) {
    const struct pool_attr *const a = c->attr;
    const heed_tensor *const x = c->in[0];
    if (!heed_op_want(c, 0, HEED_F32)) return false;
    if (x->rank != 4 || x->shape[2] > INT32_MAX / (x->shape[3] > 0 ? x->shape[3] : 1))
        return heed_op_fail(c, HEED_ERR_SHAPE, "x of shape %s is not (B,C,H,W)", heed_shape_text(x).s);
    int64_t shape[4] = {x->shape[0], x->shape[1]};
    for (int i = 0; i < 2; i++)
        if (!windows(c, i, &shape[2 + i])) return false;
    if (!heed_op_out(c, 0, HEED_F32, 4, shape)) return false;
    c->state_size = a->max && c->recording ? (size_t)c->out[0]->count * sizeof(int32_t) : 0;
    return true;
}

static bool pool_forward(heed_op_call *c) {
    const struct pool_attr *const a = c->attr;
    const struct pooling p = pooling_of(c, c->out[0]->shape + 2);
    if (a->max)
        kernel_max_pool(pool_of(c), &p, heed_op_f32(c, 0), c->state, f32_of(c->in[0]));
    else
        kernel_avg_pool(pool_of(c), &p, heed_op_f32(c, 0), f32_of(c->in[0]));
    return true;
}

static bool pool_backward(heed_op_call *c) {
    const struct pool_attr *const a = c->attr;
    const struct pooling p = pooling_of(c, c->out[0]->shape + 2);
    if (a->max)
        kernel_max_pool_grad(pool_of(c), &p, c->din[0], c->add[0], c->dout[0], c->state);
    else
        kernel_avg_pool_grad(pool_of(c), &p, c->din[0], c->add[0], c->dout[0]);
    return true;
}

#define POOL_OP(name_)                                                                                                 \
    const heed_op op_##name_ = {.name = #name_,                                                                        \
                                .infer = pool_infer,                                                                   \
                                .forward = pool_forward,                                                               \
                                .backward = pool_backward,                                                             \
                                .flags = HEED_OP_ADDS,                                                                 \
                                .attr_size = sizeof(struct pool_attr)};
POOL_OP(max_pool2d)
POOL_OP(avg_pool2d)
POOL_OP(adaptive_max_pool2d)
POOL_OP(adaptive_avg_pool2d)

/* What is left out: a stride of the window's size, a dilation of 1. */
static struct pool_attr windowed(const heed_pool_opts *opts, bool max) {
    struct pool_attr a = {.max = max};
    if (opts) a.opts = *opts;
    for (int i = 0; i < 2; i++) {
        if (a.opts.stride[i] == 0) a.opts.stride[i] = a.opts.kernel[i];
        if (a.opts.dilation[i] == 0 || !max) a.opts.dilation[i] = 1;
    }
    return a;
}

static heed_tensor *pool2d(heed_ctx *cx, const struct pool_attr *a, heed_tensor *x) {
    const heed_op *const op = a->adaptive ? a->max ? &op_adaptive_max_pool2d : &op_adaptive_avg_pool2d
                              : a->max    ? &op_max_pool2d
                                          : &op_avg_pool2d;
    return apply1(cx, op, a, &x, 1);
}

heed_tensor *heed_max_pool2d(heed_ctx *cx, heed_tensor *x, const heed_pool_opts *opts) {
    const struct pool_attr a = windowed(opts, true);
    return pool2d(cx, &a, x);
}
heed_tensor *heed_avg_pool2d(heed_ctx *cx, heed_tensor *x, const heed_pool_opts *opts) {
    const struct pool_attr a = windowed(opts, false);
    return pool2d(cx, &a, x);
}
heed_tensor *heed_adaptive_max_pool2d(heed_ctx *cx, heed_tensor *x, int64_t rows, int64_t columns) {
    return pool2d(cx, &(struct pool_attr){.out = {rows, columns}, .adaptive = true, .max = true}, x);
}
heed_tensor *heed_adaptive_avg_pool2d(heed_ctx *cx, heed_tensor *x, int64_t rows, int64_t columns) {
    return pool2d(cx, &(struct pool_attr){.out = {rows, columns}, .adaptive = true}, x);
}

/* ---- sequences: pictures of one row ---- */

static heed_tensor *pool1d(heed_ctx *cx, const char *name, struct pool_attr a, heed_tensor *x) {
    if (heed_failed(cx) || !x) return NULL;
    if (x->rank != 3) {
        heed_fail(cx, HEED_ERR_SHAPE, "%s: x of shape %s is not (B,C,T)", name, heed_shape_text(x).s);
        return NULL;
    }
    const heed_pool_opts o = a.opts;
    a.opts.kernel[0] = a.opts.stride[0] = a.opts.dilation[0] = 1;
    a.opts.padding[0] = 0;
    a.opts.kernel[1] = o.kernel[0], a.opts.stride[1] = o.stride[0], a.opts.dilation[1] = o.dilation[0];
    a.opts.padding[1] = o.padding[0];
    heed_tensor *const y =
        pool2d(cx, &a, heed_reshape(cx, x, 4, (int64_t[]){x->shape[0], x->shape[1], 1, x->shape[2]}));
    return y ? heed_reshape(cx, y, 3, (int64_t[]){y->shape[0], y->shape[1], y->shape[3]}) : NULL;
}

heed_tensor *heed_max_pool1d(heed_ctx *cx, heed_tensor *x, const heed_pool_opts *opts) {
    return pool1d(cx, "max_pool1d", windowed(opts, true), x);
}
heed_tensor *heed_avg_pool1d(heed_ctx *cx, heed_tensor *x, const heed_pool_opts *opts) {
    return pool1d(cx, "avg_pool1d", windowed(opts, false), x);
}
heed_tensor *heed_adaptive_max_pool1d(heed_ctx *cx, heed_tensor *x, int64_t places) {
    return pool1d(cx, "adaptive_max_pool1d", (struct pool_attr){.out = {1, places}, .adaptive = true, .max = true}, x);
}
heed_tensor *heed_adaptive_avg_pool1d(heed_ctx *cx, heed_tensor *x, int64_t places) {
    return pool1d(cx, "adaptive_avg_pool1d", (struct pool_attr){.out = {1, places}, .adaptive = true}, x);
}
