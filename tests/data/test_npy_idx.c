/* Data sets from npy pairs and from MNIST's IDX files, with every refusal; and MNIST itself where it is at hand. */
#include "given.h"
#include "heed/data.h"
#include "io/io_test.h"

#include <sys/stat.h>
#include <zlib.h>

static const heed_data_opts classify = {.task = HEED_DATA_CLASSIFY};

static void put_npy(heed_ctx *cx, const char *name, heed_dtype dtype, int rank, const int64_t *shape,
                    const void *data) {
    heed_array a = {.dtype = dtype, .rank = rank, .data = data};
    memcpy(a.shape, shape, (size_t)rank * sizeof *shape);
    assert_true(heed_npy_write(cx, in_folder(name), &a));
}
#define SHAPE(...) ((const int64_t[]){__VA_ARGS__})

static const char *pair(void) {
    static char path[1024];
    snprintf(path, sizeof path, "%s,%s", in_folder("x.npy"), in_folder("y.npy"));
    return path;
}

static void remove_pair(void) {
    unlink(in_folder("x.npy"));
    unlink(in_folder("y.npy"));
}

static void test_npy(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const double x[] = {1, 2, 3, 4, 5, 6};
    const float y[] = {7, 8, 9, 10};
    put_npy(cx, "x.npy", HEED_F64, 2, SHAPE(2, 3), x);
    put_npy(cx, "y.npy", HEED_F32, 2, SHAPE(2, 2), y);
    heed_data *d = heed_data_load(cx, pair(), NULL);
    assert_non_null(d);
    assert_int_equal(d->n, 2);
    assert_int_equal(d->width, 3);
    assert_int_equal(d->outputs, 2);
    for (int i = 0; i < 6; i++) assert_true(d->x[i] == (float)x[i]);
    assert_memory_equal(d->y, y, sizeof y);
    heed_data_free(cx, d);

    put_npy(cx, "x.npy", HEED_F32, 1, SHAPE(4), y); /* kept in the block it was read into */
    put_npy(cx, "y.npy", HEED_I64, 2, SHAPE(4, 1), ((const int64_t[]){0, 3, 1, 1}));
    d = heed_data_load(cx, pair(), &classify);
    assert_non_null(d);
    assert_int_equal(d->width, 1);
    assert_int_equal(d->classes, 4);
    assert_memory_equal(d->x, y, sizeof y);
    assert_memory_equal(d->label, ((int32_t[]){0, 3, 1, 1}), 16);
    heed_data_free(cx, d);

    const uint8_t pictures[2 * 3 * 2 * 1] = {0, 255, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    put_npy(cx, "x.npy", HEED_U8, 4, SHAPE(2, 3, 2, 1), pictures);
    d = heed_data_load(cx, in_folder("x.npy"), &(heed_data_opts){.task = HEED_DATA_INPUTS});
    assert_non_null(d);
    assert_null(d->label);
    assert_null(d->x);
    assert_memory_equal(d->bytes, pictures, sizeof pictures);
    assert_true(d->scale == 1.0f / 255.0f && d->shift == 0.0f);
    assert_int_equal(d->image_channels, 3);
    assert_int_equal(d->image_height, 2);
    assert_int_equal(d->image_width, 1);
    assert_int_equal(d->width, 6);
    heed_data_free(cx, d);

    put_npy(cx, "x.npy", HEED_U8, 2, SHAPE(2, 6), pictures);
    put_npy(cx, "y.npy", HEED_U8, 1, SHAPE(2), "\1\0");
    const heed_data like = {.classes = 2, .width = 6, .class_names = (char *[]){"dog", "cat", NULL}};
    d = heed_data_load(cx, pair(), &(heed_data_opts){.task = HEED_DATA_CLASSIFY, .like = &like});
    assert_non_null(d);
    assert_true(d->scale == 1.0f);
    assert_string_equal(d->class_names[0], "dog");
    assert_string_equal(d->class_names[1], "cat");
    assert_null(d->class_names[2]);
    heed_data_free(cx, d);
    remove_pair();
    close_context(cx);
}

static void test_npy_refusals(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const float x[8] = {1, 2, 3, NAN, 5, 6, 7, 8}, big[4] = {1, 2, -INFINITY, 3};
    const double huge[4] = {1, 1e200, 3, 4};
    const int32_t labels[4] = {0, 1, -3, 2};
    const heed_data two = {.classes = 2, .width = 1}, wide = {.classes = 9, .width = 5};
    const heed_data picture = {.classes = 9, .image_height = 4, .image_width = 1, .image_channels = 1};
#define CASE(xt, xr, xs, xd, yt, yr, ys, yd, o, text)                                                                  \
    { xt, xr, SHAPE xs, xd, yt, yr, SHAPE ys, yd, o, text }
    const heed_data_opts regress = {0}, like_two = {.task = HEED_DATA_CLASSIFY, .like = &two},
                         like_wide = {.task = HEED_DATA_CLASSIFY, .like = &wide},
                         like_picture = {.task = HEED_DATA_CLASSIFY, .like = &picture}, target = {.target = "a"};
    const struct {
        heed_dtype x_type;
        int x_rank;
        const int64_t *x_shape;
        const void *x;
        heed_dtype y_type;
        int y_rank;
        const int64_t *y_shape;
        const void *y;
        heed_data_opts opts;
        const char *sentence;
    } cases[] = {
        CASE(HEED_F32, 2, (4, 2), x, HEED_F32, 1, (4), big, regress, "x.npy: element (1,1) is nan, not a finite"),
        CASE(HEED_F64, 1, (4), huge, HEED_F32, 1, (4), big, regress, "x.npy: element (1) is inf"),
        CASE(HEED_F32, 1, (3), x, HEED_F32, 2, (3, 1), big, regress, "y.npy: element (2,0) is -inf"),
        CASE(HEED_F32, 1, (3), x, HEED_F32, 1, (4), big, regress, "y.npy: 4 targets for the 3 examples of "),
        CASE(HEED_F32, 1, (3), x, HEED_F32, 3, (3, 1, 1), x, regress, "y.npy: targets of shape (3,1,1): should be"),
        CASE(HEED_F32, 1, (3), x, HEED_F32, 2, (3, 0), x, regress, "y.npy: examples without targets"),
        CASE(HEED_F32, 0, (0), x, HEED_F32, 1, (1), x, regress, "x.npy: inputs of shape (): should be"),
        CASE(HEED_F32, 5, (1, 1, 1, 1, 1), x, HEED_F32, 1, (1), x, regress, "inputs of shape (1,1,1,1,1)"),
        CASE(HEED_F32, 2, (0, 3), x, HEED_F32, 1, (0), x, regress, "x.npy: the data set is empty"),
        CASE(HEED_F32, 2, (3, 0), x, HEED_F32, 1, (3), x, regress, "x.npy: examples without inputs"),
        CASE(HEED_F32, 1, (3), x, HEED_I32, 1, (3), labels, classify, "y.npy: element (2): class -3 is out of range"),
        CASE(HEED_F32, 1, (3), x, HEED_F32, 1, (3), x, classify, "f32, not integers"),
        CASE(HEED_F32, 1, (2), x, HEED_I32, 2, (2, 2), labels, classify, "y.npy: classes of shape (2,2): should be"),
        CASE(HEED_F32, 1, (1), x, HEED_I32, 1, (1), labels + 3, like_two, "class 2 is out of range, 0 to 1"),
        CASE(HEED_F32, 1, (1), x, HEED_I32, 1, (1), labels, like_wide, "x.npy,"),
        CASE(HEED_F32, 1, (1), x, HEED_I32, 1, (1), labels, like_wide, "y.npy: 1 inputs, should be 5"),
        CASE(HEED_F32, 3, (1, 1, 3), x, HEED_I32, 1, (1), labels, like_picture,
             "pictures of (1,1,3), should be (1,4,1)"),
        CASE(HEED_F32, 1, (1), x, HEED_F32, 1, (1), x, target, "not a table, so no columns can be chosen"),
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        put_npy(cx, "x.npy", cases[i].x_type, cases[i].x_rank, cases[i].x_shape, cases[i].x);
        put_npy(cx, "y.npy", cases[i].y_type, cases[i].y_rank, cases[i].y_shape, cases[i].y);
        const size_t blocks = books.blocks;
        assert_null(heed_data_load(cx, pair(), &cases[i].opts));
        assert_int_equal(books.blocks, blocks);
        EXPECT_SENTENCE(cx, cases[i].sentence);
    }
    assert_null(heed_data_load(cx, in_folder("x.npy"), NULL));
    EXPECT_SENTENCE(cx, "x.npy: inputs without targets: give a pair of files, x,y");
    unlink(in_folder("y.npy"));
    put_npy(cx, "x.npy", HEED_F32, 1, SHAPE(1), x);
    assert_null(heed_data_load(cx, pair(), NULL));
    EXPECT_SENTENCE(cx, "y.npy: No such file");
    write_bytes(in_folder("x.npy"), "word", 4);
    assert_null(heed_data_load(cx, pair(), NULL));
    EXPECT_SENTENCE(cx, "x.npy: ");
    remove_pair();
    close_context(cx);
}

/* ---- IDX ---- */

static const uint8_t images[] = {0, 0, 8, 3, 0, 0, 0, 3, 0, 0, 0, 1, 0, 0, 0, 2, 9, 8, 7, 6, 5, 255};
static const uint8_t labels[] = {0, 0, 8, 1, 0, 0, 0, 3, 4, 0, 2};

static void zip(const char *path, const void *bytes, size_t size) {
    gzFile f = gzopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(gzwrite(f, bytes, (unsigned)size), (int)size);
    assert_int_equal(gzclose(f), Z_OK);
}

static void expect_pictures(heed_ctx *cx, const heed_data_opts *opts) {
    heed_data *d = heed_data_load(cx, folder, opts);
    if (!d) print_error("%s\n", heed_message(cx));
    assert_non_null(d);
    assert_int_equal(d->n, 3);
    assert_int_equal(d->width, 2);
    assert_int_equal(d->image_height, 1);
    assert_int_equal(d->image_width, 2);
    assert_int_equal(d->image_channels, 1);
    assert_memory_equal(d->bytes, images + 16, 6);
    if (opts->task == HEED_DATA_CLASSIFY) {
        assert_int_equal(d->classes, 5);
        assert_memory_equal(d->label, ((int32_t[]){4, 0, 2}), 12);
    }
    heed_data_free(cx, d);
}

static bool load_folder(heed_ctx *cx, const void *bytes, size_t size) {
    (void)bytes, (void)size;
    heed_data *d = heed_data_load(cx, folder, &classify);
    heed_data_free(cx, d);
    return d;
}

static void test_idx(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const heed_data_opts test = {.task = HEED_DATA_CLASSIFY, .part = "test"};
    write_bytes(in_folder("train-images-idx3-ubyte"), images, sizeof images);
    assert_null(heed_data_load(cx, folder, &classify));
    EXPECT_SENTENCE(cx, ": a directory without MNIST's file train-labels-idx1-ubyte (or .gz)");
    zip(in_folder("train-labels.idx1-ubyte.gz"), labels, sizeof labels);
    expect_pictures(cx, &classify);
    expect_pictures(cx, &(heed_data_opts){.task = HEED_DATA_INPUTS, .part = "train"});
    assert_null(heed_data_load(cx, folder, &test));
    EXPECT_SENTENCE(cx, "t10k-images-idx3-ubyte");
    zip(in_folder("t10k-images-idx3-ubyte.gz"), images, sizeof images);
    write_bytes(in_folder("t10k-labels.idx1-ubyte"), labels, sizeof labels);
    expect_pictures(cx, &test);

    assert_null(heed_data_load(cx, folder, &(heed_data_opts){.part = "valid"}));
    EXPECT_SENTENCE(cx, ": no part 'valid': there are train and test");
    assert_null(heed_data_load(cx, folder, NULL));
    EXPECT_SENTENCE(cx, "labels are classes, not numbers to regress on");
    assert_null(heed_data_load(cx, folder, &(heed_data_opts){.task = HEED_DATA_CLASSIFY, .target = "1"}));
    EXPECT_SENTENCE(cx, "not a table");
    const heed_data few = {.classes = 3};
    assert_null(heed_data_load(cx, folder, &(heed_data_opts){.task = HEED_DATA_CLASSIFY, .like = &few}));
    EXPECT_SENTENCE(cx, "train-labels.idx1-ubyte.gz: element (0): class 4 is out of range, 0 to 2");
    close_context(cx);
    starve(load_folder, NULL, 0);

    cx = open_context();
    write_bytes(in_folder("train-images-idx3-ubyte"), "\x89PNG", 4);
    assert_null(heed_data_load(cx, folder, &classify));
    EXPECT_SENTENCE(cx, "train-images-idx3-ubyte: not an idx file");
    write_bytes(in_folder("train-images-idx3-ubyte"), images, sizeof images - 1);
    assert_null(heed_data_load(cx, folder, &classify));
    EXPECT_SENTENCE(cx, "takes 6 bytes, the file holds 5");
    write_bytes(in_folder("train-images-idx3-ubyte"), "\0\0\x08\3\0\0\0\2\0\0\0\1\0\0\0\1\7\7", 18);
    assert_null(heed_data_load(cx, folder, &classify));
    EXPECT_SENTENCE(cx, "train-labels.idx1-ubyte.gz: 3 targets for the 2 examples of ");
    write_bytes(in_folder("train-images-idx3-ubyte"), "\0\0\x08\3\0\0\0\0\0\0\0\1\0\0\0\1", 16);
    assert_null(heed_data_load(cx, folder, &classify));
    EXPECT_SENTENCE(cx, "train-images-idx3-ubyte: the data set is empty");
    close_context(cx);
    unlink(in_folder("train-images-idx3-ubyte"));
    unlink(in_folder("train-labels.idx1-ubyte.gz"));
    unlink(in_folder("t10k-images-idx3-ubyte.gz"));
    unlink(in_folder("t10k-labels.idx1-ubyte"));
}

/* Single IDX files, and pairs of them. */
static void test_idx_files(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    char both[1200], x[512];
    snprintf(x, sizeof x, "%s", in_folder("pictures"));
    write_bytes(x, images, sizeof images);
    zip(in_folder("labels-idx1-ubyte.gz"), labels, sizeof labels);
    heed_data *d = heed_data_load(cx, x, &(heed_data_opts){.task = HEED_DATA_INPUTS});
    assert_int_equal(d->n, 3);
    assert_int_equal(d->image_width, 2);
    assert_memory_equal(d->bytes, images + 16, 6);
    assert_null(d->label);
    heed_data_free(cx, d);
    snprintf(both, sizeof both, "%s,%s", x, in_folder("labels-idx1-ubyte.gz"));
    d = heed_data_load(cx, both, &classify);
    assert_memory_equal(d->label, ((int32_t[]){4, 0, 2}), 12);
    heed_data_free(cx, d);
    assert_null(heed_data_load(cx, x, &classify));
    EXPECT_SENTENCE(cx, "pictures: inputs without targets: give a pair of files, x,y");
    assert_null(
        heed_data_load(cx, x, &(heed_data_opts){.task = HEED_DATA_INPUTS, .drop = (const char *[]){"1", NULL}}));
    EXPECT_SENTENCE(cx, "not a table, so no columns can be chosen");
    unlink(x);
    unlink(in_folder("labels-idx1-ubyte.gz"));
    close_context(cx);
}

static bool load_pair(heed_ctx *cx, const void *bytes, size_t size) {
    (void)bytes, (void)size;
    const heed_data like = {.classes = 2, .class_names = (char *[]){"no", "yes", NULL}};
    heed_data *d = heed_data_load(cx, pair(), &(heed_data_opts){.task = HEED_DATA_CLASSIFY, .like = &like});
    heed_data_free(cx, d);
    return d;
}

static void test_no_memory(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    put_npy(cx, "x.npy", HEED_I16, 2, SHAPE(2, 2), ((const int16_t[]){1, 2, 3, 4}));
    put_npy(cx, "y.npy", HEED_BOOL, 1, SHAPE(2), "\1\0");
    close_context(cx);
    starve(load_pair, NULL, 0);
    remove_pair();
}

/* ---- MNIST itself ---- */

static void test_mnist(void **state) {
    (void)state;
    char path[1024];
    snprintf(path, sizeof path, "%s/mnist", given("mnist"));
    heed_ctx *cx = open_context();
    heed_data *train = heed_data_load(cx, path, &classify);
    heed_data *test =
        heed_data_load(cx, path, &(heed_data_opts){.task = HEED_DATA_CLASSIFY, .part = "test", .like = train});
    assert_non_null(test);
    assert_int_equal(train->n, 60000);
    assert_int_equal(test->n, 10000);
    assert_int_equal(train->width, 784);
    assert_int_equal(train->classes, 10);
    assert_memory_equal(train->label, ((int32_t[]){5, 0, 4, 1, 9}), 20);
    assert_memory_equal(test->label, ((int32_t[]){7, 2, 1, 0, 4}), 20);
    uint64_t sum = 0;
    for (int64_t i = 0; i < train->n * 784; i++) sum += train->bytes[i];
    const double mean = (double)sum / (60000.0 * 784.0 * 255.0); /* known to all who have trained on it: 0.1307 */
    assert_true(fabs(mean - 0.1307) < 1e-4);
    heed_data_free(cx, train);
    heed_data_free(cx, test);
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_npy),       cmocka_unit_test(test_npy_refusals), cmocka_unit_test(test_idx),
        cmocka_unit_test(test_idx_files), cmocka_unit_test(test_no_memory),    cmocka_unit_test(test_mnist),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
