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

/* ---- a model that is only run: norms on the way out of products ---- */

static heed_ctx *open_threads(int threads) {
    heed_ctx *cx = heed_open(&(heed_config){.threads = threads});
    assert_non_null(cx);
    return cx;
}

static void draw(float *to, int64_t n, uint32_t seed, float low, float high) {
    for (int64_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        to[i] = low + (high - low) * (float)(seed >> 8) / (float)(1 << 24);
    }
}
static void fill(heed_param *p, uint32_t seed, float low, float high) { draw(p->value, p->count, seed, low, high); }

static void fill_norm(const heed_batch_norm_layer *norm) {
    fill(norm->weight, 1, 0.5f, 1.5f);
    fill(norm->bias, 2, -1, 1);
    fill(norm->running_mean, 3, -1, 1);
    fill(norm->running_var, 4, 0.5f, 2);
}

static heed_tensor *noise(heed_ctx *cx, int rank, const int64_t *shape, uint32_t seed) {
    int64_t n = 1;
    for (int i = 0; i < rank; i++) n *= shape[i];
    float *const numbers = test_malloc((size_t)n * sizeof(float));
    draw(numbers, n, seed, -1, 2);
    heed_tensor *const t = heed_from_f32(cx, numbers, rank, shape);
    test_free(numbers);
    return t;
}

static void expect_near(const heed_tensor *got, const heed_tensor *want) {
    float most = 0;
    for (int64_t i = 0; i < heed_count(want); i++) most = fmaxf(most, fabsf(heed_f32(want)[i]));
    for (int64_t i = 0; i < heed_count(want); i++)
        if (!(fabsf(heed_f32(got)[i] - heed_f32(want)[i]) <= 4e-6f * most))
            fail_msg("number %lld is %g, not %g of at most %g", (long long)i, (double)heed_f32(got)[i],
                     (double)heed_f32(want)[i], (double)most);
}

/* Kernels of one place, with strides and in groups; filtered by Winograd's algorithm, with few parts and with many, at
 * sides that are no whole number of them; depthwise; dilated. */
static const struct {
    int64_t batch, in, out, side[2], kernel, stride, padding, dilation, groups;
    bool bias, more;
    heed_activation act;
} folded[] = {
    {2, 5, 7, {6, 9}, 1, 1, 0, 1, 1, true, true, HEED_ACT_RELU},
    {2, 6, 8, {7, 10}, 1, 2, 0, 1, 2, false, false, HEED_ACT_SILU},
    {1, 17, 19, {30, 21}, 3, 1, 1, 1, 1, true, true, HEED_ACT_RELU},
    {1, 16, 40, {57, 61}, 3, 1, 1, 1, 1, false, true, HEED_ACT_NONE},
    {3, 18, 33, {22, 43}, 3, 1, 0, 1, 1, false, false, HEED_ACT_GELU},
    {1, 300, 20, {14, 15}, 3, 1, 2, 1, 1, false, false, HEED_ACT_RELU},
    {2, 6, 6, {11, 12}, 3, 1, 1, 1, 6, true, true, HEED_ACT_HARDSWISH},
    {2, 4, 6, {13, 11}, 5, 2, 2, 2, 2, false, true, HEED_ACT_RELU},
};

