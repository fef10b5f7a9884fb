/* Row kernels against their twins, for every instruction set, on odd, strided, empty and tiny shapes; and the threaded
 * wrappers: the same bits for any number of threads. Gaps between rows hold NaN, which nobody may read or change. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/philox.h"
#include "kernel/move.h"
#include "kernel/rows.h"
#include "twin.h"
#include <stdlib.h>
#include <string.h>

static const int64_t ROWS[] = {0, 1, 3, 4, 9}, COLS[] = {1, 2, 7, 8, 17, 33, 64, 100, 259};
#define EACH(i, list) for (size_t i = 0; i < sizeof(list) / sizeof *(list); i++)

static const struct isa *set;
#define EACH_SET(body)                                                                                                 \
    do {                                                                                                               \
        const struct isa *sets[4];                                                                                     \
        const int count = isa_all(sets);                                                                               \
        for (int s = 0; s < count; s++) {                                                                              \
            set = sets[s];                                                                                             \
            body;                                                                                                      \
        }                                                                                                              \
    } while (0)

/* An exact allocation, so that ASan sees a step too far. */
static void *room(int64_t count, size_t size) {
    void *p = malloc(count > 0 ? (size_t)count * size : 1);
    assert_non_null(p);
    return p;
}
static float *numbers(int64_t n, uint64_t stream) {
    float *p = room(n, sizeof *p);
    heed_random_normal(7, stream, 0, p, n);
    return p;
}
static float *copy(const float *x, int64_t n) {
    float *p = room(n, sizeof *p);
    if (n > 0) memcpy(p, x, (size_t)n * sizeof *p);
    return p;
}

/* (rows, cols) with NaN in the gaps; the last row has none after it. */
static int64_t extent(int64_t rows, int64_t cols, int64_t ld) { return rows ? (rows - 1) * ld + cols : 0; }
static float *strided(int64_t rows, int64_t cols, int64_t ld, uint64_t stream) {
    const int64_t n = extent(rows, cols, ld);
    float *p = numbers(n, stream);
    for (int64_t i = 0; i < n; i++)
        if (i % ld >= cols) p[i] = NAN;
    return p;
}
static void check_gaps(const float *p, int64_t rows, int64_t cols, int64_t ld) {
    for (int64_t i = 0; i < extent(rows, cols, ld); i++)
        if (i % ld >= cols && !isnan(p[i])) fail_msg("%s: wrote between the rows", set->name);
}

static void close_to(const char *what, float got, double want, double rtol, double atol) {
    if (isnan(want) && isnan(got)) return;
    if (isinf(want) && (double)got == want) return;
    if (!(fabs((double)got - want) <= atol + rtol * fabs(want)))
        fail_msg("%s (%s): %.9g, should be %.17g", what, set->name, (double)got, want);
}

/* ---- Losses of pairs ---- */

static double pair_twin(bool bce, double x, double y) {
    return bce ? fmax(x, 0) - x * y + log1p(exp(-fabs(x))) : (x - y) * (x - y);
}
static double pair_slope(bool bce, double x, double y) { return bce ? 1 / (1 + exp(-x)) - y : 2 * (x - y); }

static void pair_losses(int64_t n) {
    for (int with = 0; with < 8; with++) {
        const bool bce = with & 1, add = with & 2, each_dy = with & 4;
        float *const x = numbers(n, 1), *const y = numbers(n, 2), *const dy = numbers(n, 3), *const dx = numbers(n, 4),
                     *const was = copy(dx, n), *const each = room(n, sizeof *each);
        double sum = 0;
        for (int64_t i = 0; i < n; i++) x[i] *= i % 5 == 0 ? 40 : 3;
        close_to("the sum of losses", (float)(bce ? set->bce_losses : set->square_losses)(NULL, x, y, n),
                 (bce ? set->bce_losses : set->square_losses)(each, x, y, n), 1e-7, 0);
        (bce ? set->bce_grads : set->square_grads)(dx, x, y, each_dy ? dy : NULL, 0.7f, n, add);
        for (int64_t i = 0; i < n; i++) {
            const double a = (double)x[i], b = (double)y[i], by = each_dy ? (double)dy[i] : 1;
            const double slope = (double)0.7f * by * pair_slope(bce, a, b);
            sum += pair_twin(bce, a, b);
            close_to("a loss", each[i], pair_twin(bce, a, b), 2e-6, 1e-6);
            close_to("its gradient", dx[i], slope + (add ? (double)was[i] : 0), 2e-6, 1e-6);
        }
        close_to("their sum", (float)(bce ? set->bce_losses : set->square_losses)(NULL, x, y, n), sum, 2e-6, 1e-5);
        free(x), free(y), free(dy), free(dx), free(was), free(each);
    }
}
static void test_pair_losses(void **state) {
    (void)state;
    EACH_SET(EACH(j, COLS) pair_losses(COLS[j]); pair_losses(0); pair_losses(1031));
}

