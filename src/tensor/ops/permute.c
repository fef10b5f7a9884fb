/* Ops that set the numbers in another order, or repeat them: permute, transpose, expand, roll, flip. Any type. */
#include "kernel/reduce.h"
#include "tensor/moves.h"
#include "tensor/ops.h"

/* As axis_of; a scalar has an axis 0 here, as in PyTorch. */
static int axis_or_scalar(int axis, int rank) { return axis_of(axis, rank > 0 ? rank : 1); }

/* ---- permute and transpose ---- axis i of y is axis order[i] of x;   dx: dy in the inverse order */

struct permute_attr {
    int axes[HEED_MAX_RANK]; /* of permute: the order; of transpose: the two that change places */
};

static bool transpose_order(heed_op_call *c, int *order) {
    const struct permute_attr *a = c->attr;
    const int rank = c->in[0]->rank, p = axis_or_scalar(a->axes[0], rank), q = axis_or_scalar(a->axes[1], rank);
    if (p < 0 || q < 0) return axis_fail(c, a->axes[p < 0 ? 0 : 1]);
    for (int i = 0; i < rank; i++) order[i] = i == p ? q : i == q ? p : i;
    return true;
}

static bool permute_order(heed_op_call *c, int *order) {
    const struct permute_attr *a = c->attr;
    if (c->op == &op_transpose) return transpose_order(c, order);
    uint32_t seen = 0;
    for (int i = 0; i < c->in[0]->rank; i++) {
        order[i] = axis_of(a->axes[i], c->in[0]->rank);
        if (order[i] < 0) return axis_fail(c, a->axes[i]);
        if (seen >> order[i] & 1)
            return heed_op_fail(c, HEED_ERR_SHAPE, "axis %d of shape %s appears twice in the order", order[i],
                                heed_shape_text(c->in[0]).s);
        seen |= 1u << order[i];
    }
    return true;
}

static bool permute_infer(heed_op_call *c) {
    const heed_tensor *x = c->in[0];
    int order[HEED_MAX_RANK];
    int64_t shape[HEED_MAX_RANK];
    if (!permute_order(c, order)) return false;
    for (int i = 0; i < x->rank; i++) shape[i] = x->shape[order[i]];
    return heed_op_out(c, 0, x->dtype, x->rank, shape);
}

/* Steps of x and y, both contiguous, by x's axes. */
static void permute_steps(heed_op_call *c, int64_t *of_x, int64_t *of_y) {
    const heed_tensor *x = c->in[0];
    int order[HEED_MAX_RANK];
    int64_t step[HEED_MAX_RANK];
    permute_order(c, order);
    steps_of(x->rank, x->shape, of_x);
    steps_of(x->rank, c->out[0]->shape, step);
    for (int i = 0; i < x->rank; i++) of_y[order[i]] = step[i];
}

static bool permute_forward(heed_op_call *c) {
    const heed_tensor *x = c->in[0];
    int64_t of_x[HEED_MAX_RANK], of_y[HEED_MAX_RANK];
    struct move m = {.size = heed_dtype_size(x->dtype)};
    if (x->count == 0) return true;
    permute_steps(c, of_x, of_y);
    for (int i = 0; i < x->rank; i++) move_axis_of(&m, x, x->shape[i], of_y[i], of_x[i]);
    kernel_move(pool_of(c), &m, c->out[0]->data, x->data);
    return true;
}

static bool permute_backward(heed_op_call *c) {
    const heed_tensor *x = c->in[0];
    int64_t of_x[HEED_MAX_RANK], of_y[HEED_MAX_RANK];
    struct move m = {.size = sizeof(float), .add = c->add[0]};
    permute_steps(c, of_x, of_y);
    for (int i = 0; i < x->rank; i++) move_axis(&m, x->shape[i], of_x[i], of_y[i]);
    kernel_move(pool_of(c), &m, c->din[0], c->dout[0]);
    return true;
}

const heed_op op_permute = {.name = "permute",
                            .infer = permute_infer,
                            .forward = permute_forward,
                            .backward = permute_backward,
                            .flags = HEED_OP_STRIDED | HEED_OP_ADDS,
                            .attr_size = sizeof(struct permute_attr)};
