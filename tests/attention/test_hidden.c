/* Scores and pooling at their edges: what masks hide does no harm, a triangle's tip, additive memory, wrong use. */
#include "attention/score_test.h"

#include "attention/refused.h"

/* ---- what masks hide ---- */

static bool all_finite(const heed_tensor *t) {
    for (int64_t i = 0; i < heed_count(t); i++)
        if (!isfinite(heed_f32(t)[i])) return false;
    return heed_f32(t) != NULL;
}

/* Scores of NaN, infinity and 1e30 where nothing is seen: weights and gradients are 0 there, and as ever elsewhere. */
static void test_hidden_scores(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const float bad[] = {NAN, INFINITY, -INFINITY, 1e30f};
    const int64_t shape[] = {1, 1, 3, 3};
    const uint8_t keep[9] = {1, 0, 1, 0, 0, 0, 1, 1, 0};
    for (int how = 0; how < 4; how++)
        for (int b = 0; b < 4; b++) {
            float x[9];
            for (int i = 0; i < 9; i++) x[i] = keep[i] ? 0.25f * (float)(i + 1) : bad[b];
            heed_tensor *s = heed_want_grad(cx, heed_from_f32(cx, x, 4, shape));
            const heed_mask m = heed_mask_keep(heed_from_u8(cx, keep, 4, shape));
            heed_tensor *w = heed_keep(cx, heed_normalise(cx, s, (heed_normaliser)how, &m));
            assert_true(heed_backward(cx, heed_sum(cx, heed_square(cx, w), NULL, 0, false)));
            const float *g = heed_f32(heed_grad_of(cx, s));
            for (int i = 0; i < 9; i++) {
                assert_true(isfinite(heed_f32(w)[i]) && isfinite(g[i]));
                if (!keep[i]) assert_true(heed_f32(w)[i] == 0 && g[i] == 0);
            }
            heed_reset(cx);
        }
    /* sums of 0: kernels that reach nobody, and scores that cancel */
    heed_tensor *s = heed_want_grad(cx, heed_from_f32(cx, (float[]){0, 0, 2, -2, 1, 3}, 2, (int64_t[]){3, 2}));
    heed_tensor *w = heed_keep(cx, heed_normalise(cx, s, HEED_NORMALISE_SUM, NULL));
    assert_true(heed_backward(cx, heed_sum(cx, heed_square(cx, w), NULL, 0, false)));
    for (int i = 0; i < 4; i++) assert_true(heed_f32(w)[i] == 0 && heed_f32(heed_grad_of(cx, s))[i] == 0);
    assert_true(heed_f32(w)[4] == 0.25f && heed_f32(w)[5] == 0.75f);
    close_context(cx);
}

/* Queries beyond their length and keys beyond theirs hold NaN; every other time so does a value that one query sees,
 * through which NaN then reaches that query and the score's parameters, and nobody else. */
static void test_hidden_rows(void **state) {
    (void)state;
    enum { B = 2, T = 4, D = 3 };
    heed_ctx *cx = open_context();
    for (int kind = 0, round = 0; kind < 9; kind += round, round = !round) {
        const int64_t batch = B, shape[] = {B, T, D}, square[] = {D, D}, width = D;
        float q[B * T * D], k[B * T * D], v[B * T * D], p[3][D * D];
        heed_random_normal(3, 1, 0, q, B * T * D);
        heed_random_normal(3, 2, 0, k, B * T * D);
        heed_random_normal(3, 3, 0, v, B * T * D);
        heed_random_normal(3, 4, 0, p[0], 3 * D * D);
        for (int c = 0; c < D; c++) {
            q[(0 * T + 3) * D + c] = NAN;                           /* padding: sequence 0 has 3 queries */
            k[(1 * T + 3) * D + c] = v[(1 * T + 3) * D + c] = NAN;  /* and sequence 1 has 3 keys */
            if (round) v[(0 * T + 2) * D + c] = c ? NAN : INFINITY; /* causal: only query 2 of sequence 0 sees key 2 */
        }
        heed_tensor *in[3] = {heed_want_grad(cx, heed_from_f32(cx, q, 3, shape)),
                              heed_want_grad(cx, heed_from_f32(cx, k, 3, shape)),
                              heed_want_grad(cx, heed_from_f32(cx, v, 3, shape))};
        heed_tensor *param[3] = {NULL, NULL, NULL};
        const int n = kind == HEED_SCORE_BILINEAR ? 1 : kind == HEED_SCORE_ADDITIVE ? 3 : 0;
        for (int i = 0; i < n; i++) {
            const bool matrix = i > 0 || kind == HEED_SCORE_BILINEAR;
            param[i] = heed_want_grad(cx, heed_from_f32(cx, p[i], matrix ? 2 : 1, matrix ? square : &width));
        }
        heed_mask m = heed_mask_causal(0);
        m.query_lengths = heed_from_i32(cx, (int32_t[]){3, 4}, 1, &batch);
        m.key_lengths = heed_from_i32(cx, (int32_t[]){4, 3}, 1, &batch);
        const heed_score_opts o = score_opts((heed_score_kind)kind, param);
        const heed_normaliser how = kind < HEED_SCORE_GAUSSIAN ? HEED_NORMALISE_SOFTMAX : HEED_NORMALISE_SUM;
        heed_tensor *w, *y = heed_keep(cx, heed_attention_pool(cx, in[0], in[1], in[2], &o, how, &m, &w));
        heed_keep(cx, w);
        /* only the first two queries of sequence 0 and all of sequence 1 are asked for */
        float dy[B * T * D];
        for (int i = 0; i < B * T * D; i++) dy[i] = i / D % T == 2 && i < T * D ? 0 : 1;
        assert_true(heed_backward_from(cx, y, heed_from_f32(cx, dy, 3, shape)));
        assert_true(all_finite(w));
        for (int i = 0; i < B * T; i++)
            for (int c = 0; c < D; c++) {
                const float x = heed_f32(y)[i * D + c];
                if (i == 3) assert_true(x == 0);
                if (i != 2 || !round) assert_true(isfinite(x));
            }
        for (int i = 0; i < 3; i++)
            if (param[i] && !round) assert_true(all_finite(heed_grad_of(cx, param[i])));
        const float *dq = heed_f32(heed_grad_of(cx, in[0])), *dk = heed_f32(heed_grad_of(cx, in[1]));
        const float *dv = heed_f32(heed_grad_of(cx, in[2]));
        for (int c = 0; c < D; c++) {
            assert_true(dq[3 * D + c] == 0 && dk[7 * D + c] == 0 && dv[7 * D + c] == 0);
            assert_true(isfinite(dq[c]) && isfinite(dq[D + c]) && isfinite(dk[4 * D + c]));
        }
        assert_true(all_finite(heed_grad_of(cx, in[2])));
        heed_reset(cx);
    }
    close_context(cx);
}

