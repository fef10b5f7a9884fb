/* Data sets from csv and tsv: columns, numbers, classes, and every refusal with its sentence. */
#include "heed/data.h"
#include "io/io_test.h"

static const char *written(const char *name, const char *text) {
    const char *path = in_folder(name);
    write_bytes(path, text, strlen(text));
    return path;
}

static heed_data *load(heed_ctx *cx, const char *name, const char *text, heed_data_opts opts) {
    const char *path = written(name, text);
    heed_data *d = heed_data_load(cx, path, &opts);
    assert_int_equal(unlink(path), 0);
    return d;
}

static void expect_floats(const float *found, const float *expected, int64_t n) {
    for (int64_t i = 0; i < n; i++) assert_true(found[i] == expected[i]);
}

static void expect_names(char **found, const char *const *expected) {
    assert_non_null(found);
    for (; *expected; expected++, found++) assert_string_equal(*found, *expected);
    assert_null(*found);
}
#define NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})

static void test_regress(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const char *text = "a,b,c\n1,2,3\n4,5.5,-6e-1\n";
    heed_data *d = load(cx, "t.csv", text, (heed_data_opts){0});
    assert_int_equal(d->n, 2);
    assert_int_equal(d->width, 2);
    assert_int_equal(d->outputs, 1);
    assert_int_equal(d->classes, 0);
    assert_int_equal(d->image_height, 0);
    assert_null(d->label);
    expect_floats(d->x, (float[]){1, 2, 4, 5.5f}, 4);
    expect_floats(d->y, (float[]){3, -0.6f}, 2);
    expect_names(d->x_names, NAMES("a", "b"));
    expect_names(d->y_names, NAMES("c"));
    heed_data_free(cx, d);

    d = load(cx, "t.csv", text, (heed_data_opts){.target = "c,a"});
    assert_int_equal(d->outputs, 2);
    expect_floats(d->y, (float[]){3, 1, -0.6f, 4}, 4);
    expect_floats(d->x, (float[]){2, 5.5f}, 2);
    expect_names(d->y_names, NAMES("c", "a"));
    heed_data_free(cx, d);

    d = load(cx, "t.csv", text, (heed_data_opts){.target = "2", .use = NAMES("c")});
    assert_int_equal(d->width, 1);
    expect_floats(d->x, (float[]){3, -0.6f}, 2);
    expect_floats(d->y, (float[]){2, 5.5f}, 2);
    heed_data_free(cx, d);

    d = load(cx, "t.csv", text, (heed_data_opts){.task = HEED_DATA_INPUTS});
    assert_int_equal(d->width, 3);
    assert_null(d->y);
    assert_null(d->y_names);
    heed_data_free(cx, d);
    close_context(cx);
}

static void test_forms(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_data *d = load(cx, "t.tsv", "1\t2\n3\t4\n5\t6\n", (heed_data_opts){0}); /* no header */
    assert_int_equal(d->n, 3);
    assert_null(d->x_names);
    assert_null(d->y_names);
    expect_floats(d->x, (float[]){1, 3, 5}, 3);
    heed_data_free(cx, d);
    /* A column whose name has a comma, and defaults for opts. */
    d = load(cx, "t.csv", "\"a,b\",c,a\n1,2,3\n", (heed_data_opts){.target = "a,b"});
    assert_int_equal(d->outputs, 1);
    expect_floats(d->x, (float[]){2, 3}, 2);
    heed_data_free(cx, d);
    const char *path = written("u.csv", "x,y\n1,2\n");
    d = heed_data_load(cx, path, NULL);
    expect_floats(d->y, (float[]){2}, 1);
    heed_data_free(cx, d);
    assert_int_equal(unlink(path), 0);
    close_context(cx);
}

