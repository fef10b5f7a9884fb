/* Capture of attention weights.
 *
 * Nothing is kept of the weights on the fast path; they are computed again for the rows that are asked for, from each
 * row's largest score and sum. So the outputs cannot differ, and without capture it costs nothing. Where attention is
 * made of ops its weights are a tensor, and are copied. */
#include "attention/attention.h"
#include "base/ctx.h"
#include "base/text.h"
#include "io/text.h"
#include "tensor/engine.h"
#include <string.h>

#define DEFAULT_CAP ((size_t)256 << 20)
#define CHUNK       ((size_t)4 << 20) /* bytes of rows that are streamed at once, where the cap allows */

#define GAP 16

struct capture {
    heed_capture_opts opts; /* lists and site are copies */
    heed_capture_map *maps;
    int count, room;
    size_t kept;              /* bytes */
    struct edges_kept *edges; /* of graphs */
    /* What ran, to say when the choice has met nothing. */
    char ran[128]; /* sites, with spaces between */
    int deepest;   /* layer of the site */
    bool met_site, *met_layer;
    unsigned cleared; /* the context's, at the beginning */
};

static struct capture *capture_of(const heed_ctx *cx) { return cx ? cx->capture : NULL; }

/* A copy of n bytes; NULL for none. False when there is no memory. */
static bool copy(heed_ctx *cx, const void *from, size_t bytes, const void **to) {
    *to = NULL;
    if (!from) return true;
    void *const p = heed_mem_new(cx, bytes);
    if (p) memcpy(p, from, bytes);
    *to = p;
    return p != NULL;
}

static void release(heed_ctx *cx, struct capture *c) {
    const void *lists[] = {c->opts.site, c->opts.layers, c->opts.heads, c->opts.rows};
    for (int i = 0; i < c->count; i++) {
        heed_mem_free(cx, (void *)(uintptr_t)c->maps[i].weights);
        heed_mem_free(cx, (void *)(uintptr_t)c->maps[i].site);
    }
    for (int i = 0; i < 4; i++) heed_mem_free(cx, (void *)(uintptr_t)lists[i]);
    capture_edges_free(cx, c->edges);
    heed_mem_free(cx, c->maps);
    heed_mem_free(cx, c->met_layer);
    heed_mem_free(cx, c);
}

static void capture_close(heed_ctx *cx) {
    if (cx->capture) release(cx, cx->capture);
    cx->capture = NULL;
}

/* A site or a layer that no attention had is a mistake, unless something else failed on the way. */
static bool check_met(heed_ctx *cx, const struct capture *c) {
    const char *const site = c->opts.site;
    if (c->cleared != cx->cleared) return true;
    if (site && !c->met_site)
        return heed_fail(cx, HEED_ERR_USAGE, "capture: there was no attention '%s'; what ran: %s", escaped(site).s,
                         *c->ran ? c->ran : "none");
    for (int i = 0; c->opts.layers && i < c->opts.n_layers; i++)
        if (!c->met_layer[i])
            return c->met_site
                       ? heed_fail(cx, HEED_ERR_USAGE, "capture: there was no layer %d; the last is %d",
                                   c->opts.layers[i], c->deepest)
                       : heed_fail(cx, HEED_ERR_USAGE, "capture: layer %d: no attention ran", c->opts.layers[i]);
    return true;
}

bool heed_capture_end(heed_ctx *cx) {
    const struct capture *const c = capture_of(cx);
    const bool met = !c || check_met(cx, c);
    if (c) capture_close(cx);
    return met && !heed_failed(cx);
}

static bool check_list(heed_ctx *cx, bool given, int64_t n, const char *what) {
    return !given || n >= 1 || heed_fail(cx, HEED_ERR_USAGE, "capture: a list of no %s", what);
}