/* ---- Epilogue ---- */

static void epilogue(int64_t rows, int64_t cols) {
    const int64_t ld = cols + 3;
    for (int with = 0; with < 4; with++)
        for (enum activation act = ACT_NONE; act < ACT_COUNT; act++) {
            float *c = strided(rows, cols, ld, 1), *x = copy(c, extent(rows, cols, ld)), *bias = numbers(cols, 2);
            float *pre = with & 2 ? strided(rows, cols, ld, 3) : NULL;
            set->bias_act(c, ld, rows, cols, with & 1 ? bias : NULL, act, pre);
            check_gaps(c, rows, cols, ld);
            if (pre) check_gaps(pre, rows, cols, ld);
            for (int64_t i = 0; i < rows; i++)
                for (int64_t j = 0; j < cols; j++) {
                    const float v = x[i * ld + j] + (with & 1 ? bias[j] : 0.0f);
                    close_to("bias_act", c[i * ld + j], twin_act(act, (double)v), 1e-6, 1e-7);
                    if (pre) assert_true(pre[i * ld + j] == v);
                }
            free(c), free(x), free(bias), free(pre);
        }
}

static void test_epilogue(void **state) {
    (void)state;
    EACH_SET(EACH(r, ROWS) EACH(c, COLS) epilogue(ROWS[r], COLS[c]));
}

/* ---- Softmax ---- */

static void softmax(int64_t rows, int64_t cols, int64_t gap) {
    const int64_t ldx = cols + gap, ldy = cols + 2 * gap, ldd = cols + 3 * gap;
    for (int log = 0; log < 2; log++)
        for (int add = 0; add < 2; add++) {
            float *x = strided(rows, cols, ldx, 1), *y = strided(rows, cols, ldy, 2);
            float *dy = strided(rows, cols, ldy, 3), *dx = strided(rows, cols, ldd, 4);
            float *before = copy(dx, extent(rows, cols, ldd));
            double *want = room(cols, sizeof *want);
            (log ? set->log_softmax_rows : set->softmax_rows)(y, ldy, x, ldx, rows, cols);
            (log ? set->log_softmax_grad_rows : set->softmax_grad_rows)(dx, ldd, y, ldy, dy, ldy, rows, cols, add);
            check_gaps(y, rows, cols, ldy);
            check_gaps(dx, rows, cols, ldd);
            for (int64_t i = 0; i < rows; i++) {
                twin_softmax(want, x + i * ldx, cols, log);
                for (int64_t j = 0; j < cols; j++) close_to("softmax", y[i * ldy + j], want[j], 2e-6, log ? 1e-6 : 0.0);
                twin_softmax_grad(want, y + i * ldy, dy + i * ldy, cols, log);
                for (int64_t j = 0; j < cols; j++)
                    close_to("softmax_grad", dx[i * ldd + j], want[j] + (add ? (double)before[i * ldd + j] : 0.0), 4e-6,
                             2e-6);
            }
            free(x), free(y), free(dy), free(dx), free(before), free(want);
        }
}

static void test_softmax(void **state) {
    (void)state;
    EACH_SET(EACH(r, ROWS) EACH(c, COLS) for (int64_t gap = 0; gap < 6; gap += 5) softmax(ROWS[r], COLS[c], gap));
}

