/* Reductions over any axes, and what goes along one: cumulative sum, arg-max, top-k. The formulas are in
 * kernel/reduce.h. */
#include "kernel/reduce.h"
#include "tensor/engine.h"
#include "tensor/ops.h"

struct reduce_attr {
    enum reduction kind;
    int n; /* -1: all axes */
    int axes[HEED_MAX_RANK];
    bool keep;
    int correction;
    float p;
};

static struct reduce plan(const heed_op_call *c) {
    const struct reduce_attr *a = c->attr;
    const heed_tensor *x = c->in[0];
    struct reduce r = {.kind = a->kind, .rank = x->rank, .correction = a->correction, .p = a->p};
    for (int i = 0; i < x->rank; i++) {
        r.shape[i] = x->shape[i];
        if (a->n < 0) r.axes |= 1u << i;
    }
    for (int k = 0; k < a->n; k++) r.axes |= 1u << axis_of(a->axes[k], x->rank);
    return r;
}

static bool reduce_axes_ok(heed_op_call *c) {
    const struct reduce_attr *a = c->attr;
    const heed_tensor *x = c->in[0];
    uint32_t seen = 0;
    for (int k = 0; k < a->n; k++) {
        const int axis = axis_of(a->axes[k], x->rank);
        if (axis < 0) return axis_fail(c, a->axes[k]);
        if (seen >> axis & 1) return heed_op_fail(c, HEED_ERR_SHAPE, "axis %d is named twice", a->axes[k]);
        seen |= 1u << axis;
    }
    return true;
}

static bool reduce_infer(heed_op_call *c) {
    const struct reduce_attr *a = c->attr;
    const heed_tensor *x = c->in[0];
    if (!heed_op_want(c, 0, HEED_F32) || !reduce_axes_ok(c)) return false;
    if (a->kind == REDUCE_NORM && !(a->p > 0))
        return heed_op_fail(c, HEED_ERR_RANGE, "p = %g is not above 0", (double)a->p);
    if (a->kind == REDUCE_VAR && a->correction != 0 && a->correction != 1)
        return heed_op_fail(c, HEED_ERR_RANGE, "a correction of %d is neither 0 nor 1", a->correction);
    const struct reduce r = plan(c);
    int64_t shape[HEED_MAX_RANK];
    int rank = 0;
    bool nothing = false;
    for (int i = 0; i < x->rank; i++) {
        const bool gone = r.axes >> i & 1;
        nothing |= gone && x->shape[i] == 0;
        if (!gone)
            shape[rank++] = x->shape[i];
        else if (a->keep)
            shape[rank++] = 1;
    }
    if (nothing && (a->kind == REDUCE_MAX || a->kind == REDUCE_MIN) && kernel_reduce_outputs(&r) > 0)
        return heed_op_fail(c, HEED_ERR_SHAPE, "shape %s has nothing to choose from", heed_shape_text(x).s);
    if (!heed_op_out(c, 0, HEED_F32, rank, shape)) return false;
    const size_t results = (size_t)c->out[0]->count * sizeof(float);
    const bool reads = a->kind != REDUCE_SUM && a->kind != REDUCE_MEAN;
    c->save_in = reads;
    c->save_out = reads && a->kind != REDUCE_VAR;
    if (a->kind == REDUCE_VAR) c->state_size = results; /* the means */
    if (kernel_reduce_needs_work(&r)) c->work_backward = results;
    return true;
}
static bool reduce_forward(heed_op_call *c) {
    const struct reduce r = plan(c);
    kernel_reduce(pool_of(c), &r, heed_op_f32(c, 0), c->state, f32_of(c->in[0]));
    return true;
}
static bool reduce_backward(heed_op_call *c) {
    const struct reduce r = plan(c);
    const float *y = r.kind == REDUCE_VAR ? c->state : f32_of(c->out[0]);
    kernel_reduce_grad(pool_of(c), &r, c->din[0], c->dout[0], f32_of(c->in[0]), y, c->work, c->add[0]);
    return true;
}

