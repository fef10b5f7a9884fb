/* What the tests of the large kernels share: pools of 1, 2, 3 and 8 threads, and random numbers. */
#ifndef TESTS_KERNEL_TEST_H
#define TESTS_KERNEL_TEST_H

#include "base/thread_pool.h"

static const int thread_counts[] = {1, 2, 3, 8};
enum { POOLS = 4 };
static heed_ctx *cx;
static struct pool *pools[POOLS];

static int open_pools(void **unused) {
    (void)unused;
    cx = heed_open(&(heed_config){.threads = 1});
    for (int i = 0; i < POOLS; i++) pools[i] = pool_open(cx, thread_counts[i]);
    return heed_failed(cx) ? -1 : 0;
}

static int close_pools(void **unused) {
    (void)unused;
    for (int i = 0; i < POOLS; i++) pool_close(cx, pools[i]);
    heed_close(cx);
    return 0;
}

static uint64_t state = 1;
static uint32_t next_bits(void) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 32);
}
static float next_float(void) { return (float)((int32_t)next_bits() / 65536) / 16384.0f; } /* in [-2, 2) */
static int64_t below(int64_t n) { return (int64_t)(next_bits() % (uint32_t)n); }

#endif
