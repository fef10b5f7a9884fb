/* Pictures of attention: one head large with its tokens, all layers and heads as a sheet, one head in the terminal.
 * All of them are heat maps and images as any program may draw them; here is only what fits them to weights. */
#include "heed/attention.h"
#include "base/checked.h"
#include "plot/figure.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Points to a cell of one large map, more where the weights are written into it and where there are few; and of a
 * sheet.
 */
#define CELL         15.0
#define CELL_NUMBERS 27.0
#define CELL_SHEET   8.4 /* a token beside it can be read */
#define MAX_CELL     30.0
/* Sizes of the larger side of a map, and of all maps of a sheet together. */
#define LEAST_MAP   150.0
#define MAX_MAP     900.0
#define LEAST_SMALL 60.0
#define SHEET_WIDE  1500.0
#define SHEET_TALL  6000.0
#define LEAST_CELL  0.5 /* a pixel of a PNG */

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
                          .numbers = o->numbers,
                          .weights = true};
}

/* ---- names ---- */

/* Rows named "token \u2192 next" where something is predicted: the same names, or new ones in *own, which is freed by
 * the caller. False when there is no memory. */
static bool row_names(heed_ctx *cx, const heed_attention_look *o, int64_t rows, const char ***own) {
    static const char arrow[] = " \u2192 ";
    size_t size = 0;
    *own = NULL;
    if (!o->next_names) return true;
    for (int64_t i = 0; i < rows; i++) {
        const char *name = o->query_names ? o->query_names[i] : NULL, *next = o->next_names[i];
        size += (name ? strlen(name) : 0) + (next ? strlen(next) : 0) + sizeof arrow;
    }
    const char **names = heed_mem_new(cx, (size_t)rows * sizeof *names + size);
    if (!names) return false;
    char *to = (char *)(names + rows);
    for (int64_t i = 0; i < rows; i++) {
        const char *name = o->query_names ? o->query_names[i] : NULL, *next = o->next_names[i];
        names[i] = to;
        to = stpcpy(to, name ? name : "");
        if (next && *next) to = stpcpy(stpcpy(to, arrow), next);
        to++;
    }
    *own = names;
    return true;
}

/* ---- one head ---- */

static double cell_size(const heed_capture_map *m, double usual, double least_map, double most_map) {
    const double longer = fmax((double)m->rows, (double)m->keys);
    const double cell = fmax(usual, fmin(MAX_CELL, least_map / longer));
    return fmax(LEAST_CELL, fmin(cell, most_map / longer));
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
    const char **own;
    if (!row_names(cx, &o, map->rows, &own)) return false;
    heed_heatmap how = heatmap_of(&o, weights, n);
    if (own) how.row_names = own;
    const bool ok = heed_panel_heatmap(p, weights, map->rows, map->keys, &how);
    heed_mem_free(cx, own);
    if (!ok) return false;
    if (p->figure->rows * p->figure->cols == 1)
        p->figure->cell = cell_size(map, o.numbers ? CELL_NUMBERS : CELL, LEAST_MAP, MAX_MAP);
    return (p->x_label || p->y_label) || heed_panel_labels(p, "keys", "queries");
}

/* ---- all heads ---- */

static const char *site_of(const heed_capture_map *m) { return m->site ? m->site : "attention"; }

/* A sheet under way: a row of heads, or more, to each of n maps. */
struct sheet {
    heed_figure *figure;
    const heed_capture_map *maps;
    int n;
    heed_attention_look look;
    const char **rows; /* names of the rows, if not the look's own */
    double high;
    int64_t columns; /* heads in a row */
    bool one_site, broken;
};

/* How many heads stand in a row. One layer alone is shown in two rows or so, several in one row each. */
static int64_t sheet_columns(const heed_capture_map *maps, int n) {
    enum { IN_ROW = 16 };
    int64_t most = 1;
    for (int i = 0; i < n; i++) most = maps[i].heads > most ? maps[i].heads : most;
    if (n == 1 && most > 4) most = (int64_t)ceil(sqrt(2 * (double)most));
    return most < IN_ROW ? most : IN_ROW;
}

static int64_t rows_of(const struct sheet *s, int map) { return (s->maps[map].heads + s->columns - 1) / s->columns; }