static void test_folded_conv(void **state) {
    (void)state;
    static const int threads[] = {1, 2, 3, 8};
    for (size_t i = 0; i < sizeof folded / sizeof *folded; i++) {
        float *first = NULL;
        for (int t = 0; t < 4; t++) {
            heed_ctx *cx = open_threads(threads[t]);
            heed_params *set = heed_params_new(cx);
            heed_conv_layer conv;
            heed_batch_norm_layer norm;
            const int64_t k[] = {folded[i].kernel, folded[i].kernel};
            const heed_conv_opts opts = {.stride = {folded[i].stride, folded[i].stride},
                                         .padding = {folded[i].padding, folded[i].padding},
                                         .dilation = {folded[i].dilation, folded[i].dilation},
                                         .groups = folded[i].groups};
            heed_conv2d_make(cx, set, "conv", folded[i].in, folded[i].out, k, folded[i].bias, &opts, &conv);
            heed_batch_norm_make(cx, set, "norm", folded[i].out, 1e-3f, 0.1f, &norm);
            heed_params_allocate(cx, set);
            heed_params_init(cx, set, 1);
            fill_norm(&norm);
            heed_tensor *x =
                noise(cx, 4, (int64_t[]){folded[i].batch, folded[i].in, folded[i].side[0], folded[i].side[1]}, 5);
            heed_tensor *plain = heed_batch_norm_run(cx, &norm, heed_conv_run(cx, &conv, x));
            const int64_t shape[] = {heed_dim(plain, 0), heed_dim(plain, 1), heed_dim(plain, 2), heed_dim(plain, 3)};
            heed_tensor *more = folded[i].more ? noise(cx, 4, shape, 6) : NULL;
            heed_tensor *want = heed_activate(cx, more ? heed_add(cx, plain, more) : plain, folded[i].act);
            heed_tensor *got = heed_conv_norm_add_run(cx, &conv, &norm, x, more, folded[i].act);
            assert_false(heed_failed(cx));
            expect_near(got, want);
            const size_t bytes = (size_t)heed_count(got) * sizeof(float);
            if (!first) first = memcpy(test_malloc(bytes), heed_f32(got), bytes);
            assert_memory_equal(heed_f32(got), first, bytes);
            heed_reset(cx);
            heed_params_free(cx, set);
            close_context(cx);
        }
        test_free(first);
    }
}

/* Without a gradient nobody asks which place was the largest: the same numbers by another way, NaN included. */
static void test_largest(void **state) {
    (void)state;
    static const heed_pool_opts opts[] = {{.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}},
                                          {.kernel = {2, 3}, .stride = {1, 3}, .ceil_mode = true},
                                          {.kernel = {4, 2}, .stride = {2, 1}, .padding = {2, 1}, .ceil_mode = true},
                                          {.kernel = {2, 2}, .dilation = {2, 3}},
                                          {.kernel = {5, 1}, .padding = {0, 0}}};
    heed_ctx *cx = open_threads(2);
    const int64_t shape[] = {2, 3, 9, 7};
    float x[378], dx[378] = {0};
    draw(x, 378, 7, -3, 1);
    x[40] = x[200] = NAN;
    x[300] = -INFINITY;
    for (size_t i = 0; i < sizeof opts / sizeof *opts; i++) {
        heed_grad slot = {.data = dx};
        heed_tensor *with = heed_max_pool2d(cx, heed_borrow(cx, HEED_F32, x, 4, shape, &slot), &opts[i]),
                    *without = heed_max_pool2d(cx, heed_from_f32(cx, x, 4, shape), &opts[i]);
        assert_false(heed_failed(cx));
        assert_true(heed_wants_grad(with) && !heed_wants_grad(without));
        for (int64_t k = 0; k < heed_count(with); k++) {
            const float a = heed_f32(with)[k], b = heed_f32(without)[k];
            assert_true(a == b || (isnan(a) && isnan(b)));
        }
        heed_reset(cx);
    }
    close_context(cx);
}

/* Convolutions of 3 x 3 that are large enough to be filtered, and the gradient of their input, against sums in double;
 * the same bits for any number of threads. */
