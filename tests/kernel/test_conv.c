/* Convolutions and their gradients against plain loops in double, on every instruction set of this CPU, with the same
 * bits for any number of threads. Arrays are allocated to the float, so that ASan sees any step outside. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernel/conv.h"
#include "kernel/each_set.h"
#include "kernel/kernel_test.h"

static float *numbers(int64_t n) {
    float *x = malloc((size_t)n * sizeof *x);
    assert_true(x || n == 0);
    for (int64_t i = 0; i < n; i++) x[i] = next_float();
    return x;
}

/* Calls of fn with every product of a convolution: y, w and x by their places. */
struct twin {
    double *sum, *size; /* and of absolute values, by which errors are measured */
};
static struct twin twin_new(int64_t n) {
    return (struct twin){calloc((size_t)n + 1, sizeof(double)), calloc((size_t)n + 1, sizeof(double))};
}
static void twin_free(struct twin t) { free(t.sum), free(t.size); }

enum { Y, X, W };
static void twin_conv(const struct conv *c, int which, const float *y, const float *x, const float *w, struct twin t) {
    const int64_t ins = c->ins / c->groups, outs = c->outs / c->groups, size = c->kernel[0] * c->kernel[1];
    for (int64_t b = 0; b < c->batch; b++)
        for (int64_t o = 0; o < c->outs; o++)
            for (int64_t i = 0; i < c->out[0] * c->out[1]; i++)
                for (int64_t k = 0; k < ins * size; k++) {
                    const int64_t tap = k % size, ch = o / outs * ins + k / size;
                    const int64_t r =
                        i / c->out[1] * c->stride[0] - c->padding[0] + tap / c->kernel[1] * c->dilation[0];
                    const int64_t q =
                        i % c->out[1] * c->stride[1] - c->padding[1] + tap % c->kernel[1] * c->dilation[1];
                    if (r < 0 || r >= c->in[0] || q < 0 || q >= c->in[1]) continue;
                    const int64_t at[] = {(b * c->outs + o) * c->out[0] * c->out[1] + i,
                                          ((b * c->ins + ch) * c->in[0] + r) * c->in[1] + q, o * ins * size + k};
                    const double v = (which == Y ? 1 : (double)y[at[Y]]) * (which == X ? 1 : (double)x[at[X]]) *
                                     (which == W ? 1 : (double)w[at[W]]);
                    t.sum[at[which]] += v;
                    t.size[at[which]] += fabs(v);
                }
}

static void run(const struct conv *c, int which, struct pool *pool, float *to, bool add, float *const *array,
                float *work) {
    if (which == Y)
        kernel_conv(pool, c, to, add, array[X], array[W], NULL);
    else if (which == X)
        kernel_conv_input(pool, c, to, add, array[Y], array[W], NULL, work);
    else
        kernel_conv_weight(pool, c, to, add, array[X], array[Y]);
}

static void check(const struct conv *c) {
    const int64_t count[] = {c->batch * c->outs * c->out[0] * c->out[1], c->batch * c->ins * c->in[0] * c->in[1],
                             c->outs * (c->ins / c->groups) * c->kernel[0] * c->kernel[1]};
    float *array[3], *work = numbers(count[W]);
    for (int i = 0; i < 3; i++) array[i] = numbers(count[i]);
    for (int which = 0; which < 3; which++) {
        const struct twin t = twin_new(count[which]);
        float *first = numbers(count[which]), *other = numbers(count[which]);
        const size_t bytes = (size_t)count[which] * sizeof(float);
        twin_conv(c, which, array[Y], array[X], array[W], t);
        for (int add = 0; add < 2; add++) {
            float *start = numbers(count[which]);
            memcpy(first, start, bytes);
            run(c, which, NULL, first, add, array, work);
            for (int64_t i = 0; i < count[which]; i++) {
                const double before = add ? (double)start[i] : 0;
                if (!(fabs((double)first[i] - before - t.sum[i]) <= 1e-5 * (t.size[i] + fabs(before)) + 1e-30))
                    fail_msg("array %d: %.9g at %lld, not %.9g", which, (double)first[i], (long long)i,
                             before + t.sum[i]);
            }
            for (int p = 0; p < POOLS; p++) {
                memcpy(other, start, bytes);
                run(c, which, pools[p], other, add, array, work);
                assert_memory_equal(first, other, bytes);
            }
            free(start);
        }
        free(first), free(other);
        twin_free(t);
    }
    for (int i = 0; i < 3; i++) free(array[i]);
    free(work);
}

