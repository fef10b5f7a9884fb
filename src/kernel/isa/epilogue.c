/* What linear does on its way out: bias and activation, and the activation's gradient on the way back. */
#include "kernel/isa/vmath.h"

INLINE vf act_of(enum activation act, vf x) {
    switch (act) {
    case ACT_RELU:
        return v_max(v_set(0.0f), x);
    case ACT_GELU:
        return v_gelu(x);
    case ACT_GELU_TANH:
        return v_gelu_tanh(x);
    case ACT_SILU:
        return v_silu(x);
    case ACT_TANH:
        return v_tanh(x);
    case ACT_SIGMOID:
        return v_sigmoid(x);
    case ACT_SOFTPLUS:
        return v_softplus(x);
    case ACT_NONE:
        break;
    }
    return x;
}

/* act' from the output y (relu, tanh, sigmoid) or from the argument x (the others), times dy. */
INLINE vf act_slope(enum activation act, vf dy, vf saved) {
    switch (act) {
    case ACT_RELU:
        return (vf)((vu)dy & (vu) ~(saved <= 0.0f));
    case ACT_GELU:
        return dy * v_gelu_grad(saved);
    case ACT_GELU_TANH:
        return dy * v_gelu_tanh_grad(saved);
    case ACT_SILU:
        return dy * v_silu_grad(saved);
    case ACT_TANH:
        return dy * (1.0f - saved * saved);
    case ACT_SIGMOID:
        return dy * (saved * (1.0f - saved));
    case ACT_SOFTPLUS:
        return dy * v_sigmoid(saved);
    case ACT_NONE:
        break;
    }
    return dy;
}

INLINE void rows_of(enum activation act, float *c, int64_t ldc, int64_t rows, int64_t cols, const float *bias,
                    float *pre) {
    for (int64_t row = 0; row < rows; row++, c += ldc) {
        V_EACH(i, n, cols, {
            vf v = v_get(c + i, n, 0.0f);
            if (bias) v += v_get(bias + i, n, 0.0f);
            if (pre) v_put(pre + row * ldc + i, v, n);
            v_put(c + i, act_of(act, v), n);
        });
    }
}

/* One copy of the loop for each activation. */
#define ACTIVATIONS(ONE)                                                                                               \
    ONE(ACT_NONE)                                                                                                      \
    ONE(ACT_RELU)                                                                                                      \
    ONE(ACT_GELU) ONE(ACT_GELU_TANH) ONE(ACT_SILU) ONE(ACT_TANH) ONE(ACT_SIGMOID) ONE(ACT_SOFTPLUS)

void ISA_NAME(bias_act)(float *c, int64_t ldc, int64_t rows, int64_t cols, const float *bias, enum activation act,
                        float *pre) {
#define ROWS(which)                                                                                                    \
    case which:                                                                                                        \
        rows_of(which, c, ldc, rows, cols, bias, pre);                                                                 \
        break;
    switch (act) { ACTIVATIONS(ROWS) }
#undef ROWS
}

INLINE void grad_of(enum activation act, float *dpre, const float *dy, const float *saved, int64_t count) {
    V_EACH(i, n, count, { v_put(dpre + i, act_slope(act, v_get(dy + i, n, 0.0f), v_get(saved + i, n, 0.0f)), n); });
}

void ISA_NAME(act_grad)(float *dpre, const float *dy, const float *saved, int64_t n, enum activation act) {
#define FLAT(which)                                                                                                    \
    case which:                                                                                                        \
        grad_of(which, dpre, dy, saved, n);                                                                            \
        break;
    switch (act) { ACTIVATIONS(FLAT) }
#undef FLAT
}
