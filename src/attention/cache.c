/* The storage of the key-value cache: appending, forgetting, growing, reordering, copying. Attention over it is
 * elsewhere.
 *
 * Nothing is changed before everything that can fail has succeeded. */
#include "attention/cache.h"
#include "attention/strides.h"
#include "base/checked.h"
#include "base/memory.h"
#include "kernel/elementwise.h"
#include <string.h>

#define MAX_POSITIONS ((int64_t)INT32_MAX) /* in one sequence at a time: held is i32 */

/* ---- blocks ---- */

/* Keys and values of a layer in one piece; values begin at a multiple of 64 bytes. */
static bool block_size(const heed_cache_opts *o, int64_t room, size_t *keys, size_t *bytes) {
    size_t rows, values;
    if (!size_mul((size_t)o->batch, (size_t)o->kv_heads, &rows) || !size_mul(rows, (size_t)room, &rows) ||
        !size_mul(rows, (size_t)o->key_size * sizeof(float), keys) || !size_add(*keys, 63, keys) ||
        !size_mul(rows, (size_t)o->value_size * sizeof(float), &values))
        return false;
    *keys &= ~(size_t)63;
    return size_add(*keys, values, bytes) && *bytes <= PTRDIFF_MAX;
}

/* Gives `to` memory for `room` positions; its other members are left alone. */
static bool block_new(heed_ctx *cx, const heed_cache_opts *o, int64_t room, struct cache_layer *to) {
    size_t keys, bytes;
    void *block = NULL;
    if (!block_size(o, room, &keys, &bytes))
        return heed_fail(cx, HEED_ERR_RANGE, "cache: %lld sequences of %lld positions are too large",
                         (long long)o->batch, (long long)room);
    const heed_status status = cx->config.dry ? mem_count(cx, bytes) : mem_try(cx, bytes, &block);
    if (status != HEED_OK) return mem_refused(cx, status, bytes);
    to->k = block;
    to->v = block ? to->k + keys / sizeof(float) : NULL;
    to->room = room;
    return true;
}

static void block_free(heed_ctx *cx, const heed_cache_opts *o, const struct cache_layer *l) {
    size_t keys, bytes;
    if (l->k)
        heed_mem_free(cx, l->k);
    else if (cx->config.dry && l->room > 0 && block_size(o, l->room, &keys, &bytes))
        mem_uncount(cx, bytes);
}

/* ---- opening and closing ---- */

static bool opts_ok(heed_ctx *cx, const heed_cache_opts *o) {
    if (!o) return heed_fail(cx, HEED_ERR_USAGE, "cache_new: the options are NULL");
    if ((int)o->kind < HEED_CACHE_FIXED || o->kind > HEED_CACHE_SLIDING)
        return heed_fail(cx, HEED_ERR_USAGE, "cache_new: %d is not a kind of cache", (int)o->kind);
    if (o->layers < 1 || o->batch < 1 || o->kv_heads < 1 || o->key_size < 1 || o->value_size < 1)
        return heed_fail(cx, HEED_ERR_RANGE,
                         "cache_new: %d layers, batch %lld, %lld heads of sizes %lld and %lld: all must be positive",
                         o->layers, (long long)o->batch, (long long)o->kv_heads, (long long)o->key_size,
                         (long long)o->value_size);
    if (o->batch > INT32_MAX || o->key_size > INT32_MAX || o->value_size > INT32_MAX)
        return heed_fail(cx, HEED_ERR_RANGE, "cache_new: batch %lld or head sizes %lld and %lld are too large",
                         (long long)o->batch, (long long)o->key_size, (long long)o->value_size);
    if (o->capacity < 1 || o->capacity > MAX_POSITIONS / 2)
        return heed_fail(cx, HEED_ERR_RANGE, "cache_new: a %s of %lld positions is not between 1 and %lld",
                         o->kind == HEED_CACHE_SLIDING ? "window" : "capacity", (long long)o->capacity,
                         (long long)(MAX_POSITIONS / 2));
    return true;
}

