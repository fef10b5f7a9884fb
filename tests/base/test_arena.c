/* The step's arena against a simple model: no overlap, merging, best fit, planned = used. */
#include "base/arena.h"
#include "heed/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "counting.h"

#define LIVE 400

struct taken {
    unsigned char *at;
    size_t size;
    unsigned char mark;
};

static uint32_t draw(uint64_t *position) { return heed_random_bits(11, 5, (*position)++); }

/* Mostly small, some of the same size, a few large. */
static size_t draw_size(uint64_t *position) {
    const uint32_t kind = draw(position) % 16, value = draw(position);
    if (kind == 0) return value % (3 << 20);
    if (kind < 4) return value % 50000;
    if (kind < 10) return 64 * (value % 4);
    return value % 2000;
}

/* Takes and gives at random; every block keeps its own mark, which another's write would destroy. Returns the peak of
 * the sum of rounded sizes. */
static size_t random_step(heed_ctx *cx, int rounds, uint64_t position) {
    struct taken live[LIVE] = {0};
    size_t sum = 0, peak = 0;
    const bool dry = cx->config.dry;
    for (int i = 0; i < rounds; i++) {
        struct taken *const t = &live[draw(&position) % LIVE];
        if (t->at) {
            if (!dry)
                for (size_t k = 0; k < t->size; k += t->size < 512 ? 1 : 61) assert_int_equal(t->at[k], t->mark);
            arena_give(cx, t->at);
            sum -= t->size ? (t->size + 63) / 64 * 64 : 64;
            *t = (struct taken){0};
        } else {
            t->size = draw_size(&position);
            t->mark = (unsigned char)i;
            t->at = arena_take(cx, t->size);
            assert_non_null(t->at);
            assert_int_equal((uintptr_t)t->at % 64, 0);
            if (!dry) memset(t->at, t->mark, t->size);
            sum += t->size ? (t->size + 63) / 64 * 64 : 64;
            if (sum > peak) peak = sum;
        }
        assert_int_equal(heed_memory_use(cx).step, sum);
    }
    for (int i = 0; i < LIVE; i++) arena_give(cx, live[i].at);
    assert_int_equal(heed_memory_use(cx).step, 0);
    return peak;
}

static void test_random_against_model(void **state) {
    (void)state;
    heed_ctx *cx = heed_open(&(heed_config){.threads = 1});
    for (uint64_t seed = 0; seed < 4; seed++) {
        heed_memory_reset_peak(cx);
        const size_t peak = random_step(cx, 4000, seed << 20);
        assert_int_equal(heed_memory_use(cx).step_peak, peak);
        arena_reset(cx);
    }
    assert_false(heed_failed(cx));
    heed_close(cx);
}

/* No two blocks overlap, seen from the addresses alone (a dry arena's cannot be written to). */
static void test_no_overlap(void **state) {
    (void)state;
    for (int dry = 0; dry < 2; dry++) {
        heed_ctx *cx = heed_open(&(heed_config){.threads = 1, .dry = dry});
        struct taken live[200];
        uint64_t position = 99;
        for (int i = 0; i < 200; i++) {
            live[i].size = draw_size(&position);
            live[i].at = arena_take(cx, live[i].size);
            for (int k = 0; k < i; k++) {
                const uintptr_t a = (uintptr_t)live[i].at, b = (uintptr_t)live[k].at;
                assert_true(a + live[i].size <= b || b + live[k].size <= a);
                assert_true(a != b);
            }
        }
        heed_close(cx); /* closing gives back what is taken */
    }
}

