/* Capture: the outputs do not change by a bit, rows are the weights of the plain formula and sum to 1, what was asked
 * for comes and nothing else, under the cap; wrong requests, refused memory, contexts closed on the way. */
#include "attention/attention_test.h"

enum { B = 2, TQ = 9, TK = 12, H = 4, G = 2, D = 6 };

struct scene {
    heed_tensor *q, *k, *v;
    heed_attention_opts o;
};

static struct scene scene_new(heed_ctx *cx, int64_t queries) {
    heed_tensor *lengths = heed_from_i32(cx, (int32_t[]){TK, 5}, 1, SHAPE(B));
    struct scene s = {.q = normals(cx, 1, B, queries, H, D),
                      .k = normals(cx, 2, B, TK, G, D),
                      .v = normals(cx, 3, B, TK, G, D),
                      .o = {.mask = heed_mask_both(cx, heed_mask_causal(2), heed_mask_lengths(lengths, NULL)),
                            .alibi = true,
                            .site = "decoder",
                            .layer = 3}};
    return s;
}

static heed_tensor *scene_run(heed_ctx *cx, const struct scene *s) {
    return heed_attention(cx, s->q, s->k, s->v, &s->o);
}

/* The formula in double. */
static void plain_row(heed_ctx *cx, const struct scene *s, int64_t b, int64_t h, int64_t i, double w[TK]) {
    const int64_t queries = heed_dim(s->q, 1), lengths[] = {TK, 5};
    const float *q = heed_f32(s->q) + ((b * queries + i) * H + h) * D;
    float slopes[H];
    double top = -HUGE_VAL, sum = 0;
    assert_true(heed_alibi_slopes(cx, H, slopes));
    for (int64_t j = 0; j < TK; j++) {
        const float *k = heed_f32(s->k) + ((b * TK + j) * G + h / (H / G)) * D;
        w[j] = -(double)slopes[h] * fabs((double)(i + 2 - j));
        for (int64_t c = 0; c < D; c++) w[j] += (double)q[c] * (double)k[c] / sqrt(D);
        if (j > i + 2 || j >= lengths[b]) w[j] = -HUGE_VAL;
        top = w[j] > top ? w[j] : top;
    }
    for (int64_t j = 0; j < TK; j++) sum += w[j] = exp(w[j] - top);
    for (int64_t j = 0; j < TK; j++) w[j] /= sum;
}

static void check_row(heed_ctx *cx, const struct scene *s, int64_t b, int64_t h, int64_t i, const float *got) {
    double want[TK], sum = 0;
    plain_row(cx, s, b, h, i, want);
    for (int64_t j = 0; j < TK; j++) {
        if (!(fabs((double)got[j] - want[j]) <= 1e-6))
            fail_msg("sequence %d head %d row %d key %d: %g, not %g", (int)b, (int)h, (int)i, (int)j, (double)got[j],
                     want[j]);
        if (want[j] == 0) assert_true(got[j] == 0);
        sum += (double)got[j];
    }
    assert_true(fabs(sum - 1) <= 1e-6);
}

/* ---- kept ---- */

static void check_map(heed_ctx *cx, const struct scene *s, const int64_t *heads, int64_t n_heads, const int64_t *rows,
                      int64_t n_rows) {
    assert_int_equal(heed_capture_count(cx), 1);
    const heed_capture_map *m = heed_capture_at(cx, 0);
    assert_string_equal(m->site, "decoder");
    assert_int_equal(m->layer, 3);
    assert_true(m->batch == B && m->heads == n_heads && m->rows == n_rows && m->keys == TK);
    const float *w = m->weights;
    for (int64_t b = 0; b < B; b++)
        for (int64_t h = 0; h < n_heads; h++)
            for (int64_t i = 0; i < n_rows; i++, w += TK)
                check_row(cx, s, b, heads ? heads[h] : h, rows ? rows[i] : i, w);
}

