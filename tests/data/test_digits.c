/* The drawn digits: the same bytes whoever draws them, every digit about as often, ink where a digit is, and shapes
 * that tell the digits apart. */
#include "heed/data.h"
#include "io/io_test.h"

#include <zlib.h>

enum { PIXELS = 28 * 28 };

static void test_same_bytes(void **state) {
    (void)state;
    heed_ctx *cx = open_context(), *many = heed_open(&(heed_config){.threads = 3});
    heed_data *a = heed_data_digits(cx, 5, 200), *b = heed_data_digits(many, 5, 333), *c = heed_data_digits(cx, 6, 200);
    assert_non_null(a);
    assert_non_null(c);
    assert_int_equal(a->n, 200);
    assert_int_equal(a->width, PIXELS);
    assert_int_equal(a->image_height, 28);
    assert_int_equal(a->image_width, 28);
    assert_int_equal(a->image_channels, 1);
    assert_int_equal(a->classes, 10);
    assert_true(a->scale == 1.0f / 255.0f && a->shift == 0.0f);
    assert_memory_equal(a->bytes, b->bytes, 200 * PIXELS);
    assert_memory_equal(a->label, b->label, 200 * sizeof(int32_t));
    assert_memory_not_equal(a->bytes, c->bytes, PIXELS);
    /* The drawing uses nothing that may round differently elsewhere: any change is a change of the pictures. */
    assert_int_equal(crc32(0, a->bytes, 200 * PIXELS), 0xA7C400BEu);
    heed_data_free(cx, a);
    heed_data_free(many, b);
    heed_data_free(cx, c);
    heed_close(many);
    close_context(cx);
}

/* Each of 200 pictures is told by the nearest of 2,000 others, 176 of them rightly: strokes that did not make their
 * digit, or a hand too wild or too tame, would show. */
static void test_shapes(void **state) {
    (void)state;
    enum { KNOWN = 2000, ASKED = 200 };
    heed_ctx *cx = open_context();
    heed_data *known = heed_data_digits(cx, 1, KNOWN), *asked = heed_data_digits(cx, 2, ASKED);
    int count[10] = {0}, right = 0;
    for (int i = 0; i < KNOWN; i++) {
        assert_in_range(known->label[i], 0, 9);
        count[known->label[i]]++;
        int ink = 0, border = 0;
        for (int p = 0; p < PIXELS; p++) {
            const bool dark = known->bytes[i * PIXELS + p] > 100;
            ink += dark;
            border += dark && (p < 28 || p >= PIXELS - 28 || p % 28 == 0 || p % 28 == 27);
        }
        assert_in_range(ink, 8, 400);
        assert_in_range(border, 0, 25);
    }
    for (int k = 0; k < 10; k++) assert_in_range(count[k], 150, 250);
    for (int i = 0; i < ASKED; i++) {
        int64_t nearest = INT64_MAX;
        int32_t label = -1;
        for (int j = 0; j < KNOWN; j++) {
            int32_t distance = 0;
            for (int p = 0; p < PIXELS; p++) {
                const int32_t d = asked->bytes[i * PIXELS + p] - known->bytes[j * PIXELS + p];
                distance += d * d;
            }
            if (distance < nearest) nearest = distance, label = known->label[j];
        }
        right += label == asked->label[i];
    }
    assert_in_range(right, ASKED * 8 / 10, ASKED * 19 / 20);
    heed_data_free(cx, known);
    heed_data_free(cx, asked);
    close_context(cx);
}

static bool draw_few(heed_ctx *cx, const void *bytes, size_t size) {
    (void)bytes, (void)size;
    heed_data *d = heed_data_digits(cx, 1, 3);
    heed_data_free(cx, d);
    return d;
}

static void test_refusals(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    assert_null(heed_data_digits(cx, 1, 0));
    EXPECT_SENTENCE(cx, "digits: 0 pictures: must be 1 or more");
    assert_null(heed_data_digits(cx, 1, INT64_MAX));
    assert_int_equal(heed_error(cx), HEED_ERR_MEMORY);
    EXPECT_SENTENCE(cx, "");
    assert_null(heed_data_digits(NULL, 1, 1));
    close_context(cx);
    starve(draw_few, NULL, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_bytes),
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
