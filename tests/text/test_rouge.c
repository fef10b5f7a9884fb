/* ROUGE: equal to rouge_score to 1e-12, with and without the stemmer, and the stems to NLTK's; means over lines,
 * several references; refusals. */
#include "text/porter.h"
#include "text/text_test.h"

static void compare(heed_ctx *cx, heed_json wanted, const char *name, const heed_rouge_score *found) {
    const heed_json list = heed_json_array(cx, wanted, name);
    const double have[] = {found->precision, found->recall, found->f};
    for (int i = 0; i < 3; i++) {
        const double want = heed_json_number(cx, heed_json_item(cx, list, i), NULL);
        if (!(fabs(have[i] - want) <= 1e-12)) fail_msg("%s: number %d is %.15g, not %.15g", name, i, have[i], want);
    }
}

static void test_golden(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const heed_json doc = open_golden(cx, "rouge.json"), cases = heed_json_array(cx, doc, "cases");
    assert_true(heed_json_count(cases) >= 14);
    for (heed_json c = heed_json_first(cases); heed_json_kind_of(c) != HEED_JSON_NONE; c = heed_json_next(c)) {
        const char *const h = heed_json_text(cx, c, "hypothesis"), *const r = heed_json_text(cx, c, "reference");
        for (int stem = 0; stem < 2; stem++) {
            const heed_json wanted = heed_json_object(cx, c, stem ? "stems" : "words");
            heed_rouge found;
            assert_true(heed_rouge_text(cx, h, strlen(h), r, strlen(r), &(heed_rouge_opts){.stem = stem}, &found));
            compare(cx, wanted, "rouge1", &found.rouge1);
            compare(cx, wanted, "rouge2", &found.rouge2);
            compare(cx, wanted, "rougeL", &found.rougeL);
            compare(cx, wanted, "rougeLsum", &found.rougeLsum);
        }
    }
    const heed_json stems = heed_json_array(cx, doc, "stems");
    for (heed_json s = heed_json_first(stems); heed_json_kind_of(s) != HEED_JSON_NONE; s = heed_json_next(s)) {
        char word[64];
        snprintf(word, sizeof word, "%s", heed_json_text(cx, heed_json_item(cx, s, 0), NULL));
        word[porter_stem(word, strlen(word))] = 0;
        assert_string_equal(word, heed_json_text(cx, heed_json_item(cx, s, 1), NULL));
    }
    heed_json_free(doc);
    assert_false(heed_failed(cx));
    heed_close(cx);
}

static void test_lines(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    char text[] = "a b\0a c\0", first[] = "a b\0x\0", second[] = "a\0c a\0";
    int64_t at[] = {0, 4, 8}, of_first[] = {0, 4, 6}, of_second[] = {0, 2, 6};
    const heed_lines h = {text, at, 2}, r[] = {{first, of_first, 2}, {second, of_second, 2}};
    heed_rouge found;
    assert_true(heed_rouge_corpus(cx, &h, r, 1, NULL, &found));
    assert_true(found.lines == 2 && found.rouge1.f == 0.5 && found.rouge2.precision == 0.5);
    assert_true(heed_rouge_corpus(cx, &h, r, 2, NULL, &found));
    assert_true(found.rouge1.f == 1 && found.rougeL.f == 0.75);
    const heed_lines one = {text, at, 1};
    assert_false(heed_rouge_corpus(cx, &one, r, 1, NULL, &found));
    assert_non_null(strstr(heed_message(cx), "rouge: the hypothesis has 1 lines, reference 1 has 2"));
    heed_clear(cx);
    assert_false(heed_rouge_text(cx, NULL, 0, "", 0, NULL, &found));
    heed_clear(cx);
    assert_false(heed_rouge_corpus(cx, &h, r, 1, NULL, NULL));
    heed_close(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_golden), cmocka_unit_test(test_lines)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
