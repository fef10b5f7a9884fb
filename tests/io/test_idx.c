/* idx: the types, gzip, refusals. */
#include "io_test.h"

static void test_types(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const struct {
        const char *bytes;
        size_t size;
        heed_dtype dtype;
        float expected[2];
    } cases[] = {
        {"\0\0\x08\1\0\0\0\2\1\xFF", 10, HEED_U8, {1, 255}},
        {"\0\0\x09\1\0\0\0\2\1\xFF", 10, HEED_I8, {1, -1}},
        {"\0\0\x0B\1\0\0\0\2\1\2\xFF\xFE", 12, HEED_I16, {258, -2}},
        {"\0\0\x0C\1\0\0\0\2\0\0\1\2\xFF\xFF\xFF\xFE", 16, HEED_I32, {258, -2}},
        {"\0\0\x0D\1\0\0\0\2\x3F\x80\0\0\xC0\0\0\0", 16, HEED_F32, {1, -2}},
        {"\0\0\x0E\1\0\0\0\2\x3F\xF0\0\0\0\0\0\0\xC0\0\0\0\0\0\0\0", 24, HEED_F64, {1, -2}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        heed_array *a = heed_idx_parse(cx, "x.idx", cases[i].bytes, cases[i].size);
        float out[2];
        assert_non_null(a);
        assert_int_equal(a->dtype, cases[i].dtype);
        assert_int_equal(a->rank, 1);
        assert_string_equal(a->name, "x.idx");
        assert_true(heed_array_to_f32(cx, a, out, 2));
        assert_true(out[0] == cases[i].expected[0] && out[1] == cases[i].expected[1]);
        heed_mem_free(cx, a);
    }
    close_context(cx);
}

static const unsigned char images[] = {0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2, 9, 8, 7, 6};
/* The same, by gzip -9n. */
static const unsigned char zipped[] = {0x1F, 0x8B, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0x63, 0x60,
                                       0xE0, 0x60, 0x66, 0x60, 0x60, 0x60, 0x02, 0x62, 0x46, 0x10, 0xCD, 0xC9,
                                       0xC1, 0xCE, 0x06, 0x00, 0xAD, 0xB1, 0xC0, 0x93, 0x14, 0x00, 0x00, 0x00};

static bool read_file(heed_ctx *cx, const void *bytes, size_t size) {
    (void)bytes, (void)size;
    heed_array *a = heed_idx_read(cx, in_folder("images"));
    if (a) {
        assert_int_equal(a->rank, 3);
        assert_int_equal(a->shape[0], 2);
        assert_int_equal(a->shape[2], 2);
        assert_memory_equal(a->data, images + 16, 4);
    }
    heed_mem_free(cx, a);
    return a;
}

static void test_files(void **state) {
    (void)state;
    const char *path = in_folder("images");
    write_bytes(path, images, sizeof images);
    starve(read_file, NULL, 0);
    write_bytes(path, zipped, sizeof zipped);
    starve(read_file, NULL, 0);
    heed_ctx *cx = open_context();
    write_bytes(path, zipped, sizeof zipped - 9);
    assert_false(read_file(cx, NULL, 0));
    EXPECT_SENTENCE(cx, "images: the gzip data ends too early");
    assert_int_equal(unlink(in_folder("images")), 0);
    assert_false(read_file(cx, NULL, 0));
    EXPECT_SENTENCE(cx, "images: ");
    close_context(cx);
}

static void test_refusals(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const struct {
        const char *bytes;
        size_t size;
        const char *part;
    } cases[] = {
        {"\0\0\x08", 3, "x: not an idx file: it does not begin with two zero bytes"},
        {"\0\1\x08\1\0\0\0\0", 8, "two zero bytes"},
        {"\0\0\x0A\1\0\0\0\0", 8, "x: unknown idx type 0x0a at offset 2"},
        {"\0\0\x08\x09\0\0\0\0", 8, "x: 9 axes, at most 8 are supported"},
        {"\0\0\x08\2\0\0\0\0", 8, "x: 8 bytes, too few for the sizes of 2 axes"},
        {"\0\0\x08\1\0\0\0\2z", 9, "x: u8 (2) takes 2 bytes, the file holds 1"},
        {"\0\0\x08\1\0\0\0\2zzz", 11, "takes 2 bytes, the file holds 3"},
        {"\0\0\x08\3\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 16,
         "shape (4294967295,4294967295,4294967295) overflows"},
        {"\0\0\x0E\2\xFF\xFF\xFF\xFF\x7F\xFF\xFF\xFF", 12, "overflows"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_null(heed_idx_parse(cx, "x", cases[i].bytes, cases[i].size));
        EXPECT_SENTENCE(cx, cases[i].part);
    }
    assert_null(heed_idx_read(cx, NULL));
    EXPECT_SENTENCE(cx, "idx_read: path is NULL");
    assert_null(heed_idx_parse(cx, NULL, "", 0));
    EXPECT_SENTENCE(cx, "idx_parse");
    assert_null(heed_idx_parse(cx, "x", NULL, 0));
    EXPECT_SENTENCE(cx, "idx_parse");
    assert_null(heed_idx_parse(NULL, "x", "", 0));
    close_context(cx);
}

static bool look(heed_ctx *cx, const void *bytes, size_t size) {
    heed_array *a = heed_idx_parse(cx, "m", bytes, size);
    const size_t n = a ? (size_t)heed_array_count(a) * heed_dtype_size(a->dtype) : 0;
    unsigned sum = 0;
    for (size_t k = 0; k < n; k++) sum += ((const unsigned char *)a->data)[k];
    assert_true(sum < 1u << 20);
    heed_mem_free(cx, a);
    return a;
}

static void test_hostile(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    assert_true(parse_exact(cx, look, images, sizeof images));
    assert_int_equal(truncate_everywhere(cx, look, images, sizeof images), 0);
    mutate_often(cx, look, images, sizeof images, 10000);
    close_context(cx);
    starve(look, images, sizeof images);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_hostile),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
