/* The trainer and its checkpoints. */
#include "train/train_test.h"
#include "train/trainer.h"

static const heed_trainer_opts adamw = {
    .optimizer = {.kind = HEED_ADAMW, .weight_decay = 0.1}, .schedule = {.lr = 0.01}, .average = 0.9};

static heed_tensor *loss_of(heed_ctx *cx, const heed_model *m, const struct points *p, int64_t from, int64_t n) {
    heed_io in = {0}, out;
    heed_io_put(cx, &in, "x", heed_borrow(cx, HEED_F32, p->x[from], 2, (int64_t[]){n, WIDTH}, NULL));
    heed_io_put(cx, &in, "labels", heed_borrow(cx, HEED_I32, p->label + from, 1, &n, NULL));
    assert_true(heed_model_forward(cx, m, &in, &out));
    return heed_io_get(&out, "loss");
}

static float step(heed_ctx *cx, heed_trainer *t, const heed_model *m, const struct points *p, int64_t from, int64_t n) {
    heed_trainer_begin(cx, t);
    heed_tensor *loss = loss_of(cx, m, p, from, n);
    const float value = heed_readable(loss) ? heed_f32(loss)[0] : 0;
    heed_backward(cx, loss);
    heed_trainer_step(cx, t, NULL);
    heed_reset(cx);
    return value;
}

static float largest_difference(const float *a, const float *b, int64_t n) {
    float most = 0;
    for (int64_t i = 0; i < n; i++) most = fmaxf(most, fabsf(a[i] - b[i]));
    return most;
}

static void test_accumulated_is_large_batch(void **state) {
    (void)state;
    struct points p;
    draw_points(&p, 1);
    const heed_data data = classes_of(&p);
    heed_ctx *cx = open_context();
    heed_model *a = new_model(cx, &data, NULL), *b = new_model(cx, &data, NULL);
    heed_trainer_opts opts = adamw;
    opts.clip = 0.5;
    heed_trainer *whole = heed_trainer_new(cx, heed_model_params(a), &opts);
    opts.accumulate = 4;
    heed_trainer *parts = heed_trainer_new(cx, heed_model_params(b), &opts);
    for (int i = 0; i < 30; i++) {
        step(cx, whole, a, &p, 0, 100);
        for (int k = 0; k < 4; k++) step(cx, parts, b, &p, 25 * k, 25);
        assert_true(fabs(heed_trainer_norm(whole) - heed_trainer_norm(parts)) < 1e-5);
    }
    assert_int_equal(heed_trainer_steps(parts), 30);
    const int64_t n = heed_params_size(heed_model_params(a));
    assert_true(largest_difference(heed_params_block(heed_model_params(a)), heed_params_block(heed_model_params(b)),
                                   n) < 2e-5f);
    heed_trainer_free(cx, whole);
    heed_trainer_free(cx, parts);
    heed_model_free(cx, a);
    heed_model_free(cx, b);
    close_context(cx);
}

/* A gradient that is not finite changes nothing when the norm is looked at; frozen parameters never change. */
static void test_what_stays(void **state) {
    (void)state;
    struct points p;
    draw_points(&p, 1);
    const heed_data data = classes_of(&p);
    heed_ctx *cx = open_context();
    heed_model *m = new_model(cx, &data, "standardize_input=true");
    heed_params *set = heed_model_params(m);
    heed_trainer_opts opts = adamw;
    opts.clip = 1;
    heed_trainer *t = heed_trainer_new(cx, set, &opts);
    for (int i = 0; i < 5; i++) step(cx, t, m, &p, 0, 100);
    const heed_param *deviation = heed_params_find(set, "input_deviation");
    for (int i = 0; i < WIDTH; i++) assert_true(deviation->value[i] == 1.0f);
    const size_t size = (size_t)heed_params_size(set) * sizeof(float);
    float *before = malloc(size);
    memcpy(before, heed_params_block(set), size);
    p.x[7][1] = INFINITY;
    step(cx, t, m, &p, 0, 100);
    EXPECT_SENTENCE(cx, "trainer: the gradient of step 5 is not finite");
    assert_memory_equal(before, heed_params_block(set), size);
    assert_int_equal(heed_trainer_steps(t), 5);
    p.x[7][1] = 0;
    step(cx, t, m, &p, 0, 100); /* and goes on */
    assert_int_equal(heed_trainer_steps(t), 6);
    heed_trainer_swap_average(cx, t);
    assert_false(heed_trainer_step(cx, t, NULL));
    EXPECT_SENTENCE(cx, "a step while the average is swapped in");
    assert_false(heed_checkpoint_save(cx, t, in_folder("never"), ""));
    EXPECT_SENTENCE(cx, "save between updates");
    heed_trainer_swap_average(cx, t);
    free(before);
    heed_trainer_free(cx, t);
    heed_model_free(cx, m);
    close_context(cx);
}

