/* Parameter sets: names, initialisers, ties, files. */
#include "heed/nn.h"
#include "io/io_test.h"

/* ---- initialisers ---- */

struct moments {
    double mean, deviation, low, high;
};

static struct moments moments_of(const heed_param *p) {
    struct moments m = {.low = HUGE_VAL, .high = -HUGE_VAL};
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < p->count; i++) {
        const double v = (double)p->value[i];
        sum += v;
        squares += v * v;
        m.low = fmin(m.low, v);
        m.high = fmax(m.high, v);
    }
    m.mean = sum / (double)p->count;
    m.deviation = sqrt(squares / (double)p->count - m.mean * m.mean);
    return m;
}

static void near(double got, double want, double tolerance) {
    if (!(fabs(got - want) <= tolerance)) fail_msg("%.9g is not %.9g within %g", got, want, tolerance);
}

/* 400 x 250 numbers: fan in 250, fan out 400. */
static void test_initialisers(void **state) {
    (void)state;
    const double root3 = sqrt(3), kaiming = sqrt(2.0 / 250), xavier = sqrt(2.0 / 650);
    /* of a normal cut at two deviations (Johnson, Kotz & Balakrishnan 1994): sqrt(1 - 4 phi(2) / (2 Phi(2) - 1)) */
    const double cut = 0.8796256610342398;
    const struct {
        heed_init init;
        double mean, deviation, side; /* side: half the width of its range; 0: none */
    } cases[] = {
        {{HEED_INIT_ZEROS, 0, 0}, 0, 0, 0},
        {{HEED_INIT_ONES, 0, 0}, 1, 0, 0},
        {{HEED_INIT_CONSTANT, 0.25f, 0}, 0.25, 0, 0},
        {{HEED_INIT_UNIFORM, -1, 3}, 1, 4 / sqrt(12), 2},
        {{HEED_INIT_NORMAL, 0.5f, 0.02f}, 0.5, 0.02, 0},
        {{HEED_INIT_TRUNCATED, 0, 0.02f}, 0, 0.02 * cut, 0.04},
        {{HEED_INIT_KAIMING_UNIFORM, sqrtf(5), 0}, 0, 1 / sqrt(250) / root3, 1 / sqrt(250)},
        {{HEED_INIT_KAIMING_UNIFORM, 0, 0}, 0, kaiming, kaiming * root3},
        {{HEED_INIT_KAIMING_NORMAL, 0, 0}, 0, kaiming, 0},
        {{HEED_INIT_XAVIER_UNIFORM, 1, 0}, 0, xavier, xavier * root3},
        {{HEED_INIT_XAVIER_NORMAL, 1.5f, 0}, 0, 1.5 * xavier, 0},
        {{HEED_INIT_FAN_IN_UNIFORM, 64, 0}, 0, 0.125 / root3, 0.125},
    };
    heed_ctx *cx = open_context();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        heed_params *set = heed_params_new(cx);
        const heed_param *p = heed_param_add(cx, set, "layer", "weight", 2, (int64_t[]){400, 250}, cases[i].init);
        heed_params_allocate(cx, set);
        assert_true(heed_params_init(cx, set, 5));
        const struct moments m = moments_of(p);
        const double d = cases[i].deviation, noise = 5 * d / sqrt(100000) + 1e-7;
        near(m.mean, cases[i].mean, noise);
        near(m.deviation, d, noise + 1e-6);
        if (cases[i].side > 0) {
            near(m.low, cases[i].mean - cases[i].side, 0.01 * cases[i].side);
            near(m.high, cases[i].mean + cases[i].side, 0.01 * cases[i].side);
            assert_true(m.low >= cases[i].mean - cases[i].side * 1.000001);
            assert_true(m.high <= cases[i].mean + cases[i].side * 1.000001);
        }
        heed_params_free(cx, set);
    }
    close_context(cx);
}

/* The forget gate is the second of four: its numbers alone are moved. */
static void test_lstm_bias(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_params *set = heed_params_new(cx);
    const heed_param *b =
        heed_param_add(cx, set, "", "bias", 1, (int64_t[]){40}, (heed_init){HEED_INIT_LSTM_BIAS, 64, 1});
    heed_params_allocate(cx, set);
    assert_true(heed_params_init(cx, set, 5));
    for (int i = 0; i < 40; i++) near((double)b->value[i], i / 10 == 1 ? 1 : 0, 0.125);
    heed_params_free(cx, set);
    close_context(cx);
}

