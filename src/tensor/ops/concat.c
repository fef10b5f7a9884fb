/* concat: any number of tensors one after another along an axis; stack: along a new axis. Any type, all the same.
 * dx_i: the piece of dy that x_i became. */
#include "base/checked.h"
#include "tensor/moves.h"
#include "tensor/ops.h"
#include <string.h>

struct concat_attr {
    int axis;
};

/* As in PyTorch, a tensor of shape (0) joins with anything and adds nothing. */
static bool is_nothing(const heed_tensor *x) { return x->rank == 1 && x->shape[0] == 0; }

static bool same_type(heed_op_call *c, int i) {
    if (c->in[i]->dtype == c->in[0]->dtype) return true;
    return heed_op_fail(c, HEED_ERR_TYPE, "input %d is %s, not %s as input 0", i, heed_dtype_name(c->in[i]->dtype),
                        heed_dtype_name(c->in[0]->dtype));
}

static bool joins(const heed_tensor *x, const heed_tensor *first, int axis) {
    if (x->rank != first->rank) return false;
    for (int i = 0; i < x->rank; i++)
        if (i != axis && x->shape[i] != first->shape[i]) return false;
    return true;
}

static int first_of(const heed_op_call *c) {
    for (int i = 0; i < c->n_in; i++)
        if (!is_nothing(c->in[i])) return i;
    return 0;
}

static bool concat_infer(heed_op_call *c) {
    const struct concat_attr *a = c->attr;
    const int lead = first_of(c);
    const heed_tensor *first = c->in[lead];
    const int axis = axis_of(a->axis, first->rank);
    int64_t shape[HEED_MAX_RANK], total = 0;
    if (axis < 0)
        return heed_op_fail(c, HEED_ERR_SHAPE, "axis %d is out of range for shape %s", a->axis,
                            heed_shape_text(first).s);
    for (int i = 0; i < c->n_in; i++) {
        const heed_tensor *x = c->in[i];
        if (!same_type(c, i)) return false;
        if (is_nothing(x)) continue;
        if (!joins(x, first, axis))
            return heed_op_fail(c, HEED_ERR_SHAPE,
                                "input %d of shape %s does not join input %d of shape %s along axis %d", i,
                                heed_shape_text(x).s, lead, heed_shape_text(first).s, axis);
        if (!i64_add(total, x->shape[axis], &total))
            return heed_op_fail(c, HEED_ERR_RANGE, "the sizes along axis %d are too large", axis);
    }
    for (int i = 0; i < first->rank; i++) shape[i] = first->shape[i];
    shape[axis] = total;
    return heed_op_out(c, 0, first->dtype, first->rank, shape);
}

static bool stack_infer(heed_op_call *c) {
    const struct concat_attr *a = c->attr;
    const heed_tensor *first = c->in[0];
    const int axis = axis_of(a->axis, first->rank + 1);
    int64_t shape[HEED_MAX_RANK];
    if (first->rank == HEED_MAX_RANK)
        return heed_op_fail(c, HEED_ERR_SHAPE, "shape %s has no room for one more axis", heed_shape_text(first).s);
    if (axis < 0)
        return heed_op_fail(c, HEED_ERR_SHAPE, "axis %d is out of range for shape %s and a new axis", a->axis,
                            heed_shape_text(first).s);
    for (int i = 0; i < c->n_in; i++) {
        if (!same_type(c, i)) return false;
        if (!joins(c->in[i], first, -1))
            return heed_op_fail(c, HEED_ERR_SHAPE, "input %d of shape %s differs from input 0 of shape %s", i,
                                heed_shape_text(c->in[i]).s, heed_shape_text(first).s);
    }
    for (int i = 0; i <= first->rank; i++)
        shape[i] = i < axis ? first->shape[i] : i == axis ? c->n_in : first->shape[i - 1];
    return heed_op_out(c, 0, first->dtype, first->rank + 1, shape);
}

/* Both give y as (outer, total) in which input i has its `length` columns from `start` on. */
struct piece {
    int64_t outer, total, start, length;
};

static struct piece first_piece(const heed_op_call *c) {
    const struct concat_attr *a = c->attr;
    const heed_tensor *y = c->out[0];
    const int axis = axis_of(a->axis, y->rank);
    struct piece p = {.outer = 1, .total = 1};
    for (int i = 0; i < y->rank; i++) *(i < axis ? &p.outer : &p.total) *= y->shape[i];
    return p;
}

static struct box piece_box(const struct piece *p, size_t size) {
    return (struct box){.size = size,
                        .rank = 2,
                        .whole = {p->outer, p->total},
                        .before = {0, p->start},
                        .shape = {p->outer, p->length}};
}

/* Runs of x that end amid a row of the piece, unevenly: from one end, of a run or a row, to the next. */
static void put_unevenly(const struct piece *p, char *y, const heed_tensor *x) {
    const size_t size = heed_dtype_size(x->dtype);
    for (int64_t at = 0, n; at < x->count; at += n) {
        const int64_t in_run = at % x->run, in_row = at % p->length;
        n = x->run - in_run < p->length - in_row ? x->run - in_run : p->length - in_row;
        memcpy(y + (size_t)(at / p->length * p->total + p->start + in_row) * size,
               x->data + (size_t)(at / x->run * x->stride + in_run) * size, (size_t)n * size);
    }
}

static bool concat_forward(heed_op_call *c) {
    struct piece p = first_piece(c);
    if (c->out[0]->count == 0) return true;
    for (int i = 0; i < c->n_in; i++, p.start += p.length) {
        const heed_tensor *x = c->in[i];
        p.length = x->count / p.outer;
        if (x->count == 0) continue;
        const struct box b = piece_box(&p, heed_dtype_size(x->dtype));
        if (moves_evenly(x, b.rank, b.shape))
            box_put(pool_of(c), &b, c->out[0]->data, x->data, x, false);
        else
            put_unevenly(&p, c->out[0]->data, x);
    }
    return true;
}

static bool concat_backward(heed_op_call *c) {
    struct piece p = first_piece(c);
    if (c->out[0]->count == 0) return true;
    for (int i = 0; i < c->n_in; i++, p.start += p.length) {
        p.length = c->in[i]->count / p.outer;
        const struct box b = piece_box(&p, sizeof(float));
        if (c->din[i]) box_get(pool_of(c), &b, c->din[i], c->dout[0], c->add[i]);
    }
    return true;
}

const heed_op op_concat = {.name = "concat",
                           .infer = concat_infer,
                           .forward = concat_forward,
                           .backward = concat_backward,
                           .flags = HEED_OP_STRIDED | HEED_OP_ADDS,
                           .attr_size = sizeof(struct concat_attr)};
const heed_op op_stack = {.name = "stack",
                          .infer = stack_infer,
                          .forward = concat_forward,
                          .backward = concat_backward,
                          .flags = HEED_OP_STRIDED | HEED_OP_ADDS,
                          .attr_size = sizeof(struct concat_attr)};

static heed_tensor *join(heed_ctx *cx, const heed_op *op, heed_tensor *const *xs, int n, int axis) {
    if (n < 1 || !xs) {
        heed_fail(cx, HEED_ERR_USAGE, "%s: at least one input is needed", op->name);
        return NULL;
    }
    return apply1(cx, op, &(struct concat_attr){axis}, xs, n);
}

heed_tensor *heed_concat(heed_ctx *cx, heed_tensor *const *xs, int n, int axis) {
    return join(cx, &op_concat, xs, n, axis);
}

heed_tensor *heed_stack(heed_ctx *cx, heed_tensor *const *xs, int n, int axis) {
    return join(cx, &op_stack, xs, n, axis);
}
