/* Every component against Python's `tokenizers`: ids, types, offsets, words, pieces and decoded text, of one text and
 * of two; and texts that are long or made to be slow. */
#include "base/clock.h"
#include "text/text_test.h"
#include "text/tokenizer/tokenizer.h"

/* ---- golden files ---- */

/* jansson refuses NUL in strings, which these files hold: they are read by the tokenizers' own reader. */
static char *read_golden(const char *name, size_t *size) {
    const char *root = getenv("HEED_GOLDEN");
    char path[1024];
    snprintf(path, sizeof path, "%s/text/%s", root ? root : HEED_SOURCE_DIR "/tests/golden", name);
    return read_bytes(path, size);
}

static node item(const struct tree *t, node list, int i) {
    node v = tree_first(t, list);
    while (i-- > 0) v = tree_next(t, v);
    return v;
}

static int64_t value_of(const heed_token *token, int field) {
    const int64_t values[] = {token->id, token->type, token->start, token->end, token->word};
    return values[field];
}

/* Field(s) `from` up to `to` of every token, one after the other. */
static void expect_numbers(const struct tree *t, node list, const heed_encoding *e, int from, int to,
                           const char *what) {
    int64_t i = 0;
    if (list->size != e->count * (to - from)) fail_msg("%s: %lld tokens", what, (long long)e->count);
    for (EACH_NODE(v, t, list)) {
        const int64_t found = value_of(&e->token[i / (to - from)], from + (int)(i % (to - from)));
        if (found != (int64_t)v->number)
            fail_msg("%s %lld: %lld, should be %g", what, (long long)i, (long long)found, v->number);
        i++;
    }
}

static void expect_row(heed_ctx *cx, const heed_tokenizer *tokenizer, const struct tree *t, node row,
                       const char *name) {
    const node text = item(t, row, 0), pair = item(t, row, 1);
    const bool two = pair->kind == TREE_TEXT;
    const heed_encode_opts o = {
        .pair = two ? pair->text : NULL, .pair_size = two ? pair->size : 0, .plain = item(t, row, 2)->number == 0};
    static const int fields[][3] = {{3, 0, 1}, {4, 1, 2}, {5, 2, 4}, {6, 4, 5}};
    heed_encoding e = {0};
    heed_ids ids = {0};
    if (!heed_encode_text(cx, tokenizer, text->text, text->size, &o, &e))
        fail_msg("%s: '%s': %s", name, text->text, heed_message(cx));
    char what[256];
    for (int i = 0; i < 4; i++) {
        static const char *const names[] = {"ids", "types", "offsets", "words"};
        snprintf(what, sizeof what, "%s: '%.100s': %s", name, text->text, names[i]);
        if (item(t, row, fields[i][0])->kind == TREE_NULL) continue; /* Python does not tell */
        expect_numbers(t, item(t, row, fields[i][0]), &e, fields[i][1], fields[i][2], what);
    }
    int64_t i = 0;
    for (EACH_NODE(v, t, item(t, row, 7))) {
        const heed_token *token = &e.token[i++];
        if (token->size != v->size || memcmp(e.text.s + token->text, v->text, v->size) != 0)
            fail_msg("%s: '%s': piece %lld is '%.*s', should be '%s'", name, text->text, (long long)i - 1,
                     (int)token->size, e.text.s + token->text, v->text);
    }
    for (i = 0; i < e.count; i++) heed_ids_put(cx, &ids, e.token[i].id);
    for (int keep = 0; keep < 2; keep++) {
        heed_string back = {0};
        const node wanted = item(t, row, 8 + keep);
        assert_true(heed_decode(cx, tokenizer, ids.id, ids.count, keep, &back));
        if (back.size != wanted->size || memcmp(back.s, wanted->text, back.size) != 0)
            fail_msg("%s: '%s' came back as '%s', should be '%s'", name, text->text, back.s, wanted->text);
        heed_string_free(cx, &back);
    }
    if (!two) { /* the short way gives the same */
        heed_ids again = {0};
        assert_true(heed_encode(cx, tokenizer, text->text, text->size, !o.plain, &again));
        assert_int_equal(again.count, ids.count);
        if (ids.count > 0) assert_memory_equal(again.id, ids.id, (size_t)ids.count * sizeof *ids.id);
        heed_ids_free(cx, &again);
    }
    heed_encoding_free(cx, &e);
    heed_ids_free(cx, &ids);
}