bool heed_capture_begin(heed_ctx *cx, const heed_capture_opts *opts) {
    static const heed_capture_opts everything;
    const heed_capture_opts *const o = opts ? opts : &everything;
    if (heed_failed(cx)) return false;
    if (cx->capture) return heed_fail(cx, HEED_ERR_USAGE, "capture: it has begun already");
    if (!check_list(cx, o->layers, o->n_layers, "layers") || !check_list(cx, o->heads, o->n_heads, "heads") ||
        !check_list(cx, o->rows, o->n_rows, "rows"))
        return false;
    struct capture *const c = heed_mem_new(cx, sizeof *c);
    if (!c) return false;
    *c = (struct capture){.opts = *o, .cleared = cx->cleared};
    c->opts.site = NULL, c->opts.layers = NULL, c->opts.heads = NULL, c->opts.rows = NULL;
    if (c->opts.byte_cap == 0) c->opts.byte_cap = DEFAULT_CAP;
    const void *list = NULL;
    bool good = copy(cx, o->site, o->site ? strlen(o->site) + 1 : 0, &list);
    c->opts.site = list;
    good = good && copy(cx, o->layers, (size_t)o->n_layers * sizeof *o->layers, &list);
    c->opts.layers = good ? list : NULL;
    good = good && copy(cx, o->heads, (size_t)o->n_heads * sizeof *o->heads, &list);
    c->opts.heads = good ? list : NULL;
    good = good && copy(cx, o->rows, (size_t)o->n_rows * sizeof *o->rows, &list);
    c->opts.rows = good ? list : NULL;
    if (good && o->layers) {
        c->met_layer = heed_mem_new(cx, (size_t)o->n_layers * sizeof *c->met_layer);
        good = c->met_layer;
        if (good) memset(c->met_layer, 0, (size_t)o->n_layers * sizeof *c->met_layer);
    }
    if (!good) {
        release(cx, c);
        return false;
    }
    cx->capture = c;
    cx->capture_close = capture_close;
    return true;
}

int heed_capture_count(const heed_ctx *cx) { return capture_of(cx) ? capture_of(cx)->count : 0; }
const heed_capture_map *heed_capture_at(const heed_ctx *cx, int i) {
    return i >= 0 && i < heed_capture_count(cx) ? &capture_of(cx)->maps[i] : NULL;
}

static void note_site(struct capture *c, const char *site) {
    const size_t used = strlen(c->ran), size = strlen(site);
    if (text_among(c->ran, site) || used + size + 2 > sizeof c->ran) return;
    if (used > 0) c->ran[used] = ' ';
    memcpy(c->ran + used + (used > 0), site, size + 1);
}

bool capture_wants(const heed_ctx *cx, const char *site, int layer) {
    struct capture *const c = capture_of(cx);
    if (!c) return false;
    note_site(c, site);
    if (c->opts.site && strcmp(c->opts.site, site) != 0) return false;
    c->met_site = true;
    if (layer > c->deepest) c->deepest = layer;
    bool wanted = !c->opts.layers;
    for (int i = 0; c->opts.layers && i < c->opts.n_layers; i++)
        if (c->opts.layers[i] == layer) wanted = c->met_layer[i] = true;
    return wanted;
}

/* One attention's rows, as they are asked for. */
struct request {
    const struct attention *a; /* NULL: */
    const float *given;        /* (batch, all_heads, queries, keys) */
    const float *top, *sum;
    const char *site;
    int layer;
    int64_t first; /* row of query 0 */
    int64_t chunk; /* of rows, or 0 */
    int64_t batch, all_heads, queries, keys;
    int64_t heads, rows; /* of those asked for */
};

static bool check_request(heed_ctx *cx, const struct capture *c, const struct request *r) {
    for (int64_t i = 0; c->opts.heads && i < r->heads; i++)
        if (c->opts.heads[i] < 0 || c->opts.heads[i] >= r->all_heads)
            return heed_fail(cx, HEED_ERR_RANGE, "capture: head %lld: %s layer %d has heads 0 to %lld",
                             (long long)c->opts.heads[i], r->site, r->layer, (long long)r->all_heads - 1);
    for (int64_t i = 0; c->opts.rows && i < r->rows; i++)
        if (c->opts.rows[i] < 0 || c->opts.rows[i] >= r->queries)
            return heed_fail(cx, HEED_ERR_RANGE, "capture: row %lld: %s layer %d has rows 0 to %lld",
                             (long long)c->opts.rows[i], r->site, r->layer, (long long)r->queries - 1);
    return true;
}

