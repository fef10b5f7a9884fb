/* Ticks: good numbers within the range, labels that say exactly what they stand at. */
#include "plot/ticks.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "heed/base.h"

static void assert_labels(const struct ticks *t, const char *const *labels, int n) {
    assert_int_equal(t->n, n);
    for (int i = 0; i < n; i++) assert_string_equal(t->label[i], labels[i]);
}

#define LINEAR(low, high, most, ...)                                                                                   \
    do {                                                                                                               \
        struct ticks t_;                                                                                               \
        const char *const want_[] = {__VA_ARGS__};                                                                     \
        ticks_linear(&t_, low, high, most, false, false);                                                              \
        assert_labels(&t_, want_, (int)(sizeof want_ / sizeof *want_));                                                \
    } while (0)

#define LOG(low, high, most, ...)                                                                                      \
    do {                                                                                                               \
        struct ticks t_;                                                                                               \
        const char *const want_[] = {__VA_ARGS__};                                                                     \
        ticks_log(&t_, low, high, most, false);                                                                        \
        assert_labels(&t_, want_, (int)(sizeof want_ / sizeof *want_));                                                \
    } while (0)

static void linear_labels(void **state) {
    (void)state;
    LINEAR(0, 1, 6, "0.0", "0.2", "0.4", "0.6", "0.8", "1.0");
    LINEAR(-2.5, 2.5, 6, "\u22122", "\u22121", "0", "1", "2");
    LINEAR(0, 0.1, 5, "0.000", "0.025", "0.050", "0.075", "0.100");
    LINEAR(0, 12345, 4, "0", "5,000", "10,000");
    LINEAR(900, 3100, 5, "1000", "1500", "2000", "2500", "3000");
    LINEAR(0, 5e6, 6, "0", "1M", "2M", "3M", "4M", "5M");
    LINEAR(0, 1.6e9, 5, "0", "0.5G", "1.0G", "1.5G");
    LINEAR(0, 3.1e-5, 4, "0", "1\u00d710\u207b\u2075", "2\u00d710\u207b\u2075", "3\u00d710\u207b\u2075");
    LINEAR(-3e20, 3e20, 4, "\u22122\u00d710\u00b2\u2070", "0", "2\u00d710\u00b2\u2070");
    LINEAR(100.1, 100.35, 6, "100.10", "100.15", "100.20", "100.25", "100.30", "100.35");
}

static void log_labels(void **state) {
    (void)state;
    LOG(0.5, 2000, 6, "1", "10", "100", "1000");
    LOG(0.001, 10, 6, "0.001", "0.01", "0.1", "1", "10");
    LOG(1e-8, 1e-5, 6, "10\u207b\u2078", "10\u207b\u2077", "10\u207b\u2076", "10\u207b\u2075");
    LOG(1e-12, 1e12, 6, "10\u207b\u00b9\u2070", "10\u207b\u2075", "10\u2070", "10\u2075", "10\u00b9\u2070");
    LOG(0.9, 30, 8, "1", "2", "5", "10", "20");
    LOG(3, 4, 5, "3.00", "3.25", "3.50", "3.75", "4.00");
    struct ticks t;
    ticks_log(&t, 1, 100, 3, false);
    assert_int_equal(t.n, 3);
    assert_int_equal(t.minors, 16); /* 2 to 9 and 20 to 90 */
    assert_true(t.minor[0] == 2 && t.minor[15] == 90);
    ticks_log(&t, 1e-7, 1e-5, 4, true);
    assert_string_equal(t.label[0], "1e-7");
}

/* Whatever the range: rising ticks, not too many, none outside, at least one where there is room for two, and the step
 * is 1, 2, 2.5 or 5 times a power of ten. */
