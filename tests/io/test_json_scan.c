/* JSON value after value: the same numbers and texts as a document has, and whatever a document may be is accepted. */
#include "io/json_scan.h"
#include "io_test.h"

static bool scan_number(heed_ctx *cx, const char *text, double *out) {
    struct json_scan s;
    json_scan_begin(cx, &s, "n", text, strlen(text));
    const bool number = json_scan_number(&s, out), done = json_scan_done(&s); /* both, whatever the first says */
    return number && done;
}

static void test_numbers(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    char text[64];
    double value;
    for (uint64_t i = 0; i < 20000; i++) {
        const uint32_t a = heed_random_bits(1, 0, 3 * i), b = heed_random_bits(1, 0, 3 * i + 1);
        const int digits = (int)(heed_random_bits(1, 0, 3 * i + 2) % 18);
        const double number = ((double)a - 0x1p31) / (double)(1 + b % 100000);
        snprintf(text, sizeof text, i % 2 ? "%.*f" : "%.*e", digits, number);
        assert_true(scan_number(cx, text, &value));
        if (value != strtod(text, NULL)) fail_msg("%s: %.17g", text, value);
    }
    static const char *const odd[] = {"9007199254740993", "9007199254740991", "-0", "0.1", "123456789.0123456", "1E5"};
    for (int i = 0; i < 6; i++) {
        assert_true(scan_number(cx, odd[i], &value));
        assert_true(value == strtod(odd[i], NULL) && signbit(value) == signbit(strtod(odd[i], NULL)));
    }
    static const char *const wrong[] = {"01", "1.", ".5", "+1", "-", "1e", "0x1", "1,", "Infinity", "1e999", ""};
    for (int i = 0; i < 11; i++) {
        assert_false(scan_number(cx, wrong[i], &value));
        assert_int_equal(heed_error(cx), HEED_ERR_FORMAT);
        heed_clear(cx);
    }
    close_context(cx);
}

static const char whole[] =
    "{\"a\\u00e9\\ud83d\\ude00\\n\\\"\": [1, -2.5e3, {}, [], [[]], true, false, null], \"b\": {\"c\": "
    "\"t\\\\\", \"d\": [{\"e\": 0}, {\"f\": \"\"}]}, \"\": \"\xC3\xA9\"}";

static void test_walk(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    struct json_scan s;
    int members = 0, items = 0;
    const char *text;
    json_scan_begin(cx, &s, "walk", whole, sizeof whole - 1);
    for (bool more = json_scan_object(&s); more && json_scan_member(&s); members++) {
        if (members == 0) assert_string_equal(s.key, "a\xC3\xA9\xF0\x9F\x98\x80\n\"");
        if (members == 0)
            for (more = json_scan_array(&s); more && json_scan_item(&s); items++) more = json_scan_skip(&s);
        else if (members == 1)
            more = json_scan_skip(&s);
        else
            assert_true(more = json_scan_text(&s, &text) && strcmp(text, "\xC3\xA9") == 0);
    }
    assert_true(json_scan_done(&s));
    assert_int_equal(members, 3);
    assert_int_equal(items, 8);
    /* A long key is none of those that are looked for. */
    char longer[200] = "{\"";
    memset(longer + 2, 'k', 100);
    strcpy(longer + 102, "\": 1}");
    json_scan_begin(cx, &s, "walk", longer, strlen(longer));
    assert_true(json_scan_object(&s) && json_scan_member(&s));
    assert_int_equal(strlen(s.key), JSON_SCAN_KEY - 1);
    assert_int_equal((unsigned char)s.key[JSON_SCAN_KEY - 2], 0xFF);
    assert_true(json_scan_skip(&s) && !json_scan_member(&s) && json_scan_done(&s));
    close_context(cx);
}

static const char *const texts[] = {"\"\\ud800\"", "\"\\udc00\"", "\"\\u0000\"", "\"\\x\"",
                                    "\"\xFF\"",    "\"\n\"",      "\"a"};

static void test_texts(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    for (int i = 0; i < 7; i++) {
        struct json_scan s;
        const char *text;
        json_scan_begin(cx, &s, "t", texts[i], strlen(texts[i]));
        assert_false(json_scan_text(&s, &text));
        json_scan_done(&s);
        assert_int_equal(heed_error(cx), HEED_ERR_FORMAT);
        heed_clear(cx);
    }
    close_context(cx);
}

/* What a document may be is accepted. */
static bool skip_all(heed_ctx *cx, const void *bytes, size_t size) {
    struct json_scan s;
    char *text = heed_mem_new(cx, size + 1);
    if (!text) return false;
    memcpy(text, bytes, size);
    text[size] = 0;
    const heed_json doc = heed_json_parse(cx, "doc", text, size);
    const bool fine = !heed_failed(cx);
    heed_json_free(doc);
    if (heed_error(cx) != HEED_ERR_MEMORY) heed_clear(cx);
    json_scan_begin(cx, &s, "skip", text, size);
    bool ok = json_scan_skip(&s);
    ok = json_scan_done(&s) && ok;
    assert_true(ok || !fine || heed_error(cx) == HEED_ERR_MEMORY);
    heed_mem_free(cx, text);
    return ok;
}

static void test_skip(void **state) {
    (void)state;
    torment(skip_all, whole, sizeof whole - 1, 20000);
    heed_ctx *cx = open_context();
    char deep[400];
    memset(deep, '[', 200);
    memset(deep + 200, ']', 200);
    assert_true(parse_exact(cx, skip_all, deep + 72, 256));
    assert_false(parse_exact(cx, skip_all, deep + 71, 258));
    assert_false(parse_exact(cx, skip_all, "[1,]", 4));
    assert_false(parse_exact(cx, skip_all, "{\"a\":1,}", 8));
    assert_false(parse_exact(cx, skip_all, "[1 2]", 5));
    assert_false(parse_exact(cx, skip_all, "{\"a\" 1}", 7));
    assert_false(parse_exact(cx, skip_all, "[1}", 3));
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_numbers), cmocka_unit_test(test_walk),
                                       cmocka_unit_test(test_texts), cmocka_unit_test(test_skip)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