static int64_t head_at(const struct capture *c, int64_t i) { return c->opts.heads ? c->opts.heads[i] : i; }

static void weights(heed_ctx *cx, const struct capture *c, const struct request *r, int64_t b, int64_t head,
                    int64_t from, int64_t n, float *out, int64_t ld) {
    const int64_t *const rows = c->opts.rows ? c->opts.rows + from : NULL;
    for (int64_t i = 0; !r->a && i < n; i++)
        memcpy(out + i * ld,
               r->given + ((b * r->all_heads + head) * r->queries + (rows ? rows[i] : from + i)) * r->keys,
               (size_t)r->keys * sizeof(float));
    if (!r->a) return;
    kernel_attention_weights(cx->pool, r->a, r->top, r->sum, b, head, rows, from, n, out, ld);
}

/* Rows are computed by the chunk and handed over one by one. */
static bool stream(heed_ctx *cx, const struct capture *c, const struct request *r) {
    const size_t row = (size_t)r->keys * sizeof(float), cap = c->opts.byte_cap;
    if (row > cap)
        return heed_fail(cx, HEED_ERR_BUDGET, "capture: a row of %s layer %d takes %zu bytes, the cap is %zu", r->site,
                         r->layer, row, cap);
    /* rows a power of two apart would share a set of the cache */
    const int64_t gap = row + GAP * sizeof(float) <= cap ? GAP : 0, ld = r->keys + gap;
    const size_t wide = (size_t)ld * sizeof(float), bytes = cap < CHUNK ? cap : wide > CHUNK ? wide : CHUNK;
    const int64_t fit = wide ? (int64_t)(bytes / wide) : r->rows, most = fit < r->rows ? fit : r->rows;
    float *const out = heed_mem_new(cx, (size_t)most * wide);
    if (!out) return false;
    for (int64_t b = 0; b < r->batch; b++)
        for (int64_t h = 0; h < r->heads; h++)
            for (int64_t at = 0; at < r->rows; at += most) {
                const int64_t n = at + most < r->rows ? most : r->rows - at;
                weights(cx, c, r, b, head_at(c, h), at, n, out, ld);
                for (int64_t i = 0; i < n; i++)
                    c->opts.fn(c->opts.user,
                               &(heed_captured){.site = r->site,
                                                .layer = r->layer,
                                                .batch = b,
                                                .head = head_at(c, h),
                                                .row = r->first + (c->opts.rows ? c->opts.rows[at + i] : at + i),
                                                .keys = r->keys,
                                                .weights = out + i * ld});
            }
    heed_mem_free(cx, out);
    return true;
}

bool capture_room(heed_ctx *cx, const char *site, int layer, size_t bytes) {
    struct capture *const c = capture_of(cx);
    if (c->kept + bytes > c->opts.byte_cap)
        return heed_fail(
            cx, HEED_ERR_BUDGET,
            "capture: %s layer %d would make it %zu bytes, the cap is %zu; ask for fewer heads or rows, or "
            "stream them",
            site, layer, c->kept + bytes, c->opts.byte_cap);
    c->kept += bytes;
    return true;
}

struct edges_kept **capture_edges_list(const heed_ctx *cx) {
    struct capture *const c = capture_of(cx);
    return c ? &c->edges : NULL;
}

