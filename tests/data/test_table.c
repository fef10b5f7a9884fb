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
    EXPECT_SENTENCE(cx, "t.csv: line 1: 2 columns of inputs, should be 1");
    assert_null(load(cx, "t.csv", "7,8,9\n", (heed_data_opts){.like = d, .target = "3", .use = NAMES("1")}));
    EXPECT_SENTENCE(cx, "t.csv: 1 targets, should be 2");
    heed_data_free(cx, d);
    close_context(cx);
}

/* ---- separators, decimal marks, missing values ---- */

static void test_decimal_comma(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_data *d = load(cx, "t.csv", "a;k;y\n1,5;ja;2\n2,25;nein;-3,5\n", (heed_data_opts){0});
    assert_int_equal(d->width, 3);
    expect_floats(d->x, (float[]){1.5f, 1, 0, 2.25f, 0, 1}, 6);
    expect_floats(d->y, (float[]){2, -3.5f}, 2);
    heed_data_free(cx, d);
    d = load(cx, "t.csv", "a b\n1,5 2\n", (heed_data_opts){.table = {.delimiter = ' ', .decimal = ','}});
    expect_floats(d->x, (float[]){1.5f}, 1);
    heed_data_free(cx, d);
    d = load(cx, "t.csv", "7#8\n9#10\n", (heed_data_opts){.table = {.delimiter = '#'}});
    expect_floats(d->y, (float[]){8, 10}, 2);
    heed_data_free(cx, d);
    /* Classes that are numbers have the decimal mark too. */
    d = load(cx, "t.csv", "a;k\n0,5;1,0\n1,5;0\n", (heed_data_opts){.task = HEED_DATA_CLASSIFY});
    assert_memory_equal(d->label, ((int32_t[]){1, 0}), 8);
    heed_data_free(cx, d);
    close_context(cx);
}

static void test_skip_missing(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const char *text = "a,b,note,y\n1,2,\"x\ny\",3\nNA,5,,6\n7,8,,9\n10,11,z,\n12,13,z,14\n";
    heed_data *d = load(cx, "t.csv", text, (heed_data_opts){.skip_missing = true, .drop = NAMES("note")});
    assert_int_equal(d->n, 3);
    assert_int_equal(d->skipped, 2);
    expect_floats(d->x, (float[]){1, 2, 7, 8, 12, 13}, 6);
    expect_floats(d->y, (float[]){3, 9, 14}, 3);
    assert_memory_equal(d->line, ((int64_t[]){2, 5, 7}), 24);
    expect_names(d->x_names, NAMES("a", "b"));
    heed_data_free(cx, d);
    /* Inputs alone may all be skipped. */
    d = load(cx, "t.csv", "1,NA\n,2\n", (heed_data_opts){.skip_missing = true, .task = HEED_DATA_INPUTS});
    assert_int_equal(d->n, 0);
    assert_int_equal(d->skipped, 2);
    heed_data_free(cx, d);
    /* Only columns that are used matter. */
    d = load(cx, "t.csv", text, (heed_data_opts){.use = NAMES("b"), .target = "b", .task = HEED_DATA_INPUTS});
    assert_int_equal(d->n, 5);
    assert_int_equal(d->skipped, 0);
    heed_data_free(cx, d);
    close_context(cx);
}

static void test_columns(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const char *text = "a,b,c,d\n1,2,3,4\n5,6,7,8\n";
    heed_data *d = load(cx, "t.csv", text, (heed_data_opts){.use = NAMES("c,a"), .target = "d,b"});
    expect_floats(d->x, (float[]){3, 1, 7, 5}, 4);
    expect_floats(d->y, (float[]){4, 2, 8, 6}, 4);
    heed_data_free(cx, d);
    d = load(cx, "t.csv", text, (heed_data_opts){.use = NAMES("a,2", "c")});
    expect_names(d->x_names, NAMES("a", "b", "c"));
    heed_data_free(cx, d);
    d = load(cx, "t.csv", text, (heed_data_opts){.drop = NAMES("d,a")}); /* the last that is left is the target */
    expect_names(d->x_names, NAMES("b"));
    expect_names(d->y_names, NAMES("c"));
    heed_data_free(cx, d);
    d = load(cx, "t.csv", "a,,\n1,,2\n3,,4\n", (heed_data_opts){.drop = NAMES("2")});
    expect_floats(d->y, (float[]){2, 4}, 2);
    heed_data_free(cx, d);
    close_context(cx);
}

/* ---- text columns ---- */

static void expect_input_name(const heed_data *d, int64_t i, const char *expected) {
    char name[64];
    assert_int_equal(heed_data_input_name(d, i, name, sizeof name), strlen(expected));
    assert_string_equal(name, expected);
}

