/* The storage of the key-value cache: random sequences of operations against a model that remembers everything, then
 * each promise of its own: growing, sliding, overflow, reordering, plans, refused memory. */
#include "attention/cache.h"
#include "attention/refused.h"
#include "heed/attention.h"

/* ---- the model ---- every row ever appended, by layer and sequence */

enum { LAYERS = 2, BATCH = 5, G = 3, D = 4, E = 6, ROW = G * (D + E), LONGEST = 600 };

struct history {
    int64_t length, added;
    float rows[LONGEST][ROW]; /* G keys, then G values */
};

struct model {
    struct history *of[LAYERS][BATCH];
    int64_t batch;
};

static struct model *model_new(void) {
    struct model *m = calloc(1, sizeof *m);
    m->batch = BATCH;
    for (int l = 0; l < LAYERS; l++)
        for (int b = 0; b < BATCH; b++) m->of[l][b] = calloc(1, sizeof(struct history));
    return m;
}

static void model_free(struct model *m) {
    for (int l = 0; l < LAYERS; l++)
        for (int b = 0; b < BATCH; b++) free(m->of[l][b]);
    free(m);
}

static void model_reset(struct model *m) {
    m->batch = BATCH;
    for (int l = 0; l < LAYERS; l++)
        for (int b = 0; b < BATCH; b++) m->of[l][b]->length = m->of[l][b]->added = 0;
}

static void model_reorder(struct model *m, const int32_t *index, int64_t n) {
    struct history *old = malloc(BATCH * sizeof *old);
    for (int l = 0; l < LAYERS; l++) {
        for (int b = 0; b < BATCH; b++) old[b] = *m->of[l][b];
        for (int64_t b = 0; b < n; b++) *m->of[l][b] = old[index[b]];
    }
    m->batch = n;
    free(old);
}

static void check(heed_ctx *cx, const heed_cache *c, const struct model *m) {
    for (int l = 0; l < LAYERS; l++) {
        struct cache_view v;
        assert_true(cache_view(cx, "test", c, l, &v));
        assert_int_equal(v.batch, m->batch);
        int64_t longest = 0;
        for (int64_t b = 0; b < v.batch; b++) {
            const struct history *h = m->of[l][b];
            assert_int_equal(heed_cache_length(c, l, b), h->length);
            assert_int_equal(v.first[b] + v.held[b], h->length);
            assert_int_equal(v.added[b], h->added);
            if (v.window == 0) assert_int_equal(v.first[b], 0);
            const int64_t needed = v.window - 1 + h->added;
            if (v.window > 0) assert_true(v.held[b] >= (h->length < needed ? h->length : needed));
            if (v.held[b] > longest) longest = v.held[b];
            for (int64_t j = 0; j < v.held[b]; j++)
                for (int64_t g = 0; g < G; g++) {
                    const float *row = h->rows[v.first[b] + j];
                    const float *k = v.k + b * v.k_at.batch + g * v.k_at.head + j * v.k_at.time;
                    const float *value = v.v + b * v.v_at.batch + g * v.v_at.head + j * v.v_at.time;
                    assert_memory_equal(k, row + g * D, D * sizeof(float));
                    assert_memory_equal(value, row + G * D + g * E, E * sizeof(float));
                }
        }
        assert_int_equal(v.longest, longest);
    }
}

/* ---- random operations ---- */

static uint64_t drawn;
static int64_t draw(int64_t below) { /* in [0, below) */
    return (int64_t)(heed_random_bits(77, 0, drawn++) % (uint64_t)below);
}

