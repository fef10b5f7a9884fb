/* Counted random numbers: published answers, positions, ranges, moments. */
#include "base/philox.h"
#include "heed/base.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MANY 400000

static void test_known_answers(void **state) {
    (void)state;
    /* Random123's kat_vectors: counter, key, answer. */
    static const uint32_t kat[3][10] = {{0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
                                        {~0u, ~0u, ~0u, ~0u, ~0u, ~0u, 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
                                        {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0,
                                         0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}};
    for (int i = 0; i < 3; i++) {
        const uint32_t *k = kat[i];
        uint32_t out[4];
        philox_block((uint64_t)k[5] << 32 | k[4], (uint64_t)k[3] << 32 | k[2], (uint64_t)k[1] << 32 | k[0], out);
        assert_memory_equal(out, k + 6, sizeof out);
    }
    assert_int_equal(heed_random_bits(0, 0, 0), 0x6627e8d5);
    assert_int_equal(heed_random_bits(0, 0, 3), 0x9b00dbd8);
}

static void fill(int kind, uint64_t position, float *out, int64_t n) {
    if (kind == 0) heed_random_uniform(5, 9, position, out, n);
    if (kind == 1) heed_random_normal(5, 9, position, out, n);
    if (kind == 2) heed_random_truncated(5, 9, position, -2.0f, 1.0f, out, n);
}

static void test_position_alone_decides(void **state) {
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        float all[67], part[67];
        const uint64_t base = ((uint64_t)1 << 33) + 2;
        fill(kind, base, all, 67);
        for (int start = 0; start < 9; start++)
            for (int n = 0; n < 12; n++) {
                part[n] = 123.0f;
                fill(kind, base + (uint64_t)start, part, n);
                assert_memory_equal(part, all + start, (size_t)n * sizeof *part);
                assert_true(part[n] == 123.0f);
            }
        fill(kind, UINT64_MAX, part, 2); /* positions go round */
        fill(kind, 0, all, 1);
        assert_memory_equal(part + 1, all, sizeof *all);
    }
    float x;
    heed_random_uniform(5, 9, 41, &x, 1);
    assert_true(x == philox_uniform(heed_random_bits(5, 9, 41)));
}

static void test_normal_is_box_muller(void **state) {
    (void)state;
    float x[1000];
    heed_random_normal(3, 4, 0, x, 1000);
    for (uint64_t i = 0; i < 1000; i += 2) {
        const double u = (heed_random_bits(3, 4, i) + 1.0) / 4294967296.0;
        const double v = (heed_random_bits(3, 4, i + 1) >> 8) / 16777216.0;
        const double r = sqrt(-2.0 * log(u)), angle = 2.0 * acos(-1.0) * v;
        assert_true(fabs((double)x[i] - r * cos(angle)) <= 5e-6);
        assert_true(fabs((double)x[i + 1] - r * sin(angle)) <= 5e-6);
    }
}

/* Mean, variance and range of MANY numbers. */
static void check_moments(const float *x, double mean, double variance, double low, double high) {
    double sum = 0, squares = 0;
    for (int i = 0; i < MANY; i++) {
        assert_true((double)x[i] >= low && (double)x[i] <= high);
        sum += (double)x[i];
        squares += ((double)x[i] - mean) * ((double)x[i] - mean);
    }
    const double sigma = sqrt(variance / MANY);
    assert_true(fabs(sum / MANY - mean) <= 5 * sigma);
    assert_true(fabs(squares / MANY - variance) <= 0.02 * variance);
}

static void test_distributions(void **state) {
    (void)state;
    float *x = malloc(MANY * sizeof *x);
    heed_random_uniform(1, 2, 0, x, MANY);
    check_moments(x, 0.5, 1.0 / 12, 0.0, 1.0 - 0x1p-24);
    heed_random_normal(1, 2, 0, x, MANY);
    check_moments(x, 0.0, 1.0, -7.0, 7.0);
    heed_random_truncated(1, 2, 0, -2.0f, 2.0f, x, MANY);
    check_moments(x, 0.0, 0.7737413, -2.0, 2.0);
    heed_random_truncated(1, 2, 0, -INFINITY, INFINITY, x, MANY);
    check_moments(x, 0.0, 1.0, -7.0, 7.0);
    /* The upper tail beyond 8: mean 8.1213, variance 0.014324 (and the mirror image). */
    heed_random_truncated(1, 2, 0, 8.0f, 20.0f, x, MANY);
    check_moments(x, 8.1213666, 0.0143249, 8.0, 20.0);
    heed_random_truncated(1, 2, 0, -20.0f, -8.0f, x, MANY);
    check_moments(x, -8.1213666, 0.0143249, -20.0, -8.0);
    free(x);
}

/* The share below t must be what the distribution function says: a check of the inverse over its three pieces. */
static void test_truncated_quantiles(void **state) {
    (void)state;
    for (int i = 0; i < 2000; i++) {
        float x;
        heed_random_truncated(8, 8, (uint64_t)i, -30.0f, 30.0f, &x, 1);
        const double p = (heed_random_bits(8, 8, (uint64_t)i) + 0.5) / 4294967296.0;
        assert_true(fabs(0.5 * erfc(-(double)x / sqrt(2.0)) - p) <= 1e-7);
    }
    /* Within [-30, -6] only the far tail is used: p = F(-6) * u, to a relative error. */
    for (int i = 0; i < 2000; i++) {
        float x;
        heed_random_truncated(8, 8, (uint64_t)i, -30.0f, -6.0f, &x, 1);
        const double p = 9.865876450376946e-10 * (heed_random_bits(8, 8, (uint64_t)i) + 0.5) / 4294967296.0;
        assert_true(fabs(0.5 * erfc(-(double)x / sqrt(2.0)) / p - 1.0) <= 2e-5);
    }
}

static void test_bad_input(void **state) {
    (void)state;
    float x[2] = {7.0f, 7.0f};
    int64_t p[1] = {7};
    heed_random_uniform(1, 1, 0, NULL, 5);
    heed_random_normal(1, 1, 0, NULL, 5);
    heed_random_truncated(1, 1, 0, -1, 1, NULL, 5);
    heed_random_permutation(1, 1, NULL, 5);
    heed_random_uniform(1, 1, 0, x, -5);
    heed_random_permutation(1, 1, p, 0);
    heed_random_permutation(1, 1, p, -1);
    assert_true(x[0] == 7.0f && p[0] == 7);
    heed_random_truncated(1, 1, 0, 2.0f, 2.0f, x, 1);
    assert_true(x[0] == 2.0f);
    heed_random_truncated(1, 1, 0, 2.0f, 1.0f, x, 1);
    assert_true(isnan(x[0]));
    heed_random_truncated(1, 1, 0, NAN, 1.0f, x, 1);
    assert_true(isnan(x[0]) && x[1] == 7.0f);
}

static void test_permutation(void **state) {
    (void)state;
    enum { N = 1000 };
    int64_t a[N], b[N];
    bool seen[N] = {0};
    heed_random_permutation(1, 2, a, N);
    heed_random_permutation(1, 2, b, N);
    assert_memory_equal(a, b, sizeof a);
    heed_random_permutation(1, 3, b, N);
    assert_memory_not_equal(a, b, sizeof a);
    for (int i = 0; i < N; i++) {
        assert_in_range(a[i], 0, N - 1);
        assert_false(seen[a[i]]);
        seen[a[i]] = true;
    }
    /* All 24 orders of four come equally often: chi squared with 23 degrees of freedom, 49.7 is 1 in 1,000. */
    int counts[256] = {0};
    for (uint64_t stream = 0; stream < 24000; stream++) {
        int64_t p[4];
        heed_random_permutation(6, stream, p, 4);
        counts[p[0] * 64 + p[1] * 16 + p[2] * 4 + p[3]]++;
    }
    double chi = 0;
    int orders = 0;
    for (int i = 0; i < 256; i++) {
        orders += counts[i] > 0;
        if (counts[i]) chi += (counts[i] - 1000.0) * (counts[i] - 1000.0) / 1000.0;
    }
    assert_int_equal(orders, 24);
    assert_true(chi <= 49.7);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_answers),        cmocka_unit_test(test_position_alone_decides),
        cmocka_unit_test(test_normal_is_box_muller), cmocka_unit_test(test_distributions),
        cmocka_unit_test(test_truncated_quantiles),  cmocka_unit_test(test_bad_input),
        cmocka_unit_test(test_permutation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
