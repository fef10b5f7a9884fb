/* Resizing: Pillow's bytes, for every filter and kind; every instruction set against a plain twin; any threads. */
#include "image_test.h"
#include "kernel/isa.h"

static void test_golden(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    open_golden("resize");
    const char *list = heed_safetensors_metadata(golden_cx, golden, "list");
    const heed_json cases = heed_json_parse(cx, "list", list, strlen(list));
    for (heed_json v = heed_json_first(cases); heed_json_kind_of(v) != HEED_JSON_NONE; v = heed_json_next(v)) {
        const char *name = heed_json_text(cx, v, "name");
        const heed_json b = heed_json_array(cx, v, "box");
        float at[4];
        for (int i = 0; i < 4; i++) at[i] = (float)heed_json_number(cx, heed_json_item(cx, b, i), NULL);
        heed_filter filter;
        assert_true(heed_filter_find(heed_json_text(cx, v, "filter"), &filter));
        const heed_image in = picture_of(find_golden(heed_json_text(cx, v, "source"), ""));
        heed_image out;
        assert_true(heed_image_resize(cx, &in, heed_json_int(cx, v, "width"), heed_json_int(cx, v, "height"), filter,
                                      &(heed_box){at[0], at[1], at[2], at[3]}, &out));
        same_picture(name, &out, find_golden(name, ""));
        heed_image_free(cx, &out);
    }
    assert_int_equal(heed_json_count(cases), 6 * (8 + 3 * 3));
    heed_json_free(cases);
    close_golden();
    close_context(cx);
}

static void test_threads(void **state) {
    (void)state;
    heed_image first = {0};
    heed_ctx *one = heed_open(&(heed_config){.threads = 1});
    for (int threads = 1; threads <= 3; threads++) {
        heed_ctx *cx = heed_open(&(heed_config){.threads = threads});
        heed_image in = drawn(cx, 301, 277, 3, 1), out;
        assert_true(heed_image_resize(cx, &in, 180, 400, HEED_FILTER_BICUBIC, NULL, &out));
        if (threads == 1) assert_true(heed_image_copy(one, &out, &first));
        assert_memory_equal(out.data, first.data, 180 * 400 * 3);
        heed_image_free(cx, &in);
        heed_image_free(cx, &out);
        heed_close(cx);
    }
    heed_image_free(one, &first);
    heed_close(one);
}

/* A picture too wide for a strip of its rows. */
static void test_wide(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_image in = drawn(cx, 40000, 3, 3, 1), out, part, small;
    assert_true(heed_image_resize(cx, &in, 20000, 3, HEED_FILTER_BOX, NULL, &out));
    assert_true(heed_image_crop(cx, &in, 0, 0, 100, 3, NULL, &part));
    assert_true(heed_image_resize(cx, &part, 50, 3, HEED_FILTER_BOX, NULL, &small));
    for (int y = 0; y < 3; y++) assert_memory_equal(out.data + y * 60000, small.data + y * 150, 150);
    heed_image *all[] = {&in, &out, &part, &small};
    for (int i = 0; i < 4; i++) heed_image_free(cx, all[i]);
    close_context(cx);
}

/* ---- kernels ---- */

static void combine_plain(uint8_t *out, const uint8_t *in, int64_t stride, const int32_t *k, int64_t taps, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        int64_t sum = 1 << 21;
        for (int64_t t = 0; t < taps; t++) sum += (int64_t)k[t] * in[t * stride + i];
        sum >>= 22;
        out[i] = sum < 0 ? 0 : sum > 255 ? 255 : (uint8_t)sum;
    }
}

static void test_kernels(void **state) {
    (void)state;
    const struct isa *sets[4];
    const int n_sets = isa_all(sets);
    enum { MOST = 150 };
    uint8_t in[40 * MOST], out[MOST * MOST], wanted[MOST * MOST];
    int32_t k[40];
    for (size_t i = 0; i < sizeof in; i++) in[i] = (uint8_t)heed_random_bits(1, 1, i);
    for (int s = 0; s < n_sets; s++)
        for (int64_t taps = 1; taps <= 40; taps += taps < 6 ? 1 : 17)
            for (int64_t n = 1; n <= MOST; n += n < 70 ? 1 : 11) {
                int64_t left = 1 << 22;
                for (int64_t t = 0; t < taps; t++) {
                    const int64_t share = (int64_t)(heed_random_bits(2, (uint64_t)n, (uint64_t)t) % 3000000) - 1000000;
                    k[t] = (int32_t)(t + 1 == taps ? left : share / taps);
                    left -= k[t];
                }
                combine_plain(wanted, in, n, k, taps, n);
                sets[s]->combine_bytes(out, in, n, k, taps, n);
                assert_memory_equal(out, wanted, (size_t)n);
            }
    for (int s = 0; s < n_sets; s++)
        for (int64_t rows = 1; rows <= 40; rows += 3)
            for (int64_t cols = 1; cols <= MOST; cols += 7) {
                sets[s]->transpose_bytes(out, rows, in, MOST, rows, cols);
                for (int64_t i = 0; i < rows; i++)
                    for (int64_t j = 0; j < cols; j++) assert_int_equal(out[j * rows + i], in[i * MOST + j]);
            }
}

static void test_refusals(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_image in = drawn(cx, 4, 4, 3, 1), out;
    assert_false(heed_image_resize(cx, &in, 0, 4, HEED_FILTER_BOX, NULL, &out));
    EXPECT_SENTENCE(cx, "image_resize: to 0 x 4 by filter 4: out of range");
    assert_false(heed_image_resize(cx, &in, 2, 2, HEED_FILTER_BOX, &(heed_box){0, 0, 5, 4}, &out));
    EXPECT_SENTENCE(cx, "not within the picture of 4 x 4");
    assert_false(heed_image_resize(cx, &in, 2, 2, HEED_FILTER_BOX, &(heed_box){2, 0, 2, 4}, &out));
    EXPECT_SENTENCE(cx, "the box is empty");
    assert_false(heed_image_new(cx, 100000, 100000000, 3, &out));
    EXPECT_SENTENCE(cx, "out of range");
    heed_image_free(cx, &in);
    close_context(cx);
}

static bool step(heed_ctx *cx) {
    heed_image in, out = {0};
    const bool ok = heed_image_new(cx, 9, 7, 4, &in);
    if (ok) memset(in.data, 77, 9 * 7 * 4);
    const bool made = ok && heed_image_resize(cx, &in, 5, 11, HEED_FILTER_LANCZOS, NULL, &out);
    heed_image_free(cx, &in);
    heed_image_free(cx, &out);
    return made;
}

static void test_starved(void **state) {
    (void)state;
    starve_step(step, 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),  cmocka_unit_test(test_threads),  cmocka_unit_test(test_wide),
        cmocka_unit_test(test_kernels), cmocka_unit_test(test_refusals), cmocka_unit_test(test_starved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