/* -inf is a zero, a row of them gives zeros; NaN and +inf spoil their row and no other; large numbers do not overflow.
 */
static void softmax_special(void) {
    enum { N = 37 };
    float x[5][N], y[5][N], z[5][N];
    for (int r = 0; r < 5; r++) heed_random_normal(3, 1, (uint64_t)(r * N), x[r], N);
    for (int i = 0; i < N; i++) x[0][i] = -INFINITY, x[4][i] += i % 2 ? 3e38f : -3e38f;
    x[1][36] = x[1][3] = -INFINITY;
    x[2][35] = NAN;
    x[3][0] = INFINITY;
    set->softmax_rows(y[0], N, x[0], N, 5, N);
    set->log_softmax_rows(z[0], N, x[0], N, 5, N);
    double sum[5] = {0};
    for (int i = 0; i < N; i++) {
        assert_true(y[0][i] == 0.0f && z[0][i] == -INFINITY);
        assert_true(isnan(y[2][i]) && isnan(y[3][i]) && isnan(z[2][i]) && isnan(z[3][i]));
        assert_true(y[4][i] >= 0.0f && !isnan(z[4][i]));
        sum[1] += (double)y[1][i], sum[4] += (double)y[4][i];
    }
    assert_true(y[1][36] == 0.0f && y[1][3] == 0.0f && z[1][36] == -INFINITY);
    close_to("sum", (float)sum[1], 1.0, 1e-6, 0.0);
    close_to("sum", (float)sum[4], 1.0, 1e-6, 0.0);
}

static void test_softmax_special(void **state) {
    (void)state;
    EACH_SET(softmax_special());
}

/* ---- Norms ---- */

/* with: 1 gamma, 2 beta, 4 residual, 8 h wanted, 16 layer norm (else RMS), 32 add */
static void norm(int64_t rows, int64_t cols, int with) {
    const int64_t n = rows * cols;
    const bool centre = with & 16, add = with & 32;
    float *x = numbers(n, 1), *r = numbers(n, 2), *gamma = numbers(cols, 3), *beta = numbers(cols, 4);
    float *y = room(n, sizeof *y), *h = room(n, sizeof *h), *mean = room(rows, sizeof *mean);
    float *rstd = room(rows, sizeof *rstd), *dy = numbers(n, 5), *dx = numbers(n, 6), *before = copy(dx, n);
    float *dgamma = numbers(cols, 7), *dbeta = numbers(cols, 8), *old_gamma = copy(dgamma, cols);
    float *old_beta = copy(dbeta, cols);
    double *hd = room(cols, sizeof *hd), *want = room(cols, sizeof *want), m, s;
    double *sum_gamma = calloc((size_t)cols, sizeof *sum_gamma), *sum_beta = calloc((size_t)cols, sizeof *sum_beta);
    assert_true(sum_gamma && sum_beta);
    for (int64_t i = 0; i < n; i++) x[i] += 10.0f; /* a mean larger than the spread */
    set->norm_rows(centre, y, with & 8 ? h : NULL, centre ? mean : NULL, rstd, x, with & 4 ? r : NULL,
                   with & 1 ? gamma : NULL, with & 2 ? beta : NULL, 1e-5f, rows, cols);
    for (int64_t i = 0; i < n; i++) {
        const float sum = x[i] + (with & 4 ? r[i] : 0.0f);
        if ((with & 12) == 12) assert_true(h[i] == sum);
        h[i] = sum;
    }
    set->norm_grad_rows(dx, add, dgamma, dbeta, dy, h, centre ? mean : NULL, rstd, with & 1 ? gamma : NULL, rows, cols);
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < cols; j++) hd[j] = (double)h[i * cols + j];
        twin_norm(want, &m, &s, hd, with & 1 ? gamma : NULL, with & 2 ? beta : NULL, 1e-5, cols, centre);
        if (centre) close_to("mean", mean[i], m, 1e-6, 1e-6);
        if (cols > 1 || !centre) close_to("rstd", rstd[i], s, 1e-4, 0.0);
        if (cols == 1 && centre) continue; /* all rounding */
        for (int64_t j = 0; j < cols; j++) close_to("norm", y[i * cols + j], want[j], 1e-4, 1e-4);
        twin_norm_grad(want, sum_gamma, sum_beta, dy + i * cols, h + i * cols, centre ? (double)mean[i] : 0.0,
                       (double)rstd[i], with & 1 ? gamma : NULL, cols, centre);
        for (int64_t j = 0; j < cols; j++)
            close_to("norm_grad", dx[i * cols + j], want[j] + (add ? (double)before[i * cols + j] : 0.0), 1e-5,
                     4e-6 * (1.0 + (double)rstd[i]));
    }
    for (int64_t j = 0; j < cols && (cols > 1 || !centre); j++) {
        close_to("dgamma", dgamma[j], sum_gamma[j] + (double)old_gamma[j], 1e-5, 1e-5);
        close_to("dbeta", dbeta[j], sum_beta[j] + (double)old_beta[j], 1e-5, 1e-5);
    }
    free(x), free(r), free(gamma), free(beta), free(y), free(h), free(mean), free(rstd), free(dy), free(dx);
    free(before), free(dgamma), free(dbeta), free(old_gamma), free(old_beta), free(hd), free(want);
    free(sum_gamma), free(sum_beta);
}

