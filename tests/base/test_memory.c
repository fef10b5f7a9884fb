/* heed_mem_*: alignment, counting, the budget, refusals. */
#include "base/checked.h"
#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "counting.h"

static void fill(unsigned char *p, size_t size) {
    for (size_t i = 0; i < size; i++) p[i] = (unsigned char)(i * 7 + 3);
}
static bool filled(const unsigned char *p, size_t size) {
    for (size_t i = 0; i < size; i++)
        if (p[i] != (unsigned char)(i * 7 + 3)) return false;
    return true;
}

/* Small, large (huge pages), and across the border, both ways; the hook's alignment changes under way. */
static void resize_round(heed_ctx *cx) {
    const size_t sizes[] = {0, 1, 63, 64, 1000, 4 << 20, (4 << 20) + 5, 9 << 20, 5 << 20, 100000, 3, 0};
    unsigned char *p = NULL;
    size_t kept = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        p = heed_mem_resize(cx, p, sizes[i]);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % 64, 0);
        assert_true(filled(p, kept < sizes[i] ? kept : sizes[i]));
        fill(p, sizes[i]);
        kept = sizes[i];
    }
    heed_mem_free(cx, p);
}

static void test_resize(void **state) {
    (void)state;
    heed_ctx *cx = heed_open(&(heed_config){.threads = 1});
    const size_t before = heed_memory_use(cx).held;
    resize_round(cx);
    assert_int_equal(heed_memory_use(cx).held, before);
    heed_close(cx);
    struct counting c = {0};
    cx = heed_open(&(heed_config){.threads = 1, .alloc = counting_alloc, .user = &c});
    resize_round(cx);
    heed_close(cx);
    assert_int_equal(c.blocks, 0);
    assert_int_equal(c.mistakes, 0);
}

static void test_counting(void **state) {
    (void)state;
    struct counting c = {0};
    heed_ctx *cx = heed_open(&(heed_config){.threads = 1, .alloc = counting_alloc, .user = &c});
    const heed_memory before = heed_memory_use(cx);
    assert_int_equal(before.held, c.live);
    assert_int_equal(before.system_calls, c.requests);
    void *a = heed_mem_new(cx, 1000000);
    void *b = heed_mem_new(cx, 0);
    assert_non_null(b);
    assert_int_equal(heed_memory_use(cx).held, c.live);
    heed_mem_free(cx, a);
    heed_mem_free(cx, b);
    const heed_memory after = heed_memory_use(cx);
    assert_int_equal(after.held, before.held);
    assert_true(after.held_peak >= before.held + 1000000);
    assert_int_equal(after.system_calls, before.system_calls + 2);
    heed_memory_reset_peak(cx);
    assert_int_equal(heed_memory_use(cx).held_peak, before.held);
    heed_close(cx);
}

static void test_budget(void **state) {
    (void)state;
    struct counting c = {0};
    heed_ctx *cx =
        heed_open(&(heed_config){.threads = 1, .byte_budget = 10 << 20, .alloc = counting_alloc, .user = &c});
    unsigned char *a = heed_mem_new(cx, 4 << 20);
    assert_non_null(a);
    fill(a, 4 << 20);
    const int64_t requests = c.requests;
    assert_null(heed_mem_resize(cx, a, 8 << 20));
    assert_int_equal(heed_error(cx), HEED_ERR_BUDGET);
    assert_non_null(strstr(heed_message(cx), "10485760"));
    assert_non_null(strstr(heed_message(cx), "8388608"));
    assert_true(filled(a, 4 << 20));
    heed_clear(cx);
    assert_null(heed_mem_new(cx, 8 << 20));
    assert_int_equal(heed_error(cx), HEED_ERR_BUDGET);
    assert_int_equal(c.requests, requests); /* refused before the allocator was asked */
    heed_clear(cx);
    a = heed_mem_resize(cx, a, 7 << 20); /* counts the difference, not the sum */
    assert_non_null(a);
    assert_true(heed_memory_use(cx).held <= 10 << 20);
    heed_mem_free(cx, a);
    heed_close(cx);
    assert_int_equal(c.blocks, 0);
}

static void test_refusals(void **state) {
    (void)state;
    struct counting c = {0};
    heed_ctx *cx = heed_open(&(heed_config){.threads = 1, .alloc = counting_alloc, .user = &c});
    unsigned char *a = heed_mem_new(cx, 100);
    fill(a, 100);
    c.fail_at = c.requests + 1;
    assert_null(heed_mem_resize(cx, a, 200));
    assert_int_equal(heed_error(cx), HEED_ERR_MEMORY);
    assert_true(filled(a, 100));
    heed_clear(cx);
    for (int i = 0; i < 3; i++) {
        const size_t huge[] = {SIZE_MAX, SIZE_MAX - 80, SIZE_MAX / 2};
        assert_null(i < 2 ? heed_mem_new(cx, huge[i]) : heed_mem_resize(cx, a, SIZE_MAX));
        assert_int_equal(heed_error(cx), HEED_ERR_MEMORY);
        heed_clear(cx);
    }
    assert_true(filled(a, 100));
    heed_fail(cx, HEED_ERR_USAGE, "x");
    heed_mem_free(cx, a); /* a failed context frees */
    heed_close(cx);
    assert_int_equal(c.blocks, 0);
    assert_int_equal(c.mistakes, 0);
}

static void test_try_and_count(void **state) {
    (void)state;
    heed_ctx *cx = heed_open(&(heed_config){.threads = 1, .byte_budget = 8 << 20});
    const heed_memory before = heed_memory_use(cx);
    void *p = &p;
    assert_int_equal(mem_try(cx, 7 << 20, &p), HEED_ERR_BUDGET);
    assert_ptr_equal(p, &p);
    assert_int_equal(mem_count(cx, 7 << 20), HEED_ERR_BUDGET);
    assert_int_equal(mem_count(cx, SIZE_MAX), HEED_ERR_MEMORY);
    assert_false(heed_failed(cx));
    assert_int_equal(mem_count(cx, 5 << 20), HEED_OK);
    const size_t counted = heed_memory_use(cx).held;
    mem_uncount(cx, 5 << 20);
    assert_int_equal(heed_memory_use(cx).held, before.held);
    assert_int_equal(heed_memory_use(cx).system_calls, before.system_calls);
    assert_int_equal(mem_try(cx, 5 << 20, &p), HEED_OK);
    assert_int_equal(heed_memory_use(cx).held, counted);
    heed_mem_free(cx, p);
    heed_close(cx);
}

static void test_checked(void **state) {
    (void)state;
    size_t s = 5;
    int64_t i = 5;
    assert_false(size_mul(SIZE_MAX, 2, &s));
    assert_false(size_add(SIZE_MAX, 1, &s));
    assert_false(i64_mul(INT64_MAX, 2, &i));
    assert_false(i64_mul(INT64_MIN, -1, &i));
    assert_false(i64_add(INT64_MIN, -1, &i));
    assert_int_equal(s, 5);
    assert_int_equal(i, 5);
    assert_true(size_mul(6, 7, &s) && s == 42);
    assert_true(size_add(6, 7, &s) && s == 13);
    assert_true(i64_mul(-6, 7, &i) && i == -42);
    assert_true(i64_add(-6, 7, &i) && i == 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_resize),   cmocka_unit_test(test_counting),      cmocka_unit_test(test_budget),
        cmocka_unit_test(test_refusals), cmocka_unit_test(test_try_and_count), cmocka_unit_test(test_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