static void test_filtered(void **state) {
    (void)state;
    enum { BATCH = 5, IN = 18, OUT = 21, ROWS = 18, COLUMNS = 22 };
    static const int threads[] = {1, 2, 3, 8};
    static float x[BATCH * IN * ROWS * COLUMNS], w[OUT * IN * 9], b[OUT], dy[BATCH * OUT * ROWS * COLUMNS],
        dx[4][BATCH * IN * ROWS * COLUMNS], y[4][BATCH * OUT * ROWS * COLUMNS];
    draw(x, BATCH * IN * ROWS * COLUMNS, 1, -1, 1);
    draw(w, OUT * IN * 9, 2, -1, 1);
    draw(b, OUT, 3, -1, 1);
    draw(dy, BATCH * OUT * ROWS * COLUMNS, 4, -1, 1);
    for (int t = 0; t < 4; t++) {
        heed_ctx *cx = open_threads(threads[t]);
        for (int64_t i = 0; i < BATCH * IN * ROWS * COLUMNS; i++) dx[t][i] = 1;
        heed_grad slot = {.data = dx[t], .filled = true}; /* something is there, to be added to */
        heed_tensor *in = heed_borrow(cx, HEED_F32, x, 4, (int64_t[]){BATCH, IN, ROWS, COLUMNS}, &slot);
        heed_tensor *out = heed_conv2d(cx, in, heed_from_f32(cx, w, 4, (int64_t[]){OUT, IN, 3, 3}),
                                       heed_from_f32(cx, b, 1, (int64_t[]){OUT}), &(heed_conv_opts){.padding = {1, 1}});
        assert_true(heed_copy_f32(cx, out, y[t], BATCH * OUT * ROWS * COLUMNS));
        assert_true(heed_backward_from(cx, out, heed_from_f32(cx, dy, 4, (int64_t[]){BATCH, OUT, ROWS, COLUMNS})));
        heed_reset(cx);
        close_context(cx);
        assert_memory_equal(y[t], y[0], sizeof y[0]);
        assert_memory_equal(dx[t], dx[0], sizeof dx[0]);
    }
    for (int n = 0; n < BATCH; n += 2)
        for (int r = 0; r < ROWS; r++)
            for (int c = 0; c < COLUMNS; c++) {
                double sum = (double)b[7], back = 1;
                for (int k = 0; k < 9; k++) {
                    const int from = r + k / 3 - 1, at = c + k % 3 - 1, up = r - k / 3 + 1, left = c - k % 3 + 1;
                    for (int i = 0; from >= 0 && from < ROWS && at >= 0 && at < COLUMNS && i < IN; i++)
                        sum += (double)x[((n * IN + i) * ROWS + from) * COLUMNS + at] * (double)w[(7 * IN + i) * 9 + k];
                    for (int o = 0; up >= 0 && up < ROWS && left >= 0 && left < COLUMNS && o < OUT; o++)
                        back +=
                            (double)dy[((n * OUT + o) * ROWS + up) * COLUMNS + left] * (double)w[(o * IN + 5) * 9 + k];
                }
                assert_true(fabs((double)y[0][((n * OUT + 7) * ROWS + r) * COLUMNS + c] - sum) <= 5e-5);
                assert_true(fabs((double)dx[0][((n * IN + 5) * ROWS + r) * COLUMNS + c] - back) <= 5e-5);
            }
}

static void test_folded_linear(void **state) {
    (void)state;
    heed_ctx *cx = open_threads(2);
    heed_params *set = heed_params_new(cx);
    heed_linear_layer linear;
    heed_batch_norm_layer norm;
    heed_linear_make(cx, set, "linear", 37, 70, true, &linear);
    heed_batch_norm_make(cx, set, "norm", 70, 1e-3f, 0.1f, &norm);
    heed_params_allocate(cx, set);
    heed_params_init(cx, set, 1);
    fill_norm(&norm);
    heed_tensor *x = noise(cx, 3, (int64_t[]){2, 23, 37}, 5);
    heed_tensor *y = heed_reshape(cx, heed_linear_run(cx, &linear, x, HEED_ACT_NONE), 2, (int64_t[]){46, 70});
    heed_tensor *want = heed_batch_norm_run(cx, &norm, y), *got = heed_linear_norm_run(cx, &linear, &norm, x);
    assert_false(heed_failed(cx));
    assert_int_equal(heed_rank(got), 3);
    expect_near(got, want);
    /* trained, the batch's statistics count, and nothing is folded */
    heed_set_training(cx, true);
    got = heed_linear_norm_run(cx, &linear, &norm, x);
    want = heed_batch_norm_running(cx, y, heed_param_tensor(cx, norm.weight), heed_param_tensor(cx, norm.bias), NULL,
                                   1e-3f);
    expect_near(got, want);
    heed_reset(cx);
    heed_params_free(cx, set);
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_conv),          cmocka_unit_test(test_norms),   cmocka_unit_test(test_recompute),
        cmocka_unit_test(test_frozen),        cmocka_unit_test(test_parts),   cmocka_unit_test(test_folded_conv),
        cmocka_unit_test(test_folded_linear), cmocka_unit_test(test_largest), cmocka_unit_test(test_filtered)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