static void test_categories(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_data *d =
        load(cx, "t.csv", "colour,size,place,y\nred,1,9A,5\n blue ,2,12,6\nred,3,\"B,7\",7\n", (heed_data_opts){0});
    assert_int_equal(d->columns, 3);
    assert_int_equal(d->width, 6);
    expect_names(d->x_names, NAMES("colour", "size", "place"));
    expect_names(d->categories[0], NAMES("blue", "red"));
    assert_null(d->categories[1]);
    expect_names(d->categories[2], NAMES("12", "9A", "B,7")); /* mostly text */
    expect_floats(d->x, (float[]){0, 1, 1, 0, 1, 0, 1, 0, 2, 1, 0, 0, 0, 1, 3, 0, 0, 1}, 18);
    expect_input_name(d, 1, "colour=red");
    expect_input_name(d, 2, "size");
    expect_input_name(d, 5, "place=B,7");
    assert_int_equal(heed_data_input_name(d, 6, NULL, 0), 0);
    assert_int_equal(heed_data_input_name(d, 0, NULL, 0), strlen("colour=blue"));

    /* Others are encoded the same way, whatever they hold. */
    const heed_data_opts like = {.task = HEED_DATA_INPUTS, .like = d};
    heed_data *t = load(cx, "t.csv", "place,size,colour\n12,4,blue\n12,5,blue\n", like);
    expect_floats(t->x, (float[]){1, 0, 4, 1, 0, 0, 1, 0, 5, 1, 0, 0}, 12);
    expect_names(t->categories[0], NAMES("blue", "red"));
    assert_int_equal(t->width, 6);
    heed_data_free(cx, t);
    t = heed_data_parse(cx, "line", "red,1,9A", 8, &like);
    expect_floats(t->x, (float[]){0, 1, 1, 0, 1, 0}, 6);
    heed_data_free(cx, t);
    assert_null(load(cx, "t.csv", "place,size,colour\n12,4,blue\n12,5,green\n", like));
    EXPECT_SENTENCE(cx, "t.csv: line 3, column 'colour': category 'green' is not one of the 2 known: blue, red");
    assert_null(load(cx, "t.csv", "place,size,colour\n12,x,blue\n12,y,red\n", like));
    EXPECT_SENTENCE(cx, "t.csv: line 2, column 'size': 'x' is not a number");
    assert_null(load(cx, "t.csv", "place,size\n12,1\n", like));
    EXPECT_SENTENCE(cx, "no column 'colour'");
    assert_null(heed_data_parse(cx, "line", "red,1", 5, &like));
    EXPECT_SENTENCE(cx, "line: line 1: 2 columns of inputs, should be 3");
    heed_data_free(cx, d);

    /* Nothing but text; without a header columns have numbers. */
    d = load(cx, "t.csv", "sky,wind,go\nsunny,weak,yes\nrainy,strong,no\nrainy,weak,yes\n",
             (heed_data_opts){.task = HEED_DATA_CLASSIFY});
    assert_int_equal(d->n, 3);
    assert_int_equal(d->width, 4);
    expect_names(d->class_names, NAMES("no", "yes"));
    heed_data_free(cx, d);
    d = load(cx, "t.csv", "1,u,2\n3,v,4\n", (heed_data_opts){0});
    assert_null(d->x_names);
    expect_input_name(d, 0, "1");
    expect_input_name(d, 2, "2=v");
    heed_data_free(cx, d);
    close_context(cx);
}

/* n rows of a column with `different` texts. */
static char *many_texts(int n, int different) {
    char *text = malloc((size_t)n * 24 + 16);
    size_t at = (size_t)sprintf(text, "name,y\n");
    for (int i = 0; i < n; i++) at += (size_t)sprintf(text + at, "n%d,%d\n", i % different, i);
    return text;
}