static bool keep(heed_ctx *cx, struct capture *c, const struct request *r) {
    const int64_t plane = r->rows * r->keys, count = r->batch * r->heads * plane;
    const size_t bytes = (size_t)count * sizeof(float);
    if (!capture_room(cx, r->site, r->layer, bytes)) return false;
    if (c->count == c->room) {
        const int room = c->room ? 2 * c->room : 8;
        heed_capture_map *const maps = heed_mem_resize(cx, c->maps, (size_t)room * sizeof *maps);
        if (!maps) return false;
        c->maps = maps, c->room = room;
    }
    float *const out = heed_mem_new(cx, bytes);
    char *const site = heed_mem_new(cx, strlen(r->site) + 1);
    if (!out || !site) {
        heed_mem_free(cx, out);
        heed_mem_free(cx, site);
        return false;
    }
    strcpy(site, r->site);
    for (int64_t b = 0; b < r->batch; b++)
        for (int64_t h = 0; h < r->heads; h++)
            weights(cx, c, r, b, head_at(c, h), 0, r->rows, out + (b * r->heads + h) * plane, r->keys);
    c->maps[c->count++] = (heed_capture_map){.site = site,
                                             .layer = r->layer,
                                             .batch = r->batch,
                                             .heads = r->heads,
                                             .rows = r->rows,
                                             .keys = r->keys,
                                             .weights = out,
                                             .chunk = c->opts.rows ? 0 : r->chunk};
    return true;
}

/* The map that these rows go on with: one of the same attention, of as many rows as come before them. */
static heed_capture_map *begun(const struct capture *c, const struct request *r) {
    for (int i = c->count; r->first > 0 && i-- > 0;) {
        heed_capture_map *const m = &c->maps[i];
        if (m->layer == r->layer && strcmp(m->site, r->site) == 0)
            return m->batch == r->batch && m->heads == r->heads && m->rows == r->first && m->keys == r->keys ? m : NULL;
    }
    return NULL;
}

/* Adds the rows to each head of m. */
static bool keep_on(heed_ctx *cx, struct capture *c, const struct request *r, heed_capture_map *m) {
    const int64_t planes = m->batch * m->heads, old = m->rows * m->keys, more = r->rows * m->keys;
    const size_t bytes = (size_t)(planes * more) * sizeof(float);
    if (!capture_room(cx, r->site, r->layer, bytes)) return false;
    float *const all = heed_mem_new(cx, (size_t)(planes * (old + more)) * sizeof *all);
    if (!all) return false;
    for (int64_t p = 0; p < planes; p++) {
        float *const to = all + p * (old + more);
        memcpy(to, m->weights + p * old, (size_t)old * sizeof *all);
        weights(cx, c, r, p / m->heads, head_at(c, p % m->heads), 0, r->rows, to + old, m->keys);
    }
    heed_mem_free(cx, (void *)(uintptr_t)m->weights);
    m->weights = all;
    m->rows += r->rows;
    return true;
}

static bool capture(heed_ctx *cx, struct request r) {
    struct capture *const c = capture_of(cx);
    r.heads = c->opts.heads ? c->opts.n_heads : r.all_heads;
    r.rows = c->opts.rows ? c->opts.n_rows : r.queries;
    if (!check_request(cx, c, &r)) return false;
    if (c->opts.fn) return stream(cx, c, &r);
    heed_capture_map *const before = c->opts.rows ? NULL : begun(c, &r);
    return before ? keep_on(cx, c, &r, before) : keep(cx, c, &r);
}

bool capture_attention(heed_ctx *cx, const struct attention *a, const float *top, const float *sum, const char *site,
                       int layer) {
    return capture(cx, (struct request){.a = a,
                                        .top = top,
                                        .sum = sum,
                                        .site = site,
                                        .layer = layer,
                                        .batch = a->batch,
                                        .all_heads = a->heads,
                                        .queries = a->queries,
                                        .keys = a->keys});
}

bool capture_chunks(heed_ctx *cx, const char *site, int layer, int64_t chunk, const heed_tensor *t) {
    return capture(cx, (struct request){.given = f32_of(t),
                                        .site = site,
                                        .layer = layer,
                                        .chunk = chunk,
                                        .batch = t->shape[0],
                                        .all_heads = t->shape[1],
                                        .queries = t->shape[2],
                                        .keys = t->shape[3]});
}

