/* Pictures of attention: one head large with its tokens, all layers and heads as a sheet, one head in the terminal.
 * All of them are heat maps and images as any program may draw them; here is only what fits them to weights. */
#include "heed/attention.h"
#include "base/checked.h"
#include "base/text.h"
#include "plot/figure.h"

#include <math.h>
#include <stdio.h>

#define CELL      15.0  /* points that a token wants along an axis */
#define LEAST_MAP 150.0 /* size of a large map */
#define MOST_MAP  900.0
#define LETTER    5.0 /* points across, of a token's name */
/* A small map, across; a sheet of them. */
#define SMALL_LEAST 60.0
#define SMALL_MOST  150.0
#define SHEET_WIDE  640.0
#define SHEET_TALL  6000.0

static heed_attention_look look_of(const heed_attention_look *look) {
    return look ? *look : (heed_attention_look){.batch = 0};
}

static bool check_map(heed_ctx *cx, const char *op, const heed_capture_map *m, const heed_attention_look *o) {
    int64_t n;
    if (!m) return heed_fail(cx, HEED_ERR_USAGE, "%s: there is no map", op);
    if (m->batch < 1 || m->heads < 1 || m->rows < 1 || m->keys < 1 || !i64_mul(m->batch, m->heads, &n) ||
        !i64_mul(n, m->rows, &n) || !i64_mul(n, m->keys, &n))
        return heed_fail(cx, HEED_ERR_SHAPE, "%s: no map can be (%lld,%lld,%lld,%lld)", op, (long long)m->batch,
                         (long long)m->heads, (long long)m->rows, (long long)m->keys);
    if (!m->weights) return heed_fail(cx, HEED_ERR_USAGE, "%s: the map has no weights", op);
    if (o->batch < 0 || o->batch >= m->batch)
        return heed_fail(cx, HEED_ERR_RANGE, "%s: sequence %lld of a batch of %lld", op, (long long)o->batch,
                         (long long)m->batch);
    if (!(o->high >= 0 && o->high < HUGE_VAL))
        return heed_fail(cx, HEED_ERR_RANGE, "%s: a colour scale from 0 to %g", op, o->high);
    return true;
}

static bool check_head(heed_ctx *cx, const char *op, const heed_capture_map *m, int64_t head) {
    return (head >= 0 && head < m->heads) ||
           heed_fail(cx, HEED_ERR_RANGE, "%s: head %lld of %lld", op, (long long)head, (long long)m->heads);
}

/* (rows, keys) of the first head; the others follow. */
static const float *weights_of(const heed_capture_map *m, int64_t batch) {
    return m->weights + batch * m->heads * m->rows * m->keys;
}

static double largest(const float *weights, int64_t n) {
    double most = 0;
    for (int64_t i = 0; i < n; i++)
        if (isfinite(weights[i])) most = fmax(most, (double)weights[i]);
    return most;
}

static heed_heatmap heatmap_of(const heed_attention_look *o, const float *weights, int64_t n) {
    const double most = o->high > 0 ? o->high : largest(weights, n);
    return (heed_heatmap){.map = o->map,
                          .high = most > 0 ? most : 1, /* a map of zeros is all dark */
                          .row_names = o->query_names,
                          .col_names = o->key_names,
                          .scale_label = "weight",
                          .numbers = o->numbers};
}

/* ---- one head ---- */

static double names_room(const char *const *names, int64_t n) {
    size_t longest = 0;
    for (int64_t i = 0; names && i < n; i++) {
        size_t letters = 0;
        for (const char *s = names[i] ? names[i] : ""; *s; s++) letters += ((unsigned char)*s & 0xC0) != 0x80;
        if (letters > longest) longest = letters;
    }
    return LETTER * fmin(24, (double)longest);
}

static void suit_size(heed_figure *f, const heed_capture_map *m, const heed_attention_look *o) {
    if (f->width > 0 || f->height > 0 || f->rows * f->cols != 1) return;
    const double cell = CELL * (o->numbers ? 1.8 : 1), longer = fmax((double)m->rows, (double)m->keys);
    const double square = fmin(cell, MOST_MAP / longer);
    f->width = 120 + names_room(o->query_names, m->rows) + fmax(LEAST_MAP, square * (double)m->keys);
    f->height = 75 + names_room(o->key_names, m->keys) * 0.75 + fmax(LEAST_MAP, square * (double)m->rows);
}

bool heed_plot_attention_map(heed_panel *p, const heed_capture_map *map, int64_t head,
                             const heed_attention_look *look) {
    static const char op[] = "attention_map";
    const heed_attention_look o = look_of(look);
    if (!panel_ready(p)) return false;
    heed_ctx *cx = p->figure->cx;
    if (!check_map(cx, op, map, &o) || !check_head(cx, op, map, head)) return false;
    const int64_t n = map->rows * map->keys;
    const float *weights = weights_of(map, o.batch) + head * n;
    const heed_heatmap how = heatmap_of(&o, weights, n);
    if (!heed_panel_heatmap(p, weights, map->rows, map->keys, &how)) return false;
    suit_size(p->figure, map, &o);
    return (p->x_label || p->y_label) || heed_panel_labels(p, "keys", "queries");
}

