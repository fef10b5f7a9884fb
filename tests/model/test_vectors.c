/* What the first families compute, against their formulas in double. (Layers themselves are held against PyTorch in
 * tests/nn.) */
#include "heed/model.h"
#include "io/io_test.h"

static heed_model *make(heed_ctx *cx, const char *family, const char *const *settings) {
    int n = 0;
    while (settings[n]) n++;
    heed_model *m = heed_model_new(cx, heed_family_find(family), settings, n, 3);
    if (!m) fail_msg("%s", heed_message(cx));
    return m;
}
#define MAKE(cx, family, ...) make(cx, family, (const char *const[]){__VA_ARGS__, NULL})

static float *values(const heed_model *m, const char *name) {
    heed_param *p = heed_params_find(heed_model_params(m), name);
    if (!p) fail_msg("no parameter %s", name);
    return p->value;
}

static void near(float got, double want, double tolerance) {
    if (!(fabs((double)got - want) <= tolerance)) fail_msg("%.9g is not %.9g", (double)got, want);
}

static bool forward(heed_ctx *cx, const heed_model *m, heed_tensor *x, const char *name, heed_tensor *target,
                    heed_io *out) {
    heed_io in = {0};
    if (x) heed_io_put(cx, &in, "x", x);
    if (target) heed_io_put(cx, &in, name, target);
    return heed_model_forward(cx, m, &in, out);
}

/* ---- linear and mlp ---- */

static void test_regression(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_model *m =
        MAKE(cx, "linear", "input_size=2", "output_size=1", "standardize_input=true", "standardize_output=true");
    memcpy(values(m, "linear.weight"), (float[]){2, -1}, 8);
    memcpy(values(m, "linear.bias"), (float[]){0.5f}, 4);
    memcpy(values(m, "input_mean"), (float[]){1, 2}, 8);
    memcpy(values(m, "input_deviation"), (float[]){2, 4}, 8);
    memcpy(values(m, "output_mean"), (float[]){10}, 4);
    memcpy(values(m, "output_deviation"), (float[]){3}, 4);
    heed_tensor *x = heed_from_f32(cx, (float[]){5, 6, 1, 2}, 2, (int64_t[]){2, 2});
    heed_tensor *y = heed_from_f32(cx, (float[]){15, 10}, 1, (int64_t[]){2}); /* (B) will do for (B,1) */
    heed_io out;
    assert_true(forward(cx, m, x, "y", y, &out));
    const float *f = heed_f32(heed_io_get(&out, "logits"));
    near(f[0], 3 * (2 * 2 - 1 * 1 + 0.5) + 10, 1e-5);
    near(f[1], 3 * 0.5 + 10, 1e-5);
    near(heed_item(cx, heed_io_get(&out, "loss")), (5.5 * 5.5 + 1.5 * 1.5) / 2, 1e-5); /* in the units of y */
    assert_true(heed_params_find(heed_model_params(m), "input_mean")->frozen);
    assert_null(heed_io_get(&out, "training_loss"));
    heed_set_training(cx, true);
    assert_true(forward(cx, m, x, "y", y, &out));
    near(heed_item(cx, heed_io_get(&out, "training_loss")), (5.5 * 5.5 + 1.5 * 1.5) / 2 / 9, 1e-6);
    heed_set_training(cx, false);
    heed_reset(cx);
    heed_model_free(cx, m);
    close_context(cx);
}

/* One output: -log of the logistic function; whole numbers of any width are labels. */
static void test_logistic(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_model *m = MAKE(cx, "linear", "input_size=1", "output_size=1", "task=classify");
    *values(m, "linear.weight") = 2;
    *values(m, "linear.bias") = -1;
    heed_tensor *x = heed_from_f32(cx, (float[]){0, 3}, 2, (int64_t[]){2, 1});
    heed_io out;
    assert_true(forward(cx, m, x, "labels", heed_from_u8(cx, (uint8_t[]){1, 0}, 1, (int64_t[]){2}), &out));
    near(heed_item(cx, heed_io_get(&out, "loss")), (log1p(exp(1)) + log1p(exp(5))) / 2, 1e-6);
    assert_int_equal(heed_dim(heed_io_get(&out, "logits"), -1), 1);
    assert_false(forward(cx, m, x, "labels", heed_from_i32(cx, (int32_t[]){1, 2}, 1, (int64_t[]){2}), &out));
    EXPECT_SENTENCE(cx, "cross_entropy");
    heed_model_free(cx, m);
    close_context(cx);
}