/* A convolution's weight (out, in, height, width): the receptive field counts for both fans. */
static void test_fans(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_params *set = heed_params_new(cx);
    const heed_param *p =
        heed_param_add(cx, set, NULL, "w", 4, (int64_t[]){64, 32, 5, 5}, (heed_init){HEED_INIT_XAVIER_NORMAL, 1, 0});
    heed_params_allocate(cx, set);
    heed_params_init(cx, set, 1);
    near(moments_of(p).deviation, sqrt(2.0 / (25 * 96)), 4e-4);
    heed_params_free(cx, set);
    close_context(cx);
}

/* The same seed gives the same numbers; a layer added at the end changes none before it; another seed others. */
static void test_seeds(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    float first[3][40];
    for (int round = 0; round < 3; round++) {
        heed_params *set = heed_params_new(cx);
        heed_linear_layer a, b;
        heed_linear_make(cx, set, "a", 8, 4, true, &a);
        if (round) heed_linear_make(cx, set, "b", 3, 3, true, &b);
        heed_params_allocate(cx, set);
        heed_params_init(cx, set, round == 2 ? 8 : 7);
        memcpy(first[round], heed_params_block(set), 36 * sizeof(float));
        assert_true(a.weight->decays && !a.bias->decays);
        heed_params_free(cx, set);
    }
    assert_memory_equal(first[0], first[1], 36 * sizeof(float));
    assert_memory_not_equal(first[0], first[2], 36 * sizeof(float));
    close_context(cx);
}

/* ---- names and ties ---- */

static void test_names(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_params *set = heed_params_new(cx);
    heed_mlp mlp;
    heed_mlp_make(cx, set, "layers", (int64_t[]){3, 4, 2}, 2, HEED_ACT_RELU, 0, &mlp);
    static const char *const names[] = {"layers.0.weight", "layers.0.bias", "layers.2.weight", "layers.2.bias"};
    assert_int_equal(heed_params_count(set), 4);
    for (int i = 0; i < 4; i++) {
        assert_string_equal(heed_params_at(set, i)->name, names[i]);
        assert_ptr_equal(heed_params_find(set, names[i]), heed_params_at(set, i));
    }
    assert_int_equal(heed_params_size(set), 12 + 4 + 8 + 2);
    assert_null(heed_params_find(set, "layers.1.weight"));
    assert_null(heed_params_at(set, 4));
    assert_null(heed_params_at(set, -1));
    assert_null(heed_param_add(cx, set, "layers.0", "bias", 1, (int64_t[]){4}, (heed_init){0}));
    EXPECT_SENTENCE(cx, "param: 'layers.0.bias' is there already");
    assert_null(heed_param_add(cx, set, NULL, "big", 3, (int64_t[]){INT64_MAX, INT64_MAX, 2}, (heed_init){0}));
    EXPECT_SENTENCE(cx, "param: 'big'");
    heed_params_allocate(cx, set);
    assert_null(heed_param_add(cx, set, NULL, "late", 1, (int64_t[]){4}, (heed_init){0}));
    EXPECT_SENTENCE(cx, "allocated already");
    heed_params_free(cx, set);
    close_context(cx);
}

/* A table that is embedding and output at once: one storage, one gradient, the sum of both uses. */
/* Names are found whatever their number: a deep network has tens of thousands. */
static void test_many_names(void **state) {
    (void)state;
    enum { MANY = 50000 };
    heed_ctx *cx = open_context();
    heed_params *set = heed_params_new(cx);
    const heed_init zeros = {.kind = HEED_INIT_ZEROS};
    char name[64];
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "bert.encoder.layer.%d.output", i);
        assert_non_null(heed_param_add(cx, set, name, "bias", 0, NULL, zeros));
    }
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "bert.encoder.layer.%d.output.bias", i);
        const heed_param *p = heed_params_find(set, name);
        assert_true(p && p->index == i);
    }
    assert_null(heed_params_find(set, "bert.encoder.layer.50000.output.bias"));
    assert_null(heed_params_find(set, ""));
    assert_null(heed_param_add(cx, set, "bert.encoder.layer.7.output", "bias", 0, NULL, zeros));
    EXPECT_SENTENCE(cx, "'bert.encoder.layer.7.output.bias' is there already");
    assert_int_equal(heed_params_count(set), MANY);
    heed_params_free(cx, set);
    close_context(cx);
}

