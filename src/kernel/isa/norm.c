/* Layer norm (Ba et al. 2016) and RMS norm (Zhang and Sennrich 2019) of rows, forward and backward.
 *
 * Rows are taken four at a time: their sums hide each other's latency, and gamma and the sums over rows are loaded once
 * for four. The order of every sum is that of one row at a time. */
#include "kernel/isa/vmath.h"

#define GROUP 4

/* h = x + r into h; the mean (0 without `centre`) and the spread in two passes: a difference of large sums is never
 * taken. */
INLINE void norm_group(int group, bool centre, float *y, float *h, float *mean, float *rstd, const float *x,
                       const float *r, const float *gamma, const float *beta, float eps, int64_t cols) {
    float middle[GROUP] = {0}, scale[GROUP];
    if (r || centre) {
        vf sum[GROUP] = {{0}};
        V_EACH(i, n, cols, {
            for (int k = 0; k < group; k++) {
                vf v = v_get(x + k * cols + i, n, 0.0f);
                if (r) {
                    v += v_get(r + k * cols + i, n, 0.0f);
                    v_put(h + k * cols + i, v, n);
                }
                sum[k] += v;
            }
        });
        for (int k = 0; centre && k < group; k++) middle[k] = v_sum(sum[k]) / (float)cols;
        for (int k = 0; mean && k < group; k++) mean[k] = middle[k];
    }
    if (r) x = h;
    vf squares[GROUP] = {{0}};
    V_EACH(i, n, cols, {
        for (int k = 0; k < group; k++) {
            const vf d = v_get(x + k * cols + i, n, middle[k]) - middle[k];
            squares[k] = v_fma(d, d, squares[k]);
        }
    });
    for (int k = 0; k < group; k++) scale[k] = 1.0f / __builtin_sqrtf(v_sum(squares[k]) / (float)cols + eps);
    for (int k = 0; rstd && k < group; k++) rstd[k] = scale[k];
    V_EACH(i, n, cols, {
        const vf g = gamma ? v_get(gamma + i, n, 0.0f) : v_set(1.0f);
        const vf b = beta ? v_get(beta + i, n, 0.0f) : v_set(0.0f);
        for (int k = 0; k < group; k++)
            v_put(y + k * cols + i, v_fma((v_get(x + k * cols + i, n, 0.0f) - middle[k]) * scale[k], g, b), n);
    });
}

/* Without room for h the sum x + r goes to y first and is normed in place. */
void ISA_NAME(norm_rows)(bool centre, float *y, float *h, float *mean, float *rstd, const float *x, const float *r,
                         const float *gamma, const float *beta, float eps, int64_t rows, int64_t cols) {
    if (!h) h = y;
    for (int64_t row = 0, group; row < rows; row += group) {
        group = row + GROUP <= rows ? GROUP : 1;
        if (group == GROUP && centre)
            norm_group(GROUP, true, y, h, mean, rstd, x, r, gamma, beta, eps, cols);
        else if (group == GROUP)
            norm_group(GROUP, false, y, h, NULL, rstd, x, r, gamma, beta, eps, cols);
        else
            norm_group(1, centre, y, h, centre ? mean : NULL, rstd, x, r, gamma, beta, eps, cols);
        x += group * cols, y += group * cols, h += group * cols;
        if (r) r += group * cols;
        if (mean) mean += group;
        if (rstd) rstd += group;
    }
}

/* With z = (h - mean) rstd and g = dy gamma:   dx = rstd (g - avg(g) - z avg(g z)),   dgamma = sum dy z,
 * dbeta = sum dy; the RMS norm has no mean and no avg(g). */
INLINE void norm_grad_group(int group, bool centre, float *dx, bool add, float *dgamma, float *dbeta, const float *dy,
                            const float *h, const float *mean, const float *rstd, const float *gamma, int64_t cols) {
    vf sum_g[GROUP] = {{0}}, sum_gz[GROUP] = {{0}};
    V_EACH(i, n, cols, {
        const vf weight = gamma ? v_get(gamma + i, n, 0.0f) : v_set(1.0f);
        vf sum_dyz = dgamma ? v_get(dgamma + i, n, 0.0f) : v_set(0.0f);
        vf sum_dy = dbeta ? v_get(dbeta + i, n, 0.0f) : v_set(0.0f);
        for (int k = 0; k < group; k++) {
            const vf d = v_get(dy + k * cols + i, n, 0.0f), g = d * weight;
            const vf z = (v_get(h + k * cols + i, n, 0.0f) - (centre ? mean[k] : 0.0f)) * rstd[k];
            sum_g[k] += g;
            sum_gz[k] = v_fma(g, z, sum_gz[k]);
            sum_dyz = v_fma(d, z, sum_dyz);
            sum_dy += d;
        }
        if (dgamma) v_put(dgamma + i, sum_dyz, n);
        if (dbeta) v_put(dbeta + i, sum_dy, n);
    });
    if (!dx) return;
    float avg_g[GROUP] = {0}, avg_gz[GROUP];
    for (int k = 0; k < group; k++) {
        if (centre) avg_g[k] = v_sum(sum_g[k]) / (float)cols;
        avg_gz[k] = v_sum(sum_gz[k]) / (float)cols;
    }
    V_EACH(i, n, cols, {
        const vf weight = gamma ? v_get(gamma + i, n, 0.0f) : v_set(1.0f);
        for (int k = 0; k < group; k++) {
            const int64_t at = k * cols + i;
            const vf z = (v_get(h + at, n, 0.0f) - (centre ? mean[k] : 0.0f)) * rstd[k];
            const vf g = v_fma(v_get(dy + at, n, 0.0f), weight, v_set(-avg_g[k]));
            const vf d = v_fma(-z, v_set(avg_gz[k]), g) * rstd[k];
            v_put(dx + at, add ? v_get(dx + at, n, 0.0f) + d : d, n);
        }
    });
}

void ISA_NAME(norm_grad_rows)(float *dx, bool add, float *dgamma, float *dbeta, const float *dy, const float *h,
                              const float *mean, const float *rstd, const float *gamma, int64_t rows, int64_t cols) {
    for (int64_t row = 0, group; row < rows; row += group) {
        group = row + GROUP <= rows ? GROUP : 1;
        if (group == GROUP && mean)
            norm_grad_group(GROUP, true, dx, add, dgamma, dbeta, dy, h, mean, rstd, gamma, cols);
        else if (group == GROUP)
            norm_grad_group(GROUP, false, dx, add, dgamma, dbeta, dy, h, NULL, rstd, gamma, cols);
        else
            norm_grad_group(1, mean != NULL, dx, add, dgamma, dbeta, dy, h, mean, rstd, gamma, cols);
        dy += group * cols, h += group * cols, rstd += group;
        if (dx) dx += group * cols;
        if (mean) mean += group;
    }
}