static void test_golden(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    size_t size;
    struct tree t;
    char *text = read_golden("pipelines.json", &size);
    if (!tree_parse(cx, "pipelines.json", text, size, &t)) fail_msg("%s", heed_message(cx));
    assert_true(tree_root(&t)->size >= 28);
    for (EACH_NODE(one, &t, tree_root(&t))) {
        const node name = tree_find(&t, one, "name"), file = tree_find(&t, one, "tokenizer");
        heed_tokenizer *tokenizer = tokenizer_parse(cx, name->text, file->text, file->size);
        if (!tokenizer) fail_msg("%s", heed_message(cx));
        for (EACH_NODE(row, &t, tree_find(&t, one, "rows"))) expect_row(cx, tokenizer, &t, row, name->text);
        heed_tokenizer_free(cx, tokenizer);
    }
    tree_free(&t);
    free(text);
    close_context(cx);
}

/* ---- directories ---- */

static int base64_digit(char c) {
    const char *digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : 0;
}

static void write_base64(const char *path, node text) {
    unsigned char *bytes = malloc(text->size + 4);
    size_t n = 0;
    for (uint32_t i = 0; i + 3 < text->size; i += 4) {
        uint32_t bits = 0;
        for (uint32_t k = 0; k < 4; k++) bits = bits << 6 | (uint32_t)base64_digit(text->text[i + k]);
        for (int k = 2; k >= 0; k--) bytes[n++] = (unsigned char)(bits >> (8 * k));
    }
    for (uint32_t i = text->size; i > 0 && text->text[i - 1] == '='; i--) n--;
    write_bytes(path, bytes, n);
    free(bytes);
}

/* Files of older models, as transformers' AutoTokenizer reads them. */
static void test_directories(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    size_t size;
    struct tree t;
    char *text = read_golden("directories.json", &size);
    if (!tree_parse(cx, "directories.json", text, size, &t)) fail_msg("%s", heed_message(cx));
    assert_true(tree_root(&t)->size >= 29);
    for (EACH_NODE(one, &t, tree_root(&t))) {
        const node name = tree_find(&t, one, "name");
        for (EACH_NODE(file, &t, tree_find(&t, one, "files"))) write_base64(in_folder(file->key), file);
        heed_tokenizer *tokenizer = heed_tokenizer_load(cx, folder);
        if (!tokenizer) fail_msg("%s: %s", name->text, heed_message(cx));
        for (EACH_NODE(row, &t, tree_find(&t, one, "rows"))) expect_row(cx, tokenizer, &t, row, name->text);
        /* what it was made of can be saved, and opened again */
        heed_tokenizer *again = tokenizer_parse(cx, "saved", tokenizer->json, tokenizer->json_size);
        assert_non_null(again);
        heed_tokenizer_free(cx, again);
        heed_tokenizer_free(cx, tokenizer);
        for (EACH_NODE(file, &t, tree_find(&t, one, "files"))) unlink(in_folder(file->key));
    }
    tree_free(&t);
    free(text);
    close_context(cx);
}

static void refuse_directory(heed_ctx *cx, const char *file, const void *bytes, size_t size, const char *sentence) {
    write_bytes(in_folder(file), bytes, size);
    assert_null(heed_tokenizer_load(cx, folder));
    EXPECT_SENTENCE(cx, sentence);
    unlink(in_folder(file));
}

