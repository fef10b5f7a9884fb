/* FNet's mixing against sums of cosines in double, for lengths of every kind, and bands of frequencies against sums of
 * their waves; the same bits for any number of threads. */
#include "io/io_test.h"
#include "kernel/each_set.h"
#include "kernel/fft.h"
#include "kernel/kernel_test.h"

/* The twin: along columns, then along rows, each a plain sum. y[u,v] = sum_c a cos + b sin of what columns gave. */
static void twin_mix(double *y, const float *x, int64_t rows, int64_t cols) {
    double *const a = malloc((size_t)(rows * cols) * sizeof *a), *const b = malloc((size_t)(rows * cols) * sizeof *b);
    for (int64_t u = 0; u < rows; u++)
        for (int64_t c = 0; c < cols; c++) {
            a[u * cols + c] = b[u * cols + c] = 0;
            for (int64_t t = 0; t < rows; t++) {
                const double angle = 2 * M_PI * (double)(u * t % rows) / (double)rows;
                a[u * cols + c] += (double)x[t * cols + c] * cos(angle);
                b[u * cols + c] -= (double)x[t * cols + c] * sin(angle);
            }
        }
    for (int64_t u = 0; u < rows; u++)
        for (int64_t v = 0; v < cols; v++) {
            y[u * cols + v] = 0;
            for (int64_t c = 0; c < cols; c++) {
                const double angle = 2 * M_PI * (double)(v * c % cols) / (double)cols;
                y[u * cols + v] += a[u * cols + c] * cos(angle) + b[u * cols + c] * sin(angle);
            }
        }
    free(a);
    free(b);
}

/* Errors are compared with the root mean square of the results, which grows with the root of rows x cols. */
static void check(int64_t batch, int64_t rows, int64_t cols) {
    const int64_t n = batch * rows * cols;
    float *const x = malloc((size_t)n * sizeof *x), *const y = malloc((size_t)n * sizeof *y),
                 *const again = malloc((size_t)n * sizeof *y);
    float *const work = malloc((size_t)kernel_fourier_mix_work(batch, rows, cols) * sizeof *work);
    double *const want = malloc((size_t)(rows * cols) * sizeof *want);
    for (int64_t i = 0; i < n; i++) x[i] = next_float();
    kernel_fourier_mix(pools[0], y, x, batch, rows, cols, work);
    for (int64_t b = 0; b < batch; b++) {
        double squares = 0;
        twin_mix(want, x + b * rows * cols, rows, cols);
        for (int64_t i = 0; i < rows * cols; i++) squares += want[i] * want[i];
        const double size = sqrt(squares / (double)(rows * cols));
        for (int64_t i = 0; i < rows * cols; i++) {
            const double error = fabs((double)y[b * rows * cols + i] - want[i]);
            if (!(error <= 2e-6 * size + 2e-7 * fabs(want[i])))
                fail_msg("(%lld,%lld) at %lld: %g, not %g", (long long)rows, (long long)cols, (long long)i,
                         (double)y[b * rows * cols + i], want[i]);
        }
    }
    for (int p = 1; p < POOLS; p++) {
        kernel_fourier_mix(pools[p], again, x, batch, rows, cols, work);
        assert_memory_equal(y, again, (size_t)n * sizeof *y);
    }
    free(x), free(y), free(again), free(work), free(want);
}

/* Every length to 70, and then each kind: products of small primes, primes, primes times others. */
static void test_lengths(void **unused) {
    (void)unused;
    static const int64_t more[] = {72, 81, 97, 100, 121, 125, 128, 131, 143, 169, 192, 243, 256, 293, 31 * 11, 37 * 8};
    for (int64_t n = 1; n <= 70; n++) {
        check(1, n, 1 + below(5));
        check(1, 2, n);
    }
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        check(1, more[i], 2);
        check(1, 3, more[i]);
    }
}

/* Strips and blocks that are full, cut off and one too many. */
static void test_shapes(void **unused) {
    (void)unused;
    static const int64_t sizes[][3] = {{3, 7, 5},    {2, 64, 32},  {1, 65, 33}, {1, 31, 66},
                                       {2, 100, 70}, {1, 128, 96}, {1, 67, 74}, {2, 41, 1}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) check(sizes[i][0], sizes[i][1], sizes[i][2]);
}

/* Buffers that no scratch holds: a pure tone along a long axis, and its prime neighbour. */
static void check_tone(int64_t rows) {
    const int64_t cols = 2, tone = rows / 3;
    float *const x = malloc((size_t)(rows * cols) * sizeof *x), *const y = malloc((size_t)(rows * cols) * sizeof *y);
    float *const work = malloc((size_t)kernel_fourier_mix_work(1, rows, cols) * sizeof *work);
    for (int64_t t = 0; t < rows; t++) {
        x[t * cols] = (float)cos(2 * M_PI * (double)(tone * t % rows) / (double)rows);
        x[t * cols + 1] = 0;
    }
    kernel_fourier_mix(pools[1], y, x, 1, rows, cols, work);
    for (int64_t u = 0; u < rows; u++)
        for (int64_t v = 0; v < cols; v++) {
            const double want = u == tone || u == rows - tone ? (double)rows / 2 : 0;
            if (!(fabs((double)y[u * cols + v] - want) <= 1e-6 * (double)rows))
                fail_msg("%lld rows, %lld: %g, not %g", (long long)rows, (long long)u, (double)y[u * cols + v], want);
        }
    free(x), free(y), free(work);
}