/* A key with NaN that one query sees harms that query alone, and no gradient of another. */
static void test_partly_hidden_key(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    for (int kind = 0; kind < 9; kind++) {
        if (kind == HEED_SCORE_BILINEAR) continue;
        const int64_t shape[] = {2, 2}, two = 2;
        heed_tensor *q = heed_want_grad(cx, heed_from_f32(cx, (float[]){1, 2, 3, 4}, 2, shape));
        heed_tensor *k = heed_want_grad(cx, heed_from_f32(cx, (float[]){1, 2.5f, NAN, 1}, 2, shape));
        heed_tensor *v = heed_from_f32(cx, (float[]){1, -2, 3, -4}, 2, shape);
        heed_tensor *w = heed_want_grad(cx, heed_from_f32(cx, (float[]){1, -1}, 1, &two));
        const heed_score_opts o = {.kind = (heed_score_kind)kind, .w = w};
        const heed_mask m = heed_mask_causal(0);
        heed_tensor *y = heed_keep(cx, heed_attention_pool(cx, q, k, v, &o, HEED_NORMALISE_SIGMOID, &m, NULL));
        assert_true(heed_backward_from(cx, y, heed_from_f32(cx, (float[]){1, 1, 0, 0}, 2, shape)));
        assert_true(isfinite(heed_f32(y)[0]) && isfinite(heed_f32(y)[1]));
        const float *dq = heed_f32(heed_grad_of(cx, q)), *dk = heed_f32(heed_grad_of(cx, k));
        for (int c = 0; c < 2; c++) assert_true(isfinite(dq[c]) && isfinite(dk[c]));
        heed_reset(cx);
    }
    close_context(cx);
}

/* A query on its key: the triangle's tip has gradient 0, others are what they were. */
static void test_tip_of_triangle(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_tensor *q = heed_want_grad(cx, heed_from_f32(cx, (float[]){0.5f}, 2, (int64_t[]){1, 1}));
    heed_tensor *k = heed_from_f32(cx, (float[]){0.5f, 0.75f}, 2, (int64_t[]){2, 1});
    heed_tensor *s = heed_keep(cx, heed_scores(cx, q, k, &(heed_score_opts){.kind = HEED_SCORE_TRIANGULAR}));
    assert_true(heed_backward(cx, heed_sum(cx, s, NULL, 0, false)));
    assert_true(heed_f32(s)[0] == 1 && heed_f32(s)[1] == 0.75f);
    assert_true(heed_item(cx, heed_grad_of(cx, q)) == 1);
    close_context(cx);
}

/* Additive scores hold a tenth of what (B,Tq,Tk,h) would take, both ways. */
static void test_additive_memory(void **state) {
    (void)state;
    const int64_t B = 32, T = 50, h = 256;
    heed_ctx *cx = heed_open(&(heed_config){.threads = 1, .dry = true});
    heed_tensor *q = heed_want_grad(cx, heed_zeros(cx, HEED_F32, 3, (int64_t[]){B, T, h}));
    heed_tensor *k = heed_want_grad(cx, heed_zeros(cx, HEED_F32, 3, (int64_t[]){B, T, h}));
    heed_tensor *w = heed_want_grad(cx, heed_zeros(cx, HEED_F32, 1, &h));
    const size_t before = heed_memory_use(cx).step;
    heed_tensor *s = heed_scores(cx, q, k, &(heed_score_opts){.kind = HEED_SCORE_ADDITIVE, .w = w});
    assert_true(heed_backward_from(cx, s, heed_zeros(cx, HEED_F32, 3, (int64_t[]){B, T, T})));
    assert_true(heed_memory_use(cx).step_peak - before < (size_t)(B * T * T * h) * sizeof(float) / 6);
    heed_close(cx);
}