/* The cache, its layers and their counts in one piece. */
static heed_cache *cache_make(heed_ctx *cx, const heed_cache_opts *o) {
    const size_t layers = (size_t)o->layers, batch = (size_t)o->batch;
    size_t per_row, bytes;
    if (!size_mul(layers, 2 * sizeof(int32_t) + sizeof(int64_t), &per_row) ||
        !size_add(per_row, 2 * sizeof(int32_t) + sizeof(int64_t), &per_row) || !size_mul(per_row, batch, &bytes) ||
        !size_add(bytes, layers * sizeof(struct cache_layer) + sizeof(heed_cache), &bytes)) {
        heed_fail(cx, HEED_ERR_RANGE, "cache_new: %d layers of batch %lld are too large", o->layers,
                  (long long)o->batch);
        return NULL;
    }
    heed_cache *c = heed_mem_new(cx, bytes);
    if (!c) return NULL;
    memset(c, 0, bytes);
    c->opts = *o;
    c->batch = o->batch;
    c->layers = (struct cache_layer *)(c + 1);
    c->spare = (int64_t *)(c->layers + layers);
    int64_t *first = c->spare + batch;
    c->order = (int32_t *)(first + layers * batch);
    c->uses = c->order + batch;
    int32_t *count = c->uses + batch;
    for (size_t i = 0; i < layers; i++, first += batch, count += 2 * batch) {
        c->layers[i].first = first;
        c->layers[i].held = count;
        c->layers[i].added = count + batch;
    }
    return c;
}

heed_cache *heed_cache_new(heed_ctx *cx, const heed_cache_opts *opts) {
    if (heed_failed(cx) || !opts_ok(cx, opts)) return NULL;
    heed_cache *c = cache_make(cx, opts);
    const int64_t room = opts->kind == HEED_CACHE_SLIDING ? 2 * opts->capacity : opts->capacity;
    for (int i = 0; c && i < opts->layers; i++)
        if (!block_new(cx, opts, room, &c->layers[i])) {
            heed_cache_free(cx, c);
            return NULL;
        }
    return c;
}

void heed_cache_free(heed_ctx *cx, heed_cache *cache) {
    if (!cx || !cache) return;
    for (int i = 0; i < cache->opts.layers; i++) block_free(cx, &cache->opts, &cache->layers[i]);
    heed_mem_free(cx, cache);
}

void heed_cache_reset(heed_cache *cache) {
    if (!cache) return;
    const size_t batch = (size_t)cache->opts.batch;
    cache->batch = cache->opts.batch;
    for (int i = 0; i < cache->opts.layers; i++) {
        const struct cache_layer *l = &cache->layers[i];
        memset(l->first, 0, batch * sizeof *l->first);
        memset(l->held, 0, batch * sizeof *l->held);
        memset(l->added, 0, batch * sizeof *l->added);
    }
}

void cache_forget(heed_cache *cache, int64_t sequence) {
    for (int i = 0; i < cache->opts.layers; i++) {
        const struct cache_layer *l = &cache->layers[i];
        l->first[sequence] = l->held[sequence] = l->added[sequence] = 0;
    }
}

int64_t heed_cache_batch(const heed_cache *cache) { return cache ? cache->batch : 0; }

int64_t heed_cache_length(const heed_cache *cache, int layer, int64_t sequence) {
    if (!cache || layer < 0 || layer >= cache->opts.layers || sequence < 0 || sequence >= cache->batch) return 0;
    return cache->layers[layer].first[sequence] + cache->layers[layer].held[sequence];
}

static bool layer_ok(heed_ctx *cx, const char *who, const heed_cache *cache, int layer) {
    if (!cache) return heed_fail(cx, HEED_ERR_USAGE, "%s: the cache is NULL", who);
    if (layer < 0 || layer >= cache->opts.layers)
        return heed_fail(cx, HEED_ERR_RANGE, "%s: layer %d of a cache of %d", who, layer, cache->opts.layers);
    return true;
}

static struct attention_at rows_at(const heed_cache *c, int64_t room, int64_t size) {
    return (struct attention_at){.batch = c->opts.kv_heads * room * size, .time = size, .head = room * size};
}

bool cache_view(heed_ctx *cx, const char *who, const heed_cache *cache, int layer, struct cache_view *view) {
    if (heed_failed(cx) || !layer_ok(cx, who, cache, layer)) return false;
    const heed_cache_opts *o = &cache->opts;
    const struct cache_layer *l = &cache->layers[layer];
    *view = (struct cache_view){.batch = cache->batch,
                                .kv_heads = o->kv_heads,
                                .key_size = o->key_size,
                                .value_size = o->value_size,
                                .k = l->k,
                                .v = l->v,
                                .k_at = rows_at(cache, l->room, o->key_size),
                                .v_at = rows_at(cache, l->room, o->value_size),
                                .held = l->held,
                                .added = l->added,
                                .first = l->first,
                                .window = o->kind == HEED_CACHE_SLIDING ? o->capacity : 0};
    for (int64_t b = 0; b < cache->batch; b++)
        if (l->held[b] > view->longest) view->longest = l->held[b];
    return true;
}

