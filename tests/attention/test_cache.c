/* Attention over the key-value cache is attention: prefill and then token by token gives what the whole sequence gives
 * at once, for every kind of cache and option; beams, cross attention, plans, refused memory, wrong use. What the cache
 * stores is tested in test_cache_storage.c. */
#include "attention/attention_test.h"

enum { B = 3, TOTAL = 37, H = 4, G = 2, D = 8, E = 6 };

static uint64_t drawn;
static int64_t draw(int64_t below) { return (int64_t)(heed_random_bits(59, 0, drawn++) % (uint32_t)below); }

struct way {
    const char *name;
    heed_cache_kind kind;
    int64_t capacity, window;                      /* window 0: none */
    bool alibi, turned, t5, unequal, leave_window; /* leave_window: a sliding cache knows it without being told */
};

struct numbers { /* of all sequences and positions: (B,TOTAL,H,D), (B,TOTAL,G,D), (B,TOTAL,G,E); y (B,TOTAL,H,E) */
    float *q, *k, *v, *y;
};

static float *made(uint64_t stream, int64_t n) {
    float *x = malloc((size_t)n * sizeof(float));
    heed_random_normal(61, stream, 0, x, n);
    return x;
}

static heed_tensor *table_of(heed_ctx *cx) {
    float *x = made(9, 8 * H);
    heed_tensor *t = heed_from_f32(cx, x, 2, SHAPE(8, H));
    free(x);
    return t;
}

/* The whole at once. */
static struct numbers numbers_new(heed_ctx *cx, const struct way *w) {
    struct numbers n = {made(1, B * TOTAL * H * D), made(2, B * TOTAL * G * D), made(3, B * TOTAL * G * E), NULL};
    heed_attention_opts o = {.mask = heed_mask_causal(0), .alibi = w->alibi};
    const heed_rotary_opts turn = {0};
    if (w->window) o.mask = heed_mask_both(cx, o.mask, heed_mask_window(w->window, 0));
    if (w->turned) o.rotary = &turn;
    if (w->t5) o.distance_bias = heed_t5_bias(cx, table_of(cx), TOTAL, TOTAL, 0, false, 20);
    heed_tensor *y = heed_attention(cx, heed_from_f32(cx, n.q, 4, SHAPE(B, TOTAL, H, D)),
                                    heed_from_f32(cx, n.k, 4, SHAPE(B, TOTAL, G, D)),
                                    heed_from_f32(cx, n.v, 4, SHAPE(B, TOTAL, G, E)), &o);
    if (!y) fail_msg("%s: %s", w->name, heed_message(cx));
    n.y = copy_of(cx, y);
    heed_reset(cx);
    return n;
}

static void numbers_free(struct numbers *n) { free(n->q), free(n->k), free(n->v), free(n->y); }

/* Positions at[b] .. at[b] + count[b] of x, and NaN where a sequence has fewer than `time`. */
static heed_tensor *taken(heed_ctx *cx, const float *x, const int64_t *at, const int32_t *count, int64_t time,
                          int64_t heads, int64_t size) {
    const int64_t row = heads * size;
    float *some = malloc((size_t)(B * time * row) * sizeof(float) + 1);
    for (int64_t i = 0; i < B * time * row; i++) {
        const int64_t b = i / row / time, t = i / row % time;
        some[i] = t < count[b] ? x[(b * TOTAL + at[b] + t) * row + i % row] : NAN;
    }
    heed_tensor *t = heed_from_f32(cx, some, 4, SHAPE(B, time, heads, size));
    free(some);
    return t;
}

/* Keys are turned before they are appended, each at its own position. */
static heed_tensor *turned(heed_ctx *cx, heed_tensor *k, const int64_t *at) {
    const int64_t time = heed_dim(k, 1);
    int32_t *positions = malloc((size_t)(B * time) * sizeof(int32_t) + 1);
    for (int64_t i = 0; i < B * time; i++) positions[i] = (int32_t)(at[i / time] + i % time);
    heed_tensor *t =
        heed_rotary(cx, k, &(heed_rotary_opts){.positions = heed_from_i32(cx, positions, 2, SHAPE(B, time))});
    free(positions);
    return t;
}