static void test_classes(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const heed_data_opts classify = {.task = HEED_DATA_CLASSIFY};
    heed_data *d = load(cx, "t.csv", "x,k\n1,2\n2,0\n3, 1.0\n", classify);
    assert_int_equal(d->classes, 3);
    assert_null(d->class_names);
    assert_memory_equal(d->label, ((int32_t[]){2, 0, 1}), 12);
    expect_names(d->y_names, NAMES("k"));
    heed_data *t = load(cx, "t.csv", "k,x\n0,7\n1,8\n", (heed_data_opts){.task = HEED_DATA_CLASSIFY, .like = d});
    assert_int_equal(t->classes, 3);
    expect_floats(t->x, (float[]){7, 8}, 2);
    assert_memory_equal(t->label, ((int32_t[]){0, 1}), 8);
    heed_data_free(cx, t);
    heed_data_free(cx, d);

    d = load(cx, "t.csv", "x,k,y\n1,pear,5\n2, apple ,6\n3,10,7\n4,pear,8\n",
             (heed_data_opts){.task = HEED_DATA_CLASSIFY, .target = "k"});
    assert_int_equal(d->classes, 3);
    expect_names(d->class_names, NAMES("10", "apple", "pear"));
    assert_memory_equal(d->label, ((int32_t[]){2, 1, 0, 2}), 16);
    /* The same columns whatever their order and company, and the same numbers for the classes. */
    t = load(cx, "t.csv", "y,z,k,x\n1,a,pear,2\n3,b,pear,4\n", (heed_data_opts){.task = HEED_DATA_CLASSIFY, .like = d});
    assert_int_equal(t->classes, 3);
    assert_memory_equal(t->label, ((int32_t[]){2, 2}), 8);
    expect_floats(t->x, (float[]){2, 1, 4, 3}, 4);
    expect_names(t->class_names, NAMES("10", "apple", "pear"));
    heed_data_free(cx, t);
    t = load(cx, "t.csv", "y,x\n1,2\n", (heed_data_opts){.task = HEED_DATA_INPUTS, .like = d});
    expect_floats(t->x, (float[]){2, 1}, 2);
    assert_null(t->label);
    heed_data_free(cx, t);
    heed_data_free(cx, d);

    /* Class names from elsewhere need not be sorted. */
    heed_data known = {.classes = 3, .class_names = (char *[]){"z", "b", "y", NULL}};
    d = load(cx, "t.csv", "1,y\n2,b\n3,z\n", (heed_data_opts){.task = HEED_DATA_CLASSIFY, .like = &known});
    assert_memory_equal(d->label, ((int32_t[]){2, 1, 0}), 12);
    expect_names(d->class_names, NAMES("z", "b", "y"));
    heed_data_free(cx, d);
    close_context(cx);
}

static void test_like_without_names(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_data *d = load(cx, "t.csv", "1,2,3\n4,5,6\n", (heed_data_opts){.target = "2,3"});
    heed_data *t = load(cx, "t.csv", "7,8,9\n", (heed_data_opts){.like = d});
    assert_int_equal(t->outputs, 2);
    expect_floats(t->y, (float[]){8, 9}, 2);
    heed_data_free(cx, t);
    assert_null(load(cx, "t.csv", "7,8,9,10\n", (heed_data_opts){.like = d}));
    EXPECT_SENTENCE(cx, "t.csv: 2 inputs, should be 1");
    assert_null(load(cx, "t.csv", "7,8,9\n", (heed_data_opts){.like = d, .target = "3", .use = NAMES("1")}));
    EXPECT_SENTENCE(cx, "t.csv: 1 targets, should be 2");
    heed_data_free(cx, d);
    close_context(cx);
}

