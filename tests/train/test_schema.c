/* What a config says of the data: columns, categories and classes, written and read back. */
#include "train_test.h"

static heed_model *linear(heed_ctx *cx, const char *inputs, const char *outputs, const char *task) {
    const char *const settings[] = {inputs, outputs, task};
    heed_model *m = heed_model_new(cx, heed_family_find("linear"), settings, 3, 1);
    assert_non_null(m);
    return m;
}

static void expect_names(char **found, const char *const *expected) {
    assert_non_null(found);
    for (; *expected; expected++, found++) assert_string_equal(*found, *expected);
    assert_null(*found);
}
#define NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})

static void test_round_trip(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const char text[] = "age,colour,size,kind\n1,red,2,yes\n3,blue,4,no\n5,red,6,yes\n";
    heed_data *d = heed_data_parse(cx, "t", text, strlen(text), &(heed_data_opts){.task = HEED_DATA_CLASSIFY});
    heed_model *m = linear(cx, "input_size=4", "output_size=2", "task=classify");
    assert_true(heed_model_describe(cx, m, d));
    heed_data_free(cx, d);
    heed_data *like = heed_model_data(cx, m);
    assert_int_equal(like->n, 0);
    assert_int_equal(like->width, 4);
    assert_int_equal(like->columns, 3);
    assert_int_equal(like->classes, 2);
    expect_names(like->x_names, NAMES("age", "colour", "size"));
    expect_names(like->y_names, NAMES("kind"));
    expect_names(like->class_names, NAMES("no", "yes"));
    assert_null(like->categories[0]);
    expect_names(like->categories[1], NAMES("blue", "red"));
    assert_null(like->categories[2]);
    /* A new file is read as the training data was. */
    const char more[] = "colour,size,age\nblue,7,8\n";
    d = heed_data_parse(cx, "t", more, strlen(more), &(heed_data_opts){.task = HEED_DATA_INPUTS, .like = like});
    const float x[] = {8, 1, 0, 7};
    for (int i = 0; i < 4; i++) assert_true(d->x[i] == x[i]);
    heed_data_free(cx, d);
    heed_data_free(cx, like);
    heed_model_free(cx, m);
    close_context(cx);
}

static void test_numbers(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_data *d = heed_data_parse(cx, "t", "1,2\n3,4\n", 8, NULL);
    heed_model *m = linear(cx, "input_size=1", "output_size=1", "task=regress");
    assert_true(heed_model_describe(cx, m, d));
    heed_data_free(cx, d);
    d = heed_model_data(cx, m);
    assert_int_equal(d->columns, 1);
    assert_int_equal(d->outputs, 1);
    assert_null(d->x_names);
    assert_null(d->categories);
    heed_data_free(cx, d);
    heed_model_free(cx, m);
    /* Classes that are numbers have no names. */
    m = linear(cx, "input_size=1", "output_size=3", "task=classify");
    d = heed_data_parse(cx, "t", "1,0\n3,2\n", 8, &(heed_data_opts){.task = HEED_DATA_CLASSIFY});
    assert_true(heed_model_describe(cx, m, d));
    heed_data_free(cx, d);
    d = heed_model_data(cx, m);
    assert_int_equal(d->classes, 3);
    assert_null(d->class_names);
    heed_data_free(cx, d);
    heed_model_free(cx, m);
    close_context(cx);
}