static void outputs(struct conv *c) {
    for (int i = 0; i < 2; i++)
        c->out[i] = (c->in[i] + 2 * c->padding[i] - c->dilation[i] * (c->kernel[i] - 1) - 1) / c->stride[i] + 1;
}

static void test_any(void **unused) {
    (void)unused;
    for (int round = 0; round < 40; round++) {
        struct conv c = {.batch = 1 + below(3), .groups = 1 + below(3)};
        c.ins = c.groups * (1 + below(round % 4 == 0 ? 30 : 4));
        c.outs = c.groups * (1 + below(round % 5 == 0 ? 20 : 4));
        for (int i = 0; i < 2; i++) {
            c.kernel[i] = 1 + below(4);
            c.stride[i] = 1 + below(3);
            c.dilation[i] = 1 + below(3);
            c.padding[i] = below(4);
            c.in[i] = c.dilation[i] * (c.kernel[i] - 1) + 1 + below(12);
        }
        outputs(&c);
        check(&c);
    }
}

static void test_shapes(void **unused) {
    (void)unused;
    struct conv some[] = {
        {1, 1, 1, 2, {1, 700}, .kernel = {1, 3}, .stride = {1, 1}, .padding = {0, 1}, .dilation = {1, 1}}, /* chunks */
        {3, 1, 40, 30, {7, 7}, .kernel = {3, 3}, .stride = {1, 1}, .padding = {1, 1}, .dilation = {1, 1}}, /* pictures
                                                                                                            */
        {2, 6, 6, 6, {9, 11}, .kernel = {3, 3}, .stride = {1, 1}, .padding = {1, 1}, .dilation = {1, 1}},  /* depthwise
                                                                                                            */
        {1, 1, 3, 5, {32, 32}, .kernel = {16, 16}, .stride = {16, 16}, .padding = {0, 0}, .dilation = {1, 1}},
        /* few channels of many: a product and sums of its rows; phases, margins, several pictures, several blocks of k
         */
        {19, 1, 1, 32, {28, 28}, .kernel = {4, 4}, .stride = {2, 2}, .padding = {1, 1}, .dilation = {1, 1}},
        {11, 1, 5, 9, {13, 14}, .kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}, .dilation = {1, 1}},
        {2, 2, 6, 40, {9, 17}, .kernel = {5, 3}, .stride = {3, 2}, .padding = {4, 0}, .dilation = {1, 3}},
        {1, 1, 2, 700, {6, 9}, .kernel = {2, 2}, .stride = {3, 4}, .padding = {0, 1}, .dilation = {1, 1}},
        {3, 1, 40, 64, {12, 12}, .kernel = {3, 3}, .stride = {1, 1}, .padding = {2, 2}, .dilation = {2, 2}},
        {2, 1, 8, 8, {1, 40}, .kernel = {1, 4}, .stride = {1, 4}, .padding = {0, 0}, .dilation = {1, 1}},
        /* a stage that does not fit */
        {1, 1, 1, 1, {1, 1000000}, .kernel = {1, 2}, .stride = {1, 1}, .padding = {0, 0}, .dilation = {1, 999700}},
    };
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
        outputs(&some[i]);
        check(&some[i]);
    }
}

static int tests(void) {
    const struct CMUnitTest all[] = {cmocka_unit_test(test_any), cmocka_unit_test(test_shapes)};
    return cmocka_run_group_tests(all, open_pools, close_pools);
}

int main(void) { return run_each_set(tests); }