heed_tensor *cache_turned(heed_ctx *cx, const heed_cache *cache, int layer, heed_tensor *x, bool appended,
                          const heed_rotary_opts *rotary) {
    struct cache_view view;
    if (!x || !cache_view(cx, "cache", cache, layer, &view)) return NULL;
    if (x->rank != 4 || x->shape[0] != view.batch) return x;
    if (rotary->angles) return heed_rotary(cx, x, rotary);
    heed_tensor *const positions = heed_zeros(cx, HEED_I32, 2, x->shape);
    if (!positions) return NULL;
    int32_t *at = (int32_t *)(void *)positions->data;
    for (int64_t b = 0; !cx->config.dry && b < view.batch; b++)
        for (int64_t t = 0; t < x->shape[1]; t++)
            *at++ = (int32_t)(view.first[b] + view.held[b] - (appended ? view.added[b] : 0) + t);
    heed_rotary_opts placed = *rotary;
    placed.positions = positions;
    return heed_rotary(cx, x, &placed);
}

/* ---- append ---- */

struct append {
    const heed_cache *cache;
    struct cache_layer from, to; /* the same unless the room changes */
    const float *k, *v;
    struct attention_at k_at, v_at;
    int64_t time;
    const int32_t *counts;
};

static int64_t count_of(const struct append *a, int64_t b) { return a->counts ? a->counts[b] : a->time; }

/* Positions that sequence b forgets to make room: a sliding cache keeps what the first new query may still see. */
static int64_t forgotten(const struct append *a, int64_t b) {
    const int64_t held = a->from.held[b], seen = a->cache->opts.capacity - 1;
    return held + count_of(a, b) > a->to.room && held > seen ? held - seen : 0;
}

/* One head of one sequence: what stays is moved to the front of its new rows, `count` rows of x follow. */
static void append_rows(float *to, const float *from, int64_t kept, int64_t size, const float *x, int64_t x_time,
                        int64_t count) {
    const size_t row = (size_t)size * sizeof(float);
    if (kept > 0 && to != from) memmove(to, from, (size_t)kept * row);
    to += kept * size;
    if (count > 0 && x_time == size)
        memcpy(to, x, (size_t)count * row);
    else
        for (int64_t t = 0; t < count; t++) memcpy(to + t * size, x + t * x_time, row);
}

static void append_task(void *arg, int64_t task, void *scratch) {
    const struct append *a = arg;
    const heed_cache_opts *o = &a->cache->opts;
    const int64_t b = task / o->kv_heads, g = task % o->kv_heads, D = o->key_size, E = o->value_size;
    const int64_t count = count_of(a, b), gone = forgotten(a, b), kept = a->from.held[b] - gone;
    const int64_t to = task * a->to.room, from = task * a->from.room + gone;
    (void)scratch;
    append_rows(a->to.k + to * D, a->from.k + from * D, kept, D, a->k + b * a->k_at.batch + g * a->k_at.head,
                a->k_at.time, count);
    append_rows(a->to.v + to * E, a->from.v + from * E, kept, E, a->v + b * a->v_at.batch + g * a->v_at.head,
                a->v_at.time, count);
}

static bool tensor_ok(heed_ctx *cx, const heed_cache *c, const heed_tensor *t, const char *what, int64_t size) {
    if (!t) return heed_fail(cx, HEED_ERR_USAGE, "cache_append: %s is NULL", what);
    if (t->cx != cx) return heed_fail(cx, HEED_ERR_USAGE, "cache_append: %s belongs to another context", what);
    if (!t->data)
        return heed_fail(cx, HEED_ERR_USAGE, "cache_append: %s is no longer readable: %s", what, tensor_gone(t));
    if (t->dtype != HEED_F32)
        return heed_fail(cx, HEED_ERR_TYPE, "cache_append: %s is %s, not f32", what, heed_dtype_name(t->dtype));
    if (t->rank != 4 || t->shape[0] != c->batch || t->shape[2] != c->opts.kv_heads || t->shape[3] != size)
        return heed_fail(cx, HEED_ERR_SHAPE, "cache_append: %s of shape %s is not (%lld,T,%lld,%lld)", what,
                         heed_shape_text(t).s, (long long)c->batch, (long long)c->opts.kv_heads, (long long)size);
    return true;
}

