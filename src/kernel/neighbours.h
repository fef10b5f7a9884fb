/* Sums and maxima over rows of neighbours, which kernel/edges.h sorts.
 *
 * Every row is one chain of multiply-adds in the order of its neighbours, and one of more than NEIGHBOURS_RUN is the
 * sum of such chains: so the bits do not depend on the pool, and a row of very many keeps several threads busy. */
#ifndef KERNEL_NEIGHBOURS_H
#define KERNEL_NEIGHBOURS_H

#include "base/thread_pool.h"
#include "kernel/isa.h"
#include <stddef.h>

#define NEIGHBOURS_RUN 1024

/* Row i has the neighbours index[k], k from start[i] to start[i + 1]. The weight of k is weight[k], or with `place`
 * weight[place[k]] (weight NULL: 1), times scale[index[k]] where there is a scale. */
struct neighbours {
    int64_t rows, room, others; /* rows of neighbours; positions at most; nodes that can be neighbours */
    int32_t most;               /* neighbours of the longest row */
    const int32_t *start, *index, *place;
    const float *weight, *scale;
    int64_t heads; /* parts of a row of x, each with weights of its own, weight (…,heads); 0: one */
};

/* y_i = sum_k w_k x[index[k]], with `mean` divided by their number; x (others, cols), y (rows, cols). `add` adds to y.
 * work: kernel_neighbours_work bytes. */
size_t kernel_neighbours_work(int64_t room, int64_t cols);
void kernel_neighbours_sum(struct pool *pool, const struct neighbours *n, float *y, const float *x, int64_t cols,
                           bool mean, bool add, void *work);
/* dw[k] = dy_i . x[index[k]], times the scale of row i where rows_scale has one: the gradient of weight[k]. */
void kernel_neighbours_dots(struct pool *pool, const struct neighbours *n, float *dw, const float *dy, const float *x,
                            int64_t cols, const float *rows_scale, bool add);
/* scale[i] = 1 / the number of neighbours of row i; 0 where there are none */
void kernel_neighbours_inverse(const struct neighbours *n, float *scale);

/* y_i = max_k w_k x[index[k]], 0 where there are none; ties (rows, cols): how many of them are the largest. */
void kernel_neighbours_max(struct pool *pool, const struct neighbours *n, float *y, float *ties, const float *x,
                           int64_t cols);
/* Back, with the neighbours of the sources: dx_j = sum_k w_k dy[index[k]] / ties, where w_k x_j = y[index[k]]. */
void kernel_neighbours_max_grad(struct pool *pool, const struct neighbours *n, float *dx, const float *x,
                                const float *y, const float *ties, const float *dy, int64_t cols, bool add);

#endif
