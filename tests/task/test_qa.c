/* Questions: windows over a context, answers in it, and how well they match. */
#include "task/task_test.h"
#include "task/text/squad.h"
#include "task/text/windows.h"

/* ---- windows, against transformers ---- */

static void expect_windows(heed_ctx *cx, heed_json one, const char *context) {
    heed_tokenizer *t = tokenizer_named(cx, heed_json_text(cx, one, "name"));
    const char *question = heed_json_text(cx, one, "question"), *answer = heed_json_text(cx, one, "answer");
    const heed_text_reader reader = {.tokens = t, .types = true};
    const heed_text_input text = {
        .text = question, .size = strlen(question), .pair = context, .pair_size = strlen(context)};
    const int64_t start = *answer ? strstr(context, answer) - context : 0,
                  place[] = {start, start + (int64_t)strlen(answer)};
    struct windows w = {.max_length = heed_json_int(cx, one, "longest"), .stride = heed_json_int(cx, one, "stride")};
    struct windows_room room = {.ids = {0}};
    heed_dataset set = {0};
    const heed_json rows = heed_json_array(cx, one, "windows");
    int64_t i = 0;
    if (!windows_add(cx, &w, &reader, 3, &text, place, &room, &set)) fail_msg("%s", heed_message(cx));
    assert_int_equal(set.n, heed_json_count(rows));
    for (EACH(row, rows)) {
        const heed_json ids = heed_json_array(cx, row, "ids"), types = heed_json_array(cx, row, "types");
        const int64_t from = set.column[0].start[i];
        assert_int_equal(set.column[0].start[i + 1] - from, heed_json_count(ids));
        for (int64_t k = 0; k < heed_json_count(ids); k++) {
            assert_int_equal(((int32_t *)set.column[0].data)[from + k],
                             heed_json_int(cx, heed_json_item(cx, ids, k), NULL));
            assert_int_equal(((int32_t *)set.column[1].data)[from + k],
                             heed_json_int(cx, heed_json_item(cx, types, k), NULL));
        }
        assert_int_equal(((int32_t *)set.column[2].data)[i], heed_json_int(cx, row, "start"));
        assert_int_equal(((int32_t *)set.column[3].data)[i], heed_json_int(cx, row, "end"));
        assert_int_equal(windows_at(&w, i).question, 3);
        i++;
    }
    windows_room_free(cx, &room);
    windows_free(cx, &w);
    heed_dataset_free(cx, &set);
    heed_tokenizer_free(cx, t);
}

static void test_windows(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const heed_json doc = open_golden(cx, "task/windows.json");
    const char *context = heed_json_text(cx, doc, "context");
    int n = 0;
    for (EACH(one, heed_json_array(cx, doc, "cases"))) expect_windows(cx, one, context), n++;
    assert_true(n >= 50);
    heed_json_free(doc);
    close_context(cx);
}

/* ---- figures, against SQuAD's script ---- */

static void test_squad(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const heed_json doc = open_golden(cx, "task/squad.json");
    const heed_json texts = heed_json_array(cx, doc, "texts"), f1 = heed_json_array(cx, doc, "f1");
    const int64_t n = heed_json_count(texts);
    heed_string a = {0}, b = {0};
    for (int64_t i = 0; i < n; i++) {
        const heed_json pair = heed_json_item(cx, texts, i);
        const char *text = heed_json_text(cx, heed_json_item(cx, pair, 0), NULL);
        assert_true(squad_normalise(cx, text, strlen(text), &a));
        assert_string_equal(a.s, heed_json_text(cx, heed_json_item(cx, pair, 1), NULL));
        for (int64_t k = 0; k < n; k++) {
            const char *other = heed_json_text(cx, heed_json_item(cx, heed_json_item(cx, texts, k), 0), NULL);
            double found;
            assert_true(squad_normalise(cx, other, strlen(other), &b));
            assert_true(squad_f1(cx, &a, &b, &found));
            const double wanted = heed_json_number(cx, heed_json_item(cx, heed_json_item(cx, f1, i), k), NULL);
            if (!(fabs(found - wanted) < 1e-12)) fail_msg("'%s', '%s': %g, should be %g", text, other, found, wanted);
        }
    }
    heed_string_free(cx, &a);
    heed_string_free(cx, &b);
    heed_json_free(doc);
    close_context(cx);
}

/* ---- files ---- */

