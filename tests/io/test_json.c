/* JSON: what is read, what is refused and in which words, what is written. */
#include "../comma_locale.h"
#include "io_test.h"

#include "io/limits.h"
#include <jansson.h>
#include <sys/stat.h>

static heed_json parse(heed_ctx *cx, const char *text) { return heed_json_parse(cx, "c.json", text, strlen(text)); }

#define REFUSED(text, part)                                                                                            \
    do {                                                                                                               \
        assert_int_equal(heed_json_kind_of(parse(cx, text)), HEED_JSON_NONE);                                          \
        EXPECT_SENTENCE(cx, part);                                                                                     \
    } while (0)

static const char sample[] =
    "{\"hidden\": 768, \"eps\": 1e-12, \"name\": \"b\\u00e9rt \\\"x\\\"\", \"tied\": true, "
    "\"none\": null,\n \"rope\": {\"factor\": 8.5, \"deep\": [1, [2, {\"x\": \"y\"}], false]}}";

static void test_getters(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const heed_json j = parse(cx, sample);
    assert_int_equal(heed_json_kind_of(j), HEED_JSON_OBJECT);
    assert_int_equal(heed_json_count(j), 6);
    assert_int_equal(heed_json_int(cx, j, "hidden"), 768);
    assert_true(heed_json_number(cx, j, "hidden") == 768.0);
    assert_true(heed_json_number(cx, j, "eps") == 1e-12);
    assert_string_equal(heed_json_text(cx, j, "name"), "b\xC3\xA9rt \"x\"");
    assert_true(heed_json_bool(cx, j, "tied"));
    const heed_json rope = heed_json_object(cx, j, "rope"), deep = heed_json_array(cx, rope, "deep");
    assert_true(heed_json_number(cx, rope, "factor") == 8.5);
    assert_int_equal(heed_json_int(cx, heed_json_item(cx, deep, 0), NULL), 1);
    assert_false(heed_json_bool(cx, heed_json_item(cx, deep, 2), NULL));

    assert_int_equal(heed_json_int_or(cx, j, "hidden", 1), 768);
    assert_int_equal(heed_json_int_or(cx, j, "none", 7), 7);
    assert_int_equal(heed_json_int_or(cx, j, "absent", -7), -7);
    assert_true(heed_json_number_or(cx, j, "absent", 0.5) == 0.5);
    assert_true(heed_json_bool_or(cx, j, "absent", true));
    assert_string_equal(heed_json_text_or(cx, j, "absent", "x"), "x");
    assert_int_equal(heed_json_kind_of(heed_json_find(cx, j, "absent")), HEED_JSON_NONE);
    assert_int_equal(heed_json_kind_of(heed_json_find(cx, j, "none")), HEED_JSON_NULL);
    assert_false(heed_failed(cx));
    heed_json_free(rope);
    close_context(cx);
}

static void test_order(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const char *keys[] = {"hidden", "eps", "name", "tied", "none", "rope"};
    const heed_json j = parse(cx, sample);
    int n = 0;
    for (heed_json v = heed_json_first(j); heed_json_kind_of(v) != HEED_JSON_NONE; v = heed_json_next(v))
        assert_string_equal(heed_json_key(v), keys[n++]);
    assert_int_equal(n, 6);
    n = 0;
    const heed_json deep = heed_json_array(cx, heed_json_object(cx, j, "rope"), "deep");
    for (heed_json v = heed_json_first(deep); heed_json_kind_of(v) != HEED_JSON_NONE; v = heed_json_next(v)) {
        assert_int_equal(v.index, n++);
        assert_null(heed_json_key(v));
    }
    assert_int_equal(n, 3);
    assert_int_equal(heed_json_kind_of(heed_json_first(heed_json_find(cx, j, "hidden"))), HEED_JSON_NONE);
    assert_int_equal(heed_json_kind_of(heed_json_next(j)), HEED_JSON_NONE);
    assert_int_equal(heed_json_count(heed_json_find(cx, j, "hidden")), 0);
    heed_json_free(j);
    close_context(cx);
}