static void test_directories_refused(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    assert_null(heed_tokenizer_load(cx, folder));
    EXPECT_SENTENCE(cx, "no tokenizer.json, vocab.txt, vocab.json with merges.txt, or SentencePiece model");
    refuse_directory(cx, "vocab.txt", "a\xFF\n", 3, "vocab.txt: byte 2 is not UTF-8");
    refuse_directory(cx, "tokenizer.model", "", 0, "a SentencePiece model without pieces");
    refuse_directory(cx, "tokenizer.model", "\x0A\x7F", 2, "tokenizer.model: not a SentencePiece model, or cut off");
    refuse_directory(cx, "tokenizer.model", "\x0A\x03\x0A\x01\xFF", 5, "not a SentencePiece model");
    refuse_directory(cx, "tokenizer.model",
                     "\x0A\x03\x0A\x01"
                     "a\x12\x03\xC0\x02\x07",
                     10, "the unknown piece 7 is out of range");
    write_bytes(in_folder("vocab.txt"), "a\n", 2);
    refuse_directory(cx, "tokenizer_config.json", "{\"tokenizer_class\":\"TapasTokenizer\"}", 36,
                     "the tokenizer of class 'TapasTokenizer' is not supported without tokenizer.json");
    refuse_directory(cx, "config.json", "{\"model_type\":\"tapas\"}", 22,
                     "the tokenizer of model type 'tapas' is not supported without tokenizer.json");
    unlink(in_folder("vocab.txt"));
    write_bytes(in_folder("merges.txt"), "a b c\n", 6);
    refuse_directory(cx, "vocab.json", "{\"a\":0,\"b\":1}", 13, "a merge is two tokens and a space");
    refuse_directory(cx, "vocab.json", "{\"a\":-1}", 8, "vocab.json: a: id -1 is out of range");
    write_bytes(in_folder("vocab.json"), "{\"a\":0,\"b\":1}", 13);
    write_bytes(in_folder("merges.txt"), "a b\n", 4);
    write_bytes(in_folder("config.json"), "{\"model_type\":\"gpt2\"}", 21);
    refuse_directory(cx, "added_tokens.json", "{\"c\":99999999999999999999}", 26,
                     "added_tokens.json: c: id 9223372036854775807 is out of range");
    refuse_directory(cx, "added_tokens.json", "{\"c\":-7}", 8, "added_tokens.json: c: id -7 is out of range");
    refuse_directory(cx, "added_tokens.json", "{\"c\":\"7\"}", 9, "added_tokens.json: c: expected an integer");
    unlink(in_folder("config.json"));
    unlink(in_folder("vocab.json"));
    unlink(in_folder("merges.txt"));
    close_context(cx);
}

/* ---- lengths ---- */

static heed_tokenizer *parse(heed_ctx *cx, const char *text) {
    heed_tokenizer *t = tokenizer_parse(cx, "t.json", text, strlen(text));
    if (!t) fail_msg("%s", heed_message(cx));
    return t;
}

#define WORDS                                                                                                          \
    "\"pre_tokenizer\":{\"type\":\"WhitespaceSplit\"},\"model\":{\"type\":\"WordLevel\",\"unk_token\":\"a\","          \
    "\"vocab\":{\"[PAD]\":0,\"[CLS]\":1,\"[SEP]\":2,\"a\":3,\"b\":4,\"c\":5}},\"post_processor\":{\"type\":"           \
    "\"BertProcessing\",\"cls\":[\"[CLS]\",1],\"sep\":[\"[SEP]\",2]}"

static void expect_ids(heed_ctx *cx, const heed_tokenizer *t, const char *text, const heed_encode_opts *o,
                       const char *wanted) {
    heed_encoding e = {0};
    char found[256] = "";
    if (!heed_encode_text(cx, t, text, strlen(text), o, &e)) fail_msg("%s", heed_message(cx));
    for (int64_t i = 0; i < e.count; i++)
        sprintf(found + strlen(found), "%s%d%s", i ? " " : "", e.token[i].id, e.token[i].padding ? "p" : "");
    assert_string_equal(found, wanted);
    heed_encoding_free(cx, &e);
}