/* A trainer may go within a step, before the context or the model: nothing of it is touched afterwards. */
static void test_freed_within_a_step(void **state) {
    (void)state;
    struct points p;
    draw_points(&p, 1);
    const heed_data data = classes_of(&p);
    for (int dry = 0; dry < 2; dry++) {
        heed_ctx *cx = heed_open(&(heed_config){.threads = 1, .dry = dry});
        heed_model *m = new_model(cx, &data, NULL);
        heed_trainer *t = heed_trainer_new(cx, heed_model_params(m), &adamw);
        heed_trainer_begin(cx, t);
        heed_tensor *loss = loss_of(cx, m, &p, 0, 10);
        if (dry) assert_true(heed_backward(cx, loss)); /* it notes what it filled */
        heed_model_free(cx, m);
        heed_trainer_free(cx, t);
        assert_false(heed_failed(cx));
        heed_close(cx);
    }
}

/* What is frozen costs neither gradient nor moments, and the others learn as if it were not there. */
static void test_freeze(void **state) {
    (void)state;
    struct points p;
    draw_points(&p, 1);
    const heed_data data = classes_of(&p);
    heed_ctx *cx = open_context();
    heed_model *m = new_model(cx, &data, NULL);
    heed_params *set = heed_model_params(m);
    const heed_param *first = heed_params_find(set, "layers.0.weight"),
                     *last = heed_params_find(set, "layers.2.weight");
    float *was = malloc((size_t)first->count * sizeof(float)), *moved = malloc((size_t)last->count * sizeof(float));
    memcpy(was, first->value, (size_t)first->count * sizeof(float));
    memcpy(moved, last->value, (size_t)last->count * sizeof(float));
    const size_t before = heed_memory_use(cx).held;
    heed_trainer *all = heed_trainer_new(cx, set, &adamw);
    const size_t whole = heed_memory_use(cx).held - before;
    heed_trainer_free(cx, all);
    assert_int_equal(heed_params_freeze(cx, set, "layers.0.*"), 2);
    heed_trainer *t = heed_trainer_new(cx, set, &adamw);
    const size_t numbers = (size_t)(first->count + heed_params_find(set, "layers.0.bias")->count);
    assert_int_equal(heed_memory_use(cx).held - before, whole - 4 * numbers * sizeof(float)); /* 2 moments, average */
    for (int i = 0; i < 3; i++) step(cx, t, m, &p, 0, 100);
    assert_memory_equal(was, first->value, (size_t)first->count * sizeof(float));
    assert_true(largest_difference(moved, last->value, last->count) > 0.01f);
    heed_trainer_free(cx, t);
    assert_int_equal(heed_params_freeze(cx, set, "no such*"), 0);
    EXPECT_SENTENCE(cx, "freeze: no parameter fits 'no such*'");
    heed_params_freeze(cx, set, "*");
    assert_null(heed_trainer_new(cx, set, &adamw));
    EXPECT_SENTENCE(cx, "trainer: all parameters are frozen");
    free(was);
    free(moved);
    heed_model_free(cx, m);
    close_context(cx);
}

