/* Layers against torch.nn: forward, the gradient of the input, and every parameter's gradient by name. */
#include "heed/nn.h"
#include "io/io_test.h"

enum kind { LINEAR, EMBEDDING, NORM, MLP };

struct layer {
    enum kind kind;
    heed_linear_layer linear;
    heed_embedding_layer embedding;
    heed_norm_layer norm;
    heed_mlp mlp;
};

static heed_activation activation_of(const char *name) {
    heed_activation act = HEED_ACT_NONE;
    if (!heed_activation_find(name, &act)) fail_msg("no activation %s", name);
    return act;
}

static void make(heed_ctx *cx, heed_params *set, const char *kind, heed_json attr, struct layer *l) {
    if (strcmp(kind, "linear") == 0) {
        l->kind = LINEAR;
        heed_linear_make(cx, set, "", heed_json_int(cx, attr, "inputs"), heed_json_int(cx, attr, "outputs"),
                         heed_json_bool(cx, attr, "bias"), &l->linear);
    } else if (strcmp(kind, "embedding") == 0) {
        l->kind = EMBEDDING;
        heed_embedding_make(cx, set, NULL, heed_json_int(cx, attr, "vocabulary"), heed_json_int(cx, attr, "width"),
                            &l->embedding);
    } else if (strcmp(kind, "mlp") == 0) {
        const heed_json list = heed_json_array(cx, attr, "sizes");
        int64_t sizes[8];
        l->kind = MLP;
        for (int64_t i = 0; i < heed_json_count(list); i++)
            sizes[i] = heed_json_int(cx, heed_json_item(cx, list, i), NULL);
        heed_mlp_make(cx, set, "layers", sizes, (int)heed_json_count(list) - 1,
                      activation_of(heed_json_text(cx, attr, "activation")), 0.5f,
                      &l->mlp); /* no training: no dropout */
    } else {
        l->kind = NORM;
        heed_norm_make(cx, set, NULL, heed_json_int(cx, attr, "width"), strcmp(kind, "rms_norm") == 0,
                       (float)heed_json_number(cx, attr, "eps"), &l->norm);
    }
}

static heed_tensor *run(heed_ctx *cx, const struct layer *l, heed_tensor *x) {
    switch (l->kind) {
    case LINEAR:
        return heed_linear_run(cx, &l->linear, x, HEED_ACT_NONE);
    case EMBEDDING:
        return heed_embedding_run(cx, &l->embedding, x);
    case NORM:
        return heed_norm_run(cx, &l->norm, x);
    case MLP:
        return heed_mlp_run(cx, &l->mlp, x);
    }
    return NULL;
}

static const heed_array *golden(heed_ctx *cx, heed_safetensors *st, const char *name, const char *part,
                                const char *more) {
    char key[200];
    snprintf(key, sizeof key, "%s.%s%s", name, part, more);
    const int64_t at = heed_safetensors_find(cx, st, key);
    return at < 0 ? NULL : heed_safetensors_get(cx, st, at);
}

static void compare(const char *name, const char *what, const float *got, const heed_array *want, int64_t n) {
    assert_non_null(want);
    assert_non_null(got);
    assert_int_equal(heed_array_count(want), n);
    const float *numbers = want->data;
    for (int64_t i = 0; i < n; i++) {
        const double w = (double)numbers[i], error = fabs((double)got[i] - w);
        if (!(error <= 5e-6 + 2e-5 * fabs(w)))
            fail_msg("%s: %s: %.9g at place %lld, not %.9g", name, what, (double)got[i], (long long)i, w);
    }
}

