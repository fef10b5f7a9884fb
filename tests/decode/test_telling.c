/* on_text: the pieces are whole characters and together the text that is decoded at the end, without stop texts. */
#include "decode/generate_test.h"

struct told {
    heed_ctx *cx;
    heed_string text;
    int pieces, most;
};

static bool take(void *user, int64_t sequence, const char *text, size_t size) {
    struct told *t = user;
    assert_int_equal(sequence, 0);
    assert_int_equal(strlen(text), size);
    heed_string_put(t->cx, &t->text, text, size);
    return ++t->pieces < t->most;
}

static void test_text(void **unused) {
    (void)unused;
    char dir[600];
    snprintf(dir, sizeof dir, "%s/model/gpt2-options", getenv("HEED_GOLDEN"));
    heed_ctx *cx = heed_open(&(heed_config){.threads = 1});
    heed_generator *g = heed_generator_open(cx, dir);
    if (!g) fail_msg("%s", heed_message(cx));
    static const char *const stops[] = {"n ge", "zzz"};
    for (int way = 0; way < 3; way++) {
        struct told t = {.cx = cx, .most = way == 2 ? 2 : 1000};
        heed_string text = {0};
        heed_generate_opts o = {.beams = 1, .max_new_tokens = 60, .context_shift = true, .on_text = take, .user = &t};
        if (way == 1) o.stop = stops, o.n_stop = 2;
        if (!heed_generate_text(cx, g, "gin pis", &o, &text)) fail_msg("%s", heed_message(cx));
        assert_string_equal(t.text.s, text.s);
        if (way == 1) assert_string_equal(text.s, " kar ma");
        if (way == 2) assert_string_equal(text.s, " kar man");
        heed_string_free(cx, &text), heed_string_free(cx, &t.text);
    }
    heed_ids prompt = {0};
    heed_ids_put(cx, &prompt, 3);
    const heed_generate_opts without = {.beams = 1, .max_new_tokens = 2, .on_text = take};
    assert_null(heed_generate(cx, g->model, &prompt, 1, &without));
    EXPECT_SENTENCE(cx, "generate: on_text needs stop_tokens, the tokenizer of the text");
    heed_ids_free(cx, &prompt);
    heed_generator_free(cx, g);
    heed_close(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_text)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