static heed_tensor *step(heed_ctx *cx, heed_cache *c, const struct way *w, const struct numbers *n, const int64_t *at,
                         const int32_t *count, int64_t time) {
    heed_tensor *k = taken(cx, n->k, at, count, time, G, D), *v = taken(cx, n->v, at, count, time, G, E);
    if (w->turned) k = turned(cx, k, at);
    if (!heed_cache_append(cx, c, 0, k, v, w->unequal ? count : NULL)) return NULL;
    const heed_rotary_opts turn = {0};
    heed_attention_opts o = {.mask = heed_mask_causal(0), .alibi = w->alibi, .rotary = w->turned ? &turn : NULL};
    if (w->window && !w->leave_window) o.mask = heed_mask_both(cx, o.mask, heed_mask_window(w->window, 0));
    if (w->t5) {
        int64_t longest = 0;
        for (int64_t b = 0; b < B; b++) longest = at[b] + count[b] > longest ? at[b] + count[b] : longest;
        o.distance_bias = heed_t5_bias(cx, table_of(cx), time, longest, longest - time, false, 20);
    }
    return heed_cache_attend(cx, c, 0, taken(cx, n->q, at, count, time, H, D), &o);
}

static void check_step(const struct way *w, const struct numbers *n, const heed_tensor *y, const int64_t *at,
                       const int32_t *count, int64_t time) {
    for (int64_t i = 0; i < B * time * H * E; i++) {
        const int64_t b = i / (H * E) / time, t = i / (H * E) % time;
        const double got = (double)heed_f32(y)[i];
        const double want = t < count[b] ? (double)n->y[(b * TOTAL + at[b] + t) * H * E + i % (H * E)] : 0;
        if (!(fabs(got - want) <= (t < count[b] ? 1e-5 : 0)))
            fail_msg("%s: sequence %d, position %d: %g, not %g", w->name, (int)b, (int)(at[b] + t), got, want);
    }
}

/* A prefill, then steps of one token, and some of a few. */
static void decode(heed_ctx *cx, const struct way *w) {
    struct numbers n = numbers_new(cx, w);
    heed_cache *c = heed_cache_new(cx, &(heed_cache_opts){1, B, G, D, E, w->kind, w->capacity});
    assert_non_null(c);
    int64_t at[B] = {0};
    for (int round = 0;; round++) {
        int32_t count[B];
        int64_t left = 0, time = 0;
        for (int64_t b = 0; b < B; b++) left = TOTAL - at[b] > left ? TOTAL - at[b] : left;
        if (left == 0) break;
        const int64_t wanted = round == 0 ? 11 : round % 5 == 0 ? 6 : 1;
        for (int64_t b = 0; b < B; b++) {
            const int64_t most = TOTAL - at[b] < wanted ? TOTAL - at[b] : wanted;
            count[b] = (int32_t)(w->unequal && round % 3 != 1 ? draw(most + 1) : most);
            time = count[b] > time ? count[b] : time;
        }
        heed_tensor *y = step(cx, c, w, &n, at, count, time);
        if (!y) fail_msg("%s: %s", w->name, heed_message(cx));
        assert_false(heed_wants_grad(y));
        check_step(w, &n, y, at, count, time);
        for (int64_t b = 0; b < B; b++) assert_int_equal(heed_cache_length(c, 0, b), at[b] += count[b]);
        heed_reset(cx);
    }
    heed_cache_free(cx, c);
    numbers_free(&n);
}

