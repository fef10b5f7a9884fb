/* Every way in which a tokenizer.json can be wrong: a sentence each; and bytes cut, changed and memory refused. */
#include "io/io_test.h"
#include "text/tokenizer.h"

/* ---- files that are wrong ---- */

static void refused(heed_ctx *cx, const char *text, const char *sentence, int line) {
    assert_null(tokenizer_parse(cx, "t.json", text, strlen(text)));
    expect_sentence(cx, sentence, __FILE__, line);
}
#define REFUSED(text, sentence) refused(cx, text, sentence, __LINE__)
#define WORDS                   "\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"a\":0,\"b\":1}}"

static void test_models_refused(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    REFUSED("", "t.json: line 1");
    REFUSED("[]", "expected an object");
    REFUSED("{}", "t.json: model: missing");
    REFUSED("{\"model\":{}}", "t.json: model.type: missing");
    REFUSED("{\"model\":{\"type\":\"Unigram\"}}", "model: a model of type 'Unigram' is not supported");
    REFUSED("{\"model\":{\"type\":\"WordLevel\",\"vocab\":[]}}", "model.vocab: expected an object");
    REFUSED("{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"a\":\"0\"}}}", "model.vocab.a: expected an integer");
    REFUSED("{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"a\":-1}}}", "model.vocab.a: no id can be -1");
    REFUSED("{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"a\":99999999}}}", "model.vocab.a: no id can be 99999999");
    REFUSED("{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"a\":1,\"b\":1}}}", "'a' and 'b' both have id 1");
    REFUSED("{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"a\":1,\"a\":1}}}", "duplicate object key");
#define MODEL(rest) "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1,\"ab\":2}," rest "}}"
    REFUSED(MODEL("\"merges\":3"), "model.merges: expected an array");
    REFUSED("{\"model\":{\"type\":\"BPE\",\"vocab\":{}}}", "model.merges: missing");
    REFUSED(MODEL("\"merges\":[\"ab\"]"), "model.merges[0]: a merge is two tokens and a space");
    REFUSED(MODEL("\"merges\":[\"a b \"]"), "a merge is two tokens and a space");
    REFUSED(MODEL("\"merges\":[\"a b\",[\"a\"]]"), "model.merges[1]: a merge joins two tokens");
    REFUSED(MODEL("\"merges\":[[\"a\",1]]"), "expected a string");
    REFUSED(MODEL("\"merges\":[\"c b\"]"), "model.merges[0]: 'c' is not in the vocabulary");
    REFUSED(MODEL("\"merges\":[\"b a\"]"), "'ba' is not in the vocabulary");
    REFUSED(MODEL("\"merges\":[],\"byte_fallback\":true"), "byte_fallback is not supported");
    REFUSED(MODEL("\"merges\":[],\"dropout\":0.1"), "dropout");
    REFUSED(MODEL("\"merges\":[],\"continuing_subword_prefix\":\"##\""), "continuing_subword_prefix");
    REFUSED(MODEL("\"merges\":[],\"end_of_word_suffix\":\"0123456789012345678901234567890123\""), "32 bytes");
    REFUSED(MODEL("\"merges\":[],\"unk_token\":4"), "model.unk_token: expected a string");
    REFUSED("{\"added_tokens\":{}," WORDS "}", "added_tokens: expected an array");
    REFUSED("{\"added_tokens\":[{\"id\":5}]," WORDS "}", "content: missing");
    REFUSED("{\"added_tokens\":[{\"id\":5,\"content\":\"\"}]," WORDS "}", "an empty token");
    REFUSED("{\"added_tokens\":[{\"id\":5,\"content\":\"a\"}]," WORDS "}", "'a' has id 5 here and 0 in the vocabulary");
    REFUSED("{\"added_tokens\":[{\"id\":1,\"content\":\"x\"}]," WORDS "}", "'b' and 'x' both have id 1");
    REFUSED("{\"added_tokens\":[{\"id\":5,\"content\":\"x\"},{\"id\":5,\"content\":\"x\"}]," WORDS "}",
            "is there twice");
    REFUSED("{\"truncation\":{}," WORDS "}", "truncation: truncation is not supported");
    REFUSED("{\"padding\":{\"strategy\":{\"Fixed\":9}}," WORDS "}", "padding: padding is not supported");
    close_context(cx);
}

