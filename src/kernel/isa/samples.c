/* Negative sampling: all products first, so that every gradient is that of the weights as they were; then one walk over
 * the rows, which reads and writes each once. Nothing has a rest: see SAMPLE_RUN. */
#include "kernel/isa/vmath.h"

#define WIDE 4 /* vectors of a row that are held at a time */

/* `count` products, whose chains of sums run beside each other. */
INLINE void products(float *score, const float *h, const float *table, int64_t width, const int32_t *row,
                     const int count) {
    const float *at[6];
    vf sum[6];
    UNROLL for (int k = 0; k < count; k++) {
        at[k] = table + row[k] * width;
        sum[k] = v_set(0.0f);
    }
    for (int64_t i = 0; i < width; i += VW) {
        const vf x = v_load(h + i);
        UNROLL for (int k = 0; k < count; k++) sum[k] = v_fma(x, v_load(at[k] + i), sum[k]);
    }
    UNROLL for (int k = 0; k < count; k++) score[k] = v_sum(sum[k]);
}

/* `count` vectors of each row. */
INLINE void walk(float *step, const float *h, float *table, int64_t width, const int32_t *row, const float *slope,
                 int64_t n, const int count) {
    vf x[WIDE], sum[WIDE];
    UNROLL for (int v = 0; v < count; v++) {
        x[v] = v_load(h + v * VW);
        sum[v] = v_set(0.0f);
    }
    for (int64_t i = 0; i < n; i++) {
        float *const at = table + row[i] * width;
        const vf g = v_set(slope[i]);
        UNROLL for (int v = 0; v < count; v++) {
            const vf old = v_load(at + v * VW);
            sum[v] = v_fma(g, old, sum[v]);
            v_store(at + v * VW, v_fma(g, x[v], old));
        }
    }
    UNROLL for (int v = 0; v < count; v++) v_store(step + v * VW, v_load(step + v * VW) + sum[v]);
}

void ISA_NAME(sample_rows)(float *step, const float *h, float *table, int64_t width, const int32_t *row,
                           const float *times, int64_t n, float lr, float *score, float *slope) {
    int64_t i = 0;
    for (; i + 6 <= n; i += 6) products(score + i, h, table, width, row + i, 6);
    for (; i + 3 <= n; i += 3) products(score + i, h, table, width, row + i, 3);
    for (; i < n; i++) products(score + i, h, table, width, row + i, 1);
    for (i = 0; i < n; i += VW) v_store(slope + i, v_sigmoid(v_load(score + i)) * v_load(times + i) * -lr);
    slope[0] += lr;
    for (i = 0; i + WIDE * VW <= width; i += WIDE * VW) walk(step + i, h + i, table + i, width, row, slope, n, WIDE);
    for (; i < width; i += VW) walk(step + i, h + i, table + i, width, row, slope, n, 1);
}
