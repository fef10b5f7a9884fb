/* What one query looks at, in one layer or through all of them, wherever windows lie. */
#include "inspect/attended.h"
#include <string.h>

/* ---- rows ---- */

/* Adds `times` row `at` among those of all windows, of one head or the mean of all (-1); a whole map is one window. */
static void add_window_row(const heed_attended_site *s, int layer, int64_t head, int64_t at, double times,
                           double *out) {
    const heed_capture_map *const m = &s->maps[layer];
    const int64_t low = head < 0 ? 0 : head, high = head < 0 ? m->heads : head + 1, window = at / m->rows;
    const int32_t *const cells = s->cells[layer] ? s->cells[layer] + window * m->keys : NULL;
    for (int64_t h = low; h < high; h++) {
        const float *const w = m->weights + ((window * m->heads + h) * m->rows + at % m->rows) * m->keys;
        const double share = times / (double)(high - low);
        for (int64_t j = 0; j < m->keys; j++)
            if (!cells || cells[j] >= 0) out[cells ? cells[j] : j] += share * (double)w[j];
    }
}

/* Of a graph: what the edges to a node bring. */
static void add_edges(const heed_attended_site *s, int layer, int64_t head, int64_t node, double times, double *out) {
    const heed_capture_map *const m = &s->maps[layer];
    const int64_t low = head < 0 ? 0 : head, high = head < 0 ? m->heads : head + 1;
    for (int64_t e = 0; e < m->keys; e++)
        for (int64_t h = low; s->targets[e] == node && h < high; h++)
            out[s->sources[e]] += times / (double)(high - low) * (double)m->weights[h * m->keys + e];
}

/* The row of a query: where windows overlap, the mean of those that it is in. */
static void add_row(const heed_attended_site *s, int layer, int64_t head, int64_t query, double times, double *out) {
    const heed_capture_map *const m = &s->maps[layer];
    if (s->targets) {
        add_edges(s, layer, head, query, times, out);
        return;
    }
    const int32_t *const cells = s->cells[layer];
    int64_t in = 0;
    if (!cells) {
        add_window_row(s, layer, head, query, times, out);
        return;
    }
    for (int64_t at = 0; at < m->batch * m->rows; at++) in += cells[at] == query;
    for (int64_t at = 0; at < m->batch * m->rows; at++)
        if (cells[at] == query) add_window_row(s, layer, head, at, times / (double)in, out);
}

/* Adds the mean of the rows that a query stands for: its own, or those of the reader. */
static void add_query(const heed_attended_site *s, int layer, int64_t head, int64_t query, double *out) {
    const bool all = query == HEED_QUERY_DEFAULT && !s->queries->has_class;
    const int64_t low = all ? s->queries->first : query == HEED_QUERY_DEFAULT ? 0 : query;
    const int64_t high = all ? s->queries->n : low + 1;
    for (int64_t q = low; q < high; q++) add_row(s, layer, head, q, 1 / (double)(high - low), out);
}

bool attended_check_layer(heed_ctx *cx, const heed_attended_site *s, int layer, int64_t head) {
    const int64_t heads = s->n_maps > 0 ? s->maps[0].heads : 0;
    return (layer >= 0 && layer < s->n_maps && head >= -1 && head < heads) ||
           heed_fail(cx, HEED_ERR_RANGE, "attended: layer %d, head %lld of %d layers of %lld heads", layer,
                     (long long)head, s->n_maps, (long long)heads);
}

static bool check(heed_ctx *cx, const heed_attended_site *s, int layer, int64_t head, int64_t query, const void *out) {
    if (heed_failed(cx)) return false;
    if (!s || !out) return heed_fail(cx, HEED_ERR_USAGE, "attended: a site and a place for numbers are needed");
    if (!attended_check_layer(cx, s, layer, head)) return false;
    return (query >= HEED_QUERY_DEFAULT && query < s->queries->n) ||
           heed_fail(cx, HEED_ERR_RANGE, "attended: query %lld of %lld", (long long)query, (long long)s->queries->n);
}

static double *zeros(heed_ctx *cx, int64_t n) {
    double *const x = heed_mem_new(cx, (size_t)n * sizeof *x);
    for (int64_t i = 0; x && i < n; i++) x[i] = 0;
    return x;
}

bool heed_attended_row(heed_ctx *cx, const heed_attended_site *s, int layer, int64_t head, int64_t query, float *out) {
    if (!check(cx, s, layer, head, query, out)) return false;
    double *const sum = zeros(cx, s->keys->n);
    if (!sum) return false;
    add_query(s, layer, head, query, sum);
    for (int64_t i = 0; i < s->keys->n; i++) out[i] = (float)sum[i];
    heed_mem_free(cx, sum);
    return true;
}

/* ---- rollout ---- (Abnar and Zuidema 2020) */

/* Queries that are no tokens of the picture. */
static bool is_learned(const heed_attended_site *s) { return s->queries != s->keys && s->queries->rows == 0; }
/* Queries on a grid of their own: their states are made of what they look at alone. */
static bool asks_elsewhere(const heed_attended_site *s) { return s->queries != s->keys && s->queries->rows > 0; }

/* r over the queries of a layer -> r (W + I) / 2 over its keys, the rows of W made to sum to 1: windows may look at
 * padding. Where the queries have a grid of their own, r W. */
