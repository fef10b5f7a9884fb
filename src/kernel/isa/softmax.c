/* Softmax and log-softmax of rows, and their gradients. A row is read for its maximum, for the sum of exponentials and
 * once more for the result: short rows stay in L1 between. */
#include "kernel/isa/vmath.h"

/* Four chains at once hide the latency of each. */
INLINE float row_max(const float *x, int64_t cols) {
    vf top[4] = {v_set(-INFINITY), v_set(-INFINITY), v_set(-INFINITY), v_set(-INFINITY)};
    int64_t i = 0;
    for (; i + 4 * VW <= cols; i += 4 * VW)
        for (int k = 0; k < 4; k++) top[k] = v_max(top[k], v_load(x + i + k * VW));
    V_EACH(j, n, cols - i, { top[0] = v_max(top[0], v_get(x + i + j, n, -INFINITY)); });
    return v_top(v_max(v_max(top[0], top[1]), v_max(top[2], top[3])));
}

INLINE float row_sum(const float *a, const float *b, int64_t cols) {
    vf sum[4] = {{0}};
    int64_t i = 0;
    for (; i + 4 * VW <= cols; i += 4 * VW)
        for (int k = 0; k < 4; k++) {
            const vf v = v_load(a + i + k * VW);
            sum[k] += b ? v * v_load(b + i + k * VW) : v;
        }
    V_EACH(j, n, cols - i, {
        const vf v = v_get(a + i + j, n, 0.0f);
        sum[0] += b ? v * v_get(b + i + j, n, 0.0f) : v;
    });
    return v_sum((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

/* The number to take from a row before exp: its maximum, or 0 when every entry is -inf, whose exp is 0 then. */
INLINE float row_shift(const float *x, int64_t cols) {
    const float top = row_max(x, cols);
    return top == -INFINITY ? 0.0f : top;
}

void ISA_NAME(softmax_rows)(float *y, int64_t ldy, const float *x, int64_t ldx, int64_t rows, int64_t cols) {
    for (int64_t row = 0; row < rows; row++, x += ldx, y += ldy) {
        const float shift = row_shift(x, cols);
        vf sums = {0};
        V_EACH(i, n, cols, {
            const vf e = v_exp(v_get(x + i, n, -INFINITY) - shift);
            sums += e;
            v_put(y + i, e, n);
        });
        const float sum = v_sum(sums), scale = sum == 0.0f ? 0.0f : 1.0f / sum;
        V_EACH(i, n, cols, { v_put(y + i, v_get(y + i, n, 0.0f) * scale, n); });
    }
}

void ISA_NAME(log_softmax_rows)(float *y, int64_t ldy, const float *x, int64_t ldx, int64_t rows, int64_t cols) {
    for (int64_t row = 0; row < rows; row++, x += ldx, y += ldy) {
        const float shift = row_shift(x, cols);
        vf sums = {0};
        V_EACH(i, n, cols, { sums += v_exp(v_get(x + i, n, -INFINITY) - shift); });
        const float sum = v_sum(sums), log_sum = sum == 0.0f ? 0.0f : v_log(v_set(sum))[0];
        V_EACH(i, n, cols, { v_put(y + i, (v_get(x + i, n, 0.0f) - shift) - log_sum, n); });
    }
}

INLINE void put_or_add(float *p, vf v, int64_t n, bool add) { v_put(p, add ? v_get(p, n, 0.0f) + v : v, n); }

void ISA_NAME(softmax_grad_rows)(float *dx, int64_t lddx, const float *y, int64_t ldy, const float *dy, int64_t lddy,
                                 int64_t rows, int64_t cols, bool add) {
    for (int64_t row = 0; row < rows; row++, dx += lddx, y += ldy, dy += lddy) {
        const float dot = row_sum(dy, y, cols);
        V_EACH(i, n, cols, { put_or_add(dx + i, v_get(y + i, n, 0.0f) * (v_get(dy + i, n, 0.0f) - dot), n, add); });
    }
}

void ISA_NAME(log_softmax_grad_rows)(float *dx, int64_t lddx, const float *y, int64_t ldy, const float *dy,
                                     int64_t lddy, int64_t rows, int64_t cols, bool add) {
    for (int64_t row = 0; row < rows; row++, dx += lddx, y += ldy, dy += lddy) {
        const float sum = row_sum(dy, NULL, cols);
        V_EACH(i, n, cols,
               { put_or_add(dx + i, v_get(dy + i, n, 0.0f) - v_exp(v_get(y + i, n, -INFINITY)) * sum, n, add); });
    }
}