static void test_parts_refused(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
#define PART(key, value) "{\"" key "\":" value "," WORDS "}"
    REFUSED(PART("normalizer", "3"), "normalizer: expected an object");
    REFUSED(PART("normalizer", "{}"), "normalizer.type: missing");
    REFUSED(PART("normalizer", "{\"type\":\"BertNormalizer\"}"), "normalizer: type 'BertNormalizer' is not supported");
    REFUSED(PART("normalizer", "{\"type\":\"Sequence\"}"), "normalizer.normalizers: missing");
    REFUSED(PART("normalizer", "{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"NFC\"},{\"type\":\"X\"}]}"),
            "normalizer.normalizers[1]: type 'X' is not supported");
    REFUSED(PART("normalizer", "{\"type\":\"Strip\",\"strip_left\":1}"), "strip_left: expected true or false");
    REFUSED(PART("pre_tokenizer", "{\"type\":\"Digits\"}"), "pre_tokenizer: type 'Digits' is not supported");
    REFUSED(PART("pre_tokenizer", "{\"type\":\"Metaspace\",\"replacement\":\"ab\"}"), "must be one character");
    REFUSED(PART("pre_tokenizer", "{\"type\":\"Metaspace\",\"replacement\":\"\"}"), "must be one character");
    REFUSED(PART("pre_tokenizer", "{\"type\":\"Metaspace\",\"prepend_scheme\":\"x\"}"), "no prepend_scheme 'x'");
#define SPLIT(pattern, behavior) "{\"type\":\"Split\",\"pattern\":" pattern ",\"behavior\":\"" behavior "\"}"
    REFUSED(PART("pre_tokenizer", SPLIT("{\"String\":\"\"}", "Removed")), "an empty string splits nothing");
    REFUSED(PART("pre_tokenizer", SPLIT("{\"String\":\"a\"}", "Eaten")), "no behavior 'Eaten'");
    REFUSED(PART("pre_tokenizer", SPLIT("{\"Regex\":\"a+\"}", "Removed")),
            "the regular expression 'a+' is not supported");
    REFUSED(PART("pre_tokenizer", SPLIT("{}", "Removed")), "pattern.String: missing");
    REFUSED(PART("post_processor", "{\"type\":\"BertProcessing\"}"), "type 'BertProcessing' is not supported");
#define TEMPLATE(single, specials)                                                                                     \
    "{\"type\":\"TemplateProcessing\",\"single\":[" single "],\"special_tokens\":{" specials "}}"
    REFUSED(PART("post_processor", TEMPLATE("", "")), "a template must hold the text once");
    REFUSED(PART("post_processor", TEMPLATE("{\"Sequence\":{\"id\":\"B\"}}", "")), "a single text is called A");
    REFUSED(PART("post_processor", TEMPLATE("{\"SpecialToken\":{\"id\":\"x\"}}", "")),
            "'x' is not among its special_tokens");
    REFUSED(PART("post_processor", TEMPLATE("{\"SpecialToken\":{\"id\":\"x\"}}", "\"x\":{\"ids\":[9]}")),
            "no token has id 9");
    REFUSED(PART("decoder", "{\"type\":\"WordPiece\"}"), "decoder: type 'WordPiece' is not supported");
    REFUSED(PART("decoder", "{\"type\":\"BPEDecoder\",\"suffix\":\"\"}"), "an empty suffix");
    char deep[4096] = "{\"normalizer\":", *end = deep + strlen(deep);
    for (int i = 0; i < 17; i++)
        end += sprintf(end, "%s{\"type\":\"NFC\"}", i ? "," : "{\"type\":\"Sequence\",\"normalizers\":[");
    sprintf(end, "]}," WORDS "}");
    REFUSED(deep, "normalizer.normalizers[16]: more than 16 normalizers in a row");
    close_context(cx);
}

/* ---- hostility ---- */

static bool parse_and_use(heed_ctx *cx, const void *bytes, size_t size) {
    heed_tokenizer *t = tokenizer_parse(cx, "bytes", bytes, size);
    heed_ids ids = {0};
    heed_string s = {0};
    if (t && heed_encode(cx, t, "the river <s> b\xC3\xA4nk", 18, true, &ids))
        heed_decode(cx, t, ids.id, ids.count, true, &s);
    if (t && heed_error(cx) == HEED_ERR_FORMAT) heed_clear(cx); /* a text that is not covered */
    heed_ids_free(cx, &ids);
    heed_string_free(cx, &s);
    heed_tokenizer_free(cx, t);
    return t && !heed_failed(cx);
}

/* Two lines to learn from. */
static heed_tokenizer *train(heed_ctx *cx, const heed_tokenizer_opts *o) {
    char text[] = "the river bank\0the other bank";
    int64_t start[] = {0, 15, 30};
    const heed_lines lines = {text, start, 2};
    return heed_tokenizer_train(cx, (const heed_lines *const[]){&lines}, 1, o);
}

static const heed_tokenizer_opts bpe = {
    .kind = HEED_TOKENS_BPE, .vocabulary = 24, .eos = "<s>", .unk = "?", .lower = true, .add_eos = true};

static void test_hostile(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_tokenizer *t = train(cx, &bpe);
    char *text = strdup(t->json);
    heed_tokenizer_free(cx, t);
    assert_true(parse_exact(cx, parse_and_use, text, strlen(text)));
    assert_int_equal(truncate_everywhere(cx, parse_and_use, text, strlen(text) - 1), 0);
    mutate_often(cx, parse_and_use, text, strlen(text), 3000);
    close_context(cx);
    starve(parse_and_use, text, strlen(text));
    free(text);
}

static bool train_and_drop(heed_ctx *cx, const void *bytes, size_t size) {
    (void)size;
    heed_tokenizer *t = train(cx, bytes);
    heed_tokenizer_free(cx, t);
    return t;
}

static void test_starved_training(void **state) {
    (void)state;
    const heed_tokenizer_opts words = {.kind = HEED_TOKENS_WORD, .unk = "?", .add_eos = true, .eos = "!"};
    starve(train_and_drop, &bpe, sizeof bpe);
    starve(train_and_drop, &words, sizeof words);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_models_refused),
        cmocka_unit_test(test_parts_refused),
        cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_starved_training),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