/* ---- all heads ---- */

static const char *site_of(const heed_capture_map *m) { return m->site ? m->site : "attention"; }

static bool sheet_row(heed_panel *p, const heed_capture_map *m, const heed_attention_look *o, double high,
                      int64_t columns) {
    heed_ctx *cx = p->figure->cx;
    char title[96], (*text)[32];
    const char **names;
    snprintf(title, sizeof title, "%s, layer %d", site_of(m), m->layer);
    names = heed_mem_new(cx, (size_t)m->heads * (sizeof *names + sizeof *text));
    if (!names) return false;
    text = (char(*)[32])(names + m->heads);
    for (int64_t h = 0; h < m->heads; h++) {
        snprintf(text[h], sizeof text[h], "head %lld", (long long)(o->first_head + h));
        names[h] = text[h];
    }
    const bool ok =
        heed_panel_title(p, title) &&
        heed_panel_images(p, weights_of(m, o->batch), m->heads, m->rows, m->keys,
                          &(heed_images){.columns = (int)columns, .map = o->map, .high = high, .titles = names});
    heed_mem_free(cx, names);
    return ok;
}

/* How many heads stand in a row. One layer alone is shown in two rows or so, several in one row each. */
static int64_t sheet_columns(const heed_capture_map *maps, int n) {
    enum { IN_ROW = 16 };
    int64_t most = 1;
    for (int i = 0; i < n; i++) most = maps[i].heads > most ? maps[i].heads : most;
    if (n == 1 && most > 4) most = (int64_t)ceil(sqrt(2 * (double)most));
    return most < IN_ROW ? most : IN_ROW;
}

/* Maps as large as fit a page; each row of them has a line of words above it, each layer a title. */
static void suit_sheet(heed_figure *f, const heed_capture_map *maps, int n, int64_t columns) {
    double lines = 0, tall = 0;
    if (f->width > 0 || f->height > 0) return;
    for (int i = 0; i < n; i++) {
        lines = fmax(lines, ceil((double)maps[i].heads / (double)columns));
        tall = fmax(tall, (double)maps[i].rows / (double)maps[i].keys);
    }
    const double wide = fmax(SMALL_LEAST, fmin(SMALL_MOST, SHEET_WIDE / (double)columns));
    f->width = 30 + wide * (double)columns;
    f->height = fmin(SHEET_TALL, 50 + n * (30 + lines * (15 + wide * fmin(2, fmax(0.3, tall)))));
}

bool heed_plot_attention_sheet(heed_figure *f, const heed_capture_map *maps, int n, const heed_attention_look *look) {
    static const char op[] = "attention_sheet";
    enum { MOST = 1024 };
    const heed_attention_look o = look_of(look);
    if (!f || heed_failed(f->cx)) return false;
    heed_ctx *cx = f->cx;
    if (n < 1 || n > MOST || !maps) return heed_fail(cx, HEED_ERR_RANGE, "%s: %d maps: must be 1 to %d", op, n, MOST);
    double high = 0;
    for (int i = 0; i < n; i++) {
        if (!check_map(cx, op, &maps[i], &o)) return false;
        if (maps[i].heads > MOST)
            return heed_fail(cx, HEED_ERR_RANGE, "%s: %lld heads: must be at most %d", op, (long long)maps[i].heads,
                             MOST);
        high = fmax(high, largest(weights_of(&maps[i], o.batch), maps[i].heads * maps[i].rows * maps[i].keys));
    }
    high = o.high > 0 ? o.high : high > 0 ? high : 1;
    const int64_t columns = sheet_columns(maps, n);
    if (!heed_figure_grid(f, n, 1)) return false;
    suit_sheet(f, maps, n, columns);
    if (!f->title) {
        char title[96];
        text_format(title, sizeof title, "Attention weights, dark 0 to bright %.2g", high);
        if (!heed_figure_title(f, title)) return false;
    }
    for (int i = 0; i < n; i++) {
        heed_panel *p = heed_figure_panel(f, i, 0);
        if (!p || !sheet_row(p, &maps[i], &o, high, columns)) return false;
    }
    return true;
}

/* ---- in the terminal ---- */

char *heed_terminal_attention(heed_ctx *cx, const heed_capture_map *map, int64_t head, const heed_attention_look *look,
                              const heed_terminal *how) {
    static const char op[] = "terminal_attention";
    const heed_attention_look o = look_of(look);
    if (heed_failed(cx) || !check_map(cx, op, map, &o) || !check_head(cx, op, map, head)) return NULL;
    const int64_t n = map->rows * map->keys;
    const float *weights = weights_of(map, o.batch) + head * n;
    return heed_terminal_heatmap(cx, weights, map->rows, map->keys, (const heed_heatmap[]){heatmap_of(&o, weights, n)},
                                 how);
}
