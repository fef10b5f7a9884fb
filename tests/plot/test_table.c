/* Tables: written, read back by heed's own reader to the same bits. */
#include "heed/io.h"
#include "heed/plot.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../comma_locale.h"
#include "../context.h"
#include "../folder.h"

static char path[300];

static int set_up(void **state) {
    if (open_cx(state) || make_folder(state)) return 1;
    snprintf(path, sizeof path, "%s/t.csv", folder);
    return 0;
}

static int tear_down(void **state) { return close_cx(state) || wipe_folder(state); }

static void expect_file(const char *wanted) {
    char text[1024];
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    fclose(f);
    assert_string_equal(text, wanted);
}

static void written(void **state) {
    (void)state;
    const float f[] = {0.1f, -2, NAN};
    const double d[] = {0.1, 1e-300, -(double)INFINITY};
    const char *const t[] = {"plain", "a \"quote\", and\nmore", NULL};
    assert_true(heed_table_write(
        cx, path, (heed_table_column[]){{"x, y", f, NULL, NULL}, {"d", NULL, d, NULL}, {"t", NULL, NULL, t}}, 3, 3));
    expect_file("\"x, y\",d,t\n0.1,0.1,plain\n-2,1e-300,\"a \"\"quote\"\", and\nmore\"\nnan,-inf,\"\"\n");
    assert_true(heed_table_write(cx, path, (heed_table_column[]){{.name = "alone"}}, 1, 0));
    expect_file("alone\n");
}

static void round_trip(void **state) {
    (void)state;
    enum { N = 4000 };
    static float f[N];
    static double d[N], back[N];
    const float edges[] = {0, -0.0f, FLT_MIN, FLT_MAX, -FLT_MAX, 1e-45f, 16777216, 0.1f, 1 / 3.0f, NAN, INFINITY};
    for (int i = 0; i < N; i++) {
        const uint32_t bits = heed_random_bits(5, 0, (uint64_t)i), more = heed_random_bits(5, 1, (uint64_t)i);
        const uint64_t wide = (uint64_t)bits << 32 | more;
        memcpy(&f[i], &bits, sizeof f[i]);
        memcpy(&d[i], &wide, sizeof d[i]);
    }
    memcpy(f, edges, sizeof edges);
    assert_true(heed_table_write(cx, path, (heed_table_column[]){{"f", f, NULL, NULL}, {"d", NULL, d, NULL}}, 2, N));
    heed_table *t = heed_table_open(cx, path, NULL);
    assert_string_equal(heed_message(cx), "");
    assert_int_equal(heed_table_rows(t), N);
    assert_true(heed_table_numbers(cx, t, heed_table_find(cx, t, "f"), back, N));
    for (int i = 0; i < N; i++)
        assert_true(isnan(f[i]) ? isnan(back[i]) : (float)back[i] == f[i] && !signbit(back[i]) == !signbit(f[i]));
    assert_true(heed_table_numbers(cx, t, heed_table_find(cx, t, "d"), back, N));
    for (int i = 0; i < N; i++) assert_true(isnan(d[i]) ? isnan(back[i]) : back[i] == d[i]);
    heed_table_close(t);
}

static void refuses(bool ok, const char *sentence) {
    assert_false(ok);
    assert_string_equal(heed_message(cx), sentence);
    heed_clear(cx);
    FILE *f = fopen(path, "rb");
    assert_null(f);
}

static void bad_input(void **state) {
    (void)state;
    const float f[] = {1};
    const double d[] = {1};
    const char *const bad[] = {"\xff"};
    refuses(heed_table_write(cx, path, NULL, 1, 1), "table_write: 1 columns of 1 rows: there must be one at least");
    refuses(heed_table_write(cx, path, (heed_table_column[]){{"x", f, NULL, NULL}}, 1, -1),
            "table_write: 1 columns of -1 rows: there must be one at least");
    refuses(heed_table_write(cx, path, (heed_table_column[]){{NULL, f, NULL, NULL}}, 1, 1),
            "table_write: column 0 has no name");
    refuses(heed_table_write(cx, path, (heed_table_column[]){{"x", f, d, NULL}}, 1, 1),
            "table_write: column 'x' has 2 arrays, not one");
    refuses(heed_table_write(cx, path, (heed_table_column[]){{.name = "x"}}, 1, 1),
            "table_write: column 'x' has 0 arrays, not one");
    refuses(heed_table_write(cx, path, (heed_table_column[]){{"x", NULL, NULL, bad}}, 1, 1),
            "table_write: column 'x': '\\xFF' is not UTF-8 at byte 0");
    assert_false(heed_table_write(cx, "/no/such/folder/t.csv", (heed_table_column[]){{"x", f, NULL, NULL}}, 1, 1));
    assert_int_equal(heed_error(cx), HEED_ERR_FILE);
    heed_clear(cx);
    assert_false(heed_table_write(NULL, path, (heed_table_column[]){{"x", f, NULL, NULL}}, 1, 1));
}

/* A decimal comma in the program's locale does not reach the file. */
static void any_locale(void **state) {
    (void)state;
    const float f[] = {0.25f};
    if (!set_comma_locale()) skip();
    const bool ok = heed_table_write(cx, path, (heed_table_column[]){{"x", f, NULL, NULL}}, 1, 1);
    setlocale(LC_ALL, "C");
    assert_true(ok);
    expect_file("x\n0.25\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {TEST(written), TEST(round_trip), TEST(bad_input), TEST(any_locale)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
