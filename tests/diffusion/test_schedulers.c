/* Schedulers against diffusers' (tests/oracle/schedulers.py), in training and in bad company. */
#include "diffusion/scheduler.h"
#include "io/io_test.h"

static const char *golden(const char *file) {
    static char path[600];
    const char *base = getenv("HEED_GOLDEN");
    snprintf(path, sizeof path, "%s/diffusion/%s", base ? base : HEED_SOURCE_DIR "/tests/golden", file);
    return path;
}

/* Tensor NAME.WHAT; NULL when there is none. */
static const heed_array *tensor(heed_ctx *cx, heed_safetensors *st, const char *name, const char *what) {
    char full[80];
    snprintf(full, sizeof full, "%s.%s", name, what);
    const int64_t i = heed_safetensors_find(cx, st, full);
    return i < 0 ? NULL : heed_safetensors_get(cx, st, i);
}

static void expect_near(const float *found, const float *expected, int64_t n, const char *name, int64_t step) {
    float most = 1e-3f;
    for (int64_t i = 0; i < n; i++) most = fmaxf(most, fabsf(expected[i]));
    for (int64_t i = 0; i < n; i++)
        if (!(fabsf(found[i] - expected[i]) <= 5e-5f * most))
            fail_msg("%s: sample %lld, number %lld: %.9g, expected %.9g", name, (long long)step, (long long)i,
                     (double)found[i], (double)expected[i]);
}

static void expect_timesteps(const heed_scheduler *s, const heed_array *expected, const char *name) {
    const double *const t = heed_scheduler_timesteps(s);
    assert_int_equal(heed_scheduler_steps(s), expected->shape[0]);
    assert_int_equal(heed_scheduler_whole_timesteps(s), expected->dtype == HEED_I64);
    for (int64_t i = 0; i < expected->shape[0]; i++) {
        const double want = expected->dtype == HEED_I64 ? (double)((const int64_t *)expected->data)[i]
                                                        : (double)((const float *)expected->data)[i];
        if (!(fabs(t[i] - want) <= (expected->dtype == HEED_I64 ? 0 : 1e-4)))
            fail_msg("%s: timestep %lld: %.9g, expected %.9g", name, (long long)i, t[i], want);
    }
}

static heed_scheduler *scheduler_of(heed_ctx *cx, heed_json entry) {
    const char *settings[16];
    int n = 0;
    const heed_json list = heed_json_array(cx, entry, "settings");
    for (heed_json v = heed_json_first(list); heed_json_kind_of(v) != HEED_JSON_NONE; v = heed_json_next(v))
        settings[n++] = heed_json_text(cx, v, NULL);
    return heed_scheduler_new(cx, heed_json_text(cx, entry, "class"), settings, n);
}

static void run_golden(heed_ctx *cx, heed_json entry, heed_safetensors *st) {
    const char *const name = heed_json_key(entry);
    heed_scheduler *s = scheduler_of(cx, entry);
    if (!s) fail_msg("%s: %s", name, heed_message(cx));
    assert_true(heed_scheduler_set_timesteps(cx, s, heed_json_int(cx, entry, "steps")));
    expect_timesteps(s, tensor(cx, st, name, "timesteps"), name);
    const heed_array *const sample = tensor(cx, st, name, "sample"), *const outputs = tensor(cx, st, name, "outputs"),
                            *const noise = tensor(cx, st, name, "noise"),
                            *const samples = tensor(cx, st, name, "samples"), *const eta = tensor(cx, st, name, "eta");
    const int64_t n = heed_array_count(sample), wide = n / sample->shape[1] * outputs->shape[2];
    float x[64], original[64];
    assert_true(n <= 64);
    memcpy(x, sample->data, (size_t)n * sizeof *x);
    for (int64_t i = 0; i < heed_scheduler_steps(s); i++) {
        const heed_denoising d = {.batch = sample->shape[0],
                                  .channels = sample->shape[1],
                                  .each = sample->shape[2],
                                  .output_channels = outputs->shape[2],
                                  .sample = x,
                                  .model_output = (const float *)outputs->data + i * wide,
                                  .noise = (const float *)noise->data + i * n,
                                  .eta = eta ? (double)*(const float *)eta->data : 0,
                                  .previous = x,
                                  .original = i % 2 ? original : NULL};
        assert_true(heed_scheduler_step(cx, s, i, &d));
        expect_near(x, (const float *)samples->data + i * n, n, name, i);
    }
    heed_scheduler_free(cx, s);
}