/* Two layers by hand. */
static void test_mlp(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_model *m =
        MAKE(cx, "mlp", "input_size=3", "output_size=2", "hidden_sizes=4", "activation=sigmoid", "task=classify");
    const float *w0 = values(m, "layers.0.weight"), *b0 = values(m, "layers.0.bias");
    const float *w1 = values(m, "layers.2.weight"), *b1 = values(m, "layers.2.bias");
    const float x[3] = {0.5f, -1, 2};
    double h[4], y[2];
    for (int i = 0; i < 4; i++) {
        double z = (double)b0[i];
        for (int k = 0; k < 3; k++) z += (double)w0[3 * i + k] * (double)x[k];
        h[i] = 1 / (1 + exp(-z));
    }
    for (int j = 0; j < 2; j++) {
        y[j] = (double)b1[j];
        for (int i = 0; i < 4; i++) y[j] += (double)w1[4 * j + i] * h[i];
    }
    heed_io out;
    heed_tensor *label = heed_from_i32(cx, (int32_t[]){1}, 1, (int64_t[]){1});
    assert_true(forward(cx, m, heed_from_f32(cx, x, 2, (int64_t[]){1, 3}), "labels", label, &out));
    for (int j = 0; j < 2; j++) near(heed_f32(heed_io_get(&out, "logits"))[j], y[j], 1e-6);
    near(heed_item(cx, heed_io_get(&out, "loss")), log(exp(y[0]) + exp(y[1])) - y[1], 1e-6);
    heed_reset(cx);
    heed_model_free(cx, m);
    close_context(cx);
}

/* Pictures are flattened; leading axes stay; bytes are numbers. */
static void test_shapes(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_model *m = MAKE(cx, "mlp", "input_size=12", "output_size=5", "image_size=2,3", "image_channels=2");
    heed_io out;
    assert_true(forward(cx, m, heed_zeros(cx, HEED_F32, 4, (int64_t[]){7, 2, 2, 3}), NULL, NULL, &out));
    assert_string_equal(heed_shape_text(heed_io_get(&out, "logits")).s, "(7,5)");
    assert_null(heed_io_get(&out, "loss"));
    assert_true(forward(cx, m, heed_zeros(cx, HEED_U8, 3, (int64_t[]){2, 4, 12}), NULL, NULL, &out));
    assert_string_equal(heed_shape_text(heed_io_get(&out, "logits")).s, "(2,4,5)");
    assert_true(forward(cx, m, heed_zeros(cx, HEED_F32, 2, (int64_t[]){0, 12}), NULL, NULL, &out));
    assert_true(forward(cx, m, heed_zeros(cx, HEED_F32, 1, (int64_t[]){12}), NULL, NULL, &out));

    assert_false(forward(cx, m, NULL, NULL, NULL, &out));
    EXPECT_SENTENCE(cx, "x: the model needs this input");
    assert_false(forward(cx, m, heed_zeros(cx, HEED_F32, 2, (int64_t[]){7, 11}), NULL, NULL, &out));
    EXPECT_SENTENCE(cx, "x: shape (7,11) does not give examples of 12 numbers");
    assert_false(forward(cx, m, heed_zeros(cx, HEED_F32, 2, (int64_t[]){5, 13}), NULL, NULL, &out));
    EXPECT_SENTENCE(cx, "x: shape (5,13)");
    assert_false(forward(cx, m, heed_zeros(cx, HEED_F32, 0, NULL), NULL, NULL, &out));
    EXPECT_SENTENCE(cx, "x: shape ()");
    heed_tensor *x = heed_zeros(cx, HEED_F32, 2, (int64_t[]){7, 12});
    assert_false(forward(cx, m, x, "y", heed_zeros(cx, HEED_F32, 2, (int64_t[]){7, 4}), &out));
    EXPECT_SENTENCE(cx, "y: shape (7,4) does not fit the model's outputs (7,5)");
    heed_model_free(cx, m);

    m = MAKE(cx, "mlp", "input_size=2", "output_size=3", "task=classify");
    x = heed_zeros(cx, HEED_F32, 2, (int64_t[]){2, 2});
    assert_false(forward(cx, m, x, "labels", heed_zeros(cx, HEED_F32, 1, (int64_t[]){2}), &out));
    EXPECT_SENTENCE(cx, "labels: classes are whole numbers, not f32");
    x = heed_zeros(cx, HEED_F32, 2, (int64_t[]){2, 2});
    assert_false(forward(cx, m, x, "labels", heed_zeros(cx, HEED_I32, 1, (int64_t[]){3}), &out));
    EXPECT_SENTENCE(cx, "labels: shape (3) does not fit");
    x = heed_zeros(cx, HEED_F32, 2, (int64_t[]){2, 2});
    assert_false(forward(cx, m, x, "labels", heed_from_i32(cx, (int32_t[]){0, 3}, 1, (int64_t[]){2}), &out));
    EXPECT_SENTENCE(cx, "cross_entropy");
    heed_model_free(cx, m);
    close_context(cx);
}

