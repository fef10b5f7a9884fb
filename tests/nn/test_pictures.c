/* Layers of pictures: torch's names and shapes, how they are drawn, and that they are the ops with these weights. */
#include "heed/nn.h"
#include "io/io_test.h"

static void expect_param(const heed_params *set, const char *name, int rank, const int64_t *shape, float most) {
    const heed_param *p = heed_params_find(set, name);
    if (!p) fail_msg("there is no %s", name);
    assert_int_equal(p->rank, rank);
    for (int i = 0; i < rank; i++) assert_int_equal(p->shape[i], shape[i]);
    float largest = 0;
    for (int64_t i = 0; i < p->count; i++) largest = fmaxf(largest, fabsf(p->value[i]));
    assert_true(largest <= most && largest > 0.5f * most);
}

static void test_conv(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_params *set = heed_params_new(cx);
    heed_conv_layer flat, line, up, long_up;
    const heed_conv_opts opts = {.stride = {2, 2}, .padding = {1, 1}, .groups = 2};
    heed_conv2d_make(cx, set, "stem.0", 4, 6, (int64_t[]){3, 5}, true, &opts, &flat);
    heed_conv1d_make(cx, set, "line", 3, 8, 5, true, NULL, &line);
    heed_conv_transpose2d_make(cx, set, "up", 6, 4, (int64_t[]){2, 2}, true, &opts, &up);
    heed_conv_transpose1d_make(cx, set, "long", 6, 4, 2, false, NULL, &long_up);
    heed_params_allocate(cx, set);
    heed_params_init(cx, set, 1);
    assert_int_equal(heed_params_count(set), 7);
    expect_param(set, "stem.0.weight", 4, (int64_t[]){6, 2, 3, 5}, 1 / sqrtf(30));
    expect_param(set, "stem.0.bias", 1, (int64_t[]){6}, 1 / sqrtf(30));
    expect_param(set, "line.weight", 3, (int64_t[]){8, 3, 5}, 1 / sqrtf(15));
    expect_param(set, "up.weight", 4, (int64_t[]){6, 2, 2, 2}, 1 / sqrtf(8));
    expect_param(set, "up.bias", 1, (int64_t[]){4}, 1 / sqrtf(8));
    expect_param(set, "long.weight", 3, (int64_t[]){6, 4, 2}, 1 / sqrtf(8));
    heed_tensor *x = heed_full(cx, 1, 4, (int64_t[]){2, 4, 7, 8});
    heed_tensor *y = heed_conv_run(cx, &flat, x),
                *same = heed_conv2d(cx, x, heed_param_tensor(cx, flat.weight), heed_param_tensor(cx, flat.bias), &opts);
    assert_false(heed_failed(cx));
    assert_memory_equal(heed_f32(y), heed_f32(same), (size_t)heed_count(y) * sizeof(float));
    assert_int_equal(heed_dim(heed_conv_run(cx, &line, heed_full(cx, 1, 3, (int64_t[]){2, 3, 9})), 2), 5);
    assert_int_equal(heed_dim(heed_conv_run(cx, &up, heed_full(cx, 1, 4, (int64_t[]){2, 6, 3, 3})), 3), 4);
    assert_int_equal(heed_dim(heed_conv_run(cx, &long_up, heed_full(cx, 1, 3, (int64_t[]){2, 6, 3})), 2), 4);
    heed_reset(cx);
    assert_false(heed_conv1d_make(cx, set, "odd", 3, 4, 1, true, &opts, &line));
    EXPECT_SENTENCE(cx, "conv: 2 groups do not divide 3 channels and 4");
    heed_params_free(cx, set);
    close_context(cx);
}

