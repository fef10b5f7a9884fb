/* Convolution of pictures (LeCun et al. 1989), and its transpose: the gradient of a convolution's input.
 *   y[b,o,i] = bias[o] + sum_{c,k} w[o,c,k] x[b,c, i stride - padding + k dilation]      x: 0 outside
 *   dx = transpose(dy),   dw[o,c,k] = sum_{b,i} dy[b,o,i] x[b,c, i stride - padding + k dilation],   dbias = sum dy
 * x (B,C,H,W), w (O,C/G,KH,KW), y (B,O,OH,OW). The transpose goes from y to x: its x is (B,O,H,W). */
#include "kernel/conv.h"
#include "base/checked.h"
#include "kernel/reduce.h"
#include "tensor/engine.h"
#include "tensor/ops.h"

#define MOST ((int64_t)1 << 30) /* of strides, paddings and dilations: no sum of them overflows */

struct conv_attr {
    heed_conv_opts opts;
    bool transposed;
};

static const char *const axis_names[] = {"rows", "columns"};

static bool conv_options(heed_op_call *c) {
    const heed_conv_opts *const o = &((const struct conv_attr *)c->attr)->opts;
    for (int i = 0; i < 2; i++) {
        if (o->stride[i] < 1 || o->stride[i] > MOST || o->dilation[i] < 1 || o->dilation[i] > MOST)
            return heed_op_fail(c, HEED_ERR_RANGE, "a stride of %lld and a dilation of %lld along %s: at least 1 each",
                                (long long)o->stride[i], (long long)o->dilation[i], axis_names[i]);
        if (o->padding[i] < 0 || o->padding[i] > MOST || o->more[i] > MOST || o->padding[i] + o->more[i] < 0)
            return heed_op_fail(c, HEED_ERR_RANGE, "a padding of %lld and %lld more behind along %s: negative",
                                (long long)o->padding[i], (long long)o->more[i], axis_names[i]);
        if (o->output_padding[i] < 0 || (o->output_padding[i] > 0 && o->output_padding[i] >= o->stride[i] &&
                                         o->output_padding[i] >= o->dilation[i]))
            return heed_op_fail(c, HEED_ERR_RANGE,
                                "an output padding of %lld along %s: at least 0, and below the stride or the dilation",
                                (long long)o->output_padding[i], axis_names[i]);
    }
    if (o->groups < 1) return heed_op_fail(c, HEED_ERR_RANGE, "%lld groups", (long long)o->groups);
    return true;
}

/* The convolution that an op is, or whose transpose it is. */
static struct conv conv_of(const heed_op_call *c) {
    const struct conv_attr *const a = c->attr;
    const heed_tensor *const x = a->transposed ? c->out[0] : c->in[0], *const y = a->transposed ? c->in[0] : c->out[0];
    const heed_tensor *const w = c->in[1];
    struct conv v = {.batch = x->shape[0], .groups = a->opts.groups, .ins = x->shape[1], .outs = y->shape[1]};
    for (int i = 0; i < 2; i++) {
        v.in[i] = x->shape[2 + i];
        v.out[i] = y->shape[2 + i];
        v.kernel[i] = w->shape[2 + i];
        v.stride[i] = a->opts.stride[i];
        v.padding[i] = a->opts.padding[i];
        v.dilation[i] = a->opts.dilation[i];
    }
    return v;
}

/* Places along an axis; false when there are none, or too many. */
static bool conv_places(heed_op_call *c, int i, int64_t *places) {
    const struct conv_attr *const a = c->attr;
    const heed_conv_opts *const o = &a->opts;
    const int64_t in = c->in[0]->shape[2 + i], kernel = c->in[1]->shape[2 + i];
    const int64_t padding = 2 * o->padding[i] + o->more[i];
    int64_t span = 0;
    if (kernel < 1 || !i64_mul(kernel - 1, o->dilation[i], &span))
        return heed_op_fail(c, HEED_ERR_SHAPE, "a kernel of %lld %s", (long long)kernel, axis_names[i]);
    if (!a->transposed) {
        if (!i64_add(in, padding - span - 1, places) || *places < 0)
            return heed_op_fail(c, HEED_ERR_SHAPE,
                                "x of shape %s with a padding of %lld has %lld %s, fewer than the %lld of the kernel",
                                heed_shape_text(c->in[0]).s, (long long)padding, (long long)(in + padding),
                                axis_names[i], (long long)(span + 1));
        *places = *places / o->stride[i] + 1;
        return true;
    }
    if (!i64_mul(in - 1, o->stride[i], places) ||
        !i64_add(*places, span + 1 - padding + o->output_padding[i], places) || in < 1 || *places < 1)
        return heed_op_fail(c, HEED_ERR_SHAPE, "x of shape %s gives no %s with a padding of %lld",
                            heed_shape_text(c->in[0]).s, axis_names[i], (long long)padding);
    return true;
}

