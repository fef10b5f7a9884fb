/* Augmentation: every operation gives Pillow's bytes; what is drawn depends on (seed, epoch, row) alone and lies where
 * it should; erasing and mixing against plain formulas. */
#include "heed/augment.h"
#include "image_test.h"

static bool apply(heed_ctx *cx, const char *name, heed_image *p) {
#define IS(what) (strcmp(name, what) == 0)
    return IS("autocontrast")   ? heed_image_autocontrast(cx, p)
           : IS("equalize")     ? heed_image_equalize(cx, p)
           : IS("invert")       ? heed_image_invert(cx, p)
           : IS("solarize")     ? heed_image_solarize(cx, p, 100)
           : IS("solarize_add") ? heed_image_solarize_add(cx, p, 50, 128)
           : IS("posterize")    ? heed_image_posterize(cx, p, 3)
           : IS("color")        ? heed_image_color(cx, p, 0.3)
           : IS("contrast")     ? heed_image_contrast(cx, p, 1.7)
           : IS("brightness")   ? heed_image_brightness(cx, p, 1.4)
           : IS("sharpness")    ? heed_image_sharpness(cx, p, 1.9)
                                : heed_image_hue(cx, p, -0.3);
#undef IS
}

static void test_operations(void **state) {
    (void)state;
    static const char *const names[] = {"autocontrast", "equalize",  "invert", "solarize",
                                        "solarize_add", "posterize", "color",  "contrast",
                                        "brightness",   "sharpness", "hue"};
    static const uint8_t fill[3] = {9, 90, 200};
    heed_ctx *cx = open_context();
    open_golden("operations");
    const heed_image in = picture_of(find_golden("in", ""));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        heed_image p;
        assert_true(heed_image_copy(cx, &in, &p));
        assert_true(apply(cx, names[i], &p));
        same_picture(names[i], &p, find_golden(names[i], ""));
        heed_image_free(cx, &p);
    }
    const heed_filter filters[] = {HEED_FILTER_NEAREST, HEED_FILTER_BILINEAR, HEED_FILTER_BICUBIC};
    for (int i = 0; i < 3; i++) {
        char name[64];
        heed_image p;
        snprintf(name, sizeof name, "rotate.%s", heed_filter_name(filters[i]));
        assert_true(heed_image_rotate(cx, &in, 25, filters[i], fill, &p));
        same_picture(name, &p, find_golden(name, ""));
        heed_image_free(cx, &p);
        snprintf(name, sizeof name, "affine.%s", heed_filter_name(filters[i]));
        assert_true(heed_image_affine(cx, &in, (double[]){1.1, .2, -1.5, -.3, .9, 2.25}, filters[i], fill, &p));
        same_picture(name, &p, find_golden(name, ""));
        heed_image_free(cx, &p);
    }
    close_golden();
    close_context(cx);
}

/* Each operation of RandAugment at some magnitudes, forth and back, as torchvision and timm give it. */
static void test_rand(void **state) {
    (void)state;
    static const uint8_t fill[4] = {9, 90, 200}, black[4] = {0};
    static const double magnitudes[2][4] = {{4, 9, 20, 30}, {2, 6.5, 9}};
    heed_ctx *cx = open_context();
    open_golden("rand");
    const heed_image in = picture_of(find_golden("in", ""));
    const size_t bytes = (size_t)(in.width * in.height * in.channels);
    for (int k = 0; k < 2; k++) {
        const heed_rand_kind kind = k ? HEED_RAND_TIMM : HEED_RAND_TORCHVISION;
        assert_int_equal(heed_rand_count(kind), k ? 15 : 14);
        for (int op = 0; op < heed_rand_count(kind); op++) {
            const heed_array *wanted = find_golden(k ? "timm." : "torchvision.", heed_rand_name(kind, op));
            assert_non_null(wanted);
            for (int64_t i = 0; i < 2 * wanted->shape[0]; i++) {
                const double m = magnitudes[k][i / 2];
                const heed_filter filter = !k           ? HEED_FILTER_NEAREST
                                           : i / 2 == 1 ? HEED_FILTER_BICUBIC
                                                        : HEED_FILTER_BILINEAR;
                heed_image p;
                assert_true(heed_image_copy(cx, &in, &p));
                assert_true(heed_rand_apply(cx, kind, op, m, i % 2 == 1, filter, k ? fill : black, &p));
                if (memcmp(p.data, (const uint8_t *)wanted->data + (size_t)i * bytes, bytes) != 0)
                    fail_msg("%s at %g: other bytes", heed_rand_name(kind, op), m);
                heed_image_free(cx, &p);
            }
        }
        assert_null(heed_rand_name(kind, heed_rand_count(kind)));
    }
    heed_image p;
    assert_true(heed_image_copy(cx, &in, &p));
    assert_false(heed_rand_apply(cx, HEED_RAND_TIMM, 15, 1, false, HEED_FILTER_NEAREST, fill, &p));
    EXPECT_SENTENCE(cx, "there is no operation 15");
    assert_false(heed_rand_apply(cx, HEED_RAND_TORCHVISION, 1, 31, false, HEED_FILTER_NEAREST, fill, &p));
    EXPECT_SENTENCE(cx, "magnitude 31 is not within 0 and 30");
    heed_image_free(cx, &p);
    close_golden();
    close_context(cx);
}

