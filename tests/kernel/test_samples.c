/* Negative sampling against the plain formula in double, on every instruction set; random words against philox. */
#include "base/philox.h"
#include "io/io_test.h"
#include "kernel/each_set.h"
#include "kernel/isa.h"
#include <math.h>

enum { ROWS = 40, WIDEST = 112, MOST = 23, ROOM = 32 };

static double logistic(double x) { return 1 / (1 + exp(-x)); }

static void expect_near(float is, double wanted) {
    if (!(fabs((double)is - wanted) <= 2e-6 * (1 + fabs(wanted))))
        fail_msg("%.9g where %.9g is right", (double)is, wanted);
}

/* Width and number of rows; `same`: the step goes into h itself. */
static void check(int64_t width, int64_t n, bool same) {
    float table[ROWS * WIDEST], old[ROWS * WIDEST], h[WIDEST], was[WIDEST], step[WIDEST];
    float times[ROOM] = {0}, score[ROOM] = {0}, slope[ROOM] = {0};
    int32_t row[MOST];
    const float lr = 0.37f;
    heed_random_normal(5, (uint64_t)n, 0, table, ROWS * width);
    heed_random_normal(6, (uint64_t)n, 0, h, width);
    heed_random_normal(7, (uint64_t)n, 0, step, width);
    for (int64_t i = 0; i < ROWS * width; i++) table[i] *= 0.3f;
    memcpy(old, table, sizeof(float) * (size_t)(ROWS * width));
    memcpy(was, same ? h : step, sizeof(float) * (size_t)width);
    float before[WIDEST];
    memcpy(before, h, sizeof(float) * (size_t)width);
    for (int64_t i = 0; i < n; i++) {
        row[i] = (int32_t)((7 * i + 3) % ROWS);
        times[i] = i % 4 == 3 ? 2 : 1;
    }
    isa_get()->sample_rows(same ? h : step, h, table, width, row, times, n, lr, score, slope);
    double learnt[WIDEST] = {0};
    for (int64_t i = 0; i < n; i++) {
        const float *at = old + row[i] * width;
        double dot = 0;
        for (int64_t k = 0; k < width; k++) dot += (double)before[k] * (double)at[k];
        const double g = (double)lr * ((i == 0) - (double)times[i] * logistic(dot));
        expect_near(score[i], dot);
        for (int64_t k = 0; k < width; k++) {
            learnt[k] += g * (double)at[k];
            expect_near(table[row[i] * width + k], (double)at[k] + g * (double)before[k]);
        }
    }
    for (int64_t k = 0; k < width; k++) expect_near(same ? h[k] : step[k], (double)was[k] + learnt[k]);
    for (int64_t r = 0; r < ROWS; r++) { /* other rows are left alone */
        bool used = false;
        for (int64_t i = 0; i < n; i++) used |= row[i] == r;
        if (!used) assert_memory_equal(table + r * width, old + r * width, sizeof(float) * (size_t)width);
    }
}

static void test_rows(void **state) {
    (void)state;
    for (int64_t width = SAMPLE_RUN; width <= WIDEST; width += SAMPLE_RUN)
        for (int64_t n = 1; n <= MOST; n++)
            for (int same = 0; same < 2; same++) check(width, n, same);
}

static void test_random(void **state) {
    (void)state;
    uint32_t out[100 + WORDS_MORE], block[4];
    for (int64_t n = 1; n <= 100; n += 9) {
        isa_get()->random_words(out, n, 0x123456789abcdefu, 77, 0xfffffffeu);
        for (int64_t i = 0; i < n; i++) {
            philox_block(0x123456789abcdefu, 77, 0xfffffffeu + (uint64_t)(i / 4), block);
            assert_int_equal(out[i], block[i % 4]);
        }
    }
}

static int tests(void) {
    const struct CMUnitTest all[] = {cmocka_unit_test(test_rows), cmocka_unit_test(test_random)};
    return cmocka_run_group_tests(all, NULL, NULL);
}

int main(void) { return run_each_set(tests); }