static void back_through(const heed_attended_site *s, int layer, const double *r, double *row, double *to) {
    const int64_t n = s->keys->n;
    const double share = asks_elsewhere(s) ? 1 : 0.5;
    for (int64_t j = 0; j < n; j++) to[j] = 0;
    for (int64_t i = 0; i < s->queries->n; i++) {
        if (r[i] == 0) continue;
        double sum = 0;
        for (int64_t j = 0; j < n; j++) row[j] = 0;
        add_row(s, layer, -1, i, 1, row);
        for (int64_t j = 0; j < n; j++) sum += row[j];
        for (int64_t j = 0; j < n && sum > 0; j++) to[j] += share * r[i] * row[j] / sum;
        if (share < 1) to[i] += (sum > 0 ? 0.5 : 1) * r[i];
    }
}

/* From the patches of a stage to those of the one before, of which up to four became one, or which are the same. */
static void unmerge(const heed_axis *from, const heed_axis *to, const double *r, double *out) {
    if (from->rows == to->rows && from->columns == to->columns) {
        memcpy(out, r, (size_t)to->n * sizeof *out);
        return;
    }
    for (int64_t j = 0; j < to->n; j++) out[j] = 0;
    for (int64_t i = 0; i < from->rows * from->columns; i++) {
        const int64_t y = 2 * (i / from->columns), x = 2 * (i % from->columns);
        const int64_t down = y + 1 < to->rows ? 2 : 1, across = x + 1 < to->columns ? 2 : 1;
        for (int64_t k = 0; k < down * across; k++)
            out[(y + k / across) * to->columns + x + k % across] += r[i] / (double)(down * across);
    }
}

/* A class token that comes late looks at itself and at patches that stay as they are: those of the site before. What it
 * keeps of its own beginning is left out where that site knows no class token. */
static void begin_late(const heed_attended_site *s, const heed_attended_site *before, int layer, double *row,
                       double *next, double *r) {
    const int64_t patches = s->keys->n - s->keys->first;
    const bool merged = before->keys->rows != s->keys->rows || before->keys->columns != s->keys->columns;
    double *const to = merged ? next : r + before->keys->first;
    double own = 1;
    for (int l = layer; l >= 0; l--) {
        for (int64_t j = 0; j < s->keys->n; j++) row[j] = 0;
        add_row(s, l, -1, 0, own / 2, row);
        for (int64_t i = 0; i < patches; i++) to[i] += row[s->keys->first + i];
        own = own / 2 + row[0];
    }
    if (merged) unmerge(s->keys, before->keys, to, r);
    if (s == before) r[0] = own;
}

/* Where it begins: one token, all patches alike, or what a learned query looks at, which is of the first site, or of
 * the one before; where there is none, that is all. */
static int begin_rollout(const heed_attended *a, int site, int layer, int64_t query, double *row, double *next,
                         double *r) {
    const heed_attended_site *const s = &a->sites[site], *const first = &a->sites[0];
    const bool learned = is_learned(s), late = learned && s->queries->has_class;
    if (late)
        begin_late(s, site > 0 ? s - 1 : s, layer, row, next, r);
    else if (learned)
        add_query(s, layer, -1, query, r + (first->keys->n - s->keys->n));
    else if (query == HEED_QUERY_DEFAULT && !s->queries->has_class)
        for (int64_t i = s->queries->first; i < s->queries->n; i++)
            r[i] = 1 / (double)(s->queries->n - s->queries->first);
    else
        r[query == HEED_QUERY_DEFAULT ? 0 : query] = 1;
    if (!learned) return site;
    return late ? site - 1 : s == first ? -1 : 0;
}

bool heed_attended_rollout(heed_ctx *cx, const heed_attended *a, int site, int layer, int64_t query, float *out) {
    if (heed_failed(cx)) return false;
    if (!a || !a->own->picture) return heed_fail(cx, HEED_ERR_USAGE, "attended: rollout goes over a picture");
    if (site < 0 || site >= a->n) return heed_fail(cx, HEED_ERR_USAGE, "attended: there is no site %d", site);
    if (!check(cx, &a->sites[site], layer, -1, query, out)) return false;
    const int64_t n = a->sites[0].keys->n, most = n + a->sites[site].keys->first; /* of any site on the way */
    for (int s = 0; s <= site; s++) {
        const heed_attended_site *const at = &a->sites[s];
        if (asks_elsewhere(at) && at->queries->n > at->keys->n)
            return heed_fail(cx, HEED_ERR_USAGE, "attended: rollout does not go through %s, whose keys are pooled",
                             at->name);
    }
    double *const room = zeros(cx, 3 * most), *r = room, *next = room + most, *const row = room + 2 * most;
    if (!room) return false;
    const int from = begin_rollout(a, site, layer, query, row, next, r);
    for (int s = from; s >= 0; s--) {
        const heed_attended_site *const at = &a->sites[s];
        for (int l = s == site ? layer : at->n_maps - 1; l >= 0; l--) {
            back_through(at, l, r, row, next);
            double *const old = r;
            r = next, next = old;
        }
        if (s == 0) break;
        if (at->keys == at[-1].queries) continue;
        unmerge(at->keys, at[-1].keys, r, next);
        double *const old = r;
        r = next, next = old;
    }
    for (int64_t i = 0; i < n; i++) out[i] = (float)r[i];
    heed_mem_free(cx, room);
    return true;
}
