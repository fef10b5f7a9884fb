/* Losses of pairs of numbers: squared, absolute, Huber, binary cross entropy on logits, Kullback-Leibler. The formulas
 * are in kernel/loss.h. */
#include "kernel/loss.h"
#include "tensor/engine.h"
#include "tensor/ops.h"
#include <math.h>

struct pair_attr {
    enum pair_loss loss;
    float delta;
    heed_reduction reduction;
};

static bool pair_infer(heed_op_call *c) {
    const struct pair_attr *a = c->attr;
    const heed_tensor *x = c->in[0], *y = c->in[1];
    if (!heed_op_want(c, 0, HEED_F32) || !heed_op_want(c, 1, HEED_F32)) return false;
    if (!same_shape(x, y))
        return heed_op_fail(c, HEED_ERR_SHAPE, "shapes %s and %s differ", heed_shape_text(x).s, heed_shape_text(y).s);
    if ((int)a->reduction < HEED_REDUCE_MEAN || a->reduction > HEED_REDUCE_NONE)
        return heed_op_fail(c, HEED_ERR_USAGE, "%d is not a reduction", (int)a->reduction);
    if (a->loss == LOSS_HUBER && !(a->delta > 0))
        return heed_op_fail(c, HEED_ERR_RANGE, "delta = %g is not above 0", (double)a->delta);
    c->save_in = 3;
    return a->reduction == HEED_REDUCE_NONE ? heed_op_like(c, 0, 0) : heed_op_out(c, 0, HEED_F32, 0, NULL);
}
static bool pair_forward(heed_op_call *c) {
    const struct pair_attr *a = c->attr;
    const int64_t n = c->in[0]->count;
    float *y = heed_op_f32(c, 0);
    const bool each = a->reduction == HEED_REDUCE_NONE;
    const double sum =
        kernel_pair_loss(pool_of(c), a->loss, a->delta, each ? y : NULL, f32_of(c->in[0]), f32_of(c->in[1]), n);
    if (!each) *y = (float)(a->reduction == HEED_REDUCE_SUM ? sum : sum / (double)n);
    return true;
}
static bool pair_backward(heed_op_call *c) {
    const struct pair_attr *a = c->attr;
    const int64_t n = c->in[0]->count;
    const float scale = a->reduction == HEED_REDUCE_MEAN ? (float)(1.0 / (double)n) : 1;
    for (int i = 0; i < 2; i++)
        if (c->din[i])
            kernel_pair_loss_grad(pool_of(c), a->loss, a->delta, i == 1, c->din[i], c->dout[0],
                                  a->reduction == HEED_REDUCE_NONE, scale, f32_of(c->in[0]), f32_of(c->in[1]), n,
                                  c->add[i]);
    return true;
}

#define PAIR_OP(name_)                                                                                                 \
    const heed_op op_##name_ = {.name = #name_,                                                                        \
                                .infer = pair_infer,                                                                   \
                                .forward = pair_forward,                                                               \
                                .backward = pair_backward,                                                             \
                                .flags = HEED_OP_ADDS,                                                                 \
                                .attr_size = sizeof(struct pair_attr)};
#define PAIR_LOSS(name, loss_)                                                                                         \
    PAIR_OP(name)                                                                                                      \
    heed_tensor *heed_##name(heed_ctx *cx, heed_tensor *x, heed_tensor *y, heed_reduction reduction) {                 \
        const struct pair_attr a = {.loss = loss_, .reduction = reduction};                                            \
        return apply1(cx, &op_##name, &a, (heed_tensor *[]){x, y}, 2);                                                 \
    }

PAIR_LOSS(mse_loss, LOSS_SQUARE)
PAIR_LOSS(l1_loss, LOSS_ABSOLUTE)
PAIR_LOSS(bce_loss, LOSS_BCE)
PAIR_LOSS(kl_loss, LOSS_KL)
PAIR_OP(huber_loss)

heed_tensor *heed_huber_loss(heed_ctx *cx, heed_tensor *x, heed_tensor *y, float delta, heed_reduction reduction) {
    const struct pair_attr a = {.loss = LOSS_HUBER, .delta = delta, .reduction = reduction};
    return apply1(cx, &op_huber_loss, &a, (heed_tensor *[]){x, y}, 2);
}
