/* Simple twins of the kernels, in double, that the fast ones are compared with. */
#ifndef TESTS_KERNEL_TWIN_H
#define TESTS_KERNEL_TWIN_H

#include "kernel/elementwise.h"
#include <math.h>

/* ---- Functions: the twins of kernel/elementwise.def, and what they are made of ---- */

static inline double sigmoid(double x) { return 1 / (1 + exp(-x)); }
static inline double softplus(double x) { return x > 700 ? x : log1p(exp(x)); }
static inline double normal_cdf(double x) { return 0.5 * erfc(-x / sqrt(2)); }
static inline double normal_density(double x) { return exp(-0.5 * x * x) / sqrt(2 * M_PI); }
static inline double gelu_inner(double x) { return 2 * sqrt(2 / M_PI) * (x + 0.044715 * x * x * x); }
/* x p, which is 0 where p is: for the limit at infinity. */
static inline double gated(double x, double p) { return p == 0 ? 0 : x * p; }

#define UNARY(NAME, value, gradient, twin, slope)                                                                      \
    static inline double twin_##NAME(double x, double a, double b) {                                                   \
        (void)a, (void)b;                                                                                              \
        return twin;                                                                                                   \
    }                                                                                                                  \
    static inline double twin_##NAME##_slope(double x, double y, double a, double b) {                                 \
        (void)x, (void)y, (void)a, (void)b;                                                                            \
        return slope;                                                                                                  \
    }
#include "kernel/elementwise.def"

static inline double twin_unary(enum unary fn, double x, double a, double b) {
    static double (*const of[UNARY_COUNT])(double, double, double) = {
#define UNARY(name, NAME, ...) [UNARY_##NAME] = twin_##NAME,
#include "kernel/functions.def"
    };
    return of[fn](x, a, b);
}
/* y may be the kernel's. */
static inline double twin_unary_slope(enum unary fn, double x, double y, double a, double b) {
    static double (*const of[UNARY_COUNT])(double, double, double, double) = {
#define UNARY(name, NAME, ...) [UNARY_##NAME] = twin_##NAME##_slope,
#include "kernel/functions.def"
    };
    return of[fn](x, y, a, b);
}
static inline const char *twin_unary_name(enum unary fn) {
    static const char *const of[UNARY_COUNT] = {
#define UNARY(name, NAME, ...) [UNARY_##NAME] = #name,
#include "kernel/functions.def"
    };
    return of[fn];
}

static inline double twin_act(enum activation act, double x) {
    const struct activation_fn f = kernel_activation(act);
    return act == ACT_NONE ? x : twin_unary(f.fn, x, (double)f.a, (double)f.b);
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
