/* Splits and moments of data sets. */
#include "heed/data.h"
#include "io/io_test.h"

/* ---- split ---- */

static void expect_split(heed_ctx *cx, int64_t n, double fraction, int64_t expected_valid) {
    float x = 0;
    const heed_data data = {.n = n, .width = 1, .x = &x};
    int64_t *train, *valid, n_train, n_valid, *whole = malloc((size_t)n * sizeof *whole);
    assert_true(heed_data_split(cx, &data, fraction, 7, &train, &n_train, &valid, &n_valid));
    assert_int_equal(n_valid, expected_valid);
    assert_int_equal(n_train, n - expected_valid);
    for (int64_t i = 0; i < n; i++) whole[i] = 0;
    for (int64_t i = 0; i < n_train; i++) whole[train[i]]++;
    for (int64_t i = 0; i < n_valid; i++) whole[valid[i]]++;
    for (int64_t i = 0; i < n; i++) assert_int_equal(whole[i], 1);
    heed_mem_free(cx, train);
    heed_mem_free(cx, valid);
    free(whole);
}

static void test_split(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    expect_split(cx, 100, 0.1, 10);
    expect_split(cx, 100, 0.0, 0);
    expect_split(cx, 1, 0.0, 0);
    expect_split(cx, 10, 0.001, 1);
    expect_split(cx, 10, 0.999, 9);
    expect_split(cx, 2, 0.5, 1);
    expect_split(cx, 1000, 0.2504, 250);

    /* A function of the seed, and not the order in which an epoch would take the examples. */
    float x = 0;
    const heed_data data = {.n = 64, .width = 1, .x = &x};
    int64_t *train[3], *valid[3], n_train, n_valid, epoch[64];
    for (int i = 0; i < 3; i++)
        assert_true(heed_data_split(cx, &data, 0.25, i == 2 ? 8 : 7, &train[i], &n_train, &valid[i], &n_valid));
    assert_memory_equal(train[0], train[1], 48 * sizeof(int64_t));
    assert_memory_equal(valid[0], valid[1], 16 * sizeof(int64_t));
    assert_memory_not_equal(train[0], train[2], 48 * sizeof(int64_t));
    heed_random_permutation(7, 0, epoch, 64);
    assert_memory_not_equal(train[0], epoch, 48 * sizeof(int64_t));
    for (int i = 0; i < 3; i++) {
        heed_mem_free(cx, train[i]);
        heed_mem_free(cx, valid[i]);
    }
    close_context(cx);
}

static void test_split_refusals(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    float x = 0;
    const heed_data data = {.n = 4, .width = 1, .x = &x}, one = {.n = 1, .width = 1, .x = &x}, none = {.width = 1};
    int64_t *train = NULL, *valid = NULL, n, m;
    const double bad[] = {-0.1, 1.0, 2.0, (double)NAN, (double)INFINITY};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_false(heed_data_split(cx, &data, bad[i], 0, &train, &n, &valid, &m));
        EXPECT_SENTENCE(cx, "must be at least 0 and less than 1");
    }
    assert_false(heed_data_split(cx, &one, 0.5, 0, &train, &n, &valid, &m));
    EXPECT_SENTENCE(cx, "data_split: one example cannot be split");
    assert_false(heed_data_split(cx, &none, 0.5, 0, &train, &n, &valid, &m));
    EXPECT_SENTENCE(cx, "data_split: the data set is empty");
    assert_false(heed_data_split(cx, NULL, 0.5, 0, &train, &n, &valid, &m));
    EXPECT_SENTENCE(cx, "data_split: the data set is NULL");
    assert_false(heed_data_split(cx, &data, 0.5, 0, &train, &n, NULL, &m));
    EXPECT_SENTENCE(cx, "data_split: a place for the result is NULL");
    assert_null(train);
    assert_null(valid);
    close_context(cx);
}

static bool split_once(heed_ctx *cx, const void *bytes, size_t size) {
    (void)bytes, (void)size;
    float x = 0;
    const heed_data data = {.n = 9, .width = 1, .x = &x};
    int64_t *train = NULL, *valid = NULL, n, m;
    const bool ok = heed_data_split(cx, &data, 0.3, 0, &train, &n, &valid, &m);
    heed_mem_free(cx, train);
    heed_mem_free(cx, valid);
    return ok;
}

static void test_split_no_memory(void **state) {
    (void)state;
    starve(split_once, NULL, 0);
}

/* ---- moments ---- */

enum { ROWS = 997, WIDTH = 300 };

