/* BLEU and chrF: equal to sacreBLEU to 1e-9 on sentences of ours in several languages and, where HEED_DATA is set, on
 * Multi30k; signatures; refusals; hostile text. */
#include "given.h"
#include "text/text_test.h"

/* n lines, each ended by 0, in a block of their own. */
static heed_lines make_lines(heed_ctx *cx, const char *const *text, int64_t n) {
    size_t size = 0;
    for (int64_t i = 0; i < n; i++) size += strlen(text[i]) + 1;
    heed_lines l = {heed_mem_new(cx, size + 1), heed_mem_new(cx, (size_t)(n + 1) * sizeof(int64_t)), n};
    int64_t at = 0;
    for (int64_t i = 0; i < n; i++) {
        l.start[i] = at;
        memcpy(l.text + at, text[i], strlen(text[i]) + 1);
        at += (int64_t)strlen(text[i]) + 1;
    }
    l.start[n] = at;
    return l;
}

static heed_lines lines_of(heed_ctx *cx, heed_json list) {
    const char *text[64];
    const int64_t n = heed_json_count(list);
    for (int64_t i = 0; i < n; i++) text[i] = heed_json_text(cx, heed_json_item(cx, list, i), NULL);
    return make_lines(cx, text, n);
}

/* ---- against sacreBLEU ---- */

static void near(const char *name, const char *what, double found, double wanted) {
    if (!(fabs(found - wanted) <= 1e-9)) fail_msg("%s: %s is %.15g, not %.15g", name, what, found, wanted);
}

/* The same but for the version, which is ours. */
static void same_signature(const char *found, const char *wanted) {
    char ours[200];
    snprintf(ours, sizeof ours, "%.*s:heed-%s", (int)(strrchr(wanted, ':') - wanted), wanted, heed_version());
    assert_string_equal(found, ours);
}

static void compare_bleu(heed_ctx *cx, const char *name, heed_json wanted, const heed_lines *hypothesis,
                         const heed_lines *references, int n) {
    const char *tokens = heed_json_text(cx, wanted, "tokens");
    const heed_bleu_opts opts = {.tokens = strcmp(tokens, "13a") == 0    ? HEED_BLEU_13A
                                           : strcmp(tokens, "intl") == 0 ? HEED_BLEU_INTL
                                                                         : HEED_BLEU_NONE,
                                 .lower = heed_json_bool(cx, wanted, "lower")};
    const heed_json precisions = heed_json_array(cx, wanted, "precisions");
    heed_bleu found;
    if (!heed_bleu_corpus(cx, hypothesis, references, n, &opts, &found)) fail_msg("%s: %s", name, heed_message(cx));
    near(name, tokens, found.score, heed_json_number(cx, wanted, "score"));
    for (int i = 0; i < 4; i++)
        near(name, "precision", found.precision[i], heed_json_number(cx, heed_json_item(cx, precisions, i), NULL));
    near(name, "brevity", found.brevity, heed_json_number(cx, wanted, "brevity"));
    assert_int_equal(found.hypothesis, heed_json_int(cx, wanted, "hypothesis"));
    assert_int_equal(found.reference, heed_json_int(cx, wanted, "reference"));
    same_signature(found.signature, heed_json_text(cx, wanted, "signature"));
}

static void compare(heed_ctx *cx, heed_json c, const heed_lines *hypothesis, const heed_lines *references, int n) {
    const char *name = heed_json_text(cx, c, "name");
    const heed_json bleu = heed_json_array(cx, c, "bleu"), chrf = heed_json_array(cx, c, "chrf");
    assert_int_equal(heed_json_count(bleu), 6);
    assert_int_equal(heed_json_count(chrf), 2);
    for (int i = 0; i < 6; i++) compare_bleu(cx, name, heed_json_item(cx, bleu, i), hypothesis, references, n);
    for (int i = 0; i < 2; i++) {
        const heed_json wanted = heed_json_item(cx, chrf, i);
        heed_chrf found;
        const int order = (int)heed_json_int(cx, wanted, "order");
        if (!heed_chrf_corpus(cx, hypothesis, references, n, order, &found)) fail_msg("%s", heed_message(cx));
        near(name, "chrF", found.score, heed_json_number(cx, wanted, "score"));
        same_signature(found.signature, heed_json_text(cx, wanted, "signature"));
    }
}