/* A row has the same bits alone as among others. */
static void norm_alone(int64_t rows, int64_t cols) {
    const int64_t n = rows * cols;
    float *x = numbers(n, 1), *gamma = numbers(cols, 3), *beta = numbers(cols, 4), *dy = numbers(n, 5);
    float *y = room(2 * n, sizeof *y), *dx = room(2 * n, sizeof *dx), *mean = room(2 * rows, sizeof *mean);
    float *rstd = room(2 * rows, sizeof *rstd);
    for (int alone = 0; alone < 2; alone++)
        for (int64_t i = 0; i < (alone ? rows : 1); i++) {
            const int64_t from = i * cols, to = alone * n + from, row = alone * rows + i;
            set->norm_rows(true, y + to, NULL, mean + row, rstd + row, x + from, NULL, gamma, beta, 1e-5f,
                           alone ? 1 : rows, cols);
            set->norm_grad_rows(dx + to, false, NULL, NULL, dy + from, x + from, mean + row, rstd + row, gamma,
                                alone ? 1 : rows, cols);
        }
    assert_memory_equal(y, y + n, (size_t)n * sizeof *y);
    assert_memory_equal(dx, dx + n, (size_t)n * sizeof *dx);
    free(x), free(gamma), free(beta), free(dy), free(y), free(dx), free(mean), free(rstd);
}

static void test_norm(void **state) {
    (void)state;
    EACH_SET(for (int64_t cols = 1; cols < 70; cols++) norm_alone(7, cols));
    EACH_SET(EACH(r, ROWS) EACH(c, COLS) for (int with = 0; with < 64; with++) norm(ROWS[r], COLS[c], with));
}

/* ---- Dropout ---- */

static void dropout(int64_t n, uint64_t position, float p) {
    const uint64_t seed = 0x123456789abcdefu, stream = 0xfedcba9876543210u;
    const int64_t words = kernel_dropout_words(n);
    float *x = numbers(n, 1), *y = room(n, sizeof *y), *dx = numbers(n, 2), *before = copy(dx, n);
    uint64_t *mask = room(words, sizeof *mask);
    const float scale = p < 1.0f ? 1.0f / (1.0f - p) : 0.0f;
    set->dropout_part(y, mask, x, n, (int32_t)ceilf(p * 0x1p24f), scale, seed, stream, position);
    set->dropout_grad_part(dx, mask, x, n, scale, true);
    for (int64_t i = 0; i < n; i++) {
        const bool keep = philox_uniform(heed_random_bits(seed, stream, position + (uint64_t)i)) >= p;
        assert_int_equal(mask[i / 64] >> (i % 64) & 1, keep);
        assert_true(y[i] == (keep ? x[i] * scale : 0.0f));
        close_to("dropout_grad", dx[i], (double)before[i] + (double)y[i], 1e-6, 1e-6);
    }
    set->dropout_grad_part(x, mask, x, n, scale, false); /* in place */
    for (int64_t i = 0; i < n; i++) assert_true(x[i] == y[i]);
    if (n % 64) assert_true(mask[words - 1] >> (n % 64) == 0);
    free(x), free(y), free(dx), free(before), free(mask);
}