static bool counts_ok(heed_ctx *cx, const struct append *a) {
    for (int64_t b = 0; a->counts && b < a->cache->batch; b++)
        if (a->counts[b] < 0 || a->counts[b] > a->time)
            return heed_fail(cx, HEED_ERR_RANGE, "cache_append: count %d of sequence %lld is not between 0 and %lld",
                             a->counts[b], (long long)b, (long long)a->time);
    return true;
}

/* The room that the layer needs; 0 and a sentence when it cannot have it. */
static int64_t room_for(heed_ctx *cx, const struct append *a, int layer) {
    const heed_cache_opts *o = &a->cache->opts;
    int64_t most = 0, longest = 0, at = 0; /* the most new positions; the longest that a sequence becomes */
    for (int64_t b = 0; b < a->cache->batch; b++) {
        const int64_t count = count_of(a, b), length = a->from.held[b] + count;
        if (count > most) most = count;
        if (length > longest) longest = length, at = b;
    }
    const int64_t needed = o->kind == HEED_CACHE_SLIDING ? o->capacity - 1 + most : longest;
    const int64_t limit = o->kind == HEED_CACHE_FIXED ? o->capacity : MAX_POSITIONS;
    if (needed > limit) {
        heed_fail(cx, HEED_ERR_RANGE,
                  "cache_append: layer %d, sequence %lld: %lld positions more than the %d held exceed a capacity of "
                  "%lld",
                  layer, (long long)at, (long long)count_of(a, at), a->from.held[at], (long long)limit);
        return 0;
    }
    if (o->kind == HEED_CACHE_SLIDING) return needed > 2 * o->capacity ? needed : 2 * o->capacity;
    int64_t room = a->from.room;
    while (room < needed) room = room > MAX_POSITIONS / 2 ? MAX_POSITIONS : 2 * room;
    return room;
}

static void append_run(heed_ctx *cx, struct append *a) {
    const heed_cache_opts *o = &a->cache->opts;
    int64_t rows = 0;
    for (int64_t b = 0; b < a->cache->batch; b++)
        rows += count_of(a, b) + (a->to.k != a->from.k || forgotten(a, b) > 0 ? a->from.held[b] : 0);
    const bool large = !kernel_is_small(rows * o->kv_heads * (o->key_size + o->value_size));
    pool_run_if(large, cx->pool, a->cache->batch * o->kv_heads, append_task, a);
}

bool heed_cache_append(heed_ctx *cx, heed_cache *cache, int layer, heed_tensor *k, heed_tensor *v,
                       const int32_t *counts) {
    if (heed_failed(cx) || !layer_ok(cx, "cache_append", cache, layer)) return false;
    if (!tensor_ok(cx, cache, k, "k", cache->opts.key_size) || !tensor_ok(cx, cache, v, "v", cache->opts.value_size))
        return false;
    if (k->shape[1] != v->shape[1])
        return heed_fail(cx, HEED_ERR_SHAPE, "cache_append: k of shape %s and v of shape %s differ in time",
                         heed_shape_text(k).s, heed_shape_text(v).s);
    struct cache_layer *l = &cache->layers[layer];
    struct append a = {.cache = cache, .from = *l, .to = *l, .time = k->shape[1], .counts = counts};
    const int64_t room = counts_ok(cx, &a) ? room_for(cx, &a, layer) : 0;
    if (room == 0) return false;
    if (!strides_of(k, &a.k_at) && (k = heed_contiguous(cx, k))) strides_of(k, &a.k_at);
    if (!strides_of(v, &a.v_at) && (v = heed_contiguous(cx, v))) strides_of(v, &a.v_at);
    if (!k || !v || (room != l->room && !block_new(cx, &cache->opts, room, &a.to))) return false;
    a.k = f32_of(k);
    a.v = f32_of(v);
    if (!cx->config.dry) append_run(cx, &a);
    if (room != a.from.room) block_free(cx, &cache->opts, &a.from);
    for (int64_t b = 0; b < cache->batch; b++) {
        const int64_t gone = forgotten(&a, b), count = count_of(&a, b);
        l->first[b] += gone;
        l->held[b] = (int32_t)(l->held[b] - gone + count);
        l->added[b] = (int32_t)count;
    }
    l->k = a.to.k, l->v = a.to.v, l->room = room;
    return true;
}