static void test_many_categories(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const struct {
        int n, different;
        bool good;
    } cases[] = {{40, 40, true}, {82, 41, true}, {81, 41, false}, {3000, 1000, true}, {3000, 1001, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = many_texts(cases[i].n, cases[i].different);
        heed_data *d = load(cx, "t.csv", text, (heed_data_opts){0});
        if (cases[i].good)
            assert_int_equal(d->width, cases[i].different);
        else
            EXPECT_SENTENCE(cx, "are too many for categories; --drop leaves the column out");
        heed_data_free(cx, d);
        free(text);
    }
    close_context(cx);
}

/* Texts and dates are no categories; words that come again are. */
static void test_prose(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const heed_data_opts classify = {.task = HEED_DATA_CLASSIFY};
    const char *texts = "review,label\nthe film was very good,1\nI did not like it,0\na waste of our time,0\n";
    assert_null(load(cx, "t.csv", texts, classify));
    EXPECT_SENTENCE(cx,
                    "t.csv: column 'review' holds texts, not categories; --text review trains a model of text on it, "
                    "--drop leaves it out");
    assert_null(load(cx, "t.csv", texts, (heed_data_opts){.task = HEED_DATA_CLASSIFY, .target = "review"}));
    EXPECT_SENTENCE(cx, "t.csv: column 'review' holds texts, not classes; --target names the column of the classes");
    assert_null(load(cx, "t.csv", "day,y\n2024-01-01,1\n2024-01-02,2\n2024-01-03,3\n", (heed_data_opts){0}));
    EXPECT_SENTENCE(cx, "t.csv: column 'day' holds dates; --drop leaves it out, 'heed train forecast' predicts series");
    assert_null(
        load(cx, "t.csv", "day,y\n01.01.2024 00:00,1\n02.01.2024 00:00,2\n03.01.2024 00:00,3\n", (heed_data_opts){0}));
    EXPECT_SENTENCE(cx, "t.csv: column 'day' holds dates");
    heed_data *d = load(cx, "t.csv",
                        "degree,y\nBachelor of Fine Arts,1\nBachelor of Fine Arts,2\nMaster of Fine Arts,3\n"
                        "Master of Fine Arts,4\n",
                        (heed_data_opts){0});
    assert_int_equal(d->width, 2);
    heed_data_free(cx, d);
    close_context(cx);
}

static bool read_categories(heed_ctx *cx, const void *bytes, size_t size) {
    heed_data *d = heed_data_parse(cx, "t", bytes, size, &(heed_data_opts){.skip_missing = true});
    heed_data_free(cx, d);
    return d;
}

static void test_starved(void **state) {
    (void)state;
    const char text[] = "a;b;c;y\n1,5;red;x;2\nNA;blue;x;3\n2;red;z;4\n";
    starve(read_categories, text, sizeof text - 1);
    torment(read_categories, text, sizeof text - 1, 3000);
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
        {"a,b\n1,2\n3,\n", regress, HEED_ERR_FORMAT,
         "t.csv: line 3, column 'b': a missing value (''); --skip-missing drops such rows, --drop the column"},
        {"a,b\n1,2\nnan,4\n", regress, HEED_ERR_FORMAT, "t.csv: line 3, column 'a': a missing value ('nan')"},
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
        {"a,k\n1,0\n2,nan\n", classify, HEED_ERR_FORMAT, "line 3, column 'k': a missing value ('nan')"},
        {"a,k\n1,x\n2, \n", classify, HEED_ERR_FORMAT, "line 3, column 'k': a missing value (' ')"},
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
        {"a,b,a\n1,2,3\n", regress, HEED_ERR_FORMAT, "t.csv: line 1: columns 1 and 3 are both named 'a'"},
        {"a,b\n1,2\n", {.drop = NAMES("q")}, HEED_ERR_USAGE, "no column 'q'"},
        {"a,b,c\n1,2,3\n", {.drop = NAMES("a,a")}, HEED_ERR_USAGE, "t.csv: column 'a' is dropped twice"},
        {"a,b,c\n1,2,3\n", {.drop = NAMES("c"), .target = "c"}, HEED_ERR_USAGE, "column 'c' is dropped, but needed"},
        {"a,b,c\n1,2,3\n", {.drop = NAMES("b"), .use = NAMES("a,b")}, HEED_ERR_USAGE, "column 'b' is dropped, but"},
        {",,c\n1,2,3\n", regress, HEED_ERR_FORMAT, "t.csv: columns 1 and 2 have no name; --drop leaves them out"},
        {"a,b\n1,2\nNULL,4\n", {.drop = NAMES("b"), .target = "b"}, HEED_ERR_USAGE, "dropped, but needed"},
        {"a,b\n1,\n?,4\n", {.skip_missing = true}, HEED_ERR_FORMAT, "t.csv: each of the 2 rows has a missing value"},
        {"a\tb\n1,5\t1\n2,5\t2\n", regress, HEED_ERR_FORMAT, "'1,5' is not a number with a decimal point; --decimal ,"},
        {"a\tb\n1\t1\n2,5\t2\n3,5\t3\n", regress, HEED_ERR_FORMAT, "line 3, column 'a': '2,5' is not a number with"},
        {"a,b\n1,x\n2,y\n3,z\n", regress, HEED_ERR_FORMAT, "line 2, column 'b': 'x' is not a number"},
        {"a,b\n1,2\n", {.table = {.delimiter = ';', .decimal = ';'}}, HEED_ERR_USAGE, "a decimal mark is"},
        {"a,b\n1,2\n", {.part = "test"}, HEED_ERR_USAGE, "t.csv: a file has no part 'test'"},
        {"a,b\n1,2\n", {.task = (heed_data_task)7}, HEED_ERR_USAGE, "data: no task 7"},
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
    EXPECT_SENTENCE(cx, "data: path or name is NULL");
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
        cmocka_unit_test(test_regress),      cmocka_unit_test(test_forms),
        cmocka_unit_test(test_classes),      cmocka_unit_test(test_like_without_names),
        cmocka_unit_test(test_refusals),     cmocka_unit_test(test_decimal_comma),
        cmocka_unit_test(test_skip_missing), cmocka_unit_test(test_columns),
        cmocka_unit_test(test_categories),   cmocka_unit_test(test_many_categories),
        cmocka_unit_test(test_prose),        cmocka_unit_test(test_starved),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
