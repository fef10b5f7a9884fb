/* COCO's figures: those of pycocotools to the last bit, cases worked out by hand, and detections that are refused. */
#include "heed/objects.h"
#include "io/io_test.h"

static const heed_object_set_opts unseen = {.unseen = true};

static void compare(heed_ctx *cx, const char *name) {
    char path[600], found_path[600], figures_path[600];
    const char *root = getenv("HEED_GOLDEN");
    snprintf(path, sizeof path, "%s/data/%s.json", root, name);
    snprintf(found_path, sizeof found_path, "%s/data/%s-found.json", root, name);
    snprintf(figures_path, sizeof figures_path, "%s/data/%s-figures.json", root, name);
    heed_object_set *set = heed_object_set_open(cx, path, "val", &unseen);
    int64_t n;
    heed_detection *found = heed_detections_read(cx, set, found_path, &n);
    heed_coco_score score, again;
    const heed_json doc = heed_json_open(cx, figures_path), wanted = heed_json_array(cx, doc, "figures"),
                    ap = heed_json_object(cx, doc, "ap");
    assert_true(heed_coco_measure(cx, set, NULL, 0, found, n, &score));
    for (int i = 0; i < HEED_COCO_FIGURES; i++) {
        const double of = heed_json_number(cx, heed_json_item(cx, wanted, i), NULL);
        if (score.figure[i] != of) fail_msg("%s: %s: %.17g, not %.17g", name, heed_coco_name(i), score.figure[i], of);
    }
    for (int32_t k = 0; k < heed_object_set_classes(set); k++) {
        char id[24];
        snprintf(id, sizeof id, "%lld", (long long)heed_object_set_category(set, k));
        assert_true(score.ap[k] == heed_json_number(cx, ap, id));
    }
    /* The order of rows does not matter, and each counts once. */
    int64_t rows[100];
    const int64_t count = heed_object_set_count(set);
    for (int64_t i = 0; i < 2 * count; i++) rows[i] = (2 * count - 1 - i) % count;
    assert_true(heed_coco_measure(cx, set, rows, 2 * count, found, n, &again));
    assert_memory_equal(score.figure, again.figure, sizeof score.figure);
    heed_coco_score_free(cx, &score);
    heed_coco_score_free(cx, &again);
    heed_json_free(doc);
    heed_mem_free(cx, found);
    heed_object_set_free(cx, set);
}

static void test_golden(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    compare(cx, "detections");
    compare(cx, "detections-crowds");
    close_context(cx);
}

/* What is drawn, given back as it is, is right; on such pictures nothing is large. */
static void test_drawn(void **state) {
    (void)state;
    enum { PICTURES = 50 };
    heed_ctx *cx = open_context();
    heed_object_set *set = heed_object_set_open(cx, "shapes", "test", &(heed_object_set_opts){.count = PICTURES});
    heed_detection found[PICTURES * 4];
    int64_t n = 0, m;
    heed_object *o;
    for (int64_t i = 0; i < PICTURES; i++) {
        assert_true(heed_object_set_read(cx, set, i, NULL, &o, &m));
        for (int64_t k = 0; k < m; k++) {
            found[n] = (heed_detection){.picture = i, .label = o[k].label, .score = 0.9};
            memcpy(found[n++].box, o[k].box, sizeof o[k].box);
        }
        heed_mem_free(cx, o);
    }
    heed_coco_score score;
    assert_true(heed_coco_measure(cx, set, NULL, 0, found, n, &score));
    for (int i = 0; i < HEED_COCO_FIGURES; i++) {
        const bool large = i == 5 || i == 11, one = i == 6;
        if (!one) assert_true(fabs(score.figure[i] - (large ? -1 : 1)) < 1e-12);
    }
    for (int k = 0; k < 6; k++) assert_true(fabs(score.ap[k] - 1) < 1e-12);
    heed_coco_score_free(cx, &score);
    assert_true(heed_coco_measure(cx, set, NULL, 0, NULL, 0, &score));
    assert_true(score.figure[0] == 0 && score.figure[8] == 0 && score.figure[5] == -1);
    heed_coco_score_free(cx, &score);
    found[0].label = 6;
    assert_false(heed_coco_measure(cx, set, NULL, 0, found, n, &score));
    EXPECT_SENTENCE(cx, "detection 0 has a class that the pictures do not have");
    found[0].label = 0;
    found[0].box[2] = (double)NAN;
    assert_false(heed_coco_measure(cx, set, NULL, 0, found, n, &score));
    EXPECT_SENTENCE(cx, "detection 0 has a number that is not finite");
    heed_object_set_free(cx, set);
    close_context(cx);
}

static const char truths[] =
    "{\"images\": [{\"id\": 5, \"file_name\": \"a\", \"width\": 9, \"height\": 9}, {\"id\": 2, "
    "\"file_name\": \"b\", \"width\": 9, \"height\": 9}], \"categories\": [{\"id\": 3, \"name\": "
    "\"c\"}, {\"id\": 4, \"name\": \"d\"}], \"annotations\": [{\"id\": 1, \"image_id\": 5, "
    "\"category_id\": 3, \"bbox\": [1, 1, 4, 4], \"area\": 16, \"iscrowd\": 0}]}";
static const char results[] =
    "[{\"image_id\": 5, \"category_id\": 3, \"bbox\": [1, 1, 4, 4.5], \"score\": 0.75, "
    "\"extra\": [{}]}, {\"image_id\": 2, \"category_id\": 4, \"bbox\": [1,1,2,2], \"score\":1}]";

static bool read_results(heed_ctx *cx, const void *bytes, size_t size) {
    int64_t n;
    heed_coco_score score;
    unlink(in_folder("found.json")); /* to write over a file takes longer */
    write_bytes(in_folder("found.json"), bytes, size);
    heed_object_set *set = heed_object_set_open(cx, in_folder("truths.json"), "val", &unseen);
    heed_detection *found = heed_detections_read(cx, set, in_folder("found.json"), &n);
    if (heed_coco_measure(cx, set, NULL, 0, found, n, &score)) heed_coco_score_free(cx, &score);
    heed_mem_free(cx, found);
    heed_object_set_free(cx, set);
    return !heed_failed(cx);
}

static void test_results(void **state) {
    (void)state;
    static const char *const wrong[][2] = {
        {"{\"annotations\": []}", "an object, not COCO's results, which are a list of detections"},
        {"[{\"image_id\": 7, \"category_id\": 3, \"bbox\": [1,2,3,4], \"score\": 1}]", "image_id 7 is none of the 2"},
        {"[{\"image_id\": 5, \"category_id\": 1, \"bbox\": [1,2,3,4], \"score\": 1}]",
         "category_id 1 is none of the 2"},
        {"[{\"image_id\": 5, \"category_id\": 3, \"score\": 1}]", "a detection without 'bbox'"},
        {"[{\"image_id\": 5, \"category_id\": 3, \"bbox\": [1,2,3,4], \"score\": null}]",
         "expected a number, found null"},
        {"[[1, 2]]", "expected an object, found a list"},
    };
    heed_ctx *cx = open_context();
    write_bytes(in_folder("truths.json"), truths, sizeof truths - 1);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_false(read_results(cx, wrong[i][0], strlen(wrong[i][0])));
        EXPECT_SENTENCE(cx, wrong[i][1]);
    }
    assert_true(read_results(cx, "[]", 2));
    close_context(cx);
    torment(read_results, results, sizeof results - 1, 500);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_golden), cmocka_unit_test(test_drawn),
                                       cmocka_unit_test_setup_teardown(test_results, make_folder, wipe_folder)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