/* With SGD an update is proportional to the learning rate of its layer. */
static void test_layer_decay(void **state) {
    (void)state;
    struct points p;
    draw_points(&p, 1);
    const heed_data data = classes_of(&p);
    heed_ctx *cx = open_context();
    const heed_trainer_opts sgd = {.optimizer = {.kind = HEED_SGD}, .schedule = {.lr = 1}};
    float moved[2][2];
    for (int k = 0; k < 2; k++) {
        heed_model *m = new_model(cx, &data, NULL);
        heed_params *set = heed_model_params(m);
        const heed_param *of[2] = {heed_params_find(set, "layers.0.bias"), heed_params_find(set, "layers.2.bias")};
        const float was[2] = {of[0]->value[0], of[1]->value[0]};
        if (k == 1) assert_true(heed_params_layer_decay(cx, set, 0.5));
        heed_trainer *t = heed_trainer_new(cx, set, &sgd);
        step(cx, t, m, &p, 0, 100);
        for (int i = 0; i < 2; i++) moved[k][i] = of[i]->value[0] - was[i];
        heed_trainer_free(cx, t);
        heed_model_free(cx, m);
    }
    /* numbers 0 and 2 make layers 1 and 3 of 3; the head above them would have the full rate */
    assert_true(moved[0][0] != 0 && moved[0][1] != 0);
    assert_true(fabsf(moved[1][0] / moved[0][0] - 0.125f) < 1e-3f && fabsf(moved[1][1] / moved[0][1] - 0.5f) < 1e-3f);
    heed_model *m = new_model(cx, &data, NULL);
    assert_false(heed_params_layer_decay(cx, heed_model_params(m), 0));
    EXPECT_SENTENCE(cx, "layer decay: a set and a factor in (0, 1] are needed, not 0");
    heed_model_free(cx, m);
    close_context(cx);
}

