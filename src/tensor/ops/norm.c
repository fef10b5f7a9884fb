/* Layer norm (Ba et al. 2016) and RMS norm (Zhang & Sennrich 2019) over the last axis, alone or with the residual added
 * first. h = x + residual,  y = (h - mean h) / sqrt(var h + eps) * gamma + beta        RMS: no mean, avg h^2 for var,
 * no beta h: (…,C); gamma, beta: (C). The gradient of h goes to x and residual alike. */
#include "kernel/move.h"
#include "kernel/rows.h"
#include "tensor/engine.h"
#include "tensor/ops.h"

struct norm_attr {
    bool centre, residual;
    float eps;
};

/* Inputs: x, [residual,] gamma, beta. Outputs: y [, h]. State: rstd, and the means of a layer norm, one a row. */
enum { PLAIN_GAMMA = 1, RESIDUAL_GAMMA = 2 };

static int gamma_at(const heed_op_call *c) {
    return ((const struct norm_attr *)c->attr)->residual ? RESIDUAL_GAMMA : PLAIN_GAMMA;
}
static const float *numbers_or_null(const heed_tensor *t) { return t ? f32_of(t) : NULL; }

static bool norm_infer(heed_op_call *c) {
    const struct norm_attr *a = c->attr;
    const heed_tensor *x = c->in[0];
    const int64_t rows = rows_of(x), cols = cols_of(x);
    const int g = gamma_at(c);
    if (!heed_op_want(c, 0, HEED_F32)) return false;
    if (!(a->eps >= 0)) return heed_op_fail(c, HEED_ERR_RANGE, "eps = %g is negative", (double)a->eps);
    if (x->rank == 0) return heed_op_fail(c, HEED_ERR_SHAPE, "x needs at least one axis");
    for (int i = g; i < c->n_in; i++) {
        if (!c->in[i]) continue;
        if (!heed_op_want(c, i, HEED_F32)) return false;
        if (c->in[i]->rank != 1 || c->in[i]->shape[0] != cols)
            return heed_op_fail(c, HEED_ERR_SHAPE, "%s of shape %s does not fit x of shape %s",
                                i == g ? "gamma" : "beta", heed_shape_text(c->in[i]).s, heed_shape_text(x).s);
    }
    if (a->residual) {
        const heed_tensor *r = c->in[1];
        if (!heed_op_want(c, 1, HEED_F32)) return false;
        if (!same_shape(r, x))
            return heed_op_fail(c, HEED_ERR_SHAPE, "residual of shape %s does not fit x of shape %s",
                                heed_shape_text(r).s, heed_shape_text(x).s);
        if (!heed_op_like(c, 1, 0)) return false;
        heed_op_pass(c, 0, 1);
        heed_op_pass(c, 1, 1);
        if (c->wants[0] || c->wants[1]) heed_op_fold(c, 1);
    }
    c->save_in = (a->residual ? 0u : 1u) | (c->in[g] && c->wants[0] ? 1u << g : 0u);
    if (c->in[g] && a->residual && c->wants[1]) c->save_in |= 1u << g;
    c->save_out = a->residual ? 2u : 0u;
    c->state_size = (size_t)rows * sizeof(float) * (a->centre ? 2 : 1);
    bool sums = false;
    for (int i = g; i < c->n_in; i++) sums |= c->wants[i];
    if (sums) c->work_backward = (size_t)kernel_norm_grad_work(rows, cols) * sizeof(float);
    return heed_op_like(c, 0, 0);
}

static bool norm_forward(heed_op_call *c) {
    const struct norm_attr *a = c->attr;
    const int g = gamma_at(c);
    const int64_t rows = rows_of(c->in[0]);
    const struct norm norm = {.rows = rows,
                              .cols = cols_of(c->in[0]),
                              .centre = a->centre,
                              .eps = a->eps,
                              .x = f32_of(c->in[0]),
                              .r = a->residual ? f32_of(c->in[1]) : NULL,
                              .gamma = numbers_or_null(c->in[g]),
                              .beta = a->centre ? numbers_or_null(c->in[g + 1]) : NULL,
                              .y = heed_op_f32(c, 0),
                              .h = a->residual ? heed_op_f32(c, 1) : NULL,
                              .rstd = c->state,
                              .mean = a->centre ? (float *)c->state + rows : NULL};
    kernel_norm(pool_of(c), &norm);
    return true;
}

