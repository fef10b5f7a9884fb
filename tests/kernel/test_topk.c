/* The k largest numbers of a row against sorting, with ties, -inf, blocks that are not full and numbers that change. */
#include "io/io_test.h"
#include "kernel/topk.h"

static uint64_t state = 7;
static uint32_t next_bits(void) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 32);
}

static int by_rank(const void *a, const void *b) {
    const struct candidate *x = a, *y = b;
    return candidate_worse(*x, *y) ? 1 : candidate_worse(*y, *x) ? -1 : 0;
}

/* The twin: all that are worse than `after` and above -inf, sorted. */
static int64_t sorted(const float *x, int64_t n, struct candidate after, struct candidate *out) {
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) {
        const struct candidate c = {(int32_t)i, x[i]};
        if (x[i] > -INFINITY && candidate_worse(c, after)) out[count++] = c;
    }
    qsort(out, (size_t)count, sizeof *out, by_rank);
    return count;
}

static void expect_best(const struct candidate *found, int64_t count, const struct candidate *all, int64_t n_all,
                        int64_t k) {
    assert_int_equal(count, k < n_all ? k : n_all);
    for (int64_t i = 0; i < count; i++) {
        assert_int_equal(found[i].id, all[i].id);
        assert_true(found[i].score == all[i].score);
    }
}

static double log_sum_exp(const float *x, int64_t n) {
    double top = -(double)INFINITY, sum = 0;
    for (int64_t i = 0; i < n; i++) top = fmax(top, (double)x[i]);
    for (int64_t i = 0; i < n; i++) sum += exp((double)x[i] - top);
    return top + log(sum);
}

enum { MOST = 700 };

static void test_best(void **unused) {
    (void)unused;
    static const int64_t sizes[] = {1, 2, 3, 63, 64, 65, 127, 128, 129, 300, MOST};
    static float x[MOST], tops[MOST];
    static struct candidate found[MOST + 1], all[MOST];
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int round = 0; round < 12; round++) {
            const int64_t n = sizes[s];
            const uint32_t values = round % 3 == 0 ? 5 : round % 3 == 1 ? 100 : 1000000; /* few: many ties */
            for (int64_t i = 0; i < n; i++) x[i] = (float)(next_bits() % values) / 16 - 2;
            const struct topk_row row = {x, tops, n};
            assert_true(topk_blocks(n) <= n);
            const double want = log_sum_exp(x, n), lse = (double)topk_log_sum_exp(&row);
            assert_true(fabs(lse - want) <= 1e-5 + 1e-6 * fabs(want));
            for (int change = 0; change < round && n > 1; change++) /* the largest go, some come back */
                topk_set(&row, next_bits() % (uint32_t)n, change % 4 == 3 ? 1e6f : -INFINITY);
            const struct candidate first = {-1, INFINITY}, middle = {(int32_t)(n / 2), x[n / 2]};
            const int64_t k = 1 + next_bits() % (uint32_t)n, n_all = sorted(x, n, first, all);
            expect_best(found, topk_best(&row, k, found), all, n_all, k);
            expect_best(found, topk_best(&row, n + 1, found), all, n_all, n + 1);
            expect_best(found, topk_after(x, n, k, first, found), all, n_all, k);
            struct topk_heap parts = {.best = found, .k = k, .least = -INFINITY}; /* the same in two parts */
            topk_take(&parts, x, n / 3, 0);
            topk_take(&parts, x + n / 3, n - n / 3, n / 3);
            expect_best(found, topk_sort(&parts), all, n_all, k);
            const int64_t n_after = sorted(x, n, middle, all);
            expect_best(found, topk_after(x, n, k, middle, found), all, n_after, k);
        }
}

static void test_no_numbers(void **unused) {
    (void)unused;
    float x[70], tops[2];
    struct candidate found[3];
    const struct topk_row row = {x, tops, 70};
    assert_int_equal(topk_blocks(70), 2);
    for (int i = 0; i < 70; i++) x[i] = -INFINITY;
    assert_true(topk_log_sum_exp(&row) == -INFINITY);
    assert_int_equal(topk_best(&row, 3, found), 0);
    x[66] = NAN;
    assert_true(isnan(topk_log_sum_exp(&row)));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_best), cmocka_unit_test(test_no_numbers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
