/* Multiple choice: tables, sequences and answers. */
#include "task/task_test.h"

static heed_task_data *read_file(heed_ctx *cx, const char *text, const heed_task_opts *opts) {
    write_text("choices.tsv", text);
    heed_task_data *d = heed_task_read(cx, heed_text_task_find("choose"), in_folder("choices.tsv"), opts);
    unlink(in_folder("choices.tsv"));
    return d;
}

static void refuse(heed_ctx *cx, const char *text, const heed_task_opts *opts, const char *sentence) {
    assert_null(read_file(cx, text, opts));
    EXPECT_SENTENCE(cx, sentence);
}

static void test_refusals(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    refuse(cx, "a\tb\t1\nc\td\t1\n", NULL, "a text, two or more choices and the right one's number are needed");
    refuse(cx, "a\tb\tc\t1\nd\te\tf\t3\n", NULL, "line 2: '3' is not the number or letter of one of 2 choices");
    refuse(cx, "a\tb\tc\t1\nd\te\tf\tC\n", NULL, "line 2: 'C' is not the number or letter of one of 2 choices");
    refuse(cx, "a\tb\tc\t0\nd\te\tf\t2\n", NULL, "line 2: '2' is not");
    refuse(cx, "a\tb\tc\t1\nd\te\tf\t2\n", &(heed_task_opts){.choices = "2,9"}, "there is no column '9'");
    refuse(cx, "a\tb\tc\t1\nd\te\tf\t2\n", &(heed_task_opts){.choices = "1,2"}, "a choice is the column of the text");
    close_context(cx);
}

static void expect_labels(heed_ctx *cx, const heed_text_reader *reader, const char *text, const heed_task_opts *opts,
                          int32_t first, int32_t second) {
    heed_task_data *d = read_file(cx, text, opts);
    if (!d || !heed_task_encode(cx, d, reader)) fail_msg("%s", heed_message(cx));
    const heed_dataset *set = heed_task_columns(d);
    const int32_t *label = set->column[heed_dataset_find(set, "labels")].data;
    assert_int_equal(set->n, 2);
    assert_int_equal(label[0], first);
    assert_int_equal(label[1], second);
    heed_task_free(cx, d);
}

static void test_choose(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_text_model m = {.model = small_bert(cx, "choose", NULL), .tokens = letters(cx)};
    assert_true(heed_text_reader_of(cx, m.model, m.tokens, 0, &m.reader));
    assert_int_equal(m.reader.max_length, 16);
    expect_labels(cx, &m.reader, "a\tb\tc\t1\nd\te\tf\t2\n", NULL, 0, 1);
    expect_labels(cx, &m.reader, "a\tb\tc\t0\nd\te\tf\t1\n", NULL, 0, 1);
    expect_labels(cx, &m.reader, "a\tb\tc\tB\nd\te\tf\ta\n", NULL, 1, 0);
    expect_labels(cx, &m.reader, "x\ta\t2\tb\tc\nx\td\t1\te\tf\n",
                  &(heed_task_opts){.text = "2", .target = "3", .choices = "5,4"}, 1, 0);
    /* batches are (examples, choices, tokens), each choice with a mask of its own */
    heed_task_data *d = read_file(cx, "a\tb\tcd\t1\nd\te\tf\t2\n", NULL);
    if (!d || !heed_task_encode(cx, d, &m.reader)) fail_msg("%s", heed_message(cx));
    heed_batches *batches = heed_batches_open(cx, heed_task_columns(d), &(heed_batches_opts){.batch = 2});
    const heed_batch *b = heed_batches_next(cx, batches);
    if (!b) fail_msg("%s", heed_message(cx));
    const int32_t ids[] = {2, 4, 3, 5, 3, 0, 2, 4, 3, 6, 15, 3, 2, 7, 3, 8, 3, 0, 2, 7, 3, 9, 3, 0},
                  mask[] = {1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 0},
                  types[] = {0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 1, 0};
    assert_int_equal(b->column[0].rank, 3);
    assert_true(b->column[0].shape[0] == 2 && b->column[0].shape[1] == 2 && b->column[0].shape[2] == 6);
    assert_memory_equal(heed_batch_i32(b, "input_ids"), ids, sizeof ids);
    assert_memory_equal(heed_batch_i32(b, "attention_mask"), mask, sizeof mask);
    assert_memory_equal(heed_batch_i32(b, "token_type_ids"), types, sizeof types);
    heed_batches_close(cx, batches);
    heed_score score;
    assert_true(heed_task_measure(cx, m.model, d, NULL, 0, &score, NULL));
    assert_true(score.loss > 0);
    /* calls: questions with different numbers of choices; the same as one by one, and as what was measured */
    const char *const texts[] = {"b", "cd", "e", "f", "g"};
    const heed_choices questions[] = {{"a", texts, 2}, {"a", texts, 5}, {"d", texts, 0}, {"d", texts + 2, 2}};
    float all[9], one[5];
    int64_t cut = 7;
    assert_true(heed_choose(cx, &m, questions, 4, all, &cut));
    assert_int_equal(cut, 0);
    assert_true(fabsf(all[0] + all[1] - 1) < 1e-6f && fabsf(all[2] + all[3] + all[4] + all[5] + all[6] - 1) < 1e-6f);
    assert_true(fabs(score.metric - ((all[0] >= all[1]) + (all[8] > all[7])) / 2.0) < 1e-12);
    assert_true(heed_choose(cx, &m, &questions[1], 1, one, NULL));
    for (int k = 0; k < 5; k++) assert_true(fabsf(one[k] - all[2 + k]) < 1e-6f);
    assert_false(heed_choose(cx, &m, &(heed_choices){"a", texts, 65}, 1, one, NULL));
    EXPECT_SENTENCE(cx, "choose: text 1: 65 choices, not at most 64");
    heed_task_free(cx, d);
    heed_model_free(cx, m.model);
    heed_tokenizer_free(cx, m.tokens);
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_refusals), cmocka_unit_test(test_choose)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
