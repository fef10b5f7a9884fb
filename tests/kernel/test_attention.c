/* Exact attention against the plain formula in double, on random shapes, strides, masks and options: forward, every
 * gradient, and the weights of chosen rows. Then the promises: the same bits for any number of threads, for a sequence
 * alone or in a batch, and for a query alone or among others; what is hidden does no harm, whatever it holds. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernel/attention.h"
#include "kernel/each_set.h"
#include "kernel/kernel_test.h"

static bool one_in(int64_t n) { return below(n) == 0; }

static void *room(int64_t count, size_t size) {
    void *p = calloc((size_t)count + 1, size); /* malloc(0) may be NULL */
    assert_non_null(p);
    return p;
}

/* Everything that a call needs, and what it gave. */
struct scene {
    struct attention a;
    float *q, *k, *v, *y, *dy, *add, *distance, *slopes;
    float *top, *sum, *dq, *dk, *dv, *dadd, *ddistance;
    uint8_t *keep;
    int32_t *q_offsets, *k_offsets, *q_lengths, *k_lengths, *places;
    int64_t rows, key_rows, q_floats, k_floats, v_floats, add_count, distance_count;
    struct attention_at y_at;
};

static void scene_free(struct scene *s) {
    void *all[] = {s->q,         s->k,    s->v,         s->y,         s->dy,        s->add,       s->distance,
                   s->slopes,    s->top,  s->sum,       s->dq,        s->dk,        s->dv,        s->dadd,
                   s->ddistance, s->keep, s->q_offsets, s->k_offsets, s->q_lengths, s->k_lengths, s->places};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

/* (batch, time, heads, size) in one of three orders: heads in time, time in heads, or part of a fused projection. */
static struct attention_at layout(int kind, int64_t time, int64_t heads, int64_t size, int64_t *per_batch) {
    const int64_t gap = kind == 2 ? 5 : 0;
    *per_batch = time * (heads * size + gap);
    if (kind == 1) return (struct attention_at){*per_batch, size, time * size};
    return (struct attention_at){*per_batch, heads * size + gap, size};
}

static float *filled(int64_t n) {
    float *x = room(n, sizeof(float));
    for (int64_t i = 0; i < n; i++) x[i] = next_float();
    return x;
}

static struct attention_plane plane(const struct attention *a, int64_t *count) {
    const bool b = !one_in(3), h = !one_in(3), q = !one_in(3);
    struct attention_plane p = {0};
    *count = a->keys;
    if (q) p.query = *count, *count *= a->queries;
    if (h) p.head = *count, *count *= a->heads;
    if (b) p.batch = *count, *count *= a->batch;
    return p;
}

static void make_sequences(struct scene *s) {
    struct attention *a = &s->a;
    if (one_in(4)) { /* packed */
        s->q_offsets = room(a->batch + 1, sizeof(int32_t)), s->k_offsets = room(a->batch + 1, sizeof(int32_t));
        int32_t longest_q = 0, longest_k = 0;
        for (int64_t b = 0; b < a->batch; b++) {
            const int32_t nq = (int32_t)below(a->queries + 1), nk = (int32_t)below(a->keys + 1);
            s->q_offsets[b + 1] = s->q_offsets[b] + nq, s->k_offsets[b + 1] = s->k_offsets[b] + nk;
            longest_q = nq > longest_q ? nq : longest_q, longest_k = nk > longest_k ? nk : longest_k;
        }
        a->queries = longest_q, a->keys = longest_k;
    } else if (one_in(2)) {
        s->q_lengths = room(a->batch, sizeof(int32_t)), s->k_lengths = room(a->batch, sizeof(int32_t));
        for (int64_t b = 0; b < a->batch; b++) {
            s->q_lengths[b] = (int32_t)below(a->queries + 1);
            s->k_lengths[b] = (int32_t)below(a->keys + 1);
        }
    }
    a->q_offsets = s->q_offsets, a->k_offsets = s->k_offsets;
    a->q_lengths = s->q_lengths, a->k_lengths = s->k_lengths;
    if (s->q_offsets) a->q_rows = s->q_offsets[a->batch], a->k_rows = s->k_offsets[a->batch];
    s->rows = kernel_attention_rows(a);
    s->key_rows = s->k_offsets ? a->k_rows : a->batch * a->keys;
}

static void make_mask(struct scene *s) {
    struct attention *a = &s->a;
    a->causal = one_in(2);
    a->window = one_in(3) ? 1 + below(a->keys + 2) : 0;
    a->block = one_in(4) ? 1 + below(a->keys + 2) : 0;
    a->offset = one_in(2) ? below(a->keys + 2) : 0;
    if (one_in(5)) {
        s->places = room(a->batch, sizeof(int32_t));
        for (int64_t b = 0; b < a->batch; b++) s->places[b] = (int32_t)below(a->keys + 2);
        a->places = s->places;
    }
    if (one_in(4)) {
        int64_t count;
        a->keep_at = plane(a, &count);
        a->keep = s->keep = room(count, 1);
        for (int64_t i = 0; i < count; i++) s->keep[i] = !one_in(3);
    }
    if (one_in(4)) {
        a->add_at = plane(a, &s->add_count);
        a->add = s->add = filled(s->add_count);
        for (int64_t i = 0; i < s->add_count; i++)
            if (one_in(9)) s->add[i] = -INFINITY;
    }
    if (one_in(5)) {
        a->slopes = s->slopes = filled(a->heads);
        for (int64_t h = 0; h < a->heads; h++) s->slopes[h] *= 0.05f; /* scores of hundreds would cost digits */
    }
    if (one_in(5)) {
        a->distance_zero = a->keys + 1 + a->queries; /* offsets and places are at most keys + 1 */
        s->distance_count = a->distance_zero + a->keys + 1;
        a->distance_head = one_in(2) ? s->distance_count : 0;
        a->distance = s->distance = filled(s->distance_count * (a->distance_head ? a->heads : 1));
    }
    if (one_in(5)) a->dropout = one_in(9) ? 1.0f : 0.3f;
}

static const int64_t sizes[] = {1, 2, 3, 8, 16, 17, 31, 33, 64, 80};

static void scene_make(struct scene *s, bool large) {
    *s = (struct scene){0};
    struct attention *a = &s->a;
    *a = (struct attention){.batch = 1 + below(3), .kv_heads = 1 + below(3), .seed = 7, .stream = next_bits()};
    a->heads = a->kv_heads * (1 + below(3));
    a->queries = below(large ? 300 : 40), a->keys = below(large ? 400 : 40);
    if (one_in(3)) a->queries = below(6);
    a->d = sizes[below(10)], a->e = one_in(2) ? a->d : sizes[below(10)];
    a->scale = one_in(2) ? 1 / sqrtf((float)a->d) : 0.3f;
    make_sequences(s);
    make_mask(s);
    int64_t per;
    const int kind = s->q_offsets && one_in(2) ? 0 : (int)below(3);
    const int64_t nq = s->q_offsets ? s->rows : a->queries, nk = s->k_offsets ? s->key_rows : a->keys;
    const int64_t batch = s->q_offsets ? 1 : a->batch;
    a->q_at = layout(kind, nq, a->heads, a->d, &per), s->q_floats = per * batch;
    a->k_at = layout(kind, nk, a->kv_heads, a->d, &per), s->k_floats = per * batch;
    a->v_at = layout(kind, nk, a->kv_heads, a->e, &per), s->v_floats = per * batch;
    a->q = s->q = filled(s->q_floats), a->k = s->k = filled(s->k_floats), a->v = s->v = filled(s->v_floats);
    s->y_at = (struct attention_at){a->queries * a->heads * a->e, a->heads * a->e, a->e};
    const int64_t y_count = s->rows * a->heads * a->e;
    s->y = room(y_count, sizeof(float)), s->dy = filled(y_count);
    s->top = room(s->rows * a->heads, sizeof(float)), s->sum = room(s->rows * a->heads, sizeof(float));
    s->dq = filled(s->rows * a->heads * a->d);
    s->dk = filled(s->key_rows * a->kv_heads * a->d), s->dv = filled(s->key_rows * a->kv_heads * a->e);
    if (s->add) s->dadd = filled(s->add_count);
    if (s->distance) s->ddistance = filled(s->distance_count * (a->distance_head ? a->heads : 1));
}

static struct attention_grad grad_of(struct scene *s) {
    return (struct attention_grad){.y = s->y,
                                   .dy = s->dy,
                                   .top = s->top,
                                   .sum = s->sum,
                                   .dq = s->dq,
                                   .dk = s->dk,
                                   .dv = s->dv,
                                   .ldq = s->a.heads * s->a.d,
                                   .ldk = s->a.kv_heads * s->a.d,
                                   .ldv = s->a.kv_heads * s->a.e,
                                   .dadd = s->dadd,
                                   .add_count = s->add_count,
                                   .ddistance = s->ddistance,
                                   .distance_count = s->distance_count,
                                   .distance_rows = s->a.distance_head ? s->a.heads : 1};
}

static void scene_run(struct scene *s, struct pool *pool, bool back) {
    kernel_attention(pool, &s->a, s->y, s->y_at, s->top, s->sum);
    if (!back) return;
    struct attention_grad g = grad_of(s);
    g.work = room((int64_t)kernel_attention_grad_work(&s->a, &g), 1);
    kernel_attention_grad(pool, &s->a, &g);
    free(g.work);
}

/* ---- the plain formula ---- */

struct plain {
    double *y, *w, *dq, *dk, *dv, *dadd, *ddistance; /* w: (H, rows, keys), before dropout */
};

static int64_t queries_of(const struct scene *s, int64_t b) {
    return s->q_offsets ? s->q_offsets[b + 1] - s->q_offsets[b] : s->q_lengths ? s->q_lengths[b] : s->a.queries;
}
static int64_t keys_of(const struct scene *s, int64_t b) {
    return s->k_offsets ? s->k_offsets[b + 1] - s->k_offsets[b] : s->k_lengths ? s->k_lengths[b] : s->a.keys;
}
static int64_t row_of(const struct scene *s, int64_t b) { return s->q_offsets ? s->q_offsets[b] : b * s->a.queries; }
static int64_t key_row_of(const struct scene *s, int64_t b) { return s->k_offsets ? s->k_offsets[b] : b * s->a.keys; }

static bool visible(const struct scene *s, int64_t b, int64_t h, int64_t i, int64_t j) {
    const struct attention *a = &s->a;
    const int64_t at = i + (s->places ? s->places[b] : a->offset);
    if (a->causal && j > at) return false;
    if (a->window && llabs((long long)(at - j)) >= a->window) return false;
    if (a->block && at / a->block != j / a->block) return false;
    if (a->keep && !a->keep[b * a->keep_at.batch + h * a->keep_at.head + i * a->keep_at.query + j]) return false;
    return !a->add || a->add[b * a->add_at.batch + h * a->add_at.head + i * a->add_at.query + j] != -INFINITY;
}

static double factor(const struct scene *s, int64_t b, int64_t h, int64_t i, int64_t j) {
    const struct attention *a = &s->a;
    if (!(a->dropout > 0)) return 1;
    const int64_t groups = (a->queries + 15) / 16, least = lrint((double)a->dropout * 65536);
    const uint64_t word = (uint64_t)((((b * a->heads + h) * groups + i / 16) * a->keys + j) * 8 + i % 8);
    const uint32_t bits = heed_random_bits(a->seed, a->stream, word), half = i % 16 < 8 ? bits & 0xffff : bits >> 16;
    return half >= least ? 65536.0 / (double)(65536 - least) : 0;
}

static double score(const struct scene *s, int64_t b, int64_t h, int64_t i, int64_t j, const float *q, const float *k) {
    const struct attention *a = &s->a;
    const int64_t at = i + (s->places ? s->places[b] : a->offset);
    double x = 0;
    for (int64_t c = 0; c < a->d; c++) x += (double)q[c] * (double)k[c];
    x *= (double)a->scale;
    if (a->add) x += (double)a->add[b * a->add_at.batch + h * a->add_at.head + i * a->add_at.query + j];
    if (a->slopes) x -= (double)a->slopes[h] * fabs((double)(at - j));
    if (a->distance) x += (double)a->distance[h * a->distance_head + j - at + a->distance_zero];
    return x;
}

static void plain_row(const struct scene *s, struct plain *p, int64_t b, int64_t h, int64_t i) {
    const struct attention *a = &s->a;
    const int64_t kv = h / (a->heads / a->kv_heads), nk = keys_of(s, b), row = row_of(s, b) + i;
    const int64_t batch = s->q_offsets ? 0 : b, k0 = s->k_offsets ? s->k_offsets[b] : 0;
    const int64_t q0 = s->q_offsets ? s->q_offsets[b] : 0;
    const float *q = s->q + batch * a->q_at.batch + (q0 + i) * a->q_at.time + h * a->q_at.head;
    const float *k = s->k + batch * a->k_at.batch + k0 * a->k_at.time + kv * a->k_at.head;
    const float *v = s->v + batch * a->v_at.batch + k0 * a->v_at.time + kv * a->v_at.head;
    const float *dy = s->dy + (row * a->heads + h) * a->e;
    double *w = p->w + (h * s->rows + row) * a->keys, *y = p->y + (row * a->heads + h) * a->e;
    double top = -HUGE_VAL, sum = 0, delta = 0;
    for (int64_t j = 0; j < nk; j++)
        if (visible(s, b, h, i, j)) w[j] = score(s, b, h, i, j, q, k + j * a->k_at.time), top = w[j] > top ? w[j] : top;
    for (int64_t j = 0; j < nk; j++)
        if (visible(s, b, h, i, j)) w[j] = exp(w[j] - top), sum += w[j];
    for (int64_t j = 0; j < nk; j++) {
        if (!visible(s, b, h, i, j)) continue;
        w[j] /= sum;
        const double f = factor(s, b, h, i, j);
        for (int64_t c = 0; f != 0 && c < a->e; c++) y[c] += w[j] * f * (double)v[j * a->v_at.time + c];
    }
    for (int64_t c = 0; c < a->e; c++) delta += y[c] * (double)dy[c];
    for (int64_t j = 0; j < nk; j++) {
        if (!visible(s, b, h, i, j)) continue;
        const double f = factor(s, b, h, i, j);
        const int64_t key = (key_row_of(s, b) + j) * a->kv_heads + kv, at = i + (s->places ? s->places[b] : a->offset);
        double dp = 0;
        for (int64_t c = 0; c < a->e; c++) {
            dp += (double)dy[c] * (double)v[j * a->v_at.time + c];
            p->dv[key * a->e + c] += w[j] * f * (double)dy[c];
        }
        const double ds = w[j] * (dp * f - delta);
        for (int64_t c = 0; c < a->d; c++) {
            p->dq[(row * a->heads + h) * a->d + c] += (double)a->scale * ds * (double)k[j * a->k_at.time + c];
            p->dk[key * a->d + c] += (double)a->scale * ds * (double)q[c];
        }
        if (a->add) p->dadd[b * a->add_at.batch + h * a->add_at.head + i * a->add_at.query + j] += ds;
        if (a->distance) p->ddistance[h * a->distance_head + j - at + a->distance_zero] += ds;
    }
}

static struct plain plain_run(const struct scene *s) {
    const struct attention *a = &s->a;
    struct plain p = {.y = room(s->rows * a->heads * a->e, sizeof(double)),
                      .w = room(s->rows * a->heads * a->keys, sizeof(double)),
                      .dq = room(s->rows * a->heads * a->d, sizeof(double)),
                      .dk = room(s->key_rows * a->kv_heads * a->d, sizeof(double)),
                      .dv = room(s->key_rows * a->kv_heads * a->e, sizeof(double)),
                      .dadd = room(s->add_count, sizeof(double)),
                      .ddistance = room(s->distance_count * a->heads, sizeof(double))};
    for (int64_t b = 0; b < a->batch; b++)
        for (int64_t h = 0; h < a->heads; h++)
            for (int64_t i = 0; i < queries_of(s, b); i++) plain_row(s, &p, b, h, i);
    return p;
}

static void plain_free(struct plain *p) {
    free(p->y), free(p->w), free(p->dq), free(p->dk), free(p->dv), free(p->dadd), free(p->ddistance);
}

/* NaN where NaN is expected counts as right, anywhere else as wrong. */
static void same(const char *what, const float *x, const double *y, int64_t n, double tolerance) {
    for (int64_t i = 0; i < n; i++) {
        if (isnan(y[i]) && isnan(x[i])) continue;
        if (!(fabs((double)x[i] - y[i]) <= tolerance * (1 + fabs(y[i]))))
            fail_msg("%s[%lld] = %g, not %g", what, (long long)i, (double)x[i], y[i]);
    }
}

static void check_weights(const struct scene *s, const struct plain *p, struct pool *pool) {
    const struct attention *a = &s->a;
    const int64_t b = below(a->batch), h = below(a->heads), n = a->queries;
    if (n == 0) return;
    int64_t *rows = room(n, sizeof(int64_t)), count = 0;
    const bool all = one_in(3);
    for (int64_t i = 0; i < queries_of(s, b); i++)
        if (all || !one_in(3)) rows[count++] = i;
    float *w = room(n * a->keys, sizeof(float));
    kernel_attention_weights(pool, a, s->top, s->sum, b, h, all ? NULL : rows, 0, count, w, a->keys);
    for (int64_t r = 0; r < count; r++) {
        double sum = 0;
        for (int64_t j = 0; j < a->keys; j++) sum += (double)w[r * a->keys + j];
        assert_true(sum == 0 || isnan(sum) || fabs(sum - 1) < 1e-5);
        same("weights", w + r * a->keys, p->w + (h * s->rows + row_of(s, b) + rows[r]) * a->keys, a->keys, 1e-5);
    }
    free(rows);
    free(w);
}

static void check(struct scene *s, struct pool *pool) {
    const struct attention *a = &s->a;
    struct plain p = plain_run(s);
    scene_run(s, pool, true);
    same("y", s->y, p.y, s->rows * a->heads * a->e, 1e-5);
    same("dq", s->dq, p.dq, s->rows * a->heads * a->d, 5e-5);
    same("dk", s->dk, p.dk, s->key_rows * a->kv_heads * a->d, 5e-5);
    same("dv", s->dv, p.dv, s->key_rows * a->kv_heads * a->e, 5e-5);
    if (s->dadd) same("dadd", s->dadd, p.dadd, s->add_count, 5e-5);
    if (s->ddistance)
        same("ddistance", s->ddistance, p.ddistance, s->distance_count * (a->distance_head ? a->heads : 1), 1e-4);
    check_weights(s, &p, pool);
    plain_free(&p);
}

static void test_random(void **unused) {
    (void)unused;
    for (int i = 0; i < 2000; i++) {
        struct scene s;
        scene_make(&s, i % 100 == 0);
        check(&s, pools[i % POOLS]);
        scene_free(&s);
    }
}

/* Keys and values that are NaN or infinite, seen by some queries and hidden from others. */
static void test_hidden_harmless(void **unused) {
    (void)unused;
    for (int i = 0; i < 300; i++) {
        struct scene s;
        scene_make(&s, false);
        s.a.causal = true, s.a.dropout = 0; /* what 0 times NaN is in a dropped weight is nobody's promise */
        for (int64_t n = s.k_floats / s.a.d / 6; n-- > 0;) s.k[below(s.k_floats)] = NAN;
        for (int64_t n = s.v_floats / s.a.e / 6; n-- > 0;) s.v[below(s.v_floats)] = NAN;
        check(&s, pools[i % POOLS]);
        scene_free(&s);
    }
}

/* A query that looks at one key alone, and of which one block holds all keys, has no gradient: exactly, not but for
 * rounding. Returns how many there were. */
static int64_t check_alone(const struct scene *s, const struct plain *p) {
    const struct attention *a = &s->a;
    int64_t n = 0;
    for (int64_t b = 0; a->keys <= 16 && b < a->batch; b++)
        for (int64_t at = 0; at < a->heads * queries_of(s, b); at++) {
            const int64_t h = at % a->heads, row = row_of(s, b) + at / a->heads;
            const double *const w = p->w + (h * s->rows + row) * a->keys;
            bool alone = false;
            for (int64_t j = 0; j < keys_of(s, b); j++) alone |= w[j] == 1;
            for (int64_t c = 0; alone && c < a->d; c++) assert_true(s->dq[(row * a->heads + h) * a->d + c] == 0);
            n += alone;
        }
    return n;
}

/* Scores of ten thousand and more: weights still sum to 1, and gradients are those of the formula. */
static void test_large_scores(void **unused) {
    (void)unused;
    int64_t alone = 0;
    for (int i = 0; i < 100; i++) {
        struct scene s;
        scene_make(&s, false);
        for (int64_t n = 0; n < s.q_floats; n++) s.q[n] = (float)below(3) * 64; /* exact in float */
        for (int64_t n = 0; n < s.k_floats; n++) s.k[n] = (float)(below(3) - 1) * 32;
        s.a.scale = 1, s.a.add = NULL, s.a.slopes = NULL, s.a.distance = NULL;
        free(s.dadd), free(s.ddistance);
        s.dadd = s.ddistance = NULL;
        struct plain p = plain_run(&s);
        scene_run(&s, pools[0], true);
        same("y", s.y, p.y, s.rows * s.a.heads * s.a.e, 1e-5);
        same("dv", s.dv, p.dv, s.key_rows * s.a.kv_heads * s.a.e, 5e-5);
        check_weights(&s, &p, pools[0]);
        alone += check_alone(&s, &p);
        plain_free(&p);
        scene_free(&s);
    }
    assert_true(alone > 100);
}

static void test_threads(void **unused) {
    (void)unused;
    for (int i = 0; i < 60; i++) {
        struct scene s;
        scene_make(&s, i % 4 == 0);
        const int64_t y_count = s.rows * s.a.heads * s.a.e, k_count = s.key_rows * s.a.kv_heads * s.a.d;
        const int64_t q_count = s.rows * s.a.heads * s.a.d, v_count = s.key_rows * s.a.kv_heads * s.a.e;
        float *first[5] = {0};
        for (int t = 0; t < POOLS; t++) {
            scene_run(&s, pools[t], true);
            const float *now[5] = {s.y, s.dq, s.dk, s.dv, s.dadd};
            const int64_t count[5] = {y_count, q_count, k_count, v_count, s.add_count};
            for (int x = 0; x < 5; x++) {
                if (!now[x]) continue;
                if (t == 0) memcpy(first[x] = room(count[x], sizeof(float)), now[x], (size_t)count[x] * sizeof(float));
                assert_memory_equal(first[x], now[x], (size_t)count[x] * sizeof(float));
            }
        }
        for (int x = 0; x < 5; x++) free(first[x]);
        scene_free(&s);
    }
}

/* A sequence gives the same bits alone as among others. */
static void test_batch(void **unused) {
    (void)unused;
    for (int i = 0; i < 60; i++) {
        struct scene s;
        scene_make(&s, false);
        while (s.q_offsets || s.a.dropout > 0 || s.add || s.keep || s.distance) scene_free(&s), scene_make(&s, false);
        scene_run(&s, pools[1], true);
        for (int64_t b = 0; b < s.a.batch; b++) {
            struct scene one = s;
            one.a.batch = 1;
            one.a.q += b * s.a.q_at.batch, one.a.k += b * s.a.k_at.batch, one.a.v += b * s.a.v_at.batch;
            if (s.q_lengths) one.a.q_lengths += b, one.a.k_lengths += b;
            if (s.places) one.a.places += b;
            const int64_t rows = s.a.queries, keys = s.a.keys, h = s.a.heads, g = s.a.kv_heads, d = s.a.d, e = s.a.e;
            one.rows = rows, one.key_rows = keys;
            one.dy += b * rows * h * e;
            one.y = room(rows * h * e, sizeof(float)), one.dq = room(rows * h * d, sizeof(float));
            one.dk = room(keys * g * d, sizeof(float)), one.dv = room(keys * g * e, sizeof(float));
            one.top = room(rows * h, sizeof(float)), one.sum = room(rows * h, sizeof(float));
            scene_run(&one, pools[0], true);
            assert_memory_equal(one.y, s.y + b * rows * h * e, (size_t)(rows * h * e) * sizeof(float));
            assert_memory_equal(one.dq, s.dq + b * rows * h * d, (size_t)(rows * h * d) * sizeof(float));
            assert_memory_equal(one.dk, s.dk + b * keys * g * d, (size_t)(keys * g * d) * sizeof(float));
            assert_memory_equal(one.dv, s.dv + b * keys * g * e, (size_t)(keys * g * e) * sizeof(float));
            free(one.y), free(one.dq), free(one.dk), free(one.dv), free(one.top), free(one.sum);
        }
        scene_free(&s);
    }
}

/* Some queries give the same bits alone as among the others: in decoding, one by one or in small groups. */
static void test_few(void **unused) {
    (void)unused;
    for (int i = 0; i < 150; i++) {
        struct scene s;
        scene_make(&s, i % 4 == 0);
        while (s.q_offsets || s.q_lengths || s.a.dropout > 0 || s.a.queries < 5)
            scene_free(&s), scene_make(&s, i % 4 == 0);
        if (i % 5 == 0) s.a.cap = 2;
        scene_run(&s, pools[1], false);
        const int64_t first = below(s.a.queries), rows = s.a.queries, most = rows - first < 8 ? rows - first : 8;
        struct scene few = s;
        few.a.queries = few.rows = 1 + below(most);
        few.a.q += first * s.a.q_at.time, few.a.offset += first;
        if (s.add) few.a.add += first * s.a.add_at.query;
        if (s.keep) few.a.keep += first * s.a.keep_at.query;
        int32_t places[3];
        for (int64_t b = 0; s.places && b < s.a.batch; b++) places[b] = s.places[b] + (int32_t)first;
        if (s.places) few.a.places = places;
        const int64_t h = s.a.heads, e = s.a.e, n = few.a.queries;
        few.y = room(n * s.a.batch * h * e, sizeof(float)), few.y_at.batch = n * h * e;
        few.top = room(n * s.a.batch * h, sizeof(float)), few.sum = room(n * s.a.batch * h, sizeof(float));
        kernel_attention(pools[0], &few.a, few.y, few.y_at, few.top, few.sum);
        for (int64_t b = 0; b < s.a.batch; b++)
            assert_memory_equal(few.y + b * n * h * e, s.y + (b * rows + first) * h * e,
                                (size_t)(n * h * e) * sizeof(float));
        free(few.y), free(few.top), free(few.sum);
        scene_free(&s);
    }
}

/* One query, heads that fill a vector or not: the same bits wherever the arrays lie. */
static void test_places(void **unused) {
    (void)unused;
    enum { KEYS = 37, ROOM = 4096 };
    for (int64_t size = 1; size <= 20; size++) {
        float *input = filled(size * (1 + 2 * KEYS)), first[20];
        for (int64_t gap = 0; gap < 24; gap++) {
            float *all = room(ROOM, sizeof(float)), *q = all + gap, *k = q + size, *v = k + KEYS * size,
                  *y = gap % 2 ? v + KEYS * size : v + KEYS * size + 64;
            memcpy(q, input, (size_t)(size * (1 + 2 * KEYS)) * sizeof(float));
            const struct attention_at at = {KEYS * size, size, size};
            const struct attention a = {.batch = 1,
                                        .heads = 1,
                                        .kv_heads = 1,
                                        .queries = 1,
                                        .keys = KEYS,
                                        .d = size,
                                        .e = size,
                                        .q = q,
                                        .k = k,
                                        .v = v,
                                        .q_at = at,
                                        .k_at = at,
                                        .v_at = at,
                                        .scale = 0.5f};
            kernel_attention(pools[0], &a, y, at, NULL, NULL);
            if (!gap) memcpy(first, y, (size_t)size * sizeof(float));
            assert_memory_equal(first, y, (size_t)size * sizeof(float));
            free(all);
        }
        free(input);
    }
}

static int tests(void) {
    const struct CMUnitTest all[] = {cmocka_unit_test(test_random),       cmocka_unit_test(test_hidden_harmless),
                                     cmocka_unit_test(test_large_scores), cmocka_unit_test(test_threads),
                                     cmocka_unit_test(test_batch),        cmocka_unit_test(test_few),
                                     cmocka_unit_test(test_places)};
    return cmocka_run_group_tests(all, open_pools, close_pools);
}

int main(void) { return run_each_set(tests); }
