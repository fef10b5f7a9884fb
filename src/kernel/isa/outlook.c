/* Sums over the places of a window of outlook attention, and the products for its weights' gradient. */
#include "kernel/isa/vmath.h"

INLINE void mix(float *const *y, const float *const *v, const float *w, const int64_t taps, int64_t n) {
    V_EACH(at, count, n, {
        for (int64_t i = 0; i < taps; i++) {
            vf sum = v_get(y[i] + at, count, 0.0f);
            for (int64_t j = 0; j < taps; j++) sum = v_fma(v_set(w[i * taps + j]), v_get(v[j] + at, count, 0.0f), sum);
            v_put(y[i] + at, sum, count);
        }
    });
}

/* Windows of 3 x 3, whose rows of v stay in registers. */
INLINE void mix9(float *const *y, const float *const *v, const float *w, int64_t n) {
    V_EACH(at, count, n, {
        vf from[9];
        UNROLL
        for (int j = 0; j < 9; j++) from[j] = v_get(v[j] + at, count, 0.0f);
        for (int i = 0; i < 9; i++) {
            vf sum = v_get(y[i] + at, count, 0.0f);
            UNROLL
            for (int j = 0; j < 9; j++) sum = v_fma(v_set(w[i * 9 + j]), from[j], sum);
            v_put(y[i] + at, sum, count);
        }
    });
}

void ISA_NAME(outlook_mix)(float *const *y, const float *const *v, const float *w, int64_t taps, int64_t n) {
    if (taps == 9)
        mix9(y, v, w, n);
    else
        mix(y, v, w, taps, n);
}

void ISA_NAME(outlook_dots)(float *dw, const float *const *dy, const float *const *v, int64_t taps, int64_t n) {
    for (int64_t i = 0; i < taps; i++)
        for (int64_t j = 0; j < taps; j++) {
            vf sum = {0};
            V_EACH(at, count, n, { sum = v_fma(v_get(dy[i] + at, count, 0.0f), v_get(v[j] + at, count, 0.0f), sum); });
            dw[i * taps + j] = v_sum(sum);
        }
}