static heed_task_data *read_file(heed_ctx *cx, const char *text) {
    write_text("qa.json", text);
    heed_task_data *d = heed_task_read(cx, heed_text_task_find("qa"), in_folder("qa.json"), NULL);
    unlink(in_folder("qa.json"));
    return d;
}

#define FILE_OF(qas)                                                                                                   \
    "{\"version\":\"1.1\",\"data\":[{\"title\":\"t\",\"paragraphs\":[{\"context\":\"a b c d e f g h\",\"qas\":[" qas   \
    "]}]}]}"
#define QA(question, answer, start)                                                                                    \
    "{\"id\":\"1\",\"question\":\"" question "\",\"answers\":[{\"text\":\"" answer "\",\"answer_start\":" start "}]}"

static void refuse(heed_ctx *cx, const char *text, const char *sentence) {
    assert_null(read_file(cx, text));
    EXPECT_SENTENCE(cx, sentence);
}

static void test_files(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    refuse(cx, "{\"data\":[]}", "qa.json: there are no questions");
    refuse(cx, "{}", "data");
    refuse(cx, FILE_OF("{\"id\":\"1\",\"answers\":[]}"), "question");
    refuse(cx, FILE_OF(QA("a", "c", "3")), "the answer 'c' does not stand at character 3 of its context");
    refuse(cx, FILE_OF(QA("a", "h", "400")), "does not stand at character 400");
    close_context(cx);
}

/* ---- measuring and using ---- */

static void test_measure(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_tokenizer *t = letters(cx);
    heed_model *model = small_bert(cx, "qa", NULL);
    heed_text_model m = {.model = model, .tokens = t, .labels = 2};
    assert_true(heed_text_reader_of(cx, model, t, 9, &m.reader));
    heed_task_data *d =
        read_file(cx, FILE_OF(QA("a", "c d", "4") ",{\"id\":\"2\",\"question\":\" b\",\"is_impossible\":"
                                                  "true,\"answers\":[]}"));
    if (!d || !heed_task_encode(cx, d, &m.reader)) fail_msg("%s", heed_message(cx));
    /* [CLS] a [SEP] five tokens [SEP], from a, and as windows share more than they hold, from b, c and d */
    assert_int_equal(heed_task_examples(d), 2);
    assert_int_equal(heed_task_count(d), 8);
    for (int64_t i = 0; i < 8; i++) assert_int_equal(heed_task_example(d, i), i / 4);
    const int32_t starts[] = {5, 4, 3, 0, 0, 0, 0, 0}, ends[] = {6, 5, 4, 0, 0, 0, 0, 0};
    const heed_dataset *set = heed_task_columns(d);
    assert_memory_equal(set->column[heed_dataset_find(set, "start_positions")].data, starts, sizeof starts);
    assert_memory_equal(set->column[heed_dataset_find(set, "end_positions")].data, ends, sizeof ends);
    heed_score score;
    assert_true(heed_task_measure(cx, model, d, NULL, 0, &score, NULL));
    assert_true(score.loss > 0 && score.metric >= 0 && score.metric <= 1 && score.more[0] <= score.metric);
    /* the answers of calls are parts of the context, and their scores add up to no more than 1 */
    const heed_text_input texts[] = {{.text = "a", .pair = "a b c d e f g h"}, {.text = "b", .pair = ""}};
    heed_answered found[40];
    assert_true(heed_answer(cx, &m, texts, 2, &(heed_answer_opts){.n_best = 20, .max_answer_length = 2}, found));
    float sum = 0;
    for (int i = 0; i < 20; i++) {
        sum += found[i].score;
        if (found[i].none) continue;
        assert_true(found[i].start >= 0 && found[i].end <= 15 && found[i].end - found[i].start <= 3);
        assert_int_equal(found[i].first, found[i].start);
        assert_true(i == 0 || found[i].score <= found[i - 1].score);
    }
    assert_false(found[0].none);
    assert_true(fabsf(sum - 1) < 1e-5f);
    assert_true(found[20].none && found[20].start == found[20].end);
    assert_false(heed_answer(cx, &m, &(heed_text_input){.text = "a b c d e f g h", .pair = "a"}, 1, NULL, found));
    EXPECT_SENTENCE(cx, "text 1: the question has 8 tokens: of 9 none is left for the context");
    heed_task_free(cx, d);
    heed_model_free(cx, model);
    heed_tokenizer_free(cx, t);
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_windows),
        cmocka_unit_test(test_squad),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_measure),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