static void test_merges_back_to_one(void **state) {
    (void)state;
    struct counting c = {0};
    heed_ctx *cx = heed_open(&(heed_config){.threads = 1, .alloc = counting_alloc, .user = &c});
    unsigned char *const whole = arena_take(cx, 1 << 20); /* the first chunk, all of it */
    arena_give(cx, whole);
    const int64_t requests = c.requests;
    for (int order = 0; order < 3; order++) {
        void *blocks[100];
        for (int i = 0; i < 100; i++) assert_non_null(blocks[i] = arena_take(cx, 1000));
        for (int i = 0; i < 100; i++) arena_give(cx, blocks[order == 0 ? i : order == 1 ? 99 - i : i * 37 % 100]);
        void *again = arena_take(cx, 1 << 20); /* fits only if everything has merged */
        assert_ptr_equal(again, whole);
        arena_give(cx, again);
    }
    assert_int_equal(c.requests, requests);
    heed_close(cx);
}

static void test_best_fit_lowest_first(void **state) {
    (void)state;
    heed_ctx *cx = heed_open(&(heed_config){.threads = 1});
    /* Holes of 5, 3, 4, 3 granules with walls between, given back in a mixed order. */
    const size_t sizes[] = {5 * 64, 64, 3 * 64, 64, 4 * 64, 64, 3 * 64, 64};
    char *at[8];
    for (int i = 0; i < 8; i++) at[i] = arena_take(cx, sizes[i]);
    const int order[] = {6, 0, 4, 2};
    for (int i = 0; i < 4; i++) arena_give(cx, at[order[i]]);
    assert_ptr_equal(arena_take(cx, 129), at[2]); /* 3 granules: the lower of the two that fit exactly */
    assert_ptr_equal(arena_take(cx, 192), at[6]);
    assert_ptr_equal(arena_take(cx, 192), at[4]); /* then the next larger, whose rest stays free */
    assert_ptr_equal(arena_take(cx, 1), at[4] + 192);
    assert_ptr_equal(arena_take(cx, 0), at[0]);
    assert_ptr_equal(arena_take(cx, 256), at[0] + 64);
    heed_close(cx);
}

/* Large sizes of one class: the smaller block in the class does not do, the larger must be found. */
static void test_best_fit_within_a_class(void **state) {
    (void)state;
    heed_ctx *cx = heed_open(&(heed_config){.threads = 1});
    char *a = arena_take(cx, 100 * 64), *wall = arena_take(cx, 64), *b = arena_take(cx, 103 * 64);
    assert_non_null(arena_take(cx, 64));
    assert_non_null(wall);
    arena_give(cx, a);
    arena_give(cx, b);
    assert_ptr_equal(arena_take(cx, 102 * 64), b);
    assert_ptr_equal(arena_take(cx, 99 * 64), a);
    heed_close(cx);
}

static void test_second_step_asks_for_nothing(void **state) {
    (void)state;
    struct counting c = {0};
    heed_ctx *cx = heed_open(&(heed_config){.threads = 1, .alloc = counting_alloc, .user = &c});
    random_step(cx, 3000, 1);
    heed_clear(cx);
    const heed_memory warm = heed_memory_use(cx);
    for (int step = 0; step < 3; step++) {
        random_step(cx, 3000, 1);
        assert_non_null(arena_take(cx, 100)); /* left for the reset to give back */
        arena_reset(cx);
        assert_int_equal(heed_memory_use(cx).step, 0);
    }
    assert_int_equal(heed_memory_use(cx).system_calls, warm.system_calls);
    assert_int_equal(heed_memory_use(cx).held, warm.held);
    heed_close(cx);
    assert_int_equal(c.blocks, 0);
}

static void test_dry_plans_what_real_uses(void **state) {
    (void)state;
    heed_memory use[2];
    for (int dry = 0; dry < 2; dry++) {
        heed_ctx *cx = heed_open(&(heed_config){.threads = 1, .dry = dry});
        random_step(cx, 3000, 77);
        arena_reset(cx);
        random_step(cx, 3000, 78);
        use[dry] = heed_memory_use(cx);
        heed_close(cx);
    }
    assert_int_equal(use[0].step_peak, use[1].step_peak);
    assert_int_equal(use[0].held, use[1].held);
    assert_int_equal(use[0].held_peak, use[1].held_peak);
}

