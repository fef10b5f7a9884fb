/* Fourier transforms. The mixing of FNet (Lee-Thorp et al. 2022): the real part of the Fourier transform along both
 * axes. y[u,v] = sum_t sum_c x[t,c] cos(2 pi (u t / T + v c / C))        x, y (…,T,C);  O(T C log(T C)) dx is the same
 * of dy, for the cosine is symmetric in (t,c) and (u,v)
 *
 * Bands of a picture's frequencies, y = F^-1 (mask . F x), x (…,H,W): dx is the same of dy, for the mask is real and
 * even.
 */
#include "kernel/fft.h"
#include "tensor/engine.h"
#include "tensor/ops.h"

#define MOST ((int64_t)1 << 30)

static bool fourier_mix_infer(heed_op_call *c) {
    const heed_tensor *const x = c->in[0];
    if (!heed_op_want(c, 0, HEED_F32)) return false;
    if (x->rank < 2 || x->shape[x->rank - 2] > MOST || x->shape[x->rank - 1] > MOST)
        return heed_op_fail(c, HEED_ERR_SHAPE, "x of shape %s does not end in (T,C), each at most 2^30",
                            heed_shape_text(x).s);
    if (!heed_op_out(c, 0, HEED_F32, x->rank, x->shape)) return false;
    if (x->count == 0) return true;
    const int64_t rows = x->shape[x->rank - 2], cols = cols_of(x);
    c->work_forward = (size_t)kernel_fourier_mix_work(x->count / rows / cols, rows, cols) * sizeof(float);
    c->work_backward = c->work_forward;
    return true;
}

static void mix(heed_op_call *c, float *y, const float *x) {
    const heed_tensor *const t = c->in[0];
    const int64_t rows = t->shape[t->rank - 2], cols = cols_of(t);
    if (t->count > 0) kernel_fourier_mix(pool_of(c), y, x, t->count / rows / cols, rows, cols, c->work);
}

static bool fourier_mix_forward(heed_op_call *c) {
    mix(c, heed_op_f32(c, 0), f32_of(c->in[0]));
    return true;
}

static bool fourier_mix_backward(heed_op_call *c) {
    mix(c, c->din[0], c->dout[0]);
    return true;
}

const heed_op op_fourier_mix = {.name = "fourier_mix",
                                .infer = fourier_mix_infer,
                                .forward = fourier_mix_forward,
                                .backward = fourier_mix_backward};

heed_tensor *heed_fourier_mix(heed_ctx *cx, heed_tensor *x) { return apply1(cx, &op_fourier_mix, NULL, &x, 1); }

/* ---- bands ---- */

struct band_attr {
    float low, high;
};

static bool fourier_band_infer(heed_op_call *c) {
    const heed_tensor *const x = c->in[0];
    const struct band_attr *const a = c->attr;
    if (!heed_op_want(c, 0, HEED_F32)) return false;
    if (x->rank < 2 || x->shape[x->rank - 2] > MOST || x->shape[x->rank - 1] > MOST)
        return heed_op_fail(c, HEED_ERR_SHAPE, "x of shape %s does not end in (H,W), each at most 2^30",
                            heed_shape_text(x).s);
    if (!(a->low <= a->high))
        return heed_op_fail(c, HEED_ERR_RANGE, "there is no band from %g to %g", (double)a->low, (double)a->high);
    if (!heed_op_out(c, 0, HEED_F32, x->rank, x->shape)) return false;
    if (x->count == 0) return true;
    c->work_forward = (size_t)kernel_fourier_band_work(x->shape[x->rank - 2], x->shape[x->rank - 1]) * sizeof(float);
    c->work_backward = c->work_forward;
    return true;
}

static void keep_band(heed_op_call *c, float *y, const float *x) {
    const heed_tensor *const t = c->in[0];
    const struct band_attr *const a = c->attr;
    const int64_t rows = t->shape[t->rank - 2], cols = cols_of(t), planes = t->rank > 2 ? t->shape[t->rank - 3] : 1;
    if (t->count > 0)
        kernel_fourier_band(pool_of(c), y, x, t->count / planes / rows / cols, planes, rows, cols, a->low, a->high,
                            c->work);
}

static bool fourier_band_forward(heed_op_call *c) {
    keep_band(c, heed_op_f32(c, 0), f32_of(c->in[0]));
    return true;
}

static bool fourier_band_backward(heed_op_call *c) {
    keep_band(c, c->din[0], c->dout[0]);
    return true;
}

const heed_op op_fourier_band = {.name = "fourier_band",
                                 .attr_size = sizeof(struct band_attr),
                                 .infer = fourier_band_infer,
                                 .forward = fourier_band_forward,
                                 .backward = fourier_band_backward};

heed_tensor *heed_fourier_band(heed_ctx *cx, heed_tensor *x, float low, float high) {
    return apply1(cx, &op_fourier_band, &(struct band_attr){low, high}, &x, 1);
}
