/* Parallel text: what is encoded, what is left out, and groups that hold every pair once and little padding. */
#include "heed/data.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../context.h"

static heed_lines lines_of(const char *text) {
    heed_string s = {0};
    heed_lines lines = {0};
    assert_true(heed_string_put(cx, &s, text, strlen(text)) && heed_lines_cut(cx, &s, &lines));
    return lines;
}

static heed_tokenizer *words_of(const heed_lines *text, const char *unk) {
    heed_tokenizer *t = heed_tokenizer_train(
        cx, &text, 1,
        &(heed_tokenizer_opts){.kind = HEED_TOKENS_WORD, .pad = "<pad>", .eos = "</s>", .unk = unk, .add_eos = true});
    assert_non_null(t);
    return t;
}

static void test_encode(void **state) {
    (void)state;
    heed_lines en = lines_of("a b\n\nc\na b c d e\nzebra a\n"), de = lines_of("x\ny\n \nx y x y x\ny zebra\n");
    heed_lines known[2] = {lines_of("a b c d e\n"), lines_of("x y\n")};
    heed_tokenizer *t[2] = {words_of(&known[0], "<unk>"), words_of(&known[1], "<unk>")};
    heed_pairs p;
    assert_true(heed_pairs_encode(cx, &(heed_parallel_text){&en, &de, t[0], t[1]}, &(heed_pairs_opts){true, 5}, &p));
    assert_int_equal(p.n, 2);
    assert_int_equal(p.empty, 2);
    assert_int_equal(p.long_ones, 1);
    assert_int_equal(p.unknown, 2); /* the zebra, twice */
    const int64_t start[] = {0, 3, 5, 8, 11};
    assert_memory_equal(p.start, start, sizeof start);
    assert_int_equal(p.id[2], heed_tokenizer_id(t[0], "</s>"));
    assert_int_equal(p.id[3], heed_tokenizer_id(t[1], "x"));
    heed_pairs_free(cx, &p);
    assert_true(heed_pairs_encode(cx, &(heed_parallel_text){&en, &de, t[0], t[1]}, NULL, &p)); /* all of them */
    assert_int_equal(p.n, 5);
    assert_int_equal(p.empty + p.long_ones, 0);
    assert_int_equal(heed_pair_source(&p, 1).count, 1); /* an empty line is its end */
    assert_int_equal(heed_pair_target(&p, 1).count, 2);
    assert_int_equal(heed_pair_target(&p, 1).id[0], heed_tokenizer_id(t[1], "y"));
    assert_int_equal(heed_pair_source(&p, 5).count + heed_pair_target(&p, -1).count, 0);
    heed_pairs_free(cx, &p);
    assert_true(
        heed_pairs_encode(cx, &(heed_parallel_text){&en, &de, t[0], t[1]}, &(heed_pairs_opts){.skip_empty = true}, &p));
    assert_int_equal(p.n, 3);
    assert_int_equal(p.empty, 2);
    heed_pairs_free(cx, &p);
    assert_true(
        heed_pairs_encode(cx, &(heed_parallel_text){&en, &de, t[0], t[1]}, &(heed_pairs_opts){.max_length = 5}, &p));
    assert_int_equal(p.n, 4);
    assert_int_equal(p.long_ones, 1);
    heed_pairs_free(cx, &p);

    heed_lines fewer = lines_of("x\n");
    assert_false(heed_pairs_encode(cx, &(heed_parallel_text){&en, &fewer, t[0], t[1]}, NULL, &p));
    assert_non_null(strstr(heed_message(cx), "the source has 5 lines, the target 1"));
    heed_clear(cx);
    heed_tokenizer *strict = words_of(&known[0], NULL);
    assert_false(heed_pairs_encode(cx, &(heed_parallel_text){&en, &de, strict, t[1]}, NULL, &p));
    assert_non_null(strstr(heed_message(cx), "source: line 5: "));
    heed_clear(cx);
    heed_tokenizer_free(cx, strict);
    for (int k = 0; k < 2; k++) {
        heed_tokenizer_free(cx, t[k]);
        heed_lines_free(cx, &known[k]);
    }
    heed_lines_free(cx, &fewer);
    heed_lines_free(cx, &en);
    heed_lines_free(cx, &de);
}