static void test_bad_options(void **state) {
    (void)state;
    struct points p;
    draw_points(&p, 1);
    const heed_data data = classes_of(&p);
    heed_ctx *cx = open_context();
    heed_model *m = new_model(cx, &data, NULL);
    heed_params *set = heed_model_params(m);
    const struct {
        heed_trainer_opts opts;
        const char *sentence;
    } bad[] = {
        {{.optimizer = {.kind = (heed_optimizer_kind)7}}, "7 is not an optimizer"},
        {{.optimizer = {.kind = HEED_SGD}}, "the learning rate is 0: must be finite and above 0"},
        {{.schedule = {.lr = -1}}, "the learning rate is -1"},
        {{.schedule = {.lr = (double)NAN}}, "the learning rate is nan"},
        {{.optimizer = {.kind = HEED_ADAM, .beta1 = 1}, .schedule = {.lr = 1}}, "betas 1"},
        {{.optimizer = {.nesterov = true}, .schedule = {.lr = 1}}, "Nesterov needs a momentum"},
        {{.clip = -1, .schedule = {.lr = 1}}, "out of range"},
        {{.average = 1, .schedule = {.lr = 1}}, "out of range"},
        {{.optimizer = {.momentum = (double)NAN}, .schedule = {.lr = 1}}, "out of range"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_null(heed_trainer_new(cx, set, &bad[i].opts));
        EXPECT_SENTENCE(cx, bad[i].sentence);
    }
    assert_null(heed_trainer_new(cx, NULL, &adamw));
    EXPECT_SENTENCE(cx, "allocated parameters are needed");
    assert_null(heed_trainer_new(cx, set, NULL));
    EXPECT_SENTENCE(cx, "the options are NULL");
    assert_false(heed_trainer_step(cx, NULL, NULL));
    EXPECT_SENTENCE(cx, "the trainer is NULL");
    heed_trainer_free(cx, NULL);
    heed_model_free(cx, m);
    close_context(cx);
}

static void test_checkpoint(void **state) {
    (void)state;
    struct points p;
    draw_points(&p, 1);
    const heed_data data = classes_of(&p);
    heed_ctx *cx = open_context();
    const char *path = in_folder("checkpoint.safetensors");
    heed_model *a = new_model(cx, &data, NULL), *b = new_model(cx, &data, NULL);
    heed_trainer *one = heed_trainer_new(cx, heed_model_params(a), &adamw);
    heed_trainer *two = heed_trainer_new(cx, heed_model_params(b), &adamw);
    for (int i = 0; i < 3; i++) step(cx, one, a, &p, 0, 100);
    assert_true(heed_checkpoint_save(cx, one, path, "{\"text\": \"any\"}"));
    char *notes = heed_checkpoint_notes(cx, path);
    assert_string_equal(notes, "{\"text\": \"any\"}");
    heed_mem_free(cx, notes);
    assert_true(heed_checkpoint_load(cx, two, path));
    for (int i = 0; i < 3; i++) {
        step(cx, one, a, &p, 0, 100);
        step(cx, two, b, &p, 0, 100);
    }
    const size_t size = (size_t)heed_params_size(heed_model_params(a)) * sizeof(float);
    assert_memory_equal(heed_params_block(heed_model_params(a)), heed_params_block(heed_model_params(b)), size);
    assert_memory_equal(one->moment[1], two->moment[1], size);
    assert_memory_equal(one->average, two->average, size);
    assert_int_equal(heed_trainer_steps(two), 6);

    /* refused, with nothing changed */
    heed_trainer_opts other = adamw;
    other.optimizer.kind = HEED_ADAM;
    heed_trainer *adam = heed_trainer_new(cx, heed_model_params(b), &other);
    assert_false(heed_checkpoint_load(cx, adam, path));
    EXPECT_SENTENCE(cx, "a checkpoint of another optimizer: adamw, not adam");
    other = adamw;
    other.average = 0;
    heed_trainer *plain = heed_trainer_new(cx, heed_model_params(b), &other);
    assert_false(heed_checkpoint_load(cx, plain, path));
    EXPECT_SENTENCE(cx, "4 arrays where this optimizer has 3");
    heed_model *c = new_model(cx, &data, "hidden_sizes=9");
    heed_trainer *wider = heed_trainer_new(cx, heed_model_params(c), &adamw);
    assert_false(heed_checkpoint_load(cx, wider, path));
    EXPECT_SENTENCE(cx, "a checkpoint of another model: it has 'layers.0.weight (8,3)");
    assert_memory_equal(heed_params_block(heed_model_params(a)), heed_params_block(heed_model_params(b)), size);
    assert_int_equal(heed_trainer_steps(two), 6);
    assert_true(heed_params_save(cx, heed_model_params(a), path));
    assert_false(heed_checkpoint_load(cx, one, path));
    EXPECT_SENTENCE(cx, "this is not a checkpoint of heed's");
    assert_null(heed_checkpoint_notes(cx, path));
    EXPECT_SENTENCE(cx, "this is not a checkpoint of heed's");
    assert_false(heed_checkpoint_save(cx, one, in_folder("none/such"), NULL));
    EXPECT_SENTENCE(cx, "none/such: ");
    unlink(path);
    assert_false(heed_checkpoint_load(cx, one, path));
    EXPECT_SENTENCE(cx, "checkpoint.safetensors: ");
    heed_trainer *const trainers[] = {one, two, adam, plain, wider};
    for (int i = 0; i < 5; i++) heed_trainer_free(cx, trainers[i]);
    heed_model_free(cx, a);
    heed_model_free(cx, b);
    heed_model_free(cx, c);
    close_context(cx);
}

/* Moments of rows and columns: what is frozen has none, and a resumed run has those of its parameters. */
static void test_adafactor(void **state) {
    (void)state;
    struct points p;
    draw_points(&p, 1);
    const heed_data data = classes_of(&p);
    heed_ctx *cx = open_context();
    const heed_trainer_opts opts = {.optimizer = {.kind = HEED_ADAFACTOR}, .schedule = {.lr = 0.05}};
    const char *path = in_folder("adafactor.safetensors");
    heed_model *models[2];
    heed_trainer *trainers[2];
    for (int i = 0; i < 2; i++) {
        models[i] = new_model(cx, &data, NULL);
        assert_int_equal(heed_params_freeze(cx, heed_model_params(models[i]), "layers.0.weight"), 1);
        trainers[i] = heed_trainer_new(cx, heed_model_params(models[i]), &opts);
        int64_t moments = 0;
        for (int k = 0; k < heed_params_count(heed_model_params(models[i])); k++) {
            const heed_param *q = heed_params_at(heed_model_params(models[i]), k);
            if (!q->frozen) moments += q->rank == 2 ? q->shape[0] + q->shape[1] : q->count;
        }
        assert_int_equal(trainers[i]->n_moments, moments);
    }
    const float first = step(cx, trainers[0], models[0], &p, 0, 100);
    for (int i = 0; i < 20; i++) step(cx, trainers[0], models[0], &p, 0, 100);
    assert_true(heed_checkpoint_save(cx, trainers[0], path, NULL));
    assert_true(heed_checkpoint_load(cx, trainers[1], path));
    float last[2];
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 2; i++) last[i] = step(cx, trainers[i], models[i], &p, 0, 100);
    assert_true(last[0] == last[1] && last[0] < 0.9f * first);
    assert_memory_equal(trainers[0]->moment[0], trainers[1]->moment[0], (size_t)trainers[0]->n_moments * sizeof(float));
    assert_memory_equal(heed_params_block(heed_model_params(models[0])),
                        heed_params_block(heed_model_params(models[1])),
                        (size_t)heed_params_size(heed_model_params(models[0])) * sizeof(float));
    for (int i = 0; i < 2; i++) heed_trainer_free(cx, trainers[i]), heed_model_free(cx, models[i]);
    unlink(path);
    close_context(cx);
}

