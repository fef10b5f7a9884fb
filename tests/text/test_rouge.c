/* ROUGE: equal to rouge_score to 1e-12, with and without the stemmer, and the stems to NLTK's; means over lines,
 * several references; refusals. */
#include "text/metrics/porter.h"
#include "text/metrics/subsequence.h"
#include "text/text_test.h"
#include <limits.h>

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

/* ---- subsequences ---- */

enum { MOST = 200 };

/* The whole table, as rouge_score walks it. */
static size_t twin(const int32_t *a, size_t n, const int32_t *b, size_t m, bool *marked) {
    static int length[MOST + 1][MOST + 1];
    for (size_t i = 1; i <= n; i++)
        for (size_t j = 1; j <= m; j++)
            length[i][j] = a[i - 1] == b[j - 1]                  ? length[i - 1][j - 1] + 1
                           : length[i - 1][j] > length[i][j - 1] ? length[i - 1][j]
                                                                 : length[i][j - 1];
    for (size_t i = n, j = m; i > 0 && j > 0;) {
        if (a[i - 1] == b[j - 1])
            marked[--i] = true, j--;
        else if (length[i][j - 1] > length[i - 1][j])
            j--;
        else
            i--;
    }
    return (size_t)length[n][m];
}

static void test_subsequences(void **state) {
    (void)state;
    static const size_t sizes[] = {0, 1, 2, 3, 30, 63, 64, 65, 128, 129, MOST};
    enum { SIZES = sizeof sizes / sizeof *sizes };
    heed_ctx *cx = open_context();
    struct subsequence s;
    assert_true(subsequence_open(cx, &s, 100, MOST));
    for (int i = 0; i < SIZES * SIZES * 4; i++) {
        const size_t n = sizes[i % SIZES], m = sizes[i / SIZES % SIZES],
                     ids = (size_t[]){1, 2, 9, 100}[i / SIZES / SIZES];
        int32_t a[MOST], b[MOST];
        bool marked[MOST] = {0}, right[MOST] = {0};
        size_t length;
        for (size_t k = 0; k < MOST; k++) {
            a[k] = (int32_t)(heed_random_bits(1, (uint64_t)i, k) % ids);
            b[k] = (int32_t)(heed_random_bits(2, (uint64_t)i, k) % ids);
        }
        subsequence_take(&s, a, n);
        assert_true(subsequence_length(&s, b, m, &length) && subsequence_mark(&s, b, m, marked));
        assert_int_equal(length, twin(a, n, b, m, right));
        assert_memory_equal(marked, right, sizeof right);
        subsequence_take(&s, a, 0);
    }
    subsequence_close(&s);
    heed_close(cx);
}

struct asking {
    int asked, most;
};
static bool cancel(void *user) {
    struct asking *const a = user;
    return a->asked++ >= a->most;
}

/* Memory in proportion to a text, and it can be interrupted. */
static void test_long(void **state) {
    (void)state;
    enum { LONG = 40000 };
    char *const text = malloc(2 * LONG);
    for (int i = 0; i < LONG; i++) text[2 * i] = (char)('a' + i % 7), text[2 * i + 1] = ' ';
    for (int k = 0; k < 2; k++) {
        struct asking a = {.most = k ? 20 : INT_MAX};
        heed_ctx *cx =
            heed_open(&(heed_config){.threads = 1, .byte_budget = (size_t)64 << 20, .cancel = cancel, .user = &a});
        heed_rouge found;
        const bool ok = heed_rouge_text(cx, text + 6, 2 * LONG - 6, text, 2 * LONG, NULL, &found);
        if (k == 0 && !ok) fail_msg("%s", heed_message(cx));
        assert_int_equal(heed_error(cx), k ? HEED_ERR_CANCELLED : HEED_OK);
        assert_true(k ? a.asked == 21 : a.asked > 100 && found.rougeL.precision == 1 && found.rougeLsum.precision == 1);
        heed_close(cx);
    }
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_golden), cmocka_unit_test(test_lines),
                                       cmocka_unit_test(test_subsequences), cmocka_unit_test(test_long)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
