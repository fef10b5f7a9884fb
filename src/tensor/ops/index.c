/* Ops that pick numbers by index, i32. embedding and index_select take whole rows; gather and scatter_add single
 * numbers. Gradients that fall on the same place add up, in order of position in the index. */
#include "kernel/index.h"
#include "kernel/rows.h"
#include "tensor/moves.h"
#include "tensor/ops.h"
#include "tensor/stored.h"

/* Input i picks among `limit` places. */
static bool indices_ok(heed_op_call *c, int i, const char *what, int64_t limit) {
    const int32_t *index = i32_of(c->in[i]);
    const int64_t bad = kernel_index_bad(pool_of(c), index, c->in[i]->count, limit);
    if (bad < 0) return true;
    if (index[bad] < 0)
        return heed_op_fail(c, HEED_ERR_RANGE, "%s %d at place %lld is negative", what, index[bad], (long long)bad);
    return heed_op_fail(c, HEED_ERR_RANGE, "%s %d at place %lld is not below %lld", what, index[bad], (long long)bad,
                        (long long)limit);
}

struct axis_attr {
    int axis;
};

/* ---- embedding ---- y[…] = table[ids[…]]:   table (V,C), ids (…) -> y (…,C);   dtable[v] = sum of dy where ids = v */

static bool embedding_infer(heed_op_call *c) {
    const heed_tensor *table = c->in[0], *ids = c->in[1];
    int64_t shape[HEED_MAX_RANK];
    if (!want_real(c, 0) || !heed_op_want(c, 1, HEED_I32)) return false;
    if (table->rank != 2)
        return heed_op_fail(c, HEED_ERR_SHAPE, "a table of shape %s is not (V,C)", heed_shape_text(table).s);
    if (ids->rank == HEED_MAX_RANK)
        return heed_op_fail(c, HEED_ERR_SHAPE, "ids of shape %s leave no room for one more axis",
                            heed_shape_text(ids).s);
    for (int i = 0; i < ids->rank; i++) shape[i] = ids->shape[i];
    shape[ids->rank] = table->shape[1];
    c->save_in = c->wants[0] ? 2 : 0;
    if (c->wants[0]) c->work_backward = kernel_select_grad_work(ids->count);
    return heed_op_out(c, 0, HEED_F32, ids->rank + 1, shape);
}

static struct select embedding_rows(const heed_op_call *c) {
    const heed_tensor *table = c->in[0], *ids = c->in[1];
    return (struct select){1, table->shape[0], table->shape[1], ids->count, i32_of(ids)};
}

static bool embedding_forward(heed_op_call *c) {
    const struct select s = embedding_rows(c);
    if (!indices_ok(c, 1, "id", s.n)) return false;
    kernel_select_floats(pool_of(c), &s, stored_of(c->in[0]->dtype), heed_op_f32(c, 0), c->in[0]->data);
    return true;
}

static bool embedding_backward(heed_op_call *c) {
    const struct select s = embedding_rows(c);
    kernel_select_grad(pool_of(c), &s, c->din[0], c->dout[0], c->add[0], c->work);
    return true;
}

const heed_op op_embedding = {.name = "embedding",
                              .infer = embedding_infer,
                              .forward = embedding_forward,
                              .backward = embedding_backward,
                              .flags = HEED_OP_ADDS};

heed_tensor *heed_embedding(heed_ctx *cx, heed_tensor *table, heed_tensor *ids) {
    return apply1(cx, &op_embedding, NULL, (heed_tensor *[]){table, ids}, 2);
}

/* ---- index_select ---- y[…,j,…] = x[…,index[j],…];   dx[…,i,…] = sum of dy[…,j,…] where index[j] = i. Any type. */

/* A scalar counts as (1), here and below, as in PyTorch. */
static int rank_of(const heed_tensor *t) { return t->rank > 0 ? t->rank : 1; }
static const int64_t *shape_of(const heed_tensor *t) {
    static const int64_t one[1] = {1};
    return t->rank > 0 ? t->shape : one;
}