static void test_decoding(void **state) {
    (void)state;
    static const struct way ways[] = {
        {.name = "fixed", .kind = HEED_CACHE_FIXED, .capacity = TOTAL},
        {.name = "growing", .kind = HEED_CACHE_GROWING, .capacity = 1},
        {.name = "fixed, window", .kind = HEED_CACHE_FIXED, .capacity = TOTAL, .window = 5},
        {.name = "sliding", .kind = HEED_CACHE_SLIDING, .capacity = 5, .window = 5},
        {.name = "sliding, untold", .kind = HEED_CACHE_SLIDING, .capacity = 5, .window = 5, .leave_window = true},
        {.name = "sliding, narrower mask", .kind = HEED_CACHE_SLIDING, .capacity = 8, .window = 3},
        {.name = "sliding by one", .kind = HEED_CACHE_SLIDING, .capacity = 1, .window = 1, .leave_window = true},
        {.name = "rotary", .kind = HEED_CACHE_GROWING, .capacity = 4, .turned = true},
        {.name = "rotary, sliding", .kind = HEED_CACHE_SLIDING, .capacity = 7, .window = 7, .turned = true},
        {.name = "ALiBi", .kind = HEED_CACHE_FIXED, .capacity = TOTAL + 3, .alibi = true},
        {.name = "ALiBi, sliding", .kind = HEED_CACHE_SLIDING, .capacity = 6, .window = 6, .alibi = true},
        {.name = "T5", .kind = HEED_CACHE_GROWING, .capacity = 9, .t5 = true},
    };
    heed_ctx *cx = open_context();
    drawn = 0;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        for (int unequal = 0; unequal < 2; unequal++) {
            struct way w = ways[i];
            w.unequal = unequal != 0;
            decode(cx, &w);
        }
    close_context(cx);
}

/* A sliding cache forgets at other times than others need: no bit of what is seen depends on it. */
static void test_forgetting(void **state) {
    (void)state;
    static const int32_t most[] = {1, 1, 4, 1, 9, 1, 600, 1, 2, 40};
    static const int64_t windows[] = {1, 100, 300};
    heed_ctx *cx = open_context();
    drawn = 3;
    for (int w = 0; w < 3; w++) {
        const heed_mask mask = heed_mask_both(cx, heed_mask_causal(0), heed_mask_window(windows[w], 0));
        heed_cache *sliding = heed_cache_new(cx, &(heed_cache_opts){1, B, G, D, E, HEED_CACHE_SLIDING, windows[w]});
        heed_cache *all = heed_cache_new(cx, &(heed_cache_opts){1, B, G, D, E, HEED_CACHE_GROWING, 64});
        for (uint64_t step = 0; step < 60; step++) {
            int32_t counts[B];
            const int32_t T = most[step % 10];
            for (int b = 0; b < B; b++) counts[b] = b == 0 && step % 3 ? T : (int32_t)draw(T + 1);
            heed_tensor *q = normals(cx, 3 * step, B, T, H, D), *k = normals(cx, 3 * step + 1, B, T, G, D),
                        *v = normals(cx, 3 * step + 2, B, T, G, E);
            assert_true(heed_cache_append(cx, sliding, 0, k, v, counts) && heed_cache_append(cx, all, 0, k, v, counts));
            heed_tensor *few = heed_cache_attend(cx, sliding, 0, q, &(heed_attention_opts){.mask = mask}),
                        *whole = heed_cache_attend(cx, all, 0, q, &(heed_attention_opts){.mask = mask});
            assert_true(few && whole);
            assert_memory_equal(heed_f32(few), heed_f32(whole), (size_t)heed_count(few) * sizeof(float));
            heed_reset(cx);
        }
        heed_cache_free(cx, sliding), heed_cache_free(cx, all);
    }
    close_context(cx);
}

/* ---- beams ---- what a sequence holds goes along with it */