/* New keys and values: contiguous, parts of a fused projection, or a view that must be copied first. */
static void make_rows(heed_ctx *cx, int64_t batch, int64_t time, int kind, heed_tensor **k, heed_tensor **v) {
    const int64_t n = batch * time, width = 2 + G * (D + E);
    float *numbers = malloc((size_t)(n * width) * sizeof(float) + 1);
    heed_random_normal(78, drawn++, 0, numbers, n * width);
    if (kind == 0) {
        *k = heed_from_f32(cx, numbers, 4, (int64_t[]){batch, time, G, D});
        *v = heed_from_f32(cx, numbers + n * G * D, 4, (int64_t[]){batch, time, G, E});
    } else {
        heed_tensor *fused = heed_from_f32(cx, numbers, 3, (int64_t[]){batch, time, width}), *part[3];
        assert_true(heed_split(cx, fused, 2, (int64_t[]){2, G * D, G * E}, 3, part));
        *k = heed_reshape(cx, part[1], 4, (int64_t[]){batch, time, G, D});
        *v = heed_reshape(cx, part[2], 4, (int64_t[]){batch, time, G, E});
    }
    if (kind == 2) { /* rows of G numbers, G columns apart: no strides of (B,T,G,D) */
        heed_tensor *odd = heed_from_f32(cx, numbers, 2, (int64_t[]){n * D, 2 * G});
        *k = heed_reshape(cx, heed_slice(cx, odd, 1, 1, G), 4, (int64_t[]){batch, time, G, D});
    }
    assert_true(*k && *v);
    free(numbers);
}

static void remember(heed_ctx *cx, struct model *m, int layer, heed_tensor *k, heed_tensor *v, const int32_t *counts) {
    const int64_t time = heed_dim(k, 1);
    const float *keys = heed_f32(heed_contiguous(cx, k)), *values = heed_f32(heed_contiguous(cx, v));
    for (int64_t b = 0; b < m->batch; b++) {
        struct history *h = m->of[layer][b];
        h->added = counts ? counts[b] : time;
        for (int64_t t = 0; t < h->added; t++, h->length++) {
            memcpy(h->rows[h->length], keys + (b * time + t) * G * D, G * D * sizeof(float));
            memcpy(h->rows[h->length] + G * D, values + (b * time + t) * G * E, G * E * sizeof(float));
        }
    }
}

static void random_append(heed_ctx *cx, heed_cache *c, struct model *m, int64_t most) {
    int32_t counts[BATCH] = {0};
    const int64_t time = draw(4) ? draw(4) : draw(most);
    const bool counted = draw(2) != 0;
    int64_t longest = 0;
    for (int layer = 0; layer < LAYERS; layer++) {
        for (int64_t b = 0; b < m->batch; b++) {
            counts[b] = (int32_t)(counted ? draw(time + 1) : time);
            const int64_t length = m->of[layer][b]->length + counts[b];
            if (length > longest) longest = length;
        }
        if (longest > LONGEST) return;
        heed_tensor *k, *v;
        make_rows(cx, m->batch, time, (int)draw(3), &k, &v);
        if (c->opts.kind == HEED_CACHE_FIXED && longest > c->opts.capacity) {
            assert_false(heed_cache_append(cx, c, layer, k, v, counted ? counts : NULL));
            EXPECT_SENTENCE(cx, "cache_append: layer ");
            return;
        }
        if (!heed_cache_append(cx, c, layer, k, v, counted ? counts : NULL)) fail_msg("%s", heed_message(cx));
        remember(cx, m, layer, k, v, counted ? counts : NULL);
    }
    heed_reset(cx);
}

/* In place, or as a copy that takes its place. */
static heed_cache *random_reorder(heed_ctx *cx, heed_cache *c, struct model *m) {
    int32_t index[BATCH];
    if (m->batch == 0) return c;
    const int64_t n = draw(3) ? m->batch : draw(BATCH + 1);
    for (int32_t b = 0; b < n; b++) index[b] = (int32_t)(draw(3) || b >= m->batch ? draw(m->batch) : b);
    if (n == m->batch && draw(2)) { /* a permutation */
        for (int32_t b = 0; b < n; b++) index[b] = b;
        for (int64_t b = n - 1; b > 0; b--) {
            const int64_t other = draw(b + 1);
            const int32_t kept = index[b];
            index[b] = index[other];
            index[other] = kept;
        }
    }
    if (draw(2)) {
        heed_cache *copy = heed_cache_copy(cx, c, index, n, BATCH);
        if (!copy) fail_msg("%s", heed_message(cx));
        check(cx, c, m); /* as it was */
        heed_cache_free(cx, c);
        c = copy;
    } else {
        assert_true(heed_cache_reorder(cx, c, index, n));
    }
    model_reorder(m, index, n);
    return c;
}

