/* The kernel on plain arrays: the numbers of heed_attention, whatever the layout; the log-sum-exp of the formula; gaps
 * are left alone; wrong use. */
#include "attention/attention_test.h"

enum { B = 2, TQ = 7, TK = 10, H = 4, G = 2, D = 5, E = 6, GAP = 3 };

/* Heads in time, time in heads, and with gaps between heads and rows. */
enum { HEADS_IN_TIME, TIME_IN_HEADS, GAPS, LAYOUTS };

static heed_strides layout(int kind, int64_t time, int64_t heads, int64_t size) {
    if (kind == TIME_IN_HEADS) return (heed_strides){time * heads * size, size, time * size};
    const int64_t head = size + (kind == GAPS ? GAP : 0), row = heads * head + (kind == GAPS ? 1 : 0);
    return (heed_strides){time * row, row, head};
}

#define ROOM 4096 /* floats: enough for any of the arrays, gaps and all */

struct arrays {
    float q[ROOM], k[ROOM], v[ROOM], y[ROOM], lse[B * H * TQ];
};

/* From (B,T,H,D) to the layout, NaN in the gaps; or back. */
static void spread(float *out, const float *x, heed_strides at, int64_t time, int64_t heads, int64_t size) {
    for (int64_t i = 0; i < ROOM; i++) out[i] = NAN;
    for (int64_t i = 0; i < B * time * heads * size; i++) {
        const int64_t c = i % size, h = i / size % heads, t = i / size / heads % time, b = i / size / heads / time;
        out[b * at.batch + t * at.time + h * at.head + c] = x[i];
    }
}

static heed_attention_arrays describe(struct arrays *a, int kind, int64_t queries) {
    return (heed_attention_arrays){.batch = B,
                                   .heads = H,
                                   .kv_heads = G,
                                   .queries = queries,
                                   .keys = TK,
                                   .key_size = D,
                                   .value_size = E,
                                   .q = a->q,
                                   .k = a->k,
                                   .v = a->v,
                                   .q_at = layout(kind, queries, H, D),
                                   .k_at = layout(kind, TK, G, D),
                                   .v_at = layout(kind, TK, G, E),
                                   .y = a->y,
                                   .y_at = layout(kind, queries, H, E),
                                   .lse = a->lse};
}

/* The same options for both calls. */
enum { PLAIN, SCALED, CAUSAL, WINDOW, KEY_LENGTH, BOTH_LENGTHS, KEPT, ADDED, SLOPES, ALL, KINDS };

struct numbers {
    int32_t key_lengths[B], query_lengths[B];
    uint8_t keep[B * TK];
    float add[H * TQ * TK], slopes[H];
};

static void fill(struct numbers *n, int64_t queries) {
    *n = (struct numbers){.key_lengths = {TK, 3}, .query_lengths = {(int32_t)queries, 1}};
    for (int i = 0; i < B * TK; i++) n->keep[i] = heed_random_bits(3, 4, (uint64_t)i) % 3 != 0;
    heed_random_normal(3, 5, 0, n->add, H * TQ * TK);
    n->add[3] = -INFINITY;
}

static heed_attention_opts options(heed_ctx *cx, heed_attention_arrays *a, struct numbers *n, int kind) {
    heed_attention_opts o = {0};
    const int64_t queries = a->queries;
    const bool all = kind == ALL;
    if (kind == SCALED || all) a->scale = o.scale = 0.7f;
    if (kind == CAUSAL || all) a->causal = o.mask.causal = true;
    if (kind == WINDOW || all) a->window = o.mask.window = 4, o.mask.windowed = true;
    if (kind == CAUSAL || kind == WINDOW || all) a->offset = o.mask.offset = 2;
    if (kind == KEY_LENGTH || kind == BOTH_LENGTHS || all)
        a->key_lengths = n->key_lengths, o.mask.key_lengths = heed_from_i32(cx, n->key_lengths, 1, SHAPE(B));
    if (kind == BOTH_LENGTHS || all)
        a->query_lengths = n->query_lengths, o.mask.query_lengths = heed_from_i32(cx, n->query_lengths, 1, SHAPE(B));
    if (kind == KEPT || all)
        a->keep = n->keep, a->keep_batch = TK, o.mask.keep = heed_from_u8(cx, n->keep, 4, SHAPE(B, 1, 1, TK));
    if (kind == ADDED || all) {
        a->add = n->add, a->add_head = queries * TK, a->add_query = TK;
        o.mask.add = heed_from_f32(cx, n->add, 4, SHAPE(1, H, queries, TK));
    }
    if (kind == SLOPES || all) {
        assert_true(heed_alibi_slopes(cx, H, n->slopes));
        a->slopes = n->slopes, o.alibi = true;
    }
    return o;
}

