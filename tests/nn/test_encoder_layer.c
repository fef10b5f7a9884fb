/* What encoder layers of published families have beside torch's: sublayers whose output is not dropped out, windows,
 * a first norm left out, gates in one weight, and options of attention that a whole stack shares. */
#include "nn/block_test.h"
#include "tensor/engine.h"

enum { B = 2, T = 5, C = 8 };

struct layer {
    heed_encoder_layer layer;
    struct weights w;
};

static void layer_make(heed_ctx *cx, bool norm_first, struct layer *l) {
    const heed_transformer_opts o = {
        .width = C, .heads = 2, .hidden = 6, .act = HEED_ACT_GELU, .bias = true, .norm_first = norm_first};
    l->w = (struct weights){.set = heed_params_new(cx)};
    if (!heed_encoder_layer_make(cx, l->w.set, "", &o, &l->layer)) fail_msg("%s", heed_message(cx));
    weights_ready(cx, &l->w);
    weights_random(&l->w, 4);
}

static heed_tensor *input(heed_ctx *cx) {
    float x[B * T * C];
    heed_random_normal(3, 0, 0, x, B * T * C);
    return heed_from_f32(cx, x, 3, (int64_t[]){B, T, C});
}

static bool same(const float *a, const float *b) { return memcmp(a, b, B * T * C * sizeof *a) == 0; }

/* With a dropout of 1, what is not kept is zero. */
static void test_kept(void **state) {
    (void)state;
    for (int norm_first = 0; norm_first < 2; norm_first++) {
        heed_ctx *cx = open_context();
        struct layer l;
        float y[5][B * T * C];
        layer_make(cx, norm_first, &l);
        for (int i = 0; i < 5; i++) { /* none, attention, feed-forward, both; then without training */
            heed_set_training(cx, i < 4);
            l.layer.dropout = 1;
            l.layer.keeps_attention = i & 1;
            l.layer.keeps_hidden = i & 2;
            assert_true(heed_copy_f32(cx, heed_encoder_layer_run(cx, &l.layer, input(cx), NULL), y[i], B * T * C));
        }
        for (int i = 0; i < 4; i++)
            for (int k = 0; k < i; k++) assert_false(same(y[i], y[k]));
        assert_true(same(y[3], y[4]));
        heed_reset(cx);
        weights_free(cx, &l.w);
        close_context(cx);
    }
}

static void run(heed_ctx *cx, const heed_encoder_layer *l, const heed_mask *mask, float *y) {
    if (!heed_copy_f32(cx, heed_encoder_layer_run(cx, l, input(cx), mask), y, B * T * C))
        fail_msg("%s", heed_message(cx));
}

/* A layer's own window is a mask; it joins the one that is given. */
static void test_window(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    struct layer l;
    float y[4][B * T * C];
    layer_make(cx, false, &l);
    const heed_mask window = heed_mask_window(2, 0),
                    lengths = heed_mask_lengths(heed_from_i32(cx, (int32_t[]){5, 3}, 1, (int64_t[]){2}), NULL),
                    both = heed_mask_both(cx, window, lengths);
    run(cx, &l.layer, &window, y[0]);
    run(cx, &l.layer, &both, y[1]);
    l.layer.window = 2;
    run(cx, &l.layer, NULL, y[2]);
    run(cx, &l.layer, &lengths, y[3]);
    assert_true(same(y[0], y[2]) && same(y[1], y[3]) && !same(y[0], y[1]));
    heed_reset(cx);
    weights_free(cx, &l.w);
    close_context(cx);
}

/* Pre-norm without its first norm: x + attention(x), then as ever. */
static void test_no_first_norm(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    struct layer l;
    float y[2][B * T * C];
    layer_make(cx, true, &l);
    l.layer.norm1 = (heed_norm_layer){0};
    run(cx, &l.layer, NULL, y[0]);
    heed_tensor *x = input(cx), *a = heed_multihead_run(cx, &l.layer.self_attn, x, x, x, NULL);
    a = heed_add_norm_run(cx, &l.layer.norm2, a, x, &x);
    a = heed_add(cx, x, heed_feed_forward_run(cx, &l.layer.feed_forward, a));
    assert_true(heed_copy_f32(cx, a, y[1], B * T * C));
    assert_true(same(y[0], y[1]));
    heed_reset(cx);
    weights_free(cx, &l.w);
    close_context(cx);
}