/* By strips and row by row; all, or heads and rows in an order of one's own, some twice. */
static void test_kept(void **state) {
    (void)state;
    static const int64_t heads[] = {3, 0, 3}, rows[] = {2, 0, 1, 2};
    heed_ctx *cx = open_context();
    for (int n = 0; n < 8; n++) {
        const int64_t queries = n & 1 ? TQ : 3;
        const struct scene s = scene_new(cx, queries);
        heed_tensor *plain = scene_run(cx, &s);
        const heed_capture_opts o = {
            .heads = n & 2 ? heads : NULL, .n_heads = 3, .rows = n & 4 ? rows : NULL, .n_rows = 4};
        assert_true(heed_capture_begin(cx, &o));
        assert_int_equal(heed_capture_count(cx), 0);
        assert_true(same_bits(cx, plain, scene_run(cx, &s)));
        check_map(cx, &s, o.heads, o.heads ? 3 : H, o.rows, o.rows ? 4 : queries);
        assert_null(heed_capture_at(cx, 1));
        assert_null(heed_capture_at(cx, -1));
        heed_capture_end(cx);
        assert_int_equal(heed_capture_count(cx), 0);
        assert_true(same_bits(cx, plain, scene_run(cx, &s)));
        heed_reset(cx);
    }
    assert_int_equal(heed_capture_count(NULL), 0);
    heed_capture_end(NULL);
    close_context(cx);
}

/* Every golden case: the same bits with capture and without, and rows that sum to 1 or to 0; the weights times the
 * values are y. */
static void check_case(heed_ctx *cx, const struct golden_case *c) {
    heed_tensor *in[MAX_CASE_IN];
    assert_true(golden_leaves(cx, c, in));
    heed_tensor *plain = run_case(cx, c, in);
    assert_true(heed_capture_begin(cx, NULL));
    heed_tensor *y = run_case(cx, c, in);
    if (!same_bits(cx, plain, y)) golden_wrong(c->name, "other bits while captured");
    const heed_capture_map *m = heed_capture_at(cx, 0);
    const bool packed = in[QUERY_OFFSETS] != NULL;
    const int64_t size = heed_dim(y, -1), group = heed_dim(in[Q], -2) / heed_dim(in[K], -2);
    for (int64_t r = 0; r < m->batch * m->heads * m->rows; r++) {
        const int64_t i = r % m->rows, h = r / m->rows % m->heads, b = r / m->rows / m->heads;
        const float *w = m->weights + r * m->keys;
        const int32_t *q_at = packed ? heed_i32(in[QUERY_OFFSETS]) : NULL,
                      *k_at = packed ? heed_i32(in[KEY_OFFSETS]) : NULL;
        const int64_t row = packed ? q_at[b] + i : b * m->rows + i, key = packed ? k_at[b] : b * m->keys;
        const bool real = !packed || row < q_at[b + 1];
        double sum = 0;
        for (int64_t j = 0; j < m->keys; j++) sum += (double)w[j];
        if (!(sum == 0 || (real && fabs(sum - 1) <= 2e-6))) golden_wrong(c->name, "a row sums to %.9g", sum);
        for (int64_t e = 0; real && e < size; e++) {
            double mean = 0;
            for (int64_t j = 0; j < m->keys; j++)
                if (w[j] != 0)
                    mean +=
                        (double)w[j] * (double)heed_f32(in[V])[((key + j) * (m->heads / group) + h / group) * size + e];
            if (!(fabs(mean - (double)heed_f32(y)[(row * m->heads + h) * size + e]) <= 5e-6))
                golden_wrong(c->name, "the weights of row %d do not give its result", (int)i);
        }
    }
    heed_capture_end(cx);
    heed_reset(cx);
}

static void test_golden_cases(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    for (int n = 0; n < n_cases; n++) check_case(cx, &cases[n]);
    assert_int_equal(golden_wrongs(), 0);
    close_context(cx);
}

/* Weights are those before dropout, and dropout is the same with and without capture, also on the way back. */
static void test_dropout(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_set_training(cx, true);
    float *first[2] = {NULL, NULL};
    for (int capture = 0; capture < 2; capture++) {
        struct scene s = scene_new(cx, TQ);
        heed_set_step(cx, 4);
        s.o.dropout = 0.5f;
        heed_want_grad(cx, s.q);
        if (capture) assert_true(heed_capture_begin(cx, NULL));
        heed_tensor *y = heed_keep(cx, scene_run(cx, &s));
        if (capture) check_map(cx, &s, NULL, H, NULL, TQ);
        assert_true(heed_backward_from(cx, y, normals(cx, 7, B, TQ, H, D)));
        float *now[2] = {copy_of(cx, y), copy_of(cx, heed_grad_of(cx, s.q))};
        for (int i = 0; i < 2; i++) {
            if (first[i]) assert_memory_equal(first[i], now[i], B * TQ * H * D * sizeof(float));
            free(first[i]);
            first[i] = now[i];
        }
        heed_reset(cx);
    }
    free(first[0]), free(first[1]);
    heed_capture_end(cx);
    close_context(cx);
}