/* The budget at which a step just goes through, and the request at which it fails, are the same dry and real. */
static void test_dry_fails_where_real_does(void **state) {
    (void)state;
    for (size_t budget = 3 << 20; budget < 40 << 20; budget += 3333333) {
        int failed_at[2] = {-1, -1};
        char sentence[1024] = "";
        for (int dry = 0; dry < 2; dry++) {
            heed_ctx *cx = heed_open(&(heed_config){.threads = 1, .byte_budget = budget, .dry = dry});
            uint64_t position = 3;
            for (int i = 0; i < 100 && failed_at[dry] < 0; i++)
                if (!arena_take(cx, draw_size(&position))) failed_at[dry] = i;
            assert_true(heed_memory_use(cx).held_peak <= budget);
            if (failed_at[dry] >= 0) assert_int_equal(heed_error(cx), HEED_ERR_BUDGET);
            if (dry)
                assert_string_equal(heed_message(cx), sentence);
            else
                strcpy(sentence, heed_message(cx));
            heed_close(cx);
        }
        assert_int_equal(failed_at[0], failed_at[1]);
        if (budget == 3 << 20) assert_true(failed_at[0] >= 0);
    }
}

/* A chunk of half the total may be refused where the request itself still fits the budget. */
static void test_grows_by_little_near_the_budget(void **state) {
    (void)state;
    heed_ctx *cx = heed_open(&(heed_config){.threads = 1, .byte_budget = 20 << 20});
    assert_non_null(arena_take(cx, 14 << 20));
    assert_non_null(arena_take(cx, 100000)); /* 7 MiB would be half */
    assert_false(heed_failed(cx));
    assert_null(arena_take(cx, 6 << 20));
    assert_int_equal(heed_error(cx), HEED_ERR_BUDGET);
    heed_clear(cx);
    assert_non_null(arena_take(cx, 6 << 20)); /* all is free again, in one piece */
    heed_close(cx);
}

/* What is reserved is one chunk, which steps fit without growing; a smaller or refused one changes nothing. */
static void test_reserve(void **state) {
    (void)state;
    for (int dry = 0; dry < 2; dry++) {
        heed_ctx *cx = heed_open(&(heed_config){.threads = 1, .dry = dry, .byte_budget = 30 << 20});
        for (int turn = 0; turn < 2; turn++) { /* of an arena that has nothing, then of one that has a chunk */
            arena_reserve(cx, (size_t)(turn ? 16 : 8) << 20);
            const size_t held = heed_memory_use(cx).held;
            assert_int_equal(arena_room(cx), (turn ? 16 : 8) << 20);
            for (int i = 0; i < 8; i++) assert_non_null(arena_take(cx, 1 << 20));
            arena_reserve(cx, 20 << 20); /* not while blocks are taken */
            arena_reset(cx);
            arena_reserve(cx, 1 << 20);
            assert_int_equal(heed_memory_use(cx).held, held);
        }
        arena_reserve(cx, 40 << 20); /* beyond the budget: it begins anew, and grows as it needs to */
        assert_false(heed_failed(cx));
        assert_non_null(arena_take(cx, 24 << 20));
        heed_close(cx);
    }
}

static void test_reset_survives_refusal(void **state) {
    (void)state;
    struct counting c = {0};
    heed_ctx *cx = heed_open(&(heed_config){.threads = 1, .alloc = counting_alloc, .user = &c});
    assert_non_null(arena_take(cx, 1 << 20));
    assert_non_null(arena_take(cx, 3 << 20));
    c.fail_at = c.requests + 1;
    arena_reset(cx);
    assert_false(heed_failed(cx));
    void *block = arena_take(cx, 1000);
    assert_non_null(block);
    memset(block, 1, 1000);
    heed_close(cx);
    assert_int_equal(c.blocks, 0);
}