static void test_wrong_kinds(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const heed_json j = parse(cx, sample);
    const heed_json rope = heed_json_object(cx, j, "rope"), deep = heed_json_array(cx, rope, "deep");
    assert_int_equal(heed_json_int(cx, j, "name"), 0);
    EXPECT_SENTENCE(cx, "c.json: name: expected an integer, found a string");
    heed_json_int(cx, j, "eps");
    EXPECT_SENTENCE(cx, "c.json: eps: expected an integer, found a number");
    heed_json_number(cx, j, "none");
    EXPECT_SENTENCE(cx, "c.json: none: expected a number, found null");
    heed_json_bool(cx, j, "rope");
    EXPECT_SENTENCE(cx, "c.json: rope: expected true or false, found an object");
    assert_null(heed_json_text(cx, rope, "deep"));
    EXPECT_SENTENCE(cx, "c.json: rope.deep: expected a string, found an array");
    heed_json_int(cx, rope, "width");
    EXPECT_SENTENCE(cx, "c.json: rope.width: missing");
    heed_json_int(cx, heed_json_item(cx, heed_json_item(cx, deep, 1), 1), "x");
    EXPECT_SENTENCE(cx, "c.json: rope.deep[1][1].x: expected an integer, found a string");
    heed_json_int(cx, heed_json_item(cx, deep, 2), NULL);
    EXPECT_SENTENCE(cx, "c.json: rope.deep[2]: expected an integer, found true or false");
    heed_json_item(cx, deep, 3);
    EXPECT_SENTENCE(cx, "c.json: rope.deep: no item 3 among 3");
    heed_json_item(cx, deep, -1);
    EXPECT_SENTENCE(cx, "no item -1");
    heed_json_item(cx, j, 0);
    EXPECT_SENTENCE(cx, "c.json: expected an array, found an object");
    heed_json_int(cx, deep, "key");
    EXPECT_SENTENCE(cx, "c.json: rope.deep: expected an object, found an array");
    assert_null(heed_json_text_or(cx, j, "hidden", "x"));
    EXPECT_SENTENCE(cx, "c.json: hidden: expected a string, found an integer");
    assert_false(heed_json_fail(cx, rope, "factor %d is odd", 3));
    EXPECT_SENTENCE(cx, "c.json: rope: factor 3 is odd");
    heed_json_free(j);

    char steering[] = "{\"a\\u001b[31m\": 1}"; /* an escape sequence must not reach a terminal */
    const heed_json s = parse(cx, steering);
    heed_json_text(cx, heed_json_first(s), NULL);
    EXPECT_SENTENCE(cx, "c.json: a\\x1B[31m: expected a string");
    heed_json_free(s);
    close_context(cx);
}

static void test_syntax(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    REFUSED("", "c.json: line 1, column 0: ");
    REFUSED("{\"a\": 1,\n \"b\": }", "c.json: line 2, column 7: ");
    REFUSED("{\"a\": 1} x", "end of file expected");
    REFUSED("{\"a\": 1, \"a\": 2}", "duplicate object key");
    REFUSED("{'a': 1}", "line 1");
    REFUSED("[1,]", "line 1");
    REFUSED("[01]", "line 1");
    REFUSED("[abcdefghijklmnopqrstuvwxyz]", "invalid token");
    REFUSED("{\"a\": \"b\",", "string or '}' expected");
    heed_json_parse(cx, "c.json", "[1\0, 2]", 8);
    EXPECT_SENTENCE(cx, "c.json: line 1, column 3: a NUL byte");
    REFUSED("[\"abcdefghijklmnopqrstuvwxyz]", "premature end of input");
    REFUSED("[\"abcdefghijklmnopqrstuvwxyz\\x\"]", "invalid escape");
    REFUSED("{1234567890123456789012345:\"\"}", "string or '}' expected");
    REFUSED("{\"a\" \"b\"}", "':' expected");
    REFUSED("[NaN]", "line 1");
    REFUSED("[\"\\u0000\"]", "line 1");
    REFUSED("[\"\xC3\"]", "unable to decode byte 0xc3");
    REFUSED("[1e999]", "overflow");
    REFUSED("\xEF\xBB\xBF{}", "line 1");
    assert_int_equal(heed_json_kind_of(heed_json_parse(cx, "c.json", "[1]\0", 4)), HEED_JSON_NONE);
    EXPECT_SENTENCE(cx, "line 1");
    close_context(cx);
}

