/* The negative log likelihood of a pen's step under a mixture of bivariate normal densities and a Bernoulli for the end
 * of the stroke (Graves 2013). The formulas are in kernel/mixture.h.    y (…,6M+1), x (…,2), pen (…) i32 */
#include "kernel/mixture.h"
#include "kernel/loss.h"
#include "tensor/engine.h"
#include "tensor/ops.h"

struct mixture_attr {
    heed_reduction reduction;
};

static bool fits(const heed_tensor *t, const heed_tensor *y, int rank) {
    bool same = t->rank == rank;
    for (int i = 0; same && i < y->rank - 1; i++) same = t->shape[i] == y->shape[i];
    return same;
}

static bool mixture_infer(heed_op_call *c) {
    const struct mixture_attr *a = c->attr;
    const heed_tensor *y = c->in[0], *x = c->in[1], *pen = c->in[2];
    if (!heed_op_want(c, 0, HEED_F32) || !heed_op_want(c, 1, HEED_F32) || !heed_op_want(c, 2, HEED_I32)) return false;
    if (y->rank < 1 || cols_of(y) < 7 || cols_of(y) % 6 != 1)
        return heed_op_fail(c, HEED_ERR_SHAPE, "the last axis of shape %s is not 6 M + 1", heed_shape_text(y).s);
    if (!fits(x, y, y->rank) || cols_of(x) != 2 || !fits(pen, y, y->rank - 1))
        return heed_op_fail(c, HEED_ERR_SHAPE, "steps of shape %s and pens of shape %s do not fit %s",
                            heed_shape_text(x).s, heed_shape_text(pen).s, heed_shape_text(y).s);
    if ((int)a->reduction < HEED_REDUCE_MEAN || a->reduction > HEED_REDUCE_NONE)
        return heed_op_fail(c, HEED_ERR_USAGE, "%d is not a reduction", (int)a->reduction);
    c->save_in = 7;
    if (a->reduction == HEED_REDUCE_NONE) return heed_op_out(c, 0, HEED_F32, y->rank - 1, y->shape);
    c->work_forward = (size_t)rows_of(y) * sizeof(float);
    return heed_op_out(c, 0, HEED_F32, 0, NULL);
}

static struct mixture rows_for(const heed_op_call *c) {
    return (struct mixture){.rows = rows_of(c->in[0]),
                            .m = cols_of(c->in[0]) / 6,
                            .y = f32_of(c->in[0]),
                            .x = f32_of(c->in[1]),
                            .pen = i32_of(c->in[2])};
}

/* 1 for a sum; the mean divides by the rows that count, and is 0 when none does. */
static double scale_for(const heed_op_call *c, const struct mixture *mix) {
    int64_t counted = 0;
    if (((const struct mixture_attr *)c->attr)->reduction != HEED_REDUCE_MEAN) return 1;
    for (int64_t i = 0; i < mix->rows; i++) counted += mix->pen[i] >= 0;
    return counted > 0 ? 1.0 / (double)counted : 0;
}

static bool mixture_forward(heed_op_call *c) {
    const bool each = ((const struct mixture_attr *)c->attr)->reduction == HEED_REDUCE_NONE;
    const struct mixture mix = rows_for(c);
    float *const loss = each ? heed_op_f32(c, 0) : c->work;
    for (int64_t i = 0; i < mix.rows; i++)
        if (mix.pen[i] > 1)
            return heed_op_fail(c, HEED_ERR_RANGE, "pen %d at place %lld is neither 0 nor 1", (int)mix.pen[i],
                                (long long)i);
    kernel_mixture(pool_of(c), &mix, loss);
    if (!each) *heed_op_f32(c, 0) = (float)(kernel_sum_in_order(loss, mix.rows) * scale_for(c, &mix));
    return true;
}

static bool mixture_backward(heed_op_call *c) {
    const bool each = ((const struct mixture_attr *)c->attr)->reduction == HEED_REDUCE_NONE;
    const struct mixture mix = rows_for(c);
    kernel_mixture_grad(pool_of(c), &mix, c->dout[0], each, (float)scale_for(c, &mix), c->din[0], c->din[1]);
    return true;
}

const heed_op op_mixture_loss = {.name = "mixture_loss",
                                 .infer = mixture_infer,
                                 .forward = mixture_forward,
                                 .backward = mixture_backward,
                                 .attr_size = sizeof(struct mixture_attr)};

heed_tensor *heed_mixture_loss(heed_ctx *cx, heed_tensor *y, heed_tensor *x, heed_tensor *pen,
                               heed_reduction reduction) {
    const struct mixture_attr a = {reduction};
    return apply1(cx, &op_mixture_loss, &a, (heed_tensor *[]){y, x, pen}, 3);
}
