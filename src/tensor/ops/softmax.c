/* Softmax and its logarithm over an axis.   y_i = exp(x_i - max x) / sum_j exp(x_j - max x)
 *   softmax: dx = y (dy - sum dy y)        log-softmax: dx = dy - exp(y) sum dy        x, y: (…,N) */
#include "kernel/rows.h"
#include "tensor/engine.h"
#include "tensor/ops.h"

static bool softmax_infer(heed_op_call *c) { return heed_op_want(c, 0, HEED_F32) && heed_op_like(c, 0, 0); }

static bool softmax_forward(heed_op_call *c) {
    const int64_t n = cols_of(c->in[0]);
    kernel_softmax(pool_of(c), heed_op_f32(c, 0), n, f32_of(c->in[0]), n, rows_of(c->in[0]), n);
    return true;
}
static bool softmax_backward(heed_op_call *c) {
    const int64_t n = cols_of(c->in[0]);
    kernel_softmax_grad(pool_of(c), c->din[0], n, f32_of(c->out[0]), n, c->dout[0], n, rows_of(c->in[0]), n, c->add[0]);
    return true;
}
const heed_op op_softmax = {.name = "softmax",
                            .infer = softmax_infer,
                            .forward = softmax_forward,
                            .backward = softmax_backward,
                            .flags = HEED_OP_ADDS,
                            .save_out = 1};

static bool log_softmax_forward(heed_op_call *c) {
    const int64_t n = cols_of(c->in[0]);
    kernel_log_softmax(pool_of(c), heed_op_f32(c, 0), n, f32_of(c->in[0]), n, rows_of(c->in[0]), n);
    return true;
}
static bool log_softmax_backward(heed_op_call *c) {
    const int64_t n = cols_of(c->in[0]);
    kernel_log_softmax_grad(pool_of(c), c->din[0], n, f32_of(c->out[0]), n, c->dout[0], n, rows_of(c->in[0]), n,
                            c->add[0]);
    return true;
}
const heed_op op_log_softmax = {.name = "log_softmax",
                                .infer = softmax_infer,
                                .forward = log_softmax_forward,
                                .backward = log_softmax_backward,
                                .flags = HEED_OP_ADDS,
                                .save_out = 1};

/* Another axis than the last is moved there and back. */
static heed_tensor *along_axis(heed_ctx *cx, const heed_op *op, heed_tensor *x, int axis) {
    const int rank = heed_rank(x), at = axis_of(axis, rank);
    if (x && at < 0 && !(rank == 0 && (axis == 0 || axis == -1))) {
        heed_fail(cx, HEED_ERR_SHAPE, "%s: axis %d is out of range for shape %s", op->name, axis, heed_shape_text(x).s);
        return NULL;
    }
    if (!x || rank == 0 || at == rank - 1) return apply1(cx, op, NULL, &x, 1);
    x = heed_transpose(cx, x, at, rank - 1);
    return heed_transpose(cx, apply1(cx, op, NULL, &x, 1), at, rank - 1);
}

heed_tensor *heed_softmax(heed_ctx *cx, heed_tensor *x, int axis) { return along_axis(cx, &op_softmax, x, axis); }
heed_tensor *heed_log_softmax(heed_ctx *cx, heed_tensor *x, int axis) {
    return along_axis(cx, &op_log_softmax, x, axis);
}
