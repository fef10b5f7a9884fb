/* Squared distances of all pairs.   d_ij = sum_c (s_c (q_ic - k_jc))^2
 *     dq_ic = 2 s_c^2 sum_j g_ij (q_ic - k_jc),   dk likewise with the other sign,   ds_c = 2 s_c sum_ij g_ij (q - k)^2
 * each sum leaving out the pairs whose g is 0. Differences are taken first: |q|^2 + |k|^2 - 2 q'k would lose the digits
 * of what is near. Nothing of size queries x keys x d is ever held. Forward goes by rows, backward by coordinates. */
#ifndef KERNEL_DISTANCE_H
#define KERNEL_DISTANCE_H

#include "base/thread_pool.h"
#include "kernel/isa.h"
#include <stddef.h>

struct distance {
    int64_t batch, queries, keys, d;
    const float *q, *k; /* (batch,queries,d), (batch,keys,d) */
    const float *s;     /* `sharps` numbers: d of them, or one for all coordinates; NULL: 1 */
    int64_t sharps;
};

size_t kernel_distance_work(const struct distance *p);
void kernel_distance(struct pool *pool, const struct distance *p, float *out, void *work); /* (batch,queries,keys) */

struct distance_grad {
    const float *g;
    float *dq, *dk, *ds; /* or NULL; ds: as many as s has */
    bool add_q, add_k, add_s;
};
size_t kernel_distance_grad_work(const struct distance *p);
void kernel_distance_grad(struct pool *pool, const struct distance *p, const struct distance_grad *g, void *work);

#endif
