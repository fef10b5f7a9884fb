/* Processors: the floats of transformers' and timm's, from their configurations; files that say nothing useful. */
#include "image_test.h"

static void test_golden(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    open_golden("processors");
    const char *list = heed_safetensors_metadata(golden_cx, golden, "list");
    const heed_json cases = heed_json_parse(cx, "list", list, strlen(list));
    const heed_image in = picture_of(find_golden("in", ""));
    for (heed_json v = heed_json_first(cases); heed_json_kind_of(v) != HEED_JSON_NONE; v = heed_json_next(v)) {
        const char *name = heed_json_text(cx, v, "name"), *config = heed_json_text(cx, v, "config");
        const heed_array *wanted = find_golden(name, "");
        heed_image_processor p;
        int64_t c, h, w;
        if (!heed_image_processor_parse(cx, name, config, strlen(config), &p)) fail_msg("%s", heed_message(cx));
        float *found = heed_image_process(cx, &p, &in, &c, &h, &w);
        if (!found) fail_msg("%s: %s", name, heed_message(cx));
        if (c != wanted->shape[0] || h != wanted->shape[1] || w != wanted->shape[2])
            fail_msg("%s: (%d,%d,%d)", name, (int)c, (int)h, (int)w);
        for (int64_t i = 0; i < c * h * w; i++) {
            const float expected = ((const float *)wanted->data)[i];
            if (!(fabsf(found[i] - expected) <= 1e-6f))
                fail_msg("%s: number %d is %.8g, expected %.8g", name, (int)i, (double)found[i], (double)expected);
        }
        heed_mem_free(cx, found);
    }
    assert_true(heed_json_count(cases) >= 15);
    heed_json_free(cases);
    close_golden();
    close_context(cx);
}

static void refused(heed_ctx *cx, const char *config, const char *part, int line) {
    heed_image_processor p;
    if (heed_image_processor_parse(cx, "p.json", config, strlen(config), &p)) fail_msg("accepted: %s", config);
    expect_sentence(cx, part, __FILE__, line);
}
#define REFUSED(config, part) refused(cx, config, part, __LINE__)

static void test_refusals(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    REFUSED("{\"size\": {\"height\": 0, \"width\": 3}}", "p.json: size.height: 0 pixels: should be 1 to 65536");
    REFUSED("{\"size\": {\"edge\": 1}}", "expected height and width, shortest_edge, or max_height and max_width");
    REFUSED("{\"size\": \"large\"}", "p.json: size: expected a number of pixels");
    REFUSED("{\"resample\": 9}", "p.json: resample: no filter 9");
    REFUSED("{\"image_mean\": [1,2], \"image_std\": [1,2,3]}", "3 deviations for 2 means");
    REFUSED("{\"image_std\": [0,1,1]}", "cannot divide by 0");
    REFUSED("{\"pretrained_cfg\": {\"input_size\": [4,2,2]}}", "4 channels: pictures have 1 or 3");
    REFUSED("{\"pretrained_cfg\": {\"interpolation\": \"random\"}}", "'random' is none of");
    REFUSED("{\"pretrained_cfg\": {\"crop_mode\": \"tile\"}}", "crop_mode 'tile' is none of center, squash, border");
    REFUSED("{\"pretrained_cfg\": {\"crop_pct\": 0}}", "crop_pct 0 is out of range");
    heed_image_processor p;
    assert_true(heed_image_processor_parse(cx, "p", "{\"size\": {\"shortest_edge\": 1}}", 30, &p));
    p.shorter = 0;
    heed_image in = drawn(cx, 3, 3, 3, 1);
    assert_null(heed_image_process(cx, &p, &in, NULL, NULL, NULL));
    EXPECT_SENTENCE(cx, "not a processor");
    heed_image_free(cx, &in);
    close_context(cx);
}

/* A grey picture, or one with alpha, becomes what the model's means are for. */
static void test_directory(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_image_processor p;
    int64_t c, h, w;
    static const char transformers[] = "{\"size\": 4, \"image_mean\": [0.5,0.5,0.5], \"image_std\": [0.5,0.5,0.5]}";
    static const char timm[] = "{\"pretrained_cfg\": {\"input_size\": [1,6,6], \"mean\": [0.1], \"std\": [0.2]}}";
    const char *config = in_folder("config.json"), *own = in_folder("preprocessor_config.json");
    write_bytes(config, "{}", 2);
    assert_false(heed_image_processor_open(cx, folder, &p));
    EXPECT_SENTENCE(cx, "neither preprocessor_config.json nor a pretrained_cfg");
    write_bytes(config, timm, sizeof timm - 1);
    assert_true(heed_image_processor_open(cx, folder, &p));
    for (int channels = 1; channels <= 4; channels++) {
        heed_image in = drawn(cx, 9, 8, channels, 1);
        float *x = heed_image_process(cx, &p, &in, &c, &h, &w);
        assert_true(x && c == 1 && h == 6 && w == 6);
        heed_mem_free(cx, x);
        heed_image_free(cx, &in);
    }
    write_bytes(own, transformers, sizeof transformers - 1);
    assert_true(heed_image_processor_open(cx, folder, &p));
    for (int channels = 1; channels <= 4; channels++) {
        heed_image in = drawn(cx, 1, 1, channels, 1);
        float *x = heed_image_process(cx, &p, &in, &c, &h, &w);
        assert_true(x && c == 3 && h == 4 && w == 4);
        heed_mem_free(cx, x);
        heed_image_free(cx, &in);
    }
    unlink(config);
    unlink(own);
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_directory),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