static void test_lengths(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_tokenizer *t = parse(cx, "{" WORDS "}");
    heed_tokenizer *left =
        parse(cx, "{\"truncation\":{\"direction\":\"Left\",\"max_length\":9,\"strategy\":\"LongestFirst\","
                  "\"stride\":0},\"padding\":{\"direction\":\"Left\",\"pad_id\":5,\"pad_token\":\"c\"}," WORDS "}");
    expect_ids(cx, t, "a b c a b c", &(heed_encode_opts){.truncate = 5}, "1 3 4 5 2");
    expect_ids(cx, left, "a b c a b c", &(heed_encode_opts){.truncate = 5}, "1 3 4 5 2");
    expect_ids(cx, left, "a a a c b b", &(heed_encode_opts){.truncate = 5}, "1 5 4 4 2");
    expect_ids(cx, t, "a b", &(heed_encode_opts){.pad = 6}, "1 3 4 2 0p 0p");
    expect_ids(cx, left, "a b", &(heed_encode_opts){.pad = 6}, "5p 5p 1 3 4 2");
    expect_ids(cx, t, "a b", &(heed_encode_opts){.truncate = 9, .plain = true}, "3 4");
    expect_ids(cx, t, "a a a a a", &(heed_encode_opts){.pair = "b", .pair_size = 1, .truncate = 6}, "1 3 3 2 4 2");
    expect_ids(cx, t, "a a a a a", &(heed_encode_opts){.pair = "b b b b", .pair_size = 7, .truncate = 8},
               "1 3 3 3 2 4 4 2");
    expect_ids(cx, t, "a b", &(heed_encode_opts){.truncate = 2}, "1 2");
    heed_encoding e = {0};
    assert_false(heed_encode_text(cx, t, "a", 1, &(heed_encode_opts){.truncate = 1}, &e));
    EXPECT_SENTENCE(cx, "encode: a maximum length of 1 is less than the 2 special tokens that are added");
    heed_encoding_free(cx, &e);
    heed_tokenizer_free(cx, t);
    heed_tokenizer_free(cx, left);
    close_context(cx);
}

/* ---- many lines ---- */

static void test_lines(void **state) {
    (void)state;
    char text[3000];
    int64_t start[1001], from[2][1001];
    for (int i = 0; i < 1000; i++) memcpy(text + 3 * i, i % 3 ? "b " : "a ", 3), start[i] = 3 * i;
    start[1000] = 3000;
    const heed_lines lines = {text, start, 1000};
    heed_ids ids[2] = {{0}, {0}};
    heed_ctx *contexts[2] = {heed_open(&(heed_config){.threads = 1}), heed_open(&(heed_config){.threads = 3})};
    for (int i = 0; i < 2; i++) {
        heed_tokenizer *t = parse(contexts[i], "{" WORDS "}");
        assert_true(heed_encode_lines(contexts[i], t, &lines, true, &ids[i], from[i]));
        heed_tokenizer_free(contexts[i], t);
    }
    assert_int_equal(ids[0].count, 3000);
    assert_int_equal(ids[1].count, 3000);
    assert_memory_equal(ids[0].id, ids[1].id, 3000 * sizeof(int32_t));
    assert_memory_equal(from[0], from[1], sizeof from[0]);
    for (int i = 0; i < 1000; i++) assert_int_equal(ids[1].id[from[1][i] + 1], i % 3 ? 4 : 3);
    for (int i = 0; i < 2; i++) {
        heed_ids_free(contexts[i], &ids[i]);
        heed_close(contexts[i]);
    }
}

/* ---- long and slow texts ---- */

static double seconds_of(heed_ctx *cx, const heed_tokenizer *t, const char *text, size_t size) {
    heed_ids ids = {0};
    const double begin = clock_seconds();
    heed_encode(cx, t, text, size, true, &ids);
    heed_ids_free(cx, &ids);
    return clock_seconds() - begin;
}

#define BYTES "\"model\":{\"type\":\"WordLevel\",\"unk_token\":\"a\",\"vocab\":{\"a\":0}}"

/* Marks of alternating classes, which a normal form sorts: once in 21 seconds. */
static void test_many_marks(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const size_t n = 100000;
    char *text = malloc(2 * n + 1);
    for (size_t i = 0; i < n; i++) memcpy(text + 2 * i, i % 2 ? "\xCC\x81" : "\xCC\xA3", 2);
    static const char *const forms[] = {"NFC", "NFD", "NFKC", "NFKD"};
    for (int i = 0; i < 4; i++) {
        char file[256];
        snprintf(file, sizeof file, "{\"normalizer\":{\"type\":\"%s\"}," BYTES "}", forms[i]);
        heed_tokenizer *t = parse(cx, file);
        assert_true(seconds_of(cx, t, text, 2 * n) < 3);
        assert_false(heed_failed(cx));
        heed_tokenizer_free(cx, t);
    }
    free(text);
    close_context(cx);
}

