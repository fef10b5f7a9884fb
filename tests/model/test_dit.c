/* Diffusion Transformers in what golden files cannot show: classes that are dropped in training, and conditions that
 * are wrong. */
#include "heed/model.h"
#include "io/io_test.h"

enum { ROWS = 64, SIDE = 4, CLASSES = 3, NUMBERS = SIDE * SIDE };

static heed_model *model_of(heed_ctx *cx, const char *family, const char *more) {
    const char *const settings[] = {"num_layers=2",
                                    "num_attention_heads=3",
                                    "attention_head_dim=4",
                                    "in_channels=1",
                                    "out_channels=null",
                                    "sample_size=4",
                                    more};
    heed_model *m = heed_model_new(cx, heed_family_find(family), settings, 7, 5);
    assert_non_null(m);
    return m;
}

/* The same map for all rows, all of this class; outputs to `to` (ROWS, NUMBERS). */
static void run(heed_ctx *cx, const heed_model *m, int32_t class, float *to) {
    float x[ROWS][NUMBERS];
    int32_t step[ROWS], label[ROWS];
    for (int i = 0; i < ROWS; i++) {
        heed_random_normal(1, 0, 0, x[i], NUMBERS);
        step[i] = 300, label[i] = class;
    }
    heed_io in = {0}, out = {0};
    const int64_t rows = ROWS;
    heed_io_put(cx, &in, "sample", heed_from_f32(cx, x[0], 4, (int64_t[]){ROWS, 1, SIDE, SIDE}));
    heed_io_put(cx, &in, "timestep", heed_from_i32(cx, step, 1, &rows));
    heed_io_put(cx, &in, "class_labels", heed_from_i32(cx, label, 1, &rows));
    assert_true(heed_model_forward(cx, m, &in, &out));
    memcpy(to, heed_f32(heed_contiguous(cx, heed_io_get(&out, "sample"))), sizeof(float) * ROWS * NUMBERS);
    heed_reset(cx);
}

static bool near(const float *a, const float *b) {
    for (int i = 0; i < NUMBERS; i++)
        if (!(fabsf(a[i] - b[i]) <= 1e-4f)) return false;
    return true;
}

static void test_dropped_classes(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_model *m = model_of(cx, "dit", "num_embeds_ada_norm=3");
    static float known[ROWS * NUMBERS], none[ROWS * NUMBERS], trained[ROWS * NUMBERS];
    run(cx, m, 1, known);
    run(cx, m, CLASSES, none);
    assert_false(near(known, none));
    heed_set_training(cx, true);
    run(cx, m, 1, trained);
    heed_set_training(cx, false);
    int dropped = 0;
    for (int i = 0; i < ROWS; i++) {
        const bool without = near(trained + i * NUMBERS, none);
        assert_true(without || near(trained + i * NUMBERS, known)); /* in all blocks, or in none */
        dropped += without;
    }
    assert_true(dropped > 0 && dropped < 20);
    heed_model_free(cx, m);
    close_context(cx);
}

static void test_sizes(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    static const char *const wrong[] = {"num_attention_heads=1", "attention_head_dim=4",
                                        "use_additional_conditions=true"};
    assert_null(heed_model_new(cx, heed_family_find("pixart"), wrong, 3, 0));
    EXPECT_SENTENCE(cx, "a width that 3 divides, and this one is 4");
    heed_model *m = model_of(cx, "pixart", "use_additional_conditions=true");
    heed_io in = {0}, out = {0};
    assert_true(heed_model_sample(cx, m, 2, 3, &in));
    assert_true(heed_model_forward(cx, m, &in, &out));
    heed_reset(cx);
    in = out = (heed_io){0};
    heed_io_put(cx, &in, "sample", heed_zeros(cx, HEED_F32, 4, (int64_t[]){1, 1, SIDE, SIDE}));
    heed_io_put(cx, &in, "timestep", heed_zeros(cx, HEED_I32, 1, (int64_t[]){1}));
    heed_io_put(cx, &in, "encoder_hidden_states", heed_zeros(cx, HEED_F32, 3, (int64_t[]){1, 2, 1152}));
    assert_false(heed_model_forward(cx, m, &in, &out));
    EXPECT_SENTENCE(cx, "added_cond_kwargs.resolution is needed");
    heed_model_free(cx, m);
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_dropped_classes), cmocka_unit_test(test_sizes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
