/* Plans: what was planned is what a run takes, to the byte; a budget below it is refused before anything is done. */
#include "train/train_test.h"

struct scene {
    struct points train, valid;
    heed_data data, other;
    heed_ctx *cx; /* of the examples, which runs and plans share */
    heed_examples *examples;
    heed_loop_opts opts;
};

/* Runs that differ in all that takes memory. */
enum { SCENES = 7 };

static void set_scene(struct scene *s, int which) {
    const bool classify = which % 2 == 0;
    draw_points(&s->train, 1);
    draw_points(&s->valid, 2);
    s->data = classify ? classes_of(&s->train) : numbers_of(&s->train);
    s->other = classify ? classes_of(&s->valid) : numbers_of(&s->valid);
    s->opts = (heed_loop_opts){.trainer = {.schedule = {.kind = HEED_COSINE, .lr = 1e-5}}, .steps = 40, .seed = 5};
    heed_examples_opts on = {.train = &s->data, .batch = which < 3 ? 32 : 100, .seed = 5};
    s->opts.trainer.optimizer.kind = which < 2   ? HEED_SGD
                                     : which < 4 ? HEED_ADAM
                                     : which < 6 ? HEED_ADAMW
                                                 : HEED_ADAFACTOR;
    if (which == 1) s->opts.trainer.optimizer.momentum = 0.9;
    if (which > 2) s->opts.trainer.average = 0.9;
    if (which % 3 == 1) on.micro_batch = 12;
    if (which > 0) on.valid = &s->other;
    if (which > 3) on.test = &s->other;
    s->cx = open_context();
    s->examples = heed_examples_new(s->cx, &on);
    s->opts.source = heed_examples_source(s->examples);
}

static void close_scene(struct scene *s) {
    heed_examples_free(s->cx, s->examples);
    close_context(s->cx);
}

static const char *more_of(const struct scene *s) { return s->data.y ? "standardize_output=true" : "dropout=0.2"; }

static size_t planned(const struct scene *s, int threads) {
    heed_ctx *dry = heed_open(&(heed_config){.threads = threads, .dry = true});
    heed_model *m = new_model(dry, &s->data, more_of(s));
    heed_plan plan;
    if (!heed_plan_run(dry, m, &s->opts, &plan)) fail_msg("%s", heed_message(dry));
    const size_t weights = (size_t)heed_params_size(heed_model_params(m)) * sizeof(float);
    assert_true(plan.weights == weights && plan.step > 0 && plan.batches > 0);
    assert_true(plan.trainer >= 2 * weights); /* gradients, the best */
    assert_true(plan.total > plan.weights + plan.trainer + plan.batches + plan.step);
    heed_model_free(dry, m);
    heed_close(dry);
    return plan.total;
}

static heed_status run_within(struct scene *s, int threads, size_t budget, size_t *used) {
    heed_ctx *cx = heed_open(&(heed_config){.threads = threads, .byte_budget = budget});
    heed_model *m = new_model(cx, &s->data, more_of(s));
    s->opts.dir = in_folder("model");
    heed_loop_run(cx, m, &s->opts, NULL);
    const heed_status status = heed_error(cx);
    if (status != HEED_OK && !strstr(heed_message(cx), "bytes of memory, the budget is"))
        fail_msg("%s", heed_message(cx));
    *used = heed_memory_use(cx).held_peak;
    heed_model_free(cx, m);
    heed_close(cx);
    return status;
}

static void test_planned_is_used(void **state) {
    (void)state;
    for (int which = 0; which < SCENES; which++)
        for (int threads = 1; threads <= 2; threads++) {
            struct scene s;
            set_scene(&s, which);
            s.opts.dir = in_folder("model");
            const size_t plan = planned(&s, threads);
            assert_true(access(s.opts.dir, F_OK) != 0); /* nothing was written */
            size_t used;
            assert_int_equal(run_within(&s, threads, plan, &used), HEED_OK);
            if (used > plan || used + 1024 < plan) fail_msg("scene %d: %zu planned, %zu used", which, plan, used);
            remove_model(s.opts.dir);
            assert_int_equal(run_within(&s, threads, plan - 1, &used), HEED_ERR_BUDGET);
            assert_true(access(s.opts.dir, F_OK) != 0);
            close_scene(&s);
        }
}

