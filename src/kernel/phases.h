/* What the two ways to the gradient of a convolution's input share. Places i of the input with one remainder of
 * i + padding by the stride are a phase: they see the same taps. */
#ifndef KERNEL_PHASES_H
#define KERNEL_PHASES_H

#include "kernel/conv.h"

struct taps { /* those of one phase: first, first - apart, ... */
    int64_t n, first, apart;
};
/* Places begin, begin + stride, ... along axis i: tap t of a place reads the output first + t apart further. */
struct conv_axis phase_axis(const struct conv *c, int i, int64_t begin, struct taps *taps);

/* Fewer multiply-adds than are worth waking a thread for: NULL. */
struct pool *conv_pool(struct pool *pool, int64_t work);

/* As kernel_conv_input, by one product and sums of its rows; false where that cannot be done, or does not pay. */
bool kernel_conv_folded(struct pool *pool, const struct conv *c, float *dx, bool add, const float *dy, const float *w,
                        const float *bias, float *work);

#endif