static void test_golden(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const heed_json doc = open_golden(cx, "bleu.json"), cases = heed_json_array(cx, doc, "cases");
    assert_true(heed_json_count(cases) >= 18);
    for (heed_json c = heed_json_first(cases); heed_json_kind_of(c) != HEED_JSON_NONE; c = heed_json_next(c)) {
        const heed_json sets = heed_json_array(cx, c, "references");
        const int n = (int)heed_json_count(sets);
        heed_lines hypothesis = lines_of(cx, heed_json_array(cx, c, "hypothesis")), references[4];
        for (int i = 0; i < n; i++) references[i] = lines_of(cx, heed_json_item(cx, sets, i));
        compare(cx, c, &hypothesis, references, n);
        for (int i = 0; i < n; i++) heed_lines_free(cx, &references[i]);
        heed_lines_free(cx, &hypothesis);
    }
    heed_json_free(doc);
    close_context(cx);
}

static heed_lines read_multi30k(heed_ctx *cx, const char *data, const char *name) {
    char path[1024];
    heed_lines lines;
    snprintf(path, sizeof path, "%s/multi30k/%s.gz", data, name);
    if (!heed_lines_read(cx, path, &lines)) fail_msg("%s", heed_message(cx));
    return lines;
}

static void test_multi30k(void **state) {
    (void)state;
    const char *const data = given("multi30k");
    heed_ctx *cx = open_context();
    const heed_json doc = open_golden(cx, "bleu_multi30k.json"), cases = heed_json_array(cx, doc, "cases");
    for (heed_json c = heed_json_first(cases); heed_json_kind_of(c) != HEED_JSON_NONE; c = heed_json_next(c)) {
        const heed_json files = heed_json_array(cx, c, "files");
        const int n = (int)heed_json_count(files);
        heed_lines hypothesis = read_multi30k(cx, data, heed_json_text(cx, c, "name")), references[4];
        for (int i = 0; i < n; i++)
            references[i] = read_multi30k(cx, data, heed_json_text(cx, heed_json_item(cx, files, i), NULL));
        compare(cx, c, &hypothesis, references, n);
        for (int i = 0; i < n; i++) heed_lines_free(cx, &references[i]);
        heed_lines_free(cx, &hypothesis);
    }
    heed_json_free(doc);
    close_context(cx);
}

/* ---- refusals and hostility ---- */

static void test_refusals(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_lines two = make_lines(cx, (const char *[]){"a", "b"}, 2), one = make_lines(cx, (const char *[]){"a"}, 1),
               none = make_lines(cx, NULL, 0), bad = make_lines(cx, (const char *[]){"a", "b\xC3"}, 2);
    heed_bleu bleu;
    heed_chrf chrf;
    assert_false(heed_bleu_corpus(cx, &two, &one, 1, NULL, &bleu));
    EXPECT_SENTENCE(cx, "bleu: the hypothesis has 2 lines, reference 1 has 1");
    assert_false(heed_chrf_corpus(cx, &two, (heed_lines[]){two, one}, 2, 0, &chrf));
    EXPECT_SENTENCE(cx, "chrf: the hypothesis has 2 lines, reference 2 has 1");
    assert_false(heed_bleu_corpus(cx, &none, &none, 1, NULL, &bleu));
    EXPECT_SENTENCE(cx, "bleu: the hypothesis is empty");
    assert_false(heed_bleu_corpus(cx, &bad, &two, 1, NULL, &bleu));
    EXPECT_SENTENCE(cx, "bleu: hypothesis 1: line 2: byte 2 is not UTF-8");
    assert_false(heed_chrf_corpus(cx, &two, (heed_lines[]){two, bad}, 2, 2, &chrf));
    EXPECT_SENTENCE(cx, "chrf: reference 2: line 2: byte 2 is not UTF-8");
    assert_false(heed_bleu_corpus(cx, NULL, &two, 1, NULL, &bleu));
    EXPECT_SENTENCE(cx, "bleu: a hypothesis and at least one reference are needed");
    assert_false(heed_bleu_corpus(cx, &two, NULL, 1, NULL, &bleu));
    EXPECT_SENTENCE(cx, "at least one reference");
    assert_false(heed_chrf_corpus(cx, &two, &two, 0, 0, &chrf));
    EXPECT_SENTENCE(cx, "at least one reference");
    assert_false(heed_bleu_corpus(cx, &(heed_lines){.count = 1}, &two, 1, NULL, &bleu));
    EXPECT_SENTENCE(cx, "bleu: hypothesis 1 has no lines");
    assert_false(heed_bleu_corpus(cx, &two, &two, 1, NULL, NULL));
    EXPECT_SENTENCE(cx, "bleu: out is NULL");
    assert_false(heed_chrf_corpus(cx, &two, &two, 1, 0, NULL));
    EXPECT_SENTENCE(cx, "chrf: out is NULL");
    assert_false(heed_bleu_corpus(cx, &two, &two, 1, &(heed_bleu_opts){.tokens = (heed_bleu_tokens)7}, &bleu));
    EXPECT_SENTENCE(cx, "bleu: no tokeniser 7");
    assert_false(heed_chrf_corpus(cx, &two, &two, 1, -1, &chrf));
    EXPECT_SENTENCE(cx, "chrf: word order -1 is not between 0 and 8");
    assert_false(heed_chrf_corpus(cx, &two, &two, 1, 9, &chrf));
    EXPECT_SENTENCE(cx, "chrf: word order 9");
    assert_false(heed_bleu_corpus(NULL, &two, &two, 1, NULL, &bleu));
    assert_false(heed_chrf_corpus(NULL, &two, &two, 1, 0, &chrf));
    heed_lines *all[] = {&two, &one, &none, &bad};
    for (int i = 0; i < 4; i++) heed_lines_free(cx, all[i]);
    close_context(cx);
}

