/* The drawn pictures with shapes: the same bytes whoever draws them, shapes large enough and visible, boxes that fit
 * them, parts that share nothing. */
#include "data/objects/scene.h"
#include "heed/objects.h"
#include "io/io_test.h"

#include <zlib.h>

static heed_object_set *open_shapes(heed_ctx *cx, const char *part, uint64_t seed) {
    heed_object_set *set = heed_object_set_open(cx, "shapes", part, &(heed_object_set_opts){.seed = seed});
    assert_non_null(set);
    return set;
}

static uint32_t drawn(heed_ctx *cx, const heed_object_set *set, int64_t i, uint32_t crc) {
    heed_image p;
    heed_object *o;
    int64_t n;
    assert_true(heed_object_set_read(cx, set, i, &p, &o, &n));
    assert_in_range(n, 1, 4);
    assert_true(p.width == 96 && p.height == 96 && p.channels == 3);
    crc = (uint32_t)crc32(crc, p.data, 96 * 96 * 3);
    for (int64_t k = 0; k < n; k++) {
        assert_in_range(o[k].label, 0, 5);
        assert_true(o[k].box[2] >= 13.999 && o[k].box[3] >= 13.999 && !o[k].crowd);
        assert_true(o[k].box[0] >= 1 && o[k].box[1] >= 1 && o[k].box[0] + o[k].box[2] <= 95.001);
        assert_true(o[k].box[1] + o[k].box[3] <= 95.001);
        crc = (uint32_t)crc32(crc, (const unsigned char *)o[k].box, sizeof o[k].box);
    }
    heed_image_free(cx, &p);
    heed_mem_free(cx, o);
    return crc;
}

static void test_same_bytes(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_object_set *a = open_shapes(cx, "train", 5), *b = open_shapes(cx, "train", 5),
                    *other = open_shapes(cx, "train", 6);
    heed_object_set *val = open_shapes(cx, "val", 5), *test = open_shapes(cx, "test", 5);
    uint32_t crc = 0;
    for (int64_t i = 0; i < 100; i++) crc = drawn(cx, a, i, crc);
    /* The drawing uses nothing that may round differently elsewhere: any change is a change of the pictures. */
    assert_int_equal(crc, 0xA6B79CFBu);
    const uint32_t third = drawn(cx, a, 3, 0);
    assert_int_equal(drawn(cx, b, 3, 0), third);
    assert_int_not_equal(drawn(cx, other, 3, 0), third);
    assert_int_not_equal(drawn(cx, val, 3, 0), third);
    assert_int_not_equal(drawn(cx, test, 3, 0), drawn(cx, val, 3, 0));
    assert_true(heed_object_set_endless(a));
    assert_int_equal(drawn(cx, a, (int64_t)1 << 40, 0), drawn(cx, b, (int64_t)1 << 40, 0));
    assert_true(heed_object_set_hash(a) == heed_object_set_hash(b));
    assert_true(heed_object_set_hash(a) != heed_object_set_hash(other));
    assert_true(heed_object_set_hash(val) != heed_object_set_hash(test));
    heed_object_set *const all[] = {a, b, other, val, test};
    for (int i = 0; i < 5; i++) heed_object_set_free(cx, all[i]);
    close_context(cx);
}

/* What a scene says is what is drawn: each shape covers its box from border to border, and enough of it is seen. */
static void test_scenes(void **state) {
    (void)state;
    enum { SCENES = 1000 };
    int count[MAX_SHAPES + 1] = {0}, shapes[SCENE_SHAPES] = {0}, colours[SCENE_COLOURS] = {0}, covered = 0;
    static uint8_t cover[MAX_SHAPES][SCENE_PIXELS];
    for (int i = 0; i < SCENES; i++) {
        struct scene s;
        scene_make(1, SCENE_TRAIN, i, &s);
        count[s.objects]++;
        for (int k = 0; k < s.objects; k++) {
            const struct scene_object *o = &s.object[k];
            int left = 96, top = 96, right = 0, bottom = 0;
            shapes[o->shape]++;
            colours[o->colour]++;
            scene_cover(o, SCENE_SIDE, cover[k]);
            for (int p = 0; p < SCENE_PIXELS; p++) {
                if (cover[k][p] == 0) continue;
                left = p % 96 < left ? p % 96 : left, right = p % 96 > right ? p % 96 : right;
                top = p / 96 < top ? p / 96 : top, bottom = p / 96;
            }
            assert_true(fabs(left - (double)o->box[0]) < 1.6 && fabs(right + 1 - (double)o->box[2]) < 1.6);
            assert_true(fabs(top - (double)o->box[1]) < 1.6 && fabs(bottom + 1 - (double)o->box[3]) < 1.6);
        }
        for (int k = 0; k < s.objects; k++) {
            double all = 0, seen = 0;
            for (int p = 0; p < SCENE_PIXELS; p++) {
                double of = cover[k][p];
                all += of;
                for (int j = k + 1; j < s.objects; j++) of *= 1 - cover[j][p] / 255.0;
                seen += of;
            }
            assert_true(seen / all > 0.599);
            covered += seen / all < 0.99;
        }
    }
    for (int k = 1; k <= MAX_SHAPES; k++) assert_in_range(count[k], SCENES / 5, SCENES / 3);
    for (int k = 0; k < SCENE_SHAPES; k++) assert_in_range(shapes[k], 330, 510);
    for (int k = 0; k < SCENE_COLOURS; k++) assert_in_range(colours[k], 230, 400);
    assert_in_range(covered, SCENES / 10, SCENES); /* shapes do overlap */
}

static void test_set(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_object_set *set = open_shapes(cx, "val", 0);
    assert_int_equal(heed_object_set_count(set), 10000);
    assert_int_equal(heed_object_set_classes(set), 6);
    assert_string_equal(heed_object_set_names(set)[0], "circle");
    assert_string_equal(heed_object_set_names(set)[5], "triangle");
    assert_null(heed_object_set_names(set)[6]);
    assert_null(heed_object_set_path(set, 0));
    assert_int_equal(heed_object_set_id(set, 7), 7);
    const char *const known[] = {"triangle", "none", "star", "square", "ring", "cross", "circle", NULL};
    const heed_object_set_opts opts = {.classes = known, .count = 12};
    heed_object_set *like = heed_object_set_open(cx, "shapes", "val", &opts);
    assert_non_null(like);
    assert_int_equal(heed_object_set_count(like), 12);
    assert_int_equal(heed_object_set_classes(like), 7);
    assert_int_equal(heed_object_set_category(like, 1), -1);
    heed_object *a, *b;
    int64_t n, m;
    assert_true(heed_object_set_read(cx, set, 4, NULL, &a, &n));
    assert_true(heed_object_set_read(cx, like, 4, NULL, &b, &m));
    assert_int_equal(n, m);
    for (int64_t k = 0; k < n; k++)
        assert_string_equal(heed_object_set_names(set)[a[k].label], heed_object_set_names(like)[b[k].label]);
    heed_mem_free(cx, a);
    heed_mem_free(cx, b);
    heed_object_set_free(cx, set);
    heed_object_set_free(cx, like);
    assert_null(heed_object_set_open(cx, "shapes", "other", NULL));
    EXPECT_SENTENCE(cx, "shapes: no part 'other': train, val or test");
    assert_null(heed_object_set_open(cx, "shapes", "val", &(heed_object_set_opts){.classes = known + 1}));
    EXPECT_SENTENCE(cx, "shapes: class 'triangle' is not one of the 6 known");
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_same_bytes), cmocka_unit_test(test_scenes),
                                       cmocka_unit_test(test_set)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