static void test_layouts(void **state) {
    (void)state;
    static struct arrays a;
    static float y[ROOM];
    heed_ctx *cx = open_context();
    for (int n = 0; n < LAYOUTS * KINDS * 2; n++) {
        const int kind = n / 2 % KINDS, how = n / 2 / KINDS;
        const int64_t queries = n % 2 ? TQ : 3; /* by strips, and row by row */
        struct numbers of;
        heed_attention_arrays call = describe(&a, how, queries);
        fill(&of, queries);
        const heed_attention_opts o = options(cx, &call, &of, kind);
        heed_tensor *q = normals(cx, 1, B, queries, H, D), *k = normals(cx, 2, B, TK, G, D),
                    *v = normals(cx, 3, B, TK, G, E);
        spread(a.q, heed_f32(q), call.q_at, queries, H, D);
        spread(a.k, heed_f32(k), call.k_at, TK, G, D);
        spread(a.v, heed_f32(v), call.v_at, TK, G, E);
        spread(a.y, NULL, call.y_at, 0, H, E);
        const heed_tensor *want = heed_attention(cx, q, k, v, &o);
        spread(y, heed_f32(want), call.y_at, queries, H, E);
        if (!heed_attention_run(cx, &call)) fail_msg("%s", heed_message(cx));
        assert_memory_equal(a.y, y, sizeof y); /* the same bits, and NaN still in the gaps */
        memset(a.y, 0, sizeof a.y);
        call.lse = NULL;
        assert_true(heed_attention_run(cx, &call));
        for (int i = 0; i < ROOM; i++) assert_true(isnan(y[i]) ? a.y[i] == 0 : a.y[i] == y[i]);
        heed_reset(cx);
    }
    close_context(cx);
}

/* log of the sum of exp(score), by the formula in double; -inf where nothing is seen. */
static void test_lse(void **state) {
    (void)state;
    static struct arrays a;
    heed_ctx *cx = open_context();
    for (int64_t queries = 3; queries <= TQ; queries += 4) {
        heed_attention_arrays call = describe(&a, HEADS_IN_TIME, queries);
        const int32_t key_lengths[] = {TK, 0}, query_lengths[] = {(int32_t)queries - 1, (int32_t)queries};
        call.causal = true, call.key_lengths = key_lengths, call.query_lengths = query_lengths;
        heed_random_normal(7, 1, 0, a.q, ROOM);
        heed_random_normal(7, 2, 0, a.k, ROOM);
        heed_random_normal(7, 3, 0, a.v, ROOM);
        assert_true(heed_attention_run(cx, &call));
        for (int64_t r = 0; r < B * H * queries; r++) {
            const int64_t i = r % queries, h = r / queries % H, b = r / queries / H;
            double sum = 0;
            for (int64_t j = 0; j <= i && b == 0 && i < queries - 1; j++) {
                double s = 0;
                for (int64_t c = 0; c < D; c++)
                    s += (double)a.q[((b * queries + i) * H + h) * D + c] *
                         (double)a.k[((b * TK + j) * G + h / 2) * D + c];
                sum += exp(s / sqrt(D));
            }
            if (sum == 0)
                assert_true(a.lse[r] == -INFINITY);
            else
                assert_true(fabs((double)a.lse[r] - log(sum)) <= 1e-5);
        }
    }
    close_context(cx);
}

