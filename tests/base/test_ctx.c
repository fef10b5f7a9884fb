/* The context: opening, sticky errors, callbacks, clearing. */
#include "base/arena.h"
#include "base/ctx.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../comma_locale.h"
#include "counting.h"

static void test_defaults(void **state) {
    (void)state;
    heed_ctx *cx = heed_open(NULL);
    assert_non_null(cx);
    assert_false(heed_failed(cx));
    assert_int_equal(heed_error(cx), HEED_OK);
    assert_string_equal(heed_message(cx), "");
    assert_int_equal(heed_threads(cx), heed_threads_available());
    assert_int_equal(heed_seed(cx), 0);
    heed_set_seed(cx, 7);
    assert_int_equal(heed_seed(cx), 7);
    heed_close(cx);
    assert_string_equal(heed_version(), "0.1.0");
}

static void test_null_context(void **state) {
    (void)state;
    assert_true(heed_failed(NULL));
    assert_int_equal(heed_error(NULL), HEED_ERR_USAGE);
    assert_string_equal(heed_message(NULL), "there is no context");
    assert_false(heed_fail(NULL, HEED_ERR_SHAPE, "x"));
    assert_true(heed_cancelled(NULL));
    assert_int_equal(heed_threads(NULL), 0);
    assert_int_equal(heed_seed(NULL), 0);
    assert_int_equal(heed_memory_use(NULL).held, 0);
    assert_null(heed_mem_new(NULL, 1));
    assert_null(heed_mem_resize(NULL, NULL, 1));
    heed_mem_free(NULL, NULL);
    heed_memory_reset_peak(NULL);
    heed_set_seed(NULL, 1);
    heed_clear(NULL);
    heed_note(NULL, HEED_LOG_WARN, "x");
    heed_progress(NULL, "x", 0, 0);
    heed_parallel(NULL, 1, NULL, NULL);
    assert_null(arena_take(NULL, 1));
    arena_give(NULL, NULL);
    arena_reset(NULL);
    heed_close(NULL);
}

static void test_first_error_sticks(void **state) {
    (void)state;
    heed_ctx *cx = heed_open(&(heed_config){.threads = 1});
    assert_false(heed_fail(cx, HEED_ERR_SHAPE, "matmul: (%d,%d)", 4, 8));
    assert_false(heed_fail(cx, HEED_ERR_FILE, "later"));
    assert_int_equal(heed_error(cx), HEED_ERR_SHAPE);
    assert_string_equal(heed_message(cx), "matmul: (4,8)");
    assert_null(heed_mem_new(cx, 8));
    assert_null(arena_take(cx, 8));
    assert_true(heed_cancelled(cx));
    heed_clear(cx);
    assert_false(heed_failed(cx));
    assert_string_equal(heed_message(cx), "");
    assert_false(heed_fail(cx, HEED_OK, "ok is no error"));
    assert_int_equal(heed_error(cx), HEED_ERR_USAGE);
    heed_close(cx);
}

