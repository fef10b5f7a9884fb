/* The Moses way: equal to sacremoses on texts of ours in every language and, where HEED_DATA is set, on every line of
 * Multi30k; refusals; hostile bytes; lines without end. */
#include "given.h"
#include "text/text_test.h"

#include <time.h>
#include <zlib.h>

static const char *const languages[] = {"en", "de", "fr"};

/* What the oracle calls a treatment. */
static bool treat(heed_ctx *cx, const char *treatment, const char *language, const char *text, size_t size,
                  heed_string *to) {
    const bool all = strcmp(treatment, "all") == 0, escaped = strcmp(treatment, "escaped") == 0;
    if (strcmp(treatment, "detokenised") == 0) return heed_moses_detokenise(cx, text, size, language, to);
    if (strcmp(treatment, "back") == 0) {
        heed_string tokens = {0};
        const bool ok = treat(cx, "all", language, text, size, &tokens) &&
                        heed_moses_detokenise(cx, tokens.s, tokens.size, language, to);
        heed_string_free(cx, &tokens);
        return ok;
    }
    const heed_moses_opts opts = {.language = language,
                                  .lower = all,
                                  .normalise = all || strcmp(treatment, "normalised") == 0,
                                  .tokenise = all || escaped || strcmp(treatment, "tokenised") == 0,
                                  .escape = all || escaped};
    return heed_moses(cx, text, size, &opts, to);
}

static void expect(heed_ctx *cx, const char *treatment, const char *language, const char *text, const char *wanted) {
    heed_string found = {0};
    assert_true(treat(cx, treatment, language, text, strlen(text), &found));
    if (strcmp(found.s, wanted) != 0 || strlen(wanted) != found.size)
        fail_msg("%s %s of '%s'\nfound  '%s'\nwanted '%s'", language, treatment, text, found.s, wanted);
    heed_string_free(cx, &found);
}

static void test_golden(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const heed_json doc = open_golden(cx, "moses.json"), cases = heed_json_array(cx, doc, "cases");
    assert_true(heed_json_count(cases) >= 38);
    for (heed_json c = heed_json_first(cases); heed_json_kind_of(c) != HEED_JSON_NONE; c = heed_json_next(c)) {
        const char *text = heed_json_text(cx, c, "text");
        heed_string lower = {0};
        assert_true(heed_moses(cx, text, strlen(text), &(heed_moses_opts){.language = "en", .lower = true}, &lower));
        assert_string_equal(lower.s, heed_json_text(cx, c, "lower"));
        heed_string_free(cx, &lower);
        for (int l = 0; l < 3; l++) {
            const heed_json wanted = heed_json_object(cx, c, languages[l]);
            assert_int_equal(heed_json_count(wanted), 6);
            for (heed_json w = heed_json_first(wanted); heed_json_kind_of(w) != HEED_JSON_NONE; w = heed_json_next(w))
                expect(cx, heed_json_key(w), languages[l], text, heed_json_text(cx, w, NULL));
        }
    }
    heed_json_free(doc);
    close_context(cx);
}

