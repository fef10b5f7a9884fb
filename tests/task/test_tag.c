/* Tagged words: files, tokens, chunks and figures. */
#include "task/task_test.h"
#include "task/text/ner_chunks.h"

/* ---- words one by one, against Python ---- */

static void test_words(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const heed_json doc = open_golden(cx, "task/words.json");
    int cases = 0;
    for (EACH(one, doc)) {
        heed_tokenizer *t = tokenizer_named(cx, heed_json_text(cx, one, "name"));
        const heed_json ids = heed_json_array(cx, one, "ids"), numbers = heed_json_array(cx, one, "word_ids");
        heed_word words[16];
        int64_t n = 0;
        for (EACH(w, heed_json_array(cx, one, "words"))) {
            const char *text = heed_json_text(cx, w, NULL);
            words[n++] = (heed_word){text, strlen(text)};
        }
        const heed_encode_opts o = {
            .words = words, .n_words = n, .prefix_space = heed_json_bool(cx, one, "prefix_space")};
        heed_encoding e = {0};
        if (!heed_encode_text(cx, t, NULL, 0, &o, &e)) fail_msg("%s", heed_message(cx));
        assert_int_equal(e.count, heed_json_count(ids));
        for (int64_t i = 0; i < e.count; i++) {
            assert_int_equal(e.token[i].id, heed_json_int(cx, heed_json_item(cx, ids, i), NULL));
            assert_int_equal(e.token[i].word, heed_json_int(cx, heed_json_item(cx, numbers, i), NULL));
        }
        heed_encoding_free(cx, &e);
        heed_tokenizer_free(cx, t);
        cases++;
    }
    assert_true(cases >= 40);
    heed_json_free(doc);
    close_context(cx);
}

/* Which families have a space before single words, as transformers' run_ner sets add_prefix_space. */
static void test_prefix_space(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    static const char *const names[] = {"bert", "roberta", "xlm-roberta"};
    heed_tokenizer *t = letters(cx);
    for (int i = 0; i < 3; i++) {
        const heed_family *family = heed_family_find(names[i]);
        static const char *const settings[] = {"vocab_size=20", "num_hidden_layers=1", "hidden_size=8",
                                               "num_attention_heads=2", "intermediate_size=8"};
        heed_ctx *dry = heed_open(&(heed_config){.threads = 1, .dry = true});
        heed_model *m = heed_model_new_as(dry, family, heed_head_for(family, "tag"), settings, 5, 1);
        heed_text_reader reader;
        if (!m || !heed_text_reader_of(dry, m, t, 0, &reader)) fail_msg("%s: %s", names[i], heed_message(dry));
        assert_int_equal(reader.prefix_space, i == 1);
        heed_model_free(dry, m);
        heed_close(dry);
    }
    heed_tokenizer_free(cx, t);
    close_context(cx);
}

/* ---- chunks, against seqeval ---- */

static void test_chunks(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const heed_json doc = open_golden(cx, "task/chunks.json");
    for (EACH(one, doc)) {
        char *names[32] = {0};
        int n = 0;
        struct chunk_counts c = {0};
        for (EACH(v, heed_json_array(cx, one, "names"))) names[n++] = (char *)(uintptr_t)heed_json_text(cx, v, NULL);
        assert_true(chunks_named(names));
        const heed_json truth = heed_json_array(cx, one, "truth"), said = heed_json_array(cx, one, "said");
        for (int64_t i = 0; i < heed_json_count(truth); i++) {
            const heed_json a = heed_json_item(cx, truth, i), b = heed_json_item(cx, said, i);
            int32_t tags[2][64];
            const int64_t words = heed_json_count(a);
            for (int64_t k = 0; k < words; k++) {
                tags[0][k] = (int32_t)heed_json_int(cx, heed_json_item(cx, a, k), NULL);
                tags[1][k] = (int32_t)heed_json_int(cx, heed_json_item(cx, b, k), NULL);
            }
            chunks_count(names, tags[0], tags[1], words, &c);
        }
        const double precision = (double)c.right / (double)c.said, recall = (double)c.right / (double)c.truth;
        assert_true(fabs(precision - heed_json_number(cx, one, "precision")) < 1e-12);
        assert_true(fabs(recall - heed_json_number(cx, one, "recall")) < 1e-12);
        assert_true(fabs(2 * precision * recall / (precision + recall) - heed_json_number(cx, one, "f1")) < 1e-12);
    }
    heed_json_free(doc);
    char *tags[] = {"NOUN", "O", NULL}, *none[] = {"O", NULL}, *empty[] = {"", "B-X", NULL};
    assert_false(chunks_named(tags) || chunks_named(none) || chunks_named(empty));
    close_context(cx);
}

