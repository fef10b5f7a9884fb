/* The Performer's features: drawn anew in training every so many passes, as a function of seed, draw and layer; kept
 * otherwise. And no token changes a bit of what came before it. A model without layers is refused. */
#include "heed/generate.h"
#include "heed/model.h"

#include "io/io_test.h"

#define SETTINGS                                                                                                       \
    "vocab_size=11", "hidden_size=8", "num_hidden_layers=2", "intermediate_size=6", "num_attention_heads=2",           \
        "max_position_embeddings=80", "num_random_features=6", "hidden_dropout_prob=0", "redraw_interval=4",           \
        "causal=true"
enum { KEYS = 10, T = 70 };

static heed_model *make(heed_ctx *cx) {
    heed_model *m = heed_model_new(cx, heed_family_find("performer"), (const char *[]){SETTINGS}, KEYS, 1);
    if (!m) fail_msg("%s", heed_message(cx));
    return m;
}

static const float *features_of(const heed_model *m, int layer) {
    char name[80];
    snprintf(name, sizeof name, "model.layers.%d.self_attn.features", layer);
    const heed_param *p = heed_params_find(heed_model_params(m), name);
    assert_non_null(p);
    assert_int_equal(p->count, 24);
    return p->value;
}

/* logits (T,11) of tokens; `changed`: from there on they are others. */
static void forward(heed_ctx *cx, const heed_model *m, int64_t changed, float *logits) {
    int32_t ids[T];
    heed_io in = {0}, out = {0};
    for (int i = 0; i < T; i++) ids[i] = (i * 7 + (i >= changed ? 3 : 0)) % 11;
    heed_io_put(cx, &in, "input_ids", heed_from_i32(cx, ids, 2, (int64_t[]){1, T}));
    if (!heed_model_forward(cx, m, &in, &out)) fail_msg("%s", heed_message(cx));
    if (logits) assert_true(heed_copy_f32(cx, heed_io_get(&out, "logits"), logits, (int64_t)T * 11));
    heed_reset(cx);
}

static void test_redrawn(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_model *m = make(cx), *other = make(cx);
    float was[24], drawn[24];
    memcpy(was, features_of(m, 1), sizeof was);
    heed_set_training(cx, true);
    heed_set_step(cx, 3);
    forward(cx, m, T, NULL); /* of the first interval: as they were */
    assert_memory_equal(was, features_of(m, 1), sizeof was);
    heed_set_step(cx, 4);
    forward(cx, m, T, NULL);
    memcpy(drawn, features_of(m, 1), sizeof drawn);
    assert_true(memcmp(was, drawn, sizeof was) != 0);
    assert_true(memcmp(features_of(m, 0), drawn, sizeof drawn) != 0); /* each layer has its own */
    heed_set_step(cx, 7);
    forward(cx, m, T, NULL);
    assert_memory_equal(drawn, features_of(m, 1), sizeof drawn);
    heed_set_step(cx, 6);
    forward(cx, other, T, NULL); /* whenever it gets there: a function of seed, draw and layer */
    assert_memory_equal(drawn, features_of(other, 1), sizeof drawn);
    heed_set_step(cx, 8);
    forward(cx, m, T, NULL);
    assert_true(memcmp(features_of(m, 1), drawn, sizeof drawn) != 0);
    heed_set_training(cx, false);
    heed_set_step(cx, 400);
    forward(cx, other, T, NULL);
    assert_memory_equal(drawn, features_of(other, 1), sizeof drawn);
    heed_model_free(cx, m);
    heed_model_free(cx, other);
    close_context(cx);
}

static void test_future(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_model *m = make(cx);
    static float first[T * 11], now[T * 11];
    heed_set_grad(cx, false);
    forward(cx, m, T, first);
    for (int64_t changed = 1; changed < T; changed += 17) {
        forward(cx, m, changed, now);
        assert_memory_equal(first, now, (size_t)changed * 11 * sizeof(float));
        assert_true(memcmp(first + changed * 11, now + changed * 11, 11 * sizeof(float)) != 0);
    }
    heed_model_free(cx, m);
    close_context(cx);
}

static void test_no_layers(void **state) {
    (void)state;
    const heed_family *family = heed_family_find("performer");
    heed_ctx *cx = open_context();
    heed_model *m = heed_model_new_as(cx, family, heed_head_for(family, "lm"),
                                      (const char *[]){SETTINGS, "num_hidden_layers=0"}, KEYS + 1, 1);
    assert_non_null(m);
    assert_null(heed_session_open(cx, m, NULL, 1));
    assert_string_equal(heed_message(cx), "a model without layers cannot decode");
    heed_clear(cx);
    heed_model_free(cx, m);
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_redrawn), cmocka_unit_test(test_future),
                                       cmocka_unit_test(test_no_layers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