static bool sheet_head(const struct sheet *s, int map, int64_t head, int64_t row) {
    const heed_capture_map *m = &s->maps[map];
    const int64_t column = head % s->columns, n = m->rows * m->keys;
    heed_panel *p = heed_figure_panel(s->figure, (int)row, (int)column);
    if (!p) return false;
    const bool left = column == 0, foot = map == s->n - 1 && head + s->columns >= m->heads;
    const float *weights = weights_of(m, s->look.batch) + head * n;
    heed_heatmap how = heatmap_of(&s->look, weights, n);
    how.high = s->high;
    if (s->rows) how.row_names = s->rows;
    if (!left) how.row_names = NULL;
    if (!foot) how.col_names = NULL;
    p->small = true;
    p->bare_y = !left;
    p->bare_x = !foot;
    char title[32], label[96];
    snprintf(title, sizeof title, "head %lld", (long long)(s->look.first_head + head));
    snprintf(label, sizeof label, s->one_site ? "layer %d" : "layer %d, %s", m->layer, site_of(m));
    return heed_panel_heatmap(p, weights, m->rows, m->keys, &how) &&
           (head > 0 || heed_panel_labels(p, NULL, label)) &&       /* a layer is named once */
           ((row > 0 && !s->broken) || heed_panel_title(p, title)); /* columns are heads: named once */
}

static bool sheet_draw(struct sheet *s) {
    heed_ctx *cx = s->figure->cx;
    int64_t rows = 0, row = 0;
    double cell = MAX_CELL;
    for (int i = 0; i < s->n; i++) {
        const heed_capture_map *m = &s->maps[i];
        rows += rows_of(s, i);
        s->one_site = strcmp(site_of(m), site_of(&s->maps[0])) == 0 && (i == 0 || s->one_site);
        s->broken = rows_of(s, i) > 1 || (i > 0 && s->broken);
        cell = fmin(cell, cell_size(m, CELL_SHEET, LEAST_SMALL, SHEET_WIDE / (double)s->columns));
    }
    if (rows > INT32_MAX || !heed_figure_grid(s->figure, (int)rows, (int)s->columns)) return false;
    for (int i = 0; i < s->n; i++) cell = fmin(cell, SHEET_TALL / (double)rows / (double)s->maps[i].rows);
    s->figure->cell = fmax(LEAST_CELL, cell);
    char title[96] = "attention";
    if (s->one_site && strcmp(site_of(&s->maps[0]), title) != 0)
        snprintf(title, sizeof title, "%s attention", s->maps[0].site);
    if ((!s->figure->title && !heed_figure_title(s->figure, title)) || !heed_figure_bar(s->figure, "weight"))
        return false;
    for (int i = 0; i < s->n; i++) {
        /* names are of maps of the first one's size */
        const bool fits = s->maps[i].rows == s->maps[0].rows && s->maps[i].keys == s->maps[0].keys;
        struct sheet one = *s;
        if (!fits) one.rows = NULL, one.look.query_names = one.look.key_names = NULL;
        for (int64_t h = 0; h < s->maps[i].heads; h++)
            if (!sheet_head(&one, i, h, row + h / s->columns)) return false;
        row += rows_of(s, i);
    }
    return !heed_failed(cx);
}

bool heed_plot_attention_sheet(heed_figure *f, const heed_capture_map *maps, int n, const heed_attention_look *look) {
    static const char op[] = "attention_sheet";
    enum { MOST = 1024 };
    struct sheet s = {.figure = f, .maps = maps, .n = n, .look = look_of(look)};
    if (!f || heed_failed(f->cx)) return false;
    heed_ctx *cx = f->cx;
    if (n < 1 || n > MOST || !maps) return heed_fail(cx, HEED_ERR_RANGE, "%s: %d maps: must be 1 to %d", op, n, MOST);
    for (int i = 0; i < n; i++) {
        if (!check_map(cx, op, &maps[i], &s.look)) return false;
        if (maps[i].heads > MOST)
            return heed_fail(cx, HEED_ERR_RANGE, "%s: %lld heads: must be at most %d", op, (long long)maps[i].heads,
                             MOST);
        const int64_t weights = maps[i].heads * maps[i].rows * maps[i].keys;
        s.high = fmax(s.high, largest(weights_of(&maps[i], s.look.batch), weights));
    }
    s.high = s.look.high > 0 ? s.look.high : s.high > 0 ? s.high : 1;
    s.columns = sheet_columns(maps, n);
    if (!row_names(cx, &s.look, maps[0].rows, &s.rows)) return false;
    const bool ok = sheet_draw(&s);
    heed_mem_free(cx, s.rows);
    return ok;
}

/* ---- in the terminal ---- */

char *heed_terminal_attention(heed_ctx *cx, const heed_capture_map *map, int64_t head, const heed_attention_look *look,
                              const heed_terminal *how) {
    static const char op[] = "terminal_attention";
    const heed_attention_look o = look_of(look);
    if (heed_failed(cx) || !check_map(cx, op, map, &o) || !check_head(cx, op, map, head)) return NULL;
    const int64_t n = map->rows * map->keys;
    const float *weights = weights_of(map, o.batch) + head * n;
    const char **own;
    if (!row_names(cx, &o, map->rows, &own)) return NULL;
    heed_heatmap options = heatmap_of(&o, weights, n);
    if (own) options.row_names = own;
    char *text = heed_terminal_heatmap(cx, weights, map->rows, map->keys, &options, how);
    heed_mem_free(cx, own);
    return text;
}
