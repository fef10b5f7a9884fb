/* Rows of cross entropy, and losses of pairs of numbers. See kernel/loss.h. */
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

/* ---- pairs ---- */

INLINE vf pair_loss(const bool bce, vf x, vf y) {
    const vf d = x - y;
    return bce ? v_max(v_set(0.0f), x) - x * y + v_log1p_exp(x) : d * d;
}
INLINE vf pair_grad(const bool bce, vf x, vf y) { return bce ? v_sigmoid(x) - y : 2.0f * (x - y); }

/* Vectors of partial sums, emptied into doubles as those of row_sums. */
INLINE double pair_losses(const bool bce, float *each, const float *x, const float *y, int64_t n) {
    double sum = 0;
    for (int64_t from = 0; from < n; from += 32 * VW) {
        const int64_t some = n - from < 32 * VW ? n - from : 32 * VW;
        const float *const a = x + from, *const b = y + from;
        vf sums = {0};
        V_EACH(i, count, some, {
            vf loss = pair_loss(bce, v_get(a + i, count, 0.0f), v_get(b + i, count, 0.0f));
            if (each) v_put(each + from + i, loss, count);
            if (count < VW) loss = v_load_part((const float *)&loss, count, 0.0f);
            sums += loss;
        });
        sum += (double)v_sum(sums);
    }
    return sum;
}

INLINE void pair_grads(const bool bce, float *dx, const float *x, const float *y, const float *dy, float scale,
                       int64_t n, bool add) {
    V_EACH(i, count, n, {
        vf g = scale * pair_grad(bce, v_get(x + i, count, 0.0f), v_get(y + i, count, 0.0f));
        if (dy) g *= v_get(dy + i, count, 0.0f);
        v_put(dx + i, add ? v_get(dx + i, count, 0.0f) + g : g, count);
    });
}

double ISA_NAME(square_losses)(float *each, const float *x, const float *y, int64_t n) {
    return pair_losses(false, each, x, y, n);
}
double ISA_NAME(bce_losses)(float *each, const float *x, const float *y, int64_t n) {
    return pair_losses(true, each, x, y, n);
}
void ISA_NAME(square_grads)(float *dx, const float *x, const float *y, const float *dy, float scale, int64_t n,
                            bool add) {
    pair_grads(false, dx, x, y, dy, scale, n, add);
}
void ISA_NAME(bce_grads)(float *dx, const float *x, const float *y, const float *dy, float scale, int64_t n, bool add) {
    pair_grads(true, dx, x, y, dy, scale, n, add);
}
