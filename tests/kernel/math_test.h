/* What the tests of elementwise functions and reductions share: numbers, shapes, pools, and a run for each set. */
#ifndef TESTS_KERNEL_MATH_TEST_H
#define TESTS_KERNEL_MATH_TEST_H

#include "base/ctx.h"
#include "base/thread_pool.h"
#include "kernel/each_set.h"
#include "kernel/elementwise.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LENGTH(array) ((int)(sizeof(array) / sizeof *(array)))

static uint64_t math_position;
static uint32_t draw(uint32_t below) { return heed_random_bits(1, 2, math_position++) % below; }
static float draw_normal(void) {
    float x;
    heed_random_normal(3, 4, math_position++, &x, 1);
    return x;
}

/* n floats in a block of exactly that size, so that a sanitizer sees each read too far. */
static float *floats(int64_t n) {
    float *p = malloc((size_t)n * sizeof(float) + (n == 0));
    assert_non_null(p);
    return p;
}
static float *normals(int64_t n) {
    float *p = floats(n);
    for (int64_t i = 0; i < n; i++) p[i] = draw_normal();
    return p;
}
static inline float *copy_of(const float *x, int64_t n) {
    float *p = floats(n);
    if (n) memcpy(p, x, (size_t)n * sizeof(float));
    return p;
}

/* Fails unless y is `want` within rtol and atol; NaN wants NaN, infinity the same infinity. */
static bool is_close(float y, double want, double rtol, double atol) {
    if (isnan(want)) return isnan(y);
    if (isinf(want) || fabs(want) > 3.4028235e38) return isinf(y) && (y > 0) == (want > 0);
    return fabs((double)y - want) <= rtol * fabs(want) + atol;
}
static void check_close(const char *what, int64_t at, float y, double want, double rtol, double atol) {
    if (!is_close(y, want, rtol, atol))
        fail_msg("%s: element %lld is %.9g, not %.9g", what, (long long)at, (double)y, want);
}

/* ---- Shapes ---- */

struct shape {
    int rank;
    int64_t size[BCAST_AXES];
};
static inline int64_t numel(const struct shape *s) {
    int64_t n = 1;
    for (int i = 0; i < s->rank; i++) n *= s->size[i];
    return n;
}
static inline struct bcast_operand operand_of(const struct shape *s) {
    return (struct bcast_operand){s->rank, s->size};
}

/* Where element `at` of `whole` lies in an operand that is broadcast to it. */
static inline int64_t source_of(const struct shape *whole, const struct shape *operand, int64_t at) {
    int64_t offset = 0, step = 1;
    for (int i = 1; i <= whole->rank; i++) {
        const int64_t size = whole->size[whole->rank - i], index = at % size;
        at /= size;
        if (i > operand->rank) continue;
        const int64_t own = operand->size[operand->rank - i];
        if (own != 1) offset += index * step;
        step *= own;
    }
    return offset;
}

static inline struct shape random_shape(int least, int most) {
    static const int64_t sizes[] = {1, 2, 3, 7, 2, 3, 7, 0};
    struct shape s = {.rank = least + (int)draw((uint32_t)(most - least + 1))};
    for (int i = 0; i < s.rank; i++) s.size[i] = sizes[draw(draw(8) ? 7 : 8)];
    return s;
}
/* A shape that broadcasts to `whole`: leading axes dropped, others made 1. */
static inline struct shape random_operand(const struct shape *whole) {
    const int rank = draw(3) ? whole->rank : (int)draw((uint32_t)whole->rank + 1);
    struct shape s = {.rank = rank};
    for (int i = 0; i < rank; i++) s.size[i] = draw(3) ? whole->size[whole->rank - rank + i] : 1;
    return s;
}

/* ---- Pools of 1, 2, 3 and 8 threads ---- */

#define POOLS 4
static heed_ctx *math_context[POOLS];
static struct pool *math_pool[POOLS];

static int open_pools(void **state) {
    (void)state;
    static const int threads[POOLS] = {1, 2, 3, 8};
    for (int i = 0; i < POOLS; i++) {
        math_context[i] = heed_open(&(heed_config){.threads = threads[i]});
        if (heed_failed(math_context[i])) return -1;
        math_pool[i] = math_context[i]->pool;
    }
    return 0;
}
static int close_pools(void **state) {
    (void)state;
    for (int i = 0; i < POOLS; i++) heed_close(math_context[i]);
    return 0;
}

/* Keeps the first of four results and fails when a later one has other bits. Frees y. */
static void same_bits(const char *what, int pool, float **first, float *y, int64_t n) {
    if (pool == 0) {
        *first = y;
        return;
    }
    if (n && memcmp(*first, y, (size_t)n * sizeof(float)) != 0) fail_msg("%s: bits differ with the threads", what);
    free(y);
    if (pool == POOLS - 1) free(*first);
}

#endif