static void test_case(heed_safetensors *st, heed_ctx *files, heed_json at) {
    heed_ctx *cx = open_context();
    const char *name = heed_json_text(files, at, "name");
    heed_params *set = heed_params_new(cx);
    struct layer l;
    make(cx, set, heed_json_text(files, at, "kind"), heed_json_object(files, at, "attr"), &l);
    assert_true(heed_params_allocate(cx, set));
    heed_grad grads[16];
    const int n = heed_params_count(set);
    assert_true(n >= 1 && n <= 16);
    for (int i = 0; i < n; i++) {
        heed_param *p = heed_params_at(set, i);
        const heed_array *value = golden(files, st, name, "param.", p->name);
        assert_non_null(value);
        assert_int_equal(heed_array_count(value), p->count);
        memcpy(p->value, value->data, (size_t)p->count * sizeof(float));
        grads[i] = (heed_grad){.data = heed_mem_new(cx, (size_t)p->count * sizeof(float))};
    }
    heed_bind(cx, set, grads);

    const heed_array *in = golden(files, st, name, "in0", ""), *out = golden(files, st, name, "out0", "");
    const heed_array *dout = golden(files, st, name, "dout0", "");
    heed_tensor *x = in->dtype == HEED_F32 ? heed_want_grad(cx, heed_from_f32(cx, in->data, in->rank, in->shape))
                                           : heed_from_i32(cx, in->data, in->rank, in->shape);
    heed_tensor *y = run(cx, &l, x);
    assert_false(heed_failed(cx));
    assert_int_equal(heed_rank(y), out->rank);
    compare(name, "output", heed_f32(y), out, heed_count(y));
    assert_true(heed_backward_from(cx, y, heed_from_f32(cx, dout->data, dout->rank, dout->shape)));
    if (in->dtype == HEED_F32)
        compare(name, "input's gradient", heed_f32(heed_grad_of(cx, x)), golden(files, st, name, "din0", ""),
                heed_count(x));
    for (int i = 0; i < n; i++) {
        const heed_param *p = heed_params_at(set, i);
        assert_true(grads[i].filled);
        compare(name, p->name, grads[i].data, golden(files, st, name, "grad.", p->name), p->count);
    }
    heed_reset(cx);
    for (int i = 0; i < n; i++) heed_mem_free(cx, grads[i].data);
    heed_params_free(cx, set);
    close_context(cx);
}

static void test_golden(void **state) {
    (void)state;
    heed_ctx *files = heed_open(&(heed_config){.threads = 1});
    const char *root = getenv("HEED_GOLDEN");
    char path[1024];
    snprintf(path, sizeof path, "%s/nn/layers.safetensors", root ? root : HEED_SOURCE_DIR "/tests/golden");
    heed_safetensors *st = heed_safetensors_open(files, path);
    if (!st) fail_msg("%s", heed_message(files));
    const char *text = heed_safetensors_metadata(files, st, "list");
    const heed_json list = heed_json_parse(files, path, text, strlen(text)),
                    cases = heed_json_array(files, list, "cases");
    assert_true(heed_json_count(cases) >= 15);
    for (heed_json v = heed_json_first(cases); heed_json_kind_of(v) != HEED_JSON_NONE; v = heed_json_next(v))
        test_case(st, files, v);
    assert_false(heed_failed(files));
    heed_json_free(list);
    heed_safetensors_close(st);
    heed_close(files);
}

/* h = x + residual and its norm, in one op or two. */
static void test_add_norm(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    for (int kind = 0; kind < 3; kind++) { /* with a bias, RMS, without one */
        const bool rms = kind == 1;
        heed_params *set = heed_params_new(cx);
        heed_norm_layer layer;
        heed_norm_make(cx, set, "norm", 8, rms, 1e-5f, &layer);
        if (kind == 2) layer.bias = NULL;
        heed_params_allocate(cx, set);
        heed_params_init(cx, set, 1);
        assert_int_equal(heed_params_count(set), rms ? 1 : 2);
        float a[16], b[16];
        heed_random_normal(1, 0, 0, a, 16);
        heed_random_normal(1, 1, 0, b, 16);
        heed_tensor *x = heed_from_f32(cx, a, 2, (int64_t[]){2, 8}), *r = heed_from_f32(cx, b, 2, (int64_t[]){2, 8});
        heed_tensor *sum = NULL, *one = heed_add_norm_run(cx, &layer, x, r, &sum);
        heed_tensor *two = heed_norm_run(cx, &layer, heed_add(cx, x, r));
        assert_false(heed_failed(cx));
        for (int i = 0; i < 16; i++) {
            assert_true(fabsf(heed_f32(one)[i] - heed_f32(two)[i]) <= 1e-6f);
            assert_true(fabsf(heed_f32(sum)[i] - (a[i] + b[i])) <= 1e-6f);
        }
        double mean = 0, square = 0;
        for (int i = 0; i < 8; i++)
            mean += (double)heed_f32(one)[i] / 8, square += pow((double)heed_f32(one)[i], 2) / 8;
        assert_true(fabs(square - 1) <= 1e-3 && (rms || fabs(mean) <= 1e-6));
        heed_reset(cx);
        heed_params_free(cx, set);
    }
    close_context(cx);
}