static void test_golden(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const heed_json all = heed_json_open(cx, golden("schedulers.json"));
    heed_safetensors *st = heed_safetensors_open(cx, golden("schedulers.safetensors"));
    assert_false(heed_failed(cx));
    assert_true(heed_json_count(all) >= 25);
    for (heed_json v = heed_json_first(all); heed_json_kind_of(v) != HEED_JSON_NONE; v = heed_json_next(v))
        run_golden(cx, v, st);
    heed_safetensors_close(st);
    heed_json_free(all);
    close_context(cx);
}

/* x with noise of timestep t, and back: with what the model should say of it, one step of each kind gives x. */
static void test_training(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    static const char *const settings[] = {"num_train_timesteps=40", "timestep_spacing=trailing"};
    const float x[6] = {0.5f, -0.25f, 0.1f, 0.9f, -0.7f, 0}, noise[6] = {1, -1, 0.3f, 0.2f, -0.5f, 2};
    for (int k = 0; heed_scheduler_class_at(k); k++) {
        const char *const name = heed_scheduler_class_at(k);
        const bool flow = strncmp(name, "Flow", 4) == 0;
        heed_scheduler *s = heed_scheduler_new(cx, name, settings, flow ? 1 : 2);
        assert_non_null(s);
        assert_string_equal(heed_scheduler_class(s), name);
        assert_int_equal(heed_scheduler_train_steps(s), 40);
        assert_int_equal(heed_scheduler_alphas(s) == NULL, flow);
        const int32_t t[2] = {39, 39}, beyond[2] = {0, 40};
        float noisy[6], velocity[6], back[6];
        assert_true(heed_scheduler_add_noise(cx, s, x, noise, t, 2, 3, noisy));
        assert_true(heed_scheduler_velocity(cx, s, x, noise, t, 2, 3, velocity));
        assert_true(heed_scheduler_model_timestep(cx, s, 39) == (flow ? 40 : 39));
        assert_true(heed_scheduler_set_timesteps(cx, s, 1));
        const heed_denoising d = {.batch = 2,
                                  .channels = 3,
                                  .each = 1,
                                  .output_channels = 3,
                                  .sample = noisy,
                                  .model_output = flow ? velocity : noise,
                                  .noise = noise,
                                  .previous = back};
        if (strncmp(name, "DDPM", 4) != 0) { /* which adds noise even then */
            assert_true(heed_scheduler_step(cx, s, 0, &d));
            for (int i = 0; i < 6; i++) assert_true(fabsf(back[i] - x[i]) < 1e-5f);
        }
        assert_false(heed_scheduler_add_noise(cx, s, x, noise, beyond, 2, 3, noisy));
        EXPECT_SENTENCE(cx, "timestep 40 is not one of the 40 of training");
        assert_true(heed_scheduler_model_timestep(cx, s, -1) == 0);
        EXPECT_SENTENCE(cx, "timestep -1");
        heed_scheduler_free(cx, s);
    }
    assert_null(heed_scheduler_class_at(-1));
    close_context(cx);
}

/* A file as diffusers writes it, with keys of others and -Infinity; saved, opened as another class. */
static void test_files(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    static const char config[] =
        "{\"_class_name\": \"DPMSolverMultistepScheduler\", \"lambda_min_clipped\": -Infinity,"
        " \"trained_betas\": null, \"skip_prk_steps\": true, \"beta_schedule\": \"scaled_linear\"}";
    const char *const dir = folder;
    write_bytes(in_folder("scheduler_config.json"), config, sizeof config - 1);
    heed_scheduler *s = heed_scheduler_open(cx, dir, NULL);
    assert_non_null(s);
    assert_string_equal(heed_scheduler_prediction(s), "epsilon");
    assert_true(heed_scheduler_save(cx, s, dir));
    heed_scheduler *other = heed_scheduler_open(cx, dir, "EulerDiscreteScheduler");
    assert_non_null(other);
    assert_memory_equal(heed_scheduler_alphas(s), heed_scheduler_alphas(other), 1000 * sizeof(float));
    assert_true(heed_scheduler_start_deviation(other) == 1);
    assert_true(heed_scheduler_set_timesteps(cx, other, 10));
    const double start = heed_scheduler_start_deviation(other);
    float x = 2;
    assert_true(start > 10 && heed_scheduler_scale_model_input(cx, other, 0, &x, 1));
    assert_true(fabs((double)x - 2 / sqrt(start * start + 1)) < 1e-6);
    assert_false(heed_scheduler_scale_model_input(cx, other, 10, &x, 1));
    EXPECT_SENTENCE(cx, "step 10 is not one of the 10");
    heed_scheduler_free(cx, s);
    heed_scheduler_free(cx, other);
    assert_null(heed_scheduler_open(cx, dir, "PNDMScheduler"));
    EXPECT_SENTENCE(cx, "'PNDMScheduler' is not one of: DDPMScheduler, DDIMScheduler");
    unlink(in_folder("scheduler_config.json"));
    assert_null(heed_scheduler_open(cx, dir, NULL));
    EXPECT_SENTENCE(cx, "holds neither scheduler_config.json nor");
    close_context(cx);
}