static void test_dropout(void **state) {
    (void)state;
    static const int64_t sizes[] = {0, 1, 5, 64, 67, 2047, 2048, 4199};
    static const uint64_t positions[] = {0, 1, 6, 0xfffffffffu, 0x3fffffffe};
    static const float rates[] = {0.0f, 0.1f, 0.5f, 1.0f};
    EACH_SET(EACH(n, sizes) EACH(k, positions) EACH(p, rates) dropout(sizes[n], positions[k], rates[p]));
}

/* ---- Optimizers ---- */

static void sgd(int64_t n, double momentum, bool nesterov, double decay) {
    float *w = numbers(n, 1), *v = room(n, sizeof *v), *g = numbers(n, 2);
    double *wd = room(n, sizeof *wd), *vd = room(n, sizeof *vd);
    for (int64_t i = 0; i < n; i++) wd[i] = (double)w[i], v[i] = 0.0f, vd[i] = 0.0;
    for (int step = 0; step < 3; step++) {
        set->sgd_part(w, momentum > 0.0 ? v : NULL, g, n, 0.1f, (float)momentum, nesterov, (float)decay, 0.5f);
        for (int64_t i = 0; i < n; i++) {
            const double d = 0.5 * (double)g[i] + decay * wd[i];
            vd[i] = momentum * vd[i] + d;
            wd[i] -= 0.1 * (nesterov ? d + momentum * vd[i] : vd[i]);
            close_to("sgd", w[i], wd[i], 1e-5, 1e-6);
        }
    }
    free(w), free(v), free(g), free(wd), free(vd);
}

/* torch.optim's Adam and AdamW, through the wrapper, for it works out the constants. */
static void adam(int64_t n, bool decoupled, double decay) {
    float *w = numbers(n, 1), *m = room(n, sizeof *m), *v = room(n, sizeof *v), *g = room(n, sizeof *g);
    double *wd = room(n, sizeof *wd), *md = room(n, sizeof *md), *vd = room(n, sizeof *vd);
    for (int64_t i = 0; i < n; i++) wd[i] = (double)w[i], m[i] = v[i] = 0.0f, md[i] = vd[i] = 0.0;
    for (int step = 1; step <= 4; step++) {
        heed_random_normal(9, (uint64_t)step, 0, g, n);
        const struct adam a = {1e-2, 0.9, 0.999, 1e-8, decay, decoupled, step, 0.25f};
        kernel_adam(NULL, w, m, v, g, n, &a);
        for (int64_t i = 0; i < n; i++) {
            double d = 0.25 * (double)g[i];
            if (decoupled)
                wd[i] *= 1.0 - a.lr * decay;
            else
                d += decay * wd[i];
            md[i] = 0.9 * md[i] + 0.1 * d;
            vd[i] = 0.999 * vd[i] + 0.001 * d * d;
            wd[i] -= a.lr / (1.0 - pow(0.9, step)) * md[i] / (sqrt(vd[i]) / sqrt(1.0 - pow(0.999, step)) + a.eps);
            close_to("adam", w[i], wd[i], 1e-5, 1e-6);
            close_to("adam m", m[i], md[i], 1e-5, 1e-7);
            close_to("adam v", v[i], vd[i], 1e-5, 1e-9);
        }
    }
    free(w), free(m), free(v), free(g), free(wd), free(md), free(vd);
}