static void test_nothing_and_plans(void **state) {
    (void)state;
    static struct arrays a;
    heed_ctx *cx = open_context();
    for (int kind = 0; kind < 4; kind++) {
        heed_attention_arrays call = describe(&a, HEADS_IN_TIME, TQ);
        if (kind == 0) call.batch = 0;
        if (kind == 1) call.heads = 0;
        if (kind == 2) call.queries = 0;
        if (kind < 3) call.q = call.k = call.v = NULL, call.y = NULL, call.lse = NULL;
        if (kind == 3) call.keys = 0, call.k = call.v = NULL;
        a.y[0] = a.y[B * TQ * H * E - 1] = 7;
        assert_true(heed_attention_run(cx, &call));
        for (int i = 0; kind == 3 && i < B * TQ * H * E; i++) assert_true(a.y[i] == 0);
        for (int i = 0; kind == 3 && i < B * TQ * H; i++) assert_true(a.lse[i] == -INFINITY);
    }
    close_context(cx);
    cx = heed_open(&(heed_config){.threads = 1, .dry = true});
    const heed_attention_arrays call = describe(&a, HEADS_IN_TIME, TQ);
    a.y[0] = a.lse[0] = 7;
    assert_true(heed_attention_run(cx, &call));
    assert_true(a.y[0] == 7 && a.lse[0] == 7);
    heed_close(cx);
}

static void test_no_memory(void **state) {
    (void)state;
    static struct arrays a;
    heed_ctx *cx = open_context();
    heed_attention_arrays call = describe(&a, HEADS_IN_TIME, TQ);
    books.fail_at = books.requests + 1;
    REFUSED(heed_attention_run(cx, &call), "memory: the allocator has no ");
    call.lse = NULL; /* without it nothing is asked for */
    books.fail_at = books.requests + 1;
    assert_true(heed_attention_run(cx, &call));
    close_context(cx);
}

static void test_wrong_use(void **state) {
    (void)state;
    static struct arrays a;
    heed_ctx *cx = open_context();
    const heed_attention_arrays good = describe(&a, HEADS_IN_TIME, TQ);
#define WRONG(change, part)                                                                                            \
    do {                                                                                                               \
        heed_attention_arrays bad = good;                                                                              \
        bad.change;                                                                                                    \
        REFUSED(heed_attention_run(cx, &bad), part);                                                                   \
    } while (0)
    REFUSED(heed_attention_run(cx, NULL), "attention_run: the arrays are NULL");
    WRONG(q = NULL, "attention_run: q, k, v or y is NULL");
    WRONG(k = NULL, "attention_run: q, k, v or y is NULL");
    WRONG(v = NULL, "attention_run: q, k, v or y is NULL");
    WRONG(y = NULL, "attention_run: q, k, v or y is NULL");
    WRONG(batch = -1, "attention_run: a size is negative");
    WRONG(heads = -2, "attention_run: a size is negative");
    WRONG(queries = -1, "attention_run: a size is negative");
    WRONG(keys = -1, "attention_run: a size is negative");
    WRONG(kv_heads = 3, "attention_run: 4 query heads cannot share 3 key heads evenly");
    WRONG(kv_heads = 0, "attention_run: 4 query heads cannot share 0 key heads evenly");
    WRONG(key_size = 0, "attention_run: heads of 0 and 6 numbers: 1 to 2048 are possible");
    WRONG(value_size = 2049, "attention_run: heads of 5 and 2049 numbers");
    WRONG(offset = -1, "attention_run: the query offset is negative");
    WRONG(offset = INT64_MAX, "attention_run: the query offset is beyond 2^30");
    WRONG(window = -1, "attention_run: the window is negative");
    WRONG(scale = NAN, "attention_run: the scale is not a number");
    const int32_t lengths[] = {1, TK + 1}, negative[] = {1, -1};
    WRONG(key_lengths = lengths, "attention_run: key length 11 of sequence 1 is not within 0 and 10");
    WRONG(query_lengths = negative, "attention_run: query length -1 of sequence 1 is not within 0 and 7");
    assert_false(heed_attention_run(NULL, &good));
    assert_true(heed_attention_run(cx, &good));
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layouts),   cmocka_unit_test(test_lse),       cmocka_unit_test(test_nothing_and_plans),
        cmocka_unit_test(test_no_memory), cmocka_unit_test(test_wrong_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
