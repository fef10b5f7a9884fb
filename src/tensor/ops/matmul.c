/* Matrix products.   y = op(a) op(b): (…,M,K) x (…,K,N) -> (…,M,N), batch axes broadcast, op transposes or not
 *   dop(a) = dy op(b)',   dop(b) = op(a)' dy, summed over the batch axes along which an operand was repeated
 * A vector on the left is a row, on the right a column, and its axis of size 1 is dropped, as torch.matmul does. */
#include "kernel/gemm.h"
#include "kernel/move.h"
#include "tensor/engine.h"
#include "tensor/ops.h"

struct matmul_attr {
    bool trans_a, trans_b;
};

struct product { /* the call as matrices and batches */
    int64_t m, n, k, lda, ldb;
    bool trans_a, trans_b;
    struct gemm_batch batch;
    int64_t batches;
};

/* Size of axis `axis` of the batch shape of rank `axes`, aligned at its end. */
static int64_t batch_size(const heed_tensor *t, int axes, int axis) {
    const int own = t->rank - 2 - axes + axis;
    return own >= 0 ? t->shape[own] : 1;
}

static bool product_of(const heed_op_call *c, struct product *p) {
    const heed_tensor *a = c->in[0], *b = c->in[1];
    const struct matmul_attr *at = c->attr;
    *p = (struct product){.trans_a = at->trans_a && a->rank > 1, .trans_b = at->trans_b && b->rank > 1};
    const int64_t a_rows = a->rank > 1 ? a->shape[a->rank - 2] : 1, a_cols = cols_of(a);
    const int64_t b_rows = b->rank > 1 ? b->shape[b->rank - 2] : b->shape[0], b_cols = b->rank > 1 ? cols_of(b) : 1;
    p->m = p->trans_a ? a_cols : a_rows;
    p->k = p->trans_a ? a_rows : a_cols;
    p->n = p->trans_b ? b_rows : b_cols;
    p->lda = a_cols;
    p->ldb = b_cols;
    if (p->k != (p->trans_b ? b_cols : b_rows)) return false;
    const int a_axes = a->rank > 2 ? a->rank - 2 : 0, b_axes = b->rank > 2 ? b->rank - 2 : 0;
    p->batch.axes = a_axes > b_axes ? a_axes : b_axes;
    p->batches = 1;
    int64_t sa = a_rows * a_cols, sb = b_rows * b_cols, sc = p->m * p->n;
    for (int i = p->batch.axes; i-- > 0;) {
        const int64_t na = batch_size(a, p->batch.axes, i), nb = batch_size(b, p->batch.axes, i);
        if (na != nb && na != 1 && nb != 1) return false;
        const int64_t size = na == 1 ? nb : na;
        p->batch.size[i] = size;
        p->batch.a[i] = na == 1 ? 0 : sa;
        p->batch.b[i] = nb == 1 ? 0 : sb;
        p->batch.c[i] = sc;
        sa *= na;
        sb *= nb;
        sc *= size;
        p->batches *= size;
    }
    /* one matrix on the right of many: all rows at once */
    if (!p->trans_a && b->rank <= 2 && p->batch.axes > 0) {
        p->m *= p->batches;
        p->batch.axes = 0;
    }
    return true;
}

static bool matmul_infer(heed_op_call *c) {
    const heed_tensor *a = c->in[0], *b = c->in[1];
    const struct matmul_attr *at = c->attr;
    struct product p;
    if (!heed_op_want(c, 0, HEED_F32) || !heed_op_want(c, 1, HEED_F32)) return false;
    if (a->rank == 0 || b->rank == 0)
        return heed_op_fail(c, HEED_ERR_SHAPE, "%s x %s: both need at least one axis", heed_shape_text(a).s,
                            heed_shape_text(b).s);
    if (!product_of(c, &p)) {
        const char *a_mark = at->trans_a ? "'" : "", *b_mark = at->trans_b ? "'" : "";
        const int64_t inner = p.trans_b ? cols_of(b) : b->rank > 1 ? b->shape[b->rank - 2] : b->shape[0];
        if (p.k != inner)
            return heed_op_fail(c, HEED_ERR_SHAPE, "%s%s x %s%s: inner sizes %lld and %lld differ",
                                heed_shape_text(a).s, a_mark, heed_shape_text(b).s, b_mark, (long long)p.k,
                                (long long)inner);
        return heed_op_fail(c, HEED_ERR_SHAPE, "%s%s x %s%s: batch axes do not broadcast", heed_shape_text(a).s, a_mark,
                            heed_shape_text(b).s, b_mark);
    }
    int64_t shape[HEED_MAX_RANK];
    int rank = (a->rank > b->rank ? a->rank : b->rank) - 2;
    rank = rank > 0 ? rank : 0;
    for (int i = 0; i < rank; i++) {
        const int64_t na = batch_size(a, rank, i), nb = batch_size(b, rank, i);
        shape[i] = na == 1 ? nb : na;
    }
    if (a->rank > 1) shape[rank++] = p.trans_a ? cols_of(a) : a->shape[a->rank - 2];
    if (b->rank > 1) shape[rank++] = p.n;
    c->save_in = (c->wants[1] ? 1u : 0) | (c->wants[0] ? 2u : 0);
    return heed_op_out(c, 0, HEED_F32, rank, shape);
}

