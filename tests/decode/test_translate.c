/* Translating text: one call against its steps, preprocessing in config.json, misuse, and memory that is refused. */
#include "heed/data.h"
#include "heed/translate.h"
#include "io/io_test.h"

static heed_model *small_model(heed_ctx *cx, int64_t vocabulary) {
    char size[40];
    snprintf(size, sizeof size, "vocab_size=%d", (int)vocabulary);
    const char *const settings[] = {size,
                                    "d_model=8",
                                    "encoder_layers=1",
                                    "decoder_layers=1",
                                    "encoder_ffn_dim=8",
                                    "decoder_ffn_dim=8",
                                    "encoder_attention_heads=2",
                                    "decoder_attention_heads=2",
                                    "init_std=1",
                                    "tie_word_embeddings=false"};
    heed_model *m = heed_model_new(cx, heed_family_find("transformer"), settings, 10, 1);
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

/* ---- text to text ---- */

/* A directory with fresh weights and one tokenizer of words for both languages; `unk` NULL: it has no unknown token. */
static const char *make_directory(heed_ctx *cx, const char *unk) {
    const char *dir = in_folder("model");
    heed_string words = {0};
    heed_lines lines = {0};
    const char *text = "a bird fl ies . the win dow\n";
    assert_true(heed_string_put(cx, &words, text, strlen(text)) && heed_lines_cut(cx, &words, &lines));
    const heed_lines *const texts[] = {&lines};
    heed_tokenizer *t = heed_tokenizer_train(
        cx, texts, 1,
        &(heed_tokenizer_opts){.kind = HEED_TOKENS_WORD, .pad = "<pad>", .eos = "</s>", .unk = unk, .add_eos = true});
    heed_model *m = small_model(cx, heed_tokenizer_size(t));
    const heed_preprocessing prep = {.from = "en", .to = "de", .moses = true, .lower = true};
    heed_json_put_int(cx, heed_model_config(m), "eos_token_id", heed_tokenizer_id(t, "</s>"));
    assert_true(heed_preprocessing_put(cx, heed_model_config(m), &prep) && heed_model_save(cx, m, dir) &&
                heed_tokenizer_save(cx, t, dir));
    heed_model_free(cx, m);
    heed_tokenizer_free(cx, t);
    heed_lines_free(cx, &lines);
    return dir;
}

/* The same by hand: preprocessed, encoded, generated, decoded, detokenised. */
static void by_hand(heed_ctx *cx, const heed_translator *t, const char *text, const heed_generate_opts *opts,
                    heed_string *to) {
    heed_string prepared = {0}, decoded = {0};
    heed_ids ids = {0};
    assert_true(heed_preprocess(cx, &t->preprocessing, HEED_SOURCE, text, strlen(text), &prepared) &&
                heed_encode(cx, t->tokens[0], prepared.s, prepared.size, true, &ids));
    heed_generated *g = heed_generate(cx, t->model, &ids, 1, opts);
    assert_non_null(g);
    assert_true(heed_decode(cx, t->tokens[1], g->best[0].ids, g->best[0].length, false, &decoded) &&
                heed_moses_detokenise(cx, decoded.s, decoded.size, "de", to));
    heed_mem_free(cx, g);
    heed_ids_free(cx, &ids);
    heed_string_free(cx, &prepared);
    heed_string_free(cx, &decoded);
}

static void test_text(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_translator *t = heed_translator_open(cx, make_directory(cx, "<unk>"));
    const heed_generate_opts opts = {
        .beams = 3, .length_penalty = 1, .max_length = 9, .min_length = 6, .no_repeat_ngram = 1};
    heed_string found = {0}, wanted = {0};
    heed_string_put(cx, &found, "> ", 2);
    assert_true(heed_translate_text(cx, t, "A bird flies.", &opts, &found));
    heed_string_put(cx, &wanted, "> ", 2);
    by_hand(cx, t, "A bird flies.", &opts, &wanted);
    assert_true(wanted.size > 2);
    assert_string_equal(found.s, wanted.s); /* added to what was there */
    heed_string_free(cx, &found);
    assert_true(heed_translate_text(cx, t, "A bird flies.", NULL, &found)); /* greedy */
    heed_string_free(cx, &found);
    assert_true(heed_translate_text(cx, t, " \t\n", &opts, &found));
    assert_string_equal(found.s, "");
    heed_string_put(cx, &found, "kept", 4);
    assert_false(heed_translate_text(cx, t, "a \xFF bird", &opts, &found));
    EXPECT_SENTENCE(cx, "byte 3 is not UTF-8");
    char *many = malloc(2 * 2000 + 1);
    for (int i = 0; i < 2000; i++) memcpy(many + 2 * i, "a ", 3);
    assert_false(heed_translate_text(cx, t, many, &opts, &found));
    EXPECT_SENTENCE(cx, "a sentence of 2001 tokens: the model has positions for 1024");
    free(many);
    assert_false(heed_translate_text(cx, t, "a", &(heed_generate_opts){.beams = -1}, &found));
    EXPECT_SENTENCE(cx, "generate: a beam width of -1");
    assert_false(heed_translate_text(cx, t, "a", &(heed_generate_opts){.beams = 2, .n_best = 2}, &found));
    EXPECT_SENTENCE(cx, "translate: a text has one translation, not the 2 best");
    assert_string_equal(found.s, "kept");
    const heed_generate_opts *none = NULL;
    assert_false(heed_translate_text(cx, NULL, "a", none, &found));
    EXPECT_SENTENCE(cx, "translate: ");
    assert_false(heed_translate_text(cx, t, NULL, none, &found) || (heed_clear(cx), false));
    assert_false(heed_translate_text(cx, t, "a", none, NULL) || (heed_clear(cx), false));
    assert_false(heed_translator_encode(cx, t, "a", 1, NULL) || (heed_clear(cx), false));
    heed_string_free(cx, &found);
    heed_string_free(cx, &wanted);
    heed_translator_free(cx, t);

    t = heed_translator_open(cx, make_directory(cx, NULL));
    heed_ids ids = {0};
    assert_true(heed_translator_encode(cx, t, "the bird", 8, &ids));
    const int64_t before = ids.count;
    assert_false(heed_translator_encode(cx, t, "the zebra", 9, &ids));
    EXPECT_SENTENCE(cx, "'zebra' is not in the vocabulary");
    assert_int_equal(ids.count, before);
    assert_true(heed_translator_encode(cx, t, "the bird", 3, &ids)); /* three bytes of it */
    assert_int_equal(ids.count, before + 2);
    heed_ids_free(cx, &ids);
    heed_translator_free(cx, t);
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
        heed_model *m = small_model(cx, 20);
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
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_refused_memory),
    };
    return cmocka_run_group_tests(tests, make_folder, wipe_folder);
}
