/* Text as its tokens come: whole characters, and together what decoding all of them gives, whatever the decoder; as the
 * continuation of what came before. */
#include "heed/text.h"
#include "io/io_test.h"

static const char *const kinds[] = {
    /* decoders, with tokens of their own */
    "{\"type\": \"ByteLevel\"}",
    "{\"type\": \"Sequence\", \"decoders\": [{\"type\": \"Replace\", \"pattern\": {\"String\": \"\xE2\x96\x81\"}, "
    "\"content\": \" \"}, {\"type\": \"ByteFallback\"}, {\"type\": \"Fuse\"}, {\"type\": \"Strip\", \"content\": \" "
    "\", \"start\": 1, \"stop\": 0}]}",
    "{\"type\": \"WordPiece\", \"prefix\": \"##\", \"cleanup\": true}",
    "{\"type\": \"Metaspace\", \"replacement\": \"\xE2\x96\x81\", \"prepend_scheme\": \"always\"}",
    "{\"type\": \"BPEDecoder\", \"suffix\": \"</w>\"}",
    "null",
};
enum { KINDS = sizeof kinds / sizeof *kinds, V = 16, LONGEST = 70 };
static const char *const tokens[] = {"a",
                                     "##b",
                                     "c</w>",
                                     "\xE2\x96\x81",
                                     "\xE2\x96\x81"
                                     "d",
                                     "<0xE6>",
                                     "<0x9C>",
                                     "<0xA8>",
                                     "\xC3\xA6",
                                     "\xC4\xBE",
                                     "\xC2\xA8",
                                     ".",
                                     "\xC4\xA0"
                                     "e",
                                     "</w>",
                                     "'s",
                                     "<s>"};

static heed_tokenizer *make(heed_ctx *cx, const char *decoder) {
    FILE *f = fopen(in_folder("tokenizer.json"), "w");
    assert_non_null(f);
    fprintf(f,
            "{\"version\": \"1.0\", \"truncation\": null, \"padding\": null, \"added_tokens\": [{\"id\": %d, "
            "\"content\": \"<s>\", \"single_word\": false, \"lstrip\": false, \"rstrip\": false, \"normalized\": "
            "false, \"special\": true}], \"normalizer\": null, \"pre_tokenizer\": null, \"post_processor\": null, "
            "\"decoder\": %s, \"model\": {\"type\": \"WordLevel\", \"unk_token\": \"a\", \"vocab\": {",
            V - 1, decoder);
    for (int i = 0; i < V; i++) fprintf(f, "%s\"%s\": %d", i ? ", " : "", tokens[i], i);
    fputs("}}}\n", f);
    fclose(f);
    heed_tokenizer *t = heed_tokenizer_load(cx, in_folder("tokenizer.json"));
    if (!t) fail_msg("%s", heed_message(cx));
    return t;
}

/* As heed_generator_decode has it. */
static void whole(heed_ctx *cx, const heed_tokenizer *t, const int32_t *ids, int64_t given, int64_t n,
                  heed_string *to) {
    heed_string before = {0}, all = {0};
    assert_true(heed_decode(cx, t, ids, given, false, &before) && heed_decode(cx, t, ids, n, false, &all));
    to->size = 0;
    if (all.size >= before.size && memcmp(all.s, before.s, before.size) == 0)
        heed_string_put(cx, to, all.s + before.size, all.size - before.size);
    else
        heed_decode(cx, t, ids + given, n - given, false, to);
    heed_string_free(cx, &before), heed_string_free(cx, &all);
}

static void test_same(void **unused) {
    (void)unused;
    heed_ctx *cx = open_context();
    heed_string want = {0}, got = {0};
    for (int k = 0; k < KINDS; k++) {
        heed_tokenizer *t = make(cx, kinds[k]);
        for (uint64_t draw = 0; draw < 300; draw++) {
            int32_t ids[LONGEST];
            for (int i = 0; i < LONGEST; i++) ids[i] = (int32_t)(heed_random_bits(3, draw, (uint64_t)i) % V);
            const int64_t given = (int64_t)draw % 25, n = given + (int64_t)(draw * 7 % 46);
            heed_text_stream *s = heed_text_stream_new(cx, t, ids, given);
            got.size = 0;
            for (int64_t i = given; i < n; i++) assert_true(heed_text_stream_put(cx, s, ids[i], &got));
            assert_true(heed_text_stream_end(cx, s, &got));
            whole(cx, t, ids, given, n, &want);
            if (got.size != want.size || (got.size > 0 && memcmp(got.s, want.s, got.size) != 0))
                fail_msg("decoder %d, draw %d: '%s', not '%s'", k, (int)draw, got.s, want.s);
            heed_text_stream_free(cx, s);
        }
        heed_tokenizer_free(cx, t);
    }
    heed_string_free(cx, &want), heed_string_free(cx, &got);
    close_context(cx);
}

/* Bytes of a character come out together; tokens that do not exist are nothing. */
static void test_characters(void **unused) {
    (void)unused;
    heed_ctx *cx = open_context();
    heed_tokenizer *t = make(cx, kinds[0]);
    heed_text_stream *s = heed_text_stream_new(cx, t, NULL, 0);
    heed_string got = {0};
    static const int32_t ids[] = {0, 8, 9, 99, 10, 15};
    static const size_t sizes[] = {1, 1, 1, 1, 4, 4};
    for (int i = 0; i < 6; i++) {
        assert_true(heed_text_stream_put(cx, s, ids[i], &got));
        assert_int_equal(got.size, sizes[i]);
    }
    assert_string_equal(got.s, "a\xE6\x9C\xA8");
    assert_null(heed_text_stream_new(cx, NULL, NULL, 0));
    EXPECT_SENTENCE(cx, "text_stream: the tokenizer or the tokens are NULL");
    assert_false(heed_text_stream_put(cx, NULL, 0, &got));
    EXPECT_SENTENCE(cx, "text_stream: the stream or string is NULL");
    assert_false(heed_text_stream_end(cx, NULL, &got));
    EXPECT_SENTENCE(cx, "text_stream: the stream or string is NULL");
    heed_text_stream_free(cx, NULL), heed_text_stream_free(cx, s);
    heed_string_free(cx, &got);
    heed_tokenizer_free(cx, t);
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_same), cmocka_unit_test(test_characters)};
    return cmocka_run_group_tests(tests, make_folder, wipe_folder);
}