static void test_depth(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    char text[600] = "\n";
    for (int depth = 120; depth < 140; depth++) {
        memset(text + 1, '[', (size_t)depth);
        memset(text + 1 + depth, ']', (size_t)depth);
        text[1 + 2 * depth] = 0;
        const heed_json j = parse(cx, text);
        assert_int_equal(heed_json_kind_of(j) == HEED_JSON_ARRAY, depth <= 128);
        heed_json_free(j);
        if (depth > 128) EXPECT_SENTENCE(cx, "c.json: line 2, column 129: more than 128 levels deep");
    }
    /* Brackets within strings count for nothing. */
    memset(text, '[', 500);
    text[0] = text[1] = '[';
    memcpy(text + 1, "\"\\\"", 3);
    memcpy(text + 400, "\"]", 3);
    const heed_json j = parse(cx, text);
    assert_int_equal(heed_json_count(j), 1);
    heed_json_free(j);
    /* Far deeper than any stack. */
    char *deep = malloc(10000000);
    memset(deep, '{', 10000000);
    heed_json_parse(cx, "deep", deep, 10000000);
    EXPECT_SENTENCE(cx, "deep: line 1, column 129: more than 128 levels");
    heed_json_parse(cx, "large", deep, 100000001);
    EXPECT_SENTENCE(cx, "large: 100000001 bytes of json are over the limit of 100000000");
    free(deep);
    close_context(cx);
}

/* As tokenizer_config.json of many a published model has it. */
static void test_wide_integers(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const heed_json j = parse(cx, "{\"max\": 1000000000000000019884624838656, \"i\": 9223372036854775807, \"l\": "
                                  "-9223372036854775808, \"o\": 9223372036854775808, \"u\":-9223372036854775809}");
    assert_true(heed_json_number(cx, j, "max") == 1e30);
    assert_int_equal(heed_json_int(cx, j, "i"), INT64_MAX);
    assert_int_equal(heed_json_int(cx, j, "l"), INT64_MIN);
    assert_true(heed_json_number(cx, j, "o") == 0x1p63);
    assert_true(heed_json_number(cx, j, "u") == -0x1p63);
    heed_json_int(cx, j, "max");
    EXPECT_SENTENCE(cx, "c.json: max: expected an integer, found a number");
    heed_json_free(j);
    close_context(cx);
}

static heed_json build(heed_ctx *cx) {
    const heed_json j = heed_json_new(cx, "out.json");
    heed_json_put_text(cx, j, "z", "tab\t \"q\" \\ \x01 \xE2\x82\xAC");
    heed_json_put_int(cx, j, "i", INT64_MIN);
    heed_json_put_number(cx, j, "eps", 1e-12);
    heed_json_put_number(cx, j, "tenth", 0.1);
    heed_json_put_number(cx, j, "third", 1.0 / 3);
    heed_json_put_number(cx, j, "whole", 2);
    heed_json_put_bool(cx, j, "b", true);
    heed_json_put_null(cx, j, "n");
    const heed_json list = heed_json_put_array(cx, j, "list");
    heed_json_put_int(cx, list, NULL, 1);
    heed_json_put_bool(cx, heed_json_put_object(cx, list, NULL), "x", false);
    heed_json_put_array(cx, j, "empty");
    heed_json_put_int(cx, j, "i", 5); /* keeps its place */
    return j;
}