/* Training normalises with the batch's statistics and keeps running ones, which evaluation takes. */
static void test_norms(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_params *set = heed_params_new(cx);
    heed_batch_norm_layer batch;
    heed_group_norm_layer group;
    heed_batch_norm_make(cx, set, "bn", 2, 1e-5f, 0.1f, &batch);
    heed_group_norm_make(cx, set, "gn", 1, 2, 1e-5f, &group);
    heed_params_allocate(cx, set);
    heed_params_init(cx, set, 1);
    static const char *const names[] = {"bn.weight", "bn.bias", "bn.running_mean", "bn.running_var",
                                        "bn.num_batches_tracked"};
    for (int i = 0; i < 5; i++) assert_string_equal(heed_params_at(set, i)->name, names[i]);
    assert_true(batch.running_mean->buffer && batch.running_var->value[1] == 1);
    assert_int_equal(batch.num_batches_tracked->stored, HEED_I64);
    const float x[] = {1, 2, 3, 4, 5, 9, 7, 8}; /* (2,2,2) */
    heed_set_training(cx, true);
    heed_tensor *y = heed_batch_norm_run(cx, &batch, heed_from_f32(cx, x, 3, (int64_t[]){2, 2, 2}));
    assert_non_null(y);
    assert_true(fabsf(heed_f32(y)[0] - (1 - 4.25f) / sqrtf(9.6875f + 1e-5f)) <= 1e-6f);
    assert_true(fabsf(batch.running_mean->value[0] - 0.425f) <= 1e-6f);
    assert_true(fabsf(batch.running_var->value[0] - (0.9f + 0.1f * 9.6875f * 4 / 3)) <= 1e-6f);
    assert_true(batch.num_batches_tracked->value[0] == 1);
    heed_set_training(cx, false);
    y = heed_batch_norm_run(cx, &batch, heed_from_f32(cx, x, 3, (int64_t[]){2, 2, 2}));
    assert_true(fabsf(heed_f32(y)[0] - (1 - 0.425f) / sqrtf(batch.running_var->value[0] + 1e-5f)) <= 1e-6f);
    assert_true(batch.num_batches_tracked->value[0] == 1);
    y = heed_group_norm_run(cx, &group, heed_from_f32(cx, x, 3, (int64_t[]){2, 2, 2}));
    assert_true(fabsf(heed_f32(y)[0] - (1 - 2.5f) / sqrtf(1.25f + 1e-5f)) <= 1e-6f);
    heed_reset(cx);
    heed_params_free(cx, set);
    close_context(cx);
}

static heed_tensor *normed(heed_ctx *cx, const void *own, heed_tensor *const *in) {
    return heed_batch_norm_run(cx, *(const heed_batch_norm_layer *const *)own, in[0]);
}

/* Computed twice, a batch counts once: running statistics and gradients as without recomputing. */
static void test_recompute(void **state) {
    (void)state;
    const float x[] = {1, 2, 3, 4, 5, 9, 7, 8}, dy[] = {1, -2, 0, 3, 1, 1, -1, 2};
    float running[2][5], grad[2][12];
    for (int again = 0; again < 2; again++) {
        heed_ctx *cx = open_context();
        heed_params *set = heed_params_new(cx);
        heed_batch_norm_layer batch;
        const heed_batch_norm_layer *own = &batch;
        heed_batch_norm_make(cx, set, "bn", 2, 1e-5f, 0.1f, &batch);
        heed_params_allocate(cx, set);
        heed_params_init(cx, set, 1);
        heed_set_training(cx, true);
        heed_grad slot = {.data = grad[again]}, slots[5] = {{.data = grad[again] + 8}, {.data = grad[again] + 10}};
        heed_bind(cx, set, slots);
        heed_tensor *in = heed_borrow(cx, HEED_F32, (void *)(uintptr_t)x, 3, (int64_t[]){2, 2, 2}, &slot);
        heed_tensor *y = again ? heed_recompute(cx, normed, &own, sizeof own, &in, 1) : normed(cx, &own, &in);
        assert_true(heed_backward_from(cx, y, heed_from_f32(cx, dy, 3, (int64_t[]){2, 2, 2})));
        memcpy(running[again], batch.running_mean->value, 2 * sizeof(float));
        memcpy(running[again] + 2, batch.running_var->value, 2 * sizeof(float));
        running[again][4] = batch.num_batches_tracked->value[0];
        heed_reset(cx);
        heed_bind(cx, set, NULL);
        heed_params_free(cx, set);
        close_context(cx);
    }
    assert_true(running[0][4] == 1);
    assert_memory_equal(running[0], running[1], sizeof running[0]);
    assert_memory_equal(grad[0], grad[1], sizeof grad[0]);
}