#define REDUCE_OP(name_)                                                                                               \
    const heed_op op_##name_ = {.name = #name_,                                                                        \
                                .infer = reduce_infer,                                                                 \
                                .forward = reduce_forward,                                                             \
                                .backward = reduce_backward,                                                           \
                                .flags = HEED_OP_ADDS,                                                                 \
                                .attr_size = sizeof(struct reduce_attr)};

static heed_tensor *reduce(heed_ctx *cx, const heed_op *op, heed_tensor *x, struct reduce_attr a, const int *axes,
                           int n) {
    if (heed_failed(cx)) return NULL;
    if (axes && (n < 0 || n > HEED_MAX_RANK)) {
        heed_fail(cx, HEED_ERR_SHAPE, "%s: %d axes are not between 0 and %d", op->name, n, HEED_MAX_RANK);
        return NULL;
    }
    a.n = axes ? n : -1;
    for (int k = 0; k < a.n; k++) a.axes[k] = axes[k];
    return apply1(cx, op, &a, &x, 1);
}

#define REDUCE(name, kind_)                                                                                            \
    REDUCE_OP(name)                                                                                                    \
    heed_tensor *heed_##name(heed_ctx *cx, heed_tensor *x, const int *axes, int n, bool keep) {                        \
        return reduce(cx, &op_##name, x, (struct reduce_attr){.kind = kind_, .keep = keep}, axes, n);                  \
    }

REDUCE(sum, REDUCE_SUM)
REDUCE(mean, REDUCE_MEAN)
REDUCE(max, REDUCE_MAX)
REDUCE(min, REDUCE_MIN)
REDUCE(logsumexp, REDUCE_LOGSUMEXP)

REDUCE_OP(variance)
REDUCE_OP(norm)

heed_tensor *heed_variance(heed_ctx *cx, heed_tensor *x, const int *axes, int n, bool keep, int correction) {
    const struct reduce_attr a = {.kind = REDUCE_VAR, .keep = keep, .correction = correction};
    return reduce(cx, &op_variance, x, a, axes, n);
}
heed_tensor *heed_norm(heed_ctx *cx, heed_tensor *x, float p, const int *axes, int n, bool keep) {
    return reduce(cx, &op_norm, x, (struct reduce_attr){.kind = REDUCE_NORM, .keep = keep, .p = p}, axes, n);
}

/* ---- along one axis: x seen as (outer, n, inner) ---- */

struct along_attr {
    int axis;
    bool keep, smallest;
};

static bool along(heed_op_call *c, int64_t *outer, int64_t *n, int64_t *inner) {
    const heed_tensor *x = c->in[0];
    const int named = ((const struct along_attr *)c->attr)->axis;
    const int axis = axis_of(named, x->rank);
    *outer = *n = *inner = 1;
    if (x->rank == 0 && (named == 0 || named == -1)) return true;
    if (axis < 0) return axis_fail(c, named);
    for (int i = 0; i < axis; i++) *outer *= x->shape[i];
    *n = x->shape[axis];
    for (int i = axis + 1; i < x->rank; i++) *inner *= x->shape[i];
    return true;
}

static bool cumsum_infer(heed_op_call *c) {
    int64_t outer, n, inner;
    return heed_op_want(c, 0, HEED_F32) && along(c, &outer, &n, &inner) && heed_op_like(c, 0, 0);
}
static bool cumsum_forward(heed_op_call *c) {
    int64_t outer, n, inner;
    along(c, &outer, &n, &inner);
    kernel_cumsum(pool_of(c), heed_op_f32(c, 0), f32_of(c->in[0]), outer, n, inner, false, false);
    return true;
}
static bool cumsum_backward(heed_op_call *c) {
    int64_t outer, n, inner;
    along(c, &outer, &n, &inner);
    kernel_cumsum(pool_of(c), c->din[0], c->dout[0], outer, n, inner, true, c->add[0]);
    return true;
}
const heed_op op_cumsum = {.name = "cumsum",
                           .infer = cumsum_infer,
                           .forward = cumsum_forward,
                           .backward = cumsum_backward,
                           .flags = HEED_OP_ADDS,
                           .attr_size = sizeof(struct along_attr)};

