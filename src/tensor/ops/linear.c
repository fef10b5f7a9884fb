/* The linear layer with its bias and activation on the way out.   y = act(x W' + b)
 *   dpre = dy act',  dx = dpre W,  dW = dpre' x,  db = sum of dpre's rows        x (…,K), W (N,K), b (N), y (…,N)
 * x and W may be strided by rows: parts of a fused projection need no copy. */
#include "kernel/activation.h"
#include "kernel/gemm.h"
#include "kernel/reduce.h"
#include "tensor/engine.h"
#include "tensor/ops.h"

struct linear_attr {
    enum activation act;
};

static bool linear_infer(heed_op_call *c) {
    const enum activation act = ((const struct linear_attr *)c->attr)->act;
    const heed_tensor *x = c->in[0], *w = c->in[1], *b = c->in[2];
    if (!heed_op_want(c, 0, HEED_F32) || !heed_op_want(c, 1, HEED_F32) || (b && !heed_op_want(c, 2, HEED_F32)))
        return false;
    if (x->rank < 1 || w->rank != 2 || cols_of(x) != cols_of(w))
        return heed_op_fail(c, HEED_ERR_SHAPE, "x of shape %s does not fit a weight of shape %s: (…,in) and (out,in)",
                            heed_shape_text(x).s, heed_shape_text(w).s);
    if (b && (b->rank != 1 || b->shape[0] != w->shape[0]))
        return heed_op_fail(c, HEED_ERR_SHAPE, "a bias of shape %s does not fit a weight of shape %s",
                            heed_shape_text(b).s, heed_shape_text(w).s);
    int64_t shape[HEED_MAX_RANK];
    for (int i = 0; i < x->rank; i++) shape[i] = x->shape[i];
    shape[x->rank - 1] = w->shape[0];
    if (!heed_op_out(c, 0, HEED_F32, x->rank, shape)) return false;
    const size_t bytes = (size_t)c->out[0]->count * sizeof(float);
    c->save_in = (c->wants[1] ? 1u : 0) | (c->wants[0] ? 2u : 0);
    c->save_out = act != ACT_NONE && !act_reads_argument(act);
    c->state_size = c->recording && act_reads_argument(act) ? bytes : 0;
    c->work_backward = act != ACT_NONE ? bytes : 0;
    return true;
}

static bool linear_forward(heed_op_call *c) {
    const heed_tensor *x = c->in[0], *w = c->in[1], *b = c->in[2];
    struct gemm g = {.m = rows_of(x),
                     .n = w->shape[0],
                     .k = cols_of(x),
                     .a = f32_of(x),
                     .b = f32_of(w),
                     .trans_b = true,
                     .c = heed_op_f32(c, 0),
                     .ldc = w->shape[0],
                     .alpha = 1,
                     .bias = b ? f32_of(b) : NULL,
                     .act = ((const struct linear_attr *)c->attr)->act,
                     .pre = c->state};
    heed_row_stride(x, &g.lda);
    heed_row_stride(w, &g.ldb);
    kernel_gemm(pool_of(c), &g);
    return true;
}

static bool linear_backward(heed_op_call *c) {
    const enum activation act = ((const struct linear_attr *)c->attr)->act;
    const heed_tensor *x = c->in[0], *w = c->in[1];
    const int64_t rows = rows_of(x), in = cols_of(x), out = w->shape[0];
    const float *dpre = c->dout[0];
    if (act != ACT_NONE) {
        kernel_act_grad(pool_of(c), c->work, dpre, act_reads_argument(act) ? c->state : f32_of(c->out[0]), rows * out,
                        act);
        dpre = c->work;
    }
    if (c->din[0]) {
        struct gemm g = {
            .m = rows, .n = in, .k = out, .a = dpre, .lda = out, .b = f32_of(w), .c = c->din[0], .ldc = in};
        g.add = c->add[0], g.alpha = 1;
        heed_row_stride(w, &g.ldb);
        kernel_gemm(pool_of(c), &g);
    }
    if (c->din[1]) {
        struct gemm g = {
            .m = out, .n = in, .k = rows, .a = dpre, .lda = out, .b = f32_of(x), .c = c->din[1], .ldc = in};
        g.trans_a = true, g.add = c->add[1], g.alpha = 1;
        heed_row_stride(x, &g.ldb);
        kernel_gemm(pool_of(c), &g);
    }
    if (c->din[2])
        kernel_reduce_to(pool_of(c), c->din[2], (struct bcast_operand){1, (int64_t[]){out}}, dpre,
                         (struct bcast_operand){2, (int64_t[]){rows, out}}, c->add[2]);
    return true;
}

const heed_op op_linear = {.name = "linear",
                           .infer = linear_infer,
                           .forward = linear_forward,
                           .backward = linear_backward,
                           .flags = HEED_OP_ADDS | HEED_OP_STRIDED,
                           .optional = 4,
                           .attr_size = sizeof(struct linear_attr)};

_Static_assert((int)HEED_ACT_SOFTPLUS == (int)ACT_SOFTPLUS && (int)HEED_ACT_GELU == (int)ACT_GELU,
               "the public activations are the kernel's");

heed_tensor *heed_linear_act(heed_ctx *cx, heed_tensor *x, heed_tensor *weight, heed_tensor *bias,
                             heed_activation act) {
    if (heed_failed(cx)) return NULL;
    if ((int)act < HEED_ACT_NONE || act > HEED_ACT_SOFTPLUS) {
        heed_fail(cx, HEED_ERR_USAGE, "linear: %d is not an activation", (int)act);
        return NULL;
    }
    int64_t stride;
    if (x && !heed_row_stride(x, &stride)) x = heed_contiguous(cx, x);
    if (weight && !heed_row_stride(weight, &stride)) weight = heed_contiguous(cx, weight);
    if (bias) bias = heed_contiguous(cx, bias);
    return apply1(cx, &op_linear, &(struct linear_attr){(enum activation)act}, (heed_tensor *[]){x, weight, bias}, 3);
}
heed_tensor *heed_linear(heed_ctx *cx, heed_tensor *x, heed_tensor *weight, heed_tensor *bias) {
    return heed_linear_act(cx, x, weight, bias, HEED_ACT_NONE);
}