static void run_random(heed_cache_kind kind, int64_t capacity, int64_t most, int steps, int threads) {
    struct counting kept = {0};
    heed_ctx *cx = heed_open(&(heed_config){.threads = threads, .alloc = counting_alloc, .user = &kept});
    heed_cache *c = heed_cache_new(cx, &(heed_cache_opts){LAYERS, BATCH, G, D, E, kind, capacity});
    assert_non_null(c);
    struct model *m = model_new();
    for (int i = 0; i < steps; i++) {
        const int64_t what = draw(20);
        if (what < 14)
            random_append(cx, c, m, most);
        else if (what < 19)
            c = random_reorder(cx, c, m);
        if (what == 19 || m->batch == 0) {
            heed_cache_reset(c);
            model_reset(m);
        }
        check(cx, c, m);
    }
    model_free(m);
    heed_cache_free(cx, c);
    heed_close(cx);
    assert_int_equal(kept.blocks, 0);
    assert_int_equal(kept.mistakes, 0);
}

static void test_random(void **state) {
    (void)state;
    drawn = 0;
    run_random(HEED_CACHE_FIXED, 40, 20, 300, 1);
    run_random(HEED_CACHE_FIXED, 1, 3, 60, 1);
    run_random(HEED_CACHE_GROWING, 1, 60, 300, 2);
    run_random(HEED_CACHE_GROWING, 100, 200, 100, 1);
    for (int64_t window = 1; window < 9; window++) run_random(HEED_CACHE_SLIDING, window, 40, 200, window == 5 ? 3 : 1);
    run_random(HEED_CACHE_SLIDING, 50, 300, 100, 1);
}

/* Every index of four sequences: all permutations, repeats and circles, to every batch. */
static void test_every_reorder(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_cache *c = heed_cache_new(cx, &(heed_cache_opts){LAYERS, BATCH, G, D, E, HEED_CACHE_FIXED, 6});
    struct model *m = model_new();
    for (int64_t n = 0; n <= 4; n++)
        for (int code = 0; code < 1 << (2 * n); code++) {
            heed_cache_reset(c);
            model_reset(m);
            assert_true(heed_cache_reorder(cx, c, (int32_t[]){0, 1, 2, 3}, 4));
            m->batch = 4;
            for (int layer = 0; layer < LAYERS; layer++) {
                heed_tensor *k, *v;
                const int32_t counts[] = {3 + layer, 0, 5, 1};
                make_rows(cx, 4, 5, 0, &k, &v);
                assert_true(heed_cache_append(cx, c, layer, k, v, counts));
                remember(cx, m, layer, k, v, counts);
            }
            const int32_t index[] = {code & 3, code >> 2 & 3, code >> 4 & 3, code >> 6 & 3};
            assert_true(heed_cache_reorder(cx, c, index, n));
            model_reorder(m, index, n);
            check(cx, c, m);
            heed_reset(cx);
        }
    model_free(m);
    heed_cache_free(cx, c);
    close_context(cx);
}

/* ---- large enough for threads, and for circles of more than a piece ---- */