static bool conv_infer(heed_op_call *c) {
    const struct conv_attr *const a = c->attr;
    const heed_tensor *const x = c->in[0], *const w = c->in[1], *const b = c->in[2];
    const int64_t groups = a->opts.groups;
    for (int i = 0; i < 3; i++)
        if (c->in[i] && !heed_op_want(c, i, HEED_F32)) return false;
    if (!conv_options(c)) return false;
    if (x->rank != 4 || w->rank != 4 || x->shape[1] != w->shape[a->transposed ? 0 : 1] * (a->transposed ? 1 : groups) ||
        w->shape[0] % groups != 0)
        return heed_op_fail(
            c, HEED_ERR_SHAPE,
            "x of shape %s does not fit a weight of shape %s in %lld group%s: (B,%s,H,W) and (%s,KH,KW)",
            heed_shape_text(x).s, heed_shape_text(w).s, (long long)groups, groups == 1 ? "" : "s", "C",
            a->transposed ? "C,O/groups" : "O,C/groups");
    int64_t shape[4] = {x->shape[0], a->transposed ? w->shape[1] * groups : w->shape[0]};
    if (b && (b->rank != 1 || b->shape[0] != shape[1]))
        return heed_op_fail(c, HEED_ERR_SHAPE, "a bias of shape %s does not fit a weight of shape %s",
                            heed_shape_text(b).s, heed_shape_text(w).s);
    for (int i = 0; i < 2; i++)
        if (!conv_places(c, i, &shape[2 + i])) return false;
    if (!heed_op_out(c, 0, HEED_F32, 4, shape)) return false;
    c->save_in = (c->wants[1] ? 1u : 0) | (c->wants[0] ? 2u : 0);
    const size_t turned = (size_t)w->count * sizeof(float);
    if (a->transposed) {
        c->work_forward = turned;
        return true;
    }
    const struct conv v = conv_of(c);
    const int64_t filtered = kernel_winograd_work(&v);
    struct conv back;
    int64_t weight;
    if (filtered > 0) c->work_forward = (size_t)(filtered + 2 * v.outs) * sizeof(float);
    if (!c->wants[0]) return true;
    c->work_backward = turned;
    if (kernel_conv_turned(&v, &back, &weight))
        c->work_backward = (size_t)(kernel_winograd_work(&back) + weight + 2 * v.ins) * sizeof(float);
    return true;
}

/* By Winograd's algorithm: y = conv(x) + bias + more. work: first 2 outs floats. */
static void filter(struct pool *pool, const struct conv *v, float *y, const float *x, const float *w, const float *bias,
                   const float *more, float *work) {
    float *const scale = work, *const shift = work + v->outs;
    for (int64_t o = 0; o < v->outs; o++) scale[o] = 1, shift[o] = bias ? bias[o] : 0;
    kernel_winograd(pool, v, y, x, w, &(struct conv_finish){scale, shift, more, ACT_NONE}, shift + v->outs);
}

static bool conv_forward(heed_op_call *c) {
    const struct conv_attr *const a = c->attr;
    const struct conv v = conv_of(c);
    const float *const x = f32_of(c->in[0]), *const w = f32_of(c->in[1]), *const b = c->in[2] ? f32_of(c->in[2]) : NULL;
    if (a->transposed)
        kernel_conv_input(pool_of(c), &v, heed_op_f32(c, 0), false, x, w, b, c->work);
    else if (kernel_winograd_work(&v) > 0)
        filter(pool_of(c), &v, heed_op_f32(c, 0), x, w, b, NULL, c->work);
    else
        kernel_conv(pool_of(c), &v, heed_op_f32(c, 0), false, x, w, b);
    return true;
}