const heed_op op_transpose = {.name = "transpose",
                              .infer = permute_infer,
                              .forward = permute_forward,
                              .backward = permute_backward,
                              .flags = HEED_OP_STRIDED | HEED_OP_ADDS,
                              .attr_size = sizeof(struct permute_attr)};

heed_tensor *heed_permute(heed_ctx *cx, heed_tensor *x, const int *axes) {
    struct permute_attr a = {0};
    if (x && x->rank > 0 && !axes) {
        heed_fail(cx, HEED_ERR_USAGE, "permute: the axes are NULL");
        return NULL;
    }
    for (int i = 0; x && i < x->rank; i++) a.axes[i] = axes[i];
    x = movable(cx, x);
    return apply1(cx, &op_permute, &a, &x, 1);
}

heed_tensor *heed_transpose(heed_ctx *cx, heed_tensor *x, int axis_a, int axis_b) {
    x = movable(cx, x);
    return apply1(cx, &op_transpose, &(struct permute_attr){{axis_a, axis_b}}, &x, 1);
}

/* ---- expand ---- axes of size 1 are repeated, new ones come in front;   dx: dy summed over what was repeated */

struct expand_attr {
    int rank;
    int64_t shape[HEED_MAX_RANK];
};

static bool expand_infer(heed_op_call *c) {
    const struct expand_attr *a = c->attr;
    const heed_tensor *x = c->in[0];
    const int new_axes = a->rank - x->rank;
    int64_t shape[HEED_MAX_RANK];
    if (new_axes < 0)
        return heed_op_fail(c, HEED_ERR_SHAPE, "%s has more axes than the %d asked for", heed_shape_text(x).s, a->rank);
    for (int i = 0; i < a->rank; i++) {
        const int64_t own = i < new_axes ? 1 : x->shape[i - new_axes];
        shape[i] = a->shape[i] == -1 && i >= new_axes ? own : a->shape[i];
        if (shape[i] < 0 || (own != 1 && shape[i] != own))
            return heed_op_fail(c, HEED_ERR_SHAPE, "%s cannot have size %lld in axis %d of %d", heed_shape_text(x).s,
                                (long long)a->shape[i], i, a->rank);
    }
    return heed_op_out(c, 0, x->dtype, a->rank, shape);
}

static bool expand_forward(heed_op_call *c) {
    const heed_tensor *x = c->in[0], *y = c->out[0];
    const int new_axes = y->rank - x->rank;
    int64_t of_x[HEED_MAX_RANK], of_y[HEED_MAX_RANK];
    struct move m = {.size = heed_dtype_size(x->dtype)};
    if (y->count == 0) return true;
    steps_of(x->rank, x->shape, of_x);
    steps_of(y->rank, y->shape, of_y);
    for (int i = 0; i < y->rank; i++) {
        if (i < new_axes || x->shape[i - new_axes] == 1)
            move_axis(&m, y->shape[i], of_y[i], 0);
        else
            move_axis_of(&m, x, y->shape[i], of_y[i], of_x[i - new_axes]);
    }
    kernel_move(pool_of(c), &m, y->data, x->data);
    return true;
}

static bool expand_backward(heed_op_call *c) {
    const heed_tensor *x = c->in[0], *y = c->out[0];
    kernel_reduce_to(pool_of(c), c->din[0], (struct bcast_operand){x->rank, x->shape}, c->dout[0],
                     (struct bcast_operand){y->rank, y->shape}, c->add[0]);
    return true;
}

const heed_op op_expand = {.name = "expand",
                           .infer = expand_infer,
                           .forward = expand_forward,
                           .backward = expand_backward,
                           .flags = HEED_OP_STRIDED | HEED_OP_ADDS,
                           .attr_size = sizeof(struct expand_attr)};

heed_tensor *heed_expand(heed_ctx *cx, heed_tensor *x, int rank, const int64_t *shape) {
    struct expand_attr a = {.rank = rank};
    if (heed_failed(cx)) return NULL;
    if (rank < 0 || rank > HEED_MAX_RANK || (rank > 0 && !shape)) {
        heed_fail(cx, HEED_ERR_SHAPE, "expand: rank %d is not between 0 and %d, or the shape is NULL", rank,
                  HEED_MAX_RANK);
        return NULL;
    }
    for (int i = 0; i < rank; i++) a.shape[i] = shape[i];
    x = movable(cx, x);
    return apply1(cx, &op_expand, &a, &x, 1);
}