static void test_beams(void **state) {
    (void)state;
    enum { STEPS = 12 };
    heed_ctx *cx = open_context();
    heed_cache *c = heed_cache_new(cx, &(heed_cache_opts){1, B, G, D, E, HEED_CACHE_GROWING, 2});
    float k[B][STEPS][G * D], v[B][STEPS][G * E];
    int64_t batch = B;
    drawn = 7;
    for (int t = 0; t < STEPS; t++) {
        heed_tensor *q = normals(cx, (uint64_t)(10 + 3 * t), batch, 1, H, D);
        heed_tensor *keys = normals(cx, (uint64_t)(11 + 3 * t), batch, 1, G, D);
        heed_tensor *values = normals(cx, (uint64_t)(12 + 3 * t), batch, 1, G, E);
        for (int64_t b = 0; b < batch; b++) {
            memcpy(k[b][t], heed_f32(keys) + b * G * D, sizeof k[b][t]);
            memcpy(v[b][t], heed_f32(values) + b * G * E, sizeof v[b][t]);
        }
        assert_true(heed_cache_append(cx, c, 0, keys, values, NULL));
        heed_tensor *y = heed_cache_attend(cx, c, 0, q, &(heed_attention_opts){.mask = heed_mask_causal(0)});
        assert_non_null(y);
        for (int64_t b = 0; b < batch; b++) {
            heed_tensor *alone =
                heed_attention(cx, heed_slice(cx, q, 0, b, 1), heed_from_f32(cx, k[b][0], 4, SHAPE(1, t + 1, G, D)),
                               heed_from_f32(cx, v[b][0], 4, SHAPE(1, t + 1, G, E)), NULL);
            assert_true(apart(cx, heed_slice(cx, y, 0, b, 1), alone) <= 1e-5);
        }
        int32_t index[B];
        const int64_t n = t == 5 ? 2 : t == 7 ? 1 : t == 8 ? B : batch; /* sequences end, and one becomes three */
        float old_k[B][STEPS][G * D], old_v[B][STEPS][G * E];
        memcpy(old_k, k, sizeof k), memcpy(old_v, v, sizeof v);
        for (int64_t b = 0; b < n; b++) {
            index[b] = (int32_t)draw(batch);
            memcpy(k[b], old_k[index[b]], sizeof k[b]), memcpy(v[b], old_v[index[b]], sizeof v[b]);
        }
        assert_true(heed_cache_reorder(cx, c, index, n));
        batch = n;
        heed_reset(cx);
    }
    heed_cache_free(cx, c);
    close_context(cx);
}

/* ---- cross attention ---- appended once, asked many times, by any number of queries */

static void test_cross(void **state) {
    (void)state;
    enum { T = 9 };
    const int32_t counts[B] = {T, 4, 0};
    heed_ctx *cx = open_context();
    heed_cache *c = heed_cache_new(cx, &(heed_cache_opts){2, B, G, D, E, HEED_CACHE_FIXED, T});
    assert_true(heed_cache_append(cx, c, 1, normals(cx, 2, B, T, G, D), normals(cx, 3, B, T, G, E), counts));
    for (int64_t Tq = 0; Tq < 20; Tq += 1 + Tq / 3) {
        heed_tensor *q = normals(cx, 20, B, Tq, H, D), *k = normals(cx, 2, B, T, G, D), *v = normals(cx, 3, B, T, G, E);
        heed_attention_opts o = {.scale = 0.4f}, plain = o;
        if (Tq % 2) o.mask = heed_mask_add(normals(cx, 4, 1, H, 1, T));
        if (Tq % 3 == 0) o.mask.keep = heed_from_u8(cx, (uint8_t[]){1, 1, 0, 1, 0, 1, 1, 1, 1}, 4, SHAPE(1, 1, 1, T));
        plain.mask = o.mask;
        plain.mask.key_lengths = heed_from_i32(cx, counts, 1, SHAPE(B));
        heed_tensor *y = heed_cache_attend(cx, c, 1, q, &o), *want = heed_attention(cx, q, k, v, &plain);
        if (!y || !want) fail_msg("%s", heed_message(cx));
        assert_true(apart(cx, y, want) <= 1e-6);
        heed_reset(cx);
    }
    /* a layer to which nothing was appended, and no sequences at all */
    heed_tensor *y = heed_cache_attend(cx, c, 0, normals(cx, 1, B, 5, H, D), NULL);
    assert_true(apart(cx, y, heed_zeros(cx, HEED_F32, 4, SHAPE(B, 5, H, E))) == 0);
    assert_true(heed_cache_reorder(cx, c, NULL, 0));
    assert_int_equal(heed_count(heed_cache_attend(cx, c, 1, normals(cx, 1, 0, 5, H, D), NULL)), 0);
    heed_reset(cx);
    heed_cache_free(cx, c);
    close_context(cx);
}

