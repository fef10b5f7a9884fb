/* Rows of cross entropy. See kernel/loss.h. */
#include "kernel/isa/vmath.h"
#include <math.h>

#define STEP 4 /* vectors whose exp goes in step */

static float top_of(const float *x, int64_t n) {
    vf top = v_set(-INFINITY);
    V_EACH(i, count, n, { top = v_max(v_get(x + i, count, -INFINITY), top); });
    return v_top(top);
}

float ISA_NAME(lse_row)(const float *x, int64_t n, float *tops) {
    float top = -INFINITY;
    for (int64_t i = 0; i < n; i += LSE_RUN) {
        const float run = top_of(x + i, n - i < LSE_RUN ? n - i : LSE_RUN);
        if (tops) tops[i / LSE_RUN] = run;
        if (run > top) top = run;
    }
    if (top == -INFINITY) { /* either nothing but -inf, or NaN that no comparison saw */
        float any = -INFINITY;
        for (int64_t i = 0; i < n; i++)
            if (isnan(x[i])) any = x[i];
        return any;
    }
    vf sum[STEP] = {{0}};
    int64_t i = 0;
    for (; i + STEP * VW <= n; i += STEP * VW) {
        vf e[STEP];
        UNROLL for (int v = 0; v < STEP; v++) e[v] = v_load(x + i + v * VW) - top;
        v_exp_below_each(e, STEP);
        UNROLL for (int v = 0; v < STEP; v++) sum[v] += e[v];
    }
    V_EACH(j, count, n - i, { sum[0] += v_exp_below(v_get(x + i + j, count, -INFINITY) - top); });
    return top + logf(v_sum((sum[0] + sum[1]) + (sum[2] + sum[3])));
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

/* `count` vectors in step, the last of n numbers. */
INLINE void put_grad(float *dx, const float *x, float lse, const float *p, float scale, float mass, float keep,
                     float rest, bool add, const int count, int64_t n) {
    vf e[STEP];
    UNROLL for (int v = 0; v < count; v++) e[v] = v_get(x + v * VW, n, 0) - lse;
    v_exp_below_each(e, count);
    UNROLL for (int v = 0; v < count; v++) {
        const vf g = scale * (e[v] * mass - keep * (p ? v_get(p + v * VW, n, 0) : (vf){0}) - rest);
        v_put(dx + v * VW, add ? v_get(dx + v * VW, n, 0) + g : g, n);
    }
}

void ISA_NAME(cross_entropy_grad_row)(float *dx, const float *x, float lse, const float *p, float scale, float mass,
                                      float keep, float rest, int64_t n, bool add) {
    int64_t i = 0;
    for (; i + STEP * VW <= n; i += STEP * VW)
        put_grad(dx + i, x + i, lse, p ? p + i : NULL, scale, mass, keep, rest, add, STEP, VW);
    for (; i < n; i += VW)
        put_grad(dx + i, x + i, lse, p ? p + i : NULL, scale, mass, keep, rest, add, 1, n - i < VW ? n - i : VW);
}
