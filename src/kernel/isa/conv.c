/* Moving numbers between pictures and the operands of products. */
#include "kernel/isa/tiles.h"

int64_t ISA_NAME(conv_strip)(void) { return NR; }

void ISA_NAME(conv_patches)(float *to, int64_t ld, const float *const *from, int64_t k, const struct conv_run *run,
                            int64_t runs) {
    for (int64_t i = 0; i < k; i++, to += ld) {
        const float *const row = from[i];
        for (int64_t r = 0; r < runs; r++) {
            float *const put = to + run[r].to;
            const float *const get = row + run[r].from;
            for (int64_t j = 0; j < run[r].length; j += VW) v_store(put + j, v_load(get + j));
        }
    }
}

void ISA_NAME(conv_put)(float *to, int64_t step, const float *from, int64_t n, float bias, bool add) {
    if (step == 1) {
        V_EACH(i, count, n, {
            const vf v = v_get(from + i, count, 0.0f) + bias;
            v_put(to + i, add ? v_get(to + i, count, 0.0f) + v : v, count);
        });
    } else if (add) {
        for (int64_t i = 0; i < n; i++) to[i * step] += from[i] + bias;
    } else {
        for (int64_t i = 0; i < n; i++) to[i * step] = from[i] + bias;
    }
}

void ISA_NAME(conv_finish)(float *to, const float *from, int64_t n, float scale, float shift, const float *more,
                           enum activation act) {
    const vf by = v_set(scale), start = v_set(shift);
    const bool cut = act == ACT_RELU;
    V_EACH(i, count, n, {
        vf v = v_fma(by, v_get(from + i, count, 0.0f), start);
        if (more) v += v_get(more + i, count, 0.0f);
        if (cut) v = v_max(v_set(0.0f), v);
        v_put(to + i, v, count);
    });
    if (act != ACT_NONE && !cut) ISA_NAME(bias_act)(to, n, 1, n, NULL, act, NULL);
}

void ISA_NAME(conv_take)(float *to, const float *from, int64_t step, int64_t n) {
    if (step == 1)
        memcpy(to, from, (size_t)n * sizeof *to);
    else if (step == 2)
        for (int64_t i = 0; i < n; i++) to[i] = from[2 * i];
    else
        for (int64_t i = 0; i < n; i++) to[i] = from[i * step];
}

/* Two vectors of which each has every other number. */
INLINE void weave(vf *low, vf *high, const vf even, const vf odd) {
#if VW == 16
    *low = __builtin_shufflevector(even, odd, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    *high = __builtin_shufflevector(even, odd, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
#elif VW == 8
    *low = __builtin_shufflevector(even, odd, 0, 8, 1, 9, 2, 10, 3, 11);
    *high = __builtin_shufflevector(even, odd, 4, 12, 5, 13, 6, 14, 7, 15);
#else
    *low = __builtin_shufflevector(even, odd, 0, 4, 1, 5);
    *high = __builtin_shufflevector(even, odd, 2, 6, 3, 7);
#endif
}

void ISA_NAME(conv_weave)(float *to, const float *even, const float *odd, int64_t n) {
    for (int64_t i = 0; i < n; i += VW) {
        vf low, high;
        weave(&low, &high, v_load(even + i), v_load(odd + i));
        v_store(to + 2 * i, low);
        v_store(to + 2 * i + VW, high);
    }
}

#define TOGETHER 4 /* vectors of outputs whose chains run beside each other */

INLINE void taps_of(float *y, const float *const *from, int64_t at, const float *w, int64_t taps, float bias,
                    const int count) {
    vf acc[TOGETHER];
    UNROLL for (int v = 0; v < count; v++) acc[v] = v_set(bias);
    for (int64_t t = 0; t < taps; t++) {
        const vf weight = v_set(w[t]);
        UNROLL for (int v = 0; v < count; v++) acc[v] = v_fma(weight, v_load(from[t] + at + v * VW), acc[v]);
    }
    UNROLL for (int v = 0; v < count; v++) v_store(y + v * VW, acc[v]);
}

void ISA_NAME(conv_taps)(float *y, const float *const *from, int64_t at, const float *w, int64_t taps, int64_t n,
                         float bias) {
    int64_t i = 0;
    for (; i + TOGETHER * VW <= n; i += TOGETHER * VW) taps_of(y + i, from, at + i, w, taps, bias, TOGETHER);
    for (; i + VW <= n; i += VW) taps_of(y + i, from, at + i, w, taps, bias, 1);
    if (i == n) return;
    vf acc = v_set(bias);
    for (int64_t t = 0; t < taps; t++) acc = v_fma(v_set(w[t]), v_load_part(from[t] + at + i, n - i, 0.0f), acc);
    v_store_part(y + i, acc, n - i);
}

void ISA_NAME(conv_dots)(double *sum, const float *const *from, int64_t at, const float *dy, int64_t taps, int64_t n) {
    for (int64_t t = 0; t < taps; t++) {
        vf acc = v_set(0.0f);
        V_EACH(i, count, n, { acc = v_fma(v_get(dy + i, count, 0.0f), v_get(from[t] + at + i, count, 0.0f), acc); });
        sum[t] += (double)v_sum(acc);
    }
}