/* In the textbook's way, a column at a time. */
static void expect_moments(const heed_data *d, const int64_t *rows, int64_t n, const float *mean,
                           const float *deviation) {
    for (int64_t j = 0; j < d->width; j++) {
        double sum = 0, squares = 0;
        for (int pass = 0; pass < 2; pass++)
            for (int64_t i = 0; i < n; i++) {
                const int64_t at = (rows ? rows[i] : i) * d->width + j;
                const double x = d->x ? (double)d->x[at] : (double)d->bytes[at] * (double)d->scale + (double)d->shift;
                if (pass == 0)
                    sum += x;
                else
                    squares += (x - sum / (double)n) * (x - sum / (double)n);
            }
        const double expected = sqrt(squares / (double)n);
        assert_true(fabs((double)mean[j] - sum / (double)n) <= 1e-6 * (1.0 + fabs(sum / (double)n)));
        if (expected > 1e-6)
            assert_true(fabs((double)deviation[j] - expected) <= 1e-6 * expected);
        else
            assert_true(deviation[j] == 1.0f);
    }
}

static void test_moments(void **state) {
    (void)state;
    float *x = malloc(sizeof(float) * ROWS * WIDTH), mean[3][WIDTH], deviation[3][WIDTH];
    uint8_t *bytes = malloc(ROWS * WIDTH);
    int64_t rows[50];
    heed_random_normal(3, 0, 0, x, ROWS * WIDTH);
    for (int i = 0; i < ROWS * WIDTH; i++) bytes[i] = (uint8_t)heed_random_bits(3, 1, (uint64_t)i);
    for (int i = 0; i < ROWS; i++) {
        x[i * WIDTH] = 0.1f; /* constant: the sum of many 0.1 is not n times 0.1, but the deviation must be 1 */
        x[i * WIDTH + 1] = x[i * WIDTH + 1] * 0.25f + 10000.0f; /* far from 0 */
        bytes[i * WIDTH + 299] = 77;
    }
    for (int i = 0; i < 50; i++) rows[i] = (i * 37) % ROWS;
    const heed_data floats = {.n = ROWS, .width = WIDTH, .x = x};
    const heed_data pictures = {.n = ROWS, .width = WIDTH, .bytes = bytes, .scale = 1.0f / 255.0f, .shift = -0.5f};
    const heed_data *sets[] = {&floats, &pictures};
    for (int s = 0; s < 2; s++) {
        for (int threads = 1; threads <= 3; threads++) {
            heed_ctx *cx = heed_open(&(heed_config){.threads = threads});
            assert_true(heed_data_moments(cx, sets[s], NULL, threads == 1 ? 0 : ROWS, mean[threads - 1],
                                          deviation[threads - 1]));
            heed_close(cx);
        }
        expect_moments(sets[s], NULL, ROWS, mean[0], deviation[0]);
        assert_memory_equal(mean[0], mean[1], sizeof mean[0]);
        assert_memory_equal(mean[0], mean[2], sizeof mean[0]);
        assert_memory_equal(deviation[0], deviation[1], sizeof mean[0]);
        assert_memory_equal(deviation[0], deviation[2], sizeof mean[0]);
        heed_ctx *cx = open_context();
        assert_true(heed_data_moments(cx, sets[s], rows, 50, mean[0], deviation[0]));
        expect_moments(sets[s], rows, 50, mean[0], deviation[0]);
        close_context(cx);
    }
    free(x);
    free(bytes);
}

static void test_moments_refusals(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    float x[4] = {0}, mean[2], deviation[2];
    const heed_data data = {.n = 2, .width = 2, .x = x}, hollow = {.n = 2, .width = 2};
    assert_false(heed_data_moments(cx, NULL, NULL, 0, mean, deviation));
    EXPECT_SENTENCE(cx, "data_moments: the data set is NULL");
    assert_false(heed_data_moments(cx, &hollow, NULL, 0, mean, deviation));
    EXPECT_SENTENCE(cx, "data_moments: the data set has no inputs");
    assert_false(heed_data_moments(cx, &data, NULL, 0, mean, NULL));
    EXPECT_SENTENCE(cx, "data_moments: a place for the result is NULL");
    assert_false(heed_data_moments(cx, &data, NULL, 1, mean, deviation));
    EXPECT_SENTENCE(cx, "data_moments: 1 examples are asked for, but not which of the 2");
    assert_false(heed_data_moments(cx, &data, (int64_t[]){0, 2}, 2, mean, deviation));
    EXPECT_SENTENCE(cx, "data_moments: rows[1] is 2, out of range for 2 examples");
    assert_false(heed_data_moments(cx, &data, (int64_t[]){-1}, 1, mean, deviation));
    EXPECT_SENTENCE(cx, "data_moments: rows[0] is -1");
    assert_false(heed_data_moments(cx, &data, (int64_t[]){0}, 0, mean, deviation));
    EXPECT_SENTENCE(cx, "data_moments: no examples are chosen");
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_split),   cmocka_unit_test(test_split_refusals),   cmocka_unit_test(test_split_no_memory),
        cmocka_unit_test(test_moments), cmocka_unit_test(test_moments_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
