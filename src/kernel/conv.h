/* Convolutions of pictures as matrix products that never hold all patches.
 *
 * Patches of some hundred places are laid out at a time, block by block of the products' k, in the order in which tiles
 * of products read them; see kernel/correlate.c. Every element is one chain of multiply-adds in blocks that follow from
 * the shape: the bits do not depend on threads, nor on how the work is cut. */
#ifndef KERNEL_CONV_H
#define KERNEL_CONV_H

#include "base/thread_pool.h"
#include "kernel/isa.h"

/* One axis of a correlation: output i is made of inputs i step + first + t apart, t = 0 .. taps - 1 (those outside
 * count as 0), and goes to place i to_step + to_first. */
struct conv_axis {
    int64_t in, taps, step, first, apart; /* in: how many inputs there are; apart: not negative */
    int64_t n;                            /* outputs, */
    int64_t out, to_step, to_first;       /* and all places of what they are part of */
};
struct correlation {
    int64_t batch, groups, ins, outs; /* channels of a group */
    struct conv_axis y, x;
};
/* What becomes of the numbers of channel o, with a batch norm folded into it: act(scale[o] y + shift[o] + more), more
 * like y, or NULL. */
struct conv_finish {
    const float *scale, *shift, *more;
    enum activation act;
};
/* out (batch, groups outs, y.out, x.out) at the places that the axes say = or += weight (groups, outs, ins y.taps
 * x.taps) over patches of in (batch, groups ins, y.in, x.in), + bias (groups outs) or NULL. finish: or NULL; then
 * without bias and add, and to_step is 1. */
void kernel_correlate(struct pool *pool, const struct correlation *c, float *out, bool add, const float *in,
                      const float *weight, const float *bias, const struct conv_finish *finish);
/* dweight, like weight, = or += the sum of dout times patches, over the batch and all places. to_step 1, to_first 0. */
void kernel_correlate_weight(struct pool *pool, const struct correlation *c, float *dweight, bool add, const float *in,
                             const float *dout);

/* y (batch, outs, out[0], out[1]) = w (outs, ins / groups, kernel[0], kernel[1]) * x (batch, ins, in[0], in[1]). */
struct conv {
    int64_t batch, groups, ins, outs;
    int64_t in[2], out[2], kernel[2], stride[2], padding[2], dilation[2]; /* padding: before the first row, column */
};
void kernel_conv(struct pool *pool, const struct conv *c, float *y, bool add, const float *x, const float *w,
                 const float *bias);
/* Is the gradient of the input a convolution of its own that pays for Winograd's algorithm? Of dy, with the weights
 * turned round, which *weight floats take. */
bool kernel_conv_turned(const struct conv *c, struct conv *back, int64_t *weight);
void kernel_turn_weights(struct pool *pool, const struct conv *c, float *to, const float *w);
/* Large convolutions of 3 x 3 go by Winograd's algorithm. work: kernel_finish_work floats. */
void kernel_conv_finish(struct pool *pool, const struct conv *c, float *y, const float *x, const float *w,
                        const struct conv_finish *finish, float *work);
int64_t kernel_finish_work(const struct conv *c);
int64_t kernel_winograd_work(const struct conv *c); /* 0: it is not used */
void kernel_winograd(struct pool *pool, const struct conv *c, float *y, const float *x, const float *w,
                     const struct conv_finish *finish, float *work);
/* The gradient of x, and forward of the transposed convolution: then bias is (ins), or NULL. work: as many floats as w
 * has. */
void kernel_conv_input(struct pool *pool, const struct conv *c, float *dx, bool add, const float *dy, const float *w,
                       const float *bias, float *work);
void kernel_conv_weight(struct pool *pool, const struct conv *c, float *dw, bool add, const float *x, const float *dy);

#endif
