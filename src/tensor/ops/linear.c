/* The linear layer with its bias and activation as the epilogue of the product.   y = act(x W' + b)
 *   dpre = dy act',  dx = dpre W,  dW = dpre' x,  db = sum of dpre's rows        x (…,K), W (N,K), b (N), y (…,N)
 * x and W may be strided by rows: parts of a fused projection need no copy. Transposed, W is stored (K,N), as GPT-2's
 * Conv1D has it:  y = act(x W + b),  dx = dpre W',  dW = x' dpre. W may be stored in 16 bits; then it is frozen. */
#include "kernel/elementwise.h"
#include "kernel/gemm.h"
#include "kernel/reduce.h"
#include "tensor/engine.h"
#include "tensor/ops.h"
#include "tensor/stored.h"

struct linear_attr {
    enum activation act;
    bool transposed;
};

static int64_t outputs_of(const heed_op_call *c) {
    return c->in[1]->shape[((const struct linear_attr *)c->attr)->transposed ? 1 : 0];
}

/* What the activation's gradient reads: its argument, which is kept as state, or the output. */
static enum unary_reads act_reads(enum activation act) {
    return act == ACT_NONE ? READS_NOTHING : kernel_unary_reads(kernel_activation(act).fn);
}

/* What a profile says: the activation is computed on the way out of the product. */
static const char *linear_label(enum activation act) {
    static const char *const labels[ACT_COUNT] = {
        [ACT_NONE] = "linear",
#define ACTIVATION(name, NAME, ...) [ACT_##NAME] = "linear, " #name,
#include "kernel/functions.def"
    };
    return labels[act];
}

static bool linear_infer(heed_op_call *c) {
    const struct linear_attr *attr = c->attr;
    const enum activation act = attr->act;
    const heed_tensor *x = c->in[0], *w = c->in[1], *b = c->in[2];
    if (!heed_op_want(c, 0, HEED_F32) || !want_real(c, 1) || (b && !heed_op_want(c, 2, HEED_F32))) return false;
    if (x->rank < 1 || w->rank != 2 || cols_of(x) != w->shape[attr->transposed ? 0 : 1])
        return heed_op_fail(c, HEED_ERR_SHAPE, "x of shape %s does not fit a weight of shape %s: (…,in) and %s",
                            heed_shape_text(x).s, heed_shape_text(w).s, attr->transposed ? "(in,out)" : "(out,in)");
    if (b && (b->rank != 1 || b->shape[0] != outputs_of(c)))
        return heed_op_fail(c, HEED_ERR_SHAPE, "a bias of shape %s does not fit a weight of shape %s",
                            heed_shape_text(b).s, heed_shape_text(w).s);
    int64_t shape[HEED_MAX_RANK];
    for (int i = 0; i < x->rank; i++) shape[i] = x->shape[i];
    shape[x->rank - 1] = outputs_of(c);
    if (!heed_op_out(c, 0, HEED_F32, x->rank, shape)) return false;
    const size_t bytes = (size_t)c->out[0]->count * sizeof(float);
    c->label = linear_label(act);
    c->save_in = (c->wants[1] ? 1u : 0) | (c->wants[0] ? 2u : 0);
    c->save_out = act_reads(act) == READS_Y;
    c->state_size = c->recording && act_reads(act) == READS_X ? bytes : 0;
    c->work_backward = act != ACT_NONE ? bytes : 0;
    return true;
}

static bool linear_forward(heed_op_call *c) {
    const struct linear_attr *attr = c->attr;
    const heed_tensor *x = c->in[0], *w = c->in[1], *b = c->in[2];
    struct gemm g = {.m = rows_of(x),
                     .n = outputs_of(c),
                     .k = cols_of(x),
                     .a = f32_of(x),
                     .b = w->data,
                     .b_type = stored_of(w->dtype),
                     .trans_b = !attr->transposed,
                     .packed = w->packed,
                     .c = heed_op_f32(c, 0),
                     .ldc = outputs_of(c),
                     .alpha = 1,
                     .bias = b ? f32_of(b) : NULL,
                     .act = attr->act,
                     .pre = c->state};
    heed_row_stride(x, &g.lda);
    heed_row_stride(w, &g.ldb);
    kernel_gemm(pool_of(c), &g);
    return true;
}

