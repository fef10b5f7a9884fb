/* Files that are read but mean harm: templates that add nothing or without end, steps that double the text, patterns
 * that are slow on every line; and work that is cancelled. */
#include "io/io_test.h"
#include "text/tokenizer/tokenizer.h"

#define WORDS            "\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"a\":0,\"b\":1,\"?\":2},\"unk_token\":\"?\"}"
#define PART(key, value) "{\"" key "\":" value "," WORDS "}"

static heed_tokenizer *parse(heed_ctx *cx, const char *text) {
    heed_tokenizer *t = tokenizer_parse(cx, "t.json", text, strlen(text));
    if (!t) fail_msg("%s", heed_message(cx));
    return t;
}

/* ---- templates ---- */

static void expect_ids(heed_ctx *cx, const char *json, const char *text, const char *pair, const int32_t *id, int n) {
    heed_tokenizer *t = parse(cx, json);
    heed_encoding e = {0};
    const heed_encode_opts o = {.pair = pair, .pair_size = pair ? strlen(pair) : 0};
    assert_true(heed_encode_text(cx, t, text, strlen(text), &o, &e));
    assert_int_equal(e.count, n);
    for (int i = 0; i < n; i++) assert_int_equal(e.token[i].id, id[i]);
    heed_encoding_free(cx, &e);
    heed_tokenizer_free(cx, t);
}
#define EXPECT_IDS(json, text, pair, ...)                                                                              \
    expect_ids(cx, json, text, pair, (const int32_t[]){__VA_ARGS__}, sizeof((const int32_t[]){__VA_ARGS__}) / 4)

#define TEMPLATE(single, pair, specials)                                                                               \
    "{\"type\":\"TemplateProcessing\",\"single\":[" single "],\"pair\":[" pair "],\"special_tokens\":{" specials "}}"
#define TEXT(id)    "{\"Sequence\":{\"id\":\"" id "\",\"type_id\":0}}"
#define SPECIAL(id) "{\"SpecialToken\":{\"id\":\"" id "\",\"type_id\":0}}"
#define NOTHING     "\"x\":{\"id\":\"x\",\"ids\":[],\"tokens\":[]}"

/* A special token without an id is a part without tokens, as in Python: what comes next counts it. */
static void test_empty_special(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const char *first =
        PART("post_processor", TEMPLATE(SPECIAL("x") "," TEXT("A"), TEXT("B") "," SPECIAL("x") "," TEXT("A"), NOTHING));
    EXPECT_IDS(first, "a", NULL, 0);
    EXPECT_IDS(first, "a", "b", 1, 0);
    EXPECT_IDS(
        PART("post_processor", "{\"type\":\"Sequence\",\"processors\":[" TEMPLATE(
                                   SPECIAL("x") "," TEXT("A"), "",
                                   NOTHING) ",{\"type\":\"BertProcessing\",\"cls\":[\"a\",0],\"sep\":[\"b\",1]}]}"),
        "?", NULL, 0, 1, 2, 1);
    close_context(cx);
}

/* Of names that come twice the last one counts. */
static void test_many_specials(void **state) {
    (void)state;
    enum { SPECIALS = 20000 };
    heed_ctx *cx = open_context();
    char *text = malloc((size_t)SPECIALS * 64 + 1024), *end = text;
    end += sprintf(end, "{" WORDS ",\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[");
    for (int i = 0; i < 256; i++) end += sprintf(end, "%s" SPECIAL("s%d"), i ? "," : "", SPECIALS - 1 - i);
    end += sprintf(end, "],\"special_tokens\":{\"s%d\":{\"ids\":[0],\"tokens\":[\"a\"]}", SPECIALS - 1);
    for (int i = 0; i < SPECIALS; i++) end += sprintf(end, ",\"s%d\":{\"ids\":[1],\"tokens\":[\"b\"]}", i);
    sprintf(end, "}}}");
    heed_tokenizer *t = parse(cx, text);
    heed_ids ids = {0};
    assert_true(heed_encode(cx, t, "a", 1, true, &ids));
    assert_int_equal(ids.count, 256);
    assert_int_equal(ids.id[0], 1);
    heed_ids_free(cx, &ids);
    heed_tokenizer_free(cx, t);
    free(text);
    close_context(cx);
}

