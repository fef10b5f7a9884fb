/* Scores of queries and keys.   q (…,Tq,Dq), k (…,Tk,Dk) -> (…,Tq,Tk)
 *     pair_distance:   u^2_ij = sum_c (s_c (q_ic - k_jc))^2, from which distance and the kernels are made */
#include "attention/attention_ops.h"
#include "attention/pairs.h"
#include "kernel/distance.h"
#include <math.h>

/* ---- pair_distance ---- */

static struct distance distance_of(const heed_op_call *c) {
    const struct pairs p = pairs_of(c->in[0], c->in[1]);
    const heed_tensor *s = c->in[2];
    return (struct distance){
        p.batch, p.queries, p.keys, p.d, f32_of(c->in[0]), f32_of(c->in[1]), s ? f32_of(s) : NULL, s ? s->count : 0};
}

static bool distance_infer(heed_op_call *c) {
    const heed_tensor *q = c->in[0], *s = c->in[2];
    if (!pairs_infer(c) || (s && !heed_op_want(c, 2, HEED_F32))) return false;
    if (s && s->count != 1 && (s->rank != 1 || s->count != cols_of(q)))
        return heed_op_fail(c, HEED_ERR_SHAPE, "a sharpness of shape %s is neither one number nor one for each of %lld",
                            heed_shape_text(s).s, (long long)cols_of(q));
    const struct distance p = distance_of(c);
    c->work_forward = kernel_distance_work(&p);
    c->work_backward = kernel_distance_grad_work(&p);
    return true;
}

static bool distance_forward(heed_op_call *c) {
    const struct distance p = distance_of(c);
    kernel_distance(pool_of(c), &p, heed_op_f32(c, 0), c->work);
    return true;
}

static bool distance_backward(heed_op_call *c) {
    const struct distance p = distance_of(c);
    const struct distance_grad g = {c->dout[0], c->din[0], c->din[1], c->din[2], c->add[0], c->add[1], c->add[2]};
    kernel_distance_grad(pool_of(c), &p, &g, c->work);
    return true;
}

const heed_op op_pair_distance = {.name = "pair_distance",
                                  .infer = distance_infer,
                                  .forward = distance_forward,
                                  .backward = distance_backward,
                                  .flags = HEED_OP_ADDS,
                                  .save_in = 7,
                                  .optional = 4};

/* ---- scores ---- */

/* max(0, 1 - u). At u = 0, where it has none, the gradient is 0. */
static heed_tensor *triangular(heed_ctx *cx, heed_tensor *u2) {
    heed_tensor *one = heed_full(cx, 1, 0, NULL), *zero = heed_equal(cx, u2, heed_full(cx, 0, 0, NULL));
    heed_tensor *u = heed_sqrt(cx, heed_where(cx, zero, one, u2));
    return heed_where(cx, zero, one, heed_relu(cx, heed_affine(cx, u, -1, 1)));
}

static heed_tensor *of_distance(heed_ctx *cx, heed_score_kind kind, heed_tensor *u2) {
    switch (kind) {
    case HEED_SCORE_GAUSSIAN:
        return heed_exp(cx, heed_affine(cx, u2, -0.5f, 0));
    case HEED_SCORE_BOXCAR: /* 1 - 0 or less, 1 - 1 or more: steps, through which a gradient of zero goes */
        return heed_clamp(cx, heed_affine(cx, heed_ceil(cx, u2), -1, 2), 0, 1);
    case HEED_SCORE_TRIANGULAR:
        return triangular(cx, u2);
    case HEED_SCORE_EPANECHNIKOV:
        return heed_relu(cx, heed_affine(cx, u2, -1, 1));
    default:
        return heed_affine(cx, u2, -0.5f, 0);
    }
}

static heed_tensor *bilinear(heed_ctx *cx, heed_tensor *q, heed_tensor *k, heed_tensor *m) {
    if (!m || heed_rank(m) != 2 || heed_dim(m, 0) != heed_dim(q, -1) || heed_dim(m, 1) != heed_dim(k, -1)) {
        heed_fail(cx, m ? HEED_ERR_SHAPE : HEED_ERR_USAGE,
                  "scores: a bilinear score needs m of shape (%lld,%lld), not %s", (long long)heed_dim(q, -1),
                  (long long)heed_dim(k, -1), m ? heed_shape_text(m).s : "NULL");
        return NULL;
    }
    return pair_dot(cx, heed_matmul(cx, q, m), k, 1);
}

/* u^2 of pairs that are not seen is 0, so that no slope at what they hold is taken. */
static heed_tensor *distances(heed_ctx *cx, heed_tensor *q, heed_tensor *k, heed_tensor *sharpness, heed_tensor *keep) {
    heed_tensor *u2 = apply1(cx, &op_pair_distance, NULL, (heed_tensor *[]){q, k, sharpness}, 3);
    return keep ? heed_where(cx, keep, u2, heed_full(cx, 0, 0, NULL)) : u2;
}

heed_tensor *heed_scores(heed_ctx *cx, heed_tensor *q, heed_tensor *k, const heed_score_opts *opts) {
    return scores_seen(cx, q, k, opts, NULL);
}

heed_tensor *scores_seen(heed_ctx *cx, heed_tensor *q, heed_tensor *k, const heed_score_opts *opts, heed_tensor *keep) {
    if (heed_failed(cx)) return NULL;
    if (!q || !k || !opts) {
        heed_fail(cx, HEED_ERR_USAGE, "scores: the %s NULL", !q ? "queries are" : !k ? "keys are" : "options are");
        return NULL;
    }
    const heed_score_kind kind = opts->kind;
    heed_scope_begin(cx);
    heed_tensor *s = NULL;
    switch (kind) {
    case HEED_SCORE_DOT:
        s = pair_dot(cx, q, k, 1);
        break;
    case HEED_SCORE_SCALED_DOT:
        s = pair_dot(cx, q, k, 1 / sqrtf((float)(heed_dim(q, -1) > 0 ? heed_dim(q, -1) : 1)));
        break;
    case HEED_SCORE_BILINEAR:
        s = bilinear(cx, q, k, opts->m);
        break;
    case HEED_SCORE_ADDITIVE:
        s = additive_score(cx, opts->wq ? heed_linear(cx, q, opts->wq, NULL) : q,
                           opts->wk ? heed_linear(cx, k, opts->wk, NULL) : k, opts->w);
        break;
    case HEED_SCORE_DISTANCE:
    case HEED_SCORE_GAUSSIAN:
    case HEED_SCORE_BOXCAR:
    case HEED_SCORE_TRIANGULAR:
    case HEED_SCORE_EPANECHNIKOV:
        s = of_distance(cx, kind, distances(cx, q, k, opts->sharpness, keep));
        break;
    default:
        heed_fail(cx, HEED_ERR_USAGE, "scores: %d is not a kind of score", (int)kind);
    }
    return heed_scope_end(cx, s);
}
