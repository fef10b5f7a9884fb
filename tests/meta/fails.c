/* Tests that fail on purpose: meta/runner demands that the runner notices. `fails assertion|nan|crash|skip|none` */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void passes(void **state) { (void)state; }

static void says_skipped(void **state) {
    (void)state;
    print_message("skipped: for a reason\n");
    skip();
}

static void fails_assertion(void **state) {
    (void)state;
    assert_int_equal(1, 2);
}

/* The form in which heed's tests compare: a NaN is a failure. */
static void fails_nan(void **state) {
    (void)state;
    const float error = NAN;
    if (!(error <= 1e-5f)) fail_msg("the error is %g", (double)error);
}

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "none";
    if (strcmp(how, "crash") == 0) abort();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(passes),
        strcmp(how, "assertion") == 0 ? (struct CMUnitTest)cmocka_unit_test(fails_assertion)
        : strcmp(how, "skip") == 0    ? (struct CMUnitTest)cmocka_unit_test(says_skipped)
        : strcmp(how, "nan") == 0     ? (struct CMUnitTest)cmocka_unit_test(fails_nan)
                                      : (struct CMUnitTest)cmocka_unit_test(passes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
