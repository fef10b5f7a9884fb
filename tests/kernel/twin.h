/* Simple twins of the kernels, in double, that the fast ones are compared with. */
#ifndef TESTS_KERNEL_TWIN_H
#define TESTS_KERNEL_TWIN_H

#include "kernel/isa.h"
#include <math.h>

/* ---- Functions ---- */

static inline double twin_sigmoid(double x) { return 1.0 / (1.0 + exp(-x)); }
static inline double twin_normal(double x) { return 0.5 * erfc(-x / sqrt(2.0)); }
static inline double twin_relu(double x) { return isnan(x) || x > 0.0 ? x : 0.0; }
static inline double twin_gelu(double x) { return x * twin_normal(x); }
static inline double twin_silu(double x) { return x * twin_sigmoid(x); }
static inline double twin_softplus(double x) { return fmax(x, 0.0) + log1p(exp(-fabs(x))) + (x - x); }
static inline double twin_gelu_inner(double x) { return sqrt(8.0 / M_PI) * (x + 0.044715 * x * x * x); } /* 2 u */
static inline double twin_gelu_tanh(double x) { return x * twin_sigmoid(twin_gelu_inner(x)); }

static inline double twin_relu_grad(double x) { return x > 0.0 ? 1.0 : 0.0; }
static inline double twin_tanh_grad(double x) { return 1.0 - tanh(x) * tanh(x); }
static inline double twin_sigmoid_grad(double x) { return twin_sigmoid(x) * twin_sigmoid(-x); }
static inline double twin_gelu_grad(double x) { return twin_normal(x) + x * exp(-0.5 * x * x) / sqrt(2.0 * M_PI); }
static inline double twin_silu_grad(double x) { return twin_sigmoid(x) * (1.0 + x * twin_sigmoid(-x)); }
static inline double twin_gelu_tanh_grad(double x) {
    const double inner = twin_gelu_inner(x), slope = sqrt(8.0 / M_PI) * (1.0 + 3.0 * 0.044715 * x * x);
    return twin_sigmoid(inner) * (1.0 + x * twin_sigmoid(-inner) * slope);
}
static inline double twin_same(double x) { return x; }
static inline double twin_one(double x) { return x - x + 1.0; }

typedef double (*twin_fn)(double);
static inline twin_fn twin_act(enum activation act) {
    static const twin_fn fn[] = {twin_same, twin_relu, twin_gelu,    twin_gelu_tanh,
                                 twin_silu, tanh,      twin_sigmoid, twin_softplus};
    return fn[act];
}
static inline twin_fn twin_act_grad(enum activation act) {
    static const twin_fn fn[] = {twin_one,       twin_relu_grad, twin_gelu_grad,    twin_gelu_tanh_grad,
                                 twin_silu_grad, twin_tanh_grad, twin_sigmoid_grad, twin_sigmoid};
    return fn[act];
}

/* ---- Rows ---- */

static inline void twin_softmax(double *y, const float *x, int64_t cols, bool take_log) {
    double top = -HUGE_VAL, sum = 0.0;
    for (int64_t i = 0; i < cols; i++) top = fmax(top, (double)x[i]);
    for (int64_t i = 0; i < cols; i++) sum += exp((double)x[i] - top);
    for (int64_t i = 0; i < cols; i++) y[i] = take_log ? (double)x[i] - top - log(sum) : exp((double)x[i] - top) / sum;
    for (int64_t i = 0; isinf(top) && top < 0.0 && i < cols; i++) y[i] = take_log ? top : 0.0;
}

static inline void twin_softmax_grad(double *dx, const float *y, const float *dy, int64_t cols, bool take_log) {
    double dot = 0.0, sum = 0.0;
    for (int64_t i = 0; i < cols; i++) dot += (double)dy[i] * (double)y[i], sum += (double)dy[i];
    for (int64_t i = 0; i < cols; i++)
        dx[i] = take_log ? (double)dy[i] - exp((double)y[i]) * sum : (double)y[i] * ((double)dy[i] - dot);
}

/* One row of h (x + r); gamma and beta may be NULL. */
static inline void twin_norm(double *y, double *mean, double *rstd, const double *h, const float *gamma,
                             const float *beta, double eps, int64_t cols, bool centre) {
    double sum = 0.0, squares = 0.0;
    for (int64_t i = 0; centre && i < cols; i++) sum += h[i];
    *mean = sum / (double)cols;
    for (int64_t i = 0; i < cols; i++) squares += (h[i] - *mean) * (h[i] - *mean);
    *rstd = 1.0 / sqrt(squares / (double)cols + eps);
    for (int64_t i = 0; i < cols; i++)
        y[i] = (h[i] - *mean) * *rstd * (gamma ? (double)gamma[i] : 1.0) + (beta ? (double)beta[i] : 0.0);
}

/* One row; adds to dgamma and dbeta. */
static inline void twin_norm_grad(double *dx, double *dgamma, double *dbeta, const float *dy, const float *h,
                                  double mean, double rstd, const float *gamma, int64_t cols, bool centre) {
    double sum_g = 0.0, sum_gz = 0.0;
    for (int64_t i = 0; i < cols; i++) {
        const double z = ((double)h[i] - mean) * rstd, d = (double)dy[i], g = d * (gamma ? (double)gamma[i] : 1.0);
        sum_g += centre ? g : 0.0;
        sum_gz += g * z;
        dgamma[i] += d * z;
        dbeta[i] += d;
    }
    for (int64_t i = 0; i < cols; i++) {
        const double z = ((double)h[i] - mean) * rstd, g = (double)dy[i] * (gamma ? (double)gamma[i] : 1.0);
        dx[i] = rstd * (g - (sum_g + z * sum_gz) / (double)cols);
    }
}

#endif