/* ---- wrong use ---- */

static void test_wrong_use(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
#define F32(rank, ...)    heed_zeros(cx, HEED_F32, rank, (int64_t[]){__VA_ARGS__})
#define SCORES(q, k, ...) heed_scores(cx, q, k, &(heed_score_opts){__VA_ARGS__})
    REFUSED(SCORES(NULL, F32(2, 2, 2), .kind = 0), "scores: the queries are NULL");
    REFUSED(SCORES(F32(2, 2, 2), NULL, .kind = 0), "scores: the keys are NULL");
    REFUSED(heed_scores(cx, F32(2, 2, 2), F32(2, 2, 2), NULL), "scores: the options are NULL");
    REFUSED(SCORES(F32(2, 2, 2), F32(2, 2, 2), .kind = (heed_score_kind)9), "scores: 9 is not a kind of score");
    REFUSED(SCORES(F32(2, 3, 4), F32(2, 3, 5), .kind = HEED_SCORE_DOT),
            "queries of shape (3,4) and keys of shape (3,5)");
    REFUSED(SCORES(F32(1, 3), F32(1, 3), .kind = HEED_SCORE_DOT), "are not (…,Tq,D) and (…,Tk,D)");
    REFUSED(SCORES(F32(3, 2, 3, 4), F32(3, 1, 3, 4), .kind = HEED_SCORE_GAUSSIAN),
            "pair_distance: queries of shape (2,3,4)");
    REFUSED(SCORES(F32(2, 3, 4), F32(2, 3, 5), .kind = HEED_SCORE_BILINEAR), "needs m of shape (4,5), not NULL");
    REFUSED(SCORES(F32(2, 3, 4), F32(2, 3, 5), .kind = HEED_SCORE_BILINEAR, .m = F32(2, 5, 4)), "(4,5), not (5,4)");
    REFUSED(SCORES(F32(2, 3, 4), F32(2, 3, 4), .kind = HEED_SCORE_ADDITIVE), "additive_score: ");
    REFUSED(SCORES(F32(2, 3, 4), F32(2, 3, 4), .kind = HEED_SCORE_ADDITIVE, .w = F32(1, 5)),
            "w of shape (5) does not fit");
    REFUSED(SCORES(F32(2, 3, 4), F32(2, 3, 4), .kind = HEED_SCORE_ADDITIVE, .w = F32(1, 4), .wq = F32(2, 4, 3)),
            "linear: ");
    REFUSED(SCORES(F32(2, 3, 4), F32(2, 3, 4), .kind = HEED_SCORE_DISTANCE, .sharpness = F32(1, 3)),
            "a sharpness of shape (3) is neither one number nor one for each of 4");
    REFUSED(heed_normalise(cx, NULL, HEED_NORMALISE_SUM, NULL), "normalise: the scores are NULL");
    REFUSED(heed_normalise(cx, F32(2, 2, 2), (heed_normaliser)7, NULL), "normalise: 7 is not a normaliser");
    heed_mask m = heed_mask_causal(0);
    REFUSED(heed_normalise(cx, F32(1, 2), HEED_NORMALISE_SUM, &m), "normalise: a mask needs scores of 2 to 4 axes");
    m = heed_mask_window(0, 0);
    REFUSED(heed_normalise(cx, F32(2, 2, 2), HEED_NORMALISE_SUM, &m), "normalise: a window of 0 positions");
    m = heed_mask_add(F32(4, 1, 2, 3, 3));
    REFUSED(heed_normalise(cx, F32(3, 1, 3, 3), HEED_NORMALISE_SUM, &m), "normalise: a bias of shape (1,2,3,3)");
    const heed_score_opts dot = {.kind = HEED_SCORE_DOT};
#define POOL(q, k, v) heed_attention_pool(cx, q, k, v, &dot, HEED_NORMALISE_SOFTMAX, NULL, NULL)
    REFUSED(POOL(F32(2, 3, 4), F32(2, 5, 4), F32(2, 4, 4)), "weights of shape (3,5) and values of shape (4,4)");
    REFUSED(POOL(F32(2, 3, 4), F32(2, 5, 4), NULL), "pool_values: ");
    REFUSED(POOL(NULL, F32(2, 5, 4), F32(2, 5, 4)), "attention_pool: the queries are NULL");
    REFUSED(POOL(F32(3, 1, 3, 4), F32(2, 5, 4), F32(2, 5, 4)), "attention_pool: queries of shape (1,3,4)");
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hidden_scores),     cmocka_unit_test(test_hidden_rows),
        cmocka_unit_test(test_partly_hidden_key), cmocka_unit_test(test_tip_of_triangle),
        cmocka_unit_test(test_additive_memory),   cmocka_unit_test(test_wrong_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
