/* Kinds of cheaper attention: what they refuse, that padding changes nothing, layers computed again, and decoding of
 * rows of different lengths. Numbers are compared by test_golden.c. */
#include "heed/generate.h"
#include "heed/model.h"
#include "io/io_test.h"
#include <math.h>

enum { B = 2, T = 6, V = 11, POSITIONS = 9 };
#define SMALL                                                                                                          \
    "vocab_size=11", "hidden_size=8", "num_hidden_layers=2", "intermediate_size=6", "max_position_embeddings=9",       \
        "hidden_dropout_prob=0.2"
static const struct {
    const char *family, *settings[10];
    int n;
} small[] = {
    {"linformer", {SMALL, "num_attention_heads=2", "projected_length=3"}, 8},
    {"linformer", {SMALL, "num_attention_heads=2", "projected_length=3", "sharing=none"}, 9},
    {"token-mixer", {SMALL, "tokens_mlp_dim=5"}, 7},
    {"token-mixer", {SMALL, "tokens_mlp_dim=5", "causal=true"}, 8},
    {"workspace", {SMALL, "num_attention_heads=2", "num_slots=3", "top_k=2"}, 9},
    {"workspace", {SMALL, "num_attention_heads=2", "num_slots=3", "top_k=0"}, 9},
};
enum { SMALLEST = sizeof small / sizeof *small };

static heed_model *make_with(heed_ctx *cx, int i, const char *task, const char *setting) {
    const heed_family *family = heed_family_find(small[i].family);
    const char *settings[11];
    int n = 0;
    while (n < small[i].n) settings[n] = small[i].settings[n], n++;
    if (setting) settings[n++] = setting;
    return heed_model_new_as(cx, family, heed_head_for(family, task), settings, n, 7);
}

static heed_model *make(heed_ctx *cx, int i, const char *task) {
    heed_model *m = make_with(cx, i, task, NULL);
    if (!m) fail_msg("%s: %s", small[i].family, heed_message(cx));
    return m;
}

/* ---- what is refused ---- */