/* ---- which ones ---- */

static void test_sites_and_layers(void **state) {
    (void)state;
    static const char *const sites[] = {"encoder", "decoder", NULL};
    heed_ctx *cx = open_context();
    heed_tensor *x = normals(cx, 1, 1, 3, 1, 4);
    char chosen[] = "encoder";
    int layers[] = {2, 0};
    for (int kind = 0; kind < 4; kind++) {
        const heed_capture_opts o = {
            .site = kind & 1 ? chosen : NULL, .layers = kind & 2 ? layers : NULL, .n_layers = 2};
        assert_true(heed_capture_begin(cx, &o));
        chosen[0] = 'X', layers[0] = 77; /* the lists were copied */
        int wanted = 0;
        for (int layer = 0; layer < 5; layer++)
            for (int i = 0; i < 3; i++) {
                assert_non_null(heed_attention(cx, x, x, x, &(heed_attention_opts){.site = sites[i], .layer = layer}));
                wanted += (!(kind & 1) || i == 0) && (!(kind & 2) || layer == 0 || layer == 2);
                assert_int_equal(heed_capture_count(cx), wanted);
            }
        for (int i = 0, at = 0; i < 15; i++) { /* in the order in which they ran */
            const int layer = i / 3;
            if (((kind & 1) && i % 3 != 0) || ((kind & 2) && layer != 0 && layer != 2)) continue;
            const heed_capture_map *m = heed_capture_at(cx, at++);
            assert_int_equal(m->layer, layer);
            assert_string_equal(m->site, sites[i % 3] ? sites[i % 3] : "attention");
        }
        heed_capture_end(cx);
        chosen[0] = 'e', layers[0] = 2;
    }
    heed_reset(cx);
    close_context(cx);
}

