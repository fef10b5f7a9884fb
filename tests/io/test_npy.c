/* npy: versions, types, orders, writing, refusals. */
#include "io_test.h"

/* A file of the given version: the dict padded with spaces, then data. */
static size_t compose(unsigned char *out, int version, const char *dict, const void *data, size_t data_size) {
    const size_t n = strlen(dict) + 2, start = version == 1 ? 10 : 12;
    memcpy(out, "\x93NUMPY", 6);
    out[6] = (unsigned char)version;
    for (int i = 0; i < 6; i++) out[7 + i] = 0;
    out[8] = (unsigned char)n;
    out[9] = (unsigned char)(n >> 8);
    memcpy(out + start, dict, n - 2);
    memcpy(out + start + n - 2, " \n", 2);
    if (data_size > 0) memcpy(out + start + n, data, data_size);
    return start + n + data_size;
}

static heed_array *parse(heed_ctx *cx, int version, const char *dict, const void *data, size_t data_size) {
    unsigned char file[2048];
    return heed_npy_parse(cx, "a.npy", file, compose(file, version, dict, data, data_size));
}

static void refused(heed_ctx *cx, const char *dict, size_t data_size, const char *part, int line) {
    const unsigned char data[64] = {0};
    if (parse(cx, 1, dict, data, data_size)) fail_msg("accepted: %s", dict);
    expect_sentence(cx, part, __FILE__, line);
}
#define REFUSED(dict, data_size, part) refused(cx, dict, data_size, part, __LINE__)
#define DICT(descr, order, shape)      "{'descr': " descr ", 'fortran_order': " order ", 'shape': " shape ", }"

static void test_types(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const struct {
        const char *descr;
        heed_dtype dtype;
    } cases[] = {{"<f4", HEED_F32}, {"<f8", HEED_F64}, {"<f2", HEED_F16}, {"|b1", HEED_BOOL}, {"|u1", HEED_U8},
                 {"|i1", HEED_I8},  {"<i2", HEED_I16}, {"<i4", HEED_I32}, {"<i8", HEED_I64},  {"<u2", HEED_U16},
                 {"<u4", HEED_U32}, {"<u8", HEED_U64}, {"=f4", HEED_F32}, {"|i4", HEED_I32},  {"<u1", HEED_U8}};
    const unsigned char data[32] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char dict[128];
        snprintf(dict, sizeof dict, DICT("'%s'", "False", "(4,)"), cases[i].descr);
        const size_t size = 4 * heed_dtype_size(cases[i].dtype);
        for (int version = 1; version <= 3; version++) {
            heed_array *a = parse(cx, version, dict, data, size);
            assert_non_null(a);
            assert_int_equal(a->dtype, cases[i].dtype);
            assert_int_equal(a->rank, 1);
            assert_int_equal(a->shape[0], 4);
            assert_string_equal(a->name, "a.npy");
            assert_memory_equal(a->data, data, size);
            assert_int_equal((uintptr_t)a->data % 64, 0);
            heed_mem_free(cx, a);
        }
    }
    close_context(cx);
}

static void test_shapes(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const struct {
        const char *dict;
        size_t size;
        int rank;
        int64_t last;
    } cases[] = {
        {DICT("'|u1'", "False", "()"), 1, 0, 0},
        {DICT("'|u1'", "False", "(6L,)"), 6, 1, 6},
        {DICT("\"|u1\"", "False", "(2, 3)"), 6, 2, 3},
        {DICT("'|u1'", "True", "(0, 7)"), 0, 2, 7},
        {"{'shape':(1,1,1,1,1,1,1,2,),'descr':'|u1','fortran_order':True}", 2, 8, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        heed_array *a = parse(cx, 1, cases[i].dict, "abcdef", cases[i].size);
        assert_non_null(a);
        assert_int_equal(a->rank, cases[i].rank);
        if (a->rank) assert_int_equal(a->shape[a->rank - 1], cases[i].last);
        assert_memory_equal(a->data, "abcdef", cases[i].size);
        heed_mem_free(cx, a);
    }
    close_context(cx);
}

/* Element (i,j,k) of a Fortran array lies at i + I (j + J k). */
static void test_fortran(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    int32_t data[24];
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 4; k++) data[i + 2 * (j + 3 * k)] = 100 * i + 10 * j + k;
    heed_array *a = parse(cx, 1, DICT("'<i4'", "True", "(2, 3, 4)"), data, sizeof data);
    assert_non_null(a);
    const int32_t *c = a->data;
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 4; k++) assert_int_equal(*c++, 100 * i + 10 * j + k);
    heed_mem_free(cx, a);
    close_context(cx);
}