/* The same for the same (seed, epoch, row), and another for another. */
static void test_draws(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_image in = drawn(cx, 20, 16, 3, 2), p, q, r;
    const heed_augment kinds[] = {
        {.area_low = 0.2, .area_high = 1, .filter = HEED_FILTER_BICUBIC},
        {.padding = 4},
        {.padding = 4, .padding_kind = HEED_PADDING_REFLECT, .flip = 0.5},
        {.rand_operations = 3, .rand_magnitude = 9},
        {.rand_operations = 3, .rand_kind = HEED_RAND_TIMM, .rand_magnitude = 9, .rand_std = 0.5},
        {.brightness = 0.4, .contrast = 0.4, .saturation = 0.4, .hue = 0.1}};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        int differ = 0;
        for (int64_t row = 0; row < 40; row++) {
            assert_true(heed_image_augment(cx, &kinds[k], &in, 16, 16, 7, 3, row, &p));
            assert_true(heed_image_augment(cx, &kinds[k], &in, 16, 16, 7, 3, row, &q));
            assert_true(heed_image_augment(cx, &kinds[k], &in, 16, 16, 7, 4, row, &r));
            assert_true(p.width == 16 && p.height == 16 && p.channels == 3);
            assert_memory_equal(p.data, q.data, 16 * 16 * 3);
            differ += memcmp(p.data, r.data, 16 * 16 * 3) != 0;
            heed_image_free(cx, &p);
            heed_image_free(cx, &q);
            heed_image_free(cx, &r);
        }
        assert_true(differ > 25);
    }
    heed_image sheet;
    heed_augment all = kinds[0];
    all.flip = 0.5;
    all.cutout = 6;
    assert_true(heed_augment_sheet(cx, &all, &in, 16, 16, 5, 1, &sheet));
    assert_true(sheet.width == 5 * 20 + 4 && sheet.height == 3 * 20 + 4);
    heed_image_free(cx, &sheet);
    heed_image_free(cx, &in);
    close_context(cx);
}

/* A flip alone is a flip, in half of the cases; a padding crop is a window into the padded picture. */
static void test_plain(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_image in = drawn(cx, 8, 6, 3, 1), mirrored, p;
    assert_true(heed_image_copy(cx, &in, &mirrored));
    heed_image_flip(&mirrored, true, false);
    for (int x = 0; x < 8; x++) assert_memory_equal(mirrored.data + 3 * x, in.data + 3 * (7 - x), 3);
    int flips = 0, shifts = 0;
    for (int64_t row = 0; row < 200; row++) {
        assert_true(heed_image_augment(cx, &(heed_augment){.flip = 0.5}, &in, 8, 6, 1, 0, row, &p));
        const bool flipped = memcmp(p.data, in.data, 8 * 6 * 3) != 0;
        assert_memory_equal(p.data, flipped ? mirrored.data : in.data, 8 * 6 * 3);
        flips += flipped;
        heed_image_free(cx, &p);
        assert_true(heed_image_augment(cx, &(heed_augment){.padding = 1}, &in, 8, 6, 1, 0, row, &p));
        int found = 0;
        for (int64_t dy = -1; dy <= 1; dy++)
            for (int64_t dx = -1; dx <= 1; dx++) {
                heed_image window;
                assert_true(heed_image_crop(cx, &in, dx, dy, 8, 6, NULL, &window));
                if (memcmp(window.data, p.data, 8 * 6 * 3) == 0) found++, shifts |= 1 << (3 * (dy + 1) + dx + 1);
                heed_image_free(cx, &window);
            }
        assert_int_equal(found, 1);
        heed_image_free(cx, &p);
    }
    assert_true(flips > 70 && flips < 130);
    assert_int_equal(shifts, 511);
    heed_image_free(cx, &in);
    heed_image_free(cx, &mirrored);
    close_context(cx);
}