static void linear_everywhere(void **state) {
    (void)state;
    float u[4];
    for (uint64_t i = 0; i < 20000; i++) {
        heed_random_uniform(7, i, 0, u, 4);
        const double size = pow(10, 60 * (double)u[0] - 30), offset = (double)(u[1] - 0.5f) * pow(10, 6 * (double)u[3]);
        const double low = offset * size, high = low + size * (0.1 + (double)u[2]);
        const int most = 2 + (int)(i % 20);
        struct ticks t;
        ticks_linear(&t, low, high, most, false, i % 2);
        assert_in_range(t.n, 0, most);
        const double slack = 1e-8 * (high - low) + 1e-9 * fabs(low);
        for (int k = 0; k < t.n; k++) {
            assert_true(t.at[k] >= low - slack && t.at[k] <= high + slack);
            assert_true(t.label[k][0] != '\0');
        }
        if (most >= 6) assert_true(t.n >= 2);
        for (int k = 2; k < t.n; k++) {
            const double step = t.at[1] - t.at[0], mantissa = step / pow(10, floor(log10(step) + 1e-6));
            const double off =
                fmin(fmin(fabs(mantissa - 1), fabs(mantissa - 2)), fmin(fabs(mantissa - 2.5), fabs(mantissa - 5)));
            assert_true(off <= 1e-4);
            assert_true(fabs((t.at[k] - t.at[k - 1]) / step - 1) <= 1e-4);
            assert_string_not_equal(t.label[k], t.label[k - 1]);
        }
    }
}

static void log_everywhere(void **state) {
    (void)state;
    float u[2];
    for (uint64_t i = 0; i < 20000; i++) {
        heed_random_uniform(8, i, 0, u, 2);
        const double low = pow(10, 60 * (double)u[0] - 30),
                     high = low * pow(10, 0.01 + 20 * (double)u[1] * (double)u[1]);
        struct ticks t;
        ticks_log(&t, low, high, 2 + (int)(i % 10), false);
        assert_in_range(t.n, 1, MAX_TICKS);
        assert_true(t.minors <= MAX_MINORS);
        for (int k = 0; k < t.n; k++) {
            assert_true(t.at[k] >= low * (1 - 1e-6) && t.at[k] <= high * (1 + 1e-6));
            if (k > 0) assert_true(t.at[k] > t.at[k - 1]);
        }
    }
}

static void whole_ticks(void **state) {
    (void)state;
    struct ticks t;
    ticks_linear(&t, -0.5, 2.5, 9, true, false);
    assert_labels(&t, (const char *const[]){"0", "1", "2"}, 3);
    ticks_linear(&t, -0.5, 49.5, 6, true, false);
    assert_labels(&t, (const char *const[]){"0", "10", "20", "30", "40"}, 5);
}

static void nothing_for_nonsense(void **state) {
    (void)state;
    struct ticks t;
    ticks_linear(&t, 1, 1, 5, false, false);
    assert_int_equal(t.n, 0);
    ticks_linear(&t, 2, 1, 5, false, false);
    assert_int_equal(t.n, 0);
    ticks_linear(&t, (double)NAN, 1, 5, false, false);
    assert_int_equal(t.n, 0);
    ticks_linear(&t, 0, (double)INFINITY, 5, false, false);
    assert_int_equal(t.n, 0);
    ticks_linear(&t, 1e9, 1e9 + 2e-7, 5, false, false);
    assert_int_equal(t.n, 0);
    ticks_log(&t, 0, 1, 5, false);
    assert_int_equal(t.n, 0);
    ticks_log(&t, -1, 1, 5, false);
    assert_int_equal(t.n, 0);
}