static void test_ties(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_params *set = heed_params_new(cx);
    heed_embedding_layer table;
    heed_embedding_make(cx, set, "wte", 5, 3, &table);
    heed_param *head = heed_param_tie(cx, set, "lm_head", "weight", table.weight);
    heed_param *again = heed_param_tie(cx, set, "other", "weight", head);
    heed_params_allocate(cx, set);
    heed_params_init(cx, set, 3);
    assert_ptr_equal(head->value, table.weight->value);
    assert_ptr_equal(again->target, table.weight);
    assert_int_equal(heed_params_size(set), 15);

    float gradient[15], parts[2][15];
    heed_grad grads[3] = {{.data = gradient}};
    heed_bind(cx, set, grads);
    const int32_t ids[2] = {1, 4};
    for (int use = 0; use < 3; use++) { /* 0: as embedding, 1: as head, 2: both */
        heed_tensor *hidden = use == 1 ? heed_full(cx, 1, 2, (int64_t[]){2, 3})
                                       : heed_embedding_run(cx, &table, heed_from_i32(cx, ids, 1, (int64_t[]){2}));
        const heed_linear_layer layer = {.weight = head};
        heed_tensor *y = use == 0 ? hidden : heed_linear_run(cx, &layer, hidden, HEED_ACT_NONE);
        if (use == 2) y = heed_add(cx, heed_sum(cx, y, NULL, 0, false), heed_sum(cx, hidden, NULL, 0, false));
        assert_true(heed_backward(cx, heed_sum(cx, y, NULL, 0, false)));
        assert_true(grads[0].filled && !grads[1].filled && !grads[2].filled);
        if (use < 2) memcpy(parts[use], gradient, sizeof gradient);
        grads[0].filled = false;
        heed_reset(cx);
    }
    /* row r of d/dW sum(E W') + sum(E): sum of the rows chosen, and for a row chosen the column sums and 1 */
    for (int r = 0; r < 5; r++)
        for (int c = 0; c < 3; c++) {
            const float *w = table.weight->value;
            const bool chosen = r == 1 || r == 4;
            float column = 0;
            for (int k = 0; k < 5; k++) column += w[3 * k + c];
            const float want = w[3 + c] + w[12 + c] + (chosen ? column + 1 : 0);
            assert_true(fabsf(gradient[3 * r + c] - want) <= 1e-5f);
            assert_true(fabsf(parts[0][3 * r + c] - (chosen ? 1 : 0)) <= 1e-6f);
            assert_true(fabsf(parts[1][3 * r + c] - 2) <= 1e-6f);
        }
    assert_null(heed_param_tie(cx, set, NULL, "x", NULL));
    EXPECT_SENTENCE(cx, "is tied to no parameter");
    heed_params_free(cx, set);
    close_context(cx);
}

/* A frozen parameter gets no gradient, whoever asks. */
static void test_frozen(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_params *set = heed_params_new(cx);
    heed_linear_layer layer;
    heed_linear_make(cx, set, "a", 2, 2, true, &layer);
    layer.weight->frozen = true;
    heed_params_allocate(cx, set);
    heed_params_init(cx, set, 1);
    float bias[2], weight[4];
    heed_grad grads[2] = {{.data = weight}, {.data = bias}};
    heed_bind(cx, set, grads);
    heed_tensor *y = heed_linear_run(cx, &layer, heed_full(cx, 1, 2, (int64_t[]){1, 2}), HEED_ACT_NONE);
    assert_true(heed_backward(cx, heed_sum(cx, y, NULL, 0, false)));
    assert_false(grads[0].filled);
    assert_true(grads[1].filled);
    heed_params_free(cx, set);
    close_context(cx);
}

/* ---- files ---- */

static heed_params *two_layers(heed_ctx *cx, int64_t hidden) {
    heed_params *set = heed_params_new(cx);
    heed_linear_layer a;
    heed_embedding_layer b;
    heed_linear_make(cx, set, "a", 3, hidden, true, &a);
    heed_embedding_make(cx, set, "b", 4, 2, &b);
    heed_param_tie(cx, set, "c", "weight", b.weight);
    heed_params_allocate(cx, set);
    heed_params_init(cx, set, 1);
    return set;
}