static bool linear_backward(heed_op_call *c) {
    const struct linear_attr *attr = c->attr;
    const enum activation act = attr->act;
    const heed_tensor *x = c->in[0], *w = c->in[1];
    const int64_t rows = rows_of(x), in = cols_of(x), out = outputs_of(c);
    const float *dpre = c->dout[0];
    if (act != ACT_NONE) {
        const struct activation_fn a = kernel_activation(act);
        const float *saved = act_reads(act) == READS_X ? c->state : f32_of(c->out[0]);
        kernel_unary_grad(pool_of(c), a.fn, c->work, dpre, saved, rows * out, a.a, a.b, false);
        dpre = c->work;
    }
    if (c->din[0]) {
        struct gemm g = {.m = rows, .n = in, .k = out, .a = dpre, .lda = out, .b = w->data, .c = c->din[0], .ldc = in};
        g.b_type = stored_of(w->dtype), g.trans_b = attr->transposed, g.add = c->add[0], g.alpha = 1;
        heed_row_stride(w, &g.ldb);
        kernel_gemm(pool_of(c), &g);
    }
    if (c->din[1] && attr->transposed) {
        struct gemm g = {
            .m = in, .n = out, .k = rows, .a = f32_of(x), .b = dpre, .ldb = out, .c = c->din[1], .ldc = out};
        g.trans_a = true, g.add = c->add[1], g.alpha = 1;
        heed_row_stride(x, &g.lda);
        kernel_gemm(pool_of(c), &g);
    } else if (c->din[1]) {
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

/* ---- with a batch norm behind it, of models that are only run ---- inputs: x, weight, bias, gamma, beta, mean,
 * variance
 */
struct normed_attr {
    struct linear_attr linear; /* first: linear_infer reads it */
    float eps;
};
enum { BIAS = 2, GAMMA, BETA, MEAN, VARIANCE, NORMED_INPUTS };

static bool normed_infer(heed_op_call *c) {
    if (!linear_infer(c)) return false;
    for (int i = GAMMA; i < NORMED_INPUTS; i++)
        if (c->in[i] && (!heed_op_want(c, i, HEED_F32) || c->in[i]->count != outputs_of(c)))
            return heed_op_fail(c, HEED_ERR_SHAPE, "a norm of %s does not fit %lld channels",
                                heed_shape_text(c->in[i]).s, (long long)outputs_of(c));
    c->label = "linear, norm";
    c->work_forward = 2 * (size_t)outputs_of(c) * sizeof(float);
    return true;
}

static bool normed_forward(heed_op_call *c) {
    const struct normed_attr *const a = c->attr;
    const heed_tensor *x = c->in[0], *w = c->in[1];
    const int64_t out = outputs_of(c);
    const float *in[NORMED_INPUTS] = {NULL};
    for (int i = BIAS; i < NORMED_INPUTS; i++) in[i] = c->in[i] ? f32_of(c->in[i]) : NULL;
    const struct gemm_norm norm = {c->work, (float *)c->work + out, true};
    norm_fold(out, in + BIAS, a->eps, c->work, (float *)c->work + out);
    struct gemm g = {.m = rows_of(x),
                     .n = out,
                     .k = cols_of(x),
                     .a = f32_of(x),
                     .b = w->data,
                     .b_type = stored_of(w->dtype),
                     .trans_b = true,
                     .packed = w->packed,
                     .c = heed_op_f32(c, 0),
                     .ldc = out,
                     .alpha = 1,
                     .norm = &norm};
    heed_row_stride(x, &g.lda);
    heed_row_stride(w, &g.ldb);
    kernel_gemm(pool_of(c), &g);
    return true;
}

static const heed_op op_normed = {.name = "linear",
                                  .infer = normed_infer,
                                  .forward = normed_forward,
                                  .flags = HEED_OP_NONDIFF,
                                  .optional = 1u << BIAS | 1u << GAMMA | 1u << BETA,
                                  .attr_size = sizeof(struct normed_attr)};

heed_tensor *op_linear_normed(heed_ctx *cx, heed_tensor *x, const struct normed *n) {
    return apply1(cx, &op_normed, &(struct normed_attr){.eps = n->eps},
                  (heed_tensor *[]){x, n->weight, n->bias, n->gamma, n->beta, n->mean, n->variance}, NORMED_INPUTS);
}

static heed_tensor *linear(heed_ctx *cx, heed_tensor *x, heed_tensor *weight, heed_tensor *bias, heed_activation act,
                           bool transposed) {
    if (heed_failed(cx)) return NULL;
    if ((int)act < 0 || (int)act >= ACT_COUNT) {
        heed_fail(cx, HEED_ERR_USAGE, "linear: %d is not an activation", (int)act);
        return NULL;
    }
    int64_t stride;
    if (x && !heed_row_stride(x, &stride)) x = heed_contiguous(cx, x);
    if (weight && !heed_row_stride(weight, &stride)) weight = heed_contiguous(cx, weight);
    if (bias) bias = heed_contiguous(cx, bias);
    return apply1(cx, &op_linear, &(struct linear_attr){(enum activation)act, transposed},
                  (heed_tensor *[]){x, weight, bias}, 3);
}

heed_tensor *heed_linear_act(heed_ctx *cx, heed_tensor *x, heed_tensor *weight, heed_tensor *bias,
                             heed_activation act) {
    return linear(cx, x, weight, bias, act, false);
}
heed_tensor *heed_linear_transposed(heed_ctx *cx, heed_tensor *x, heed_tensor *weight, heed_tensor *bias,
                                    heed_activation act) {
    return linear(cx, x, weight, bias, act, true);
}
heed_tensor *heed_linear(heed_ctx *cx, heed_tensor *x, heed_tensor *weight, heed_tensor *bias) {
    return heed_linear_act(cx, x, weight, bias, HEED_ACT_NONE);
}
