/* Every way in which a tokenizer.json can be wrong: a sentence each; and bytes cut, changed and memory refused. */
#include "io/io_test.h"
#include "text/tokenizer/spm.h"
#include "text/tokenizer/tokenizer.h"

/* ---- files that are wrong ---- */

static void refused(heed_ctx *cx, const char *text, const char *sentence, int line) {
    assert_null(tokenizer_parse(cx, "t.json", text, strlen(text)));
    expect_sentence(cx, sentence, __FILE__, line);
}
#define REFUSED(text, sentence) refused(cx, text, sentence, __LINE__)
#define WORDS                   "\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"a\":0,\"b\":1}}"

/* A file of values alone would take many times its size. */
static void test_many_values(void **state) {
    (void)state;
    const size_t size = (size_t)1 << 25; /* twice as many bytes as values, and as many values as are allowed, twice */
    heed_ctx *cx = open_context();
    char *text = malloc(size + 1);
    memset(text, '0', size);
    for (size_t i = 0; i < size; i += 2) text[i] = i ? ',' : '[';
    text[size] = 0;
    REFUSED(text, "t.json: more than 8388608 values");
    free(text);
    close_context(cx);
}

static void test_models_refused(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    REFUSED("", "t.json: line 1");
    REFUSED("[]", "expected an object");
    REFUSED("{}", "t.json: model: missing");
    REFUSED("{\"model\":{}}", "t.json: model.type: missing");
    REFUSED("{\"model\":{\"type\":\"Morph\"}}", "model: a model of type 'Morph' is not supported");
    REFUSED("{\"model\":{\"type\":\"Unigram\"}}", "model.vocab: missing");
#define UNIGRAM(rest) "{\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"a\",-1]" rest "}}"
    REFUSED(UNIGRAM(",[\"b\"]]"), "model.vocab[1]: expected a token and its score");
    REFUSED(UNIGRAM(",[\"b\",\"x\"]]"), "model.vocab[1][1]: expected a number, found a string");
    REFUSED(UNIGRAM("],\"unk_id\":1"), "model.unk_id: no token has id 1");
    REFUSED("{\"model\":{\"type\":\"WordPiece\",\"vocab\":{},\"max_input_chars_per_word\":-1}}",
            "must not be negative");
    REFUSED("{\"version\":\"2.0\"," WORDS "}", "version: an unknown version");
    REFUSED("{\"a\":\"\\ud800\"}", "line 1, column 13: an invalid \\u escape");
    REFUSED("{\"a\":\"\\q\"}", "an unknown escape");
    REFUSED("{\"a\":01}", "not a number");
    REFUSED("{\"a\":1.}", "not a number");
    REFUSED("{\"a\":\"\xFF\"}", "line 1, column 7: a byte that is not UTF-8");
    REFUSED("{} {}", "line 1, column 4: unexpected text after the value");
    REFUSED("{\"model\":{\"type\":\"WordLevel\",\"vocab\":[]}}", "model.vocab: expected an object");
    REFUSED("{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"a\":\"0\"}}}", "model.vocab.a: expected an integer");
    REFUSED("{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"a\":-1}}}", "model.vocab.a: id -1 is out of range");
    REFUSED("{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"a\":99999999}}}",
            "model.vocab.a: id 99999999 is out of range");
    REFUSED("{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"a\":1,\"b\":1}}}", "'a' and 'b' both have id 1");
#define MODEL(rest) "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1,\"ab\":2}," rest "}}"
    REFUSED(MODEL("\"merges\":3"), "model.merges: expected an array");
    REFUSED("{\"model\":{\"type\":\"BPE\",\"vocab\":{}}}", "model.merges: missing");
    REFUSED(MODEL("\"merges\":[\"ab\"]"), "model.merges[0]: a merge is two tokens and a space");
    REFUSED(MODEL("\"merges\":[\"a b \"]"), "a merge is two tokens and a space");
    REFUSED(MODEL("\"merges\":[\"a b\",[\"a\"]]"), "model.merges[1]: a merge joins two tokens");
    REFUSED(MODEL("\"merges\":[[\"a\",1]]"), "expected a string");
    REFUSED(MODEL("\"merges\":[\"c b\"]"), "model.merges[0]: 'c' is not in the vocabulary");
    REFUSED(MODEL("\"merges\":[\"b a\"]"), "'ba' is not in the vocabulary");
    REFUSED(MODEL("\"merges\":[],\"dropout\":1.5"), "model.dropout: must be between 0 and 1");
    REFUSED(MODEL("\"merges\":[],\"end_of_word_suffix\":\"0123456789012345678901234567890123"
                  "0123456789012345678901234567890123\""),
            "64 bytes");
    REFUSED(MODEL("\"merges\":[],\"unk_token\":4"), "model.unk_token: expected a string");
    REFUSED("{\"added_tokens\":{}," WORDS "}", "added_tokens: expected an array");
    REFUSED("{\"added_tokens\":[{\"id\":5}]," WORDS "}", "content: missing");
    REFUSED("{\"added_tokens\":[{\"id\":-5,\"content\":\"x\"}]," WORDS "}",
            "added_tokens[0].id: id -5 is out of range");
    REFUSED("{\"padding\":{\"pad_id\":-1}," WORDS "}", "padding: pad_id or pad_type_id is out of range");
    close_context(cx);
}