static void refuse_template(heed_ctx *cx, int parts, int ids, const char *sentence) {
    char *text = malloc((size_t)parts * 64 + (size_t)ids * 8 + 1024), *end = text;
    end += sprintf(end, "{" WORDS ",\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[");
    for (int i = 0; i < parts; i++) end += sprintf(end, "%s" SPECIAL("x"), i ? "," : "");
    end += sprintf(end, "],\"special_tokens\":{\"x\":{\"ids\":[");
    for (int i = 0; i < ids; i++) end += sprintf(end, "%s0", i ? "," : "");
    end += sprintf(end, "],\"tokens\":[");
    for (int i = 0; i < ids; i++) end += sprintf(end, "%s\"a\"", i ? "," : "");
    sprintf(end, "]}}}}");
    assert_null(tokenizer_parse(cx, "t.json", text, strlen(text)));
    EXPECT_SENTENCE(cx, sentence);
    free(text);
}

static void test_long_templates(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    refuse_template(cx, 257, 1, "t.json: post_processor.single[256]: a template of more than 256 parts");
    refuse_template(cx, 200, 1000, "a template that adds more than 65536 tokens");
    close_context(cx);
}

/* ---- growth ---- */

#define DOUBLES   "{\"type\":\"Replace\",\"pattern\":{\"String\":\"a\"},\"content\":\"aa\"}"
#define TWICE(x)  x "," x
#define FOUR(x)   TWICE(x) "," TWICE(x)
#define TWENTY(x) FOUR(FOUR(x)) "," FOUR(x)

static void refuse_text(heed_ctx *cx, const char *json, const char *text, const char *sentence) {
    heed_tokenizer *t = parse(cx, json);
    heed_ids ids = {0};
    heed_encoding e = {0};
    assert_false(heed_encode(cx, t, text, strlen(text), true, &ids));
    assert_int_equal(heed_error(cx), HEED_ERR_RANGE);
    EXPECT_SENTENCE(cx, sentence);
    assert_false(heed_encode_text(cx, t, text, strlen(text), NULL, &e));
    EXPECT_SENTENCE(cx, sentence);
    heed_ids_free(cx, &ids);
    heed_encoding_free(cx, &e);
    heed_tokenizer_free(cx, t);
}

static void test_growth(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const char *sentence = "encode: the tokenizer makes the text grow beyond 65";
    refuse_text(cx, PART("normalizer", "{\"type\":\"Sequence\",\"normalizers\":[" TWENTY(DOUBLES) "]}"), "a", sentence);
    refuse_text(
        cx, PART("pre_tokenizer", "{\"type\":\"Sequence\",\"pretokenizers\":[" TWENTY("{\"type\":\"ByteLevel\"}") "]}"),
        "\xC3\xA4", sentence);
    const char *added = "{\"added_tokens\":[{\"id\":9,\"content\":\"a\",\"normalized\":true}],"
                        "\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[" TWENTY(DOUBLES) "]}," WORDS "}";
    assert_null(tokenizer_parse(cx, "t.json", added, strlen(added)));
    EXPECT_SENTENCE(cx, "t.json: added_tokens: encode: the tokenizer makes the text grow");
    heed_tokenizer *t = parse(cx, PART("decoder", "{\"type\":\"Sequence\",\"decoders\":[" TWENTY(DOUBLES) "]}"));
    heed_string s = {0};
    assert_false(heed_decode(cx, t, (const int32_t[]){0}, 1, true, &s));
    EXPECT_SENTENCE(cx, "decode: the tokenizer makes the text grow beyond 65");
    heed_string_free(cx, &s);
    heed_tokenizer_free(cx, t);
    close_context(cx);
}

/* The longest compatibility decomposition, each of its bytes a stand-in of two. */
static void test_honest_growth(void **state) {
    (void)state;
    enum { CHARACTERS = 20000 };
    heed_ctx *cx = open_context();
    heed_tokenizer *t = parse(cx, PART("normalizer", "{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"NFKC\"},"
                                                     "{\"type\":\"ByteLevel\"}]}"));
    char *text = malloc(3 * CHARACTERS);
    heed_encoding e = {0};
    for (int i = 0; i < CHARACTERS; i++) memcpy(text + 3 * i, "\xEF\xB7\xBA", 3);
    assert_true(heed_encode_text(cx, t, text, 3 * CHARACTERS, NULL, &e));
    heed_encoding_free(cx, &e);
    free(text);
    heed_tokenizer_free(cx, t);
    close_context(cx);
}

/* ---- time ---- */

#define SLOW "{\"type\":\"Split\",\"pattern\":{\"Regex\":\"(.*a){20}\"},\"behavior\":\"Isolated\"}"
static const char slow_text[] = "aaaaaaaaaaaaaaaaaaabcbc"; /* some milliseconds */

