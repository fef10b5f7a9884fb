/* Attention as score, normalise, pool.
 *     pool_values:   y = w v,   dw = dy v',   dv = w' dy        w (…,Tq,Tk), v (…,Tk,E)
 * A value that is not finite is read only where its weight is not 0, and its weight gets a gradient only there. */
#include "attention/attention_ops.h"
#include "attention/pairs.h"
#include "kernel/finite.h"
#include <string.h>

/* ---- pool_values ---- */

/* Queries, keys and the E of the values. */
static struct pairs pooled_of(const heed_op_call *c) { return pairs_of(c->in[0], c->in[1]); }

static bool pool_infer(heed_op_call *c) {
    const heed_tensor *w = c->in[0], *v = c->in[1];
    if (!heed_op_want(c, 0, HEED_F32) || !heed_op_want(c, 1, HEED_F32)) return false;
    int64_t shape[HEED_MAX_RANK];
    if (!leading_fit(w, v, shape) || cols_of(w) != v->shape[v->rank - 2])
        return heed_op_fail(c, HEED_ERR_SHAPE,
                            "weights of shape %s and values of shape %s are not (…,Tq,Tk) and (…,Tk,E)",
                            heed_shape_text(w).s, heed_shape_text(v).s);
    shape[w->rank - 1] = cols_of(v);
    if (!heed_op_out(c, 0, HEED_F32, w->rank, shape)) return false;
    const struct pairs p = pooled_of(c);
    c->save_in = (c->wants[1] ? 1u : 0) | (c->wants[0] ? 3u : 0);
    c->work_forward = weigh_work(p.batch, p.keys, p.d);
    c->work_backward = c->wants[0] ? c->work_forward : 0;
    if (c->wants[1] && weigh_work(p.batch, p.queries, p.d) > c->work_backward)
        c->work_backward = weigh_work(p.batch, p.queries, p.d);
    return true;
}

static bool pool_forward(heed_op_call *c) {
    const struct pairs p = pooled_of(c);
    weigh(pool_of(c), &(struct weigh){p.batch, p.queries, p.d, p.keys, 1, f32_of(c->in[0]), false, f32_of(c->in[1]),
                                      heed_op_f32(c, 0), false, c->work});
    return true;
}

/* dw = dy v', with the rows of v that are not finite as zeros; then theirs, where the weight is not 0. */
static void grad_weights(heed_op_call *c, const struct pairs *p) {
    const float *v = f32_of(c->in[1]), *w = f32_of(c->in[0]), *dy = c->dout[0];
    const int64_t rows = p->batch * p->keys;
    const float *finite = only_finite(pool_of(c), v, rows, p->d, c->work);
    dot_pairs(pool_of(c), p, 1, dy, finite, c->din[0], c->add[0]);
    for (int64_t r = 0; finite != v && r < rows; r++) {
        if (kernel_is_finite(v + r * p->d, p->d)) continue;
        for (int64_t i = 0; i < p->queries; i++) {
            const int64_t row = r / p->keys * p->queries + i, at = row * p->keys + r % p->keys;
            for (int64_t e = 0; w[at] != 0.0f && e < p->d; e++) c->din[0][at] += dy[row * p->d + e] * v[r * p->d + e];
        }
    }
}

static bool pool_backward(heed_op_call *c) {
    const struct pairs p = pooled_of(c);
    if (c->din[0]) grad_weights(c, &p);
    if (c->din[1])
        weigh(pool_of(c), &(struct weigh){p.batch, p.keys, p.d, p.queries, 1, f32_of(c->in[0]), true, c->dout[0],
                                          c->din[1], c->add[1], c->work});
    return true;
}

const heed_op op_pool_values = {.name = "pool_values",
                                .infer = pool_infer,
                                .forward = pool_forward,
                                .backward = pool_backward,
                                .flags = HEED_OP_ADDS};

/* ---- seen ---- of a bitmap (…,R,Tk): which rows see anything, (…,R,1), and which keys are seen by anyone, (…,Tk,1) */

