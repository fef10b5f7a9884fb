/* Views: the same numbers under another shape. Reshape, slice and split share storage whenever runs of equal length,
 * equally far apart, can say where the numbers lie; contiguous copies what can be said in no other way. */
#include "tensor/moves.h"
#include "tensor/ops.h"

/* ---- contiguous: y = x ---- */

static bool contiguous_infer(heed_op_call *c) {
    heed_op_pass(c, 0, 0);
    return heed_op_like(c, 0, 0);
}
static bool contiguous_forward(heed_op_call *c) {
    const heed_tensor *x = c->in[0];
    struct move m = {.size = heed_dtype_size(x->dtype)};
    if (x->count == 0) return true;
    move_axis_of(&m, x, x->count, 1, 1);
    kernel_move(pool_of(c), &m, c->out[0]->data, x->data);
    return true;
}
const heed_op op_contiguous = {
    .name = "contiguous", .infer = contiguous_infer, .forward = contiguous_forward, .flags = HEED_OP_STRIDED};

heed_tensor *heed_contiguous(heed_ctx *cx, heed_tensor *x) {
    if (x && !heed_failed(cx) && is_contiguous(x)) return x;
    return apply1(cx, &op_contiguous, NULL, &x, 1);
}

/* ---- detach: y = x, and no gradient beyond ---- */

static bool detach_infer(heed_op_call *c) {
    const heed_tensor *x = c->in[0];
    return heed_op_view(c, 0, 0, x->rank, x->shape, 0, x->run, x->stride);
}
const heed_op op_detach = {.name = "detach", .infer = detach_infer, .flags = HEED_OP_NONDIFF | HEED_OP_STRIDED};

heed_tensor *heed_detach(heed_ctx *cx, heed_tensor *x) { return apply1(cx, &op_detach, NULL, &x, 1); }

/* ---- reshape ---- the numbers keep their order, so the runs stay what they are */

struct shape_attr {
    int rank;
    int64_t shape[HEED_MAX_RANK];
};

static bool reshape_infer(heed_op_call *c) {
    const struct shape_attr *a = c->attr;
    const heed_tensor *x = c->in[0];
    struct shape_attr to = *a;
    int unknown = -1;
    int64_t known = 1;
    for (int i = 0; i < a->rank; i++) {
        if (a->shape[i] == -1 && unknown < 0)
            unknown = i;
        else if (a->shape[i] < 0 || __builtin_mul_overflow(known, a->shape[i], &known))
            return heed_op_fail(c, HEED_ERR_SHAPE, "%s to a shape with %s", heed_shape_text(x).s,
                                a->shape[i] < 0 ? "more than one unknown or a negative size" : "too many numbers");
    }
    if (unknown >= 0 && known > 0 && x->count % known == 0) to.shape[unknown] = x->count / known, known = x->count;
    if (known != x->count || (unknown >= 0 && to.shape[unknown] < 0))
        return heed_op_fail(c, HEED_ERR_SHAPE, "%s has %lld numbers and cannot become a shape of %lld%s",
                            heed_shape_text(x).s, (long long)x->count, (long long)known,
                            unknown >= 0 ? " times an unknown size" : "");
    heed_op_pass(c, 0, 0);
    return heed_op_view(c, 0, 0, to.rank, to.shape, 0, x->run, x->stride);
}
const heed_op op_reshape = {
    .name = "reshape", .infer = reshape_infer, .flags = HEED_OP_STRIDED, .attr_size = sizeof(struct shape_attr)};

heed_tensor *heed_reshape(heed_ctx *cx, heed_tensor *x, int rank, const int64_t *shape) {
    struct shape_attr a = {.rank = rank};
    if (heed_failed(cx)) return NULL;
    if (rank < 0 || rank > HEED_MAX_RANK || (rank > 0 && !shape)) {
        heed_fail(cx, HEED_ERR_SHAPE, "reshape: rank %d is not between 0 and %d, or the shape is NULL", rank,
                  HEED_MAX_RANK);
        return NULL;
    }
    for (int i = 0; i < rank; i++) a.shape[i] = shape[i];
    return apply1(cx, &op_reshape, &a, &x, 1);
}

/* ---- slice and split: parts of an axis ---- */

struct part_attr {
    int axis;
    int64_t start, length;
};

/* Output j is numbers [start, start + length) of an axis of contiguous x. The gradient of the rest is zero. */
static bool part_view(heed_op_call *c, int j, int axis, int64_t start, int64_t length) {
    const heed_tensor *x = c->in[0];
    int64_t shape[HEED_MAX_RANK], inner = 1;
    for (int i = 0; i < x->rank; i++) shape[i] = x->shape[i];
    for (int i = axis + 1; i < x->rank; i++) inner *= x->shape[i];
    shape[axis] = length;
    return heed_op_view(c, j, 0, x->rank, shape, start * inner, length * inner, x->shape[axis] * inner);
}