static void test_opts(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const char text[] = "  “IT’S  Mr. X.”  ";
    const struct {
        bool normalise, tokenise, lower, escape;
        const char *wanted;
    } cases[] = {
        {false, false, false, false, "  “IT’S  Mr. X.”  "},
        {false, false, true, false, "  “it’s  mr. x.”  "},
        {false, false, false, true, "  “IT’S  Mr. X.”  "}, /* only tokenising escapes */
        {true, false, false, false, "\"IT'S Mr. X.\""},
        {true, true, false, false, "\" IT 'S Mr. X. \""},
        {true, true, true, false, "\" it 's mr. x . \""}, /* "mr" is no abbreviation, but a lower-case word follows */
        {true, true, true, true, "&quot; it &apos;s mr. x . &quot;"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        heed_string to = {0};
        assert_true(heed_string_put(cx, &to, ">", 1));
        const heed_moses_opts opts = {"en", cases[i].normalise, cases[i].tokenise, cases[i].lower, cases[i].escape};
        assert_true(heed_moses(cx, text, sizeof text - 1, &opts, &to));
        assert_int_equal(to.s[0], '>'); /* it adds */
        assert_string_equal(to.s + 1, cases[i].wanted);
        heed_string_free(cx, &to);
    }
    heed_string to = {0};
    assert_true(heed_moses(cx, NULL, 0, &(heed_moses_opts){"de", true, true, true, true}, &to));
    assert_string_equal(to.s, "");
    assert_true(heed_moses_detokenise(cx, NULL, 0, "de", &to));
    assert_int_equal(to.size, 0);
    assert_true(heed_moses(cx, "a\0b ,\0 c", 8, &(heed_moses_opts){"de", true, true, false, false}, &to));
    assert_string_equal(to.s, "ab , c"); /* control characters go, NUL too */
    heed_string_free(cx, &to);
    close_context(cx);
}

static void test_refusals(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_string to = {0};
    const heed_moses_opts en = {.language = "en", .tokenise = true}, none = {0}, it = {.language = "it"};
    assert_true(heed_string_put(cx, &to, "kept", 4));
    assert_false(heed_moses(cx, "a", 1, NULL, &to));
    EXPECT_SENTENCE(cx, "moses: opts is NULL");
    assert_false(heed_moses(cx, "a", 1, &none, &to));
    EXPECT_SENTENCE(cx, "moses: language '' is none of en, de, fr");
    assert_false(heed_moses(cx, "a", 1, &it, &to));
    EXPECT_SENTENCE(cx, "moses: language 'it' is none of en, de, fr");
    assert_false(heed_moses_detokenise(cx, "a", 1, "english", &to));
    EXPECT_SENTENCE(cx, "moses: language 'english' is none");
    assert_false(heed_moses(cx, NULL, 1, &en, &to));
    EXPECT_SENTENCE(cx, "NULL");
    assert_false(heed_moses(cx, "a", 1, &en, NULL));
    EXPECT_SENTENCE(cx, "NULL");
    assert_false(heed_moses_detokenise(cx, "a", 1, "en", NULL));
    EXPECT_SENTENCE(cx, "NULL");
    assert_false(heed_moses(cx, "ab\xFF", 3, &en, &to));
    EXPECT_SENTENCE(cx, "moses: byte 3 is not UTF-8");
    assert_false(heed_moses_detokenise(cx, "\xC3", 1, "en", &to));
    EXPECT_SENTENCE(cx, "moses: byte 1 is not UTF-8");
    assert_false(heed_moses(NULL, "a", 1, &en, &to));
    assert_string_equal(to.s, "kept");
    heed_string_free(cx, &to);
    close_context(cx);
}

/* All treatments in all languages; what is tokenised must be words with one blank between them. */
static bool look(heed_ctx *cx, const void *bytes, size_t size) {
    static const char *const treatments[] = {"normalised", "tokenised", "escaped", "all", "detokenised", "back"};
    bool ok = true;
    for (int l = 0; l < 3; l++)
        for (int t = 0; t < 6; t++) {
            heed_string to = {0};
            ok = treat(cx, treatments[t], languages[l], bytes, size, &to) && ok;
            if (ok && t >= 1 && t <= 3) {
                assert_null(strstr(to.s, "  "));
                assert_true(to.size == 0 || (to.s[0] != ' ' && to.s[to.size - 1] != ' '));
                assert_int_equal(strlen(to.s), to.size);
            }
            heed_string_free(cx, &to);
        }
    return ok;
}

static const char sample[] = "“Mr. Müller’s” (5 % , «\u00A0x\u00A0») ... 1\u00A02\u00A03, a.\" b ΑΣ Σ' U.S. no. 7.'";

static void test_hostile(void **state) {
    (void)state;
    torment(look, sample, sizeof sample - 1, 1000);
}

/* A line of very many of anything takes time in proportion. */
static void test_long(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    static const char *const units[] = {".",       "'",  "\"",  "' ", "\" ", "\"' `' ", ",",     "a.\" ",
                                        "1\u00A0", "Σ.", "a. ", "(",  " ",   "&amp;",   "\u0301"};
    const size_t times = 30000;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        const size_t n = strlen(units[i]);
        char *text = malloc(n * times);
        for (size_t k = 0; k < times; k++) memcpy(text + k * n, units[i], n);
        const clock_t before = clock();
        assert_true(look(cx, text, n * times));
        if (clock() - before > 5 * CLOCKS_PER_SEC) fail_msg("'%s' many times takes too long", units[i]);
        free(text);
    }
    close_context(cx);
}

static void test_multi30k(void **state) {
    (void)state;
    const char *const data = given("multi30k");
    heed_ctx *cx = open_context();
    const heed_json files = open_golden(cx, "moses_multi30k.json");
    for (heed_json f = heed_json_first(files); heed_json_kind_of(f) != HEED_JSON_NONE; f = heed_json_next(f)) {
        const char *name = heed_json_key(f);
        const char language[] = {name[strlen(name) - 5], name[strlen(name) - 4], 0}; /* NAME.en.gz */
        char path[1024];
        heed_lines lines;
        snprintf(path, sizeof path, "%s/multi30k/%s", data, name);
        if (!heed_lines_read(cx, path, &lines)) fail_msg("%s", heed_message(cx));
        for (heed_json w = heed_json_first(f); heed_json_kind_of(w) != HEED_JSON_NONE; w = heed_json_next(w)) {
            unsigned long sum = 0;
            heed_string to = {0};
            for (int64_t i = 0; i < lines.count; i++) {
                to.size = 0;
                assert_true(
                    treat(cx, heed_json_key(w), language, heed_line_text(&lines, i), heed_line_size(&lines, i), &to));
                assert_true(heed_string_put(cx, &to, "\n", 1));
                sum = crc32(sum, (const unsigned char *)to.s, (unsigned)to.size);
            }
            if ((int64_t)sum != heed_json_int(cx, w, NULL)) fail_msg("%s: %s differs", name, heed_json_key(w));
            heed_string_free(cx, &to);
        }
        heed_lines_free(cx, &lines);
    }
    heed_json_free(files);
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),  cmocka_unit_test(test_opts), cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_hostile), cmocka_unit_test(test_long), cmocka_unit_test(test_multi30k),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