static bool seen_infer(heed_op_call *c) {
    const heed_tensor *keep = c->in[0];
    int64_t shape[HEED_MAX_RANK];
    if (!heed_op_want(c, 0, HEED_U8)) return false;
    if (keep->rank < 2)
        return heed_op_fail(c, HEED_ERR_SHAPE, "a bitmap of shape %s is not (…,R,Tk)", heed_shape_text(keep).s);
    for (int i = 0; i < keep->rank; i++) shape[i] = keep->shape[i];
    shape[keep->rank - 1] = 1;
    if (!heed_op_out(c, 0, HEED_U8, keep->rank, shape)) return false;
    shape[keep->rank - 2] = cols_of(keep);
    return heed_op_out(c, 1, HEED_U8, keep->rank, shape);
}

static bool seen_forward(heed_op_call *c) {
    const heed_tensor *keep = c->in[0];
    const int64_t rows = keep->shape[keep->rank - 2], keys = cols_of(keep);
    uint8_t *by_row = heed_op_u8(c, 0), *by_key = heed_op_u8(c, 1);
    memset(by_row, 0, (size_t)c->out[0]->count);
    memset(by_key, 0, (size_t)c->out[1]->count);
    for (int64_t r = 0; r < c->out[0]->count; r++)
        for (int64_t j = 0; j < keys; j++) {
            const uint8_t bit = u8_of(keep)[r * keys + j] != 0;
            by_row[r] |= bit;
            by_key[r / rows * keys + j] |= bit;
        }
    return true;
}

const heed_op op_seen = {.name = "seen", .infer = seen_infer, .forward = seen_forward, .flags = HEED_OP_NONDIFF};

/* ---- all of it ---- */

/* Queries that see nothing and keys that nobody sees, as zeros: whatever they hold, no gradient of a parameter meets
 * it.
 */
static void hide_unseen(heed_ctx *cx, heed_tensor **q, heed_tensor **k, heed_tensor *keep) {
    heed_tensor *seen[2], *zero = heed_full(cx, 0, 0, NULL);
    if (!heed_apply(cx, &op_seen, NULL, &keep, 1, seen, 2)) return;
    *q = heed_where(cx, seen[0], *q, zero);
    *k = heed_where(cx, seen[1], *k, zero);
}

/* q (…,Tq,Dq), k (…,Tk,Dk): do they make scores, and of which shape? Sizes D are checked by the score. */
static bool score_shape(heed_ctx *cx, const heed_tensor *q, const heed_tensor *k, int64_t shape[HEED_MAX_RANK]) {
    if (!q || !k) return heed_fail(cx, HEED_ERR_USAGE, "attention_pool: the %s are NULL", q ? "keys" : "queries");
    if (!leading_fit(q, k, shape))
        return heed_fail(cx, HEED_ERR_SHAPE,
                         "attention_pool: queries of shape %s and keys of shape %s are not (…,Tq,D) and (…,Tk,D)",
                         heed_shape_text(q).s, heed_shape_text(k).s);
    shape[q->rank - 1] = k->shape[k->rank - 2];
    return true;
}

heed_tensor *heed_attention_pool(heed_ctx *cx, heed_tensor *q, heed_tensor *k, heed_tensor *v,
                                 const heed_score_opts *score, heed_normaliser how, const heed_mask *mask,
                                 heed_tensor **weights) {
    int64_t shape[HEED_MAX_RANK];
    struct mask_planes planes;
    if (weights) *weights = NULL;
    if (heed_failed(cx) || !score_shape(cx, q, k, shape)) return NULL;
    heed_scope_begin(cx);
    heed_tensor *kept[2] = {NULL, NULL};
    if (mask_planes(cx, "attention_pool", mask, q->rank, shape, &planes)) {
        if (planes.keep) hide_unseen(cx, &q, &k, planes.keep);
        kept[1] = heed_normalise(cx, scores_seen(cx, q, k, score, planes.keep), how, mask);
        kept[0] = apply1(cx, &op_pool_values, NULL, (heed_tensor *[]){kept[1], v}, 2);
        if (kept[0] && score) heed_capture_weights(cx, score->site, score->layer, score->row, kept[1]);
    }
    if (heed_failed(cx)) kept[0] = kept[1] = NULL;
    heed_scope_end_many(cx, kept, weights ? 2 : 1);
    if (weights) *weights = kept[1];
    return kept[0];
}