/* Added tokens of 2,000 lengths, of which none is there but every place looks like one: once 40 seconds. */
static void test_many_added(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const size_t most = 2000, n = 400000;
    char *file = malloc(most * (most + 64) + 1024), *text = malloc(n);
    size_t at = (size_t)sprintf(file, "{\"added_tokens\":[");
    for (size_t i = 1; i <= most; i++) {
        at += (size_t)sprintf(file + at, "%s{\"id\":%zu,\"content\":\"", i > 1 ? "," : "", i);
        memset(file + at, 'a', i);
        at += i;
        at += (size_t)sprintf(file + at, "b\"}");
    }
    sprintf(file + at, "]," BYTES "}");
    memset(text, 'a', n);
    heed_tokenizer *t = parse(cx, file);
    assert_true(seconds_of(cx, t, text, n) < 3);
    heed_ids ids = {0};
    text[n - 1] = 'b';
    assert_true(heed_encode(cx, t, text, n, true, &ids));
    assert_int_equal(ids.count, 2);
    assert_int_equal(ids.id[1], most); /* the longest */
    heed_ids_free(cx, &ids);
    heed_tokenizer_free(cx, t);
    free(file);
    free(text);
    close_context(cx);
}

/* Patterns that take more than linear time are refused within a second, and those that do not are not. */
static void test_slow_patterns(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    static const char *const slow[] = {"(a+)+$", "(a|aa)+$", "a*[bc]+", "\\\\s*[bc]+|(?:a?){30}a{30}$"};
    const size_t n = 300000;
    char *text = malloc(n + 1);
    memset(text, 'a', n);
    text[n] = 'x';
    for (size_t i = 0; i < sizeof slow / sizeof *slow; i++) {
        char file[512];
        snprintf(file, sizeof file,
                 "{\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"%s\"},\"behavior\":\"Isolated\","
                 "\"invert\":false}," BYTES "}",
                 slow[i]);
        heed_tokenizer *t = parse(cx, file);
        const double took = seconds_of(cx, t, text, n + 1);
        if (took > 5) fail_msg("'%s' took %.1f s", slow[i], took);
        if (heed_failed(cx)) EXPECT_SENTENCE(cx, "takes too long on this text");
        heed_tokenizer_free(cx, t);
    }
    free(text);
    close_context(cx);
}

/* A tokenizer may hold any string, NUL too. */
static void test_nul(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_tokenizer *t =
        parse(cx, "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"\\u0000\":1,\"a\\u0000\":2},\"merges\":[[\"a\","
                  "\"\\u0000\"]]}}");
    heed_ids ids = {0};
    heed_string back = {0};
    assert_true(heed_encode(cx, t, "a\0\0a", 4, true, &ids));
    assert_int_equal(ids.count, 3);
    assert_int_equal(ids.id[0], 2);
    assert_int_equal(ids.id[1], 1);
    assert_true(heed_decode(cx, t, ids.id, 2, false, &back));
    assert_int_equal(back.size, 4);
    assert_memory_equal(back.s, "a\0 \0", 4);
    heed_ids_free(cx, &ids);
    heed_string_free(cx, &back);
    heed_tokenizer_free(cx, t);
    close_context(cx);
}

/* A word may spell a token that only its end becomes: the second time as the first. */
static void test_inner_token(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_tokenizer *t = parse(cx, "{\"model\":{\"type\":\"BPE\",\"continuing_subword_prefix\":\"a\",\"vocab\":{\"b\":0,"
                                  "\"ab\":1},\"merges\":[]}}");
    heed_encoding e = {0};
    for (int round = 0; round < 2; round++) {
        assert_true(heed_encode_text(cx, t, "ab", 2, NULL, &e)); /* the a is unknown and dropped */
        assert_int_equal(e.count, 1);
        assert_int_equal(e.token[0].id, 1);
        assert_int_equal(e.token[0].start, 0);
        assert_int_equal(e.token[0].end, 1);
    }
    heed_encoding_free(cx, &e);
    heed_tokenizer_free(cx, t);
    close_context(cx);
}

