/* Pictures in folders and in tar archives: classes, order, bytes; what is refused. */
#include "../io/io_test.h"
#include "heed/data.h"
#include "heed/image.h"
#include "io/tar.h"

#include <sys/stat.h>

static heed_image drawn(heed_ctx *cx, int64_t width, int64_t height, int shade) {
    heed_image p;
    assert_true(heed_image_new(cx, width, height, 3, &p));
    for (int64_t i = 0; i < width * height * 3; i++) p.data[i] = (uint8_t)(shade + i);
    return p;
}

static void put(heed_ctx *cx, const char *name, int64_t width, int64_t height, int shade) {
    heed_image p = drawn(cx, width, height, shade);
    assert_true(heed_image_write(cx, in_folder(name), &p, 0));
    heed_image_free(cx, &p);
}

static void check_data(heed_ctx *cx, heed_data *d) {
    if (!d) fail_msg("%s", heed_message(cx));
    assert_int_equal(d->n, 3);
    assert_int_equal(d->classes, 2);
    assert_string_equal(d->class_names[0], "cat");
    assert_string_equal(d->class_names[1], "dog");
    assert_true(d->label[0] == 0 && d->label[1] == 0 && d->label[2] == 1);
    assert_true(d->image_channels == 3 && d->image_height == 2 && d->image_width == 4 && d->width == 24);
    static const int shades[] = {10, 20, 30};
    for (int i = 0; i < 3; i++)
        for (int c = 0; c < 3; c++)
            for (int k = 0; k < 8; k++) assert_int_equal(d->bytes[i * 24 + c * 8 + k], shades[i] + 3 * k + c);
}

/* A tar header for a file, and the file, padded. */
static size_t archive(unsigned char *out, const char *name, const void *bytes, size_t size) {
    memset(out, 0, 512 + (size + 511) / 512 * 512);
    snprintf((char *)out, 100, "%s", name);
    snprintf((char *)out + 124, 12, "%011o", (unsigned)size);
    memset(out + 148, ' ', 8);
    out[156] = '0';
    memcpy(out + 257, "ustar", 6);
    unsigned sum = 0;
    for (int i = 0; i < 512; i++) sum += out[i];
    snprintf((char *)out + 148, 8, "%06o", sum);
    memcpy(out + 512, bytes, size);
    return 512 + (size + 511) / 512 * 512;
}

static void test_folders(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const heed_data_opts opts = {.task = HEED_DATA_CLASSIFY};
    mkdir(in_folder("train"), 0700);
    mkdir(in_folder("train/dog"), 0700);
    mkdir(in_folder("train/cat"), 0700);
    put(cx, "train/cat/b.png", 4, 2, 20);
    assert_null(heed_data_load(cx, folder, &opts));
    EXPECT_SENTENCE(cx, "train/dog: the folder of a class without a picture");
    put(cx, "train/cat/a.png", 4, 2, 10);
    put(cx, "train/dog/z.png", 4, 2, 30);
    heed_data *d = heed_data_load(cx, folder, &opts);
    check_data(cx, d);
    mkdir(in_folder("test"), 0700);
    mkdir(in_folder("test/dog"), 0700);
    put(cx, "test/dog/x.png", 4, 2, 1);
    heed_data *test =
        heed_data_load(cx, folder, &(heed_data_opts){.task = HEED_DATA_CLASSIFY, .part = "test", .like = d});
    assert_true(test && test->n == 1 && test->label[0] == 1 && test->classes == 2);
    heed_data_free(cx, test);
    mkdir(in_folder("test/cow"), 0700);
    put(cx, "test/cow/x.png", 4, 2, 1);
    assert_null(heed_data_load(cx, folder, &(heed_data_opts){.task = HEED_DATA_CLASSIFY, .part = "test", .like = d}));
    EXPECT_SENTENCE(cx, "class 'cow' is not one of the 2 known");
    heed_data_free(cx, d);
    put(cx, "train/dog/y.png", 5, 2, 1);
    assert_null(heed_data_load(cx, folder, &opts));
    EXPECT_SENTENCE(cx, "5 x 2 pixels, those before have 4 x 2");
    write_bytes(in_folder("train/dog/y.png"), "no picture", 10);
    assert_null(heed_data_load(cx, folder, &opts));
    EXPECT_SENTENCE(cx, "train/dog/y.png: not a picture");
    unlink(in_folder("train/dog/y.png"));
    close_context(cx);
}

static void test_archive(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const heed_data_opts opts = {.task = HEED_DATA_CLASSIFY};
    static const char *const names[] = {"set/train/dog/z.png", "set/train/cat/b.png", "set/test/cat/q.png",
                                        "set/train/cat/a.png", "set/train/cat/readme.txt"};
    static const int shades[] = {30, 20, 40, 10, 0};
    unsigned char *bytes = calloc(1 << 16, 1);
    size_t n = 0;
    for (int i = 0; i < 5; i++) {
        heed_image p = drawn(cx, 4, 2, shades[i]);
        size_t size;
        unsigned char *file = heed_image_encode(cx, &p, HEED_IMAGE_PNG, 0, &size);
        n += archive(bytes + n, names[i], file, size);
        heed_mem_free(cx, file);
        heed_image_free(cx, &p);
    }
    const char *path = in_folder("set.tar");
    write_bytes(path, bytes, n + 1024);
    heed_data *d = heed_data_load(cx, path, &opts);
    check_data(cx, d);
    heed_data_free(cx, d);
    assert_null(heed_data_load(cx, path, &(heed_data_opts){.task = HEED_DATA_CLASSIFY, .part = "val"}));
    EXPECT_SENTENCE(cx, "no pictures val/CLASS/NAME.png or .jpg");
    write_bytes(path, bytes, n - 500); /* within the last file */
    assert_null(heed_data_load(cx, path, &opts));
    EXPECT_SENTENCE(cx, "set.tar: not a sound tar archive: it is cut short");
    bytes[3] ^= 1;
    write_bytes(path, bytes, n);
    assert_null(heed_data_load(cx, path, &opts));
    EXPECT_SENTENCE(cx, "the checksum of a header is wrong, at byte 0");
    unlink(path);
    free(bytes);
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_folders), cmocka_unit_test(test_archive)};
    return cmocka_run_group_tests(tests, make_folder, wipe_folder);
}