static void test_parts_refused(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
#define PART(key, value) "{\"" key "\":" value "," WORDS "}"
    REFUSED(PART("normalizer", "3"), "normalizer: expected an object");
    REFUSED(PART("normalizer", "{}"), "normalizer.type: missing");
    REFUSED(PART("normalizer", "{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"a\"}"), "not base64");
    REFUSED(PART("normalizer", "{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"/wAAAAAA\"}"), "cut off");
    REFUSED(PART("normalizer", "{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"BAAAAAAAAAD/\"}"),
            "replacements that are not UTF-8");
    REFUSED(PART("normalizer", "{\"type\":\"Replace\",\"content\":\"\"}"), "normalizer.pattern: missing");
    REFUSED(PART("normalizer", "{\"type\":\"Sequence\"}"), "normalizer.normalizers: missing");
    REFUSED(PART("normalizer", "{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"NFC\"},{\"type\":\"X\"}]}"),
            "normalizer.normalizers[1]: type 'X' is not supported");
    REFUSED(PART("normalizer", "{\"type\":\"Strip\",\"strip_left\":1}"), "strip_left: expected true or false");
    REFUSED(PART("pre_tokenizer", "{\"type\":\"Fingers\"}"), "pre_tokenizer: type 'Fingers' is not supported");
    REFUSED(PART("pre_tokenizer", "{\"type\":\"FixedLength\",\"length\":0}"), "length: must be positive");
    REFUSED(PART("pre_tokenizer", "{\"type\":\"CharDelimiterSplit\"}"), "pre_tokenizer.delimiter: missing");
    REFUSED(PART("pre_tokenizer", "{\"type\":\"Metaspace\",\"replacement\":\"ab\"}"), "must be one character");
    REFUSED(PART("pre_tokenizer", "{\"type\":\"Metaspace\",\"replacement\":\"\"}"), "must be one character");
    REFUSED(PART("pre_tokenizer", "{\"type\":\"Metaspace\",\"prepend_scheme\":\"x\"}"), "no prepend_scheme 'x'");
#define SPLIT(pattern, behavior) "{\"type\":\"Split\",\"pattern\":" pattern ",\"behavior\":\"" behavior "\"}"
    REFUSED(PART("pre_tokenizer", SPLIT("{\"String\":\"a\"}", "Eaten")), "no behavior 'Eaten'");
    REFUSED(PART("pre_tokenizer", SPLIT("{\"Regex\":\"(a\"}", "Removed")),
            "pattern.Regex: the regular expression '(a' is not supported: ')' is missing");
    REFUSED(PART("pre_tokenizer", SPLIT("{\"Regex\":\"*a\"}", "Removed")), "the regular expression '*a'");
    REFUSED(PART("pre_tokenizer", SPLIT("{\"Regex\":\"[a\"}", "Removed")), "']' is missing");
    REFUSED(PART("pre_tokenizer", SPLIT("{\"Regex\":\"\\\\p{Nowhere}\"}", "Removed")), "a property that is not known");
    REFUSED(PART("pre_tokenizer", SPLIT("{\"Regex\":\"(?~a)\"}", "Removed")), "the absent operator");
    REFUSED(PART("pre_tokenizer", SPLIT("{}", "Removed")), "pattern: neither String nor Regex");
    REFUSED(PART("post_processor", "{\"type\":\"Wrapping\"}"), "type 'Wrapping' is not supported");
    REFUSED(PART("post_processor", "{\"type\":\"BertProcessing\"}"), "post_processor.cls: missing");
    REFUSED(PART("post_processor", "{\"type\":\"BertProcessing\",\"cls\":[\"a\",0],\"sep\":[\"b\",7]}"),
            "post_processor.sep[1]: no token has id 7");
#define TEMPLATE(single, specials)                                                                                     \
    "{\"type\":\"TemplateProcessing\",\"single\":[" single "],\"special_tokens\":{" specials "}}"
    REFUSED(PART("post_processor", TEMPLATE("{\"Sequence\":{\"id\":\"B\"}}", "")), "a single text is sequence A");
    REFUSED(PART("post_processor", TEMPLATE("{\"SpecialToken\":{\"id\":\"x\"}}", "")),
            "'x' is not among its special_tokens");
    REFUSED(
        PART("post_processor", TEMPLATE("{\"SpecialToken\":{\"id\":\"x\"}}", "\"x\":{\"ids\":[9],\"tokens\":[\"x\"]}")),
        "no token has id 9");
    REFUSED(PART("post_processor", TEMPLATE("{\"SpecialToken\":{\"id\":\"x\"}}", "\"x\":{\"ids\":[0],\"tokens\":[]}")),
            "as many ids as tokens are needed");
    REFUSED(PART("decoder", "{\"type\":\"Wordless\"}"), "decoder: type 'Wordless' is not supported");
    REFUSED(PART("decoder", "{\"type\":\"BPEDecoder\",\"suffix\":\"\"}"), "decoder.suffix: is empty");
    char deep[4096] = "{\"normalizer\":", *end = deep + strlen(deep);
    for (int i = 0; i < 40; i++) end += sprintf(end, "{\"type\":\"Sequence\",\"normalizers\":[");
    for (int i = 0; i < 40; i++) end += sprintf(end, "]}");
    sprintf(end, "," WORDS "}");
    REFUSED(deep, "sequences within sequences more than 32 deep");
    close_context(cx);
}

