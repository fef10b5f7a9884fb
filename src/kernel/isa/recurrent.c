/* The cells of recurrent networks, some units of a row at a time. */
#include "kernel/isa/vmath.h"

void ISA_NAME(rnn_row)(float *gate, float *h, bool relu, int64_t n) {
    V_EACH(i, count, n, {
        const vf a = v_get(gate + i, count, 0.0f), y = relu ? v_max((vf){0}, a) : v_tanh(a);
        v_put(gate + i, y, count);
        v_put(h + i, y, count);
    });
}

void ISA_NAME(rnn_grad_row)(float *gate, const float *dh, bool relu, int64_t n) {
    V_EACH(i, count, n, {
        const vf y = v_get(gate + i, count, 0.0f), d = v_get(dh + i, count, 0.0f);
        v_put(gate + i, relu ? v_where(y > 0.0f, d, (vf){0}) : d * (1.0f - y * y), count);
    });
}

void ISA_NAME(gru_row)(float *gates, int64_t apart, const float *before, float *h, int64_t n) {
    float *const reset = gates, *const update = gates + apart, *const new = gates + 2 * apart;
    const float *const inner = gates + 3 * apart;
    V_EACH(i, count, n, {
        const vf r = v_sigmoid(v_get(reset + i, count, 0.0f)), z = v_sigmoid(v_get(update + i, count, 0.0f));
        const vf a = v_tanh(v_fma(r, v_get(inner + i, count, 0.0f), v_get(new + i, count, 0.0f)));
        v_put(reset + i, r, count);
        v_put(update + i, z, count);
        v_put(new + i, a, count);
        v_put(h + i, v_fma(z, v_get(before + i, count, 0.0f) - a, a), count);
    });
}

void ISA_NAME(gru_grad_row)(float *gates, int64_t apart, const float *before, float *dh, int64_t n) {
    float *const reset = gates, *const update = gates + apart, *const new = gates + 2 * apart;
    float *const inner = gates + 3 * apart;
    V_EACH(i, count, n, {
        const vf r = v_get(reset + i, count, 0.0f), z = v_get(update + i, count, 0.0f);
        const vf a = v_get(new + i, count, 0.0f), d = v_get(dh + i, count, 0.0f);
        const vf da = d * (1.0f - z) * (1.0f - a * a);
        v_put(update + i, d * (v_get(before + i, count, 0.0f) - a) * (z * (1.0f - z)), count);
        v_put(reset + i, da * v_get(inner + i, count, 0.0f) * (r * (1.0f - r)), count);
        v_put(new + i, da, count);
        v_put(inner + i, da * r, count);
        v_put(dh + i, d * z, count);
    });
}

void ISA_NAME(lstm_row)(float *gates, int64_t apart, const float *c_before, float *c, float *h, int64_t n) {
    float *const in = gates, *const forget = gates + apart, *const new = gates + 2 * apart,
                 *const out = gates + 3 * apart;
    V_EACH(i, count, n, {
        const vf a = v_sigmoid(v_get(in + i, count, 0.0f)), f = v_sigmoid(v_get(forget + i, count, 0.0f));
        const vf g = v_tanh(v_get(new + i, count, 0.0f)), o = v_sigmoid(v_get(out + i, count, 0.0f));
        const vf held = v_fma(f, v_get(c_before + i, count, 0.0f), a * g);
        v_put(in + i, a, count);
        v_put(forget + i, f, count);
        v_put(new + i, g, count);
        v_put(out + i, o, count);
        v_put(c + i, held, count);
        v_put(h + i, o * v_tanh(held), count);
    });
}

/* c and its tanh are computed again from the gates rather than kept. */
void ISA_NAME(lstm_grad_row)(float *gates, int64_t apart, const float *c_before, float *dc, const float *dh,
                             int64_t n) {
    float *const in = gates, *const forget = gates + apart, *const new = gates + 2 * apart,
                 *const out = gates + 3 * apart;
    V_EACH(i, count, n, {
        const vf a = v_get(in + i, count, 0.0f), f = v_get(forget + i, count, 0.0f);
        const vf g = v_get(new + i, count, 0.0f), o = v_get(out + i, count, 0.0f);
        const vf before = v_get(c_before + i, count, 0.0f), d = v_get(dh + i, count, 0.0f);
        const vf t = v_tanh(v_fma(f, before, a * g));
        const vf held = v_fma(d * o, 1.0f - t * t, v_get(dc + i, count, 0.0f));
        v_put(in + i, held * g * (a * (1.0f - a)), count);
        v_put(forget + i, held * before * (f * (1.0f - f)), count);
        v_put(new + i, held * a * (1.0f - g * g), count);
        v_put(out + i, d * t * (o * (1.0f - o)), count);
        v_put(dc + i, held * f, count);
    });
}