static void test_threads(void **state) {
    (void)state;
    static const int threads[] = {1, 2, 3, 8};
    enum { B = 3, T = 130, HEADS = 4, SIZE = 32, N = B * T * HEADS * SIZE };
    float *x = malloc(N * sizeof(float)), *first = malloc(2 * N * sizeof(float)), *all = malloc(2 * N * sizeof(float));
    heed_random_normal(5, 0, 0, x, N);
    for (int i = 0; i < 4; i++) {
        heed_ctx *cx = heed_open(&(heed_config){.threads = threads[i]});
        heed_cache *c = heed_cache_new(cx, &(heed_cache_opts){1, B, HEADS, SIZE, SIZE, HEED_CACHE_GROWING, 100});
        heed_tensor *k = heed_from_f32(cx, x, 4, (int64_t[]){B, T, HEADS, SIZE});
        assert_true(heed_cache_append(cx, c, 0, k, heed_neg(cx, k), (int32_t[]){T, 90, 110}));
        assert_true(heed_cache_append(cx, c, 0, heed_slice(cx, k, 1, 7, 20), heed_slice(cx, k, 1, 7, 20), NULL));
        assert_true(heed_cache_reorder(cx, c, (int32_t[]){2, 0, 1}, B));
        struct cache_view v;
        assert_true(cache_view(cx, "test", c, 0, &v));
        assert_int_equal(v.held[0], 130);
        assert_int_equal(v.held[1], 150);
        assert_int_equal(v.held[2], 110);
        float *out = all;
        for (int64_t b = 0; b < B; b++)
            for (int64_t g = 0; g < HEADS; g++, out += 220 * SIZE) {
                memcpy(out, v.k + b * v.k_at.batch + g * v.k_at.head, 110 * SIZE * sizeof(float));
                memcpy(out + 110 * SIZE, v.v + b * v.v_at.batch + g * v.v_at.head, 110 * SIZE * sizeof(float));
            }
        const size_t bytes = (size_t)(out - all) * sizeof(float);
        if (i == 0)
            memcpy(first, all, bytes);
        else
            assert_memory_equal(first, all, bytes);
        heed_cache_free(cx, c);
        heed_close(cx);
    }
    free(x);
    free(first);
    free(all);
}

/* ---- promises ---- */

static void append_some(heed_ctx *cx, heed_cache *c, int layer, int64_t time) {
    heed_tensor *k, *v;
    make_rows(cx, c->batch, time, 0, &k, &v);
    assert_true(heed_cache_append(cx, c, layer, k, v, NULL));
    heed_reset(cx);
}

/* Room doubles, in the layer that needs it alone; a sliding cache is never much larger than its window and what came at
 * once. */
static void test_room(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_cache *c = heed_cache_new(cx, &(heed_cache_opts){LAYERS, BATCH, G, D, E, HEED_CACHE_GROWING, 3});
    const int64_t rooms[] = {3, 3, 3, 6, 6, 6, 12};
    for (int i = 0; i < 7; i++) {
        append_some(cx, c, 1, 1);
        assert_int_equal(c->layers[1].room, rooms[i]);
        assert_int_equal(c->layers[0].room, 3);
    }
    append_some(cx, c, 1, 100);
    assert_int_equal(c->layers[1].room, 192);
    heed_cache_free(cx, c);

    c = heed_cache_new(cx, &(heed_cache_opts){1, BATCH, G, D, E, HEED_CACHE_SLIDING, 8});
    for (int i = 0; i < 200; i++) {
        append_some(cx, c, 0, 1);
        assert_int_equal(c->layers[0].room, 16);
    }
    append_some(cx, c, 0, 100); /* the first of them still sees 7 before it */
    assert_int_equal(c->layers[0].room, 107);
    assert_int_equal(c->layers[0].held[0], 107);
    append_some(cx, c, 0, 1);
    assert_int_equal(c->layers[0].room, 16);
    assert_int_equal(c->layers[0].held[0], 8);
    assert_int_equal(heed_cache_length(c, 0, 0), 301);
    heed_cache_free(cx, c);
    close_context(cx);
}

