/* Types, shapes and conversions. */
#include "io_test.h"

static void test_types(void **state) {
    (void)state;
    const struct {
        heed_dtype dtype;
        size_t size;
        const char *name;
    } all[] = {{HEED_F32, 4, "f32"}, {HEED_I32, 4, "i32"}, {HEED_U8, 1, "u8"},     {HEED_BF16, 2, "bf16"},
               {HEED_F16, 2, "f16"}, {HEED_I8, 1, "i8"},   {HEED_BOOL, 1, "bool"}, {HEED_I64, 8, "i64"},
               {HEED_F64, 8, "f64"}, {HEED_I16, 2, "i16"}, {HEED_U16, 2, "u16"},   {HEED_U32, 4, "u32"},
               {HEED_U64, 8, "u64"}, {HEED_C64, 8, "c64"}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        assert_int_equal(heed_dtype_size(all[i].dtype), all[i].size);
        assert_string_equal(heed_dtype_name(all[i].dtype), all[i].name);
    }
    assert_int_equal(heed_dtype_size((heed_dtype)14), 0);
    assert_string_equal(heed_dtype_name((heed_dtype)99), "?");
}

static void test_count(void **state) {
    (void)state;
    assert_int_equal(heed_array_count(NULL), -1);
    assert_int_equal(heed_array_count(&(heed_array){.rank = 0}), 1);
    assert_int_equal(heed_array_count(&(heed_array){.rank = 3, .shape = {2, 0, 5}}), 0);
    assert_int_equal(heed_array_count(&(heed_array){.rank = 2, .shape = {2, -1}}), -1);
    assert_int_equal(heed_array_count(&(heed_array){.rank = 9}), -1);
    assert_int_equal(heed_array_count(&(heed_array){.rank = -1}), -1);
    assert_int_equal(heed_array_count(&(heed_array){.dtype = (heed_dtype)77}), -1);
    assert_int_equal(heed_array_count(&(heed_array){.rank = 2, .shape = {INT64_MAX, 2}}), -1);
    assert_int_equal(heed_array_count(&(heed_array){.rank = 1, .shape = {INT64_MAX / 4 + 1}}), -1); /* bytes overflow */
}