static void numbers(void **state) {
    (void)state;
    static const struct {
        double value;
        int decimals;
        const char *label, *ascii;
    } cases[] = {
        {0.8765, 2, "0.88", "0.88"},
        {-0.25, 1, "\u22120.3", "-0.3"},
        {0, 2, "0.00", "0.00"},
        {12345.6, 0, "12,346", "12,346"},
        {2.5e6, 2, "2.50M", "2.50M"},
        {-1.25e-7, 2, "\u22121.25\u00d710\u207b\u2077", "-1.25e-7"},
        {9.999e-5, 2, "1.00\u00d710\u207b\u2074", "1.00e-4"},
        {(double)INFINITY, 2, "\u221e", "inf"},
        {-(double)INFINITY, 2, "\u2212\u221e", "-inf"},
        {(double)NAN, 2, "nan", "nan"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[LABEL_SIZE];
        number_label(text, cases[i].value, cases[i].decimals, false);
        assert_string_equal(text, cases[i].label);
        number_label(text, cases[i].value, cases[i].decimals, true);
        assert_string_equal(text, cases[i].ascii);
    }
    assert_int_equal(number_decimals(0.5), 2);
    assert_int_equal(number_decimals(42), 1);
    assert_int_equal(number_decimals(-300), 0);
    assert_int_equal(number_decimals(0), 0);
    assert_int_equal(values_decimals((const float[]){2, 0, -7, NAN}, 4), 0); /* counts are whole */
    assert_int_equal(values_decimals((const float[]){2, 0.5f}, 2), 2);
    assert_int_equal(values_decimals((const float[]){42, 0.5f, INFINITY}, 3), 1);
    assert_int_equal(values_decimals(NULL, 0), 0);
}

/* The numbers of a heat map: as many decimals everywhere, 0 where those show nothing; weights without what says
 * nothing. */
static void cells(void **state) {
    (void)state;
    const float mixed[] = {0.5f, 1.53e-10f, -0.25f}, tiny[] = {2e-7f, 1e-9f}, weights[] = {0.994f, 0.02f, 0.0049f, 1};
    const struct {
        const float *values;
        int64_t n;
        bool weights;
        const char *wanted[4];
    } cases[] = {{mixed, 3, false, {"0.50", "0.00", "\u22120.25"}},
                 {tiny, 2, false, {"2.00\u00d710\u207b\u2077", "1.00\u00d710\u207b\u2079"}},
                 {weights, 4, true, {".99", ".02", "", "1"}},
                 {tiny, 2, true, {"", ""}}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        for (int64_t i = 0; i < cases[k].n; i++) {
            char text[LABEL_SIZE];
            cell_label(text, (double)cases[k].values[i], cells_of(cases[k].values, cases[k].n, cases[k].weights),
                       false);
            assert_string_equal(text, cases[k].wanted[i]);
        }
}

static void ranges(void **state) {
    (void)state;
    struct range r = range_none();
    assert_true(range_empty(r));
    r = range_axis(r, 0.05, false);
    assert_true(r.low == 0 && r.high == 1);
    r = range_none();
    range_add(&r, (double)NAN, false);
    range_add(&r, -1, true);
    range_add(&r, (double)INFINITY, false);
    assert_true(range_empty(r));
    range_add(&r, 5, false);
    r = range_axis(r, 0.05, false);
    assert_true(r.low == 4.5 && r.high == 5.5);
    r = range_axis((struct range){0, 0}, 0.05, false);
    assert_true(r.low == -1 && r.high == 1);
    r = range_axis((struct range){0, 10}, 0.1, false);
    assert_true(r.low == -1 && r.high == 11);
    r = range_axis((struct range){1, 100}, 0.5, true);
    assert_true(fabs(r.low - 0.1) < 1e-12 && fabs(r.high - 1000) < 1e-9);
    /* The largest numbers that floats can hold still make an axis. */
    r = range_axis((struct range){-3.4e38, 3.4e38}, 0.05, false);
    struct ticks t;
    ticks_linear(&t, r.low, r.high, 8, false, false);
    assert_true(t.n >= 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linear_labels),  cmocka_unit_test(log_labels),  cmocka_unit_test(linear_everywhere),
        cmocka_unit_test(log_everywhere), cmocka_unit_test(whole_ticks), cmocka_unit_test(nothing_for_nonsense),
        cmocka_unit_test(numbers),        cmocka_unit_test(cells),       cmocka_unit_test(ranges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