static const char built[] =
    "{\"z\":\"tab\\t \\\"q\\\" \\\\ \\u0001 \xE2\x82\xAC\",\"i\":5,\"eps\":1e-12,\"tenth\":0.1,"
    "\"third\":0.3333333333333333,\"whole\":2.0,\"b\":true,\"n\":null,\"list\":[1,{\"x\":false}],\"empty\":[]}";

static void test_print(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_json j = build(cx);
    size_t size;
    char *text = heed_json_print(cx, j, 0, &size);
    assert_string_equal(text, built);
    assert_int_equal(size, strlen(text));
    heed_json_free(j);
    j = parse(cx, text); /* what was printed prints the same again */
    heed_mem_free(cx, text);
    text = heed_json_print(cx, j, 0, NULL);
    assert_string_equal(text, built);
    heed_mem_free(cx, text);
    text = heed_json_print(cx, heed_json_array(cx, j, "list"), 2, NULL);
    assert_string_equal(text, "[\n  1,\n  {\n    \"x\": false\n  }\n]");
    heed_mem_free(cx, text);

    assert_true(heed_json_write(cx, in_folder("out.json"), j));
    heed_json_free(j);
    j = heed_json_open(cx, in_folder("out.json"));
    text = heed_json_print(cx, j, 0, NULL);
    assert_string_equal(text, built);
    heed_mem_free(cx, text);
    heed_json_free(j);
    assert_int_equal(unlink(in_folder("out.json")), 0);
    close_context(cx);
}

static void test_print_random_numbers(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    for (uint64_t i = 0; i < 2000; i++) {
        const uint64_t bits = (uint64_t)heed_random_bits(1, 2, 2 * i) << 32 | heed_random_bits(1, 2, 2 * i + 1);
        double value;
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value)) continue;
        heed_json j = heed_json_new(cx, "n");
        heed_json_put_number(cx, j, "v", value);
        char *text = heed_json_print(cx, j, 0, NULL);
        heed_json_free(j);
        j = parse(cx, text);
        assert_true(heed_json_number(cx, j, "v") == value);
        heed_json_free(j);
        heed_mem_free(cx, text);
    }
    close_context(cx);
}

static void test_build_refusals(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const heed_json j = heed_json_new(cx, "out.json"), list = heed_json_put_array(cx, j, "list");
    assert_false(heed_json_put_int(cx, j, NULL, 1));
    EXPECT_SENTENCE(cx, "out.json: only an array takes a value without a key");
    assert_false(heed_json_put_int(cx, list, "k", 1));
    EXPECT_SENTENCE(cx, "out.json: list: only an object takes a key");
    assert_false(heed_json_put_number(cx, j, "x", (double)NAN));
    EXPECT_SENTENCE(cx, "no nan");
    assert_false(heed_json_put_text(cx, j, "x", "\xFF"));
    EXPECT_SENTENCE(cx, "a text is not valid UTF-8");
    assert_false(heed_json_put_text(cx, j, "\xFF", ""));
    EXPECT_SENTENCE(cx, "a key is not valid UTF-8");
    assert_false(heed_json_put_text(cx, j, "x", NULL));
    EXPECT_SENTENCE(cx, "value is NULL");
    assert_false(heed_json_put_null(cx, (heed_json){0}, "x"));
    EXPECT_SENTENCE(cx, "no value to put into");
    assert_int_equal(heed_json_count(j), 1);
    heed_json deep = list;
    for (int i = 0; i < 130; i++) deep = heed_json_put_array(cx, deep, NULL);
    assert_null(heed_json_print(cx, j, 0, NULL));
    EXPECT_SENTENCE(cx, "more than 128 levels deep");
    assert_null(heed_json_print(cx, j, -1, NULL));
    EXPECT_SENTENCE(cx, "json_print");
    heed_json_free(j);
    close_context(cx);
}