static bool select_infer(heed_op_call *c) {
    const struct axis_attr *a = c->attr;
    const heed_tensor *x = c->in[0], *index = c->in[1];
    const int axis = axis_of(a->axis, rank_of(x));
    int64_t shape[HEED_MAX_RANK];
    if (!heed_op_want(c, 1, HEED_I32)) return false;
    if (axis < 0) return axis_fail(c, a->axis);
    if (index->rank > 1)
        return heed_op_fail(c, HEED_ERR_SHAPE, "an index of shape %s is not one row", heed_shape_text(index).s);
    if (x->rank == 0 && index->count != 1)
        return heed_op_fail(c, HEED_ERR_SHAPE, "an index of shape %s for a scalar", heed_shape_text(index).s);
    for (int i = 0; i < x->rank; i++) shape[i] = i == axis ? index->count : x->shape[i];
    c->save_in = c->wants[0] ? 2 : 0;
    if (c->wants[0]) c->work_backward = kernel_select_grad_work(index->count);
    return heed_op_out(c, 0, x->dtype, x->rank, shape);
}

static struct select select_rows(const heed_op_call *c) {
    const struct axis_attr *a = c->attr;
    const heed_tensor *x = c->in[0], *index = c->in[1];
    const int axis = axis_of(a->axis, rank_of(x));
    struct select s = {.n = shape_of(x)[axis], .m = index->count, .index = i32_of(index)};
    steps_around(x, axis, &s.outer, &s.inner);
    return s;
}

static bool select_forward(heed_op_call *c) {
    const struct select s = select_rows(c);
    if (!indices_ok(c, 1, "index", s.n)) return false;
    kernel_select(pool_of(c), &s, heed_dtype_size(c->in[0]->dtype), c->out[0]->data, c->in[0]->data);
    return true;
}

static bool select_backward(heed_op_call *c) {
    const struct select s = select_rows(c);
    kernel_select_grad(pool_of(c), &s, c->din[0], c->dout[0], c->add[0], c->work);
    return true;
}

const heed_op op_index_select = {.name = "index_select",
                                 .infer = select_infer,
                                 .forward = select_forward,
                                 .backward = select_backward,
                                 .flags = HEED_OP_ADDS,
                                 .attr_size = sizeof(struct axis_attr)};

heed_tensor *heed_index_select(heed_ctx *cx, heed_tensor *x, int axis, heed_tensor *index) {
    return apply1(cx, &op_index_select, &(struct axis_attr){axis}, (heed_tensor *[]){x, index}, 2);
}

/* ---- gather ---- y[i,j,k] = x[index[i,j,k],j,k] along axis 0, likewise along others;   dx[index[i,j,k],j,k] +=
 * dy[i,j,k]. The index is no larger than x beside the axis. Any type. */

static bool index_fits(heed_op_call *c, int axis) {
    const heed_tensor *x = c->in[0], *index = c->in[1];
    bool fits = rank_of(index) == rank_of(x);
    for (int i = 0; i < rank_of(x) && fits; i++) fits = i == axis || shape_of(index)[i] <= shape_of(x)[i];
    return fits || heed_op_fail(c, HEED_ERR_SHAPE, "an index of shape %s does not lie within %s beside axis %d",
                                heed_shape_text(index).s, heed_shape_text(x).s, axis);
}

static bool gather_infer(heed_op_call *c) {
    const struct axis_attr *a = c->attr;
    const heed_tensor *x = c->in[0], *index = c->in[1];
    const int axis = axis_of(a->axis, rank_of(x));
    if (!heed_op_want(c, 1, HEED_I32)) return false;
    if (axis < 0) return axis_fail(c, a->axis);
    if (!index_fits(c, axis)) return false;
    c->save_in = c->wants[0] ? 2 : 0;
    return heed_op_out(c, 0, x->dtype, index->rank, index->shape);
}

/* The lines along the axis; y is like the index, or like src. */
static struct lines lines_of(const heed_op_call *c, const heed_tensor *y) {
    const struct axis_attr *a = c->attr;
    const heed_tensor *x = c->in[0];
    struct lines l;
    kernel_lines(&l, rank_of(x), axis_of(a->axis, rank_of(x)), shape_of(x), shape_of(y), shape_of(c->in[1]));
    return l;
}

static int64_t axis_size(const heed_op_call *c) {
    const struct axis_attr *a = c->attr;
    return shape_of(c->in[0])[axis_of(a->axis, rank_of(c->in[0]))];
}