static bool matmul_forward(heed_op_call *c) {
    struct product p;
    product_of(c, &p);
    const struct gemm g = {.m = p.m,
                           .n = p.n,
                           .k = p.k,
                           .a = f32_of(c->in[0]),
                           .lda = p.lda,
                           .trans_a = p.trans_a,
                           .b = f32_of(c->in[1]),
                           .ldb = p.ldb,
                           .trans_b = p.trans_b,
                           .c = heed_op_f32(c, 0),
                           .ldc = p.n,
                           .alpha = 1};
    kernel_gemm_batch(pool_of(c), &g, &p.batch);
    return true;
}

/* The batch of a gradient: dy takes y's place among the operands, the gradient takes y's own. */
static struct gemm_batch batch_for(const struct product *p, const int64_t *a, const int64_t *b, const int64_t *to) {
    struct gemm_batch batch = {.axes = p->batch.axes};
    for (int i = 0; i < batch.axes; i++) {
        batch.size[i] = p->batch.size[i];
        batch.a[i] = a[i];
        batch.b[i] = b[i];
        batch.c[i] = to[i];
    }
    return batch;
}

static void grad_a(heed_op_call *c, const struct product *p) {
    const float *b = f32_of(c->in[1]), *dy = c->dout[0];
    struct gemm g = {.c = c->din[0], .ldc = p->lda, .add = c->add[0], .alpha = 1, .k = p->n};
    struct gemm_batch batch;
    if (!p->trans_a) { /* da (m,k) = dy op(b)' */
        g.m = p->m, g.n = p->k;
        g.a = dy, g.lda = p->n;
        g.b = b, g.ldb = p->ldb, g.trans_b = !p->trans_b;
        batch = batch_for(p, p->batch.c, p->batch.b, p->batch.a);
    } else { /* da (k,m) = op(b) dy' */
        g.m = p->k, g.n = p->m;
        g.a = b, g.lda = p->ldb, g.trans_a = p->trans_b;
        g.b = dy, g.ldb = p->n, g.trans_b = true;
        batch = batch_for(p, p->batch.b, p->batch.c, p->batch.a);
    }
    kernel_gemm_batch(pool_of(c), &g, &batch);
}

static void grad_b(heed_op_call *c, const struct product *p) {
    const float *a = f32_of(c->in[0]), *dy = c->dout[0];
    struct gemm g = {.c = c->din[1], .ldc = p->ldb, .add = c->add[1], .alpha = 1, .k = p->m};
    struct gemm_batch batch;
    if (!p->trans_b) { /* db (k,n) = op(a)' dy */
        g.m = p->k, g.n = p->n;
        g.a = a, g.lda = p->lda, g.trans_a = !p->trans_a;
        g.b = dy, g.ldb = p->n;
        batch = batch_for(p, p->batch.a, p->batch.c, p->batch.b);
    } else { /* db (n,k) = dy' op(a) */
        g.m = p->n, g.n = p->k;
        g.a = dy, g.lda = p->n, g.trans_a = true;
        g.b = a, g.ldb = p->lda, g.trans_b = p->trans_a;
        batch = batch_for(p, p->batch.c, p->batch.a, p->batch.b);
    }
    kernel_gemm_batch(pool_of(c), &g, &batch);
}

static bool matmul_backward(heed_op_call *c) {
    struct product p;
    product_of(c, &p);
    for (int i = 0; i < 2; i++) {
        if (!c->din[i]) continue;
        if (p.batches == 0) { /* no product reaches an operand that was repeated zero times */
            if (!c->add[i]) kernel_clear(pool_of(c), c->din[i], c->in[i]->count);
        } else if (i == 0)
            grad_a(c, &p);
        else
            grad_b(c, &p);
    }
    return true;
}

const heed_op op_matmul = {.name = "matmul",
                           .infer = matmul_infer,
                           .forward = matmul_forward,
                           .backward = matmul_backward,
                           .flags = HEED_OP_ADDS,
                           .attr_size = sizeof(struct matmul_attr)};

heed_tensor *heed_matmul_trans(heed_ctx *cx, heed_tensor *a, bool trans_a, heed_tensor *b, bool trans_b) {
    return apply1(cx, &op_matmul, &(struct matmul_attr){trans_a, trans_b}, (heed_tensor *[]){a, b}, 2);
}
heed_tensor *heed_matmul(heed_ctx *cx, heed_tensor *a, heed_tensor *b) {
    return heed_matmul_trans(cx, a, false, b, false);
}
