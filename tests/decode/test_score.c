/* Log-probabilities against transformers', one at a time and together; what cannot be scored. */
#include "decode/generate_test.h"

#define MOST 64

static heed_generator *open_generator(heed_ctx *cx, const char *name) {
    char dir[600];
    snprintf(dir, sizeof dir, "%s/model/%s", getenv("HEED_GOLDEN"), name);
    heed_generator *g = heed_generator_open(cx, dir);
    if (!g) fail_msg("%s", heed_message(cx));
    return g;
}

static heed_json open_calls(heed_ctx *cx) {
    char path[600];
    snprintf(path, sizeof path, "%s/model/score.json", getenv("HEED_GOLDEN"));
    const heed_json all = heed_json_open(cx, path);
    if (heed_failed(cx)) fail_msg("%s", heed_message(cx));
    return all;
}

static bool near(double a, double b) { return fabs(a - b) <= 2e-5 * (1 + fabs(b)); }

static void compare(heed_ctx *cx, const char *model, bool bos, int least) {
    heed_generator *const g = open_generator(cx, model);
    const heed_json all = open_calls(cx);
    const char *prompt[MOST], *text[MOST];
    heed_likelihood want[MOST], one, out[MOST];
    int n = 0;
    for (heed_json at = heed_json_first(all); heed_json_kind_of(at) != HEED_JSON_NONE; at = heed_json_next(at)) {
        if (strcmp(heed_json_text(cx, at, "model"), model) != 0 || heed_json_bool(cx, at, "bos") != bos) continue;
        prompt[n] = heed_json_text(cx, at, "prompt");
        text[n] = heed_json_text(cx, at, "text");
        want[n] = (heed_likelihood){heed_json_number(cx, at, "log_probability"), heed_json_int(cx, at, "tokens")};
        n++;
    }
    assert_true(n >= least && n <= MOST);
    assert_true(heed_score_texts(cx, g, prompt, text, n, bos, out));
    for (int i = 0; i < n; i++) {
        assert_int_equal(out[i].tokens, want[i].tokens);
        if (!near(out[i].log_probability, want[i].log_probability))
            fail_msg("'%s' after '%s': %.9g, not %.9g", text[i], prompt[i], out[i].log_probability,
                     want[i].log_probability);
        assert_true(heed_score_texts(cx, g, &prompt[i], &text[i], 1, bos, &one));
        assert_true(near(one.log_probability, out[i].log_probability)); /* whatever it is batched with */
    }
    heed_json_free(all);
    heed_generator_free(cx, g);
    assert_false(heed_failed(cx));
}

static void test_golden(void **unused) {
    (void)unused;
    heed_ctx *cx = heed_open(&(heed_config){.threads = 2});
    compare(cx, "gpt2-options", false, 8);
    compare(cx, "gpt2-options", true, 9);
    compare(cx, "marian-options", false, 5);
    heed_close(cx);
}

static void refused(heed_ctx *cx, const char *why) {
    assert_true(heed_failed(cx));
    if (!strstr(heed_message(cx), why)) fail_msg("'%s' should say '%s'", heed_message(cx), why);
    heed_clear(cx);
}

static void test_refused(void **unused) {
    (void)unused;
    heed_ctx *cx = heed_open(&(heed_config){.threads = 1});
    heed_generator *const g = open_generator(cx, "gpt2-options"), *const m = open_generator(cx, "marian-options");
    heed_score_item item;
    heed_likelihood out;
    char many[400] = "";
    for (int i = 0; i < 41; i++) strcat(many, "fas ");
    assert_false(heed_score_encode(cx, g, NULL, "fas", false, &item));
    refused(cx, "a text of 1 token: nothing comes before it");
    assert_false(heed_score_encode(cx, g, "fas", "", false, &item));
    refused(cx, "the text to score is empty");
    assert_false(heed_score_encode(cx, g, NULL, many, false, &item));
    refused(cx, "a text of 41 tokens: the model has positions for 40");
    assert_false(heed_score_encode(cx, m, NULL, "fas", false, &item));
    refused(cx, "both are needed");
    assert_false(heed_score_texts(cx, g, NULL, (const char *const[]){"gin pis", "gin"}, 2, false, &out));
    refused(cx, "text 2: a text of 1 token");
    item = (heed_score_item){.ids = {(int32_t[]){1, 2}, 2, 2}, .first = 0};
    assert_false(heed_score_items(cx, g->model, &item, 1, &out));
    refused(cx, "cannot be the first one scored");
    item.ids.id[1] = 1000, item.first = 1;
    assert_false(heed_score_items(cx, g->model, &item, 1, &out));
    refused(cx, "is not below the vocabulary size");
    assert_false(heed_score_items(cx, NULL, &item, 1, &out));
    refused(cx, "a model, items");
    heed_generator_free(cx, g);
    heed_generator_free(cx, m);
    heed_close(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_golden), cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
