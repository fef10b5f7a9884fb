/* Exact attention used wrongly, each with its sentence; and the list of this room's ops: none without a golden case or
 * a reason. */
#include "attention/attention_ops.h"
#include "attention/attention_test.h"
#include "tensor/engine.h"

#define F32(...)                                                                                                       \
    heed_zeros(cx, HEED_F32, (int)(sizeof(int64_t[]){__VA_ARGS__} / sizeof(int64_t)), (int64_t[]){__VA_ARGS__})
#define I32(...)                                                                                                       \
    heed_from_i32(cx, (int32_t[]){__VA_ARGS__}, 1, SHAPE((int64_t)(sizeof(int32_t[]){__VA_ARGS__} / sizeof(int32_t))))
#define OPTS(...)                                                                                                      \
    &(heed_attention_opts) { __VA_ARGS__ }
#define ATTEND(q, k, v, ...) heed_attention(cx, q, k, v, OPTS(__VA_ARGS__))

static void test_wrong_shapes(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    REFUSED(heed_attention(cx, NULL, F32(1, 1, 1, 1), F32(1, 1, 1, 1), NULL), "attention: q, k or v is NULL");
    REFUSED(heed_attention(cx, F32(1, 1, 1, 1), NULL, F32(1, 1, 1, 1), NULL), "attention: q, k or v is NULL");
    REFUSED(heed_attention(cx, F32(1, 1, 1, 1), F32(1, 1, 1, 1), NULL, NULL), "attention: q, k or v is NULL");
    REFUSED(heed_attention(cx, F32(2, 5, 3, 4), F32(2, 6, 2, 4), F32(2, 6, 2, 4), NULL),
            "attention: 3 query heads cannot share 2 key heads evenly");
    REFUSED(heed_attention(cx, F32(2, 5, 2, 4), F32(2, 6, 4, 4), F32(2, 6, 4, 4), NULL),
            "attention: 2 query heads cannot share 4 key heads evenly");
    REFUSED(heed_attention(cx, F32(2, 5, 2, 4), F32(2, 6, 0, 4), F32(2, 6, 0, 4), NULL),
            "attention: 2 query heads cannot share 0 key heads evenly");
    REFUSED(heed_attention(cx, F32(2, 5, 2, 4), F32(2, 6, 2, 5), F32(2, 6, 2, 5), NULL),
            "attention: q (2,5,2,4), k (2,6,2,5) and v (2,6,2,5) do not fit");
    REFUSED(heed_attention(cx, F32(2, 5, 2, 4), F32(3, 6, 2, 4), F32(3, 6, 2, 4), NULL), "do not fit");
    REFUSED(heed_attention(cx, F32(2, 5, 2, 4), F32(2, 6, 2, 4), F32(2, 7, 2, 4), NULL), "do not fit");
    REFUSED(heed_attention(cx, F32(2, 5, 2, 4), F32(2, 6, 2, 4), F32(2, 6, 1, 4), NULL), "do not fit");
    REFUSED(heed_attention(cx, F32(5, 2, 4), F32(6, 2, 4), F32(6, 2, 4), NULL),
            "attention: q (5,2,4), k (6,2,4), v (6,2,4): (batch, time, heads, size) is needed");
    REFUSED(heed_attention(cx, F32(4), F32(2, 6, 2, 4), F32(2, 6, 2, 4), NULL), "(batch, time, heads, size) is needed");
    REFUSED(heed_attention(cx, F32(2, 5, 2, 4), F32(2, 6, 2, 4), F32(6, 4), NULL), "is needed");
    REFUSED(heed_attention(cx, F32(1, 1, 1, 0), F32(1, 1, 1, 0), F32(1, 1, 1, 1), NULL),
            "attention: heads of 0 and 1 numbers: 1 to 2048 are possible");
    REFUSED(heed_attention(cx, F32(1, 1, 1, 1), F32(1, 1, 1, 1), F32(1, 1, 1, 2049), NULL),
            "attention: heads of 1 and 2049 numbers");
    REFUSED(heed_attention(cx, heed_zeros(cx, HEED_I32, 4, SHAPE(1, 1, 1, 1)), F32(1, 1, 1, 1), F32(1, 1, 1, 1), NULL),
            "attention: input 0 is i32, not f32");
    assert_null(heed_attention(NULL, NULL, NULL, NULL, NULL));
    close_context(cx);
}