/* A fused matrix is updated as the matrices that are its rows, which have sizes and moments of their own. */
static void test_adafactor_fused(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const heed_init zeros = {.kind = HEED_INIT_ZEROS};
    const heed_trainer_opts opts = {.optimizer = {.kind = HEED_ADAFACTOR}, .schedule = {.lr = 0.05}};
    heed_params *fused = heed_params_new(cx), *apart = heed_params_new(cx);
    heed_param *all = heed_param_add(cx, fused, "p", "qk", 2, (int64_t[]){6, 4}, zeros);
    heed_param_slice(cx, fused, "p", "q", all, 0, 2);
    heed_param_slice(cx, fused, "p", "k", all, 2, 4);
    heed_param_add(cx, apart, "p", "q", 2, (int64_t[]){2, 4}, zeros);
    heed_param_add(cx, apart, "p", "k", 2, (int64_t[]){4, 4}, zeros);
    assert_true(heed_params_allocate(cx, fused) && heed_params_allocate(cx, apart));
    heed_trainer *one = heed_trainer_new(cx, fused, &opts), *two = heed_trainer_new(cx, apart, &opts);
    assert_true(one && two && one->n_moments == 14 && two->n_moments == 14);
    float *q = heed_params_at(apart, 0)->value, *k = heed_params_at(apart, 1)->value, start[24], grad[24];
    heed_random_normal(1, 1, 0, start, 24);
    for (int i = 0; i < 8; i++) start[i] *= 0.01f; /* queries of T5 are small beside keys */
    memcpy(all->value, start, sizeof start);
    memcpy(q, start, 8 * sizeof *q);
    memcpy(k, start + 8, 16 * sizeof *k);
    for (uint64_t s = 0; s < 5; s++) {
        heed_random_normal(2, s, 0, grad, 24);
        memcpy(one->grads[0].data, grad, sizeof grad);
        memcpy(two->grads[0].data, grad, 8 * sizeof *grad);
        memcpy(two->grads[1].data, grad + 8, 16 * sizeof *grad);
        one->grads[0].filled = two->grads[0].filled = two->grads[1].filled = true;
        assert_true(heed_trainer_step(cx, one, NULL) && heed_trainer_step(cx, two, NULL));
    }
    assert_memory_equal(all->value, q, 8 * sizeof *q);
    assert_memory_equal(all->value + 8, k, 16 * sizeof *k);
    assert_true(largest_difference(all->value, start, 24) > 0.1f);
    heed_trainer_free(cx, one), heed_trainer_free(cx, two);
    heed_params_free(cx, fused), heed_params_free(cx, apart);
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accumulated_is_large_batch),
        cmocka_unit_test(test_what_stays),
        cmocka_unit_test(test_freed_within_a_step),
        cmocka_unit_test(test_freeze),
        cmocka_unit_test(test_layer_decay),
        cmocka_unit_test(test_bad_options),
        cmocka_unit_test(test_checkpoint),
        cmocka_unit_test(test_adafactor),
        cmocka_unit_test(test_adafactor_fused),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
