/* Pipelines in C: what is written is opened again, pictures are functions of seed, number and class, one step by hand,
 * and what is refused. */
#include "heed/pipeline.h"
#include "io/io_test.h"

enum { SIDE = 8, NUMBERS = SIDE * SIDE, COUNT = 5 };

static heed_model *network(heed_ctx *cx, const char *more) {
    const char *const settings[] = {"sample_size=8",        "in_channels=1",
                                    "out_channels=1",       "block_out_channels=4,8",
                                    "layers_per_block=1",   "down_block_types=DownBlock2D,AttnDownBlock2D",
                                    "norm_num_groups=2",    "up_block_types=AttnUpBlock2D,UpBlock2D",
                                    "attention_head_dim=4", more};
    heed_model *const m = heed_model_new(cx, heed_family_find("unet2d"), settings, more ? 10 : 9, 3);
    if (!m) fail_msg("%s", heed_message(cx));
    return m;
}

/* Writes a pipeline into the folder of the test. */
static const char *written(heed_ctx *cx, const char *name, const char *more, char *const *names, int64_t classes) {
    static const char *const settings[] = {"prediction_type=v_prediction", "num_train_timesteps=100"};
    static char dir[600];
    char part[640];
    heed_model *const m = network(cx, more);
    heed_scheduler *const s = heed_scheduler_new(cx, "DDIMScheduler", settings, 2);
    snprintf(dir, sizeof dir, "%s", in_folder(name));
    snprintf(part, sizeof part, "%s/%s", dir, heed_pipeline_network(m));
    if (!heed_pipeline_describe(cx, dir, m, s, names, classes) || !heed_model_save(cx, m, part))
        fail_msg("%s", heed_message(cx));
    heed_scheduler_free(cx, s);
    heed_model_free(cx, m);
    return dir;
}

static heed_pipeline *opened(heed_ctx *cx, const char *dir) {
    heed_pipeline *const p = heed_pipeline_open(cx, dir, NULL);
    if (!p) fail_msg("%s", heed_message(cx));
    return p;
}

static void count_steps(void *user, const heed_diffusing *at) {
    assert_true(at->step >= 1 && at->step <= at->steps && at->sample && at->predicted);
    *(int64_t *)user += at->n;
}

static void test_alone_and_together(void **state) {
    (void)state;
    heed_ctx *const cx = open_context();
    heed_pipeline *const p = opened(cx, written(cx, "plain", NULL, NULL, 0));
    float all[COUNT * NUMBERS], one[NUMBERS];
    int64_t shown = 0;
    assert_true(p->denoiser.channels == 1 && p->denoiser.numbers == NUMBERS && p->classes == 0 && p->no_class == -1);
    heed_diffuse_opts o = {
        .count = COUNT, .steps = 4, .seed = 7, .eta = 1, .batch = 2, .show = count_steps, .user = &shown};
    if (!heed_diffuse(cx, p, &o, all)) fail_msg("%s", heed_message(cx));
    assert_int_equal(shown, 4 * COUNT);
    o.show = NULL;
    for (int64_t i = 0; i < COUNT; i++) {
        o.first = i, o.count = 1;
        assert_true(heed_diffuse(cx, p, &o, one));
        assert_memory_equal(one, all + i * NUMBERS, sizeof one);
    }
    for (int i = 0; i < COUNT * NUMBERS; i++) assert_true(all[i] >= 0 && all[i] <= 1);
    heed_pipeline_free(cx, p);
    close_context(cx);
}

/* With guidance g the network's outputs of class and of none are mixed: at 1 the class's alone. */
static void test_classes(void **state) {
    (void)state;
    static char *names[] = {"dark", "light"};
    heed_ctx *const cx = open_context();
    heed_pipeline *const p = opened(cx, written(cx, "classes", "num_class_embeds=3", names, 2));
    const int64_t light = heed_pipeline_class(cx, p, "light");
    float with[NUMBERS], without[NUMBERS], more[NUMBERS];
    assert_true(p->classes == 2 && p->no_class == 2 && light == 1 && heed_pipeline_class(cx, p, "0") == 0);
    heed_diffuse_opts o = {.count = 1, .steps = 2, .seed = 1, .label = &light};
    assert_true(heed_diffuse(cx, p, &o, with));
    o.guidance = 4;
    assert_true(heed_diffuse(cx, p, &o, more));
    o.guidance = 0, o.label = NULL;
    assert_true(heed_diffuse(cx, p, &o, without));
    assert_true(memcmp(with, without, sizeof with) != 0 && memcmp(with, more, sizeof with) != 0);
    assert_int_equal(heed_pipeline_class(cx, p, "grey"), -1);
    EXPECT_SENTENCE(cx, "class 'grey' is not one of the model's: dark, light");
    o.label = &(int64_t){2};
    assert_false(heed_diffuse(cx, p, &o, with));
    EXPECT_SENTENCE(cx, "class 2 is not one of the model's 2");
    o.label = NULL, o.guidance = 2;
    assert_false(heed_diffuse(cx, p, &o, with));
    EXPECT_SENTENCE(cx, "guidance needs a class");
    heed_pipeline_free(cx, p);
    close_context(cx);
}

static void test_refused(void **state) {
    (void)state;
    heed_ctx *const cx = open_context();
    heed_pipeline *const p = opened(cx, written(cx, "refused", NULL, NULL, 0));
    float x[NUMBERS];
    heed_denoiser d;
    assert_false(heed_diffuse(cx, p, &(heed_diffuse_opts){.count = 1, .steps = 101}, x));
    EXPECT_SENTENCE(cx, "101 steps are not between 1 and 100");
    assert_false(heed_diffuse(cx, p, &(heed_diffuse_opts){.count = 0}, x));
    EXPECT_SENTENCE(cx, "at least one picture");
    assert_false(heed_diffuse(cx, p, &(heed_diffuse_opts){.count = 1, .guidance = 2}, x));
    EXPECT_SENTENCE(cx, "guidance needs a model that was trained with classes");
    assert_null(heed_pipeline_open(cx, in_folder("nowhere"), NULL));
    EXPECT_SENTENCE(cx, "holds no model_index.json");
    assert_null(heed_pipeline_open(cx, in_folder("refused"), "HeunScheduler"));
    EXPECT_SENTENCE(cx, "'HeunScheduler' is not one of");
    heed_model *const other =
        heed_model_new(cx, heed_family_find("mlp"), (const char *[]){"input_size=2", "output_size=1"}, 2, 1);
    assert_false(heed_denoiser_of(cx, other, &d));
    EXPECT_SENTENCE(cx, "does not make pictures of noise alone");
    assert_null(heed_pipeline_network(other));
    heed_model_free(cx, other);
    heed_pipeline_free(cx, p);
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alone_and_together),
        cmocka_unit_test(test_classes),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
