/* Augmentation of pictures with objects: the boxes are where the pixels are. */
#include "heed/objects.h"
#include "io/io_test.h"

enum { WIDTH = 80, HEIGHT = 60 };

/* Three filled rectangles, each of a channel of its own. */
static const heed_object rectangles[3] = {
    {.box = {5, 8, 20, 30}, .area = 600, .label = 0, .id = 1},
    {.box = {40, 2, 36, 12}, .area = 432, .label = 1, .id = 2},
    {.box = {50, 30, 16, 24}, .area = 384, .label = 2, .id = 3},
};

static void paint(heed_ctx *cx, heed_image *p) {
    assert_true(heed_image_new(cx, WIDTH, HEIGHT, 3, p));
    memset(p->data, 0, (size_t)WIDTH * HEIGHT * 3);
    for (int k = 0; k < 3; k++)
        for (int y = 0; y < (int)rectangles[k].box[3]; y++)
            for (int x = 0; x < (int)rectangles[k].box[2]; x++)
                p->data[3 * ((y + (int)rectangles[k].box[1]) * WIDTH + x + (int)rectangles[k].box[0]) + k] = 200;
}

/* How far the box of what is bright in a channel lies from `box` at most. */
static double off(const heed_image *p, int channel, const double *box) {
    int left = 1000, top = 1000, right = -1, bottom = -1;
    for (int y = 0; y < p->height; y++)
        for (int x = 0; x < p->width; x++) {
            if (p->data[3 * (y * p->width + x) + channel] < 105) continue;
            left = x < left ? x : left, right = x > right ? x : right;
            top = y < top ? y : top, bottom = y;
        }
    const double a = fmax(fabs(left - box[0]), fabs(top - box[1]));
    return fmax(a, fmax(fabs(right + 1 - box[0] - box[2]), fabs(bottom + 1 - box[1] - box[3])));
}

static void run(heed_ctx *cx, const heed_object_augment *a, int64_t row, double allowed, int *stay, int *cut) {
    heed_object o[3];
    heed_image p;
    int64_t n = 3;
    paint(cx, &p);
    memcpy(o, rectangles, sizeof o);
    assert_true(heed_object_augment_apply(cx, a, &p, o, &n, 7, 2, row));
    assert_in_range(n, 1, 3);
    for (int64_t i = 0; i < n; i++) {
        const double distance = off(&p, o[i].label, o[i].box);
        if (!(distance <= allowed)) fail_msg("row %d, object %d: %g pixels off", (int)row, (int)o[i].label, distance);
        assert_true(i == 0 || o[i - 1].label < o[i].label);
        assert_true(o[i].area > 0);
        if (a->scale_high == 0) assert_true(fabs(o[i].area - o[i].box[2] * o[i].box[3]) < 1e-6);
        if (a->scale_high == 0) *cut += o[i].area < rectangles[o[i].label].area;
    }
    *stay += (int)n;
    heed_image_free(cx, &p);
}

static void test_moves(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const heed_object_augment flip = {.flip = 1}, crop = {.crop = 1, .crop_low = 0.3},
                              scale = {.scale_low = 0.4, .scale_high = 2.5},
                              all = {.flip = 0.5, .crop = 0.5, .scale_low = 0.5, .scale_high = 1.5};
    int stay = 0, cut = 0;
    run(cx, &flip, 0, 0, &stay, &cut);
    assert_int_equal(stay, 3);
    stay = 0;
    for (int64_t i = 0; i < 200; i++) run(cx, &crop, i, 0, &stay, &cut);
    assert_in_range(stay, 250, 500);
    assert_in_range(cut, 50, 400);
    stay = 0;
    for (int64_t i = 0; i < 200; i++) run(cx, &scale, i, 2.0, &stay, &cut);
    assert_in_range(stay, 300, 590);
    for (int64_t i = 0; i < 200; i++) run(cx, &all, i, 2.0, &stay, &cut);
    close_context(cx);
}

/* The same row gives the same bytes, and without a picture's objects a crop is still one. */
static void test_same(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const heed_object_augment a = {.flip = 0.5,
                                   .crop = 1,
                                   .scale_low = 0.5,
                                   .scale_high = 1.5,
                                   .brightness = 0.3,
                                   .contrast = 0.3,
                                   .saturation = 0.3,
                                   .hue = 0.1};
    heed_image p, q;
    heed_object o[3], u[3];
    int64_t n = 3, m = 3, none = 0;
    paint(cx, &p);
    paint(cx, &q);
    memcpy(o, rectangles, sizeof o);
    memcpy(u, rectangles, sizeof u);
    assert_true(heed_object_augment_apply(cx, &a, &p, o, &n, 1, 2, 3));
    assert_true(heed_object_augment_apply(cx, &a, &q, u, &m, 1, 2, 3));
    assert_int_equal(n, m);
    assert_memory_equal(o, u, (size_t)n * sizeof *o);
    assert_true(p.width == q.width && p.height == q.height);
    assert_memory_equal(p.data, q.data, (size_t)(3 * p.width * p.height));
    assert_true(heed_object_augment_apply(cx, &a, &p, NULL, &none, 1, 2, 4));
    heed_image_free(cx, &p);
    heed_image_free(cx, &q);
    close_context(cx);
}

static void test_refused(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const heed_object_augment wrong[] = {{.flip = 1.5},
                                         {.crop_low = -1},
                                         {.keep = (double)NAN},
                                         {.scale_low = 2, .scale_high = 1},
                                         {.scale_low = 0, .scale_high = 1},
                                         {.hue = 1}};
    for (int i = 0; i < 6; i++) {
        assert_false(heed_object_augment_check(cx, &wrong[i]));
        EXPECT_SENTENCE(cx, i < 3   ? "a probability or share is not within 0 and 1"
                            : i < 5 ? "the scale is"
                                    : "hue within");
    }
    int64_t n = 0;
    heed_image grey;
    assert_true(heed_image_new(cx, 4, 4, 1, &grey));
    assert_false(heed_object_augment_apply(cx, &(heed_object_augment){0}, &grey, NULL, &n, 0, 0, 0));
    EXPECT_SENTENCE(cx, "an RGB picture");
    heed_image_free(cx, &grey);
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_moves), cmocka_unit_test(test_same),
                                       cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