static void test_wrong_options(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
#define PADDED(...) heed_attention(cx, F32(2, 5, 2, 4), F32(2, 6, 2, 4), F32(2, 6, 2, 4), OPTS(__VA_ARGS__))
    REFUSED(PADDED(.mask = heed_mask_window(0, 0)), "attention: a window of 0 positions: at least 1 is needed");
    REFUSED(PADDED(.mask = heed_mask_window(-3, 0)), "attention: a window of -3 positions");
    REFUSED(PADDED(.mask = heed_mask_blocks(0, 0)), "attention: blocks of 0 positions: at least 1 is needed");
    REFUSED(PADDED(.mask = heed_mask_causal(-1)), "attention: query offset -1 is negative");
    REFUSED(PADDED(.mask = heed_mask_causal((int64_t)1 << 40)), "is beyond 2^30");
    REFUSED(PADDED(.mask = heed_mask_keep(heed_zeros(cx, HEED_U8, 4, SHAPE(2, 2, 5, 7)))),
            "attention: a bitmap of shape (2,2,5,7) does not fit (2,2,5,6): batch, heads, queries, keys");
    REFUSED(PADDED(.mask = heed_mask_keep(heed_zeros(cx, HEED_U8, 4, SHAPE(2, 2, 5, 1)))), "a bitmap of shape");
    REFUSED(PADDED(.mask = heed_mask_keep(heed_zeros(cx, HEED_U8, 4, SHAPE(2, 3, 5, 6)))), "a bitmap of shape");
    REFUSED(PADDED(.mask = heed_mask_keep(heed_zeros(cx, HEED_U8, 2, SHAPE(5, 6)))), "a bitmap of shape (5,6)");
    REFUSED(PADDED(.mask = heed_mask_keep(F32(2, 2, 5, 6))), "attention: a bitmap of shape (2,2,5,6)");
    REFUSED(PADDED(.mask = heed_mask_add(F32(2, 2, 4, 6))), "attention: a bias of shape (2,2,4,6) does not fit");
    REFUSED(PADDED(.mask = heed_mask_add(heed_zeros(cx, HEED_U8, 4, SHAPE(2, 2, 5, 6)))), "attention: a bias of");
    REFUSED(PADDED(.mask = heed_mask_lengths(I32(1, 2, 3), NULL)),
            "attention: key lengths of shape (3) are not i32 of shape (2), one per sequence");
    REFUSED(PADDED(.mask = heed_mask_lengths(NULL, F32(2))), "attention: query lengths of shape (2) are not i32");
    REFUSED(PADDED(.mask = heed_mask_lengths(I32(6, 7), NULL)),
            "attention: key length 7 of sequence 1 is not within 0 and 6");
    REFUSED(PADDED(.mask = heed_mask_lengths(NULL, I32(-1, 2))),
            "attention: query length -1 of sequence 0 is not within 0 and 5");
    REFUSED(PADDED(.scale = NAN), "attention: the scale is not a number");
    REFUSED(PADDED(.scale = INFINITY), "attention: the scale is not a number");
    REFUSED(PADDED(.dropout = -0.1f), "attention: dropout is not within 0 and 1");
    REFUSED(PADDED(.dropout = 1.5f), "attention: dropout is not within 0 and 1");
    REFUSED(PADDED(.dropout = NAN), "attention: dropout is not within 0 and 1");
    REFUSED(PADDED(.distance_bias = F32(2, 11)),
            "attention: a distance bias of shape (2,11) does not fit (2,10): heads, distances");
    REFUSED(PADDED(.distance_bias = F32(3, 10)), "attention: a distance bias of shape (3,10)");
    REFUSED(PADDED(.distance_bias = heed_zeros(cx, HEED_I32, 2, SHAPE(2, 10))), "attention: a distance bias");
    REFUSED(PADDED(.rotary = &(heed_rotary_opts){.channels = 3}), "rotary: 3 channels of a head of 4");
    REFUSED(ATTEND(F32(1, 1, 257, 1), F32(1, 1, 1, 1), F32(1, 1, 1, 1), .alibi = true),
            "attention: ALiBi for more than 256 heads");
    close_context(cx);
}