/* Parts of an x that is itself strided: possible without a copy when the axis is the last and runs are rows. */
static bool strided_part_view(heed_op_call *c, int j, int64_t start, int64_t length) {
    const heed_tensor *x = c->in[0];
    int64_t shape[HEED_MAX_RANK];
    for (int i = 0; i < x->rank; i++) shape[i] = x->shape[i];
    shape[x->rank - 1] = length;
    return heed_op_view(c, j, 0, x->rank, shape, start, length, x->stride);
}

static bool any_part_view(heed_op_call *c, int j, int axis, int64_t start, int64_t length) {
    return is_contiguous(c->in[0]) ? part_view(c, j, axis, start, length) : strided_part_view(c, j, start, length);
}

static heed_tensor *sliceable(heed_ctx *cx, heed_tensor *x, int axis) {
    if (!x || is_contiguous(x) || (axis_of(axis, x->rank) == x->rank - 1 && x->run == cols_of(x))) return x;
    return heed_contiguous(cx, x);
}

static bool slice_infer(heed_op_call *c) {
    const struct part_attr *a = c->attr;
    const heed_tensor *x = c->in[0];
    const int axis = axis_of(a->axis, x->rank);
    if (axis < 0) return axis_fail(c, a->axis);
    if (a->start < 0 || a->length < 0 || a->start > x->shape[axis] || a->length > x->shape[axis] - a->start)
        return heed_op_fail(c, HEED_ERR_RANGE, "%lld numbers from %lld on do not lie within axis %d of shape %s",
                            (long long)a->length, (long long)a->start, axis, heed_shape_text(x).s);
    return any_part_view(c, 0, axis, a->start, a->length);
}
static bool slice_backward(heed_op_call *c) {
    const struct part_attr *a = c->attr;
    const heed_tensor *x = c->in[0];
    const struct box part = box_along(x, axis_of(a->axis, x->rank), a->start, a->length);
    if (!c->add[0]) box_fill_around(pool_of(c), &part, c->din[0], move_zero);
    box_put(pool_of(c), &part, c->din[0], c->dout[0], NULL, c->add[0]);
    return true;
}
const heed_op op_slice = {.name = "slice",
                          .infer = slice_infer,
                          .backward = slice_backward,
                          .flags = HEED_OP_STRIDED | HEED_OP_ADDS,
                          .attr_size = sizeof(struct part_attr)};

heed_tensor *heed_slice(heed_ctx *cx, heed_tensor *x, int axis, int64_t start, int64_t length) {
    x = sliceable(cx, x, axis);
    return apply1(cx, &op_slice, &(struct part_attr){axis, start, length}, &x, 1);
}

#define MAX_SPLIT 32
struct split_attr {
    int axis, n;
    int64_t sizes[MAX_SPLIT];
};

static bool split_infer(heed_op_call *c) {
    const struct split_attr *a = c->attr;
    const heed_tensor *x = c->in[0];
    const int axis = axis_of(a->axis, x->rank);
    if (axis < 0) return axis_fail(c, a->axis);
    int64_t total = 0;
    for (int j = 0; j < a->n; j++) {
        if (a->sizes[j] < 0 || a->sizes[j] > x->shape[axis] - total)
            return heed_op_fail(c, HEED_ERR_SHAPE, "part %d of size %lld does not fit in axis %d of shape %s", j,
                                (long long)a->sizes[j], axis, heed_shape_text(x).s);
        if (!any_part_view(c, j, axis, total, a->sizes[j])) return false;
        total += a->sizes[j];
    }
    if (total != x->shape[axis])
        return heed_op_fail(c, HEED_ERR_SHAPE, "parts of %lld in all do not fill axis %d of shape %s", (long long)total,
                            axis, heed_shape_text(x).s);
    return true;
}
/* The parts cover x, so every number of dx is written once: nothing to clear first. */
static bool split_backward(heed_op_call *c) {
    const struct split_attr *a = c->attr;
    const heed_tensor *x = c->in[0];
    int64_t start = 0;
    for (int j = 0; j < a->n; start += a->sizes[j++]) {
        const struct box part = box_along(x, axis_of(a->axis, x->rank), start, a->sizes[j]);
        if (c->dout[j])
            box_put(pool_of(c), &part, c->din[0], c->dout[j], NULL, c->add[0]);
        else if (!c->add[0])
            box_fill(pool_of(c), &part, c->din[0], move_zero);
    }
    return true;
}
const heed_op op_split = {.name = "split",
                          .infer = split_infer,
                          .backward = split_backward,
                          .flags = HEED_OP_STRIDED | HEED_OP_ADDS,
                          .attr_size = sizeof(struct split_attr)};

bool heed_split(heed_ctx *cx, heed_tensor *x, int axis, const int64_t *sizes, int n, heed_tensor **out) {
    if (heed_failed(cx)) return false;
    if (!sizes || !out || n < 1 || n > MAX_SPLIT)
        return heed_fail(cx, HEED_ERR_USAGE, "split: from 1 to %d sizes and outputs are needed, not %d", MAX_SPLIT, n);
    struct split_attr a = {.axis = axis, .n = n};
    for (int j = 0; j < n; j++) a.sizes[j] = sizes[j];
    x = sliceable(cx, x, axis);
    return heed_apply(cx, &op_split, &a, &x, 1, out, n);
}