static void test_long(void **unused) {
    (void)unused;
    check_tone(16384);
    check_tone(9973);
}

/* ---- bands ---- */

static bool in_band(int64_t u, int64_t v, int64_t rows, int64_t cols, double low, double high) {
    const double side = (double)(rows < cols ? rows : cols);
    const double down = side * (double)(2 * u > rows ? rows - u : u) / (double)rows,
                 along = side * (double)(2 * v > cols ? cols - v : v) / (double)cols;
    const double square = down * down + along * along;
    return (low < 0 || square > low * low) && square <= high * high;
}

/* The twin: the wave of each frequency of the band, and what it has in common with x, added up. */
static void twin_band(double *y, const float *x, int64_t rows, int64_t cols, double low, double high) {
    const int64_t n = rows * cols;
    for (int64_t i = 0; i < n; i++) y[i] = 0;
    for (int64_t k = 0; k < n; k++) {
        double re = 0, im = 0;
        if (!in_band(k / cols, k % cols, rows, cols, low, high)) continue;
        for (int64_t i = 0; i < n; i++) {
            const double turn = (double)(k / cols * (i / cols) % rows) / (double)rows +
                                (double)(k % cols * (i % cols) % cols) / (double)cols;
            re += (double)x[i] * cos(2 * M_PI * turn);
            im -= (double)x[i] * sin(2 * M_PI * turn);
        }
        for (int64_t i = 0; i < n; i++) {
            const double turn = (double)(k / cols * (i / cols) % rows) / (double)rows +
                                (double)(k % cols * (i % cols) % cols) / (double)cols;
            y[i] += (re * cos(2 * M_PI * turn) - im * sin(2 * M_PI * turn)) / (double)n;
        }
    }
}

static void check_band(int64_t batch, int64_t planes, int64_t rows, int64_t cols, float low, float high) {
    const int64_t size = rows * cols, n = batch * planes * size;
    float *const x = malloc((size_t)n * sizeof *x), *const y = malloc((size_t)n * sizeof *y),
                 *const again = malloc((size_t)n * sizeof *y);
    float *const work = malloc((size_t)kernel_fourier_band_work(rows, cols) * sizeof *work);
    double *const want = malloc((size_t)size * sizeof *want);
    for (int64_t i = 0; i < n; i++) x[i] = next_float();
    kernel_fourier_band(pools[0], y, x, batch, planes, rows, cols, low, high, work);
    for (int64_t p = 0; p < batch * planes; p++) {
        twin_band(want, x + p * size, rows, cols, (double)low, (double)high);
        for (int64_t i = 0; i < size; i++)
            if (!(fabs((double)y[p * size + i] - want[i]) <= 2e-6))
                fail_msg("(%lld,%lld), plane %lld at %lld: %g, not %g", (long long)rows, (long long)cols, (long long)p,
                         (long long)i, (double)y[p * size + i], want[i]);
    }
    for (int p = 1; p < POOLS; p++) {
        kernel_fourier_band(pools[p], again, x, batch, planes, rows, cols, low, high, work);
        assert_memory_equal(y, again, (size_t)n * sizeof *y);
    }
    /* a picture has the same bits whatever it is in a batch with */
    kernel_fourier_band(pools[0], again, x + (batch - 1) * planes * size, 1, planes, rows, cols, low, high, work);
    assert_memory_equal(y + (batch - 1) * planes * size, again, (size_t)(planes * size) * sizeof *y);
    free(x), free(y), free(again), free(work), free(want);
}

static void test_bands(void **unused) {
    (void)unused;
    for (int64_t rows = 1; rows <= 20; rows++)
        check_band(1 + below(3), 1 + below(4), rows, 1 + below(20), -1, (float)below(9));
    check_band(2, 3, 16, 16, -1, 4);
    check_band(2, 3, 16, 16, 4, 100);
    check_band(1, 2, 17, 34, 3.5F, 7.25F);
    check_band(5, 1, 33, 18, 0, 2);
    check_band(1, 1, 37, 11, -1, 0); /* the mean alone */
    check_band(1, 5, 6, 67, -1, 1000);
}

static int tests(void) {
    const struct CMUnitTest all[] = {cmocka_unit_test(test_lengths), cmocka_unit_test(test_shapes),
                                     cmocka_unit_test(test_long), cmocka_unit_test(test_bands)};
    return cmocka_run_group_tests(all, open_pools, close_pools);
}

int main(void) { return run_each_set(tests); }