/* ---- reorder ---- Sequences that stay are not touched. A sequence is written when all who read it have: those that
 * nobody reads first, then those whose last reader is done. What is left are cycles, which are rotated piece by piece.
 */

#define PIECE 1024

struct reorder {
    const heed_cache *cache;
    const int32_t *index;
    int64_t copies, cycles; /* order: sequences to be copied to, then one of each cycle */
};

static void plan_reorder(heed_cache *c, struct reorder *r, int64_t n) {
    const int32_t *index = r->index;
    int64_t in_order = 0;
    for (int64_t b = 0; b < c->opts.batch; b++) c->uses[b] = 0;
    for (int64_t b = 0; b < n; b++)
        if (index[b] != b) c->uses[index[b]]++;
    for (int64_t b = 0; b < n; b++)
        if (index[b] != b && c->uses[b] == 0) c->order[in_order++] = (int32_t)b;
    for (; r->copies < in_order; r->copies++) {
        const int32_t from = index[c->order[r->copies]];
        if (--c->uses[from] == 0 && from < n && index[from] != from) c->order[in_order++] = from;
    }
    for (int64_t b = 0; b < n; b++) {
        if (index[b] == b || c->uses[b] == 0) continue;
        c->order[r->copies + r->cycles++] = (int32_t)b;
        for (int32_t at = (int32_t)b; c->uses[at] > 0; at = index[at]) c->uses[at] = 0;
    }
}

/* x: row 0 of a head in sequence 0; sequences are `batch` apart. */
static void turn_circle(float *x, int64_t batch, const int32_t *index, int32_t start, int64_t count) {
    float piece[PIECE];
    for (int64_t at = 0; at < count; at += PIECE) {
        const size_t bytes = (size_t)(count - at < PIECE ? count - at : PIECE) * sizeof(float);
        int32_t to = start;
        memcpy(piece, x + start * batch + at, bytes);
        for (; index[to] != start; to = index[to]) memcpy(x + to * batch + at, x + index[to] * batch + at, bytes);
        memcpy(x + to * batch + at, piece, bytes);
    }
}

static void reorder_head(const struct reorder *r, const struct cache_layer *l, float *x, int64_t batch, int64_t size) {
    const int32_t *order = r->cache->order, *index = r->index;
    for (int64_t i = 0; i < r->copies; i++) {
        const int32_t to = order[i], from = index[to];
        if (l->held[from] > 0) memcpy(x + to * batch, x + from * batch, (size_t)(l->held[from] * size) * sizeof(float));
    }
    for (int64_t i = r->copies; i < r->copies + r->cycles; i++) {
        const int32_t start = order[i];
        int64_t longest = l->held[start];
        for (int32_t at = index[start]; at != start; at = index[at])
            if (l->held[at] > longest) longest = l->held[at];
        turn_circle(x, batch, index, start, longest * size);
    }
}

static void reorder_task(void *arg, int64_t task, void *scratch) {
    const struct reorder *r = arg;
    const heed_cache_opts *o = &r->cache->opts;
    const int64_t g = task % o->kv_heads;
    const struct cache_layer *l = &r->cache->layers[task / o->kv_heads];
    const struct attention_at k_at = rows_at(r->cache, l->room, o->key_size),
                              v_at = rows_at(r->cache, l->room, o->value_size);
    (void)scratch;
    reorder_head(r, l, l->k + g * k_at.head, k_at.batch, o->key_size);
    reorder_head(r, l, l->v + g * v_at.head, v_at.batch, o->value_size);
}

static void reorder_counts(const heed_cache *c, const struct cache_layer *l, const int32_t *index, int64_t n) {
    for (int64_t b = 0; b < n; b++) c->spare[b] = l->first[index[b]];
    memcpy(l->first, c->spare, (size_t)n * sizeof *l->first);
    for (int64_t b = 0; b < n; b++) c->order[b] = l->held[index[b]], c->uses[b] = l->added[index[b]];
    memcpy(l->held, c->order, (size_t)n * sizeof *l->held);
    memcpy(l->added, c->uses, (size_t)n * sizeof *l->added);
}

