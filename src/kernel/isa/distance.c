/* Inner loops of squared distances: vectors run along the keys, which are laid out (d,keys), so that one coordinate is
 * as good as many. See kernel/distance.h. */
#include "kernel/isa/vmath.h"

#define WIDE 4 /* vectors of keys whose sums are held at a time */

/* `count` vectors of keys; in the last only n lanes count. */
INLINE void distance_keys(float *out, const float *q, const float *kt, const float *s, int64_t keys, int64_t d,
                          int count, int64_t n) {
    vf sum[WIDE] = {{0}};
    for (int64_t c = 0; c < d; c++, kt += keys)
        for (int v = 0; v < count; v++) {
            const vf x = (q[c] - v_get(kt + v * VW, n, 0.0f)) * (s ? s[c] : 1.0f);
            sum[v] += x * x;
        }
    for (int v = 0; v < count; v++) v_put(out + v * VW, sum[v], n);
}

void ISA_NAME(distance_rows)(float *out, const float *q, const float *kt, const float *s, int64_t rows, int64_t keys,
                             int64_t d) {
    for (int64_t row = 0; row < rows; row++, q += d, out += keys) {
        int64_t j = 0;
        for (; j + WIDE * VW <= keys; j += WIDE * VW) distance_keys(out + j, q, kt + j, s, keys, d, WIDE, VW);
        for (; j < keys; j += VW) distance_keys(out + j, q, kt + j, s, keys, d, 1, keys - j < VW ? keys - j : VW);
    }
}

double ISA_NAME(distance_grads)(float *q, float *dk, const float *kt, const float *g, int64_t queries, int64_t keys) {
    double total = 0.0;
    for (int64_t row = 0; row < queries; row++, g += keys) {
        const float here = q[row];
        vf sum = {0}, squares = {0};
        V_EACH(j, n, keys, {
            const vf weight = v_get(g + j, n, 0.0f);
            const vf x = v_where(weight != 0.0f, here - v_get(kt + j, n, 0.0f), v_set(0.0f)), part = weight * x;
            sum += part;
            squares += part * x;
            v_put(dk + j, v_get(dk + j, n, 0.0f) - part, n);
        });
        q[row] = v_sum(sum);
        total += (double)v_sum(squares);
    }
    return total;
}