/* ---- files ---- */

static heed_task_data *read_file(heed_ctx *cx, const char *text, const heed_task_opts *opts) {
    write_text("tags", text);
    heed_task_data *d = heed_task_read(cx, heed_text_task_find("tag"), in_folder("tags"), opts);
    unlink(in_folder("tags"));
    return d;
}

static void expect_columns(heed_ctx *cx, const char *text, const heed_task_opts *opts, const char *first_text,
                           const char *first_name) {
    heed_task_data *d = read_file(cx, text, opts);
    char **names;
    if (!d) fail_msg("%s", heed_message(cx));
    assert_string_equal(heed_line_text(heed_task_texts(d), 0), first_text);
    assert_true(heed_task_labels(d, &names) >= 2);
    assert_string_equal(names[0], first_name);
    heed_task_free(cx, d);
}

static void refuse(heed_ctx *cx, const char *text, const heed_task_opts *opts, const char *sentence) {
    assert_null(read_file(cx, text, opts));
    EXPECT_SENTENCE(cx, sentence);
}

static void test_files(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    char *labels[] = {"N", "V", NULL};
    expect_columns(cx, "a\tN\nb\tV\n\nc\tN\n", NULL, "a b", "N");
    expect_columns(cx, "\n\n# comment\na\tN\tx\r\nb\tV\ty\r\n\n\nc\tN\tx", NULL, "a b", "x");
    expect_columns(cx, "-DOCSTART- O\n\na NP  N\nb VP V\n", NULL, "a b", "N");
    expect_columns(cx, "1\ta\tN\n2\tb\tV\n", &(heed_task_opts){.text = "2", .target = "3"}, "a b", "N");
    expect_columns(cx, "New York\tN\n,\tV\n", NULL, "New York ,", "N");
    refuse(cx, "", NULL, "there are no words");
    refuse(cx, "\n \n", NULL, "there are no words");
    refuse(cx, "a\nb\n", NULL, "one column: a word and its tag are needed");
    refuse(cx, "a\tN\n\nb\n", NULL, "tags: line 3: number of columns: 1, in the first line 2");
    refuse(cx, "a\tN\nb\t\n", NULL, "line 2: a word without a tag");
    refuse(cx, "a\tN\nb\tV\n", &(heed_task_opts){.target = "3"}, "there is no column 3, only 2");
    refuse(cx, "a\tN\nb\tV\n", &(heed_task_opts){.target = "tag"}, "columns have numbers from 1");
    refuse(cx, "a\tN\nb\tV\n", &(heed_task_opts){.target = "1"}, "word and tag are the same column");
    refuse(cx, "a\tN\nb\tN\n", NULL, "all words have one tag, 'N'");
    refuse(cx, "a\tN\n\nb\tX\n", &(heed_task_opts){.labels = labels}, "line 3: tag 'X' is not one of the model's 2");
    refuse(cx, "a\tN\nb\xFF\tV\n", NULL, "not UTF-8");
    close_context(cx);
}

/* ---- tokens and labels ---- */

