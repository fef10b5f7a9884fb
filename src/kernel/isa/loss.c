/* Rows of cross entropy. See kernel/loss.h. */
#include "kernel/isa/vmath.h"
#include <math.h>

static float top_of(const float *x, int64_t n) {
    vf top = v_set(-INFINITY);
    int64_t i = 0;
    for (; i + VW <= n; i += VW) top = v_max(v_load(x + i), top);
    if (i < n) top = v_max(v_load_part(x + i, n - i, -INFINITY), top);
    return v_top(top);
}

void ISA_NAME(lse_rows)(float *lse, const float *x, int64_t ld, int64_t rows, int64_t n) {
    for (int64_t r = 0; r < rows; r++, x += ld) {
        const float top = top_of(x, n);
        if (top == -INFINITY) {
            /* either nothing but -inf, or NaN that no comparison saw */
            float any = -INFINITY;
            for (int64_t i = 0; i < n; i++)
                if (isnan(x[i])) any = x[i];
            lse[r] = any;
            continue;
        }
        vf sum[2] = {{0}, {0}};
        int64_t i = 0;
        for (; i + 2 * VW <= n; i += 2 * VW) {
            sum[0] += v_exp(v_load(x + i) - top);
            sum[1] += v_exp(v_load(x + i + VW) - top);
        }
        for (; i < n; i += VW) {
            const int64_t left = n - i < VW ? n - i : VW;
            sum[0] += v_exp((left == VW ? v_load(x + i) : v_load_part(x + i, left, -INFINITY)) - top);
        }
        lse[r] = top + logf(v_sum(sum[0] + sum[1]));
    }
}

/* Vectors of partial sums, emptied into doubles every few hundred numbers. */
void ISA_NAME(row_sums)(double *sum, double *dot, const float *x, const float *p, int64_t n) {
    double s = 0, d = 0;
    for (int64_t from = 0; from < n; from += 32 * VW) {
        const int64_t to = n - from < 32 * VW ? n : from + 32 * VW;
        vf sums = {0}, dots = {0};
        for (int64_t i = from; i < to; i += VW) {
            const int64_t left = to - i < VW ? to - i : VW;
            const vf v = left == VW ? v_load(x + i) : v_load_part(x + i, left, 0);
            sums += v;
            if (p) dots += v * (left == VW ? v_load(p + i) : v_load_part(p + i, left, 0));
        }
        s += (double)v_sum(sums);
        d += (double)v_sum(dots);
    }
    *sum = s;
    if (p) *dot = d;
}

INLINE vf grad_of(vf x, vf p, float lse, float scale, float mass, float keep, float rest) {
    return scale * (v_exp(x - lse) * mass - keep * p - rest);
}

void ISA_NAME(cross_entropy_grad_row)(float *dx, const float *x, float lse, const float *p, float scale, float mass,
                                      float keep, float rest, int64_t n, bool add) {
    int64_t i = 0;
    for (; i + VW <= n; i += VW) {
        const vf g = grad_of(v_load(x + i), p ? v_load(p + i) : (vf){0}, lse, scale, mass, keep, rest);
        v_store(dx + i, add ? v_load(dx + i) + g : g);
    }
    if (i == n) return;
    const int64_t left = n - i;
    const vf g =
        grad_of(v_load_part(x + i, left, 0), p ? v_load_part(p + i, left, 0) : (vf){0}, lse, scale, mass, keep, rest);
    v_store_part(dx + i, add ? v_load_part(dx + i, left, 0) + g : g, left);
}
