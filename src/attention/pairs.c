/* What the ops on pairs share, and the plain product of all pairs.
 *     pair_dot:   s = scale q k',   dq = scale ds k,   dk = scale ds' q,   where a ds of 0 reads nothing */
#include "attention/pairs.h"
#include "attention/attention_ops.h"
#include "kernel/finite.h"
#include "kernel/gemm.h"
#include "kernel/rows.h"
#include <math.h>

struct pairs pairs_of(const heed_tensor *q, const heed_tensor *k) {
    struct pairs p = {1, q->shape[q->rank - 2], k->shape[k->rank - 2], cols_of(k)};
    for (int i = 0; i + 2 < q->rank; i++) p.batch *= q->shape[i];
    return p;
}

bool leading_fit(const heed_tensor *a, const heed_tensor *b, int64_t shape[HEED_MAX_RANK]) {
    if (a->rank < 2 || a->rank != b->rank) return false;
    for (int i = 0; i < a->rank; i++) {
        shape[i] = a->shape[i];
        if (i + 2 < a->rank && a->shape[i] != b->shape[i]) return false;
    }
    return true;
}

bool pairs_infer(heed_op_call *c) {
    const heed_tensor *q = c->in[0], *k = c->in[1];
    if (!heed_op_want(c, 0, HEED_F32) || !heed_op_want(c, 1, HEED_F32)) return false;
    int64_t shape[HEED_MAX_RANK];
    if (!leading_fit(q, k, shape) || cols_of(q) != cols_of(k))
        return heed_op_fail(c, HEED_ERR_SHAPE, "queries of shape %s and keys of shape %s are not (…,Tq,D) and (…,Tk,D)",
                            heed_shape_text(q).s, heed_shape_text(k).s);
    shape[q->rank - 1] = k->shape[k->rank - 2];
    return heed_op_out(c, 0, HEED_F32, q->rank, shape);
}

void dot_pairs(struct pool *pool, const struct pairs *p, float alpha, const float *q, const float *k, float *out,
               bool add) {
    const struct gemm g = {.m = p->queries,
                           .n = p->keys,
                           .k = p->d,
                           .a = q,
                           .lda = p->d,
                           .b = k,
                           .ldb = p->d,
                           .trans_b = true,
                           .c = out,
                           .ldc = p->keys,
                           .add = add,
                           .alpha = alpha};
    const struct gemm_batch batch = {
        .axes = 1, .size = {p->batch}, .a = {p->queries * p->d}, .b = {p->keys * p->d}, .c = {p->queries * p->keys}};
    kernel_gemm_batch(pool, &g, &batch);
}

/* ---- weigh ---- */

size_t weigh_work(int64_t batch, int64_t k, int64_t n) { return (size_t)(batch * k * n) * sizeof(float); }

static void multiply(struct pool *pool, const struct weigh *w, const float *b) {
    const struct gemm g = {.m = w->m,
                           .n = w->n,
                           .k = w->k,
                           .a = w->a,
                           .lda = w->trans_a ? w->m : w->k,
                           .trans_a = w->trans_a,
                           .b = b,
                           .ldb = w->n,
                           .c = w->c,
                           .ldc = w->n,
                           .add = w->add,
                           .alpha = w->alpha};
    const struct gemm_batch batch = {
        .axes = 1, .size = {w->batch}, .a = {w->m * w->k}, .b = {w->k * w->n}, .c = {w->m * w->n}};
    kernel_gemm_batch(pool, &g, &batch);
}

const float *only_finite(struct pool *pool, const float *b, int64_t rows, int64_t n, float *room) {
    if (isfinite(kernel_square_sum(pool, b, rows * n))) return b;
    kernel_copy_finite(room, b, n, rows, n);
    return room;
}

/* The product with rows that are not finite left out; then those, one by one, where A is not 0. */
void weigh(struct pool *pool, const struct weigh *w) {
    const float *finite = only_finite(pool, w->b, w->batch * w->k, w->n, w->work);
    multiply(pool, w, finite);
    for (int64_t row = 0; finite != w->b && row < w->batch * w->k; row++) {
        const float *b = w->b + row * w->n;
        if (kernel_is_finite(b, w->n)) continue;
        const int64_t batch = row / w->k, j = row % w->k;
        const float *a = w->a + batch * w->m * w->k;
        for (int64_t i = 0; i < w->m; i++) {
            const float weight = w->trans_a ? a[j * w->m + i] : a[i * w->k + j];
            if (weight != 0.0f) isa_get()->axpy_part(w->c + (batch * w->m + i) * w->n, w->alpha * weight, b, w->n);
        }
    }
}

/* ---- pair_dot ---- */

struct dot_attr {
    float scale;
};

static bool dot_infer(heed_op_call *c) {
    if (!pairs_infer(c)) return false;
    const struct pairs p = pairs_of(c->in[0], c->in[1]);
    c->save_in = (c->wants[1] ? 1u : 0) | (c->wants[0] ? 2u : 0);
    const size_t for_q = c->wants[0] ? weigh_work(p.batch, p.keys, p.d) : 0;
    const size_t for_k = c->wants[1] ? weigh_work(p.batch, p.queries, p.d) : 0;
    c->work_backward = for_q > for_k ? for_q : for_k;
    return true;
}

static bool dot_forward(heed_op_call *c) {
    const struct pairs p = pairs_of(c->in[0], c->in[1]);
    const float scale = ((const struct dot_attr *)c->attr)->scale;
    dot_pairs(pool_of(c), &p, scale, f32_of(c->in[0]), f32_of(c->in[1]), heed_op_f32(c, 0), false);
    return true;
}

static bool dot_backward(heed_op_call *c) {
    const struct pairs p = pairs_of(c->in[0], c->in[1]);
    const float scale = ((const struct dot_attr *)c->attr)->scale;
    if (c->din[0])
        weigh(pool_of(c), &(struct weigh){p.batch, p.queries, p.d, p.keys, scale, c->dout[0], false, f32_of(c->in[1]),
                                          c->din[0], c->add[0], c->work});
    if (c->din[1])
        weigh(pool_of(c), &(struct weigh){p.batch, p.keys, p.d, p.queries, scale, c->dout[0], true, f32_of(c->in[0]),
                                          c->din[1], c->add[1], c->work});
    return true;
}

const heed_op op_pair_dot = {.name = "pair_dot",
                             .infer = dot_infer,
                             .forward = dot_forward,
                             .backward = dot_backward,
                             .flags = HEED_OP_ADDS,
                             .attr_size = sizeof(struct dot_attr)};

heed_tensor *pair_dot(heed_ctx *cx, heed_tensor *q, heed_tensor *k, float scale) {
    return apply1(cx, &op_pair_dot, &(struct dot_attr){scale}, (heed_tensor *[]){q, k}, 2);
}