/* ---- kernel pooling ---- */

static double kernel(const char *name, double u) {
    return strcmp(name, "gaussian") == 0     ? exp(-u * u / 2)
           : strcmp(name, "boxcar") == 0     ? u <= 1
           : strcmp(name, "triangular") == 0 ? fmax(0, 1 - u)
                                             : fmax(0, 1 - u * u);
}

/* Every kernel in one dimension and in three, some queries beyond all keys. */
static void test_nadaraya_watson(void **state) {
    (void)state;
    enum { N = 50, B = 23 };
    static const char *const kernels[] = {"gaussian", "boxcar", "triangular", "epanechnikov"};
    heed_ctx *cx = open_context();
    for (int round = 0; round < 8; round++) {
        const int d = round < 4 ? 1 : 3;
        char setting[2][40];
        snprintf(setting[0], 40, "kernel=%s", kernels[round % 4]);
        snprintf(setting[1], 40, "input_size=%d", d);
        heed_model *m = MAKE(cx, "kernel-pooling", "points=50", "width=0.2", setting[0], setting[1]);
        const float *keys = values(m, "keys"), *y = values(m, "values");
        float x[B * 3];
        heed_random_uniform(4, 0, 0, x, B * d);
        for (int i = 0; i < B * d; i++) x[i] = 2 * x[i] - 0.5f; /* keys lie in [0, 1) */
        heed_io out;
        assert_true(heed_capture_begin(cx, NULL));
        assert_true(forward(cx, m, heed_from_f32(cx, x, 2, (int64_t[]){B, d}), NULL, NULL, &out));
        const heed_capture_map *map = heed_capture_at(cx, 0);
        assert_true(map && map->batch == 1 && map->heads == 1 && map->rows == 23 && map->keys == 50);
        int unreached = 0;
        for (int b = 0; b < B; b++) {
            double k[N], sum = 0, nearest = HUGE_VAL, f = 0;
            for (int i = 0; i < N; i++) {
                double u2 = 0;
                for (int c = 0; c < d; c++) u2 += pow((double)x[b * d + c] - (double)keys[i * d + c], 2);
                const double u = sqrt(u2) / (double)0.2f;
                k[i] = kernel(kernels[round % 4], u);
                sum += k[i];
                nearest = fmin(nearest, u);
                if (nearest == u) f = (double)y[i]; /* of the nearest, should none be reached */
            }
            double total = 0;
            for (int i = 0; i < N; i++) total += (double)map->weights[b * N + i];
            near((float)total, 1, 1e-6);
            unreached += sum == 0;
            for (int i = 0; sum > 0 && i < N; i++) near(map->weights[b * N + i], k[i] / sum, 2e-6);
            if (sum > 0) f = 0;
            for (int i = 0; sum > 0 && i < N; i++) f += k[i] / sum * (double)y[i];
            near(heed_f32(heed_io_get(&out, "logits"))[b], f, 2e-6);
        }
        assert_true(round % 4 == 0 ? unreached == 0 : unreached > 0);
        heed_capture_end(cx);
        heed_reset(cx);
        heed_model_free(cx, m);
    }
    close_context(cx);
}