static void flat(int64_t n) {
    float *a = numbers(n, 1), *b = numbers(n, 2), *c = room(n, sizeof *c), *e = copy(a, n), *y = copy(b, n);
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++) sum += (double)a[i] * (double)a[i];
    if (!(fabs(set->square_sum_part(a, n) - sum) <= 1e-12 * sum)) fail_msg("square sum (%s)", set->name);
    set->add_part(c, a, b, n);
    for (int64_t i = 0; i < n; i++) assert_true(c[i] == a[i] + b[i]);
    set->scale_part(c, 3.0f, a, n);
    for (int64_t i = 0; i < n; i++) assert_true(c[i] == a[i] * 3.0f);
    set->ema_part(e, b, n, 0.125f);
    set->axpy_part(y, -2.0f, a, n);
    for (int64_t i = 0; i < n; i++) {
        close_to("ema", e[i], 0.875 * (double)a[i] + 0.125 * (double)b[i], 1e-6, 1e-7);
        close_to("axpy", y[i], (double)b[i] - 2.0 * (double)a[i], 1e-6, 1e-7);
    }
    free(a), free(b), free(c), free(e), free(y);
}

static void test_flat(void **state) {
    (void)state;
    static const int64_t sizes[] = {0, 1, 7, 16, 33, 1000};
    EACH_SET(EACH(n, sizes) {
        flat(sizes[n]);
        sgd(sizes[n], 0.0, false, 0.0);
        sgd(sizes[n], 0.9, false, 0.01);
        sgd(sizes[n], 0.9, true, 0.0);
        adam(sizes[n], true, 0.1);
        adam(sizes[n], false, 0.1);
        adam(sizes[n], false, 0.0);
    });
}

/* ---- Threads ---- */

/* Everything once, into one array of results. */
static int64_t all_results(struct pool *pool, float *out, int64_t rows, int64_t cols) {
    const int64_t n = rows * cols, words = kernel_dropout_words(n);
    float *x = numbers(n, 1), *dy = numbers(n, 2), *gamma = numbers(cols, 3), *beta = numbers(cols, 4), *at = out;
    float *work = room(kernel_norm_grad_work(rows, cols), sizeof *work);
    uint64_t *mask = room(words, sizeof *mask);
#define NEXT(count) (at += (count), at - (count))
    float *y = NEXT(n);
    kernel_softmax(pool, y, cols, x, cols, rows, cols);
    kernel_softmax_grad(pool, NEXT(n), cols, y, cols, dy, cols, rows, cols, false);
    y = NEXT(n);
    kernel_log_softmax(pool, y, cols, x, cols, rows, cols);
    kernel_log_softmax_grad(pool, NEXT(n), cols, y, cols, dy, cols, rows, cols, false);
    for (int centre = 0; centre < 2; centre++) {
        float *h = NEXT(n), *mean = NEXT(rows), *rstd = NEXT(rows), *normed = NEXT(n);
        float *dx = NEXT(n), *dgamma = NEXT(cols), *dbeta = NEXT(cols);
        if (!centre) kernel_clear(pool, mean, rows);
        kernel_norm(pool, &(struct norm){.rows = rows,
                                         .cols = cols,
                                         .centre = centre,
                                         .eps = 1e-5f,
                                         .x = x,
                                         .r = dy,
                                         .gamma = gamma,
                                         .beta = beta,
                                         .y = normed,
                                         .h = h,
                                         .mean = mean,
                                         .rstd = rstd});
        kernel_norm_grad(pool, &(struct norm_grad){.rows = rows,
                                                   .cols = cols,
                                                   .dy = dy,
                                                   .h = h,
                                                   .mean = centre ? mean : NULL,
                                                   .rstd = rstd,
                                                   .gamma = gamma,
                                                   .dx = dx,
                                                   .dgamma = dgamma,
                                                   .dbeta = dbeta,
                                                   .work = work});
    }
    kernel_dropout(pool, NEXT(n), mask, x, n, &(struct dropout){.p = 0.3f, .seed = 5, .stream = 6, .position = 7});
    kernel_dropout_grad(pool, NEXT(n), mask, dy, n, 0.3f, false);
    float *w = NEXT(n), *m = NEXT(n), *v = NEXT(n);
    kernel_copy(pool, w, x, n);
    kernel_clear(pool, m, n);
    kernel_clear(pool, v, n);
    kernel_adam(pool, w, m, v, dy, n, &(struct adam){1e-3, 0.9, 0.999, 1e-8, 0.01, true, 1, 1.0f});
    kernel_sgd(pool, w, m, dy, n, &(struct sgd){1e-3, 0.9, 0.01, true, 1.0f});
    kernel_ema(pool, v, w, n, 0.99);
    float *factors = NEXT(rows + cols);
    kernel_clear(pool, factors, rows + cols);
    kernel_adafactor(pool, w, factors, dy, 1, rows, cols, true, &(struct adafactor){1e-2, 0.01, 1, 1.0f});
    kernel_adafactor(pool, w, m, dy, 1, 1, n, false, &(struct adafactor){1e-2, 0.0, 2, 0.5f});
    kernel_add(pool, NEXT(n), w, x, n);
    kernel_axpy(pool, w, 0.5f, dy, n);
    kernel_scale(pool, m, 0.5f, m, n);
    *at++ = (float)kernel_square_sum(pool, x, n);
    free(x), free(dy), free(gamma), free(beta), free(work), free(mask);
    return at - out;
}

