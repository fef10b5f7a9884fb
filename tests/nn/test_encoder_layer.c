/* What encoder layers of published families have beside torch's: sublayers whose output is not dropped out. */
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
