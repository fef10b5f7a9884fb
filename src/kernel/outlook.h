/* Outlook attention (Yuan et al. 2021): each window of a picture has weights (taps, taps) for each head, and gives
 * every place of itself a sum over its places; what windows give one place adds up.
 *
 *     y[place i of window n, head] += sum_j w[n, head, i, j] v[place j of window n, head]        taps = KH KW
 *
 * v and y (batch, H, W, heads size), w (batch, OH OW, heads, taps, taps). Places beyond the borders are left out. A
 * head of an example is one piece of work, in one order: the bits do not depend on the pool. */
#ifndef KERNEL_OUTLOOK_H
#define KERNEL_OUTLOOK_H

#include "base/thread_pool.h"

#define MAX_OUTLOOK 8 /* the kernel's side */

struct outlook {
    int64_t batch, in[2], out[2], heads, size;
    int64_t kernel[2], stride[2], padding[2];
};
void kernel_outlook(struct pool *pool, const struct outlook *o, float *y, const float *v, const float *w);
/* Each of dv and dw may be NULL, and is stored or added to. */
void kernel_outlook_grad(struct pool *pool, const struct outlook *o, float *dv, bool add_v, float *dw, bool add_w,
                         const float *dy, const float *v, const float *w);

#endif