/* Two keys equally near an unreached query share; a masked key counts for nothing; no key at all gives 0. */
static void test_masks(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    static const char *const kernels[] = {"kernel=gaussian", "kernel=boxcar", "kernel=triangular"};
    for (int k = 0; k < 3; k++) {
        heed_model *m = MAKE(cx, "kernel-pooling", "points=3", kernels[k]);
        memcpy(values(m, "keys"), (float[]){-4, 4, 20}, 12);
        memcpy(values(m, "values"), (float[]){1, 3, 100}, 12);
        heed_io in = {0}, out;
        heed_io_put(cx, &in, "x", heed_from_f32(cx, (float[]){0, 0, 0}, 1, (int64_t[]){3}));
        const int32_t mask[9] = {1, 1, 1, 0, 1, 1, 0, 0, 0};
        heed_io_put(cx, &in, "attention_mask", heed_from_i32(cx, mask, 2, (int64_t[]){3, 3}));
        assert_true(heed_model_forward(cx, m, &in, &out));
        const float *f = heed_f32(heed_io_get(&out, "logits"));
        near(f[0], 2, 1e-6);
        near(f[1], 3, 1e-6);
        near(f[2], 0, 0);
        heed_reset(cx);
        heed_model_free(cx, m);
    }
    heed_model *m = MAKE(cx, "kernel-pooling", "points=3", "input_size=2");
    heed_io in = {0}, out;
    heed_io_put(cx, &in, "x", heed_zeros(cx, HEED_F32, 2, (int64_t[]){2, 2}));
    heed_io_put(cx, &in, "attention_mask", heed_zeros(cx, HEED_I32, 2, (int64_t[]){3, 3}));
    assert_false(heed_model_forward(cx, m, &in, &out));
    EXPECT_SENTENCE(cx, "attention_mask: shape (3,3) is not (2,3), queries and keys");
    assert_false(forward(cx, m, heed_zeros(cx, HEED_F32, 2, (int64_t[]){2, 3}), NULL, NULL, &out));
    EXPECT_SENTENCE(cx, "x: the shape does not give queries of 2 numbers");
    assert_false(forward(cx, m, NULL, NULL, NULL, &out));
    EXPECT_SENTENCE(cx, "x: the model needs this input");
    heed_model_free(cx, m);
    assert_null(heed_model_new(cx, heed_family_find("kernel-pooling"),
                               (const char *[]){"points=3", "learnable=true", "kernel=boxcar"}, 3, 1));
    EXPECT_SENTENCE(cx, "only the gaussian kernel can learn w");
    close_context(cx);
}

/* softmax(-((x - x_i) w)^2 / 2) with each point's own key left out: the gradient of w against a difference quotient. */
static double loss_at(const float *keys, const float *y, int n, double w) {
    double loss = 0;
    for (int q = 0; q < n; q++) {
        double sum = 0, f = 0;
        for (int i = 0; i < n; i++) {
            const double u = ((double)keys[q] - (double)keys[i]) * w, a = i == q ? 0 : exp(-u * u / 2);
            sum += a;
            f += a * (double)y[i];
        }
        loss += pow(f / sum - (double)y[q], 2) / n;
    }
    return loss;
}

static void test_learnable(void **state) {
    (void)state;
    enum { N = 20 };
    heed_ctx *cx = open_context();
    heed_model *m = MAKE(cx, "kernel-pooling", "points=20", "learnable=true");
    float *w = values(m, "w"), gradient;
    *w = 2.5f;
    uint8_t mask[N * N];
    for (int i = 0; i < N * N; i++) mask[i] = i % (N + 1) != 0;
    heed_grad grads[3] = {{.data = &gradient}, {.data = &gradient}, {.data = &gradient}};
    heed_bind(cx, heed_model_params(m), grads);
    heed_io in = {0}, out;
    heed_io_put(cx, &in, "x", heed_from_f32(cx, values(m, "keys"), 2, (int64_t[]){N, 1}));
    heed_io_put(cx, &in, "y", heed_from_f32(cx, values(m, "values"), 2, (int64_t[]){N, 1}));
    heed_io_put(cx, &in, "attention_mask", heed_from_u8(cx, mask, 2, (int64_t[]){N, N}));
    assert_true(heed_model_forward(cx, m, &in, &out));
    heed_tensor *loss = heed_io_get(&out, "loss");
    near(heed_item(cx, loss), loss_at(values(m, "keys"), values(m, "values"), N, 2.5), 1e-6);
    assert_true(heed_backward(cx, loss));
    const double up = loss_at(values(m, "keys"), values(m, "values"), N, 2.5 + 1e-5),
                 down = loss_at(values(m, "keys"), values(m, "values"), N, 2.5 - 1e-5);
    near(gradient, (up - down) / 2e-5, 1e-5);
    heed_reset(cx);
    heed_model_free(cx, m);
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_regression), cmocka_unit_test(test_logistic),        cmocka_unit_test(test_mlp),
        cmocka_unit_test(test_shapes),     cmocka_unit_test(test_nadaraya_watson), cmocka_unit_test(test_masks),
        cmocka_unit_test(test_learnable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