bool heed_capture_weights(heed_ctx *cx, const char *site, int layer, int64_t row, heed_tensor *t) {
    if (heed_failed(cx)) return false;
    if (!site) site = "attention";
    if (!t || t->dtype != HEED_F32 || t->rank < 2 || row < 0)
        return heed_fail(cx, HEED_ERR_SHAPE, "capture: weights of f32 and of shape (B,H,Tq,Tk) are needed, not %s",
                         t ? heed_shape_text(t).s : "NULL");
    if (!capture_wants(cx, site, layer) || cx->config.dry) return true;
    struct request r = {.site = site, .layer = layer, .first = row, .batch = 1, .all_heads = 1};
    for (int i = 0; i + 3 < t->rank; i++) r.batch *= t->shape[i];
    if (t->rank == 3) r.batch = t->shape[0];
    if (t->rank > 3) r.all_heads = t->shape[t->rank - 3];
    r.queries = t->shape[t->rank - 2];
    r.keys = t->shape[t->rank - 1];
    t = heed_contiguous(cx, t);
    if (!t) return false;
    r.given = f32_of(t);
    return capture(cx, r);
}

heed_capture_map *capture_take(heed_ctx *cx, int *n) {
    struct capture *const c = capture_of(cx);
    heed_capture_map *const maps = c ? c->maps : NULL;
    *n = c ? c->count : 0;
    if (c) c->maps = NULL, c->count = c->room = 0, c->kept = 0;
    return maps;
}

/* ---- to a file ---- */

static bool of_site(const heed_capture_map *m, const char *site) { return !site || strcmp(m->site, site) == 0; }

/* How many maps there are of the site, all of the sizes of *like; 0 and a failed context on trouble. */
static int64_t alike(heed_ctx *cx, const struct capture *c, const char *site, int64_t batch, heed_capture_map *like) {
    int64_t n = 0;
    for (int i = 0; c && i < c->count; i++) {
        const heed_capture_map *const m = &c->maps[i];
        if (!of_site(m, site)) continue;
        if (n++ == 0) *like = *m;
        if (m->heads != like->heads || m->rows != like->rows || m->keys != like->keys || batch < 0 ||
            batch >= m->batch) {
            heed_fail(
                cx, HEED_ERR_SHAPE,
                "capture: %s layer %d is (%lld,%lld,%lld,%lld): sequence %lld of maps of (%lld,%lld,%lld) is asked "
                "for",
                m->site, m->layer, (long long)m->batch, (long long)m->heads, (long long)m->rows, (long long)m->keys,
                (long long)batch, (long long)like->heads, (long long)like->rows, (long long)like->keys);
            return 0;
        }
    }
    if (n == 0) heed_fail(cx, HEED_ERR_USAGE, "capture: nothing of %s was kept", site ? site : "any attention");
    return n;
}

bool heed_capture_write(heed_ctx *cx, const char *path, const char *site, int64_t batch) {
    if (heed_failed(cx)) return false;
    const struct capture *const c = capture_of(cx);
    heed_capture_map like = {0};
    const int64_t n = alike(cx, c, site, batch, &like), plane = like.heads * like.rows * like.keys;
    float *const all = n > 0 ? heed_mem_new(cx, (size_t)(n * plane) * sizeof(float)) : NULL;
    if (!all) return false;
    float *to = all;
    for (int i = 0; i < c->count; i++)
        if (of_site(&c->maps[i], site)) {
            memcpy(to, c->maps[i].weights + batch * plane, (size_t)plane * sizeof(float));
            to += plane;
        }
    heed_npy_write(cx, path,
                   &(heed_array){.name = "attention",
                                 .dtype = HEED_F32,
                                 .rank = 4,
                                 .shape = {n, like.heads, like.rows, like.keys},
                                 .data = all});
    heed_mem_free(cx, all);
    return !heed_failed(cx);
}
