/* The profile: names, counts, and time that is counted once. */
#include "base/profile.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void spend(int64_t nanoseconds) {
    const int64_t began = clock_nanoseconds();
    while (clock_nanoseconds() - began < nanoseconds) continue;
}

static const struct profile_line *line_of(const heed_ctx *cx, const char *name) {
    const struct profile_line *lines;
    const int n = profile_lines(cx, &lines);
    for (int i = 0; i < n; i++)
        if (strcmp(lines[i].name, name) == 0) return &lines[i];
    return NULL;
}

enum { OUTER = 2000000, INNER = 20000000 };

/* Work within work is the inner one's alone; all lines together are the time that passed. */
static void test_nested(void **state) {
    (void)state;
    heed_ctx *cx = heed_open(&(heed_config){.threads = 1});
    assert_true(profile_set(cx, true));
    const int64_t began = clock_nanoseconds();
    const struct profile_mark outer = profile_begin(cx);
    spend(OUTER);
    for (int i = 0; i < 2; i++) {
        const struct profile_mark inner = profile_begin(cx);
        spend(INNER);
        profile_end(cx, inner, "inner", i ? PROFILE_BACKWARD : PROFILE_FORWARD);
    }
    profile_end(cx, outer, "outer", PROFILE_FORWARD);
    const int64_t passed = clock_nanoseconds() - began;
    const struct profile_line *x = line_of(cx, "outer"), *y = line_of(cx, "inner");
    assert_non_null(x);
    assert_non_null(y);
    assert_int_equal(x->count[PROFILE_FORWARD], 1);
    assert_int_equal(x->count[PROFILE_BACKWARD], 0);
    assert_int_equal(y->count[PROFILE_FORWARD], 1);
    assert_int_equal(y->count[PROFILE_BACKWARD], 1);
    const int64_t own = x->nanoseconds[0], within = y->nanoseconds[0] + y->nanoseconds[1];
    assert_true(own >= OUTER && within >= 2 * INNER);
    assert_true(own + within <= passed); /* nothing is counted twice */
    heed_close(cx);
}

/* The same text at another address is the same line. */
static void test_names(void **state) {
    (void)state;
    heed_ctx *cx = heed_open(&(heed_config){.threads = 1});
    const struct profile_line *lines;
    char copy[] = "work";
    const struct profile_mark before = profile_begin(cx);
    assert_int_equal(profile_lines(cx, &lines), 0);
    assert_true(profile_set(cx, true));
    profile_end(cx, before, "work", PROFILE_FORWARD); /* began while it was off */
    assert_int_equal(profile_lines(cx, &lines), 0);
    profile_end(cx, profile_begin(cx), "work", PROFILE_FORWARD);
    profile_end(cx, profile_begin(cx), copy, PROFILE_FORWARD);
    assert_int_equal(profile_lines(cx, &lines), 1);
    assert_int_equal(lines[0].count[0], 2);
    assert_true(profile_set(cx, true));
    assert_int_equal(profile_lines(cx, &lines), 0);
    assert_true(profile_set(cx, false));
    heed_close(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_nested), cmocka_unit_test(test_names)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