static void test_save_and_load(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_params *set = two_layers(cx, 5), *other = two_layers(cx, 5);
    const size_t bytes = (size_t)heed_params_size(set) * sizeof(float);
    const char *path = in_folder("p.safetensors");
    heed_params_init(cx, other, 2);
    assert_memory_not_equal(heed_params_block(set), heed_params_block(other), bytes);
    assert_true(heed_params_save(cx, set, path));
    assert_true(heed_params_load(cx, other, path));
    assert_memory_equal(heed_params_block(set), heed_params_block(other), bytes);
    heed_safetensors *st = heed_safetensors_open(cx, path);
    assert_int_equal(heed_safetensors_count(st), 3); /* the tied name is not written twice */
    assert_string_equal(heed_safetensors_metadata(cx, st, "format"), "pt");
    heed_safetensors_close(st);
    remove(path);
    heed_params_free(cx, set);
    heed_params_free(cx, other);
    close_context(cx);
}

/* One parameter that is published as rows under several names: files hold the slices, and a name that is tied to one of
 * them is that slice and is not held. */
static void test_slices(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_params *set = heed_params_new(cx);
    heed_param *fused = heed_param_add(cx, set, NULL, "qk", 2, (int64_t[]){5, 2}, (heed_init){HEED_INIT_NORMAL, 0, 1});
    heed_param *q = heed_param_slice(cx, set, NULL, "q", fused, 0, 2),
               *k = heed_param_slice(cx, set, NULL, "k", fused, 2, 3);
    heed_param *same = heed_param_tie(cx, set, NULL, "same", k);
    heed_params_allocate(cx, set);
    heed_params_init(cx, set, 1);
    assert_int_equal(fused->kind, HEED_PARAM_FUSED);
    assert_int_equal(q->kind, HEED_PARAM_SLICE);
    assert_int_equal(same->kind, HEED_PARAM_TIED);
    assert_true(heed_param_stored(q) && heed_param_stored(k));
    assert_false(heed_param_stored(fused) || heed_param_stored(same) || heed_param_stored(NULL));
    assert_int_equal(heed_params_size(set), 10);
    assert_ptr_equal(q->value, fused->value);
    assert_ptr_equal(k->value, fused->value + 4);
    assert_ptr_equal(same->value, k->value);

    float gradient[10];
    heed_grad grads[4] = {{.data = gradient}};
    heed_bind(cx, set, grads);
    heed_tensor *of_same = heed_param_tensor(cx, same);
    assert_int_equal(heed_dim(of_same, 0), 3);
    heed_tensor *y =
        heed_add(cx, heed_sum(cx, of_same, NULL, 0, false), heed_sum(cx, heed_param_tensor(cx, q), NULL, 0, false));
    assert_true(heed_backward(cx, heed_add(cx, y, heed_sum(cx, heed_param_tensor(cx, q), NULL, 0, false))));
    for (int i = 0; i < 10; i++) assert_true(gradient[i] == (i < 4 ? 2 : 1));
    heed_reset(cx);

    float before[10];
    const char *path = in_folder("p.safetensors");
    memcpy(before, fused->value, sizeof before);
    assert_true(heed_params_save(cx, set, path));
    memset(fused->value, 0, sizeof before);
    assert_true(heed_params_load(cx, set, path));
    assert_memory_equal(fused->value, before, sizeof before);
    heed_safetensors *st = heed_safetensors_open(cx, path);
    assert_int_equal(heed_safetensors_count(st), 2);
    assert_true(heed_safetensors_find(cx, st, "q") >= 0 && heed_safetensors_find(cx, st, "k") >= 0);
    heed_safetensors_close(st);
    remove(path);
    assert_null(heed_param_slice(cx, set, NULL, "x", fused, 3, 3));
    EXPECT_SENTENCE(cx, "param: 'x' would be rows that the fused parameter does not have");
    heed_params_free(cx, set);
    close_context(cx);
}