/* Padding is looked up as any token, and its row gets no gradient from here. */
static void test_padding(void **state) {
    (void)state;
    enum { V = 4, C = 3, N = 5 };
    static const int32_t ids[N] = {2, 1, 3, 1, 2};
    heed_ctx *cx = open_context();
    heed_params *set = heed_params_new(cx);
    heed_embedding_layer layer;
    heed_embedding_make(cx, set, "table", V, C, &layer);
    assert_int_equal(layer.padding, -1);
    heed_params_allocate(cx, set);
    heed_params_init(cx, set, 1);
    for (int rank = 1; rank < 3; rank++)
        for (int padding = -1; padding < V; padding++) {
            float gradient[V * C] = {0};
            heed_grad slot = {.data = gradient};
            layer.padding = padding;
            heed_bind(cx, set, &slot);
            heed_tensor *y = heed_embedding_run(cx, &layer, heed_from_i32(cx, ids, rank, (int64_t[]){N, 1}));
            if (!y) fail_msg("%s", heed_message(cx));
            for (int i = 0; i < N; i++)
                assert_memory_equal(heed_f32(y) + i * C, layer.weight->value + ids[i] * C, C * sizeof(float));
            assert_true(heed_backward(cx, heed_sum(cx, y, NULL, 0, false)));
            for (int i = 0; i < V * C; i++) {
                static const float times[V] = {0, 2, 2, 1};
                assert_true(gradient[i] == (i / C == padding ? 0 : times[i / C]));
            }
            heed_reset(cx);
        }
    heed_bind(cx, set, NULL);
    heed_params_free(cx, set);
    close_context(cx);
}

/* Each example is dropped whole or divided by 1 - p; as many are dropped as p says; another step drops others. */
static void test_drop_path(void **state) {
    (void)state;
    enum { N = 4000 };
    heed_ctx *cx = open_context();
    const float p = 0.3f;
    int dropped = 0, changed = 0;
    bool first[N];
    heed_set_training(cx, true);
    for (int step = 0; step < 2; step++) {
        heed_tensor *y = heed_drop_path(cx, heed_full(cx, 2, 3, (int64_t[]){N, 2, 3}), p);
        const float *v = heed_f32(y);
        assert_non_null(v);
        for (int i = 0; i < N; i++) {
            const bool gone = v[6 * i] == 0;
            for (int k = 0; k < 6; k++) assert_true(fabsf(v[6 * i + k] - (gone ? 0 : 2 / (1 - p))) <= 1e-6f);
            dropped += step == 0 && gone;
            changed += step == 1 && gone != first[i];
            first[i] = gone;
        }
        heed_reset(cx);
    }
    /* five deviations of a binomial */
    assert_true(fabs(dropped - N * 0.3) <= 5 * sqrt(N * 0.3 * 0.7));
    assert_true(changed > N / 4);
    heed_tensor *x = heed_full(cx, 1, 1, (int64_t[]){4});
    assert_ptr_equal(heed_drop_path(cx, x, 0), x);
    heed_set_training(cx, false);
    assert_ptr_equal(heed_drop_path(cx, x, 0.5f), x);
    assert_null(heed_drop_path(cx, x, 1.5f));
    EXPECT_SENTENCE(cx, "drop_path: p = 1.5 is not between 0 and 1");
    assert_null(heed_drop_path(cx, heed_full(cx, 1, 1, (int64_t[]){4}), NAN));
    EXPECT_SENTENCE(cx, "drop_path: p = ");
    close_context(cx);
}

static void test_wrong_use(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_params *set = heed_params_new(cx);
    heed_mlp mlp;
    assert_false(heed_mlp_make(cx, set, "m", (int64_t[]){1, 2}, 0, HEED_ACT_RELU, 0, &mlp));
    EXPECT_SENTENCE(cx, "mlp: the mlp and its sizes are needed, and at least 1 layer, not 0");
    assert_false(heed_linear_make(cx, set, "a", -1, 2, true, &(heed_linear_layer){0}));
    EXPECT_SENTENCE(cx, "param: 'weight'");
    assert_false(heed_linear_make(cx, set, "a", 1, 2, true, NULL));
    EXPECT_SENTENCE(cx, "the layer is NULL");
    assert_null(heed_linear_run(cx, NULL, NULL, HEED_ACT_NONE));
    EXPECT_SENTENCE(cx, "param: the parameter is NULL");
    assert_null(heed_mlp_run(cx, NULL, NULL));
    EXPECT_SENTENCE(cx, "param: the parameter is NULL");
    heed_params_free(cx, set);
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),    cmocka_unit_test(test_add_norm),  cmocka_unit_test(test_padding),
        cmocka_unit_test(test_drop_path), cmocka_unit_test(test_wrong_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
