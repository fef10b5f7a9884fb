/* Tables of texts: what is read and encoded, and that figures are those of what the model says text by text. */
#include "folder.h"
#include "heed/task.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../context.h"

static const char table[] = "sentence\tlabel\n"
                            "a good film\tpos\n"
                            "a bad \"film\"\tneg\n"
                            "good good\tpos\n"
                            "so so\tmeh\n"
                            "bad bad bad film so bad and long as no other film\tneg\n"
                            "a film\tpos\n";
enum { ROWS = 6 };

static void write_file(const char *path, const char *text) {
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static heed_tokenizer *tokenizer_of(const heed_lines *lines) {
    heed_tokenizer *t = heed_vocabulary_train_encoder(cx, &lines, 1, HEED_TOKENS_WORDPIECE, 60);
    assert_non_null(t);
    return t;
}

/* A model directory with a tokenizer; its head is for `task`. */
static void make_model(const char *dir, const char *task, const char *labels, const heed_lines *lines) {
    const char *const settings[] = {"vocab_size=60",         "hidden_size=16",
                                    "num_hidden_layers=1",   "num_attention_heads=2",
                                    "intermediate_size=24",  "max_position_embeddings=10",
                                    "initializer_range=0.5", labels};
    const heed_family *bert = heed_family_find("bert");
    heed_model *m = heed_model_new_as(cx, bert, heed_head_for(bert, task), settings, labels ? 8 : 7, 3);
    heed_tokenizer *t = tokenizer_of(lines);
    assert_true(m && heed_model_save(cx, m, dir) && heed_tokenizer_save(cx, t, dir));
    heed_tokenizer_free(cx, t);
    heed_model_free(cx, m);
}

static void test_classify(void **state) {
    (void)state;
    char path[512], dir[512];
    snprintf(path, sizeof path, "%s", in_folder("texts.tsv"));
    snprintf(dir, sizeof dir, "%s", in_folder("model"));
    write_file(path, table);
    heed_task_data *d = heed_task_read(cx, heed_text_task_find("classify"), path, NULL);
    assert_non_null(d);
    char **names;
    assert_int_equal(heed_task_count(d), ROWS);
    assert_int_equal(heed_task_labels(d, &names), 3);
    assert_string_equal(names[0], "meh");
    assert_string_equal(names[2], "pos");
    assert_null(names[3]);
    assert_string_equal(heed_line_text(heed_task_texts(d), 1), "a bad \"film\""); /* quotes are text in a .tsv */
    int64_t n;
    const int32_t *truth = heed_task_truth(d, &n);
    const int32_t expected[ROWS] = {2, 1, 2, 0, 1, 2};
    assert_int_equal(n, ROWS);
    assert_memory_equal(truth, expected, sizeof expected);

    make_model(dir, "classify", "num_labels=3", heed_task_texts(d));
    heed_set_grad(cx, false);
    heed_text_model *m = heed_text_model_open(cx, dir, "classify");
    assert_non_null(m);
    assert_true(heed_task_describe(cx, d, m->model));
    char **written = heed_model_labels(cx, m->model, 3);
    assert_true(written && strcmp(written[0], "meh") == 0 && strcmp(written[2], "pos") == 0);
    heed_mem_free(cx, written);
    heed_json_put_int(cx, heed_model_config(m->model), "num_labels", 2);
    assert_false(heed_task_describe(cx, d, m->model));
    assert_non_null(strstr(heed_message(cx), "the data have 3 classes, the model's head 2"));
    heed_clear(cx);
    heed_json_put_int(cx, heed_model_config(m->model), "num_labels", 3);
    assert_int_equal(m->reader.max_length, 10);
    assert_true(m->reader.types && m->labels == 3);
    assert_true(heed_task_encode(cx, d, &m->reader));
    assert_int_equal(heed_task_cut(d), 1); /* the one with more than ten tokens */
    const heed_dataset *set = heed_task_columns(d);
    assert_true(set->n == ROWS && heed_dataset_find(set, "token_type_ids") == 1 && heed_dataset_width(set, 4) == 10);

    /* the figures are those of single texts */
    float p[ROWS][3];
    int32_t said[ROWS], predicted[ROWS];
    double loss = 0, right = 0;
    for (int i = 0; i < ROWS; i++) {
        const heed_text_input text = {.text = heed_line_text(heed_task_texts(d), i)};
        int64_t cut;
        assert_true(heed_classify(cx, m, &text, 1, p[i], &cut));
        assert_int_equal(cut, i == 4);
        said[i] = p[i][0] >= p[i][1] && p[i][0] >= p[i][2] ? 0 : p[i][1] >= p[i][2] ? 1 : 2;
        loss -= log((double)p[i][truth[i]]) / ROWS;
        right += said[i] == truth[i];
        assert_true(fabs((double)(p[i][0] + p[i][1] + p[i][2]) - 1) < 1e-5);
    }
    heed_score score;
    assert_true(heed_task_measure(cx, m->model, d, NULL, 0, &score, predicted));
    assert_memory_equal(predicted, said, sizeof said);
    assert_true(fabs(score.loss - loss) < 1e-4 && score.metric == right / ROWS);
    heed_class_report *r = heed_class_report_new(cx, truth, said, ROWS, 3);
    assert_true(score.more[0] == r->macro.f1);
    heed_class_report_free(cx, r);
    const int64_t rows[] = {3, 5};
    assert_true(heed_task_measure(cx, m->model, d, rows, 2, &score, predicted));
    assert_true(predicted[0] == said[3] && predicted[1] == said[5]);

    /* a batch gives what single texts give */
    heed_text_input texts[ROWS];
    float together[ROWS][3];
    for (int i = 0; i < ROWS; i++) texts[i] = (heed_text_input){.text = heed_line_text(heed_task_texts(d), i)};
    assert_true(heed_classify(cx, m, texts, ROWS, together[0], NULL));
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < 3; j++) assert_true(fabsf(together[i][j] - p[i][j]) < 1e-5f);
    heed_text_model_free(cx, m);
    heed_task_free(cx, d);
}