/* A map of characters whose trie is one block of 256 units, of which the first is given in base64. */
static void refuse_charsmap(heed_ctx *cx, const char *first, const char *sentence) {
    char text[2048], *end = text;
    end += sprintf(end, "{\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"AAQAA%s", first);
    for (int i = 0; i < 1365 - (int)strlen(first); i++) *end++ = 'A';
    sprintf(end, "B4AA==\"}," WORDS "}");
    REFUSED(text, sentence);
}

static void test_tries_refused(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    refuse_charsmap(cx, "ACwB", "precompiled_charsmap: unit 0 of its trie points outside"); /* to unit 300 */
    refuse_charsmap(cx, "AAAB", "precompiled_charsmap: unit 0 of its trie points outside"); /* to replacement 256 */
    close_context(cx);
}

/* A merge may give one of its own parts: merging ends all the same. */
static void test_circular_merges(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const char *text =
        "{\"model\":{\"type\":\"BPE\",\"continuing_subword_prefix\":\"x\",\"vocab\":{\"a\":0,\"x\":1,\"xa\":2},"
        "\"merges\":[[\"a\",\"x\"],[\"x\",\"xa\"],[\"xa\",\"x\"]]}}";
    heed_tokenizer *t = NULL;
    REFUSED("{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1},\"merges\":[\"a b\",\"ab a\"]}}",
            "'ab' is not in the vocabulary");
    t = tokenizer_parse(cx, "t.json", text, strlen(text));
    char *word = malloc(100000);
    heed_ids ids = {0};
    for (int i = 0; i < 100000; i++) word[i] = i % 2 ? 'x' : 'a';
    assert_true(heed_encode(cx, t, word, 100000, true, &ids));
    assert_true(ids.count > 0);
    heed_ids_free(cx, &ids);
    free(word);
    heed_tokenizer_free(cx, t);
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

static bool read_pieces(heed_ctx *cx, const void *bytes, size_t size) {
    struct spm model = {0};
    const bool ok = spm_parse(cx, "model", bytes, size, &model);
    spm_free(cx, &model);
    return ok;
}

/* Of a SentencePiece model of two pieces, what they are is cut off only where a piece ends. */
static void test_hostile_pieces(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    static const char model[] = "\x0A\x0E\x0A\x05<unk>\x15\x00\x00\x00\x00\x18\x02"
                                "\x0A\x0B\x0A\x04\xE2\x96\x81"
                                "a\x15\x00\x00\x80\xBF"
                                "\x12\x05\x18\x02\xC0\x02\x00"
                                "\x1A\x02\x18\x00";
    assert_true(parse_exact(cx, read_pieces, model, sizeof model - 1));
    assert_int_equal(truncate_everywhere(cx, read_pieces, model, sizeof model - 2), 3);
    mutate_often(cx, read_pieces, model, sizeof model - 1, 3000);
    close_context(cx);
    starve(read_pieces, model, sizeof model - 1);
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
        cmocka_unit_test(test_many_values),     cmocka_unit_test(test_models_refused),
        cmocka_unit_test(test_parts_refused),   cmocka_unit_test(test_tries_refused),
        cmocka_unit_test(test_circular_merges), cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_hostile_pieces),  cmocka_unit_test(test_starved_training),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