heed_tensor *heed_cumsum(heed_ctx *cx, heed_tensor *x, int axis) {
    return apply1(cx, &op_cumsum, &(struct along_attr){.axis = axis}, &x, 1);
}

static bool argmax_infer(heed_op_call *c) {
    const struct along_attr *a = c->attr;
    const heed_tensor *x = c->in[0];
    int64_t outer, n, inner, shape[HEED_MAX_RANK];
    if (!heed_op_want(c, 0, HEED_F32) || !along(c, &outer, &n, &inner)) return false;
    if ((n == 0 && outer * inner > 0) || n > INT32_MAX)
        return heed_op_fail(c, HEED_ERR_SHAPE, "an axis of %lld numbers has no index among i32", (long long)n);
    int rank = 0;
    for (int i = 0; i < x->rank; i++) {
        if (i != axis_of(a->axis, x->rank))
            shape[rank++] = x->shape[i];
        else if (a->keep)
            shape[rank++] = 1;
    }
    return heed_op_out(c, 0, HEED_I32, rank, shape);
}
static bool argmax_forward(heed_op_call *c) {
    int64_t outer, n, inner;
    along(c, &outer, &n, &inner);
    const bool smallest = ((const struct along_attr *)c->attr)->smallest;
    kernel_argmax(pool_of(c), heed_op_i32(c, 0), f32_of(c->in[0]), outer, n, inner, smallest);
    return true;
}
const heed_op op_argmax = {.name = "argmax",
                           .infer = argmax_infer,
                           .forward = argmax_forward,
                           .flags = HEED_OP_NONDIFF,
                           .attr_size = sizeof(struct along_attr)};
const heed_op op_argmin = {.name = "argmin",
                           .infer = argmax_infer,
                           .forward = argmax_forward,
                           .flags = HEED_OP_NONDIFF,
                           .attr_size = sizeof(struct along_attr)};

heed_tensor *heed_argmax(heed_ctx *cx, heed_tensor *x, int axis, bool keep) {
    return apply1(cx, &op_argmax, &(struct along_attr){axis, keep, false}, &x, 1);
}
heed_tensor *heed_argmin(heed_ctx *cx, heed_tensor *x, int axis, bool keep) {
    return apply1(cx, &op_argmin, &(struct along_attr){axis, keep, true}, &x, 1);
}

struct topk_attr {
    int64_t k;
};

static bool topk_infer(heed_op_call *c) {
    const heed_tensor *x = c->in[0];
    const int64_t k = ((const struct topk_attr *)c->attr)->k;
    int64_t shape[HEED_MAX_RANK] = {0};
    if (!heed_op_want(c, 0, HEED_F32)) return false;
    if (k < 0 || k > cols_of(x) || cols_of(x) > INT32_MAX)
        return heed_op_fail(c, HEED_ERR_RANGE, "k = %lld of the last axis of shape %s", (long long)k,
                            heed_shape_text(x).s);
    for (int i = 0; i < x->rank; i++) shape[i] = x->shape[i];
    if (x->rank) shape[x->rank - 1] = k;
    return heed_op_out(c, 0, HEED_F32, x->rank, shape) && heed_op_out(c, 1, HEED_I32, x->rank, shape);
}
static bool topk_forward(heed_op_call *c) {
    const heed_tensor *x = c->in[0];
    const int64_t k = ((const struct topk_attr *)c->attr)->k;
    kernel_topk(pool_of(c), heed_op_f32(c, 0), heed_op_i32(c, 1), f32_of(x), rows_of(x), cols_of(x), k);
    return true;
}
const heed_op op_topk = {.name = "topk",
                         .infer = topk_infer,
                         .forward = topk_forward,
                         .flags = HEED_OP_NONDIFF,
                         .attr_size = sizeof(struct topk_attr)};

bool heed_topk(heed_ctx *cx, heed_tensor *x, int64_t k, heed_tensor **values, heed_tensor **indices) {
    heed_tensor *out[2];
    const bool ok = heed_apply(cx, &op_topk, &(struct topk_attr){k}, &x, 1, out, 2);
    if (values) *values = out[0];
    if (indices) *indices = out[1];
    return ok;
}
