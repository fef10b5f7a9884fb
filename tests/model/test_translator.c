/* Translating text: preprocessing in config.json, misuse, and memory that is refused anywhere. */
#include "heed/data.h"
#include "heed/translate.h"
#include "io/io_test.h"

static heed_model *small_model(heed_ctx *cx) {
    static const char *const settings[] = {
        "vocab_size=20",     "d_model=8",         "encoder_layers=1",          "decoder_layers=1",
        "encoder_ffn_dim=8", "decoder_ffn_dim=8", "encoder_attention_heads=2", "decoder_attention_heads=2"};
    heed_model *m = heed_model_new(cx, heed_family_find("transformer"), settings, 8, 1);
    if (!m) fail_msg("%s", heed_message(cx));
    return m;
}

static void test_preprocessing(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const heed_preprocessing prep = {.from = "en", .to = "de", .moses = true, .lower = true};
    heed_preprocessing found = prep;
    heed_json config = heed_json_new(cx, "config.json");
    assert_true(heed_preprocessing_get(cx, config, &found)); /* nothing said */
    assert_true(!found.moses && !found.lower && !*found.from && !*found.to);
    assert_true(heed_preprocessing_put(cx, config, &prep) && heed_preprocessing_get(cx, config, &found));
    assert_memory_equal(&found, &prep, sizeof prep);
    heed_string text = {0};
    assert_true(heed_preprocess(cx, &prep, HEED_SOURCE, "It's A Bird.", 12, &text));
    assert_string_equal(text.s, "it &apos;s a bird .");
    heed_string_free(cx, &text);
    assert_false(heed_preprocessing_put(cx, config, NULL));
    EXPECT_SENTENCE(cx, "preprocessing: there is none to write");
    assert_false(heed_preprocessing_get(cx, config, NULL));
    EXPECT_SENTENCE(cx, "preprocessing: a place for it is needed");
    assert_false(heed_preprocess(cx, NULL, HEED_SOURCE, "a", 1, &text));
    EXPECT_SENTENCE(cx, "preprocess: ");
    heed_json_free(config);
    close_context(cx);
}

/* Whichever allocation fails, what was taken is given back and nothing else. */
static void test_refused_memory(void **state) {
    (void)state;
    int32_t ids[] = {4, 5, 6, 2};
    const heed_ids source[] = {{.id = ids, .count = 4}, {.count = 0}, {.id = ids + 1, .count = 3}};
    bool done = false;
    for (int64_t n = 1; !done; n++) {
        heed_ctx *cx = open_context();
        heed_model *m = small_model(cx);
        heed_translated t;
        books.fail_at = books.requests + n;
        done = heed_translate_ids(cx, m, source, 3, &(heed_generate_opts){.beams = 2, .max_length = 4}, &t);
        assert_int_equal(heed_error(cx), done ? HEED_OK : HEED_ERR_MEMORY);
        if (done) heed_translated_free(cx, &t);
        heed_model_free(cx, m);
        heed_close(cx);
        assert_int_equal(books.live + books.blocks, 0);
        assert_int_equal(books.mistakes, 0);
        assert_true(n < 10000);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_preprocessing),
        cmocka_unit_test(test_refused_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