static void test_refused(void **state) {
    (void)state;
    static const struct {
        int of;
        const char *task, *setting, *sentence;
    } bad[] = {
        {0, "mlm", "projected_length=0", "projected_length"},
        {0, "mlm", "sharing=all", "sharing"},
        {0, "mlm", "num_attention_heads=3", "3 heads do not divide a hidden_size of 8"},
        {0, "classify", "pooling=max", "pooling"},
        {2, "mlm", "tokens_mlp_dim=0", "tokens_mlp_dim"},
        {2, "lm", "causal=false", "a language model needs true"},
        {4, "mlm", "num_slots=0", "num_slots"},
        {4, "mlm", "num_slots=10", "10 slots are more than the 9 tokens of max_position_embeddings: no bottleneck"},
        {4, "mlm", "top_k=-1", "top_k"},
        {4, "mlm", "top_k=10", "the best 10 tokens are more than the 9 of max_position_embeddings; 0: all"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        heed_ctx *cx = open_context();
        heed_model *m = make_with(cx, bad[i].of, bad[i].task, bad[i].setting);
        if (m) fail_msg("%s is taken", bad[i].setting);
        if (!strstr(heed_message(cx), bad[i].sentence)) fail_msg("%s: %s", bad[i].setting, heed_message(cx));
        heed_clear(cx);
        close_context(cx);
    }
}

/* More tokens than there are positions, by their places or not. */
static void test_length(void **state) {
    (void)state;
    const int64_t shape[] = {1, POSITIONS + 1};
    for (int i = 0; i < SMALLEST; i++)
        for (int given = 0; given < 2; given++) {
            heed_ctx *cx = open_context();
            heed_model *m = make(cx, i, "mlm");
            heed_io in = {0}, out = {0};
            heed_io_put(cx, &in, "input_ids", heed_zeros(cx, HEED_I32, 2, shape));
            if (given) heed_io_put(cx, &in, "position_ids", heed_zeros(cx, HEED_I32, 2, shape));
            assert_false(heed_model_forward(cx, m, &in, &out));
            assert_string_equal(heed_message(cx), "a sequence of 10 tokens: the model has positions for 9");
            heed_clear(cx);
            heed_model_free(cx, m);
            close_context(cx);
        }
}

/* ---- padding ---- */

/* logits (B,length,V) of the first tokens of each row, `hidden` of the places behind them; what they are is `other` */
static void logits_of(heed_ctx *cx, const heed_model *m, int64_t length, int32_t other, bool mask, float *logits) {
    int32_t ids[B * POSITIONS], seen[B * POSITIONS];
    for (int64_t b = 0; b < B; b++)
        for (int64_t t = 0; t < length; t++) {
            seen[b * length + t] = t < 3 + b;
            ids[b * length + t] = t < 3 + b ? (int32_t)(1 + (3 * b + 2 * t) % (V - 1)) : other;
        }
    heed_io in = {0}, out = {0};
    heed_io_put(cx, &in, "input_ids", heed_from_i32(cx, ids, 2, (int64_t[]){B, length}));
    if (mask) heed_io_put(cx, &in, "attention_mask", heed_from_i32(cx, seen, 2, (int64_t[]){B, length}));
    if (!heed_model_forward(cx, m, &in, &out)) fail_msg("%s", heed_message(cx));
    assert_true(heed_copy_f32(cx, heed_io_get(&out, "logits"), logits, B * length * V));
    heed_reset(cx);
}

static void test_padding(void **state) {
    (void)state;
    for (int i = 0; i < SMALLEST; i++) {
        heed_ctx *cx = open_context();
        heed_model *m = make(cx, i, "mlm");
        heed_params *set = heed_model_params(m);
        for (int k = 0; k < heed_params_count(set); k++) { /* strong enough that a leak would be seen */
            heed_param *p = heed_params_at(set, k);
            for (int64_t j = 0; !p->target && p->rank == 2 && j < p->count; j++) p->value[j] *= 20;
        }
        float a[B * POSITIONS * V], b[B * POSITIONS * V], c[B * POSITIONS * V], open[B * POSITIONS * V];
        logits_of(cx, m, T, 5, true, a);
        logits_of(cx, m, T, 9, true, b);
        logits_of(cx, m, POSITIONS, 5, true, c);
        logits_of(cx, m, T, 5, false, open);
        double most = 0;
        for (int64_t r = 0; r < B; r++) {
            const size_t bytes = (size_t)((3 + r) * V) * sizeof(float);
            assert_memory_equal(a + r * T * V, b + r * T * V, bytes);
            for (int64_t k = 0; k < (3 + r) * V; k++) {
                assert_true(fabsf(a[r * T * V + k] - c[r * POSITIONS * V + k]) < 1e-4f);
                most = fmax(most, fabs((double)a[r * T * V + k] - (double)open[r * T * V + k]));
            }
        }
        const bool causal = i == 3; /* what is behind is not seen anyway */
        if ((most < 1e-3) != causal) fail_msg("%s: the mask changes logits by %g", small[i].family, most);
        heed_model_free(cx, m);
        close_context(cx);
    }
}

/* ---- layers computed again ---- */

/* The loss and all gradients of a step with dropout, in `numbers`. */
static void step(heed_ctx *cx, heed_model *m, bool again, float *numbers) {
    const heed_params *set = heed_model_params(m);
    heed_grad *grads = calloc((size_t)heed_params_count(set), sizeof *grads);
    for (int i = 0; i < heed_params_count(set); i++)
        grads[i].data = numbers + 1 + (heed_params_at(set, i)->value - heed_params_block(set));
    heed_bind(cx, set, grads);
    heed_set_training(cx, true);
    heed_set_step(cx, 5);
    heed_set_recompute(cx, again);
    heed_io in = {0}, out = {0};
    assert_true(heed_model_sample(cx, m, B, T, &in));
    if (!heed_model_forward(cx, m, &in, &out)) fail_msg("%s", heed_message(cx));
    heed_tensor *loss = heed_keep(cx, heed_io_get(&out, "loss"));
    assert_true(heed_backward(cx, loss));
    numbers[0] = heed_item(cx, loss);
    heed_reset(cx);
    heed_bind(cx, NULL, NULL);
    free(grads);
}

static void test_recompute(void **state) {
    (void)state;
    for (int i = 0; i < SMALLEST; i++) {
        heed_ctx *cx = open_context();
        heed_model *m = make(cx, i, "mlm");
        const size_t n = (size_t)heed_params_size(heed_model_params(m)) + 1;
        float *once = calloc(n, sizeof *once), *again = calloc(n, sizeof *again);
        step(cx, m, false, once);
        step(cx, m, true, again);
        assert_memory_equal(once, again, n * sizeof *once);
        free(once), free(again);
        heed_model_free(cx, m);
        close_context(cx);
    }
}

/* ---- decoding ---- */

static void test_lengths(void **state) {
    (void)state;
    static int32_t tokens[] = {3, 1, 4, 1, 5, 9, 2};
    heed_ctx *cx = open_context();
    heed_model *m = make(cx, 2, "lm");
    heed_session *s = heed_session_open(cx, m, NULL, B);
    const heed_ids first[B] = {{.id = tokens, .count = 3}, {.id = tokens + 1, .count = 5}},
                   more[B] = {{.id = tokens + 3, .count = 4}, {.id = tokens + 6, .count = 1}};
    assert_true(heed_session_append(cx, s, first));
    assert_true(heed_session_append(cx, s, more));
    for (int64_t b = 0; b < B; b++) {
        heed_io in = {0}, out = {0};
        float logits[7 * V];
        const int64_t n = 7 - b;
        heed_io_put(cx, &in, "input_ids", heed_from_i32(cx, tokens + b, 2, (int64_t[]){1, n}));
        assert_true(heed_model_forward(cx, m, &in, &out));
        assert_true(heed_copy_f32(cx, heed_io_get(&out, "logits"), logits, n * V));
        for (int64_t v = 0; v < V; v++)
            assert_true(fabsf(heed_session_logits(s, b)[v] - logits[(n - 1) * V + v]) < 1e-5f);
        heed_reset(cx);
    }
    const heed_ids beyond[B] = {{.id = tokens, .count = 3}, {.id = tokens, .count = 1}};
    assert_false(heed_session_append(cx, s, beyond));
    assert_non_null(strstr(heed_message(cx), "positions for 9"));
    heed_clear(cx);
    heed_session_close(cx, s);
    heed_model_free(cx, m);
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused),   cmocka_unit_test(test_length),  cmocka_unit_test(test_padding),
        cmocka_unit_test(test_recompute), cmocka_unit_test(test_lengths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