/* Queries as they lie in a fused projection, over two layers that differ. */
static void test_strided_queries(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_cache *c = heed_cache_new(cx, &(heed_cache_opts){2, B, G, D, E, HEED_CACHE_FIXED, 5});
    for (int layer = 0; layer < 2; layer++)
        assert_true(heed_cache_append(cx, c, layer, normals(cx, (uint64_t)layer, B, 5, G, D),
                                      normals(cx, (uint64_t)layer + 5, B, 5, G, E), NULL));
    heed_tensor *fused = normals(cx, 8, B, 5, H + 2, D), *view = heed_slice(cx, fused, 2, 1, H);
    heed_tensor *whole = heed_contiguous(cx, view), *y[2];
    assert_ptr_not_equal(whole, view);
    for (int layer = 0; layer < 2; layer++) {
        y[layer] = heed_cache_attend(cx, c, layer, view, NULL);
        assert_true(same_bits(cx, y[layer], heed_cache_attend(cx, c, layer, whole, NULL)));
    }
    assert_false(same_bits(cx, y[0], y[1]));
    heed_reset(cx);
    heed_cache_free(cx, c);
    close_context(cx);
}

/* ---- plans and memory ---- */

static bool short_session(heed_ctx *cx) {
    static const struct way w = {.kind = HEED_CACHE_GROWING, .capacity = 4, .turned = true, .alibi = true};
    struct numbers n = {made(1, B * TOTAL * H * D), made(2, B * TOTAL * G * D), made(3, B * TOTAL * G * E), NULL};
    heed_cache *c = heed_cache_new(cx, &(heed_cache_opts){1, B, G, D, E, w.kind, w.capacity});
    bool good = c != NULL;
    for (int64_t t = 0; good && t < 3; t++) {
        const int64_t at[B] = {6 * t, 6 * t, 6 * t};
        good = step(cx, c, &w, &n, at, (int32_t[]){6, 6, 6}, 6) != NULL;
        assert_int_equal(heed_cache_length(c, 0, 1), good ? 6 * (t + 1) : heed_cache_length(c, 0, 1));
    }
    heed_cache_free(cx, c);
    numbers_free(&n);
    return good;
}

static void test_plan(void **state) {
    (void)state;
    size_t peaks[2], held[2];
    for (int dry = 0; dry < 2; dry++) {
        heed_ctx *cx = heed_open(&(heed_config){.threads = 1, .dry = dry != 0});
        assert_true(short_session(cx));
        peaks[dry] = heed_memory_use(cx).step_peak, held[dry] = heed_memory_use(cx).held_peak;
        heed_close(cx);
    }
    assert_true(peaks[0] > 0 && peaks[0] == peaks[1]);
    assert_int_equal(held[0], held[1]);
}

static void test_no_memory(void **state) {
    (void)state;
    starve_step(short_session, 4);
}

/* ---- wrong use ---- */

