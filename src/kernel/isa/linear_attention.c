/* Inner loops of linear attention and of its random features; what they compute is said in kernel/isa_attention.def. */
#include "kernel/favor.h"
#include "kernel/isa/vmath.h"

void ISA_NAME(linear_factors)(float *w, int64_t ld, const float *s, const float *top, int64_t n) {
    for (int64_t i = 0; i < n; i++, w += ld) {
        const float most = top[i] == -INFINITY ? 0.0f : top[i]; /* exp(-inf) is 0, -inf - -inf is not */
        V_EACH(j, count, i + 1, { v_put(w + j, v_exp(v_get(s + j, count, 0.0f) - most), count); });
        for (int64_t j = i + 1; j < n; j++) w[j] = 0.0f;
    }
}

void ISA_NAME(linear_weigh)(float *a, const float *w, int64_t ld, const float *row, const float *col, float *sum,
                            int64_t n) {
    for (int64_t i = 0; i < n; i++, a += ld, w += ld) {
        const float more = row ? row[i] : 0.0f;
        vf sums = {0};
        V_EACH(j, count, n, {
            const vf factor = v_get(w + j, count, 0.0f), add = col ? v_get(col + j, count, 0.0f) + more : v_set(more);
            const vf v = v_where(factor == 0.0f, v_set(0.0f), (v_get(a + j, count, 0.0f) + add) * factor);
            sums += v;
            v_put(a + j, v, count);
        });
        if (sum) sum[i] = v_sum(sums);
    }
}

void ISA_NAME(linear_gather)(float *out, float keep, const float *a, const float *x, int64_t ldx, int64_t rows,
                             int64_t cols) {
    V_EACH(c, count, cols, {
        vf sum = v_get(out + c, count, 0.0f) * keep;
        for (int64_t i = 0; i < rows; i++) sum = v_fma(v_set(a[i]), v_get(x + i * ldx + c, count, 0.0f), sum);
        v_put(out + c, sum, count);
    });
}

void ISA_NAME(linear_spread)(float *x, int64_t ldx, const float *a, const float *z, int64_t rows, int64_t cols) {
    for (int64_t i = 0; i < rows; i++, x += ldx)
        V_EACH(c, count, cols,
               { v_put(x + c, v_fma(v_set(a[i]), v_get(z + c, count, 0.0f), v_get(x + c, count, 0.0f)), count); });
}

void ISA_NAME(linear_scale)(float *y, int64_t ldy, const float *a, const float *x, int64_t ldx, int64_t rows,
                            int64_t cols, bool add) {
    for (int64_t i = 0; i < rows; i++, x += ldx, y += ldy) {
        const vf factor = v_set(a[i]);
        const vi nothing = factor == 0.0f;
        V_EACH(c, count, cols, {
            const vf v = v_where(nothing, v_set(0.0f), v_get(x + c, count, 0.0f) * factor);
            v_put(y + c, add ? v_get(y + c, count, 0.0f) + v : v, count);
        });
    }
}

/* ---- random features ---- */

INLINE float half_square(const float *x, int64_t d, float scale) {
    vf sum = {0};
    V_EACH(i, count, d, {
        const vf v = v_get(x + i, count, 0.0f) * scale;
        sum += v * v;
    });
    return 0.5f * v_sum(sum);
}

/* The largest of z, or of |z|. */
INLINE float largest(const float *z, int64_t m, bool either_sign) {
    vf top = v_set(-INFINITY);
    V_EACH(i, count, m, {
        const vf v = v_get(z + i, count, -INFINITY);
        const vf one = count < VW ? v_where(v == -INFINITY, v, either_sign ? v_abs(v) : v) : either_sign ? v_abs(v) : v;
        top = v_max(one, top);
    });
    return v_top(top);
}

void ISA_NAME(favor_rows)(int kind, float *f, float *shift, const float *z, const float *x, int64_t rows, int64_t m,
                          int64_t d, float scale) {
    const bool twice = kind != FAVOR_POSITIVE;
    const float norm = 1.0f / __builtin_sqrtf((float)(kind == FAVOR_HYPERBOLIC ? 2 * m : m));
    for (int64_t row = 0; row < rows; row++, z += m, x += d, f += twice ? 2 * m : m) {
        const float half = half_square(x, d, scale);
        if (kind == FAVOR_TRIGONOMETRIC) {
            if (shift) shift[row] = half;
            V_EACH(i, count, m, {
                const vf angle = v_get(z + i, count, 0.0f) * scale;
                v_put(f + i, v_sin(angle) * norm, count);
                v_put(f + m + i, v_cos(angle) * norm, count);
            });
            continue;
        }
        const float top = largest(z, m, twice) * scale;
        if (shift) shift[row] = top - half;
        V_EACH(i, count, m, {
            const vf v = v_get(z + i, count, 0.0f) * scale;
            v_put(f + i, v_exp(v - top) * norm, count);
            if (twice) v_put(f + m + i, v_exp(-v - top) * norm, count);
        });
    }
}

void ISA_NAME(favor_grad_rows)(int kind, float *dz, float *sum, const float *f, const float *df, int64_t rows,
                               int64_t m) {
    for (int64_t row = 0; row < rows; row++, dz += m) {
        vf sums = {0};
        if (kind == FAVOR_POSITIVE) {
            V_EACH(i, count, m, {
                const vf v = v_get(f + i, count, 0.0f) * v_get(df + i, count, 0.0f);
                sums += v;
                v_put(dz + i, v, count);
            });
            f += m, df += m;
        } else {
            V_EACH(i, count, m, {
                const vf a = v_get(f + i, count, 0.0f), b = v_get(f + m + i, count, 0.0f);
                const vf da = v_get(df + i, count, 0.0f), db = v_get(df + m + i, count, 0.0f);
                sums += a * da + b * db;
                v_put(dz + i, kind == FAVOR_TRIGONOMETRIC ? da * b - db * a : da * a - db * b, count);
            });
            f += 2 * m, df += 2 * m;
        }
        sum[row] = v_sum(sums);
    }
}