/* As if other lines had taken nearly all that there is. */
static void test_slow_lines(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_tokenizer *t = parse(cx, PART("pre_tokenizer", SLOW));
    heed_ids ids = {0};
    for (int i = 0; i < 10; i++) assert_true(heed_encode(cx, t, slow_text, sizeof slow_text - 1, true, &ids));
    assert_true(atomic_load(&t->time->wall) > 0);
    atomic_store(&t->time->wall, REGEX_LATE);
    assert_true(heed_encode(cx, t, slow_text, sizeof slow_text - 1, true, &ids));
    assert_true(atomic_load(&t->time->cpu) > 0);
    atomic_store(&t->time->cpu, REGEX_LATE - 1);
    assert_true(heed_encode(cx, t, slow_text, sizeof slow_text - 1, true, &ids));
    assert_false(heed_encode(cx, t, "a", 1, true, &ids));
    EXPECT_SENTENCE(cx, "encode: the regular expression '(.*a){20}' takes too long on these texts");
    heed_ids_free(cx, &ids);
    heed_tokenizer_free(cx, t);
    close_context(cx);
}

/* A machine that is busy with others makes every text late by the wall's clock, and none by its own. */
static void test_fast_lines(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_tokenizer *t = parse(cx, PART("pre_tokenizer", "{\"type\":\"Split\",\"pattern\":{\"Regex\":\"\\\\w+|\\\\s+\"},"
                                                        "\"behavior\":\"Isolated\"}"));
    heed_ids ids = {0};
    atomic_store(&t->time->wall, REGEX_LATE);
    for (int i = 0; i < 5000; i++) assert_true(heed_encode(cx, t, "a b a", 5, true, &ids));
    assert_true(atomic_load(&t->time->cpu) < REGEX_LATE / 4);
    heed_ids_free(cx, &ids);
    heed_tokenizer_free(cx, t);
    close_context(cx);
}

/* ---- cancelling ---- */

static int looks; /* until it is cancelled */
static bool cancel(void *user) { return (void)user, --looks < 0; }

static void cancel_text(const char *json, char byte, size_t size) {
    heed_ctx *cx = heed_open(&(heed_config){.threads = 1, .cancel = cancel});
    heed_tokenizer *t = parse(cx, json);
    heed_ids ids = {0};
    char *text = malloc(size);
    memset(text, byte, size);
    looks = 1;
    assert_false(heed_encode(cx, t, text, size, true, &ids));
    assert_int_equal(heed_error(cx), HEED_ERR_CANCELLED);
    free(text);
    heed_ids_free(cx, &ids);
    heed_tokenizer_free(cx, t);
    heed_close(cx);
}

static void test_cancelled(void **state) {
    (void)state;
    cancel_text(PART("normalizer", DOUBLES), 'a', 10000);
    cancel_text(PART("normalizer", "{\"type\":\"Sequence\",\"normalizers\":[" FOUR("{\"type\":\"NFC\"}") "]}"), 'a',
                100000);
    cancel_text(PART("pre_tokenizer", "{\"type\":\"Split\",\"pattern\":{\"Regex\":\"b\"},\"behavior\":\"Isolated\"}"),
                'b', 20000);
    cancel_text(PART("pre_tokenizer", "{\"type\":\"FixedLength\",\"length\":1}"), 'b', 20000);
}

/* The caller is asked by its own thread alone. */
static void test_cancelled_lines(void **state) {
    (void)state;
    enum { LINES = 1000 };
    static char text[2 * LINES];
    static int64_t start[LINES + 1], first[LINES + 1];
    heed_ctx *cx = heed_open(&(heed_config){.threads = 2, .cancel = cancel});
    heed_tokenizer *t = parse(cx, "{" WORDS "}");
    heed_ids ids = {0};
    for (int i = 0; i < LINES; i++) text[2 * i] = 'a', start[i + 1] = 2 * (i + 1);
    const heed_lines lines = {text, start, LINES};
    looks = 0;
    assert_false(heed_encode_lines(cx, t, &lines, true, &ids, first));
    assert_int_equal(heed_error(cx), HEED_ERR_CANCELLED);
    assert_int_equal(ids.count, 0);
    heed_clear(cx);
    looks = INT32_MAX;
    assert_true(heed_encode_lines(cx, t, &lines, true, &ids, first));
    assert_int_equal(ids.count, LINES);
    heed_ids_free(cx, &ids);
    heed_tokenizer_free(cx, t);
    heed_close(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty_special),   cmocka_unit_test(test_many_specials),
        cmocka_unit_test(test_long_templates),  cmocka_unit_test(test_growth),
        cmocka_unit_test(test_honest_growth),   cmocka_unit_test(test_slow_lines),
        cmocka_unit_test(test_fast_lines),      cmocka_unit_test(test_cancelled),
        cmocka_unit_test(test_cancelled_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