/* The place is added to the first error, whatever the step under way; memory and cancellation have no place. */
static void test_place_of_an_error(void **state) {
    (void)state;
    heed_ctx *cx = heed_open(&(heed_config){.threads = 1});
    assert_false(heed_fail_in(NULL, "line %d", 1));
    assert_false(heed_fail_in(cx, "line %d", 1));
    assert_false(heed_failed(cx));
    assert_non_null(arena_take(cx, 8));
    const size_t held = heed_memory_use(cx).step;
    heed_fail(cx, HEED_ERR_RANGE, "encode: no token");
    assert_false(heed_fail_in(cx, "line %d", 7));
    assert_false(heed_fail_in(cx, "%s", "a.txt"));
    assert_int_equal(heed_error(cx), HEED_ERR_RANGE);
    assert_string_equal(heed_message(cx), "a.txt: line 7: encode: no token");
    assert_int_equal(heed_memory_use(cx).step, held);
    char text[2000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = 0;
    heed_fail_in(cx, "%s", text);
    assert_int_equal(strlen(heed_message(cx)), sizeof cx->message - 1);
    assert_string_equal(heed_message(cx) + sizeof cx->message - 4, "...");
    static const heed_status placeless[] = {HEED_ERR_MEMORY, HEED_ERR_BUDGET, HEED_ERR_CANCELLED};
    for (int i = 0; i < 3; i++) {
        heed_clear(cx);
        heed_fail(cx, placeless[i], "as it is");
        assert_false(heed_fail_in(cx, "line %d", 7));
        assert_string_equal(heed_message(cx), "as it is");
    }
    heed_close(cx);
}

static void test_long_message(void **state) {
    (void)state;
    heed_ctx *cx = heed_open(&(heed_config){.threads = 1});
    /* Two-byte characters at even and odd offsets: never half of one before the dots. */
    for (size_t shift = 0; shift < 2; shift++) {
        char text[4096];
        memset(text, 'x', sizeof text);
        for (size_t i = shift; i + 1 < sizeof text; i += 2) memcpy(text + i, "\xC3\xA9", 2);
        text[sizeof text - 1] = '\0';
        heed_fail(cx, HEED_ERR_USAGE, "%s", text);
        const char *message = heed_message(cx);
        const size_t length = strlen(message);
        assert_in_range(length, 1020, 1023);
        assert_string_equal(message + length - 3, "...");
        assert_int_equal((unsigned char)message[length - 4], 0xA9);
        heed_clear(cx);
    }
    char exact[1024];
    memset(exact, 'y', sizeof exact);
    exact[1023] = '\0';
    heed_fail(cx, HEED_ERR_USAGE, "%s", exact);
    assert_string_equal(heed_message(cx), exact);
    heed_close(cx);
}

/* Whatever text of files a sentence quotes, and in whatever locale, it is one printable line. */
static void test_printable_message(void **state) {
    (void)state;
    static const struct {
        const char *text, *sentence;
    } cases[] = {
        {"a\nb\r\t", "f: 'a\\nb\\r\\t'"},
        {"\x1B[31mred\x07", "f: '\\x1B[31mred\\a'"},
        {"\x01\x7F", "f: '\\x01\\x7F'"},
        {"\xC2\x9B", "f: '\\u009B'"},                        /* a C1 control */
        {"\xE2\x80\xA8\xE2\x80\xAE", "f: '\\u2028\\u202E'"}, /* a line separator; from right to left */
        {"\xFF\xC3", "f: '\\xFF\\xC3'"},                     /* not UTF-8 */
        {"\xC3\xA9\xF0\x9F\x98\x80\xC2\xA0", "f: '\xC3\xA9\xF0\x9F\x98\x80\xC2\xA0'"},
        {"back\\slash", "f: 'back\\slash'"},
    };
    heed_ctx *cx = heed_open(&(heed_config){.threads = 1});
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        heed_fail(cx, HEED_ERR_FORMAT, "f: '%s'", cases[i].text);
        assert_string_equal(heed_message(cx), cases[i].sentence);
        heed_clear(cx);
    }
    char text[600]; /* escaped, it is longer than a sentence may be */
    memset(text, '\n', sizeof text);
    text[599] = 0;
    heed_fail(cx, HEED_ERR_FORMAT, "%s", text);
    assert_in_range(strlen(heed_message(cx)), 1020, 1023);
    assert_null(strchr(heed_message(cx), '\n'));
    assert_string_equal(heed_message(cx) + strlen(heed_message(cx)) - 5, "\\n...");
    heed_clear(cx);
    if (set_comma_locale()) {
        heed_fail(cx, HEED_ERR_RANGE, "%g is not between %g and 1", 1.5, 0.25);
        assert_string_equal(heed_message(cx), "1.5 is not between 0.25 and 1");
        char own[8];
        snprintf(own, sizeof own, "%g", 1.5);
        assert_string_equal(own, "1,5"); /* the host's locale is as it was */
        setlocale(LC_ALL, "C");
    }
    heed_close(cx);
}

static void test_bad_threads(void **state) {
    (void)state;
    const int bad[] = {-1, 1025, INT32_MIN, INT32_MAX};
    for (size_t i = 0; i < 4; i++) {
        heed_ctx *cx = heed_open(&(heed_config){.threads = bad[i]});
        assert_non_null(cx);
        assert_int_equal(heed_error(cx), HEED_ERR_USAGE);
        assert_non_null(strstr(heed_message(cx), "threads"));
        assert_null(arena_take(cx, 1));
        heed_clear(cx);
        assert_false(heed_failed(cx));
        assert_int_equal(heed_threads(cx), heed_threads_available());
        void *block = arena_take(cx, 100);
        assert_non_null(block);
        arena_give(cx, block);
        heed_close(cx);
    }
    heed_ctx *cx = heed_open(&(heed_config){.threads = -5}); /* closed without being cleared */
    heed_close(cx);
}

static void test_budget_too_small_to_open(void **state) {
    (void)state;
    heed_ctx *cx = heed_open(&(heed_config){.threads = 1, .byte_budget = 1});
    assert_int_equal(heed_error(cx), HEED_ERR_BUDGET);
    assert_non_null(strstr(heed_message(cx), "budget of 1 bytes"));
    heed_clear(cx); /* it is too small still, and the context says so */
    assert_int_equal(heed_error(cx), HEED_ERR_BUDGET);
    heed_close(cx);
}