static void set_json(heed_ctx *cx, heed_model *m, const char *key, const char *text) {
    const heed_json given = heed_json_parse(cx, "given", text, strlen(text));
    const heed_json config = heed_model_config(m);
    if (heed_json_kind_of(given) == HEED_JSON_OBJECT) {
        const heed_json to = heed_json_put_object(cx, config, key);
        for (heed_json v = heed_json_first(given); heed_json_kind_of(v) != HEED_JSON_NONE; v = heed_json_next(v))
            if (heed_json_kind_of(v) == HEED_JSON_TEXT)
                heed_json_put_text(cx, to, heed_json_key(v), heed_json_text(cx, v, NULL));
            else
                heed_json_put_int(cx, to, heed_json_key(v), heed_json_int(cx, v, NULL));
    } else {
        const heed_json to = heed_json_put_array(cx, config, key);
        for (heed_json v = heed_json_first(given); heed_json_kind_of(v) != HEED_JSON_NONE; v = heed_json_next(v)) {
            if (heed_json_kind_of(v) == HEED_JSON_NULL) {
                heed_json_put_null(cx, to, NULL);
            } else if (heed_json_kind_of(v) == HEED_JSON_TEXT) {
                heed_json_put_text(cx, to, NULL, heed_json_text(cx, v, NULL));
            } else {
                const heed_json inner = heed_json_put_array(cx, to, NULL);
                for (heed_json w = heed_json_first(v); heed_json_kind_of(w) != HEED_JSON_NONE; w = heed_json_next(w))
                    heed_json_put_text(cx, inner, NULL, heed_json_text(cx, w, NULL));
            }
        }
    }
    heed_json_free(given);
    assert_false(heed_failed(cx));
}

static void test_labels_by_key(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_model *m = linear(cx, "input_size=1", "output_size=3", "task=classify");
    assert_null(heed_model_labels(cx, m, 3));
    set_json(cx, m, "id2label", "{\"2\": \"c\", \"0\": \"a\", \"1\": \"b\"}");
    char **names = heed_model_labels(cx, m, 3);
    expect_names(names, NAMES("a", "b", "c"));
    heed_mem_free(cx, names);
    heed_data *d = heed_model_data(cx, m);
    expect_names(d->class_names, NAMES("a", "b", "c"));
    heed_data_free(cx, d);
    const struct {
        const char *labels, *sentence;
    } cases[] = {
        {"{\"2\": \"c\", \"0\": \"a\"}", "id2label: class 1 of 3 has no name"},
        {"{\"0\": \"a\", \"1\": \"b\", \"3\": \"c\"}", "id2label: '3' is not a class from 0 to 2"},
        {"{\"0\": \"a\", \"1\": \"b\", \"01\": \"c\"}", "id2label: '01' is not a class from 0 to 2"},
        {"{\"0\": \"a\", \"1\": \"b\", \"2\": \"c\", \"-1\": \"d\"}", "id2label: '-1' is not a class"},
        {"{\"0\": \"a\", \"x\\n\": \"b\"}", "id2label: 'x\\n' is not a class"},
        {"{\"0\": \"a\", \"\": \"b\"}", "id2label: '' is not a class"},
        {"{\"0\": \"a\", \"1\": 5, \"2\": \"c\"}", "id2label.1: expected a string"},
        {"{\"0\": \"a\", \"99999999999999999999\": \"b\"}", "is not a class"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        set_json(cx, m, "id2label", cases[i].labels);
        assert_null(heed_model_data(cx, m));
        EXPECT_SENTENCE(cx, cases[i].sentence);
    }
    heed_model_free(cx, m);
    close_context(cx);
}

static void test_wrong(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_model *m = linear(cx, "input_size=3", "output_size=1", "task=regress");
    set_json(cx, m, "input_categories", "[null, [\"a\", \"b\", \"c\"]]");
    assert_null(heed_model_data(cx, m));
    EXPECT_SENTENCE(cx, "input_categories: 4 inputs, not the 3 of input_size");
    set_json(cx, m, "input_categories", "[null, null, []]");
    assert_null(heed_model_data(cx, m));
    EXPECT_SENTENCE(cx, "no categories");
    set_json(cx, m, "input_categories", "[null, [\"a\", \"b\"]]");
    set_json(cx, m, "input_names", "[\"x\", \"y\", \"z\"]");
    assert_null(heed_model_data(cx, m));
    EXPECT_SENTENCE(cx, "input_names: 3 names for 2");
    assert_null(heed_model_data(cx, NULL));
    EXPECT_SENTENCE(cx, "model_data: the model is NULL");
    assert_false(heed_model_describe(cx, m, NULL));
    EXPECT_SENTENCE(cx, "the data set is NULL");
    heed_model_free(cx, m);
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_round_trip), cmocka_unit_test(test_numbers),
                                       cmocka_unit_test(test_labels_by_key), cmocka_unit_test(test_wrong)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