/* One weight of gate and linear1 is the two of them, with gradients. */
static void test_fused_gate(void **state) {
    (void)state;
    enum { HIDDEN = 6 };
    heed_ctx *cx = open_context();
    struct weights w = {.set = heed_params_new(cx)};
    heed_feed_forward apart = {.act = HEED_ACT_SILU}, fused = {.act = HEED_ACT_SILU, .fused = true};
    heed_linear_make(cx, w.set, "up", C, 2 * HIDDEN, true, &fused.linear1);
    heed_linear_make(cx, w.set, "gate", C, HIDDEN, true, &apart.gate);
    heed_linear_make(cx, w.set, "own", C, HIDDEN, true, &apart.linear1);
    heed_linear_make(cx, w.set, "down", HIDDEN, C, true, &apart.linear2);
    fused.linear2 = apart.linear2;
    weights_ready(cx, &w);
    weights_random(&w, 1);
    memcpy(apart.gate.weight->value, fused.linear1.weight->value, HIDDEN * C * sizeof(float));
    memcpy(apart.linear1.weight->value, fused.linear1.weight->value + HIDDEN * C, HIDDEN * C * sizeof(float));
    memcpy(apart.gate.bias->value, fused.linear1.bias->value, HIDDEN * sizeof(float));
    memcpy(apart.linear1.bias->value, fused.linear1.bias->value + HIDDEN, HIDDEN * sizeof(float));
    float y[2][B * T * C], dx[2][B * T * C];
    for (int i = 0; i < 2; i++) {
        heed_tensor *x = heed_want_grad(cx, input(cx)), *z = heed_feed_forward_run(cx, i ? &fused : &apart, x);
        assert_true(heed_copy_f32(cx, z, y[i], B * T * C));
        assert_true(heed_backward(cx, heed_sum(cx, heed_square(cx, z), NULL, 0, false)));
        assert_true(heed_copy_f32(cx, heed_grad_of(cx, x), dx[i], B * T * C));
        heed_reset(cx);
    }
    assert_true(same(y[0], y[1]));
    for (int i = 0; i < B * T * C; i++) assert_float_equal(dx[0][i], dx[1][i], 1e-5);
    weights_free(cx, &w);
    close_context(cx);
}

/* A stack with options: a bias by distance is added to scores, and rotary positions may be given. */
static void test_attend(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    struct layer l;
    float y[6][B * T * C], far[2 * (2 * T - 1)], add[2 * T * T];
    const heed_rotary_opts rotary = {.base = 100};
    layer_make(cx, false, &l);
    const heed_encoder stack = {.layers = 1, .layer = &l.layer};
    heed_random_normal(5, 0, 0, far, 2 * (2 * T - 1));
    for (int i = 0; i < 2 * T * T; i++) add[i] = far[i / (T * T) * (2 * T - 1) + i % T - i / T % T + T - 1];
    const heed_mask bias = heed_mask_add(heed_from_f32(cx, add, 4, (int64_t[]){1, 2, T, T}));
    const heed_attention_opts options[] = {
        {.mask = bias},
        {.distance_bias = heed_from_f32(cx, far, 2, (int64_t[]){2, 2 * T - 1})},
        {.scale = 0},
        {.rotary = &(heed_rotary_opts){.positions = heed_from_i32(cx, (int32_t[]){0, 1, 2, 3, 4}, 1, (int64_t[]){T})}},
        {.rotary = &(heed_rotary_opts){.positions = heed_from_i32(cx, (int32_t[]){0, 2, 4, 6, 8}, 1, (int64_t[]){T})}},
    };
    for (int i = 0; i < 5; i++) {
        l.layer.self_attn.rotary = i >= 2 ? &rotary : NULL;
        heed_tensor *const t = heed_encoder_attend(cx, &stack, input(cx), &options[i]);
        if (!t || !heed_copy_f32(cx, t, y[i], B * T * C)) fail_msg("%s", heed_message(cx));
    }
    for (int i = 0; i < B * T * C; i++) {
        assert_float_equal(y[0][i], y[1][i], 1e-5);
        assert_float_equal(y[2][i], y[3][i], 1e-5);
    }
    assert_false(same(y[3], y[4]) || same(y[1], y[2]));
    assert_true(heed_copy_f32(cx, heed_encoder_run(cx, &stack, input(cx), NULL), y[5], B * T * C));
    assert_true(same(y[2], y[5]));
    heed_reset(cx);
    weights_free(cx, &l.w);
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kept),       cmocka_unit_test(test_window), cmocka_unit_test(test_no_first_norm),
        cmocka_unit_test(test_fused_gate), cmocka_unit_test(test_attend),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