/* Other tokens of the same lines; those that would be too long stay as they were. */
static void test_resample(void **state) {
    (void)state;
    heed_lines en = lines_of("a banana\n\nbanana banana\nban nab\n"), de = lines_of("nab\nx\nban\nbanana\n");
    const heed_lines *known[] = {&en, &de};
    heed_tokenizer *t =
        heed_tokenizer_train(cx, known, 2, &(heed_tokenizer_opts){.kind = HEED_TOKENS_BPE, .vocabulary = 20});
    const heed_parallel_text text = {&en, &de, t, t};
    heed_pairs p, resampled, again;
    assert_true(heed_pairs_encode(cx, &text, &(heed_pairs_opts){.skip_empty = true}, &p));
    const int64_t lines[] = {0, 2, 3};
    assert_int_equal(p.n, 3);
    assert_memory_equal(p.line, lines, sizeof lines);
    assert_true(heed_pairs_resample(cx, &text, &p, &(heed_resample_opts){.dropout = 1}, &resampled));
    assert_int_equal(resampled.n, 3);
    assert_memory_equal(resampled.line, lines, sizeof lines);
    assert_int_equal(heed_pair_source(&resampled, 0).count, 9); /* a letter and six, and a mark before each */
    assert_int_equal(heed_pair_target(&resampled, 2).count, 7);
    heed_pairs_free(cx, &resampled);
    assert_true(heed_pairs_resample(cx, &text, &p, &(heed_resample_opts){.dropout = 1, .max_length = 8}, &resampled));
    assert_int_equal(heed_pair_source(&resampled, 0).count, heed_pair_source(&p, 0).count);
    assert_int_equal(heed_pair_target(&resampled, 2).count, heed_pair_target(&p, 2).count + 7 - 1);
    heed_pairs_free(cx, &resampled);
    bool differs = false;
    for (int64_t epoch = 0; epoch < 20; epoch++) {
        const heed_resample_opts opts = {.dropout = 0.5, .seed = 4, .epoch = epoch};
        assert_true(heed_pairs_resample(cx, &text, &p, &opts, &resampled) &&
                    heed_pairs_resample(cx, &text, &p, &opts, &again));
        assert_memory_equal(resampled.start, again.start, 7 * sizeof *resampled.start);
        assert_memory_equal(resampled.id, again.id, (size_t)resampled.start[6] * sizeof *resampled.id);
        differs = differs || resampled.start[6] != p.start[6];
        heed_pairs_free(cx, &resampled);
        heed_pairs_free(cx, &again);
    }
    assert_true(differs);
    assert_false(heed_pairs_resample(cx, &text, NULL, &(heed_resample_opts){0}, &resampled));
    heed_clear(cx);
    assert_false(heed_pairs_resample(cx, &text, &p, &(heed_resample_opts){.dropout = -1}, &resampled));
    heed_clear(cx);
    heed_pairs_free(cx, &p);
    heed_tokenizer_free(cx, t);
    heed_lines_free(cx, &en);
    heed_lines_free(cx, &de);
}

enum { MANY = 1000, PLACES = 200 };

static void test_groups(void **state) {
    (void)state;
    static int64_t start[2 * MANY + 1];
    static int32_t id[MANY * 80];
    for (int i = 0; i < 2 * MANY; i++) start[i + 1] = start[i] + 1 + heed_random_bits(3, 0, (uint64_t)i) % 40;
    start[2 * MANY] = start[2 * MANY - 1] + 300; /* one that is longer than a group */
    const heed_pairs p = {.n = MANY, .id = id, .start = start};
    heed_dataset set;
    heed_groups g, again;
    assert_true(heed_pairs_columns(cx, &p, 0, &set));
    const heed_groups_opts by = {.tokens = PLACES, .seed = 7}, other = {.tokens = PLACES, .seed = 8};
    assert_true(heed_dataset_group(cx, &set, &by, &g) && heed_dataset_group(cx, &set, &by, &again));
    assert_int_equal(g.n, again.n);
    assert_memory_equal(g.row, again.row, sizeof(int64_t) * MANY);
    static bool there[MANY];
    int64_t target = 0, places = 0;
    memset(there, 0, sizeof there);
    for (int64_t k = 0; k < g.n; k++) {
        int64_t widest = 0, widest_target = 0;
        const int64_t n = g.start[k + 1] - g.start[k];
        assert_true(n > 0);
        for (int64_t i = g.start[k]; i < g.start[k + 1]; i++) {
            const int64_t *at = start + 2 * g.row[i];
            assert_false(there[g.row[i]]);
            there[g.row[i]] = true;
            for (int side = 0; side < 2; side++)
                if (at[side + 1] - at[side] > widest) widest = at[side + 1] - at[side];
            if (at[2] - at[1] > widest_target) widest_target = at[2] - at[1];
            target += at[2] - at[1];
        }
        if (n > 1 && n * widest > PLACES) fail_msg("group %d takes %d places", (int)k, (int)(n * widest));
        places += n * widest_target;
    }
    assert_int_equal(g.start[g.n], MANY);
    if ((double)target < 0.97 * (double)places) fail_msg("%d tokens in %d places", (int)target, (int)places);
    heed_groups_free(cx, &again);
    assert_true(heed_dataset_group(cx, &set, &other, &again)); /* by chance otherwise */
    assert_memory_not_equal(g.row, again.row, sizeof(int64_t) * MANY);
    heed_groups_free(cx, &g);
    heed_groups_free(cx, &again);
    assert_false(heed_dataset_group(cx, &set, &(heed_groups_opts){0}, &g));
    heed_clear(cx);
    for (int64_t n = 1; n <= MANY; n += n < 20 ? 1 : 97) {
        assert_true(heed_dataset_group(cx, &set, &(heed_groups_opts){.groups = n, .seed = 7}, &g));
        assert_int_equal(g.n, n);
        assert_true(g.start[0] == 0 && g.start[n] == MANY);
        for (int64_t k = 0; k < n; k++) assert_true(g.start[k] < g.start[k + 1]);
        heed_groups_free(cx, &g);
    }
    assert_false(heed_dataset_group(cx, &set, &(heed_groups_opts){.groups = MANY + 1}, &g));
    heed_clear(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_encode), cmocka_unit_test(test_resample),
                                       cmocka_unit_test(test_groups)};
    return cmocka_run_group_tests(tests, open_cx, close_cx);
}