static void test_wrong_offsets(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
#define PACKED(...) heed_attention(cx, F32(5, 2, 4), F32(6, 2, 4), F32(6, 2, 4), OPTS(__VA_ARGS__))
#define UNEVEN      "attention: packed sequences need query and key offsets, i32 of equal length"
    REFUSED(PACKED(.query_offsets = I32(0, 5)), UNEVEN);
    REFUSED(PACKED(.key_offsets = I32(0, 6)), UNEVEN);
    REFUSED(PACKED(.query_offsets = I32(0, 2, 5), .key_offsets = I32(0, 6)), UNEVEN);
    REFUSED(PACKED(.query_offsets = F32(2), .key_offsets = I32(0, 6)), UNEVEN);
    REFUSED(PACKED(.query_offsets = heed_zeros(cx, HEED_I32, 1, SHAPE(0)),
                   .key_offsets = heed_zeros(cx, HEED_I32, 1, SHAPE(0))),
            UNEVEN);
    REFUSED(PACKED(.query_offsets = I32(0, 4), .key_offsets = I32(0, 6)),
            "attention: query offsets do not rise from 0 to 5, the number of rows");
    REFUSED(PACKED(.query_offsets = I32(0, 5), .key_offsets = I32(1, 6)),
            "attention: key offsets do not rise from 0 to 6, the number of rows");
    REFUSED(PACKED(.query_offsets = I32(0, 3, 2, 5), .key_offsets = I32(0, 3, 3, 6)),
            "attention: query offsets do not rise");
    REFUSED(PACKED(.query_offsets = I32(0, 3, 5), .key_offsets = I32(0, 1000000, 6)),
            "attention: key offsets do not rise");
    REFUSED(PACKED(.query_offsets = I32(0, 5), .key_offsets = I32(0, 6), .mask.key_lengths = I32(6)),
            "attention: packed sequences take no lengths");
    REFUSED(PACKED(.query_offsets = I32(0, 5), .key_offsets = I32(0, 6), .rotary = &(heed_rotary_opts){0}),
            "attention: rotary of packed sequences needs the positions of the rows");
    REFUSED(PADDED(.query_offsets = I32(0, 5), .key_offsets = I32(0, 6)), "(rows, heads, size), with offsets,");
    close_context(cx);
}

static void test_wrong_fused(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
#define SELF(x, h, g, ...) heed_self_attention(cx, x, h, g, OPTS(__VA_ARGS__))
    REFUSED(heed_self_attention(cx, NULL, 2, 2, NULL),
            "self_attention: rows of NULL do not hold 2 query heads and twice 2 key heads");
    REFUSED(heed_self_attention(cx, F32(2, 5, 25), 2, 2, NULL),
            "self_attention: rows of (2,5,25) do not hold 2 query heads and twice 2 key heads");
    REFUSED(heed_self_attention(cx, F32(2, 5, 24), 3, 2, NULL), "do not hold 3 query heads and twice 2 key heads");
    REFUSED(heed_self_attention(cx, F32(2, 5, 24), 0, 2, NULL), "do not hold 0 query heads");
    REFUSED(heed_self_attention(cx, F32(2, 5, 24), 2, 0, NULL), "and twice 0 key heads");
    REFUSED(heed_self_attention(cx, F32(2, 5, 24), -2, -2, NULL), "do not hold -2 query heads");
    REFUSED(heed_self_attention(cx, F32(2, 5, 24), INT64_MAX, INT64_MAX, NULL), "do not hold 92233");
    REFUSED(heed_self_attention(cx, F32(2, 5, 0), 2, 2, NULL), "self_attention: rows of (2,5,0)");
    REFUSED(heed_self_attention(cx, F32(5, 24), 2, 2, NULL), "self_attention: rows of (5,24)");
    REFUSED(heed_self_attention(cx, F32(1, 2, 3 * 2049), 1, 1, NULL), "attention: heads of 2049 numbers");
    REFUSED(heed_self_attention(cx, heed_zeros(cx, HEED_I32, 3, SHAPE(2, 5, 24)), 2, 2, NULL), "is i32, not f32");
    REFUSED(SELF(F32(2, 5, 24), 2, 2, .mask = heed_mask_window(0, 0)), "attention: a window of 0 positions");
    REFUSED(SELF(F32(2, 5, 24), 2, 2, .mask = heed_mask_add(F32(1, 1, 5, 6))), "attention: a bias of shape (1,1,5,6)");
    REFUSED(SELF(F32(2, 5, 24), 2, 2, .distance_bias = F32(2, 10)), "does not fit (2,9): heads, distances");
    REFUSED(SELF(F32(5, 24), 2, 2, .query_offsets = I32(0, 5)), "attention: packed sequences need query and key");
    REFUSED(SELF(F32(5, 24), 2, 2, .query_offsets = I32(0, 5), .key_offsets = I32(0, 4)),
            "attention: key offsets do not rise from 0 to 5");
    REFUSED(SELF(F32(2, 5, 30), 2, 2, .rotary = &(heed_rotary_opts){0}), "rotary: 5 channels of a head of 5");
    assert_null(heed_self_attention(NULL, NULL, 1, 1, NULL));
    close_context(cx);
}