static uint32_t bits_of(float f) {
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

/* The value of a half by its definition, in double. */
static double half_value(uint16_t h) {
    const int exponent = h >> 10 & 31, fraction = h & 1023;
    const double magnitude = exponent == 0    ? ldexp(fraction, -24)
                             : exponent == 31 ? (fraction ? (double)NAN : (double)INFINITY)
                                              : ldexp(1024 + fraction, exponent - 25);
    return h & 0x8000 ? -magnitude : magnitude;
}

static void test_f16_all(void **state) {
    (void)state;
    for (uint32_t i = 0; i < 65536; i++) {
        const uint16_t h = (uint16_t)i;
        const float f = heed_f16_to_f32(h);
        const double expected = half_value(h);
        if (isnan(expected))
            assert_true(isnan(f));
        else
            assert_true((double)f == expected);
        assert_int_equal(bits_of(f) >> 31, h >> 15);
        assert_int_equal(heed_f32_to_f16(f), h); /* NaN payloads too */
    }
}

/* Halfway between neighbours goes to the even one, anything else to the nearer; past the largest, to infinity. */
static void test_f16_rounding(void **state) {
    (void)state;
    for (uint32_t i = 0; i < 0x7C00; i++) {
        const uint16_t low = (uint16_t)i, high = (uint16_t)(i + 1);
        const double above = i == 0x7BFF ? 65536 : half_value(high);
        const float middle = (float)((half_value(low) + above) / 2);
        assert_int_equal(heed_f32_to_f16(middle), i & 1 ? high : low);
        assert_int_equal(heed_f32_to_f16(nextafterf(middle, 0)), low);
        assert_int_equal(heed_f32_to_f16(nextafterf(middle, INFINITY)), high);
        assert_int_equal(heed_f32_to_f16(-middle), 0x8000 | (i & 1 ? high : low));
    }
    assert_int_equal(heed_f32_to_f16(3e38f), 0x7C00);
    assert_int_equal(heed_f32_to_f16(-INFINITY), 0xFC00);
    assert_int_equal(heed_f32_to_f16(1e-40f), 0);
    const uint32_t nan_low = 0x7F800001; /* its payload does not reach a half */
    float f;
    memcpy(&f, &nan_low, sizeof f);
    assert_true(isnan(heed_f16_to_f32(heed_f32_to_f16(f))));
    assert_true(isnan(heed_bf16_to_f32(heed_f32_to_bf16(f))));
}

static void test_bf16_all(void **state) {
    (void)state;
    for (uint32_t i = 0; i < 65536; i++) {
        const float f = heed_bf16_to_f32((uint16_t)i);
        assert_int_equal(bits_of(f), i << 16);
        assert_int_equal(heed_f32_to_bf16(f), i);
    }
    for (uint32_t i = 0; i < 0x7F80; i++) {
        const uint32_t half = i << 16 | 0x8000;
        float middle;
        memcpy(&middle, &half, sizeof middle);
        assert_int_equal(heed_f32_to_bf16(middle), i + (i & 1));
        assert_int_equal(heed_f32_to_bf16(nextafterf(middle, 0)), i);
        assert_int_equal(heed_f32_to_bf16(nextafterf(middle, INFINITY)), i + 1);
        assert_int_equal(heed_f32_to_bf16(-middle), 0x8000 | (i + (i & 1)));
    }
}

#define ARRAY(type, n, values) (&(heed_array){.name = "a", .dtype = type, .rank = 1, .shape = {n}, .data = values})

static void test_to_f32(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    float out[4];
    const struct {
        heed_dtype dtype;
        const void *data;
        float expected[4];
    } cases[] = {
        {HEED_F32, (float[]){1.5f, -2, 0, 3e38f}, {1.5f, -2, 0, 3e38f}},
        {HEED_F64, (double[]){0.1, -1e300, 16777217.0, 2}, {0.1f, -INFINITY, 16777216.0f, 2}},
        {HEED_F16, (uint16_t[]){0x3C00, 0xC000, 1, 0x7C00}, {1, -2, 0x1p-24f, INFINITY}},
        {HEED_BF16, (uint16_t[]){0x3F80, 0xC000, 0x4049, 0}, {1, -2, 3.140625f, 0}},
        {HEED_BOOL, (uint8_t[]){0, 1, 2, 255}, {0, 1, 1, 1}},
        {HEED_U8, (uint8_t[]){0, 1, 2, 255}, {0, 1, 2, 255}},
        {HEED_I8, (int8_t[]){0, -1, 127, -128}, {0, -1, 127, -128}},
        {HEED_U16, (uint16_t[]){0, 1, 2, 65535}, {0, 1, 2, 65535}},
        {HEED_I16, (int16_t[]){0, -1, 2, -32768}, {0, -1, 2, -32768}},
        {HEED_U32, (uint32_t[]){0, 1, 2, UINT32_MAX}, {0, 1, 2, 0x1p32f}},
        {HEED_I32, (int32_t[]){0, -1, 16777217, INT32_MIN}, {0, -1, 16777216, -0x1p31f}},
        {HEED_U64, (uint64_t[]){0, 1, 2, UINT64_MAX}, {0, 1, 2, 0x1p64f}},
        {HEED_I64, (int64_t[]){0, -1, 2, INT64_MIN}, {0, -1, 2, -0x1p63f}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_true(heed_array_to_f32(cx, ARRAY(cases[i].dtype, 4, cases[i].data), out, 4));
        assert_memory_equal(out, cases[i].expected, sizeof out);
        /* The same from an address that is aligned to nothing. */
        char raw[40];
        memcpy(raw + 1, cases[i].data, 4 * heed_dtype_size(cases[i].dtype));
        assert_true(heed_array_to_f32(cx, ARRAY(cases[i].dtype, 4, raw + 1), out, 4));
        assert_memory_equal(out, cases[i].expected, sizeof out);
    }
    assert_true(heed_array_to_f32(cx, ARRAY(HEED_F64, 0, NULL), NULL, 0));
    assert_false(heed_array_to_f32(cx, ARRAY(HEED_C64, 1, (float[2]){1}), out, 1));
    EXPECT_SENTENCE(cx, "is c64, not real numbers");
    assert_false(heed_array_to_f32(cx, NULL, out, 4));
    EXPECT_SENTENCE(cx, "array_to_f32: the array is NULL");
    assert_false(heed_array_to_f32(cx, ARRAY(HEED_F32, 4, NULL), out, 4));
    EXPECT_SENTENCE(cx, "data is NULL");
    assert_false(heed_array_to_f32(cx, ARRAY(HEED_F32, 4, out), NULL, 4));
    EXPECT_SENTENCE(cx, "out is NULL");
    assert_false(heed_array_to_f32(cx, ARRAY(HEED_F32, 4, out), out, 3));
    EXPECT_SENTENCE(cx, "'a' (4) has 4 elements, not 3");
    assert_false(heed_array_to_f32(cx, ARRAY((heed_dtype)50, 4, out), out, 4));
    EXPECT_SENTENCE(cx, "there is no type 50");
    assert_false(heed_array_to_f32(cx, ARRAY(HEED_F32, -4, out), out, 4));
    EXPECT_SENTENCE(cx, "no array has shape (-4)");
    assert_false(heed_array_to_f32(cx, &(heed_array){.rank = 12}, out, 4));
    EXPECT_SENTENCE(cx, "rank 12");
    assert_false(heed_array_to_f32(NULL, ARRAY(HEED_F32, 4, out), out, 4));
    close_context(cx);
}

static void test_to_i32(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    int32_t out[3];
    const struct {
        heed_dtype dtype;
        const void *data;
        int32_t expected[3];
    } cases[] = {
        {HEED_I32, (int32_t[]){INT32_MIN, 0, INT32_MAX}, {INT32_MIN, 0, INT32_MAX}},
        {HEED_I64, (int64_t[]){INT32_MIN, 0, INT32_MAX}, {INT32_MIN, 0, INT32_MAX}},
        {HEED_U64, (uint64_t[]){1, 0, INT32_MAX}, {1, 0, INT32_MAX}},
        {HEED_U32, (uint32_t[]){1, 0, INT32_MAX}, {1, 0, INT32_MAX}},
        {HEED_I16, (int16_t[]){-3, 0, 3}, {-3, 0, 3}},
        {HEED_U16, (uint16_t[]){65535, 0, 3}, {65535, 0, 3}},
        {HEED_I8, (int8_t[]){-128, 0, 3}, {-128, 0, 3}},
        {HEED_U8, (uint8_t[]){255, 0, 3}, {255, 0, 3}},
        {HEED_BOOL, (uint8_t[]){255, 0, 1}, {1, 0, 1}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_true(heed_array_to_i32(cx, ARRAY(cases[i].dtype, 3, cases[i].data), out, 3));
        assert_memory_equal(out, cases[i].expected, sizeof out);
    }
    assert_false(heed_array_to_i32(cx, ARRAY(HEED_I64, 3, ((int64_t[]){0, 1, 3000000000})), out, 3));
    EXPECT_SENTENCE(cx, "'a': 3000000000 at position 2 does not fit");
    assert_false(heed_array_to_i32(cx, ARRAY(HEED_I64, 3, ((int64_t[]){0, INT64_MIN, 0})), out, 3));
    EXPECT_SENTENCE(cx, "-9223372036854775808 at position 1");
    assert_false(heed_array_to_i32(cx, ARRAY(HEED_U64, 3, ((uint64_t[]){UINT64_MAX, 0, 0})), out, 3));
    EXPECT_SENTENCE(cx, "18446744073709551615 at position 0");
    assert_false(heed_array_to_i32(cx, ARRAY(HEED_U32, 3, ((uint32_t[]){0, 0x80000000u, 0})), out, 3));
    EXPECT_SENTENCE(cx, "2147483648 at position 1");
    assert_false(heed_array_to_i32(cx, ARRAY(HEED_F16, 3, out), out, 3));
    EXPECT_SENTENCE(cx, "'a' is f16, not integers");
    assert_false(heed_array_to_i32(cx, NULL, out, 3));
    EXPECT_SENTENCE(cx, "array_to_i32: the array is NULL");
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types),    cmocka_unit_test(test_count),        cmocka_unit_test(test_f16_all),
        cmocka_unit_test(test_bf16_all), cmocka_unit_test(test_f16_rounding), cmocka_unit_test(test_to_f32),
        cmocka_unit_test(test_to_i32),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
