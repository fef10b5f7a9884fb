/* Rows of the gated linear unit: a and b are the halves of a row of x. */
#include "kernel/isa/vmath.h"

void ISA_NAME(glu_rows)(float *y, const float *x, int64_t rows, int64_t n) {
    for (int64_t row = 0; row < rows; row++, x += 2 * n, y += n)
        V_EACH(i, count, n,
               { v_put(y + i, v_get(x + i, count, 0.0f) * v_sigmoid(v_get(x + n + i, count, 0.0f)), count); });
}

void ISA_NAME(glu_grad_rows)(float *dx, const float *x, const float *dy, int64_t rows, int64_t n) {
    for (int64_t row = 0; row < rows; row++, x += 2 * n, dx += 2 * n, dy += n)
        V_EACH(i, count, n, {
            const vf a = v_get(x + i, count, 0.0f), s = v_sigmoid(v_get(x + n + i, count, 0.0f));
            const vf d = v_get(dy + i, count, 0.0f);
            v_put(dx + i, d * s, count);
            v_put(dx + n + i, d * a * (s * (1.0f - s)), count);
        });
}