/* What fails changes nothing. */
static void test_overflow(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_cache *c = heed_cache_new(cx, &(heed_cache_opts){LAYERS, 2, G, D, E, HEED_CACHE_FIXED, 8});
    heed_tensor *k, *v;
    make_rows(cx, 2, 5, 1, &k, &v);
    assert_true(heed_cache_append(cx, c, 1, k, v, (int32_t[]){2, 5}));
    const size_t bytes = 2 * G * 8 * D * sizeof(float);
    float *before = malloc(bytes);
    memcpy(before, c->layers[1].k, bytes);
    assert_false(heed_cache_append(cx, c, 1, k, v, (int32_t[]){5, 4}));
    EXPECT_SENTENCE(cx, "cache_append: layer 1, sequence 1: 4 positions more than the 5 held exceed a capacity of 8");
    assert_memory_equal(before, c->layers[1].k, bytes);
    assert_int_equal(heed_cache_length(c, 1, 0), 2);
    assert_int_equal(heed_cache_length(c, 1, 1), 5);
    make_rows(cx, 2, 5, 1, &k, &v);
    assert_true(heed_cache_append(cx, c, 1, k, v, (int32_t[]){5, 3})); /* full to the last place */
    assert_int_equal(heed_cache_length(c, 1, 1), 8);
    free(before);
    heed_reset(cx);
    heed_cache_free(cx, c);
    close_context(cx);
}

/* A plan counts the memory, keeps the lengths and touches nothing. */
static size_t run_plan(bool dry, heed_cache_kind kind) {
    struct counting kept = {0};
    heed_ctx *cx = heed_open(&(heed_config){.threads = 1, .dry = dry, .alloc = counting_alloc, .user = &kept});
    heed_tensor *k = heed_zeros(cx, HEED_F32, 4, (int64_t[]){BATCH, 7, G, D}),
                *v = heed_zeros(cx, HEED_F32, 4, (int64_t[]){BATCH, 7, G, E});
    const size_t live = kept.live, held = heed_memory_use(cx).held;
    heed_memory_reset_peak(cx);
    heed_cache *c = heed_cache_new(cx, &(heed_cache_opts){LAYERS, BATCH, G, D, E, kind, 40000});
    assert_non_null(c);
    for (int64_t i = 1; i <= 3; i++) {
        assert_true(heed_cache_append(cx, c, 1, k, v, i == 2 ? (int32_t[]){0, 1, 2, 3, 4} : NULL));
        assert_int_equal(heed_cache_length(c, 1, 0), 7 * ((i + 1) / 2));
    }
    assert_int_equal(heed_cache_length(c, 1, 4), 18);
    assert_true(heed_cache_reorder(cx, c, (int32_t[]){4, 4}, 2));
    assert_int_equal(heed_cache_length(c, 1, 0), 18);
    if (dry) assert_true(kept.live - live < 4096);
    const size_t used = heed_memory_use(cx).held_peak - held;
    heed_cache_free(cx, c);
    assert_int_equal(heed_memory_use(cx).held, held);
    assert_false(heed_failed(cx));
    heed_close(cx);
    assert_int_equal(kept.blocks, 0);
    return used;
}

static void test_dry(void **state) {
    (void)state;
    for (int kind = HEED_CACHE_FIXED; kind <= HEED_CACHE_SLIDING; kind++) {
        const size_t planned = run_plan(true, (heed_cache_kind)kind), used = run_plan(false, (heed_cache_kind)kind);
        assert_true(used > 40000 * BATCH * ROW * sizeof(float));
        assert_int_equal(planned, used);
    }
}

/* The N-th request refused: a sentence, the cache as it was, and it goes on afterwards. */
static void test_no_memory(void **state) {
    (void)state;
    int failures = 0;
    bool done = false;
    for (int64_t n = 1; !done; n++) {
        struct counting kept = {0};
        heed_ctx *cx = heed_open(&(heed_config){.threads = 1, .alloc = counting_alloc, .user = &kept});
        struct model *m = model_new();
        heed_tensor *k, *v;
        make_rows(cx, BATCH, 60, 2, &k, &v); /* tensors take no more memory after this: only the cache does */
        heed_reset(cx);
        kept.fail_at = kept.requests + n;
        drawn = 1000;
        heed_cache *c = heed_cache_new(cx, &(heed_cache_opts){LAYERS, BATCH, G, D, E, HEED_CACHE_GROWING, 4});
        if (!c) {
            failures++;
            EXPECT_SENTENCE(cx, "memory: the allocator has no ");
            c = heed_cache_new(cx, &(heed_cache_opts){LAYERS, BATCH, G, D, E, HEED_CACHE_GROWING, 4});
        }
        assert_non_null(c);
        for (int i = 0; i < 6; i++) {
            make_rows(cx, BATCH, 1 + i, 2 * (i % 2), &k, &v);
            if (!heed_cache_append(cx, c, i % 2, k, v, NULL)) {
                failures++;
                EXPECT_SENTENCE(cx, "memory: the allocator has no ");
                check(cx, c, m);
                make_rows(cx, BATCH, 1 + i, 2 * (i % 2), &k, &v);
                assert_true(heed_cache_append(cx, c, i % 2, k, v, NULL));
            }
            remember(cx, m, i % 2, k, v, NULL);
            check(cx, c, m);
            heed_reset(cx);
        }
        done = kept.requests < kept.fail_at;
        heed_cache_free(cx, c);
        heed_close(cx);
        assert_int_equal(kept.blocks, 0);
        assert_int_equal(kept.mistakes, 0);
        model_free(m);
    }
    assert_true(failures >= 5);
}