static void test_encoding(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_tokenizer *t = letters(cx);
    heed_model *model = small_bert(cx, "tag", "num_labels=2");
    heed_text_reader reader;
    assert_true(heed_text_reader_of(cx, model, t, 7, &reader));
    heed_task_data *d = read_file(cx, "ab\tN\nc\tV\n\n \tN\n\na\tV\n \tN\nbcd\tV\ne\tN\nf\tN\n", NULL);
    if (!d || !heed_task_encode(cx, d, &reader)) fail_msg("%s", heed_message(cx));
    /* [CLS] a ##b c [SEP]; the second sentence has no token; of the third, e and f do not fit */
    const heed_dataset *set = heed_task_columns(d);
    assert_int_equal(set->n, 2);
    assert_int_equal(heed_task_cut(d), 1);
    assert_string_equal(heed_task_cut_name(d), "word");
    const int ids = heed_dataset_find(set, "input_ids"), labels = heed_dataset_find(set, "labels");
    const int32_t wanted[] = {2, 4, 13, 6, 3, 2, 4, 5, 14, 15, 8, 3},
                  tags[] = {-100, 0, -100, 1, -100, -100, 1, 1, -100, -100, 0, -100};
    assert_memory_equal(set->column[ids].data, wanted, sizeof wanted);
    assert_memory_equal(set->column[labels].data, tags, sizeof tags);
    assert_string_equal(heed_task_metrics(d), "accuracy f1_macro");
    /* measuring gives the share of right tags, and predictions by word */
    heed_score score;
    int32_t said[8];
    assert_true(heed_task_measure(cx, model, d, NULL, 0, &score, said));
    const int32_t truth[] = {0, 1, 0, 1, 0, 1, 0, 0};
    int right = 0;
    for (int k = 0; k < 8; k++) {
        assert_int_equal(said[k] < 0, k == 2 || k == 4 || k == 7);
        right += said[k] == truth[k];
    }
    assert_true(fabs(score.metric - right / 5.0) < 1e-12);
    heed_task_free(cx, d);
    heed_model_free(cx, model);
    heed_tokenizer_free(cx, t);
    close_context(cx);
}

/* ---- using ---- */

static void test_use(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    char *names[] = {"B-X", "I-X", "O", NULL};
    heed_text_model m = {
        .labels = 3, .label = names, .tokens = letters(cx), .model = small_bert(cx, "tag", "num_labels=3")};
    assert_true(heed_text_reader_of(cx, m.model, m.tokens, 0, &m.reader));
    const heed_word words[] = {{"ab", 2}, {"c", 1}, {" ", 1}, {"c", 1}};
    const heed_text_input lines[] = {
        {.words = words, .n_words = 2}, {.words = words, .n_words = 0}, {.words = words + 2, .n_words = 2}};
    int32_t tag[4];
    float score[4];
    int64_t cut = 7;
    assert_true(heed_tag(cx, &m, lines, 3, tag, score, &cut));
    assert_int_equal(cut, 0);
    assert_true(tag[0] >= 0 && tag[1] >= 0 && tag[3] >= 0 && tag[2] == -1);
    for (int i = 0; i < 4; i++) assert_true(i == 2 ? score[i] == 0 : score[i] > 0.33f && score[i] <= 1);
    int32_t alone;
    assert_true(heed_tag(cx, &m, &lines[2], 1, tag, NULL, NULL)); /* without the others the same */
    alone = tag[1];
    assert_true(heed_tag(cx, &m, lines, 3, tag, NULL, NULL));
    assert_int_equal(alone, tag[3]);
    const int32_t tags[] = {1, 1, 2, 0, 0, -1};
    heed_chunk found[2];
    assert_int_equal(heed_tag_chunks(&m, tags, 6, found, 2), 3);
    assert_string_equal(found[0].type, "X");
    assert_true(found[0].first == 0 && found[0].last == 1 && found[1].first == 3 && found[1].last == 3);
    assert_false(heed_tag(cx, NULL, lines, 3, tag, NULL, NULL));
    EXPECT_SENTENCE(cx, "tag: a model, sentences and a place for their tags are needed");
    heed_model_free(cx, m.model);
    heed_tokenizer_free(cx, m.tokens);
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words), cmocka_unit_test(test_prefix_space), cmocka_unit_test(test_chunks),
        cmocka_unit_test(test_files), cmocka_unit_test(test_encoding),     cmocka_unit_test(test_use),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
