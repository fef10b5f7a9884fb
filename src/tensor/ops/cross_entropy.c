/* Cross entropy of rows of logits (…,V) with targets given by index (…) or as probabilities (…,V). The formulas, with
 * label smoothing (Szegedy et al. 2016), are in kernel/loss.h. State: the log-sum-exp of each row. */
#include "tensor/ops/cross_entropy.h"
#include "tensor/ops.h"

static struct cross_entropy rows_for(const heed_op_call *c, bool soft) {
    const heed_cross_entropy_opts *o = c->attr;
    const heed_tensor *x = c->in[0];
    return (struct cross_entropy){.rows = rows_of(x),
                                  .n = cols_of(x),
                                  .x = f32_of(x),
                                  .ldx = cols_of(x),
                                  .target = soft ? NULL : i32_of(c->in[1]),
                                  .p = soft ? f32_of(c->in[1]) : NULL,
                                  .smoothing = o->smoothing,
                                  .ignore = o->ignore,
                                  .ignore_index = o->ignore_index};
}

bool cross_entropy_opts_ok(heed_op_call *c, const heed_cross_entropy_opts *o) {
    if (!(o->smoothing >= 0 && o->smoothing <= 1))
        return heed_op_fail(c, HEED_ERR_RANGE, "a smoothing of %g is not between 0 and 1", (double)o->smoothing);
    if ((int)o->reduction < HEED_REDUCE_MEAN || o->reduction > HEED_REDUCE_NONE)
        return heed_op_fail(c, HEED_ERR_USAGE, "%d is not a reduction", (int)o->reduction);
    return true;
}

bool cross_entropy_target_ok(heed_op_call *c, int i, const heed_tensor *x) {
    const heed_tensor *t = c->in[i];
    if (!heed_op_want(c, i, HEED_I32)) return false;
    bool same = t->rank == x->rank - 1;
    for (int k = 0; same && k < t->rank; k++) same = t->shape[k] == x->shape[k];
    if (same) return true;
    return heed_op_fail(c, HEED_ERR_SHAPE, "targets of shape %s do not fit %s", heed_shape_text(t).s,
                        heed_shape_text(x).s);
}

/* 1 for a sum; the mean divides by the rows that count, and is 0 when none does. */
float cross_entropy_scale(const heed_cross_entropy_opts *o, int64_t counted) {
    if (o->reduction != HEED_REDUCE_MEAN) return 1;
    return counted > 0 ? (float)(1.0 / (double)counted) : 0;
}

bool cross_entropy_counted(heed_op_call *c, const struct cross_entropy *ce, int64_t *counted) {
    int64_t bad;
    *counted = kernel_cross_entropy_count(ce, &bad);
    if (bad < 0) return true;
    return heed_op_fail(c, HEED_ERR_RANGE, "target %d at place %lld is not below %lld", (int)ce->target[bad],
                        (long long)bad, (long long)ce->n);
}

void cross_entropy_reduce(const heed_cross_entropy_opts *o, float *y, const float *loss, int64_t rows,
                          int64_t counted) {
    const double sum = kernel_sum_in_order(loss, rows);
    *y = (float)(o->reduction == HEED_REDUCE_SUM ? sum : counted > 0 ? sum / (double)counted : 0.0);
}

/* ---- targets by index, and as probabilities ---- */

static bool infer(heed_op_call *c, bool soft) {
    const heed_cross_entropy_opts *o = c->attr;
    const heed_tensor *x = c->in[0];
    if (!heed_op_want(c, 0, HEED_F32) || !cross_entropy_opts_ok(c, o)) return false;
    if (x->rank < 1 || (cols_of(x) == 0 && rows_of(x) > 0))
        return heed_op_fail(c, HEED_ERR_SHAPE, "logits of shape %s have no classes", heed_shape_text(x).s);
    if (soft) {
        const heed_tensor *p = c->in[1];
        if (!heed_op_want(c, 1, HEED_F32)) return false;
        if (!same_shape(p, x))
            return heed_op_fail(c, HEED_ERR_SHAPE, "targets of shape %s do not fit %s", heed_shape_text(p).s,
                                heed_shape_text(x).s);
    } else if (!cross_entropy_target_ok(c, 1, x))
        return false;
    const int64_t rows = rows_of(x);
    c->save_in = 3;
    c->state_size = (size_t)rows * sizeof(float);
    const bool each = o->reduction == HEED_REDUCE_NONE;
    c->work_forward = each ? 0 : c->state_size;
    return each ? heed_op_out(c, 0, HEED_F32, x->rank - 1, x->shape) : heed_op_out(c, 0, HEED_F32, 0, NULL);
}

static bool forward(heed_op_call *c, bool soft) {
    const heed_cross_entropy_opts *o = c->attr;
    const struct cross_entropy ce = rows_for(c, soft);
    const bool each = o->reduction == HEED_REDUCE_NONE;
    int64_t counted;
    if (!cross_entropy_counted(c, &ce, &counted)) return false;
    float *loss = each ? heed_op_f32(c, 0) : c->work;
    kernel_cross_entropy(pool_of(c), &ce, c->state, loss);
    if (!each) cross_entropy_reduce(o, heed_op_f32(c, 0), loss, ce.rows, counted);
    return true;
}

static bool backward(heed_op_call *c, bool soft) {
    const heed_cross_entropy_opts *o = c->attr;
    const struct cross_entropy ce = rows_for(c, soft);
    const bool each = o->reduction == HEED_REDUCE_NONE;
    int64_t bad;
    const float scale = cross_entropy_scale(o, kernel_cross_entropy_count(&ce, &bad));
    if (c->din[0])
        kernel_cross_entropy_grad(pool_of(c), &ce, c->state, c->din[0], ce.n, c->dout[0], each, scale, c->add[0]);
    if (c->din[1])
        kernel_cross_entropy_grad_p(pool_of(c), &ce, c->state, c->din[1], c->dout[0], each, scale, c->add[1]);
    return true;
}

static bool hard_infer(heed_op_call *c) { return infer(c, false); }
static bool hard_forward(heed_op_call *c) { return forward(c, false); }
static bool hard_backward(heed_op_call *c) { return backward(c, false); }
const heed_op op_cross_entropy = {.name = "cross_entropy",
                                  .infer = hard_infer,
                                  .forward = hard_forward,
                                  .backward = hard_backward,
                                  .flags = HEED_OP_ADDS,
                                  .attr_size = sizeof(heed_cross_entropy_opts)};

static bool soft_infer(heed_op_call *c) { return infer(c, true); }
static bool soft_forward(heed_op_call *c) { return forward(c, true); }
static bool soft_backward(heed_op_call *c) { return backward(c, true); }
const heed_op op_cross_entropy_soft = {.name = "cross_entropy_soft",
                                       .infer = soft_infer,
                                       .forward = soft_forward,
                                       .backward = soft_backward,
                                       .flags = HEED_OP_ADDS,
                                       .attr_size = sizeof(heed_cross_entropy_opts)};

static const heed_cross_entropy_opts plain;

heed_tensor *heed_cross_entropy(heed_ctx *cx, heed_tensor *logits, heed_tensor *target,
                                const heed_cross_entropy_opts *opts) {
    return apply1(cx, &op_cross_entropy, opts ? opts : &plain, (heed_tensor *[]){logits, target}, 2);
}
heed_tensor *heed_cross_entropy_soft(heed_ctx *cx, heed_tensor *logits, heed_tensor *p,
                                     const heed_cross_entropy_opts *opts) {
    return apply1(cx, &op_cross_entropy_soft, opts ? opts : &plain, (heed_tensor *[]){logits, p}, 2);
}