static bool conv_backward(heed_op_call *c) {
    const struct conv_attr *const a = c->attr;
    const struct conv v = conv_of(c);
    const heed_tensor *const y = c->out[0];
    const float *const dy = c->dout[0];
    struct conv back;
    int64_t weight;
    if (c->din[0] && !a->transposed && kernel_conv_turned(&v, &back, &weight)) {
        kernel_turn_weights(pool_of(c), &v, c->work, f32_of(c->in[1]));
        filter(pool_of(c), &back, c->din[0], dy, c->work, NULL, c->add[0] ? c->din[0] : NULL,
               (float *)c->work + weight);
    } else if (c->din[0] && a->transposed)
        kernel_conv(pool_of(c), &v, c->din[0], c->add[0], dy, f32_of(c->in[1]), NULL);
    else if (c->din[0])
        kernel_conv_input(pool_of(c), &v, c->din[0], c->add[0], dy, f32_of(c->in[1]), NULL, c->work);
    if (c->din[1] && a->transposed)
        kernel_conv_weight(pool_of(c), &v, c->din[1], c->add[1], dy, f32_of(c->in[0]));
    else if (c->din[1])
        kernel_conv_weight(pool_of(c), &v, c->din[1], c->add[1], f32_of(c->in[0]), dy);
    if (c->din[2])
        kernel_reduce_to(pool_of(c), c->din[2], (struct bcast_operand){2, (int64_t[]){y->shape[1], 1}}, dy,
                         (struct bcast_operand){3, (int64_t[]){y->shape[0], y->shape[1], y->shape[2] * y->shape[3]}},
                         c->add[2]);
    return true;
}

/* ---- with a batch norm and an activation behind it, of models that are only run ----
 *   y = act(gamma (conv(x) - mean) / sqrt(variance + eps) + beta + more)
 * Inputs: x, weight, bias, gamma, beta, mean, variance, more; there is no backward. */
struct conv_norm_attr {
    struct conv_attr conv; /* first: conv_infer reads it */
    float eps;
    enum activation act;
};
enum { BIAS = 2, GAMMA, BETA, MEAN, VARIANCE, MORE, CONV_NORM_INPUTS };

static bool conv_norm_infer(heed_op_call *c) {
    if (!conv_infer(c)) return false;
    for (int i = GAMMA; i < MORE; i++)
        if (c->in[i] && (!heed_op_want(c, i, HEED_F32) || c->in[i]->count != c->out[0]->shape[1]))
            return heed_op_fail(c, HEED_ERR_SHAPE, "a norm of %s does not fit %lld channels",
                                heed_shape_text(c->in[i]).s, (long long)c->out[0]->shape[1]);
    if (c->in[MORE] && (!heed_op_want(c, MORE, HEED_F32) || !same_shape(c->in[MORE], c->out[0])))
        return heed_op_fail(c, HEED_ERR_SHAPE, "%s is added to %s", heed_shape_text(c->in[MORE]).s,
                            heed_shape_text(c->out[0]).s);
    c->label = "conv2d, norm";
    const struct conv v = conv_of(c);
    c->work_forward = (size_t)(2 * v.outs + kernel_finish_work(&v)) * sizeof(float);
    return true;
}

static bool conv_norm_forward(heed_op_call *c) {
    const struct conv_norm_attr *const a = c->attr;
    const struct conv v = conv_of(c);
    const float *in[CONV_NORM_INPUTS];
    for (int i = 0; i < CONV_NORM_INPUTS; i++) in[i] = c->in[i] ? f32_of(c->in[i]) : NULL;
    float *const scale = c->work, *const shift = scale + v.outs;
    norm_fold(v.outs, in + BIAS, a->eps, scale, shift);
    const struct conv_finish finish = {scale, shift, in[MORE], a->act};
    kernel_conv_finish(pool_of(c), &v, heed_op_f32(c, 0), in[0], in[1], &finish, shift + v.outs);
    return true;
}

static const heed_op op_conv_norm = {.name = "conv2d",
                                     .infer = conv_norm_infer,
                                     .forward = conv_norm_forward,
                                     .flags = HEED_OP_NONDIFF,
                                     .optional = 1u << BIAS | 1u << GAMMA | 1u << BETA | 1u << MORE,
                                     .attr_size = sizeof(struct conv_norm_attr)};

#define CONV_OP(name_)                                                                                                 \
    const heed_op op_##name_ = {.name = #name_,                                                                        \
                                .infer = conv_infer,                                                                   \
                                .forward = conv_forward,                                                               \
                                .backward = conv_backward,                                                             \
                                .flags = HEED_OP_ADDS,                                                                 \
                                .optional = 4,                                                                         \
                                .attr_size = sizeof(struct conv_attr)};