static void test_null(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const heed_json none = {0};
    heed_json_open(cx, NULL);
    EXPECT_SENTENCE(cx, "json_open: path is NULL");
    heed_json_parse(cx, NULL, "", 0);
    EXPECT_SENTENCE(cx, "json_parse");
    heed_json_parse(cx, "x", NULL, 0);
    EXPECT_SENTENCE(cx, "json_parse");
    heed_json_new(cx, NULL);
    EXPECT_SENTENCE(cx, "json_new");
    heed_json_int(cx, none, "x");
    EXPECT_SENTENCE(cx, "no value");
    heed_json_find(cx, none, "x");
    EXPECT_SENTENCE(cx, "json_find");
    heed_json_item(cx, none, 0);
    EXPECT_SENTENCE(cx, "no value");
    heed_json_print(cx, none, 0, NULL);
    EXPECT_SENTENCE(cx, "json_print");
    heed_json_write(cx, "x", none);
    EXPECT_SENTENCE(cx, "json_print");
    heed_json_write(cx, NULL, none);
    EXPECT_SENTENCE(cx, "json_write");
    heed_json_fail(cx, none, "x");
    EXPECT_SENTENCE(cx, "json_fail");
    heed_json_open(cx, in_folder("absent.json"));
    EXPECT_SENTENCE(cx, "absent.json: ");
    heed_json_free(none);
    assert_int_equal(heed_json_count(none), 0);
    assert_null(heed_json_parse(NULL, "x", "{}", 2).node);
    assert_int_equal(heed_json_int_or(NULL, none, "x", 3), 0);
    assert_null(heed_json_new(NULL, "x").node);
    close_context(cx);
}

/* jansson and the digits under a locale whose decimal point is a comma. */
static void test_locale(void **state) {
    (void)state;
    if (!set_comma_locale()) skip();
    heed_ctx *cx = open_context();
    const heed_json j = parse(cx, "{\"a\":0.25}");
    assert_true(heed_json_number(cx, j, "a") == 0.25);
    char *text = heed_json_print(cx, j, 0, NULL);
    assert_string_equal(text, "{\"a\":0.25}");
    heed_mem_free(cx, text);
    heed_json_free(j);
    close_context(cx);
    setlocale(LC_ALL, "C");
}

/* Parses, prints, and reads the print. */
static bool round_trip(heed_ctx *cx, const void *bytes, size_t size) {
    const heed_json j = heed_json_parse(cx, "m.json", bytes, size);
    char *text = j.node ? heed_json_print(cx, j, 1, NULL) : NULL;
    const heed_json again = text ? parse(cx, text) : (heed_json){0};
    if (again.node) assert_int_equal(heed_json_count(j), heed_json_count(again));
    heed_json_free(again);
    heed_mem_free(cx, text);
    heed_json_free(j);
    return j.node && text && again.node;
}

static void test_hostile(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    assert_true(parse_exact(cx, round_trip, sample, sizeof sample - 1));
    assert_int_equal(truncate_everywhere(cx, round_trip, sample, sizeof sample - 1), 0);
    close_context(cx);
}

static bool lenient(heed_ctx *cx, const void *bytes, size_t size) {
    const heed_json j = heed_json_parse(cx, "m.json", bytes, size);
    char *text = j.node ? heed_json_print(cx, j, 0, NULL) : NULL;
    heed_mem_free(cx, text);
    heed_json_free(j);
    return text;
}

static void test_mutations(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    mutate_often(cx, lenient, sample, sizeof sample - 1, 5000);
    close_context(cx);
}

static bool through_file(heed_ctx *cx, const void *bytes, size_t size) {
    (void)bytes, (void)size;
    const heed_json made = build(cx);
    const bool written = made.node && heed_json_write(cx, in_folder("s.json"), made);
    heed_json_free(made);
    const heed_json read = written ? heed_json_open(cx, in_folder("s.json")) : (heed_json){0};
    heed_json_free(read);
    return read.node;
}

