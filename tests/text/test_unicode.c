/* UTF-8 there and back, and every character's properties against Python's. */
#include "text/text_test.h"
#include "text/unicode/unicode.h"

/* ---- UTF-8 ---- */

static void test_round_trip(void **state) {
    (void)state;
    for (int32_t c = 0; c < 0x110000; c++) {
        char text[5] = {0};
        const int n = utf8_put(text, c);
        const char *at = text;
        const bool surrogate = c >= 0xD800 && c < 0xE000;
        assert_int_equal(n, c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4);
        assert_int_equal(utf8_next(&at, text + n), surrogate ? -1 : c);
        assert_int_equal(at - text, surrogate ? 1 : n);
        for (int cut = 1; cut < n; cut++) {
            at = text;
            assert_int_equal(utf8_next(&at, text + cut), -1);
            assert_int_equal(at - text, 1);
        }
    }
}

static void test_malformed(void **state) {
    (void)state;
    static const char *const bad[] = {
        "\x80",         "\xBF",         "\xC0\x80",         "\xC1\xBF",         "\xC3",
        "\xC3(",        "\xE0\x80\x80", "\xE0\x9F\xBF",     "\xED\xA0\x80",     "\xE2\x28\xA1",
        "\xE2\x82\x28", "\xE2\x82",     "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80",
        "\xFF",         "\xF0\x9F\x99"};
    heed_ctx *cx = open_context();
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *at = bad[i];
        assert_int_equal(utf8_next(&at, bad[i] + strlen(bad[i])), -1);
        assert_ptr_equal(at, bad[i] + 1);
        char text[16] = "ab\xC3\xA4";
        strcat(text, bad[i]);
        assert_false(utf8_check(cx, "here", text, strlen(text)));
        EXPECT_SENTENCE(cx, "here: byte 5 is not UTF-8");
    }
    const char *empty = "";
    assert_int_equal(utf8_next(&empty, empty), -1);
    assert_true(utf8_check(cx, "here", "", 0));
    assert_true(utf8_check(cx, "here", "a\0b", 3)); /* NUL is a character */
    close_context(cx);
}

/* ---- properties ---- */

/* Marks the characters within a list of spans. */
static bool *marked(heed_ctx *cx, heed_json root, const char *key) {
    bool *set = calloc(0x110000, sizeof *set);
    const heed_json list = heed_json_array(cx, root, key);
    for (heed_json v = heed_json_first(list); v.node; v = heed_json_next(v)) {
        const int64_t last = heed_json_int(cx, heed_json_item(cx, v, 1), NULL);
        for (int64_t c = heed_json_int(cx, heed_json_item(cx, v, 0), NULL); c <= last; c++) set[c] = true;
    }
    assert_true(heed_json_count(list) > 0);
    return set;
}

/* What Python's Unicode has not assigned may have been since. */
static void test_properties(void **state) {
    (void)state;
    static const struct {
        const char *key;
        bool (*holds)(int32_t c);
    } properties[] = {
        {"space", unicode_is_space},
        {"letter", unicode_is_letter},
        {"number", unicode_is_number},
        {"symbol", unicode_is_symbol},
        {"upper", unicode_is_upper},
        {"lower", unicode_is_lower},
        {"punctuation", unicode_is_punctuation},
    };
    heed_ctx *cx = open_context();
    const heed_json root = open_golden(cx, "unicode.json");
    bool *unassigned = marked(cx, root, "unassigned");
    for (size_t i = 0; i < sizeof properties / sizeof *properties; i++) {
        bool *expected = marked(cx, root, properties[i].key);
        for (int32_t c = 0; c < 0x110000; c++)
            if (!unassigned[c] && properties[i].holds(c) != expected[c])
                fail_msg("U+%04X: %s should be %d", (unsigned)c, properties[i].key, expected[c]);
        free(expected);
    }
    free(unassigned);
    heed_json_free(root);
    close_context(cx);
}

static void test_lower(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const heed_json root = open_golden(cx, "unicode.json"), list = heed_json_array(cx, root, "lower_case");
    bool *unassigned = marked(cx, root, "unassigned");
    heed_json v = heed_json_first(list);
    for (int32_t c = 0; c < 0x110000; c++) {
        char out[UTF8_LOWER], expected[12];
        const int n = utf8_put_lower(out, c);
        int size = 0;
        if (v.node && heed_json_int(cx, heed_json_item(cx, v, 0), NULL) == c) {
            for (int i = 1; i < heed_json_count(v); i++)
                size += utf8_put(expected + size, (int32_t)heed_json_int(cx, heed_json_item(cx, v, i), NULL));
            v = heed_json_next(v);
        } else if (unassigned[c]) {
            continue;
        } else {
            size = utf8_put(expected, c);
        }
        if (n != size || memcmp(out, expected, (size_t)n) != 0)
            fail_msg("U+%04X should be %.*s in lower case, not %.*s", (unsigned)c, size, expected, n, out);
    }
    assert_null(v.node);
    free(unassigned);
    heed_json_free(root);
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_malformed),
        cmocka_unit_test(test_properties),
        cmocka_unit_test(test_lower),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