static void test_refusals(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    assert_null(heed_npy_parse(cx, "a.npy", "NUMPY", 5));
    EXPECT_SENTENCE(cx, "a.npy: not an npy file: the magic at offset 0 is missing");
    assert_null(heed_npy_parse(cx, "a.npy", "\x93NUMPX\1\0\0\0", 10));
    EXPECT_SENTENCE(cx, "magic");
    assert_null(parse(cx, 4, DICT("'<f4'", "False", "()"), "abcd", 4));
    EXPECT_SENTENCE(cx, "a.npy: npy version 4.0 is not supported");
    assert_null(heed_npy_parse(cx, "a.npy", "\x93NUMPY\1\0\xFF\1", 10));
    EXPECT_SENTENCE(cx, "an npy header of 511 bytes does not fit a file of 10");
    assert_null(heed_npy_parse(cx, "a.npy", "\x93NUMPY\2\0\1\0\0", 11));
    EXPECT_SENTENCE(cx, "does not fit a file of 11");
    assert_null(heed_npy_parse(cx, "a.npy", "\x93NUMPY\2\0\xFF\xFF\xFF\xFF", 12));
    EXPECT_SENTENCE(cx, "an npy header of 4294967295 bytes");
    REFUSED(DICT("'>f4'", "False", "()"), 4, "big-endian data is not supported");
    REFUSED(DICT("'<c8'", "False", "()"), 8, "a.npy: npy type '<c8' is not supported");
    REFUSED(DICT("'<U4'", "False", "()"), 16, "'<U4' is not supported");
    REFUSED(DICT("'|O'", "False", "()"), 8, "'|O' is not supported");
    REFUSED(DICT("'f4'", "False", "()"), 4, "'f4' is not supported");
    REFUSED(DICT("[('x', '<f4')]", "False", "()"), 4, "structured types are not supported");
    REFUSED(DICT("4", "False", "()"), 4, "npy header, offset 20: a string is expected");
    REFUSED(DICT("'<f4", "False, ", "()"), 4, "a.npy: npy ");
    REFUSED(DICT("'<f4'", "0", "()"), 4, "True or False is expected");
    REFUSED(DICT("'<f4'", "False", "[1]"), 4, "a tuple is expected");
    REFUSED(DICT("'<f4'", "False", "(1)"), 4, "a tuple of one needs a ','");
    REFUSED(DICT("'<f4'", "False", "(1 1)"), 4, "',' or ')' is expected");
    REFUSED(DICT("'<f4'", "False", "(-1,)"), 4, "a size that is not negative is expected");
    REFUSED(DICT("'<f4'", "False", "(1.0,)"), 4, "expected");
    REFUSED(DICT("'<f4'", "False", "(,)"), 4, "a size that is not negative is expected");
    REFUSED(DICT("'<f4'", "False", "(99999999999999999999,)"), 4, "a size is too large");
    REFUSED(DICT("'<f4'", "False", "(1,1,1,1,1,1,1,1,1)"), 4, "more than 8 axes are not supported");
    REFUSED(DICT("'<f4'", "False", "(4294967296, 4294967296)"), 4, "shape (4294967296,4294967296) overflows");
    REFUSED(DICT("'<f4'", "False", "(2,)"), 4, "a.npy: f32 (2) takes 8 bytes, the file holds 4");
    REFUSED(DICT("'<f4'", "False", "(2,)"), 9, "takes 8 bytes, the file holds 9");
    REFUSED("", 0, "'{' is expected");
    REFUSED("{'descr': '<f4'}", 4, "descr, fortran_order and shape must all be there");
    REFUSED("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': ()}", 4, "unknown or appears twice");
    REFUSED("{'descr': '<f4', 'extra': 1, 'fortran_order': False, 'shape': ()}", 4, "unknown or appears twice");
    REFUSED("{'descr' '<f4'}", 4, "':' is expected");
    REFUSED("{'descr': '<f4' 'shape': ()}", 4, "',' or '}' is expected");
    REFUSED(DICT("'<f4'", "False", "()") "x", 4, "text follows the dictionary");
    REFUSED("{'descr': '<f4'", 4, "expected");
    close_context(cx);
}