static void test_refusals(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_data numbers = {.classes = 2}, words = {.classes = 2, .class_names = (char *[]){"no", "yes", NULL}};
    heed_data columns = {.width = 1, .outputs = 1, .x_names = (char *[]){"age", NULL}};
    const heed_data_opts regress = {0}, classify = {.task = HEED_DATA_CLASSIFY};
    const struct {
        const char *text;
        heed_data_opts opts;
        heed_status status;
        const char *sentence;
    } cases[] = {
        {"", regress, HEED_ERR_FORMAT, "t.csv: the table is empty"},
        {"a,b\n", regress, HEED_ERR_FORMAT, "t.csv: the data set is empty: no row holds a number"},
        {"a,b\n1,2\n3\n", regress, HEED_ERR_FORMAT, "t.csv: line 3: 1 cells, the first row has 2"},
        {"a,b\n1,2\n3,4\nfive,6\n", regress, HEED_ERR_FORMAT, "t.csv: line 4, column 'a': 'five' is not a number"},
        {"a,b\n1,2\n3,\n", regress, HEED_ERR_FORMAT, "t.csv: line 3, column 'b': '' is not a number"},
        {"a,b\n1,2\nnan,4\n", regress, HEED_ERR_FORMAT, "t.csv: line 3, column 'a': 'nan' is not a finite number"},
        {"a,b\n1,2\n3,-inf\n", regress, HEED_ERR_FORMAT, "t.csv: line 3, column 'b': '-inf' is not a finite number"},
        {"1,2\n3,1e39\n", regress, HEED_ERR_FORMAT, "t.csv: line 2, column '2': '1e39' is too large a number"},
        {"\"a\nb\",c\n1,\"2\n\"\n", regress, HEED_ERR_FORMAT, "line 3, column 'c'"},
        {"a,\"b\nc\",k\n1,2,\"x\ny\"\nnan,2,z\n", {.task = HEED_DATA_CLASSIFY}, HEED_ERR_FORMAT, "line 5, column 'a'"},
        {"a,b\n1,2\n", {.target = "d"}, HEED_ERR_USAGE, "t.csv: no column 'd' among its 2: a, b"},
        {"a,b\n1,2\n", {.target = "a,"}, HEED_ERR_USAGE, "t.csv: no column '' among its 2"},
        {"a,b\n1,2\n", {.target = "3"}, HEED_ERR_USAGE, "no column '3'"},
        {"a,b\n1,2\n", {.target = "0"}, HEED_ERR_USAGE, "no column '0'"},
        {"a,b\n1,2\n", {.use = NAMES("q")}, HEED_ERR_USAGE, "no column 'q'"},
        {"1,2,3,4,5,6,7,8,9\n", {.target = "x"}, HEED_ERR_USAGE, "among its 9: 1, 2, 3, 4, 5, 6, 7, 8, ..."},
        {"a,b\n1,2\n", {.target = "a,b"}, HEED_ERR_USAGE, "t.csv: no column is left for the inputs"},
        {"a,b\n1,2\n", {.target = "a,a"}, HEED_ERR_USAGE, "t.csv: column 'a' is chosen twice"},
        {"a,b\n1,2\n", {.use = NAMES("b")}, HEED_ERR_USAGE, "t.csv: column 'b' is chosen twice"},
        {"a\n1\n", regress, HEED_ERR_USAGE, "no column is left for the inputs"},
        {"b,y\n1,2\n", {.like = &columns}, HEED_ERR_USAGE, "t.csv: no column 'age' among its 2: b, y"},
        {"a,b,c\n1,2,3\n", {.task = HEED_DATA_CLASSIFY, .target = "b,c"}, HEED_ERR_USAGE, "one column, not in 2"},
        {"a,k\n1,0\n2,-1\n", classify, HEED_ERR_RANGE, "t.csv: line 3, column 'k': class -1 is out of range, 0 to"},
        {"a,k\n1,0\n2,1e9\n", classify, HEED_ERR_RANGE, "class 1e9 is out of range, 0 to 999999"},
        {"a,k\n1,0\n2,0.5\n", classify, HEED_ERR_FORMAT, "line 3, column 'k': '0.5' is not a class"},
        {"a,k\n1,0\n2,nan\n", classify, HEED_ERR_FORMAT, "line 3, column 'k': 'nan' is not a class"},
        {"a,k\n1,x\n2, \n", classify, HEED_ERR_FORMAT, "line 3, column 'k': no class is given"},
        {"a,k\n1,0\n2,2\n",
         {.task = HEED_DATA_CLASSIFY, .like = &numbers},
         HEED_ERR_RANGE,
         "line 3, column 'k': class 2 is out of range, 0 to 1"},
        {"a,k\n1,0\n2,x\n",
         {.task = HEED_DATA_CLASSIFY, .like = &numbers},
         HEED_ERR_FORMAT,
         "line 3, column 'k': 'x' is not a class: classes are whole numbers here"},
        {"a,k\n1,yes\n2,maybe\n",
         {.task = HEED_DATA_CLASSIFY, .like = &words},
         HEED_ERR_RANGE,
         "t.csv: line 3, column 'k': class 'maybe' is not one of the 2 known"},
        {"a,b\n1,2\n", {.like = &words}, HEED_ERR_USAGE, "should be like a data set that has no numbers as targets"},
        {"a,b\n1,2\n", {.task = HEED_DATA_CLASSIFY, .like = &columns}, HEED_ERR_USAGE, "that has no classes"},
        {"a,b\n1,2\n", {.part = "test"}, HEED_ERR_USAGE, "t.csv: a file has no part 'test'"},
        {"a,b\n1,2\n", {.task = (heed_data_task)7}, HEED_ERR_USAGE, "data_load: no task 7"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *path = written("t.csv", cases[i].text);
        const size_t blocks = books.blocks;
        assert_null(heed_data_load(cx, path, &cases[i].opts));
        assert_int_equal(books.blocks, blocks);
        if (heed_error(cx) != cases[i].status) print_error("case %zu: %s\n", i, heed_message(cx));
        assert_int_equal(heed_error(cx), cases[i].status);
        EXPECT_SENTENCE(cx, cases[i].sentence);
        assert_int_equal(unlink(path), 0);
    }
    assert_null(heed_data_load(cx, in_folder("none.csv"), NULL));
    EXPECT_SENTENCE(cx, "none.csv: No such file");
    assert_null(heed_data_load(cx, NULL, NULL));
    EXPECT_SENTENCE(cx, "data_load: path is NULL");
    heed_fail(cx, HEED_ERR_USAGE, "before");
    assert_null(heed_data_load(cx, "x.csv", NULL));
    EXPECT_SENTENCE(cx, "before");
    assert_null(heed_data_load(NULL, "x.csv", NULL));
    heed_data_free(cx, NULL);
    close_context(cx);
}

static bool load_words(heed_ctx *cx, const void *bytes, size_t size) {
    (void)bytes, (void)size;
    heed_data *d = heed_data_load(cx, in_folder("t.csv"), &(heed_data_opts){.task = HEED_DATA_CLASSIFY});
    heed_data *t = heed_data_load(cx, in_folder("t.csv"), &(heed_data_opts){.task = HEED_DATA_CLASSIFY, .like = d});
    heed_data_free(cx, d);
    heed_data_free(cx, t);
    return t;
}

static bool load_numbers(heed_ctx *cx, const void *bytes, size_t size) {
    (void)bytes, (void)size;
    heed_data *d = heed_data_load(cx, in_folder("t.csv"), &(heed_data_opts){.target = "a,b", .use = NAMES("c")});
    heed_data_free(cx, d);
    return d;
}

static void test_no_memory(void **state) {
    (void)state;
    const char *path = written("t.csv", "a,b,c,k\n1,2,3,x\n4,5,6,y\n7,8,9,x\n");
    starve(load_words, NULL, 0);
    starve(load_numbers, NULL, 0);
    assert_int_equal(unlink(path), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_regress),  cmocka_unit_test(test_forms),
        cmocka_unit_test(test_classes),  cmocka_unit_test(test_like_without_names),
        cmocka_unit_test(test_refusals), cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