static bool norm_backward(heed_op_call *c) {
    const struct norm_attr *a = c->attr;
    const int g = gamma_at(c);
    const int64_t rows = rows_of(c->in[0]), cols = cols_of(c->in[0]);
    float *dgamma = c->din[g], *dbeta = a->centre ? c->din[g + 1] : NULL;
    float *dx = a->residual ? c->fold : c->din[0];
    const bool add = a->residual && c->fold_add;
    if (!c->dout[0]) { /* only h was used: nothing comes through the norm */
        if (dx && !add) kernel_clear(pool_of(c), dx, rows * cols);
        if (dgamma) kernel_clear(pool_of(c), dgamma, cols);
        if (dbeta) kernel_clear(pool_of(c), dbeta, cols);
        return true;
    }
    const struct norm_grad grad = {.rows = rows,
                                   .cols = cols,
                                   .dy = c->dout[0],
                                   .h = f32_of(a->residual ? c->out[1] : c->in[0]),
                                   .rstd = c->state,
                                   .mean = a->centre ? (const float *)c->state + rows : NULL,
                                   .gamma = numbers_or_null(c->in[g]),
                                   .dx = dx,
                                   .add = add,
                                   .dgamma = dgamma,
                                   .dbeta = dbeta,
                                   .work = c->work};
    kernel_norm_grad(pool_of(c), &grad);
    return true;
}

#define NORM_OP(name_, optional_)                                                                                      \
    const heed_op op_##name_ = {.name = #name_,                                                                        \
                                .infer = norm_infer,                                                                   \
                                .forward = norm_forward,                                                               \
                                .backward = norm_backward,                                                             \
                                .optional = optional_,                                                                 \
                                .attr_size = sizeof(struct norm_attr)};
NORM_OP(layer_norm, 2 | 4)
NORM_OP(rms_norm, 2)
NORM_OP(add_layer_norm, 4 | 8)
NORM_OP(add_rms_norm, 4)

heed_tensor *heed_layer_norm(heed_ctx *cx, heed_tensor *x, heed_tensor *gamma, heed_tensor *beta, float eps) {
    const struct norm_attr a = {.centre = true, .eps = eps};
    return apply1(cx, &op_layer_norm, &a, (heed_tensor *[]){x, gamma, beta}, 3);
}
heed_tensor *heed_rms_norm(heed_ctx *cx, heed_tensor *x, heed_tensor *gamma, float eps) {
    return apply1(cx, &op_rms_norm, &(struct norm_attr){.eps = eps}, (heed_tensor *[]){x, gamma}, 2);
}

static heed_tensor *with_residual(heed_ctx *cx, const heed_op *op, const struct norm_attr *a, heed_tensor *const *in,
                                  int n, heed_tensor **h) {
    heed_tensor *out[2];
    heed_apply(cx, op, a, in, n, out, 2);
    if (h) *h = out[1];
    return out[0];
}
heed_tensor *heed_add_layer_norm(heed_ctx *cx, heed_tensor *x, heed_tensor *residual, heed_tensor *gamma,
                                 heed_tensor *beta, float eps, heed_tensor **h) {
    const struct norm_attr a = {.centre = true, .residual = true, .eps = eps};
    return with_residual(cx, &op_add_layer_norm, &a, (heed_tensor *[]){x, residual, gamma, beta}, 4, h);
}
heed_tensor *heed_add_rms_norm(heed_ctx *cx, heed_tensor *x, heed_tensor *residual, heed_tensor *gamma, float eps,
                               heed_tensor **h) {
    const struct norm_attr a = {.residual = true, .eps = eps};
    return with_residual(cx, &op_add_rms_norm, &a, (heed_tensor *[]){x, residual, gamma}, 3, h);
}
