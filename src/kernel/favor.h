/* Random features of the softmax kernel (FAVOR+, Choromanski et al. 2021), whose products have the mean exp(x'y), for
 * rows w_1 .. w_m of w that are drawn as normal vectors, and x times `scale`:
 *
 *   positive        exp(w'x - |x|^2 / 2) / sqrt(m)                                m features
 *   hyperbolic      exp(w'x - |x|^2 / 2), exp(-w'x - |x|^2 / 2), / sqrt(2 m)      2 m
 *   trigonometric   sin(w'x), cos(w'x), times exp(|x|^2 / 2) / sqrt(m)            2 m: Rahimi and Recht 2007
 *
 * They are given as f e^shift, one shift for each row, so that none is too large for a float: f is at most 1. */
#ifndef KERNEL_FAVOR_H
#define KERNEL_FAVOR_H

#include "base/thread_pool.h"
#include "kernel/isa.h"

#define MAX_FAVOR 4096 /* of m and d */
enum favor_kind { FAVOR_POSITIVE, FAVOR_HYPERBOLIC, FAVOR_TRIGONOMETRIC, FAVOR_KINDS };
static inline int64_t favor_width(int kind, int64_t m) { return kind == FAVOR_POSITIVE ? m : 2 * m; }

struct favor {
    int kind; /* favor_kind */
    int64_t rows, m, d;
    const float *x, *w; /* (rows,d), (m,d) */
    float scale;
};
struct favor_grad {
    const float *f, *df; /* (rows, width) */
    float *dx, *dw;      /* each may be NULL */
    bool add_x, add_w;
    float *work; /* kernel_favor_grad_work bytes */
};

size_t kernel_favor_work(const struct favor *f); /* bytes */
void kernel_favor(struct pool *pool, const struct favor *f, float *features, float *shift, float *work);
size_t kernel_favor_grad_work(const struct favor *f, bool dw);
/* With the shift held: it cancels wherever features are used. */
void kernel_favor_grad(struct pool *pool, const struct favor *f, const struct favor_grad *g);

#endif