static void test_wrong_use(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_cache *c = heed_cache_new(cx, &(heed_cache_opts){1, B, G, D, E, HEED_CACHE_FIXED, 6});
    heed_cache *sliding = heed_cache_new(cx, &(heed_cache_opts){1, B, 1, D, E, HEED_CACHE_SLIDING, 6});
#define X(t, heads, size) normals(cx, 1, B, t, heads, size)
    assert_true(heed_cache_append(cx, c, 0, X(4, G, D), X(4, G, E), NULL));
    REFUSED(heed_cache_append(cx, c, 0, X(3, G, D), X(3, G, E), NULL),
            "cache_append: layer 0, sequence 0: 3 positions more than the 4 held exceed a capacity of 6");
#define ATTEND(q, ...) heed_cache_attend(cx, c, 0, q, &(heed_attention_opts){__VA_ARGS__})
    REFUSED(heed_cache_attend(cx, c, 0, NULL, NULL), "cache_attention: q is NULL");
    REFUSED(heed_cache_attend(cx, NULL, 0, X(1, H, D), NULL), "cache_attention: the cache is NULL");
    REFUSED(heed_cache_attend(cx, c, 1, X(1, H, D), NULL), "cache_attention: layer 1 of a cache of 1");
    REFUSED(heed_cache_attend(cx, c, -1, X(1, H, D), NULL), "cache_attention: layer -1 of a cache of 1");
    REFUSED(ATTEND(X(1, 3, D)), "cache_attention: q of shape (3,1,3,8) does not fit a cache of 3 sequences and 2 key");
    REFUSED(ATTEND(X(1, H, D + 1)), "cache_attention: q of shape (3,1,4,9) does not fit");
    REFUSED(ATTEND(normals(cx, 1, B + 1, 1, H, D)), "cache_attention: q of shape (4,1,4,8) does not fit");
    REFUSED(ATTEND(normals(cx, 1, B + 1, 1, H, D), .rotary = &(heed_rotary_opts){0}), "q of shape (4,1,4,8)");
    REFUSED(ATTEND(heed_zeros(cx, HEED_F32, 2, SHAPE(B, D))), "cache_attention: q of shape (3,8) does not fit");
    REFUSED(ATTEND(heed_zeros(cx, HEED_I32, 4, SHAPE(B, 1, H, D))), "cache_attention: input 0 is i32, not f32");
    REFUSED(ATTEND(X(1, H, D), .mask = heed_mask_causal(3)),
            "cache_attention: the cache sets offset and lengths: leave them out");
    REFUSED(ATTEND(X(1, H, D), .mask.key_lengths = heed_zeros(cx, HEED_I32, 1, SHAPE(B))),
            "the cache sets offset and lengths");
    REFUSED(ATTEND(X(1, H, D), .mask.query_lengths = heed_zeros(cx, HEED_I32, 1, SHAPE(B))),
            "the cache sets offset and lengths");
    REFUSED(ATTEND(X(1, H, D), .query_offsets = heed_zeros(cx, HEED_I32, 1, SHAPE(2))),
            "the cache sets offset and lengths");
    REFUSED(ATTEND(X(1, H, D), .dropout = 0.1f), "cache_attention: there is no dropout in decoding");
    REFUSED(ATTEND(X(1, H, D), .scale = NAN), "cache_attention: the scale is not a number");
    REFUSED(ATTEND(X(1, H, D), .mask = heed_mask_window(0, 0)), "cache_attention: a window of 0 positions");
    REFUSED(ATTEND(X(1, H, D), .mask = heed_mask_keep(heed_zeros(cx, HEED_U8, 4, SHAPE(1, 1, 1, 5)))),
            "cache_attention: a bitmap of shape (1,1,1,5) does not fit (3,4,1,4)");
    REFUSED(ATTEND(X(1, H, D), .mask = heed_mask_add(normals(cx, 1, 2, 1, 1, 4))), "cache_attention: a bias of shape");
    REFUSED(ATTEND(X(4, H, D), .distance_bias = heed_zeros(cx, HEED_F32, 2, SHAPE(H, 4))),
            "cache_attention: a distance bias of shape (4,4) does not fit (4,7): heads, distances");
    REFUSED(ATTEND(X(1, H, D), .distance_bias = heed_zeros(cx, HEED_F32, 2, SHAPE(H, 4))),
            "cache_attention: a distance bias for 1 queries, while 4 positions were appended");
    REFUSED(ATTEND(X(1, H, D), .rotary = &(heed_rotary_opts){.channels = 5}), "rotary: 5 channels of a head of 8");
#undef ATTEND
#define ATTEND(q, ...) heed_cache_attend(cx, sliding, 0, q, &(heed_attention_opts){__VA_ARGS__})
    REFUSED(ATTEND(X(1, 257, D), .alibi = true), "cache_attention: ALiBi for more than 256 heads");
    REFUSED(ATTEND(X(1, 1, D), .mask = heed_mask_blocks(2, 0)), "cache_attention: a sliding cache takes no block mask");
    assert_null(heed_cache_attend(NULL, c, 0, NULL, NULL));
    heed_cache_free(cx, c);
    heed_cache_free(cx, sliding);
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decoding),        cmocka_unit_test(test_beams),      cmocka_unit_test(test_cross),
        cmocka_unit_test(test_strided_queries), cmocka_unit_test(test_plan),       cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_wrong_use),       cmocka_unit_test(test_forgetting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