static void test_erasing(void **state) {
    (void)state;
    enum { H = 12, W = 10, C = 3 };
    double share = 0;
    int touched = 0;
    for (int64_t row = 0; row < 400; row++) {
        float x[C * H * W];
        for (int i = 0; i < C * H * W; i++) x[i] = 1.0f;
        heed_floats_erase(&(heed_augment){.erase = 0.5}, x, C, H, W, 1, 2, row);
        int64_t gone = 0, left = W, right = -1, top = H, bottom = -1;
        for (int64_t i = 0; i < H * W; i++) {
            assert_true(x[i] == x[H * W + i] && x[i] == x[2 * H * W + i]);
            if (x[i] != 0.0f) continue;
            gone++;
            if (i % W < left) left = i % W;
            if (i % W > right) right = i % W;
            if (i / W < top) top = i / W;
            if (i / W > bottom) bottom = i / W;
        }
        if (gone) assert_int_equal(gone, (right - left + 1) * (bottom - top + 1));
        touched += gone > 0;
        share += (double)gone / (H * W);
        for (int i = 0; i < C * H * W; i++) x[i] = 1.0f;
        heed_floats_erase(&(heed_augment){.cutout = 4}, x, C, H, W, 1, 2, row);
        gone = 0;
        for (int i = 0; i < H * W; i++) gone += x[i] == 0.0f;
        assert_true(gone >= 4 && gone <= 16);
    }
    assert_true(touched > 150 && touched < 250);
    assert_true(share / touched > 0.1 && share / touched < 0.25);
}

static void test_mixing(void **state) {
    (void)state;
    enum { H = 8, W = 6, C = 2, N = C * H * W };
    double sum = 0, square = 0;
    int cuts = 0, mixes = 0;
    for (int64_t row = 0; row < 2000; row++) {
        const heed_augment a = {.mixup = 0.8, .cutmix = 1.0, .mix = 0.9};
        const heed_mix m = heed_mix_draw(&a, 50, H, W, 3, 1, row);
        float x[N], y[N];
        assert_true(m.other >= 0 && m.other < 50 && m.own >= 0 && m.own <= 1);
        for (int i = 0; i < N; i++) x[i] = 1.0f, y[i] = 0.0f;
        heed_mix_floats(&m, x, y, C, H, W);
        double mean = 0;
        for (int i = 0; i < N; i++) mean += (double)x[i] / N;
        assert_true(fabs(mean - m.own) < 1e-5); /* what is left of the row is what its target says */
        cuts += m.cut;
        if (m.cut || m.own == 1.0) continue;
        mixes++;
        sum += m.own;
        square += m.own * m.own;
    }
    assert_true(cuts > 750 && cuts < 1050 && mixes > 750 && mixes < 1050);
    const double mean = sum / mixes,
                 variance = square / mixes - mean * mean; /* of beta(0.8, 0.8): 1/2, 1 / (4 * 2.6) */
    assert_true(fabs(mean - 0.5) < 0.04 && fabs(variance - 1.0 / 10.4) < 0.012);
}

static void test_refusals(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    assert_false(heed_augment_check(cx, &(heed_augment){.flip = 1.5}));
    EXPECT_SENTENCE(cx, "a probability is not within 0 and 1");
    assert_false(heed_augment_check(cx, &(heed_augment){.rand_operations = 2, .rand_magnitude = 31}));
    EXPECT_SENTENCE(cx, "RandAugment's magnitude is 31, at most 30 is allowed");
    assert_false(heed_augment_check(cx, &(heed_augment){.area_high = 1}));
    EXPECT_SENTENCE(cx, "the area of crops");
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_operations), cmocka_unit_test(test_rand),    cmocka_unit_test(test_draws),
        cmocka_unit_test(test_plain),      cmocka_unit_test(test_erasing), cmocka_unit_test(test_mixing),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
