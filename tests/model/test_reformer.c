/* What is the Reformer's own: lengths that its positions do not fill, and sessions, whose every step is what forward
 * gives for the tokens so far, hashes and all. */
#include "heed/generate.h"
#include "heed/model.h"
#include "io/io_test.h"
#include <math.h>

enum { WORDS = 11, SETTINGS = 10 };
static const char *const settings[SETTINGS] = {"vocab_size=11",           "hidden_size=6",
                                               "num_attention_heads=2",   "attention_head_size=3",
                                               "feed_forward_size=5",     "axial_pos_embds_dim=2,4",
                                               "axial_pos_shape=4,5",     "attn_layers=lsh,local",
                                               "lsh_attn_chunk_length=2", "local_attn_chunk_length=4"};

static heed_model *make(heed_ctx *cx) {
    const heed_family *family = heed_family_find("reformer");
    heed_model *m = heed_model_new_as(cx, family, heed_head_for(family, "lm"), settings, SETTINGS, 3);
    if (!m) fail_msg("%s", heed_message(cx));
    /* fresh weights are small: larger ones, so that it matters what is seen */
    heed_params *set = heed_model_params(m);
    for (int64_t i = 0; i < heed_params_size(set); i++) heed_params_block(set)[i] *= 8;
    return m;
}

/* logits (T,V) */
static const float *forward(heed_ctx *cx, const heed_model *m, const int32_t *ids, int64_t T, heed_tensor *positions) {
    heed_io in = {0}, out = {0};
    heed_io_put(cx, &in, "input_ids", heed_from_i32(cx, ids, 2, (int64_t[]){1, T}));
    if (positions) heed_io_put(cx, &in, "position_ids", positions);
    if (!heed_model_forward(cx, m, &in, &out)) return NULL;
    return heed_f32(heed_contiguous(cx, heed_io_get(&out, "logits")));
}

static const int32_t ids[24] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8, 4, 6, 2, 6, 4};

static void test_lengths(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_model *m = make(cx);
    assert_non_null(forward(cx, m, ids, 20, NULL));
    heed_reset(cx);
    assert_null(forward(cx, m, ids, 21, NULL));
    EXPECT_SENTENCE(cx, "a sequence of 21 tokens, 24 with padding: axial positions of 4 rows and 5 columns and "
                        "max_position_embeddings allow 20");
    static const int32_t far[3] = {0, 20, 1};
    assert_null(forward(cx, m, ids, 3, heed_from_i32(cx, far, 2, (int64_t[]){1, 3})));
    EXPECT_SENTENCE(cx, "position_ids: 20 at place 1: the model has positions for 20");
    heed_model_free(cx, m);
    close_context(cx);
}

static void test_sessions(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_model *m = make(cx);
    heed_session *s = heed_session_open(cx, m, NULL, 2);
    assert_non_null(s);
    int64_t held[2] = {0, 0};
    static const int64_t more[4][2] = {{5, 2}, {1, 1}, {2, 5}, {9, 1}};
    for (int k = 0; k < 4; k++) {
        const heed_ids next[2] = {{.id = (int32_t *)(uintptr_t)(ids + held[0]), .count = more[k][0]},
                                  {.id = (int32_t *)(uintptr_t)(ids + 3 + held[1]), .count = more[k][1]}};
        if (!heed_session_append(cx, s, next)) fail_msg("%s", heed_message(cx));
        for (int b = 0; b < 2; b++) {
            held[b] += more[k][b];
            const float *want = forward(cx, m, ids + 3 * b, held[b], NULL);
            assert_non_null(want);
            for (int v = 0; v < WORDS; v++)
                assert_true(fabsf(heed_session_logits(s, b)[v] - want[(held[b] - 1) * WORDS + v]) <= 1e-5f);
        }
    }
    heed_session_close(cx, s);
    heed_reset(cx);
    heed_model_free(cx, m);
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_lengths), cmocka_unit_test(test_sessions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