static void test_threads(void **state) {
    (void)state;
    static const int64_t shapes[][2] = {{301, 259}, {3, 50001}, {40000, 3}, {1, 1}, {0, 5}, {70, 768}};
    static const int threads[] = {1, 2, 3, 8};
    heed_ctx *cx = heed_open(NULL);
    assert_false(heed_failed(cx));
    EACH(s, shapes) {
        const int64_t rows = shapes[s][0], cols = shapes[s][1], room_for = 20 * rows * cols + 8 * (rows + cols) + 1;
        float *first = room(room_for, sizeof *first), *next = room(room_for, sizeof *next);
        const int64_t count = all_results(NULL, first, rows, cols);
        assert_true(count <= room_for);
        for (int64_t i = 0; i < count; i++) assert_true(first[i] == first[i]);
        EACH(t, threads) {
            struct pool *pool = pool_open(cx, threads[t]);
            assert_non_null(pool);
            all_results(pool, next, rows, cols);
            assert_memory_equal(first, next, (size_t)count * sizeof *first);
            pool_close(cx, pool);
        }
        free(first), free(next);
    }
    heed_close(cx);
}

/* Blocks of rows add up to what one block gives, with and without adding to what is there. */
static void test_norm_sums(void **state) {
    (void)state;
    set = isa_get();
    const int64_t rows = 1003, cols = 65, n = rows * cols;
    float *h = numbers(n, 1), *dy = numbers(n, 2), *rstd = numbers(rows, 3), *mean = numbers(rows, 4);
    float *work = room(kernel_norm_grad_work(rows, cols), sizeof *work), sums[4][65];
    for (int64_t j = 0; j < cols; j++) sums[2][j] = sums[3][j] = 1.0f;
    struct norm_grad grad = {.rows = rows, .cols = cols, .dy = dy, .h = h, .mean = mean, .rstd = rstd, .work = work};
    grad.dgamma = sums[0], grad.dbeta = sums[1];
    kernel_norm_grad(NULL, &grad);
    grad.dgamma = sums[2], grad.dbeta = sums[3], grad.add_sums = true;
    kernel_norm_grad(NULL, &grad);
    for (int64_t j = 0; j < cols; j++) {
        double dgamma = 0.0, dbeta = 0.0;
        for (int64_t i = 0; i < rows; i++) {
            dgamma += (double)dy[i * cols + j] * ((double)h[i * cols + j] - (double)mean[i]) * (double)rstd[i];
            dbeta += (double)dy[i * cols + j];
        }
        close_to("dgamma", sums[0][j], dgamma, 1e-5, 1e-4);
        close_to("dbeta", sums[1][j], dbeta, 1e-5, 1e-4);
        close_to("dgamma", sums[2][j], dgamma + 1.0, 1e-5, 1e-4);
        close_to("dbeta", sums[3][j], dbeta + 1.0, 1e-5, 1e-4);
    }
    free(h), free(dy), free(rstd), free(mean), free(work);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pair_losses), cmocka_unit_test(test_epilogue),
        cmocka_unit_test(test_softmax),     cmocka_unit_test(test_softmax_special),
        cmocka_unit_test(test_norm),        cmocka_unit_test(test_dropout),
        cmocka_unit_test(test_flat),        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_norm_sums),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