/* Frozen norms use their buffers while training, without gradients, unless they are made to learn. */
static void test_frozen(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_params *set = heed_params_new(cx);
    heed_batch_norm_layer frozen;
    assert_true(heed_frozen_batch_norm_make(cx, set, "bn", 2, 1e-5f, 0.1f, &frozen));
    heed_params_allocate(cx, set);
    heed_params_init(cx, set, 1);
    assert_int_equal(heed_params_count(set), 4);
    assert_null(frozen.num_batches_tracked);
    for (int i = 0; i < 4; i++) assert_true(heed_params_at(set, i)->buffer && heed_params_at(set, i)->frozen);
    frozen.running_mean->value[0] = 3;
    frozen.running_var->value[0] = 4;
    const float x[] = {1, 2, 3, 4, 5, 9, 7, 8}; /* (2,2,2) */
    float affine[4];
    for (int live = 0; live < 2; live++) {
        assert_int_equal(heed_batch_norms_train(cx, set, live), 1);
        heed_set_training(cx, true);
        heed_grad slots[4] = {{.data = affine}, {.data = affine + 2}};
        heed_bind(cx, set, slots);
        heed_tensor *y = heed_batch_norm_run(cx, &frozen, heed_from_f32(cx, x, 3, (int64_t[]){2, 2, 2}));
        assert_non_null(y);
        assert_true(heed_wants_grad(y) == live);
        const float first = live ? (1 - 4.25f) / sqrtf(9.6875f + 1e-5f) : (1 - 3) / sqrtf(4 + 1e-5f);
        assert_true(fabsf(heed_f32(y)[0] - first) <= 1e-6f);
        assert_true(fabsf(frozen.running_mean->value[0] - (live ? 3.125f : 3)) <= 1e-6f);
        if (live) assert_true(heed_backward_from(cx, y, heed_from_f32(cx, x, 3, (int64_t[]){2, 2, 2})));
        heed_reset(cx);
        heed_bind(cx, set, NULL);
    }
    assert_int_equal(heed_batch_norms_train(cx, set, false), 1);
    assert_true(frozen.weight->buffer && !frozen.running_mean->live);
    heed_params_free(cx, set);
    close_context(cx);
}

/* Of a batch in parts each part has statistics of its own, and the running ones take in one after the other. */
static void test_parts(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_params *set = heed_params_new(cx);
    heed_batch_norm_layer batch;
    heed_batch_norm_make(cx, set, "bn", 1, 1e-5f, 0.1f, &batch);
    heed_params_allocate(cx, set);
    heed_params_init(cx, set, 1);
    heed_set_training(cx, true);
    const float x[] = {1, 3, 10, 14};
    for (int part = 0; part < 2; part++) {
        heed_batch_norm_run(cx, &batch, heed_from_f32(cx, x + 2 * part, 2, (int64_t[]){2, 1}));
        heed_reset(cx);
    }
    assert_false(heed_failed(cx));
    assert_true(fabsf(batch.running_mean->value[0] - (0.9f * 0.2f + 1.2f)) <= 1e-6f);
    assert_true(fabsf(batch.running_var->value[0] - (0.9f * (0.9f + 0.2f) + 0.8f)) <= 1e-6f);
    assert_true(batch.num_batches_tracked->value[0] == 2);
    heed_params_free(cx, set);
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_conv), cmocka_unit_test(test_norms),
                                       cmocka_unit_test(test_recompute), cmocka_unit_test(test_frozen),
                                       cmocka_unit_test(test_parts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