static bool gather_forward(heed_op_call *c) {
    const heed_tensor *x = c->in[0], *index = c->in[1];
    const struct lines l = lines_of(c, index);
    if (!indices_ok(c, 1, "index", axis_size(c))) return false;
    kernel_gather(pool_of(c), &l, heed_dtype_size(x->dtype), c->out[0]->data, x->data, i32_of(index), false);
    return true;
}

static bool gather_backward(heed_op_call *c) {
    const heed_tensor *x = c->in[0], *index = c->in[1];
    const struct lines l = lines_of(c, index);
    if (!c->add[0]) kernel_clear(pool_of(c), c->din[0], x->count);
    kernel_scatter_add(pool_of(c), &l, c->din[0], c->dout[0], i32_of(index));
    return true;
}

const heed_op op_gather = {.name = "gather",
                           .infer = gather_infer,
                           .forward = gather_forward,
                           .backward = gather_backward,
                           .flags = HEED_OP_ADDS,
                           .attr_size = sizeof(struct axis_attr)};

heed_tensor *heed_gather(heed_ctx *cx, heed_tensor *x, int axis, heed_tensor *index) {
    return apply1(cx, &op_gather, &(struct axis_attr){axis}, (heed_tensor *[]){x, index}, 2);
}

/* ---- scatter_add ---- y = x, then y[index[i,j,k],j,k] += src[i,j,k] along axis 0, likewise along others;   dx = dy,
 * dsrc[i,j,k] = dy[index[i,j,k],j,k], and zero where src reaches beyond the index. */

static bool scatter_infer(heed_op_call *c) {
    const struct axis_attr *a = c->attr;
    const heed_tensor *x = c->in[0], *index = c->in[1], *src = c->in[2];
    const int axis = axis_of(a->axis, rank_of(x));
    if (!heed_op_want(c, 0, HEED_F32) || !heed_op_want(c, 1, HEED_I32) || !heed_op_want(c, 2, HEED_F32)) return false;
    if (axis < 0) return axis_fail(c, a->axis);
    if (!index_fits(c, axis)) return false;
    bool fits = rank_of(src) == rank_of(x);
    for (int i = 0; i < rank_of(x) && fits; i++) fits = shape_of(index)[i] <= shape_of(src)[i];
    if (!fits)
        return heed_op_fail(c, HEED_ERR_SHAPE, "an index of shape %s does not lie within the source's %s",
                            heed_shape_text(index).s, heed_shape_text(src).s);
    heed_op_pass(c, 0, 0);
    c->save_in = c->wants[2] ? 2 : 0;
    return heed_op_like(c, 0, 0);
}

static bool scatter_forward(heed_op_call *c) {
    const struct lines l = lines_of(c, c->in[2]);
    float *y = heed_op_f32(c, 0);
    if (!indices_ok(c, 1, "index", axis_size(c))) return false;
    kernel_copy(pool_of(c), y, f32_of(c->in[0]), c->in[0]->count);
    kernel_scatter_add(pool_of(c), &l, y, f32_of(c->in[2]), i32_of(c->in[1]));
    return true;
}

static bool scatter_backward(heed_op_call *c) {
    const heed_tensor *index = c->in[1], *src = c->in[2];
    const struct lines l = lines_of(c, src);
    if (!c->din[2]) return true;
    struct box within = {.size = sizeof(float), .rank = rank_of(src)};
    for (int i = 0; i < within.rank; i++) {
        within.whole[i] = shape_of(src)[i];
        within.shape[i] = shape_of(index)[i];
    }
    if (!c->add[2]) box_fill_around(pool_of(c), &within, c->din[2], move_zero);
    kernel_gather(pool_of(c), &l, sizeof(float), c->din[2], c->dout[0], i32_of(index), c->add[2]);
    return true;
}

const heed_op op_scatter_add = {.name = "scatter_add",
                                .infer = scatter_infer,
                                .forward = scatter_forward,
                                .backward = scatter_backward,
                                .flags = HEED_OP_ADDS,
                                .attr_size = sizeof(struct axis_attr)};

heed_tensor *heed_scatter_add(heed_ctx *cx, heed_tensor *x, int axis, heed_tensor *index, heed_tensor *src) {
    return apply1(cx, &op_scatter_add, &(struct axis_attr){axis}, (heed_tensor *[]){x, index, src}, 3);
}
