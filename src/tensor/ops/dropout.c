/* Dropout (Srivastava et al. 2014).   y = x keep / (1 - p), dx = dy keep / (1 - p), keep_i = [u_i >= p]
 * u are counter-based random numbers of (seed, step, number of random ops before): the mask depends neither on threads
 * nor on resuming. One bit a number is kept for backward. */
#include "kernel/rows.h"
#include "tensor/engine.h"
#include "tensor/ops.h"

struct dropout_attr {
    float p;
    uint64_t stream;
};

static bool dropout_infer(heed_op_call *c) {
    const struct dropout_attr *a = c->attr;
    if (!heed_op_want(c, 0, HEED_F32)) return false;
    if (!(a->p >= 0 && a->p <= 1))
        return heed_op_fail(c, HEED_ERR_RANGE, "p = %g is not between 0 and 1", (double)a->p);
    c->state_size = (size_t)kernel_dropout_words(c->in[0]->count) * sizeof(uint64_t);
    return heed_op_like(c, 0, 0);
}
static bool dropout_forward(heed_op_call *c) {
    const struct dropout_attr *a = c->attr;
    const struct dropout drop = {.p = a->p, .seed = c->cx->seed, .stream = a->stream};
    kernel_dropout(pool_of(c), heed_op_f32(c, 0), c->state, f32_of(c->in[0]), c->in[0]->count, &drop);
    return true;
}
static bool dropout_backward(heed_op_call *c) {
    const struct dropout_attr *a = c->attr;
    kernel_dropout_grad(pool_of(c), c->din[0], c->state, c->dout[0], c->in[0]->count, a->p, c->add[0]);
    return true;
}
const heed_op op_dropout = {.name = "dropout",
                            .infer = dropout_infer,
                            .forward = dropout_forward,
                            .backward = dropout_backward,
                            .flags = HEED_OP_ADDS,
                            .attr_size = sizeof(struct dropout_attr)};

heed_tensor *heed_dropout(heed_ctx *cx, heed_tensor *x, float p) {
    const struct engine *e = engine_of(cx);
    if (!e) return NULL;
    if (x && p >= 0 && p <= 1 && (!e->training || p == 0)) return x;
    return apply1(cx, &op_dropout, &(struct dropout_attr){p, engine_next_stream(cx)}, &x, 1);
}
