/* Rows and planes of pictures: the sums and the affine maps of norms over channels, and resizing along rows. */
#include "kernel/isa/vmath.h"

#define BLOCK 1024 /* numbers that are summed in floats */

void ISA_NAME(plane_sums)(double sum[2], const float *a, float a0, const float *b, float b0, int64_t n) {
    for (int64_t at = 0; at < n; at += BLOCK) {
        const int64_t block = n - at < BLOCK ? n - at : BLOCK;
        vf plain = v_set(0.0f), product = v_set(0.0f);
        V_EACH(i, count, block, {
            const vf x = v_get(a + at + i, count, a0) - a0, y = v_get(b + at + i, count, b0) - b0;
            plain += x;
            product = v_fma(x, y, product);
        });
        sum[0] += (double)v_sum(plain);
        sum[1] += (double)v_sum(product);
    }
}

void ISA_NAME(plane_mix)(float *y, float p, const float *a, float q, const float *b, float b0, float r, int64_t n,
                         bool add) {
    const vf vp = v_set(p), vq = v_set(q);
    V_EACH(i, count, n, {
        vf v = a ? v_fma(vp, v_get(a + i, count, 0.0f), v_set(r)) : v_set(r);
        if (b) v = v_fma(vq, v_get(b + i, count, 0.0f) - b0, v);
        if (add) v += v_get(y + i, count, 0.0f);
        v_put(y + i, v, count);
    });
}

void ISA_NAME(resize_row)(float *y, const float *x, const int32_t *first, const float *w, int64_t taps, int64_t n) {
    for (int64_t i = 0; i < n; i++, w += taps) {
        float sum = 0;
        for (int64_t t = 0; t < taps; t++) sum += w[t] * x[first[i] + t];
        y[i] = sum;
    }
}

void ISA_NAME(resize_row_grad)(float *dx, const float *dy, const int32_t *first, const float *w, int64_t taps,
                               int64_t n) {
    for (int64_t i = 0; i < n; i++, w += taps)
        for (int64_t t = 0; t < taps; t++) dx[first[i] + t] += w[t] * dy[i];
}