/* ---- bad input ---- */

static void test_wrong_new(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_cache_opts o = {LAYERS, BATCH, G, D, E, HEED_CACHE_FIXED, 8};
#define WITH(field, value, part)                                                                                       \
    do {                                                                                                               \
        heed_cache_opts bad = o;                                                                                       \
        bad.field = value;                                                                                             \
        REFUSED(heed_cache_new(cx, &bad), part);                                                                       \
    } while (0)
    REFUSED(heed_cache_new(cx, NULL), "cache_new: the options are NULL");
    WITH(layers, 0, "cache_new: 0 layers");
    WITH(batch, -1, "cache_new: 2 layers, batch -1");
    WITH(kv_heads, 0, "0 heads of sizes 4 and 6: all must be positive");
    WITH(key_size, 0, "all must be positive");
    WITH(value_size, -6, "all must be positive");
    WITH(kind, (heed_cache_kind)7, "cache_new: 7 is not a kind of cache");
    WITH(capacity, 0, "cache_new: a capacity of 0 positions");
    WITH(capacity, INT64_MAX, "cache_new: a capacity of 92233");
    WITH(kv_heads, INT64_MAX / 2, "are too large");
    WITH(batch, (int64_t)1 << 40, "are too large");
    o.kind = HEED_CACHE_SLIDING;
    WITH(capacity, 0, "cache_new: a window of 0 positions");
    assert_null(heed_cache_new(NULL, &o));
    heed_cache_free(cx, NULL);
    heed_cache_free(NULL, NULL);
    heed_cache_reset(NULL);
    assert_int_equal(heed_cache_length(NULL, 0, 0), 0);
    close_context(cx);
}