/* The bytes as hypothesis, the sample as reference; every figure must be one. */
static const char sample[] = "“Das ist's”, sagte er: 1,000.5 & 2-3 ΑΣ (ein \u00A0Satz) … €5 &quot;x&quot; <skipped>.";

static bool look(heed_ctx *cx, const void *bytes, size_t size) {
    char *text = heed_mem_new(cx, size + 1);
    if (!text) return false;
    memcpy(text, bytes, size);
    text[size] = 0;
    int64_t start[] = {0, (int64_t)size + 1}, ends[] = {0, sizeof sample};
    const heed_lines hypothesis = {text, start, 1}, reference = {(char *)(uintptr_t)sample, ends, 1};
    bool ok = true;
    for (int t = 0; ok && t < 6; t++) {
        heed_bleu b;
        const heed_bleu_opts opts = {(heed_bleu_tokens)(t / 2), t % 2};
        ok = heed_bleu_corpus(cx, &hypothesis, &reference, 1, &opts, &b);
        if (ok) assert_true(b.score >= 0 && b.score <= 100.0000001 && b.brevity >= 0 && b.brevity <= 1);
    }
    for (int w = 0; ok && w < 3; w++) {
        heed_chrf f;
        ok = heed_chrf_corpus(cx, &hypothesis, &reference, 1, w, &f);
        if (ok) assert_true(f.score >= 0 && f.score <= 100.0000001);
    }
    heed_mem_free(cx, text);
    return ok;
}

static void test_hostile(void **state) {
    (void)state;
    torment(look, sample, sizeof sample - 1, 1000);
}

/* One line of a hundred thousand words among short ones must not make those slow. */
static void test_long(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    enum { LINES = 2000, WORDS = 100000 };
    const char **text = malloc(LINES * sizeof *text);
    char *line = malloc(WORDS * 8 + 1);
    size_t at = 0;
    for (int i = 0; i < WORDS; i++) at += (size_t)sprintf(line + at, "w%d ", i);
    for (int i = 0; i < LINES; i++) text[i] = i == 3 ? line : "a short line of words";
    heed_lines lines = make_lines(cx, text, LINES);
    heed_bleu b;
    heed_chrf f;
    assert_true(heed_bleu_corpus(cx, &lines, &lines, 1, NULL, &b));
    near("long", "score", b.score, 100);
    assert_int_equal(b.hypothesis, WORDS + 5 * (LINES - 1));
    assert_true(heed_chrf_corpus(cx, &lines, &lines, 1, 2, &f));
    near("long", "chrF", f.score, 100);
    heed_lines_free(cx, &lines);
    free(line);
    free(text);
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),  cmocka_unit_test(test_multi30k), cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_hostile), cmocka_unit_test(test_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