/* Words one by one: offsets count in each, whatever pieces it is cut into. */
static void test_words(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_tokenizer *t = parse(cx, "{\"pre_tokenizer\":{\"type\":\"Punctuation\"},\"model\":{\"type\":\"WordLevel\","
                                  "\"unk_token\":\"?\",\"vocab\":{\"?\":0,\"a\":1,\".\":2,\"dd\":3}}}");
    const heed_word words[] = {{"a", 1}, {"a.dd", 4}, {"dd.", 3}};
    static const uint32_t wanted[][3] = {{0, 0, 1}, {1, 0, 1}, {1, 1, 2}, {1, 2, 4}, {2, 0, 2}, {2, 2, 3}};
    heed_encoding e = {0};
    assert_true(heed_encode_text(cx, t, "", 0, &(heed_encode_opts){.words = words, .n_words = 3}, &e));
    assert_int_equal(e.count, 6);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(e.token[i].word, wanted[i][0]);
        assert_int_equal(e.token[i].start, wanted[i][1]);
        assert_int_equal(e.token[i].end, wanted[i][2]);
    }
    heed_encoding_free(cx, &e);
    heed_tokenizer_free(cx, t);
    close_context(cx);
}

/* U+11A7 lies just before the final consonants of Hangul and composes with nothing. */
static void test_hangul(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_tokenizer *t = parse(cx, "{\"normalizer\":{\"type\":\"NFC\"},\"model\":{\"type\":\"Unigram\",\"unk_id\":0,"
                                  "\"vocab\":[[\"?\",0]]}}");
    heed_encoding e = {0};
    const char *given = "\xE1\x84\x86\xE1\x85\xAA\xE1\x86\xA7", *wanted = "\xEB\xAB\x84\xE1\x86\xA7";
    assert_true(heed_encode_text(cx, t, given, strlen(given), NULL, &e));
    assert_int_equal(e.count, 1);
    assert_int_equal(e.token[0].size, strlen(wanted));
    assert_memory_equal(e.text.s + e.token[0].text, wanted, strlen(wanted));
    heed_encoding_free(cx, &e);
    heed_tokenizer_free(cx, t);
    close_context(cx);
}

/* SentencePiece's ties: in single precision another order of the same pieces is best. */
static void test_single_precision(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
#define TIED "{\"model\":{\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":[[\"?\",0],[\"aa\",-1.6],[\"aaa\",-2.586]]"
    heed_tokenizer *t[] = {parse(cx, TIED "}}"), parse(cx, TIED ",\"single_precision\":true}}")};
    expect_ids(cx, t[0], "aaaaaaa", NULL, "1 1 2");
    expect_ids(cx, t[1], "aaaaaaa", NULL, "1 2 1");
    for (int i = 0; i < 2; i++) heed_tokenizer_free(cx, t[i]);
    close_context(cx);
}

/* Dropout that the file asks for: other pieces, the same text, and the same again for the same seed. */
static void test_dropout_of_file(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_tokenizer *t = parse(
        cx, "{\"decoder\":{\"type\":\"Fuse\"},\"model\":{\"type\":\"BPE\",\"dropout\":0.5,\"vocab\":{\"a\":0,\"aa\":1},"
            "\"merges\":[\"a a\"]}}");
    int64_t seen[2] = {0, 0};
    for (int seed = 0; seed < 2; seed++) {
        heed_ids ids = {0}, again = {0};
        char text[200];
        memset(text, 'a', sizeof text);
        heed_set_seed(cx, (uint64_t)seed);
        assert_true(heed_encode(cx, t, text, sizeof text, true, &ids));
        assert_true(heed_encode(cx, t, text, sizeof text, true, &again));
        assert_true(ids.count > 100 && ids.count < 200 && again.count == ids.count);
        assert_memory_equal(ids.id, again.id, (size_t)ids.count * sizeof *ids.id);
        for (int64_t i = 0; i < ids.count; i++) seen[seed] = 31 * seen[seed] % 1000003 + ids.id[i];
        heed_ids_free(cx, &ids);
        heed_ids_free(cx, &again);
    }
    assert_int_not_equal(seen[0], seen[1]);
    heed_tokenizer_free(cx, t);
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),
        cmocka_unit_test(test_directories),
        cmocka_unit_test(test_directories_refused),
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_many_marks),
        cmocka_unit_test(test_many_added),
        cmocka_unit_test(test_slow_patterns),
        cmocka_unit_test(test_nul),
        cmocka_unit_test(test_inner_token),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_hangul),
        cmocka_unit_test(test_single_precision),
        cmocka_unit_test(test_dropout_of_file),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