/* A step by itself: more for training than for running, and more for a larger batch. */
static void test_step(void **state) {
    (void)state;
    struct points points;
    draw_points(&points, 1);
    const heed_data data = classes_of(&points);
    const heed_trainer_opts adamw = {.optimizer = {.kind = HEED_ADAMW}, .schedule = {.lr = 0.1}};
    heed_plan plan[4];
    for (int i = 0; i < 4; i++) {
        heed_ctx *dry = heed_open(&(heed_config){.threads = 1, .dry = true});
        heed_model *m = new_model(dry, &data, NULL);
        assert_true(heed_plan_step(dry, m, i < 2 ? NULL : &adamw, i % 2 ? 5000 : 4, 1, &plan[i]));
        heed_model_free(dry, m);
        heed_close(dry);
    }
    assert_true(plan[0].trainer == 0 && plan[2].trainer >= 3 * plan[2].weights);
    assert_true(plan[1].step > plan[0].step && plan[2].step > plan[0].step && plan[3].step > plan[1].step);
    assert_true(plan[3].total > plan[1].total);
}

/* The bytes of the same steps, planned and taken. */
static void test_step_is_used(void **state) {
    (void)state;
    static const char *const settings[] = {"vocab_size=40", "n_positions=16", "n_embd=8", "n_layer=5", "n_head=2"};
    const heed_trainer_opts adamw = {.optimizer = {.kind = HEED_ADAMW}, .schedule = {.lr = 0.1}, .clip = 1};
    for (int training = 0; training < 2; training++) {
        heed_ctx *dry = heed_open(&(heed_config){.threads = 2, .dry = true}),
                 *cx = heed_open(&(heed_config){.threads = 2});
        heed_model *planned = heed_model_new(dry, heed_family_find("gpt2"), settings, 5, 1),
                   *m = heed_model_new(cx, heed_family_find("gpt2"), settings, 5, 1);
        heed_plan plan;
        assert_true(heed_plan_step(dry, planned, training ? &adamw : NULL, 3, 9, &plan));
        heed_memory_reset_peak(cx);
        heed_trainer *t = training ? heed_trainer_new(cx, heed_model_params(m), &adamw) : NULL;
        heed_set_grad(cx, training);
        for (int step = 0; step < 3; step++) {
            heed_io in, out;
            heed_trainer_begin(cx, t);
            assert_true(heed_model_sample(cx, m, 3, 9, &in) && heed_model_forward(cx, m, &in, &out));
            if (t) assert_true(heed_backward(cx, heed_io_get(&out, "loss")) && heed_trainer_step(cx, t, NULL));
            heed_reset(cx);
        }
        assert_int_equal(plan.total, heed_memory_use(cx).held_peak);
        assert_int_equal(plan.step, heed_memory_use(cx).step_peak);
        heed_trainer_free(cx, t);
        heed_model_free(cx, m);
        heed_model_free(dry, planned);
        heed_close(cx);
        heed_close(dry);
    }
}

static void test_refusals(void **state) {
    (void)state;
    struct scene s;
    set_scene(&s, 0);
    heed_plan plan;
    heed_ctx *cx = heed_open(&(heed_config){.threads = 1});
    heed_model *m = new_model(cx, &s.data, NULL);
    assert_false(heed_plan_step(cx, m, NULL, 4, 1, &plan));
    assert_non_null(strstr(heed_message(cx), "not a dry one"));
    heed_clear(cx);
    assert_false(heed_plan_run(cx, NULL, &s.opts, &plan));
    heed_clear(cx);
    heed_model_free(cx, m);
    heed_close(cx);
    close_scene(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_planned_is_used),
        cmocka_unit_test(test_step),
        cmocka_unit_test(test_step_is_used),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