struct heard {
    char sentence[2048], what[64];
    heed_log_level level;
    int64_t done, total;
    int asked;
    bool stop;
};
static void hear_log(void *user, heed_log_level level, const char *sentence) {
    struct heard *h = user;
    h->level = level;
    snprintf(h->sentence, sizeof h->sentence, "%s", sentence);
}
static void hear_progress(void *user, const char *what, int64_t done, int64_t total) {
    struct heard *h = user;
    snprintf(h->what, sizeof h->what, "%s", what);
    h->done = done;
    h->total = total;
}
static bool hear_cancel(void *user) {
    struct heard *h = user;
    h->asked++;
    return h->stop;
}

static void test_callbacks(void **state) {
    (void)state;
    struct heard h = {0};
    heed_ctx *cx = heed_open(
        &(heed_config){.threads = 1, .log = hear_log, .progress = hear_progress, .cancel = hear_cancel, .user = &h});
    heed_note(cx, HEED_LOG_WARN, "%d apples", 3);
    assert_string_equal(h.sentence, "3 apples");
    assert_int_equal(h.level, HEED_LOG_WARN);
    heed_progress(cx, "steps", 3, 10);
    assert_string_equal(h.what, "steps");
    assert_int_equal(h.done, 3);
    assert_int_equal(h.total, 10);
    assert_false(heed_cancelled(cx));
    h.stop = true;
    assert_true(heed_cancelled(cx));
    assert_int_equal(heed_error(cx), HEED_ERR_CANCELLED);
    assert_int_equal(h.asked, 2);
    assert_true(heed_cancelled(cx)); /* a failed context stops without asking again */
    assert_int_equal(h.asked, 2);
    heed_progress(cx, "later", 9, 10);
    assert_string_equal(h.what, "steps");
    heed_close(cx);
}

static int cleared, closed;
static void note_clear(heed_ctx *cx) {
    (void)cx;
    cleared++;
}
static void note_close(heed_ctx *cx) {
    heed_mem_free(cx, cx->engine);
    closed++;
}

static void test_engine_hooks(void **state) {
    (void)state;
    heed_ctx *cx = heed_open(&(heed_config){.threads = 1});
    cx->engine = heed_mem_new(cx, 10);
    cx->engine_clear = note_clear;
    cx->engine_close = note_close;
    assert_non_null(arena_take(cx, 1000));
    heed_fail(cx, HEED_ERR_USAGE, "x");
    heed_clear(cx);
    assert_int_equal(cleared, 1);
    assert_int_equal(heed_memory_use(cx).step, 0);
    heed_close(cx);
    assert_int_equal(closed, 1);
}

/* Refuse the N-th request of opening and a little work, for every N, until all goes through. */
static void test_refusal_sweep(void **state) {
    (void)state;
    bool done = false;
    for (int64_t n = 1; !done; n++) {
        assert_in_range(n, 1, 1000);
        struct counting c = {.fail_at = n};
        heed_ctx *cx = heed_open(&(heed_config){.threads = 2, .alloc = counting_alloc, .user = &c});
        if (cx) {
            void *blocks[300];
            int taken = 0;
            for (int i = 0; i < 300; i++) taken += (blocks[i] = arena_take(cx, (size_t)i * 100000 % 777777)) != NULL;
            for (int i = 0; i < 300; i += 2) arena_give(cx, blocks[i]);
            done = c.requests < n;
            assert_int_equal(heed_failed(cx), taken < 300);
            if (heed_failed(cx)) assert_int_equal(heed_error(cx), HEED_ERR_MEMORY);
            heed_clear(cx); /* only the one request was refused: all works again */
            assert_false(heed_failed(cx));
            assert_non_null(arena_take(cx, 5 << 20));
            heed_close(cx);
        } else {
            assert_int_equal(n, 1);
        }
        assert_int_equal(c.blocks, 0);
        assert_int_equal(c.live, 0);
        assert_int_equal(c.mistakes, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),           cmocka_unit_test(test_null_context),
        cmocka_unit_test(test_first_error_sticks), cmocka_unit_test(test_long_message),
        cmocka_unit_test(test_bad_threads),        cmocka_unit_test(test_budget_too_small_to_open),
        cmocka_unit_test(test_callbacks),          cmocka_unit_test(test_engine_hooks),
        cmocka_unit_test(test_refusal_sweep),      cmocka_unit_test(test_place_of_an_error),
        cmocka_unit_test(test_printable_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
