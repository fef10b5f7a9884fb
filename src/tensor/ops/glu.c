/* Gated linear unit (Dauphin et al. 2017).   y = a s,   s = sigmoid(b),   x = (a, b) along the last axis
 *   da = dy s,   db = dy a s (1 - s)        x (…,2N), y (…,N) */
#include "kernel/rows.h"
#include "tensor/engine.h"
#include "tensor/ops.h"

static bool glu_infer(heed_op_call *c) {
    const heed_tensor *x = c->in[0];
    int64_t shape[HEED_MAX_RANK];
    if (!heed_op_want(c, 0, HEED_F32)) return false;
    if (x->rank < 1 || cols_of(x) % 2 != 0)
        return heed_op_fail(c, HEED_ERR_SHAPE, "the last axis of shape %s does not have two halves",
                            heed_shape_text(x).s);
    for (int i = 0; i < x->rank; i++) shape[i] = x->shape[i];
    shape[x->rank - 1] /= 2;
    return heed_op_out(c, 0, HEED_F32, x->rank, shape);
}

static void forward_rows(const void *arg, int64_t first, int64_t rows) {
    const heed_op_call *c = arg;
    const int64_t n = cols_of(c->out[0]);
    isa_get()->glu_rows((float *)(void *)c->out[0]->data + first * n, f32_of(c->in[0]) + first * 2 * n, rows, n);
}

static bool glu_forward(heed_op_call *c) {
    kernel_rows(pool_of(c), rows_of(c->in[0]), cols_of(c->in[0]), forward_rows, c);
    return true;
}

static void backward_rows(const void *arg, int64_t first, int64_t rows) {
    const heed_op_call *c = arg;
    const int64_t n = cols_of(c->out[0]);
    isa_get()->glu_grad_rows(c->din[0] + first * 2 * n, f32_of(c->in[0]) + first * 2 * n, c->dout[0] + first * n, rows,
                             n);
}

static bool glu_backward(heed_op_call *c) {
    kernel_rows(pool_of(c), rows_of(c->in[0]), cols_of(c->in[0]), backward_rows, c);
    return true;
}

const heed_op op_glu = {
    .name = "glu", .infer = glu_infer, .forward = glu_forward, .backward = glu_backward, .save_in = 1};

heed_tensor *heed_glu(heed_ctx *cx, heed_tensor *x) { return apply1(cx, &op_glu, NULL, &x, 1); }