static void test_bad_requests(void **state) {
    (void)state;
    for (int dry = 0; dry < 2; dry++) {
        heed_ctx *cx = heed_open(&(heed_config){.threads = 1, .dry = dry});
        const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 62, SIZE_MAX / 2, SIZE_MAX / 16, SIZE_MAX / 32 + 1};
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            assert_null(arena_take(cx, sizes[i]));
            assert_int_equal(heed_error(cx), HEED_ERR_MEMORY);
            heed_clear(cx);
        }
        /* Giving what is not taken is an error, not a crash: a stranger, a block twice, the inside of one. */
        static char stranger[64];
        char *block = arena_take(cx, 1000);
        void *bad[] = {stranger, block + 64, block};
        for (int i = 0; i < 3; i++) {
            if (bad[i] == block) arena_give(cx, block);
            arena_give(cx, bad[i]);
            assert_int_equal(heed_error(cx), HEED_ERR_USAGE);
            cx->status = HEED_OK; /* not heed_clear: the block must stay taken */
        }
        arena_give(cx, NULL);
        assert_false(heed_failed(cx));
        assert_int_equal(heed_memory_use(cx).step, 0);
        heed_close(cx);
    }
}

#if defined(__SANITIZE_ADDRESS__)
#    include <sanitizer/asan_interface.h>
/* Under ASan what is free, and what lies beyond the size asked for, is out of bounds. */
static void test_free_blocks_are_poisoned(void **state) {
    (void)state;
    heed_ctx *cx = heed_open(&(heed_config){.threads = 1});
    char *a = arena_take(cx, 100), *b = arena_take(cx, 100);
    assert_null(__asan_region_is_poisoned(a, 100));
    assert_ptr_equal(__asan_region_is_poisoned(a, 128), a + 100);
    arena_give(cx, a);
    assert_ptr_equal(__asan_region_is_poisoned(a, 1), a);
    assert_null(__asan_region_is_poisoned(b, 100));
    arena_reset(cx);
    assert_ptr_equal(__asan_region_is_poisoned(b, 1), b);
    heed_close(cx);
}
#endif

/* Many blocks live at once, so the books grow again and again. */
static void test_many_blocks(void **state) {
    (void)state;
    enum { MANY = 50000 };
    heed_ctx *cx = heed_open(&(heed_config){.threads = 1});
    void **blocks = calloc(MANY, sizeof *blocks);
    for (int i = 0; i < MANY; i++) blocks[i] = arena_take(cx, 64);
    for (int i = 0; i < MANY; i += 2) arena_give(cx, blocks[i]); /* nothing merges: 25,000 equal holes */
    for (int i = 0; i < MANY; i += 2) assert_ptr_equal(arena_take(cx, 64), blocks[i]); /* lowest first */
    for (int i = 0; i < MANY; i++) arena_give(cx, blocks[i]);
    assert_int_equal(heed_memory_use(cx).step, 0);
    assert_false(heed_failed(cx));
    free(blocks);
    heed_close(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_against_model),
        cmocka_unit_test(test_no_overlap),
        cmocka_unit_test(test_merges_back_to_one),
        cmocka_unit_test(test_best_fit_lowest_first),
        cmocka_unit_test(test_best_fit_within_a_class),
        cmocka_unit_test(test_second_step_asks_for_nothing),
        cmocka_unit_test(test_dry_plans_what_real_uses),
        cmocka_unit_test(test_dry_fails_where_real_does),
        cmocka_unit_test(test_grows_by_little_near_the_budget),
        cmocka_unit_test(test_reserve),
        cmocka_unit_test(test_reset_survives_refusal),
        cmocka_unit_test(test_bad_requests),
        cmocka_unit_test(test_many_blocks),
#if defined(__SANITIZE_ADDRESS__)
        cmocka_unit_test(test_free_blocks_are_poisoned),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