static void test_wrong_use(void **state) {
    (void)state;
    heed_ctx *cx = open_context();
    heed_cache *c = heed_cache_new(cx, &(heed_cache_opts){LAYERS, 2, G, D, E, HEED_CACHE_GROWING, 4});
    struct cache_view view;
#define ZEROS(...)                                                                                                     \
    heed_zeros(cx, HEED_F32, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (int64_t[]){__VA_ARGS__})
#define K ZEROS(2, 3, G, D)
#define V ZEROS(2, 3, G, E)
    REFUSED(heed_cache_append(cx, NULL, 0, K, V, NULL), "cache_append: the cache is NULL");
    REFUSED(heed_cache_append(cx, c, 2, K, V, NULL), "cache_append: layer 2 of a cache of 2");
    REFUSED(heed_cache_append(cx, c, -1, K, V, NULL), "cache_append: layer -1");
    REFUSED(heed_cache_append(cx, c, 0, NULL, V, NULL), "cache_append: k is NULL");
    REFUSED(heed_cache_append(cx, c, 0, K, NULL, NULL), "cache_append: v is NULL");
    REFUSED(heed_cache_append(cx, c, 0, K, K, NULL), "cache_append: v of shape (2,3,3,4) is not (2,T,3,6)");
    REFUSED(heed_cache_append(cx, c, 0, ZEROS(3, 3, G, D), V, NULL), "cache_append: k of shape (3,3,3,4)");
    REFUSED(heed_cache_append(cx, c, 0, ZEROS(3, G, D), V, NULL), "cache_append: k of shape (3,3,4)");
    REFUSED(heed_cache_append(cx, c, 0, ZEROS(2, 4, G, D), V, NULL), "differ in time");
    REFUSED(heed_cache_append(cx, c, 0, heed_zeros(cx, HEED_I32, 4, (int64_t[]){2, 3, G, D}), V, NULL),
            "cache_append: k is i32, not f32");
    REFUSED(heed_cache_append(cx, c, 0, K, V, (int32_t[]){3, 4}),
            "cache_append: count 4 of sequence 1 is not between 0 and 3");
    REFUSED(heed_cache_append(cx, c, 0, K, V, (int32_t[]){-1, 3}), "cache_append: count -1 of sequence 0");
    heed_ctx *other = heed_open(&(heed_config){.threads = 1});
    heed_tensor *stranger = heed_zeros(other, HEED_F32, 4, (int64_t[]){2, 3, G, D});
    REFUSED(heed_cache_append(cx, c, 0, stranger, V, NULL), "cache_append: k belongs to another context");
    heed_close(other);

    REFUSED(heed_cache_copy(cx, NULL, (int32_t[]){0}, 1, 1), "cache_copy: the cache or index is NULL");
    REFUSED(heed_cache_copy(cx, c, (int32_t[]){0, 0}, 2, 1), "cache_copy: 2 sequences are not between 0 and 1");
    REFUSED(heed_cache_copy(cx, c, (int32_t[]){2}, 1, 1), "cache_copy: index 2 at place 0 is not between 0 and 1");
    REFUSED(heed_cache_copy(cx, c, (int32_t[]){0}, 0, 0), "cache_new: ");
    REFUSED(heed_cache_reorder(cx, NULL, (int32_t[]){0}, 1), "cache_reorder: the cache or index is NULL");
    REFUSED(heed_cache_reorder(cx, c, NULL, 1), "cache_reorder: the cache or index is NULL");
    REFUSED(heed_cache_reorder(cx, c, (int32_t[]){0, 0, 0}, 3), "cache_reorder: 3 sequences are not between 0 and 2");
    REFUSED(heed_cache_reorder(cx, c, (int32_t[]){0}, -1), "cache_reorder: -1 sequences");
    REFUSED(heed_cache_reorder(cx, c, (int32_t[]){0, 2}, 2),
            "cache_reorder: index 2 at place 1 is not between 0 and 1");
    REFUSED(heed_cache_reorder(cx, c, (int32_t[]){-1, 0}, 2), "cache_reorder: index -1 at place 0");
    REFUSED(cache_view(cx, "test", c, 2, &view), "test: layer 2 of a cache of 2");
    REFUSED(cache_view(cx, "test", NULL, 0, &view), "test: the cache is NULL");

    append_some(cx, c, 0, 3);
    assert_int_equal(heed_cache_length(c, 0, 1), 3);
    assert_int_equal(heed_cache_length(c, 1, 1), 0);
    assert_int_equal(heed_cache_length(c, 2, 0), 0);
    assert_int_equal(heed_cache_length(c, 0, 2), 0);
    assert_int_equal(heed_cache_length(c, 0, -1), 0);
    assert_true(heed_cache_reorder(cx, c, (int32_t[]){1}, 1));
    assert_int_equal(heed_cache_length(c, 0, 1), 0); /* no such sequence now */
    REFUSED(heed_cache_reorder(cx, c, (int32_t[]){0, 1}, 2), "cache_reorder: index 1 at place 1");
    heed_cache_free(cx, c);
    close_context(cx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),    cmocka_unit_test(test_every_reorder), cmocka_unit_test(test_threads),
        cmocka_unit_test(test_room),      cmocka_unit_test(test_overflow),      cmocka_unit_test(test_dry),
        cmocka_unit_test(test_no_memory), cmocka_unit_test(test_wrong_new),     cmocka_unit_test(test_wrong_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