/* ---- roll ---- y[(i + shift) mod n] = x[i] along one axis;   dx: rolled back */

struct roll_attr {
    int axis;
    int64_t shift;
};

static bool roll_infer(heed_op_call *c) {
    const struct roll_attr *a = c->attr;
    return axis_of(a->axis, c->in[0]->rank) < 0 ? axis_fail(c, a->axis) : heed_op_like(c, 0, 0);
}

/* to = or += from, rolled by shift: what goes beyond the end comes in again at the front. */
static void roll(const heed_op_call *c, char *to, const char *from, int64_t shift, bool add) {
    const struct roll_attr *a = c->attr;
    const heed_tensor *x = c->in[0];
    const int axis = axis_of(a->axis, x->rank);
    const int64_t n = x->shape[axis];
    int64_t outer, inner;
    if (x->count == 0) return;
    steps_around(x, axis, &outer, &inner);
    const int64_t size = (int64_t)heed_dtype_size(x->dtype), over = (shift % n + n) % n;
    struct move m = {.size = (size_t)size, .add = add};
    move_axis(&m, outer, n * inner, n * inner);
    move_axis(&m, (n - over) * inner, 1, 1);
    kernel_move(pool_of(c), &m, to + over * inner * size, from);
    m.axis[1].n = over * inner;
    kernel_move(pool_of(c), &m, to, from + (n - over) * inner * size);
}

static bool roll_forward(heed_op_call *c) {
    const struct roll_attr *a = c->attr;
    roll(c, c->out[0]->data, c->in[0]->data, a->shift, false);
    return true;
}

static bool roll_backward(heed_op_call *c) {
    const struct roll_attr *a = c->attr;
    const heed_tensor *x = c->in[0];
    const int64_t n = x->shape[axis_of(a->axis, x->rank)];
    if (n > 0) roll(c, (char *)c->din[0], (const char *)c->dout[0], n - a->shift % n, c->add[0]);
    return true;
}

const heed_op op_roll = {.name = "roll",
                         .infer = roll_infer,
                         .forward = roll_forward,
                         .backward = roll_backward,
                         .flags = HEED_OP_ADDS,
                         .attr_size = sizeof(struct roll_attr)};

heed_tensor *heed_roll(heed_ctx *cx, heed_tensor *x, int64_t shift, int axis) {
    return apply1(cx, &op_roll, &(struct roll_attr){axis, shift}, &x, 1);
}

/* ---- flip ---- y[i] = x[n - 1 - i] along one axis;   dx: flipped too */

struct flip_attr {
    int axis;
};

static bool flip_infer(heed_op_call *c) {
    const struct flip_attr *a = c->attr;
    return axis_or_scalar(a->axis, c->in[0]->rank) < 0 ? axis_fail(c, a->axis) : heed_op_like(c, 0, 0);
}

static void flip(const heed_op_call *c, void *to, const char *from, bool add) {
    const struct flip_attr *a = c->attr;
    const heed_tensor *x = c->in[0];
    struct move m = {.size = heed_dtype_size(x->dtype), .add = add};
    int64_t outer = 1, inner = 1, n = 1;
    if (x->count == 0) return;
    if (x->rank > 0) {
        n = x->shape[axis_of(a->axis, x->rank)];
        steps_around(x, axis_of(a->axis, x->rank), &outer, &inner);
    }
    move_axis(&m, outer, n * inner, n * inner);
    move_axis(&m, n, inner, -inner);
    move_axis(&m, inner, 1, 1);
    kernel_move(pool_of(c), &m, to, from + (n - 1) * inner * (int64_t)m.size);
}

static bool flip_forward(heed_op_call *c) {
    flip(c, c->out[0]->data, c->in[0]->data, false);
    return true;
}

static bool flip_backward(heed_op_call *c) {
    flip(c, c->din[0], (const char *)c->dout[0], c->add[0]);
    return true;
}

const heed_op op_flip = {.name = "flip",
                         .infer = flip_infer,
                         .forward = flip_forward,
                         .backward = flip_backward,
                         .flags = HEED_OP_ADDS,
                         .attr_size = sizeof(struct flip_attr)};

heed_tensor *heed_flip(heed_ctx *cx, heed_tensor *x, int axis) {
    return apply1(cx, &op_flip, &(struct flip_attr){axis}, &x, 1);
}
