/* Batch norm (Ioffe & Szegedy 2015) and group norm (Wu & He 2018).
 *   y = (x - mean) / sqrt(var + eps) gamma + beta        x (B,C,…); gamma, beta (C); mean and var (biased) over
 *   batch norm: all but C, or given;   group norm: C / G channels of an example
 * With z = (x - mean) / sqrt(var + eps), g = dy gamma:   dx = (g - avg g - z avg(g z)) / sqrt(var + eps). */
#include "kernel/planes.h"
#include "tensor/engine.h"
#include "tensor/ops.h"
#include <math.h>

struct channel_attr {
    int64_t groups; /* of a group norm; 0: a batch norm */
    float eps;
    heed_running running; /* of a batch norm that trains */
};

/* Inputs: x, gamma, beta, and, of a batch norm, mean and variance, where they are given. State: mean, rstd. */
enum { X, GAMMA, BETA, MEAN, VARIANCE };

static bool is_given(const heed_op_call *c) { return c->n_in > MEAN && c->in[MEAN]; }

static struct channel_norm norm_of(const heed_op_call *c) {
    const struct channel_attr *const a = c->attr;
    const heed_tensor *const x = c->in[X];
    struct channel_norm n = {.batch = x->shape[0],
                             .channels = x->shape[1],
                             .n = 1,
                             .groups = a->groups,
                             .eps = a->eps,
                             .x = f32_of(x),
                             .gamma = c->in[GAMMA] ? f32_of(c->in[GAMMA]) : NULL,
                             .beta = c->in[BETA] ? f32_of(c->in[BETA]) : NULL,
                             .given = is_given(c)};
    for (int i = 2; i < x->rank; i++) n.n *= x->shape[i];
    return n;
}

static bool channel_infer(heed_op_call *c) {
    static const char *const names[] = {"x", "gamma", "beta", "mean", "variance"};
    const struct channel_attr *const a = c->attr;
    const heed_tensor *const x = c->in[X];
    if (!heed_op_want(c, X, HEED_F32)) return false;
    if (!(a->eps >= 0)) return heed_op_fail(c, HEED_ERR_RANGE, "eps = %g is negative", (double)a->eps);
    if (x->rank < 2) return heed_op_fail(c, HEED_ERR_SHAPE, "x of shape %s is not (B,C,…)", heed_shape_text(x).s);
    if (a->groups < 0 || (a->groups > 0 && x->shape[1] % a->groups != 0))
        return heed_op_fail(c, HEED_ERR_SHAPE, "%lld groups do not divide the %lld channels of x", (long long)a->groups,
                            (long long)x->shape[1]);
    for (int i = GAMMA; i < c->n_in; i++) {
        if (!c->in[i]) continue;
        if (!heed_op_want(c, i, HEED_F32)) return false;
        if (c->in[i]->rank != 1 || c->in[i]->shape[0] != x->shape[1])
            return heed_op_fail(c, HEED_ERR_SHAPE, "%s of shape %s does not fit x of shape %s", names[i],
                                heed_shape_text(c->in[i]).s, heed_shape_text(x).s);
    }
    if (c->n_in > MEAN && !c->in[MEAN] != !c->in[VARIANCE])
        return heed_op_fail(c, HEED_ERR_USAGE, "mean and variance are given together or not at all");
    const struct channel_norm n = norm_of(c);
    if (!a->groups && !n.given && n.batch * n.n == 1)
        return heed_op_fail(c, HEED_ERR_SHAPE, "x of shape %s has one number a channel, which has no variance",
                            heed_shape_text(x).s);
    c->save_in = 1u << X | (c->in[GAMMA] ? 1u << GAMMA : 0);
    c->state_size = (size_t)(2 * kernel_channel_norm_statistics(&n)) * sizeof(float);
    const size_t sums = (size_t)kernel_channel_norm_work(&n) * sizeof(double);
    const size_t here = (size_t)(3 * kernel_channel_norm_statistics(&n)) * sizeof(float);
    c->work_forward = sums + here; /* without a gradient there is no state */
    c->work_backward = sums;
    return heed_op_like(c, 0, X);
}

