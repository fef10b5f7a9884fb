/* Work on planes of pictures (planes, H, W): pooling, norms over channels, resizing, and patches laid out in full.
 *
 * Planes are cut over the threads and each is done in one order: the bits do not depend on the pool. `add` adds to the
 * output where it would else be stored. Sizes of 0 do nothing. */
#ifndef KERNEL_PLANES_H
#define KERNEL_PLANES_H

#include "base/thread_pool.h"

/* ---- pooling ---- window i of an axis: from .. to, of which those in 0 .. in count */
struct window_axis {
    int64_t in, out;
    bool adaptive; /* from i in / out, rounded down, to (i + 1) in / out, rounded up; else: */
    int64_t size, stride, padding, dilation;
};
struct pooling {
    int64_t planes;
    struct window_axis y, x;
    bool count_pad; /* averages: places of the padding count */
};
/* y (planes, out, out): the largest of each window, the first of equals, NaN where there is one; index: its place
 * within its plane, for the gradient, or NULL. */
void kernel_max_pool(struct pool *pool, const struct pooling *p, float *y, int32_t *index, const float *x);
void kernel_max_pool_grad(struct pool *pool, const struct pooling *p, float *dx, bool add, const float *dy,
                          const int32_t *index);
void kernel_avg_pool(struct pool *pool, const struct pooling *p, float *y, const float *x);
void kernel_avg_pool_grad(struct pool *pool, const struct pooling *p, float *dx, bool add, const float *dy);

/* ---- norms over channels ---- x (batch, channels, n): mean and variance over the batch (batch norm: one of each a
 * channel) or over `channels / groups` channels of an example (group norm). */
struct channel_norm {
    int64_t batch, channels, n;
    int64_t groups; /* of a group norm; 0: a batch norm */
    float eps;
    const float *x, *gamma, *beta; /* gamma, beta: (channels) or NULL */
    float *mean, *rstd;            /* one a statistic */
    float *variance;               /* and the variance (biased), or NULL */
    bool given;                    /* mean and rstd are given, as those of a trained batch norm */
    double *work;                  /* kernel_channel_norm_work of them */
};
int64_t kernel_channel_norm_work(const struct channel_norm *n);
int64_t kernel_channel_norm_statistics(const struct channel_norm *n); /* how many there are */
void kernel_channel_norm(struct pool *pool, const struct channel_norm *n, float *y);
/* Each of dx, dgamma and dbeta may be NULL. */
void kernel_channel_norm_grad(struct pool *pool, const struct channel_norm *n, float *dx, bool add, float *dgamma,
                              float *dbeta, const float *dy);

/* ---- resizing ---- each output is `taps` neighbours' weighted sum along either axis */
struct resize_axis {
    int64_t in, out, taps;
    int32_t *first; /* (out) */
    float *weight;  /* (out, taps) */
};
struct resize {
    int64_t planes;
    struct resize_axis y, x;
};
enum resize_kind { RESIZE_NEAREST, RESIZE_NEAREST_EXACT, RESIZE_LINEAR, RESIZE_CUBIC };
/* Taps of an axis of `in` places that becomes `out`; scale: inputs for an output, as the sizes or the caller say. */
int64_t kernel_resize_taps(enum resize_kind kind, int64_t in, double scale, bool antialias);
void kernel_resize_weights(struct resize_axis *axis, enum resize_kind kind, double scale, bool align, bool antialias);
void kernel_resize(struct pool *pool, const struct resize *r, float *y, const float *x, float *work);
void kernel_resize_grad(struct pool *pool, const struct resize *r, float *dx, bool add, const float *dy, float *work);
int64_t kernel_resize_work(const struct resize *r); /* floats, for either */

/* ---- patches ---- cols (planes, KH, KW, OH, OW) of x (planes, H, W), as torch's unfold; `fold` adds them up */
struct unfold {
    int64_t planes, in[2], out[2], kernel[2], stride[2], padding[2], dilation[2];
};
void kernel_unfold(struct pool *pool, const struct unfold *u, float *cols, bool add, const float *x);
void kernel_fold_patches(struct pool *pool, const struct unfold *u, float *x, bool add, const float *cols);

#endif
