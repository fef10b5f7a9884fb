/* Option tables of any length, and what may be given several times. */

#include "cli/core/options.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static char said[512];

int cli_error(int status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(said, sizeof said, format, args);
    va_end(args);
    return status;
}

enum { MANY = 200 };
static char names[MANY][24];
static heed_field many[MANY + 1];

static void name_many(void) {
    for (int i = 0; i < MANY; i++) {
        snprintf(names[i], sizeof names[i], "option-%d", i);
        many[i] = (heed_field){.name = names[i], .kind = HEED_FIELD_INT, .standard = "3", .value = "N", .help = ""};
    }
}

static struct options *read_words(const heed_field *table, int n, const char *const *words) {
    char *argv[16] = {"command"};
    for (int i = 0; i < n; i++) argv[i + 1] = (char *)(uintptr_t)words[i];
    said[0] = 0;
    return options_read("command", table, n + 1, argv, 0, 0, "");
}

/* None is dropped, neither the last of the table nor the common ones behind it. */
static void test_many(void **state) {
    (void)state;
    name_many();
    struct options *o = read_words(many, 5, (const char *[]){"--option-199", "7", "--seed=5", "--help", "-q"});
    assert_non_null(o);
    assert_int_equal(option_int(o, "option-199"), 7);
    assert_int_equal(option_int(o, "option-198"), 3);
    assert_int_equal(option_int(o, "seed"), 5);
    assert_true(option_flag(o, "help"));
    assert_true(option_flag(o, "quiet"));
    options_free(o);
    assert_null(read_words(many, 1, (const char *[]){"--hepl"}));
    assert_string_equal(said, "command: unknown option --hepl, did you mean --help?");
}

static void test_repeated(void **state) {
    (void)state;
    static const heed_field table[] = {{.name = "more", .kind = HEED_FIELD_FILES, .value = "PATH"},
                                       {.name = "set", .kind = HEED_FIELD_LIST, .value = "TEXT"},
                                       {.name = NULL}};
    struct options *o = read_words(table, 5, (const char *[]){"--more", "a", "--set=x", "--more", "b"});
    const char *const *values;
    assert_non_null(o);
    assert_int_equal(option_list(o, "more", &values), 2);
    assert_string_equal(values[0], "a");
    assert_string_equal(values[1], "b");
    assert_int_equal(option_list(o, "set", &values), 1);
    options_free(o);
}

/* A row of the table replaces the inserted one of its name, in that one's place. */
static void test_inserted(void **state) {
    (void)state;
    static const heed_field shared[] = {{.name = "training", .kind = HEED_FIELD_GROUP},
                                        {.name = "epochs", .kind = HEED_FIELD_INT, .standard = "10", .value = "N"},
                                        {.name = "batch", .kind = HEED_FIELD_INT, .standard = "32", .value = "N"},
                                        {.name = NULL}},
                            table[] = {{.name = "data", .kind = HEED_FIELD_FILE, .value = "PATH"},
                                       {.name = "shared", .kind = HEED_FIELD_TABLE, .table = shared},
                                       {.name = "epochs", .kind = HEED_FIELD_INT, .standard = "30", .value = "N"},
                                       {.name = "last"},
                                       {.name = NULL}};
    const heed_field *const rows[] = {&table[0], &shared[0], &table[2], &shared[2], &table[3]};
    for (int i = 0; i < 5; i++) assert_ptr_equal(heed_field_row(table, i), rows[i]);
    assert_null(heed_field_row(table, 5));
    assert_null(heed_field_row(NULL, 0));
    struct options *o = read_words(table, 2, (const char *[]){"--batch", "7"});
    assert_non_null(o);
    assert_int_equal(option_int(o, "epochs"), 30);
    assert_int_equal(option_int(o, "batch"), 7);
    assert_false(option_flag(o, "last"));
    options_free(o);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_many), cmocka_unit_test(test_repeated),
                                       cmocka_unit_test(test_inserted)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
