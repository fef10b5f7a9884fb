/* Two shapes far apart: the same bytes whoever draws them, either class about as often, and nothing in the sum of ink
 * or its place that tells the classes apart. */
#include "heed/data.h"
#include "io/io_test.h"
#include <math.h>

#include <zlib.h>

enum { SIDE = 32, PIXELS = SIDE * SIDE, N = 2000 };

static void test_same_bytes(void **state) {
    (void)state;
    heed_ctx *cx = open_context(), *many = heed_open(&(heed_config){.threads = 3});
    heed_data *a = heed_data_same_shapes(cx, 5, 200), *b = heed_data_same_shapes(many, 5, 333),
              *c = heed_data_same_shapes(cx, 6, 200);
    assert_non_null(a);
    assert_non_null(c);
    assert_int_equal(a->n, 200);
    assert_int_equal(a->width, PIXELS);
    assert_int_equal(a->image_height, SIDE);
    assert_int_equal(a->image_width, SIDE);
    assert_int_equal(a->image_channels, 1);
    assert_int_equal(a->classes, 2);
    assert_string_equal(a->class_names[0], "different");
    assert_string_equal(a->class_names[1], "same");
    assert_memory_equal(a->bytes, b->bytes, 200 * PIXELS);
    assert_memory_equal(a->label, b->label, 200 * sizeof(int32_t));
    assert_memory_not_equal(a->bytes, c->bytes, PIXELS);
    /* The drawing uses nothing that may round differently elsewhere: any change is a change of the pictures. */
    assert_int_equal(crc32(0, a->bytes, 200 * PIXELS), 0x59002604u);
    heed_data_free(cx, a);
    heed_data_free(many, b);
    heed_data_free(cx, c);
    heed_close(many);
    close_context(cx);
}

/* Ink lies in two parts whose middles are 16 pixels apart, or more: halves by the line between pixels that are farthest
 * from each other; and the mean ink of both classes is alike. */
static void test_apart(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_data *d = heed_data_same_shapes(cx, 1, N);
    double ink[2] = {0};
    int count[2] = {0};
    for (int i = 0; i < N; i++) {
        const uint8_t *const at = d->bytes + (int64_t)i * PIXELS;
        int first = -1, last = -1, bright = 0, farthest = 0;
        for (int p = 0; p < PIXELS; p++) {
            if (at[p] <= 90) continue;
            bright++;
            if (first < 0) first = p;
            const int dy = p / SIDE - first / SIDE, dx = p % SIDE - first % SIDE;
            if (dy * dy + dx * dx > farthest) farthest = dy * dy + dx * dx, last = p;
        }
        assert_in_range(d->label[i], 0, 1);
        assert_in_range(bright, 20, 200);
        assert_true(last >= 0 && farthest >= 10 * 10);
        count[d->label[i]]++;
        ink[d->label[i]] += bright;
    }
    assert_in_range(count[1], N / 2 - 120, N / 2 + 120);
    assert_true(fabs(ink[0] / count[0] - ink[1] / count[1]) < 3);
    heed_data_free(cx, d);
    close_context(cx);
}

static void test_refused(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    assert_null(heed_data_same_shapes(cx, 1, 0));
    assert_string_equal(heed_message(cx), "same-shapes: 0 pictures: must be 1 or more");
    heed_clear(cx);
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_bytes),
        cmocka_unit_test(test_apart),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