static void test_memory(void **state) {
    (void)state;
    static const char wide[] = "[99999999999999999999, 1.5]";
    starve(round_trip, sample, sizeof sample - 1);
    starve(round_trip, wide, sizeof wide - 1);
    starve(through_file, NULL, 0);
    assert_int_equal(unlink(in_folder("s.json")), 0);
}

/* The same for jansson's own memory, which the hook does not see. */
static int64_t left;

static void *rationed(size_t size) { return left-- > 0 ? malloc(size) : NULL; }

static void test_jansson_memory(void **state) {
    (void)state;
    static const struct {
        parse_fn run;
        const char *text;
    } cases[] = {{round_trip, sample}, {through_file, ""}};
    for (int i = 0; i < 2; i++) {
        bool done = false;
        for (int64_t n = 0; !done && n < 10000; n++) {
            heed_ctx *cx = open_context();
            const size_t blocks = books.blocks;
            json_set_alloc_funcs(rationed, free);
            left = n;
            done = cases[i].run(cx, cases[i].text, strlen(cases[i].text));
            json_set_alloc_funcs(malloc, free);
            assert_int_equal(done, left >= 0);
            assert_int_equal(heed_error(cx), done ? HEED_OK : HEED_ERR_MEMORY);
            assert_int_equal(books.blocks, blocks);
            heed_clear(cx);
            close_context(cx);
        }
        assert_true(done);
    }
    assert_int_equal(unlink(in_folder("s.json")), 0);
}

/* What jansson takes, measured: it is counted as held, and refused before it is taken when the budget is too small. */
static size_t taken, taken_peak;
static void *measured(size_t size) {
    size_t *block = malloc(size + 16);
    if (!block) return NULL;
    block[0] = (size + 8 + 15) / 16 * 16; /* as malloc rounds */
    taken += block[0];
    if (taken > taken_peak) taken_peak = taken;
    return block + 2;
}
static void forget(void *ptr) {
    size_t *block = ptr;
    if (!block) return;
    taken -= block[-2];
    free(block - 2);
}

static void test_memory_is_counted(void **state) {
    (void)state;
    static const struct {
        const char *head, *item, *tail;
    } kinds[] = {{"[", "[]", "]"},
                 {"[", "{}", "]"},
                 {"[", "1", "]"},
                 {"[", "1.5", "]"},
                 {"[", "\"\"", "]"},
                 {"[", "\"some words of text in a file\"", "]"},
                 {"[", "[[[[[]]]]]", "]"},
                 {"[", "{\"a\":1}", "]"},
                 {"[", "{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]}", "]"},
                 {"{", "\"%06d\":%d", "}"},
                 {"{", "\"%06d\":\"x\"", "}"},
                 {"{", "\"%06d\":{}", "}"}};
    enum { ITEMS = 3000 };
    char *text = malloc(ITEMS * 80);
    json_set_alloc_funcs(measured, forget);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        size_t n = (size_t)sprintf(text, "%s", kinds[k].head);
        for (int i = 0; i < ITEMS; i++) {
            if (i) text[n++] = ',';
            char item[80];
            snprintf(item, sizeof item, kinds[k].item, i, i);
            n += (size_t)sprintf(text + n, "%s", item);
        }
        n += (size_t)sprintf(text + n, "%s", kinds[k].tail);
        heed_ctx *cx = open_context();
        const size_t before = heed_memory_use(cx).held;
        taken = taken_peak = 0;
        heed_json j = heed_json_parse(cx, "c.json", text, n);
        assert_false(heed_failed(cx));
        const size_t counted = heed_memory_use(cx).held - before;
        if (counted < taken) fail_msg("'%s': %zu bytes are counted, %zu taken", kinds[k].item, counted, taken);
        if (counted < taken_peak * 4 / 5) fail_msg("'%s': at their peak %zu are taken", kinds[k].item, taken_peak);
        if (counted > 4 * taken) fail_msg("'%s': %zu bytes are counted, only %zu taken", kinds[k].item, counted, taken);
        heed_json_free(j);
        assert_int_equal(heed_memory_use(cx).held, before);
        heed_close(cx);

        cx = heed_open(&(heed_config){.threads = 1, .byte_budget = before + counted / 2});
        taken_peak = 0;
        j = heed_json_parse(cx, "c.json", text, n);
        assert_int_equal(heed_error(cx), HEED_ERR_BUDGET);
        assert_int_equal(taken_peak, 0);
        heed_close(cx);
    }
    json_set_alloc_funcs(malloc, free);
    free(text);
}

