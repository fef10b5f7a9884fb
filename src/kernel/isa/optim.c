/* Steps of optimizers and other walks over flat arrays: each reads and writes memory once. */
#include "kernel/isa/vmath.h"

void ISA_NAME(sgd_part)(float *w, float *velocity, const float *g, int64_t n, float lr, float momentum, bool nesterov,
                        float decay, float scale) {
    V_EACH(i, some, n, {
        const vf weight = v_get(w + i, some, 0.0f);
        vf slope = v_get(g + i, some, 0.0f) * scale + weight * decay;
        if (velocity) {
            const vf speed = v_get(velocity + i, some, 0.0f) * momentum + slope;
            v_put(velocity + i, speed, some);
            slope = nesterov ? slope + speed * momentum : speed;
        }
        v_put(w + i, weight - slope * lr, some);
    });
}

void ISA_NAME(adam_part)(float *w, float *m, float *v, const float *g, int64_t n, float scale, float decay,
                         float shrink, float rate1, float keep2, float rate2, float step, float root, float eps) {
    V_EACH(i, some, n, {
        const vf weight = v_get(w + i, some, 0.0f), m0 = v_get(m + i, some, 0.0f), v0 = v_get(v + i, some, 0.0f);
        const vf slope = v_get(g + i, some, 0.0f) * scale + weight * decay;
        const vf m1 = m0 + (slope - m0) * rate1;
        const vf v1 = v0 * keep2 + slope * slope * rate2;
        v_put(m + i, m1, some);
        v_put(v + i, v1, some);
        v_put(w + i, weight * shrink - m1 * step / (v_sqrt(v1) * root + eps), some);
    });
}

/* In double: a long sum of squares of floats neither overflows nor loses its small terms. */
double ISA_NAME(square_sum_part)(const float *x, int64_t n) {
    vf64 sum[2] = {{0}};
    V_EACH(i, some, n, {
        vf64 wide[2];
        v_widen(v_get(x + i, some, 0.0f), wide);
        sum[0] += wide[0] * wide[0];
        sum[1] += wide[1] * wide[1];
    });
    double total = 0.0;
    for (int i = 0; i < VW / 2; i++) total += sum[0][i] + sum[1][i];
    return total;
}

void ISA_NAME(square_add_part)(double *sums, const float *x, int64_t n) {
    for (int64_t i = 0; i < n; i++) sums[i] += (double)x[i] * (double)x[i];
}

double ISA_NAME(factored_square_part)(const float *g, const float *col, int64_t n, float row, float least) {
    vf64 sum[2] = {{0}};
    V_EACH(i, some, n, {
        const vf slope = v_get(g + i, some, 0.0f);
        vf64 wide[2];
        v_widen(slope * slope / v_max(v_get(col + i, some, 1.0f) * row, v_set(least)), wide);
        sum[0] += wide[0];
        sum[1] += wide[1];
    });
    double total = 0.0;
    for (int i = 0; i < VW / 2; i++) total += sum[0][i] + sum[1][i];
    return total;
}

void ISA_NAME(factored_step_part)(float *w, const float *g, const float *col, int64_t n, float row, float least,
                                  float keep, float step) {
    V_EACH(i, some, n, {
        const vf root = v_sqrt(v_max(v_get(col + i, some, 1.0f) * row, v_set(least)));
        v_put(w + i, v_get(w + i, some, 0.0f) * keep - v_get(g + i, some, 0.0f) * step / root, some);
    });
}

void ISA_NAME(ema_part)(float *average, const float *x, int64_t n, float rate) {
    V_EACH(i, some, n, {
        const vf old = v_get(average + i, some, 0.0f);
        v_put(average + i, old + (v_get(x + i, some, 0.0f) - old) * rate, some);
    });
}

void ISA_NAME(add_part)(float *c, const float *a, const float *b, int64_t n) {
    V_EACH(i, some, n, { v_put(c + i, v_get(a + i, some, 0.0f) + v_get(b + i, some, 0.0f), some); });
}

void ISA_NAME(axpy_part)(float *y, float a, const float *x, int64_t n) {
    V_EACH(i, some, n, { v_put(y + i, v_get(y + i, some, 0.0f) + v_get(x + i, some, 0.0f) * a, some); });
}

void ISA_NAME(scale_part)(float *y, float a, const float *x, int64_t n) {
    V_EACH(i, some, n, { v_put(y + i, v_get(x + i, some, 0.0f) * a, some); });
}