/* Shapes of which nothing is left. */
static void test_nothing(void **state) {
    (void)state;
    static const int64_t sizes[][4] = {/* B Tq Tk H */ {0, 3, 3, 2},
                                       {2, 0, 3, 2},
                                       {2, 3, 0, 2},
                                       {2, 3, 3, 0},
                                       {1, 0, 0, 1},
                                       {0, 0, 0, 0}};
    heed_ctx *cx = open_context();
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const int64_t B = sizes[i][0], Tq = sizes[i][1], Tk = sizes[i][2], H = sizes[i][3];
        heed_tensor *q = heed_want_grad(cx, normals(cx, 1, B, Tq, H, 4));
        heed_tensor *k = heed_want_grad(cx, normals(cx, 2, B, Tk, H, 4));
        heed_tensor *v = heed_want_grad(cx, normals(cx, 3, B, Tk, H, 5));
        heed_tensor *add = heed_want_grad(cx, normals(cx, 4, 1, 1, 1, Tk));
        heed_tensor *near = heed_want_grad(cx, F32(1, Tq + Tk > 0 ? Tq + Tk - 1 : 0));
        heed_mask m = heed_mask_both(cx, heed_mask_causal(1), heed_mask_add(add));
        heed_tensor *y = heed_keep(cx, ATTEND(q, k, v, .mask = m, .distance_bias = near));
        if (!y) fail_msg("shapes %d: %s", (int)i, heed_message(cx));
        assert_int_equal(heed_count(y), B * Tq * H * 5);
        for (int64_t n = 0; n < heed_count(y); n++) assert_true(Tk > 0 || heed_f32(y)[n] == 0);
        assert_true(heed_backward_from(cx, y, normals(cx, 5, B, Tq, H, 5)));
        heed_tensor *in[] = {q, k, v, add, near};
        for (int n = 0; n < 5; n++) {
            const float *g = heed_f32(heed_grad_of(cx, in[n]));
            assert_non_null(g);
            for (int64_t e = 0; e < heed_count(in[n]); e++) assert_true(g[e] == 0);
        }
        heed_reset(cx);
    }
    heed_tensor *none = F32(0, 2, 4);
    assert_int_equal(heed_count(ATTEND(none, none, none, .query_offsets = I32(0), .key_offsets = I32(0))), 0);
    assert_int_equal(heed_count(ATTEND(none, none, none, .query_offsets = I32(0, 0), .key_offsets = I32(0, 0))), 0);
    heed_reset(cx);
    close_context(cx);
}

/* Windows and blocks so wide that they hide nothing. */
static void test_wide(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_tensor *q = normals(cx, 1, 2, 9, 2, 4), *plain = heed_attention(cx, q, q, q, NULL);
    for (int64_t n = 9; n > 0; n = n > INT64_MAX / 8 ? n == INT64_MAX ? 0 : INT64_MAX : 8 * n) {
        assert_true(same_bits(cx, plain, ATTEND(q, q, q, .mask = heed_mask_window(n, 0))));
        assert_true(same_bits(cx, plain, ATTEND(q, q, q, .mask = heed_mask_blocks(n, 0))));
        assert_true(same_bits(cx, plain, ATTEND(q, q, q, .mask = heed_mask_window(n > 9 ? n : 18, 9))));
    }
    heed_reset(cx);
    close_context(cx);
}

/* ---- the list of ops ---- */

static heed_tensor *run_scores(heed_ctx *cx, heed_score_kind kind) {
    heed_tensor *q = heed_want_grad(cx, F32(3, 4)), *w = F32(4);
    return heed_scores(cx, q, q, &(heed_score_opts){.kind = kind, .w = w});
}
static heed_tensor *run_attention(heed_ctx *cx) {
    heed_tensor *q = heed_want_grad(cx, F32(1, 2, 1, 4));
    return heed_attention(cx, q, q, q, NULL);
}
static heed_tensor *run_rotary(heed_ctx *cx) {
    return heed_rotary(cx, heed_want_grad(cx, F32(1, 2, 1, 4)), &(heed_rotary_opts){0});
}
static heed_tensor *run_dot(heed_ctx *cx) { return run_scores(cx, HEED_SCORE_DOT); }
static heed_tensor *run_additive(heed_ctx *cx) { return run_scores(cx, HEED_SCORE_ADDITIVE); }
static heed_tensor *run_distance(heed_ctx *cx) { return run_scores(cx, HEED_SCORE_DISTANCE); }
static heed_tensor *run_pool(heed_ctx *cx) {
    heed_tensor *q = heed_want_grad(cx, F32(3, 4));
    return heed_attention_pool(cx, q, q, q, &(heed_score_opts){.kind = HEED_SCORE_DOT}, HEED_NORMALISE_SUM, NULL, NULL);
}
static heed_tensor *run_linear(heed_ctx *cx) {
    heed_tensor *q = heed_want_grad(cx, F32(1, 2, 1, 4));
    return heed_linear_attention(cx, q, q, q, NULL);
}
static heed_tensor *run_favor(heed_ctx *cx) {
    return heed_favor_features(cx, heed_want_grad(cx, F32(1, 2, 1, 4)), F32(3, 4), NULL, NULL);
}