/* What is built is counted as well. */
static void test_building_is_counted(void **state) {
    (void)state;
    json_set_alloc_funcs(measured, forget);
    heed_ctx *cx = open_context();
    const size_t before = heed_memory_use(cx).held;
    taken = taken_peak = 0;
    const heed_json j = heed_json_new(cx, "c.json"), list = heed_json_put_array(cx, j, "list");
    for (int i = 0; i < 1000; i++) {
        char key[16];
        snprintf(key, sizeof key, "%d", i);
        heed_json_put_int(cx, j, key, i);
        heed_json_put_number(cx, list, NULL, i);
        heed_json_put_text(cx, heed_json_put_object(cx, list, NULL), "a", "some text");
    }
    assert_false(heed_failed(cx));
    assert_true(heed_memory_use(cx).held - before >= taken);
    heed_json_free(j);
    assert_int_equal(heed_memory_use(cx).held, before);
    assert_int_equal(taken, 0);
    close_context(cx);
    cx = heed_open(&(heed_config){.threads = 1, .byte_budget = before + 100000});
    const heed_json k = heed_json_new(cx, "c.json");
    for (int i = 0; i < 1000 && !heed_failed(cx); i++) heed_json_put_object(cx, heed_json_put_array(cx, k, "x"), NULL);
    assert_int_equal(heed_error(cx), HEED_ERR_BUDGET);
    heed_json_free(k);
    assert_int_equal(taken, 0);
    heed_close(cx);
    json_set_alloc_funcs(malloc, free);
}

/* A file that takes many times its size is refused before it does. */
static void test_unfolding(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const size_t n = 12000000;
    char *text = malloc(n);
    memset(text, '[', n);
    for (size_t i = 1; i + 3 <= n; i += 3) memcpy(text + i, "[],", 3);
    memcpy(text + n - 2, "0]", 2);
    write_bytes(in_folder("c.json"), text, n);
    const heed_json j = json_open_within(cx, in_folder("c.json"), IO_CONFIG_LIMIT);
    assert_int_equal(heed_json_kind_of(j), HEED_JSON_NONE);
    EXPECT_SENTENCE(cx, "c.json: its values would take ");
    assert_int_equal(heed_json_kind_of(json_open_within(cx, in_folder("c.json"), n - 1)), HEED_JSON_NONE);
    EXPECT_SENTENCE(cx, "c.json: holds more than the 11999999 bytes allowed");
    assert_int_equal(unlink(in_folder("c.json")), 0);
    assert_int_equal(mkfifo(in_folder("c.json"), 0600), 0);
    assert_int_equal(heed_json_kind_of(heed_json_open(cx, in_folder("c.json"))), HEED_JSON_NONE);
    EXPECT_SENTENCE(cx, "c.json: not a regular file");
    assert_int_equal(unlink(in_folder("c.json")), 0);
    free(text);
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_getters),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_wrong_kinds),
        cmocka_unit_test(test_syntax),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_wide_integers),
        cmocka_unit_test(test_print),
        cmocka_unit_test(test_print_random_numbers),
        cmocka_unit_test(test_build_refusals),
        cmocka_unit_test(test_null),
        cmocka_unit_test(test_locale),
        cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_mutations),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_jansson_memory),
        cmocka_unit_test(test_memory_is_counted),
        cmocka_unit_test(test_building_is_counted),
        cmocka_unit_test(test_unfolding),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