/* Every wrong name is in the sentence, and nothing has changed. */
static void test_strict(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_params *set = two_layers(cx, 5);
    const float numbers[64] = {0};
    const heed_array arrays[] = {
        {.name = "a.weight", .dtype = HEED_F32, .rank = 2, .shape = {3, 5}, .data = numbers},
        {.name = "b.weight", .dtype = HEED_F32, .rank = 2, .shape = {4, 2}, .data = numbers},
        {.name = "a.gamma", .dtype = HEED_F32, .rank = 1, .shape = {5}, .data = numbers},
        {.name = "z", .dtype = HEED_F32, .rank = 0, .data = numbers},
    };
    const char *path = in_folder("p.safetensors");
    heed_safetensors_write(cx, path, arrays, 4, NULL, 0);
    const size_t bytes = (size_t)heed_params_size(set) * sizeof(float);
    float before[64];
    memcpy(before, heed_params_block(set), bytes);
    assert_false(heed_params_load(cx, set, path));
    static const char *const parts[] = {"4 names do not fit", "missing 'a.bias'",
                                        "misshapen 'a.weight' is (3,5), not (5,3)", "unexpected 'a.gamma'",
                                        "unexpected 'z'"};
    for (int i = 0; i < 5; i++)
        if (!strstr(heed_message(cx), parts[i])) fail_msg("no \"%s\" in: %s", parts[i], heed_message(cx));
    assert_null(strstr(heed_message(cx), "b.weight"));
    heed_clear(cx);
    assert_memory_equal(before, heed_params_block(set), bytes);
    remove(path);
    assert_false(heed_params_load(cx, set, path));
    EXPECT_SENTENCE(cx, "p.safetensors");
    assert_false(heed_params_save(cx, set, in_folder("none/p.safetensors")));
    EXPECT_SENTENCE(cx, "none/p.safetensors");
    heed_params_free(cx, set);
    close_context(cx);
}

/* Hundreds of wrong names: their number is told, and as many of them as a sentence holds. */
static void test_many_wrong_names(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_params *set = heed_params_new(cx), *other = heed_params_new(cx);
    for (int i = 0; i < 200; i++) {
        char name[32];
        snprintf(name, sizeof name, "layer.%d.weight", i);
        heed_param_add(cx, set, "encoder", name, 1, (int64_t[]){1}, (heed_init){0});
        heed_param_add(cx, other, "decoder", name, 1, (int64_t[]){1}, (heed_init){0});
    }
    heed_params_allocate(cx, set);
    heed_params_allocate(cx, other);
    heed_params_init(cx, set, 1);
    const char *path = in_folder("p.safetensors");
    heed_params_save(cx, set, path);
    assert_false(heed_params_load(cx, other, path));
    EXPECT_SENTENCE(cx, "400 names do not fit: missing 'decoder.layer.0.weight'; ");
    remove(path);
    heed_params_free(cx, set);
    heed_params_free(cx, other);
    close_context(cx);
}

/* Names of any length, with any bytes: one printable sentence, and nothing is read beyond them. */
static void test_hostile_names(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_params *set = two_layers(cx, 5);
    const float number = 0;
    const char *path = in_folder("p.safetensors");
    for (size_t n = 1; n < 1100; n += n < 180 || n > 220 ? 37 : 1) {
        char *name = malloc(n + 1);
        memset(name, 'n', n);
        memcpy(name, "\n\x1B[2Jx", n < 6 ? n : 6);
        name[n] = 0;
        const heed_array a = {.name = name, .dtype = HEED_F32, .data = &number};
        heed_safetensors_write(cx, path, &a, 1, NULL, 0);
        free(name);
        assert_false(heed_failed(cx));
        assert_false(heed_params_load(cx, set, path));
        assert_non_null(strstr(heed_message(cx), "unexpected '\\n"));
        for (const char *s = heed_message(cx); *s; s++) assert_true((unsigned char)*s >= 0x20);
        heed_clear(cx);
    }
    remove(path);
    heed_params_free(cx, set);
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_initialisers),  cmocka_unit_test(test_lstm_bias), cmocka_unit_test(test_fans),
        cmocka_unit_test(test_seeds),         cmocka_unit_test(test_names),     cmocka_unit_test(test_many_names),
        cmocka_unit_test(test_ties),          cmocka_unit_test(test_frozen),    cmocka_unit_test(test_save_and_load),
        cmocka_unit_test(test_slices),        cmocka_unit_test(test_strict),    cmocka_unit_test(test_many_wrong_names),
        cmocka_unit_test(test_hostile_names),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