static void test_write(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const char *path = in_folder("w.npy");
    double numbers[24];
    for (int i = 0; i < 24; i++) numbers[i] = i * 0.37 - 3;
    for (int i = 0; i < 13; i++) {
        if (i == HEED_BF16) continue;
        for (int rank = 0; rank <= 8; rank += rank < 3 ? 1 : 5) {
            heed_array a = {.dtype = (heed_dtype)i, .rank = rank, .data = numbers};
            for (int k = 0; k < rank; k++) a.shape[k] = k < 3 ? k + 1 : 1;
            assert_true(heed_npy_write(cx, path, &a));
            size_t size;
            char *raw = read_bytes(path, &size);
            const size_t bytes = (size_t)heed_array_count(&a) * heed_dtype_size(a.dtype);
            assert_int_equal((size - bytes) % 64, 0);
            assert_int_equal(raw[size - bytes - 1], '\n');
            free(raw);
            heed_array *back = heed_npy_read(cx, path);
            assert_non_null(back);
            assert_int_equal(back->dtype, a.dtype);
            assert_int_equal(back->rank, rank);
            assert_memory_equal(back->shape, a.shape, sizeof a.shape);
            assert_memory_equal(back->data, numbers, bytes);
            assert_string_equal(back->name, path);
            heed_mem_free(cx, back);
        }
    }
    /* The longest header there is. */
    const heed_array wide = {.rank = 8,
                             .shape = {0, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX}};
    assert_true(heed_npy_write(cx, path, &wide));
    heed_array *back = heed_npy_read(cx, path);
    assert_non_null(back);
    assert_int_equal(back->shape[7], INT64_MAX);
    heed_mem_free(cx, back);
    assert_int_equal(unlink(path), 0);

    assert_false(heed_npy_write(cx, path, &(heed_array){.dtype = HEED_BF16, .data = numbers}));
    EXPECT_SENTENCE(cx, "numpy has no type bf16");
    assert_false(heed_npy_write(cx, path, &(heed_array){.dtype = HEED_F32}));
    EXPECT_SENTENCE(cx, "npy_write: data is NULL");
    assert_false(heed_npy_write(cx, in_folder("absent/x"), &(heed_array){.data = numbers}));
    EXPECT_SENTENCE(cx, "absent/x: ");
    assert_int_not_equal(access(path, F_OK), 0);
    close_context(cx);
}

static void test_null(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    assert_null(heed_npy_read(cx, NULL));
    EXPECT_SENTENCE(cx, "npy_read: path is NULL");
    assert_null(heed_npy_parse(cx, NULL, "", 0));
    EXPECT_SENTENCE(cx, "npy_parse");
    assert_null(heed_npy_parse(cx, "x", NULL, 0));
    EXPECT_SENTENCE(cx, "npy_parse");
    assert_false(heed_npy_write(cx, NULL, NULL));
    EXPECT_SENTENCE(cx, "npy_write");
    assert_null(heed_npy_read(NULL, "x"));
    write_bytes(in_folder("empty.npy"), "", 0);
    assert_null(heed_npy_read(cx, in_folder("empty.npy")));
    EXPECT_SENTENCE(cx, "empty.npy: not an npy file");
    assert_int_equal(unlink(in_folder("empty.npy")), 0);
    close_context(cx);
}

static bool look(heed_ctx *cx, const void *bytes, size_t size) {
    heed_array *a = heed_npy_parse(cx, "m", bytes, size);
    unsigned sum = 0;
    const size_t n = a ? (size_t)heed_array_count(a) * heed_dtype_size(a->dtype) : 0;
    for (size_t k = 0; k < n; k++) sum += ((const unsigned char *)a->data)[k];
    assert_true(sum < 1u << 20);
    heed_mem_free(cx, a);
    return a;
}

static bool through_file(heed_ctx *cx, const void *bytes, size_t size) {
    const heed_array a = {.dtype = HEED_U8, .rank = 1, .shape = {(int64_t)size}, .data = bytes};
    heed_array *back = heed_npy_write(cx, in_folder("s.npy"), &a) ? heed_npy_read(cx, in_folder("s.npy")) : NULL;
    heed_mem_free(cx, back);
    return back;
}

static void test_hostile(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    unsigned char file[256];
    const uint16_t data[6] = {1, 2, 3, 4, 5, 6};
    for (int version = 1; version <= 2; version++) {
        const size_t size = compose(file, version, DICT("'<u2'", "True", "(2, 3)"), data, sizeof data);
        assert_true(parse_exact(cx, look, file, size));
        assert_int_equal(truncate_everywhere(cx, look, file, size), 0);
        mutate_often(cx, look, file, size, 10000);
    }
    close_context(cx);
    starve(look, file, compose(file, 1, DICT("'<u2'", "True", "(2, 3)"), data, sizeof data));
    starve(through_file, "abc", 3);
    assert_int_equal(unlink(in_folder("s.npy")), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types),    cmocka_unit_test(test_shapes), cmocka_unit_test(test_fortran),
        cmocka_unit_test(test_refusals), cmocka_unit_test(test_write),  cmocka_unit_test(test_null),
        cmocka_unit_test(test_hostile),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
