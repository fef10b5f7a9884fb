/* The density of a pen's next step (Graves 2013, section 4.1): a mixture of M bivariate normal densities for (x1, x2),
 * and a Bernoulli for the end of the stroke. Of each row, y (6M + 1) holds
 *
 *     e, w_1..M, m1_1..M, m2_1..M, s1_1..M, s2_1..M, r_1..M
 *     P(end) = 1 / (1 + exp(e)),   pi = softmax(w),   means m1, m2,   deviations exp(s1), exp(s2),   rho = tanh(r)
 *     loss   = -log sum_j pi_j N(x; j) - log P(pen)
 *
 * s is held within +-MIXTURE_S and r within +-MIXTURE_R, without gradient beyond. Everything is computed in double by
 * log-sum-exp, and what a float cannot hold becomes the largest that it can. */
#ifndef KERNEL_MIXTURE_H
#define KERNEL_MIXTURE_H

#include "base/thread_pool.h"

#define MIXTURE_S 10.0
#define MIXTURE_R 6.0

struct mixture {
    int64_t rows, m;
    const float *y, *x; /* (rows, 6m + 1), (rows, 2) */
    const int32_t
        *pen; /* (rows) 1: the stroke ends behind the point, 0: it does not; below 0: the row does not count */
};
/* Each row's loss; 0 where it does not count. */
void kernel_mixture(struct pool *pool, const struct mixture *mix, float *loss);
/* dy, dx (either may be NULL) = scale * (dloss one for all, or one each) * the gradient. */
void kernel_mixture_grad(struct pool *pool, const struct mixture *mix, const float *dloss, bool each, float scale,
                         float *dy, float *dx);

#endif