static bool index_ok(heed_ctx *cx, const char *who, const heed_cache *cache, const int32_t *index, int64_t n) {
    for (int64_t b = 0; b < n; b++)
        if (index[b] < 0 || index[b] >= cache->batch)
            return heed_fail(cx, HEED_ERR_RANGE, "%s: index %d at place %lld is not between 0 and %lld", who, index[b],
                             (long long)b, (long long)cache->batch - 1);
    return true;
}

bool heed_cache_reorder(heed_ctx *cx, heed_cache *cache, const int32_t *index, int64_t n) {
    if (heed_failed(cx)) return false;
    if (!cache || (!index && n > 0)) return heed_fail(cx, HEED_ERR_USAGE, "cache_reorder: the cache or index is NULL");
    if (n < 0 || n > cache->opts.batch)
        return heed_fail(cx, HEED_ERR_RANGE, "cache_reorder: %lld sequences are not between 0 and %lld", (long long)n,
                         (long long)cache->opts.batch);
    if (!index_ok(cx, "cache_reorder", cache, index, n)) return false;
    struct reorder r = {.cache = cache, .index = index};
    plan_reorder(cache, &r, n);
    if (!cx->config.dry && r.copies + r.cycles > 0)
        pool_run(cx->pool, cache->opts.layers * cache->opts.kv_heads, reorder_task, &r);
    for (int i = 0; i < cache->opts.layers; i++) reorder_counts(cache, &cache->layers[i], index, n);
    cache->batch = n;
    return true;
}

/* ---- copy ---- */

struct copy {
    const heed_cache *from, *to;
    const int32_t *index;
};

static void copy_head(const struct copy *c, const struct cache_layer *l, const float *from, float *to, int64_t at,
                      int64_t size) {
    for (int64_t b = 0; b < c->to->batch; b++)
        if (l->held[c->index[b]] > 0)
            memcpy(to + b * at, from + c->index[b] * at, (size_t)(l->held[c->index[b]] * size) * sizeof(float));
}

static void copy_task(void *arg, int64_t task, void *scratch) {
    const struct copy *c = arg;
    const heed_cache_opts *o = &c->from->opts;
    const int64_t g = task % o->kv_heads;
    const struct cache_layer *from = &c->from->layers[task / o->kv_heads], *to = &c->to->layers[task / o->kv_heads];
    const struct attention_at k_at = rows_at(c->from, from->room, o->key_size),
                              v_at = rows_at(c->from, from->room, o->value_size);
    (void)scratch;
    copy_head(c, from, from->k + g * k_at.head, to->k + g * k_at.head, k_at.batch, o->key_size);
    copy_head(c, from, from->v + g * v_at.head, to->v + g * v_at.head, v_at.batch, o->value_size);
}

static void copy_counts(const struct copy *c, const struct cache_layer *from, const struct cache_layer *to) {
    for (int64_t b = 0; b < c->to->batch; b++) {
        to->first[b] = from->first[c->index[b]];
        to->held[b] = from->held[c->index[b]];
        to->added[b] = from->added[c->index[b]];
    }
}

heed_cache *heed_cache_copy(heed_ctx *cx, const heed_cache *cache, const int32_t *index, int64_t n, int64_t batch) {
    if (heed_failed(cx)) return NULL;
    if (!cache || (!index && n > 0)) {
        heed_fail(cx, HEED_ERR_USAGE, "cache_copy: the cache or index is NULL");
        return NULL;
    }
    heed_cache_opts opts = cache->opts;
    opts.batch = batch;
    if (n < 0 || n > batch) {
        heed_fail(cx, HEED_ERR_RANGE, "cache_copy: %lld sequences are not between 0 and %lld", (long long)n,
                  (long long)batch);
        return NULL;
    }
    if (!index_ok(cx, "cache_copy", cache, index, n) || !opts_ok(cx, &opts)) return NULL;
    heed_cache *to = cache_make(cx, &opts);
    for (int i = 0; to && i < opts.layers; i++)
        if (!block_new(cx, &opts, cache->layers[i].room, &to->layers[i])) {
            heed_cache_free(cx, to);
            return NULL;
        }
    if (!to) return NULL;
    to->batch = n;
    struct copy c = {cache, to, index};
    if (!cx->config.dry && n > 0) pool_run(cx->pool, opts.layers * opts.kv_heads, copy_task, &c);
    for (int i = 0; i < opts.layers; i++) copy_counts(&c, &cache->layers[i], &to->layers[i]);
    return to;
}