static void test_refusals(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    static const struct {
        const char *name, *setting, *part;
    } bad[] = {
        {"DDPMScheduler", "variance_type=huge", "'huge' is not one of: fixed_small"},
        {"DDPMScheduler", "prediction_type=flow_prediction", "is not one of: epsilon, sample, v_prediction"},
        {"DDPMScheduler", "beta_end=2", "2 is not between 0 and 1"},
        {"DDPMScheduler", "num_train_timesteps=0", "0 is not between 1 and"},
        {"DDPMScheduler", "trained_betas=0.1,0.2", "2 betas for 1000 timesteps"},
        {"DDPMScheduler", "solver_order=2", "'solver_order' is not a key"},
        {"DDIMScheduler", "beta_schedule=sigmoid", "'sigmoid' is not one of"},
        {"DPMSolverMultistepScheduler", "algorithm_type=other", "'other' is not one of"},
        {"DPMSolverMultistepScheduler", "algorithm_type=dpmsolver", "need sigma_min"},
        {"DPMSolverMultistepScheduler", "solver_order=4", "4 is not between 1 and 3"},
        {"DPMSolverMultistepScheduler", "use_beta_sigmas=true", "not supported"},
        {"EulerDiscreteScheduler", "timestep_spacing=even", "'even' is not one of: leading, linspace, trailing"},
        {"FlowMatchEulerDiscreteScheduler", "use_dynamic_shifting=true", "not supported"},
        {"FlowMatchEulerDiscreteScheduler", "shift=0", "0 is not between"},
        {"OtherScheduler", "x=1", "'OtherScheduler' is not one of"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_null(heed_scheduler_new(cx, bad[i].name, &bad[i].setting, 1));
        EXPECT_SENTENCE(cx, bad[i].part);
    }
    heed_scheduler *s = heed_scheduler_new(cx, "DDPMScheduler", (const char *[]){"steps_offset=1"}, 1);
    assert_false(heed_scheduler_set_timesteps(cx, s, 0));
    EXPECT_SENTENCE(cx, "0 steps are not between 1 and 1000");
    assert_false(heed_scheduler_set_timesteps(cx, s, 1001));
    EXPECT_SENTENCE(cx, "1001 steps");
    assert_false(heed_scheduler_set_timesteps(cx, s, 1000));
    EXPECT_SENTENCE(cx, "timestep 1000 is not one of the 1000 of training");
    assert_true(heed_scheduler_set_timesteps(cx, s, 10));
    float x[2] = {0};
    heed_denoising d = {
        .batch = 1, .channels = 2, .each = 1, .output_channels = 2, .sample = x, .model_output = x, .previous = x};
    assert_true(heed_scheduler_needs_noise(s, 0, 0));
    assert_false(heed_scheduler_step(cx, s, 0, &d));
    EXPECT_SENTENCE(cx, "step 0 needs noise");
    d.noise = x, d.output_channels = 4;
    assert_false(heed_scheduler_step(cx, s, 0, &d));
    EXPECT_SENTENCE(cx, "output has 4 channels, and the sample 2");
    assert_false(heed_scheduler_step(cx, s, 10, &d));
    EXPECT_SENTENCE(cx, "step 10 is not one of the 10");
    heed_scheduler_free(cx, s);
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),
        cmocka_unit_test(test_training),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