/* As torch's: the running variance takes the unbiased one. */
static void run_on(const struct channel_norm *n, const heed_running *r) {
    const double numbers = (double)(n->batch * n->n), unbiased = numbers / (numbers - 1);
    if (numbers < 2) return;
    if (r->count) *r->count += 1;
    const float rate = r->momentum > 0 ? r->momentum : r->count ? 1 / *r->count : 0;
    for (int64_t c = 0; c < n->channels; c++) {
        if (r->mean) r->mean[c] += rate * (n->mean[c] - r->mean[c]);
        if (r->variance) r->variance[c] += rate * ((float)(unbiased * (double)n->variance[c]) - r->variance[c]);
    }
}

static bool channel_forward(heed_op_call *c) {
    const struct channel_attr *const a = c->attr;
    struct channel_norm n = norm_of(c);
    const int64_t statistics = kernel_channel_norm_statistics(&n);
    n.work = c->work;
    float *const here = (float *)(void *)(n.work + kernel_channel_norm_work(&n));
    n.mean = c->state ? c->state : here;
    n.rstd = n.mean + statistics;
    n.variance = here + 2 * statistics;
    for (int64_t i = 0; n.given && i < statistics; i++) {
        n.mean[i] = f32_of(c->in[MEAN])[i];
        n.rstd[i] = 1 / sqrtf(f32_of(c->in[VARIANCE])[i] + a->eps);
    }
    kernel_channel_norm(pool_of(c), &n, heed_op_f32(c, 0));
    if (!a->groups && !n.given) run_on(&n, &a->running);
    return true;
}

static bool channel_backward(heed_op_call *c) {
    struct channel_norm n = norm_of(c);
    n.work = c->work;
    n.mean = c->state;
    n.rstd = n.mean + kernel_channel_norm_statistics(&n);
    kernel_channel_norm_grad(pool_of(c), &n, c->din[X], false, c->din[GAMMA], c->din[BETA], c->dout[0]);
    return true;
}

void norm_fold(int64_t channels, const float *const in[5], float eps, float *scale, float *shift) {
    const float *const bias = in[0], *const gamma = in[1], *const beta = in[2], *const mean = in[3];
    for (int64_t c = 0; c < channels; c++) {
        scale[c] = (gamma ? gamma[c] : 1) / sqrtf(in[4][c] + eps);
        shift[c] = (beta ? beta[c] : 0) + ((bias ? bias[c] : 0) - mean[c]) * scale[c];
    }
}

const heed_op op_batch_norm = {.name = "batch_norm",
                               .infer = channel_infer,
                               .forward = channel_forward,
                               .backward = channel_backward,
                               .optional = 2 | 4 | 8 | 16,
                               .attr_size = sizeof(struct channel_attr)};
const heed_op op_group_norm = {.name = "group_norm",
                               .infer = channel_infer,
                               .forward = channel_forward,
                               .backward = channel_backward,
                               .optional = 2 | 4,
                               .attr_size = sizeof(struct channel_attr)};

heed_tensor *heed_batch_norm(heed_ctx *cx, heed_tensor *x, heed_tensor *gamma, heed_tensor *beta, heed_tensor *mean,
                             heed_tensor *variance, float eps) {
    if (mean) mean = heed_detach(cx, mean);
    if (variance) variance = heed_detach(cx, variance);
    return apply1(cx, &op_batch_norm, &(struct channel_attr){.eps = eps},
                  (heed_tensor *[]){x, gamma, beta, mean, variance}, 5);
}
heed_tensor *heed_batch_norm_running(heed_ctx *cx, heed_tensor *x, heed_tensor *gamma, heed_tensor *beta,
                                     const heed_running *running, float eps) {
    struct channel_attr a = {.eps = eps};
    const struct engine *const e = engine_of(cx);
    if (running && e && !e->again) a.running = *running; /* once a step, though recompute runs it twice */
    return apply1(cx, &op_batch_norm, &a, (heed_tensor *[]){x, gamma, beta, NULL, NULL}, 5);
}
heed_tensor *heed_group_norm(heed_ctx *cx, heed_tensor *x, int64_t groups, heed_tensor *gamma, heed_tensor *beta,
                             float eps) {
    if (groups == 0) groups = -1; /* none is as wrong as fewer */
    return apply1(cx, &op_group_norm, &(struct channel_attr){.groups = groups, .eps = eps},
                  (heed_tensor *[]){x, gamma, beta}, 3);
}