/* What is chosen and never runs is said at the end. */
static void test_nothing_met(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const heed_attention_opts encoder = {.site = "encoder", .layer = 1}, cross = {.site = "cross", .layer = 4};
    const struct {
        heed_capture_opts opts;
        bool runs;
        const char *sentence;
    } wrong[] = {
        {{.site = "decoder"}, true, "capture: there was no attention 'decoder'; what ran: encoder cross"},
        {{.site = "encoder"}, false, "capture: there was no attention 'encoder'; what ran: none"},
        {{.layers = (int[]){1, 7}, .n_layers = 2}, true, "capture: there was no layer 7; the last is 4"},
        {{.site = "encoder", .layers = (int[]){4}, .n_layers = 1}, true, "there was no layer 4; the last is 1"},
        {{.layers = (int[]){0}, .n_layers = 1}, false, "capture: layer 0: no attention ran"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        heed_tensor *x = normals(cx, 1, 1, 3, 1, 4);
        assert_true(heed_capture_begin(cx, &wrong[i].opts));
        if (wrong[i].runs) assert_true(heed_attention(cx, x, x, x, &encoder) && heed_attention(cx, x, x, x, &cross));
        assert_false(heed_failed(cx));
        REFUSED(heed_capture_end(cx), wrong[i].sentence);
        assert_int_equal(heed_capture_count(cx), 0);
    }
    assert_true(heed_capture_begin(cx, NULL) && heed_capture_end(cx)); /* everything may be nothing */
    assert_true(heed_capture_end(cx));
    close_context(cx);
}

/* ---- streamed ---- */

struct seen {
    heed_ctx *cx;
    const struct scene *s;
    const heed_capture_opts *o;
    int64_t rows;
};

/* They come in order: sequences, heads as listed, rows as listed. */
static void see_row(void *user, const heed_captured *row) {
    struct seen *seen = user;
    const heed_capture_opts *o = seen->o;
    const int64_t heads = o->heads ? o->n_heads : H, rows = o->rows ? o->n_rows : TQ;
    const int64_t i = seen->rows % rows, h = seen->rows / rows % heads;
    assert_string_equal(row->site, "decoder");
    assert_true(row->layer == 3 && row->keys == TK);
    assert_int_equal(row->batch, seen->rows / rows / heads);
    assert_int_equal(row->head, o->heads ? o->heads[h] : h);
    assert_int_equal(row->row, o->rows ? o->rows[i] : i);
    check_row(seen->cx, seen->s, row->batch, row->head, row->row, row->weights);
    seen->rows++;
}

/* Caps from one row on: every row comes, and no more than the cap is ever held. */
static void test_streamed(void **state) {
    (void)state;
    static const int64_t heads[] = {2, 1}, rows[] = {8, 1, 2, 3, 0, 0, 5};
    heed_ctx *cx = open_context();
    const struct scene s = scene_new(cx, TQ);
    heed_tensor *plain = scene_run(cx, &s);
    int n = 0;
    for (size_t cap = TK * sizeof(float); cap < 12 * TK * sizeof(float); cap += 28, n++) {
        heed_capture_opts o = {.n_heads = 2, .n_rows = 7, .byte_cap = cap, .fn = see_row};
        if (n & 1) o.heads = heads;
        if (n & 2) o.rows = rows;
        struct seen seen = {.cx = cx, .s = &s, .o = &o};
        o.user = &seen;
        assert_true(heed_capture_begin(cx, &o));
        heed_memory_reset_peak(cx);
        const size_t held = heed_memory_use(cx).held;
        assert_true(same_bits(cx, plain, scene_run(cx, &s)));
        assert_true(heed_memory_use(cx).held_peak <= held + cap + 128);
        assert_int_equal(seen.rows, B * (o.heads ? 2 : H) * (o.rows ? 7 : TQ));
        assert_int_equal(heed_capture_count(cx), 0); /* nothing is kept */
        heed_capture_end(cx);
    }
    heed_reset(cx);
    close_context(cx);
}

/* ---- the cache ---- */

static void test_cache(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_cache *c = heed_cache_new(cx, &(heed_cache_opts){1, B, G, D, D, HEED_CACHE_GROWING, 1});
    const struct scene s = scene_new(cx, 3);
    const heed_attention_opts o = {.mask = heed_mask_causal(0), .site = "self", .layer = 1};
    assert_true(heed_cache_append(cx, c, 0, s.k, s.v, (int32_t[]){TK, 5}));
    assert_true(
        heed_cache_append(cx, c, 0, heed_slice(cx, s.k, 1, 0, 3), heed_slice(cx, s.v, 1, 0, 3), (int32_t[]){3, 2}));
    heed_tensor *plain = heed_cache_attend(cx, c, 0, s.q, &o);
    assert_true(heed_capture_begin(cx, NULL));
    assert_true(same_bits(cx, plain, heed_cache_attend(cx, c, 0, s.q, &o)));
    const heed_capture_map *m = heed_capture_at(cx, 0);
    assert_string_equal(m->site, "self");
    assert_true(m->layer == 1 && m->batch == B && m->heads == H && m->rows == 3 && m->keys == TK + 3);
    for (int64_t r = 0; r < B * H * 3; r++) {
        const int64_t b = r / (3 * H), i = r % 3, sees = b == 0 ? TK + 1 + i : 6 + i;
        double sum = 0;
        for (int64_t j = 0; j < TK + 3; j++) {
            const float w = m->weights[r * (TK + 3) + j];
            assert_int_equal(w > 0, j < sees && !(b == 1 && i == 2)); /* the second sequence had two new positions */
            sum += (double)w;
        }
        assert_true(fabs(sum - (b == 1 && i == 2 ? 0 : 1)) <= 1e-6);
    }
    heed_capture_end(cx);
    heed_reset(cx);
    heed_cache_free(cx, c);
    close_context(cx);
}

/* ---- wrong requests ---- */

static void ignore(void *user, const heed_captured *row) { (void)user, (void)row; }

static bool refused_run(heed_ctx *cx, const heed_capture_opts *o) {
    const struct scene s = scene_new(cx, TQ);
    assert_true(heed_capture_begin(cx, o));
    return scene_run(cx, &s) != NULL;
}

static void test_wrong_requests(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    const int64_t n[] = {0, H, TQ, -1};
#define RUN(...) (heed_capture_end(cx), refused_run(cx, &(heed_capture_opts){__VA_ARGS__}))
    REFUSED(RUN(.heads = n, .n_heads = 2), "capture: head 4: decoder layer 3 has heads 0 to 3");
    REFUSED(RUN(.heads = n + 3, .n_heads = 1), "capture: head -1: decoder layer 3");
    REFUSED(RUN(.rows = n, .n_rows = 3), "capture: row 9: decoder layer 3 has rows 0 to 8");
    REFUSED(RUN(.rows = n + 3, .n_rows = 1), "capture: row -1");
    REFUSED(
        RUN(.byte_cap = B * H * TQ * TK * 4 - 1),
        "capture: decoder layer 3 would make it 3456 bytes, the cap is 3455; ask for fewer heads or rows, or stream");
    REFUSED(RUN(.byte_cap = TK * 4 - 1, .fn = ignore),
            "capture: a row of decoder layer 3 takes 48 bytes, the cap is 47");
    assert_true(RUN(.byte_cap = B * H * TQ * TK * 4)); /* to the last byte */
    const struct scene s = scene_new(cx, TQ);
    REFUSED(scene_run(cx, &s), "capture: decoder layer 3 would make it 6912 bytes, the cap is 3456");
    assert_int_equal(heed_capture_count(cx), 1); /* what was kept before stays */
    REFUSED(heed_capture_begin(cx, NULL), "capture: it has begun already");
    assert_int_equal(heed_capture_count(cx), 1);
    heed_capture_end(cx);
    heed_capture_end(cx);
    REFUSED(heed_capture_begin(cx, &(heed_capture_opts){.heads = n}), "capture: a list of no heads");
    REFUSED(heed_capture_begin(cx, &(heed_capture_opts){.rows = n}), "capture: a list of no rows");
    REFUSED(heed_capture_begin(cx, &(heed_capture_opts){.layers = (int[]){1}, .n_layers = -1}),
            "capture: a list of no layers");
    assert_false(heed_capture_begin(NULL, NULL));
    close_context(cx);
}

/* A plan captures nothing; a context closed while capturing leaks nothing. */
static void test_dry_and_closed(void **state) {
    (void)state;
    heed_ctx *cx = heed_open(&(heed_config){.threads = 1, .dry = true});
    assert_true(heed_capture_begin(cx, NULL));
    struct scene s = scene_new(cx, TQ);
    assert_non_null(scene_run(cx, &s));
    assert_int_equal(heed_capture_count(cx), 0);
    heed_close(cx);
    cx = open_context();
    assert_true(heed_capture_begin(cx, &(heed_capture_opts){.site = "decoder", .layers = (int[]){3}, .n_layers = 1}));
    s = scene_new(cx, TQ);
    for (int i = 0; i < 20; i++) assert_non_null(scene_run(cx, &s));
    assert_int_equal(heed_capture_count(cx), 20);
    close_context(cx);
}

static bool session(heed_ctx *cx, bool stream) {
    const int64_t first[] = {0, 1};
    const heed_capture_opts o = {.site = "decoder",
                                 .layers = (int[]){3},
                                 .n_layers = 1,
                                 .heads = first,
                                 .n_heads = 2,
                                 .rows = first,
                                 .n_rows = 2,
                                 .fn = stream ? ignore : NULL};
    if (!heed_capture_begin(cx, &o)) return false;
    const struct scene s = scene_new(cx, TQ);
    for (int i = 0; i < 10; i++)
        if (!scene_run(cx, &s)) return false;
    heed_cache *c = heed_cache_new(cx, &(heed_cache_opts){1, B, G, D, D, HEED_CACHE_FIXED, TK});
    const bool good = c && heed_cache_append(cx, c, 0, s.k, s.v, NULL) &&
                      heed_cache_attend(cx, c, 0, s.q, &(heed_attention_opts){.site = "decoder", .layer = 3});
    heed_cache_free(cx, c);
    return good && heed_capture_count(cx) == (stream ? 0 : 11);
}

/* A capture that an earlier try has left is ended first. */
static bool kept_session(heed_ctx *cx) {
    heed_capture_end(cx);
    return session(cx, false);
}

static bool streamed_session(heed_ctx *cx) {
    heed_capture_end(cx);
    return session(cx, true);
}

static void test_no_memory(void **state) {
    (void)state;
    starve_step(kept_session, 9);
    starve_step(streamed_session, 9);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kept),           cmocka_unit_test(test_golden_cases),
        cmocka_unit_test(test_dropout),        cmocka_unit_test(test_sites_and_layers),
        cmocka_unit_test(test_streamed),       cmocka_unit_test(test_cache),
        cmocka_unit_test(test_wrong_requests), cmocka_unit_test(test_dry_and_closed),
        cmocka_unit_test(test_no_memory),      cmocka_unit_test(test_nothing_met),
    };
    return cmocka_run_group_tests(tests, open_cases, close_cases);
}
