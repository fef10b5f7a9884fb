/* Losses on contiguous arrays, their reductions and gradients. Sums are taken in double over blocks of fixed length, in
 * order. */
#ifndef KERNEL_LOSS_H
#define KERNEL_LOSS_H

#include "base/thread_pool.h"
#include "kernel/isa.h"

/* ---- of pairs of numbers ---- */

enum pair_loss {
    LOSS_SQUARE,   /* (x - y)^2 */
    LOSS_ABSOLUTE, /* |x - y| */
    LOSS_HUBER,    /* d^2 / 2 within |d| <= delta, else delta (|d| - delta / 2) */
    LOSS_BCE,      /* log(1 + exp x) - x y: cross entropy of sigmoid(x) and y */
    LOSS_KL,       /* y (log y - x), x a log-probability; 0 where y is 0 */
};
/* Either each[i], or the sum of all (each NULL). */
double kernel_pair_loss(struct pool *pool, enum pair_loss loss, float delta, float *each, const float *x,
                        const float *y, int64_t n);
/* dx = or += scale * (dy one for all, or one each) * loss'; of y when `second`. */
void kernel_pair_loss_grad(struct pool *pool, enum pair_loss loss, float delta, bool second, float *dx, const float *dy,
                           bool each, float scale, const float *x, const float *y, int64_t n, bool add);

/* ---- cross entropy of rows ----   x (rows,n), smoothing s:
 *   loss = lse - (1-s) x_t - s avg x          target given by index t (i32)
 *   loss = (lse sum p - p.x) (1-s) + s (lse - avg x)      target given as probabilities p (rows,n) */
struct cross_entropy {
    int64_t rows, n;
    const float *x;
    int64_t ldx;
    const int32_t *target; /* (rows), in range, or the ignored one; or NULL: then p */
    const float *p;        /* (rows,n) without gaps */
    float smoothing;
    bool ignore;
    int32_t ignore_index;
};
/* Writes lse (rows) and each row's loss (0 for an ignored one). */
void kernel_cross_entropy(struct pool *pool, const struct cross_entropy *ce, float *lse, float *loss);
/* dx = or += scale * dy_r * gradient; dy NULL: 1, else one for all or one each. dx may be x. */
void kernel_cross_entropy_grad(struct pool *pool, const struct cross_entropy *ce, const float *lse, float *dx,
                               int64_t lddx, const float *dy, bool each, float scale, bool add);
/* Both, with dy = 1, one row after the other. dx may be x. */
void kernel_cross_entropy_both(struct pool *pool, const struct cross_entropy *ce, float *lse, float *loss, float *dx,
                               int64_t lddx, float scale);
/* The gradient of p. */
void kernel_cross_entropy_grad_p(struct pool *pool, const struct cross_entropy *ce, const float *lse, float *dp,
                                 const float *dy, bool each, float scale, bool add);
/* How many rows count; *bad receives the first place whose target is out of range, or -1. */
int64_t kernel_cross_entropy_count(const struct cross_entropy *ce, int64_t *bad);

double kernel_sum_in_order(const float *x, int64_t n); /* in double, one after the other */

#endif
