/* The vector functions of every instruction set against the C library in double: dense sweeps and special values. They
 * are reached through unary_map and unary_grad_map, the activations through bias_act too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "kernel/elementwise.h"
#include "twin.h"
#include <stdlib.h>

#define POINTS 40000

/* Half of the points lie evenly on [low, high], half have evenly spaced logarithms, of either sign where allowed. */
static float *sweep(double low, double high) {
    float *x = malloc(POINTS * sizeof *x);
    assert_non_null(x);
    const double least = low > 0.0 ? log(low) : -80.0, most = log(fmax(fabs(low), high));
    for (int i = 0; i < POINTS; i++) {
        const double at = (double)(i / 2) / (POINTS / 2 - 1);
        double v = i % 2 ? low + (high - low) * at : exp(least + (most - least) * at);
        if (i % 4 == 2 && low < 0.0) v = -v;
        x[i] = (float)fmin(fmax(v, low), high);
    }
    return x;
}

/* In units of the last place of the true value; numbers below the smallest normal one count as that. */
static double ulps(float got, double want) {
    if (isnan(want)) return isnan(got) ? 0.0 : HUGE_VAL;
    if (isinf(want) || isinf((float)want)) return got == (float)want ? 0.0 : HUGE_VAL;
    const double unit = ldexp(1.0, ilogb(fmax(fabs(want), 0x1p-126)) - 23);
    const double error = fabs((double)got - want) / unit;
    return fabs(want) < 0x1p-126 && fabs((double)got) <= 0x1p-126 ? 0.0 : error;
}

static void expect(const char *name, const struct isa *isa, float x, float y, double want, double ulp, double atol) {
    if (ulps(y, want) <= ulp || fabs((double)y - want) <= atol) return;
    fail_msg("%s (%s): f(%a) = %.9g, should be %.17g: %.3g ulp", name, isa->name, (double)x, (double)y, want,
             ulps(y, want));
}

struct unary_case {
    const char *name;
    enum unary fn;
    double low, high, ulp, atol;
};
static const struct unary_case unary_cases[] = {
    {"exp", UNARY_EXP, -90.0, 90.0, 1.5, 0.0},
    {"log", UNARY_LOG, 1e-45, 3.4e38, 1.5, 0.0},
    {"log near 1", UNARY_LOG, 0.5, 2.0, 1.5, 0.0},
    {"sqrt", UNARY_SQRT, 0.0, 3.4e38, 0.5, 0.0},
    {"sin", UNARY_SIN, -100.0, 100.0, 2.0, 0.0},
    {"sin far", UNARY_SIN, -3e7, 3e7, 2.5, 0.0},
    {"cos", UNARY_COS, -100.0, 100.0, 2.0, 0.0},
    {"cos far", UNARY_COS, -3e7, 3e7, 2.5, 0.0},
    {"tanh", UNARY_TANH, -20.0, 20.0, 3.0, 0.0},
    {"erf", UNARY_ERF, -6.0, 6.0, 3.0, 0.0},
    {"sigmoid", UNARY_SIGMOID, -100.0, 100.0, 3.0, 0.0},
    {"gelu", UNARY_GELU, -1.0, 100.0, 4.0, 0.0},
    {"gelu tail", UNARY_GELU, -20.0, -1.0, 4.0, 2e-7},
    {"gelu_tanh", UNARY_GELU_TANH, -1.0, 100.0, 4.0, 0.0},
    {"gelu_tanh tail", UNARY_GELU_TANH, -20.0, -1.0, 4.0, 2e-7},
    {"silu", UNARY_SILU, -100.0, 100.0, 3.0, 1e-36},
    {"softplus", UNARY_SOFTPLUS, -100.0, 100.0, 3.0, 0.0},
};

static void test_unary(void **state) {
    (void)state;
    const struct isa *sets[4];
    const int count = isa_all(sets);
    float *y = malloc(POINTS * sizeof *y);
    assert_non_null(y);
    for (size_t c = 0; c < sizeof unary_cases / sizeof *unary_cases; c++) {
        const struct unary_case *u = &unary_cases[c];
        float *x = sweep(u->low, u->high);
        for (int s = 0; s < count; s++) {
            sets[s]->unary_map((int)u->fn, y, x, POINTS, 0.0f, 0.0f);
            for (int i = 0; i < POINTS; i++)
                expect(u->name, sets[s], x[i], y[i], twin_unary(u->fn, (double)x[i], 0, 0), u->ulp, u->atol);
        }
        free(x);
    }
    free(y);
}