CONV_OP(conv2d)
CONV_OP(conv_transpose2d)

/* Sizes left out are 1. */
static heed_conv_opts complete(const heed_conv_opts *opts) {
    heed_conv_opts o = opts ? *opts : (heed_conv_opts){0};
    for (int i = 0; i < 2; i++) {
        if (o.stride[i] == 0) o.stride[i] = 1;
        if (o.dilation[i] == 0) o.dilation[i] = 1;
    }
    if (o.groups == 0) o.groups = 1;
    return o;
}

static heed_tensor *conv(heed_ctx *cx, const heed_op *op, heed_tensor *x, heed_tensor *weight, heed_tensor *bias,
                         const heed_conv_opts *opts) {
    const struct conv_attr a = {complete(opts), op == &op_conv_transpose2d};
    return apply1(cx, op, &a, (heed_tensor *[]){x, weight, bias}, 3);
}

heed_tensor *op_conv_normed(heed_ctx *cx, heed_tensor *x, const struct normed *n) {
    if (heed_failed(cx)) return NULL;
    if ((int)n->act < 0 || (int)n->act >= ACT_COUNT) {
        heed_fail(cx, HEED_ERR_USAGE, "conv2d: %d is not an activation", (int)n->act);
        return NULL;
    }
    const struct conv_norm_attr a = {{complete(n->opts), false}, n->eps, (enum activation)n->act};
    return apply1(cx, &op_conv_norm, &a,
                  (heed_tensor *[]){x, n->weight, n->bias, n->gamma, n->beta, n->mean, n->variance, n->more},
                  CONV_NORM_INPUTS);
}

heed_tensor *heed_conv2d(heed_ctx *cx, heed_tensor *x, heed_tensor *weight, heed_tensor *bias,
                         const heed_conv_opts *opts) {
    return conv(cx, &op_conv2d, x, weight, bias, opts);
}
heed_tensor *heed_conv_transpose2d(heed_ctx *cx, heed_tensor *x, heed_tensor *weight, heed_tensor *bias,
                                   const heed_conv_opts *opts) {
    return conv(cx, &op_conv_transpose2d, x, weight, bias, opts);
}

/* ---- sequences: pictures of one row ---- */

static heed_tensor *one_row(heed_ctx *cx, heed_tensor *t) { /* (a,b,n) -> (a,b,1,n) */
    return heed_reshape(cx, t, 4, (int64_t[]){t->shape[0], t->shape[1], 1, t->shape[2]});
}

static heed_tensor *conv_row(heed_ctx *cx, const char *name, const heed_op *op, heed_tensor *x, heed_tensor *weight,
                             heed_tensor *bias, const heed_conv_opts *opts) {
    if (heed_failed(cx) || !x || !weight) return NULL;
    if (x->rank != 3 || weight->rank != 3) {
        heed_fail(cx, HEED_ERR_SHAPE, "%s: x of shape %s and a weight of shape %s: (B,C,T) and (%s,K) are needed", name,
                  heed_shape_text(x).s, heed_shape_text(weight).s, op == &op_conv2d ? "O,C/groups" : "C,O/groups");
        return NULL;
    }
    heed_conv_opts o = complete(opts);
    o = (heed_conv_opts){.stride = {1, o.stride[0]},
                         .padding = {0, o.padding[0]},
                         .more = {0, o.more[0]},
                         .dilation = {1, o.dilation[0]},
                         .output_padding = {0, o.output_padding[0]},
                         .groups = o.groups};
    heed_tensor *const y = conv(cx, op, one_row(cx, x), one_row(cx, weight), bias, &o);
    return y ? heed_reshape(cx, y, 3, (int64_t[]){y->shape[0], y->shape[1], y->shape[3]}) : NULL;
}

heed_tensor *heed_conv1d(heed_ctx *cx, heed_tensor *x, heed_tensor *weight, heed_tensor *bias,
                         const heed_conv_opts *opts) {
    return conv_row(cx, "conv1d", &op_conv2d, x, weight, bias, opts);
}
heed_tensor *heed_conv_transpose1d(heed_ctx *cx, heed_tensor *x, heed_tensor *weight, heed_tensor *bias,
                                   const heed_conv_opts *opts) {
    return conv_row(cx, "conv_transpose1d", &op_conv_transpose2d, x, weight, bias, opts);
}