/* By which call an op is reached, and in which golden file that call has cases. Without one: why. */
static const struct covered {
    const char *op, *file, *call, *kind;
    heed_tensor *(*run)(heed_ctx *cx);
} COVERED[] = {
    {"attention", "attention", "attention", NULL, run_attention},
    {"pair_dot", "scores", "score", "dot", run_dot},
    {"additive_score", "scores", "score", "additive", run_additive},
    {"pair_distance", "scores", "score", "distance", run_distance},
    {"pool_values", "weights", "pool", "scaled", run_pool},
    {"rotary", "positions", "rotary", NULL, run_rotary},
    {"linear_attention", "linear", "linear_attention", NULL, run_linear},
    {"favor_features", "linear", "favor_features", NULL, run_favor},
    {"chunk_attention", NULL, NULL, NULL,
     NULL}, /* by a formula in double in test_chunks.c, and in the Reformer's directories */
    {"lsh_order", NULL, NULL, NULL, NULL},       /* no gradient, an order: the same tests */
    {"cache_attention", NULL, NULL, NULL, NULL}, /* no gradient, and the numbers of attention: test_cache.c */
    {"seen", NULL, NULL, NULL, NULL}, /* no numbers, a bitmap; in every pool case with a mask, test_hidden.c */
};

static bool file_has(heed_ctx *cx, const struct covered *c) {
    const char *root = getenv("HEED_GOLDEN");
    char path[1024];
    snprintf(path, sizeof path, "%s/attention/%s.safetensors", root ? root : HEED_SOURCE_DIR "/tests/golden", c->file);
    heed_safetensors *st = heed_safetensors_open(cx, path);
    const char *text = st ? heed_safetensors_metadata(cx, st, "list") : NULL;
    assert_non_null(text);
    const heed_json all = heed_json_parse(cx, path, text, strlen(text)), found = heed_json_array(cx, all, "cases");
    bool has = false;
    for (heed_json v = heed_json_first(found); heed_json_kind_of(v) != HEED_JSON_NONE; v = heed_json_next(v))
        has |= strcmp(heed_json_text(cx, v, "op"), c->call) == 0 &&
               (!c->kind || strcmp(heed_json_text(cx, heed_json_object(cx, v, "attr"), "kind"), c->kind) == 0);
    heed_json_free(all);
    heed_safetensors_close(st);
    return has;
}

static bool tape_has(heed_ctx *cx, const heed_op *op) {
    const struct engine *e = engine_of(cx);
    bool has = false;
    for (int64_t n = 0; n < e->n_nodes; n++) has |= e->nodes[n]->call.op == op;
    return has;
}

static void test_every_op_is_covered(void **state) {
    (void)state;
    static const heed_op *const ops[] = {
#define OP(name) &op_##name,
#include "attention/attention_ops.def"
#undef OP
    };
    heed_ctx *cx = open_context();
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        const struct covered *c = NULL;
        for (size_t k = 0; k < sizeof COVERED / sizeof *COVERED; k++)
            if (strcmp(COVERED[k].op, ops[i]->name) == 0) c = &COVERED[k];
        if (!c) fail_msg("%s: no golden case, and no reason why", ops[i]->name);
        assert_non_null(ops[i]->infer);
        assert_int_equal(!ops[i]->backward, (ops[i]->flags & HEED_OP_NONDIFF) != 0);
        if (!c->file) continue;
        assert_non_null(c->run(cx));
        if (!tape_has(cx, ops[i])) fail_msg("%s: its call does not reach it", c->op);
        if (!file_has(cx, c)) fail_msg("%s: no golden case of %s", c->op, c->call);
        heed_reset(cx);
    }
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wrong_shapes),
        cmocka_unit_test(test_wrong_options),
        cmocka_unit_test(test_wrong_offsets),
        cmocka_unit_test(test_wrong_fused),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_wide),
        cmocka_unit_test(test_every_op_is_covered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