/* Infinities give limits, NaN stays, either zero is exact. */
static void test_special(void **state) {
    (void)state;
    static const float x[] = {INFINITY, -INFINITY, NAN, 0.0f, -0.0f, 1e-45f, -1e-45f, 3.4e38f, -3.4e38f, -NAN, 1.0f};
    enum { COUNT = sizeof x / sizeof *x };
    static const struct {
        enum unary fn;
        float want[COUNT];
    } cases[] = {
        {UNARY_EXP, {INFINITY, 0, NAN, 1, 1, 1, 1, INFINITY, 0, NAN, 2.71828183f}},
        {UNARY_LOG, {INFINITY, NAN, NAN, -INFINITY, -INFINITY, -103.278931f, NAN, 88.7219925f, NAN, NAN, 0}},
        {UNARY_TANH, {1, -1, NAN, 0, 0, 1e-45f, -1e-45f, 1, -1, NAN, 0.761594176f}},
        {UNARY_ERF, {1, -1, NAN, 0, 0, 1e-45f, -1e-45f, 1, -1, NAN, 0.842700779f}},
        {UNARY_SIGMOID, {1, 0, NAN, 0.5f, 0.5f, 0.5f, 0.5f, 1, 0, NAN, 0.731058598f}},
        {UNARY_GELU, {INFINITY, 0, NAN, 0, 0, 0, 0, 3.4e38f, 0, NAN, 0.841344774f}},
        {UNARY_GELU_TANH, {INFINITY, 0, NAN, 0, 0, 0, 0, 3.4e38f, 0, NAN, 0.841192007f}},
        {UNARY_SILU, {INFINITY, 0, NAN, 0, 0, 0, 0, 3.4e38f, 0, NAN, 0.731058598f}},
        {UNARY_SOFTPLUS,
         {INFINITY, 0, NAN, 0.693147182f, 0.693147182f, 0.693147182f, 0.693147182f, 3.4e38f, 0, NAN, 1.31326163f}},
        {UNARY_SIN, {NAN, NAN, NAN, 0, 0, 1e-45f, -1e-45f, -0.515876472f, 0.515876472f, NAN, 0.841470957f}},
    };
    const struct isa *sets[4];
    const int count = isa_all(sets);
    for (int s = 0; s < count; s++)
        for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
            float y[COUNT];
            sets[s]->unary_map((int)cases[c].fn, y, x, COUNT, 0.0f, 0.0f);
            for (int i = 0; i < COUNT; i++) {
                const double want =
                    cases[c].fn == UNARY_SIN && fabsf(x[i]) > 1e38f ? sin((double)x[i]) : (double)cases[c].want[i];
                expect("special", sets[s], x[i], y[i], want, 2.0, 0.0);
            }
        }
}

static void test_activations(void **state) {
    (void)state;
    const struct isa *sets[4];
    const int count = isa_all(sets);
    float *x = sweep(-30.0, 30.0), *y = malloc(POINTS * sizeof *y), *dx = malloc(POINTS * sizeof *dx);
    float *dy = malloc(POINTS * sizeof *dy);
    assert_true(y && dx && dy);
    for (int i = 0; i < POINTS; i++) dy[i] = 1.0f;
    x[5] = INFINITY, x[9] = -INFINITY, x[POINTS - 1] = 1e6f, x[POINTS - 2] = -1e6f;
    for (int s = 0; s < count; s++)
        for (enum activation act = ACT_NONE + 1; act < ACT_COUNT; act++) {
            const struct activation_fn f = kernel_activation(act);
            const char *name = twin_unary_name(f.fn);
            const double a = (double)f.a, b = (double)f.b;
            for (int i = 0; i < POINTS; i++) y[i] = x[i];
            sets[s]->bias_act(y, POINTS, 1, POINTS, NULL, act, NULL);
            sets[s]->unary_grad_map((int)f.fn, dx, dy, kernel_unary_reads(f.fn) == READS_Y ? y : x, POINTS, f.a, f.b,
                                    false);
            for (int i = 0; i < POINTS; i++) {
                const double v = isinf(x[i]) ? copysign(1e30, (double)x[i]) : (double)x[i]; /* its slope is the limit */
                const double want = twin_unary(f.fn, v, a, b);
                if (!isinf(x[i])) expect(name, sets[s], x[i], y[i], want, 4.0, 2e-7);
                if (isinf(x[i]) && f.fn == UNARY_RELU2) continue; /* which has none */
                expect(name, sets[s], x[i], dx[i], twin_unary_slope(f.fn, v, want, a, b), 4.0, 4e-7);
            }
        }
    free(x), free(y), free(dx), free(dy);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unary),
        cmocka_unit_test(test_special),
        cmocka_unit_test(test_activations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