/* As many tokens as there are positions: RoBERTa's padding token takes some, and choices are no positions. */
static void test_longest(void **state) {
    (void)state;
    static const struct {
        const char *family, *task;
        int64_t max_length;
    } models[] = {{"bert", "choose", 10}, {"bert", "tag", 10}, {"roberta", "classify", 8}, {"mpnet", "choose", 8}};
    const char *const settings[] = {"vocab_size=60",         "hidden_size=16",       "num_hidden_layers=1",
                                    "num_attention_heads=2", "intermediate_size=24", "max_position_embeddings=10"};
    write_file(in_folder("longest.tsv"), table);
    heed_task_data *d = heed_task_read(cx, heed_text_task_find("classify"), in_folder("longest.tsv"), NULL);
    heed_tokenizer *t = tokenizer_of(heed_task_texts(d));
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        const heed_family *family = heed_family_find(models[i].family);
        heed_model *m = heed_model_new_as(cx, family, heed_head_for(family, models[i].task), settings, 6, 3);
        heed_text_reader reader;
        assert_true(m && heed_text_reader_of(cx, m, t, 0, &reader));
        assert_int_equal(reader.max_length, models[i].max_length);
        heed_model_free(cx, m);
    }
    heed_tokenizer_free(cx, t);
    heed_task_free(cx, d);
}

static void test_embed(void **state) {
    (void)state;
    heed_string s = {0};
    heed_lines lines = {0};
    assert_true(heed_string_put(cx, &s, "a good film\nbad\n", 16) && heed_lines_cut(cx, &s, &lines));
    char dir[512];
    snprintf(dir, sizeof dir, "%s", in_folder("body"));
    make_model(dir, "embed", NULL, &lines);
    heed_set_grad(cx, false);
    heed_text_model *m = heed_text_model_open(cx, dir, "embed");
    assert_non_null(m);
    const heed_text_input texts[] = {{.text = "a good film"}, {.text = "bad"}};
    float v[3][2][16];
    for (m->pooling = HEED_POOL_MEAN; m->pooling <= HEED_POOL_MAX; m->pooling++)
        assert_true(heed_embed(cx, m, texts, 2, v[m->pooling][0], NULL));
    for (int j = 0; j < 16; j++) assert_true(v[HEED_POOL_MAX][0][j] >= v[HEED_POOL_MEAN][0][j]);
    assert_memory_not_equal(v[HEED_POOL_CLS], v[HEED_POOL_MEAN], sizeof v[0]);
    m->pooling = HEED_POOL_MEAN;
    m->normalise = true;
    float unit[2][16];
    assert_true(heed_embed(cx, m, texts, 2, unit[0], NULL));
    double square = 0;
    for (int j = 0; j < 16; j++) square += (double)(unit[1][j] * unit[1][j]);
    assert_true(fabs(square - 1) < 1e-5);
    assert_true(heed_embed(cx, m, texts, 0, unit[0], NULL)); /* no texts, no vectors */
    heed_text_model_free(cx, m);
    heed_lines_free(cx, &lines);
}

static void test_refusals(void **state) {
    (void)state;
    char path[512];
    snprintf(path, sizeof path, "%s", in_folder("wrong.tsv"));
    const heed_text_task *classify = heed_text_task_find("classify"), *regress = heed_text_task_find("regress");
    const struct {
        const heed_text_task *task;
        const char *text, *sentence;
    } cases[] = {
        {classify, "", "the table is empty"},
        {classify, "a\tx\nb\tx\nc\tx\n", "all examples are of one class, 'x'"},
        {classify, "one\ntwo\n", "one column: a text and its label are needed"},
        {regress, "text\ty\na\t1\nb\tfew\n", "line 3: 'few' is not a number to regress on"},
        {regress, "text\ty\na\t1\nb\tnan\n", "line 3: 'nan' is not a number to regress on"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_file(path, cases[i].text);
        assert_null(heed_task_read(cx, cases[i].task, path, NULL));
        if (!strstr(heed_message(cx), cases[i].sentence)) fail_msg("%zu: %s", i, heed_message(cx));
        heed_clear(cx);
    }
    assert_null(heed_text_task_find("nothing"));
    assert_null(heed_task_read(cx, NULL, path, NULL));
    heed_clear(cx);
    assert_null(heed_text_model_open(cx, in_folder("missing"), "classify"));
    heed_clear(cx);
}

static int open_all(void **state) { return make_folder(state) || open_cx(state); }
static int close_all(void **state) { return close_cx(state) || wipe_folder(state); }

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_classify), cmocka_unit_test(test_longest),
                                       cmocka_unit_test(test_embed), cmocka_unit_test(test_refusals)};
    return cmocka_run_group_tests(tests, open_all, close_all);
}
