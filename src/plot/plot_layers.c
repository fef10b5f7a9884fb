/* Layers as they are added: checked, copied, and their defaults settled. */
#include "base/checked.h"
#include "heed/image.h"
#include "io/text.h"
#include "plot/color.h"
#include "plot/figure.h"

#include <math.h>

#define MAX_LAYERS 100000
#define MAX_LINES  10000
#define MAX_UNDER  16384 /* pixels of a side */

void layer_free(heed_ctx *cx, struct layer *l) {
    void *const held[] = {l->text, l->x, l->y, l->z, l->sizes, l->names.at, l->names_2.at, l->names_3.at, l->under};
    for (size_t i = 0; i < sizeof held / sizeof *held; i++) heed_mem_free(cx, held[i]);
}

static bool is_map(enum layer_kind kind) { return kind >= LAYER_HEATMAP; }

/* Maps, images, networks, graphs and writing each rule their panel, so there is one of them at most. */
static bool may_stand(const heed_panel *p, const struct layer *l) {
    heed_ctx *cx = p->figure->cx;
    if (p->n >= MAX_LAYERS) return heed_fail(cx, HEED_ERR_RANGE, "panel: more than %d layers", MAX_LAYERS);
    for (int i = 0; i < p->n; i++) {
        const enum layer_kind there = p->layers[i].kind;
        if (is_map(there) && is_map(l->kind))
            return heed_fail(cx, HEED_ERR_USAGE,
                             "panel: a heat map, images, a network, a graph or writing is there already");
        if ((there == LAYER_BARS && l->kind == LAYER_HBARS) || (there == LAYER_HBARS && l->kind == LAYER_BARS))
            return heed_fail(cx, HEED_ERR_USAGE, "panel: bars cannot both stand and lie");
    }
    return true;
}

bool panel_add(heed_panel *p, struct layer *l) {
    heed_ctx *cx = p->figure->cx;
    if (!heed_failed(cx) && may_stand(p, l)) {
        if (p->n == p->room) {
            const int room = p->room ? 2 * p->room : 8;
            struct layer *more = heed_mem_resize(cx, p->layers, (size_t)room * sizeof *more);
            if (more) {
                p->layers = more;
                p->room = room;
            }
        }
        if (p->n < p->room) {
            if (l->style.color == HEED_COLOR_NEXT)
                l->style.color = (heed_color)(HEED_COLOR_BLUE + p->colors_used++ % HEED_COLOR_VIOLET);
            p->layers[p->n++] = *l;
            return true;
        }
    }
    layer_free(cx, l);
    return false;
}

/* Settles the style of a layer; width, size and alpha are what 0 stands for. */
static bool set_style(heed_ctx *cx, const char *op, struct layer *l, const heed_style *style, double width, double size,
                      double alpha) {
    l->style = style ? *style : (heed_style){0};
    l->style.label = NULL;
    if (l->style.width == 0) l->style.width = width;
    if (l->style.size == 0) l->style.size = size;
    if (l->style.alpha == 0) l->style.alpha = alpha;
    const heed_style *s = &l->style;
    if (!(s->width > 0 && s->width <= 100 && s->size > 0 && s->size <= 500 && s->alpha > 0 && s->alpha <= 1))
        return heed_fail(cx, HEED_ERR_RANGE, "%s: width %g, size %g, alpha %g: out of range", op, s->width, s->size,
                         s->alpha);
    if ((unsigned)s->color > HEED_COLOR_GREY || (unsigned)s->dash > HEED_DASH_BOTH ||
        (unsigned)s->marker > HEED_MARKER_CROSS)
        return heed_fail(cx, HEED_ERR_USAGE, "%s: colour %d, dash %d, marker %d: no such thing", op, (int)s->color,
                         (int)s->dash, (int)s->marker);
    return copy_text(cx, op, style ? style->label : NULL, &l->text);
}

static bool add_points(heed_panel *p, const char *op, struct layer l, const float *x, const float *y, const float *z,
                       const heed_style *style, double alpha) {
    if (!panel_ready(p)) return false;
    heed_ctx *cx = p->figure->cx;
    const bool band = l.kind == LAYER_BAND;
    if (set_style(cx, op, &l, style, 1.6, l.kind == LAYER_SCATTER ? 4.2 : 4.6, alpha) &&
        (!x || copy_floats(cx, op, x, l.n, &l.x)) && copy_floats(cx, op, y, l.n, &l.y) && band)
        copy_floats(cx, op, z, l.n, &l.z);
    return panel_add(p, &l);
}

bool heed_panel_curve(heed_panel *p, const float *x, const float *y, int64_t n, const heed_style *style) {
    return add_points(p, "curve", (struct layer){.kind = LAYER_CURVE, .n = n}, x, y, NULL, style, 1);
}

bool heed_panel_scatter(heed_panel *p, const float *x, const float *y, int64_t n, const heed_style *style) {
    return add_points(p, "scatter", (struct layer){.kind = LAYER_SCATTER, .n = n}, x, y, NULL, style, 0.75);
}

bool heed_panel_band(heed_panel *p, const float *x, const float *low, const float *high, int64_t n,
                     const heed_style *style) {
    return add_points(p, "band", (struct layer){.kind = LAYER_BAND, .n = n}, x, low, high, style, 0.22);
}

static bool add_bars(heed_panel *p, const char *op, enum layer_kind kind, const char *const *names, const float *values,
                     int64_t n, const heed_style *style) {
    if (!panel_ready(p)) return false;
    heed_ctx *cx = p->figure->cx;
    struct layer l = {.kind = kind, .n = n};
    if (set_style(cx, op, &l, style, 1, 1, 1) && copy_floats(cx, op, values, n, &l.y))
        copy_names(cx, op, names, n, &l.names);
    return panel_add(p, &l);
}

bool heed_panel_bars(heed_panel *p, const char *const *names, const float *values, int64_t n, const heed_style *style) {
    return add_bars(p, "bars", LAYER_BARS, names, values, n, style);
}

bool heed_panel_hbars(heed_panel *p, const char *const *names, const float *values, int64_t n,
                      const heed_style *style) {
    return add_bars(p, "hbars", LAYER_HBARS, names, values, n, style);
}

static bool add_mark(heed_panel *p, const char *op, struct layer l, const heed_style *style) {
    if (!panel_ready(p)) return false;
    heed_ctx *cx = p->figure->cx;
    if (!isfinite(l.at_x) || !isfinite(l.at_y))
        heed_fail(cx, HEED_ERR_RANGE, "%s: the place is not a finite number", op);
    else
        set_style(cx, op, &l, style, 1, 8.5, 1);
    if (l.style.color == HEED_COLOR_NEXT) l.style.color = l.kind == LAYER_TEXT ? HEED_COLOR_INK : HEED_COLOR_GREY;
    return panel_add(p, &l);
}

bool heed_panel_vline(heed_panel *p, double x, const heed_style *style) {
    return add_mark(p, "vline", (struct layer){.kind = LAYER_VLINE, .at_x = x}, style);
}

bool heed_panel_hline(heed_panel *p, double y, const heed_style *style) {
    return add_mark(p, "hline", (struct layer){.kind = LAYER_HLINE, .at_y = y}, style);
}

bool heed_panel_text(heed_panel *p, double x, double y, const char *text, const heed_style *style) {
    heed_style words = style ? *style : (heed_style){0};
    if (!panel_ready(p)) return false;
    if (!text) return heed_fail(p->figure->cx, HEED_ERR_USAGE, "text: there are no words");
    words.label = text;
    return add_mark(p, "text", (struct layer){.kind = LAYER_TEXT, .at_x = x, .at_y = y}, &words);
}

bool heed_panel_names(heed_panel *p, const float *x, const float *y, const char *const *names, const heed_color *colors,
                      int64_t n, const heed_style *style) {
    static const char op[] = "names";
    if (!panel_ready(p)) return false;
    heed_ctx *cx = p->figure->cx;
    struct layer l = {.kind = LAYER_NAMES, .n = n};
    if (n > 0 && (!x || !y || !names)) return heed_fail(cx, HEED_ERR_USAGE, "names: points and names are needed");
    if (set_style(cx, op, &l, style, 1, 7.5, 1) && copy_floats(cx, op, x, n, &l.x) && copy_floats(cx, op, y, n, &l.y) &&
        copy_names(cx, op, names, n, &l.names) && colors && n > 0 &&
        (l.sizes = heed_mem_new(cx, (size_t)n * sizeof *l.sizes)))
        for (int64_t i = 0; i < n; i++) {
            l.sizes[i] = (int)colors[i];
            if (colors[i] < HEED_COLOR_BLUE || colors[i] > HEED_COLOR_GREY)
                heed_fail(cx, HEED_ERR_USAGE, "names: %d is no colour", (int)colors[i]);
        }
    if (l.style.color == HEED_COLOR_NEXT) l.style.color = HEED_COLOR_INK;
    return panel_add(p, &l);
}

/* ---- maps, images, networks, writing ---- */

/* RGB of the picture below a map. */
static bool copy_under(heed_ctx *cx, const char *op, const heed_image *from, struct layer *l) {
    if (!from) return true;
    if (!from->data || from->width < 1 || from->height < 1 || (from->channels != 1 && from->channels != 3) ||
        from->width > MAX_UNDER || from->height > MAX_UNDER)
        return heed_fail(cx, HEED_ERR_USAGE, "%s: the picture below should be grey or RGB, of at most %d pixels a side",
                         op, MAX_UNDER);
    const int64_t n = from->width * from->height;
    if (!(l->under = heed_mem_new(cx, (size_t)(3 * n)))) return false;
    for (int64_t i = 0; i < 3 * n; i++) l->under[i] = from->data[from->channels == 3 ? i : i / 3];
    l->under_rows = from->height;
    l->under_cols = from->width;
    return true;
}

bool heed_panel_heatmap(heed_panel *p, const float *values, int64_t rows, int64_t cols, const heed_heatmap *options) {
    static const char op[] = "heatmap";
    if (!panel_ready(p)) return false;
    heed_ctx *cx = p->figure->cx;
    const heed_heatmap o = options ? *options : (heed_heatmap){0};
    struct layer l = {.kind = LAYER_HEATMAP, .rows = rows, .cols = cols, .map = o.map, .low = o.low, .high = o.high};
    l.numbers = o.numbers || o.texts;
    l.no_bar = o.no_bar;
    l.stretch = o.stretch;
    l.weights = o.weights;
    l.smooth = o.smooth;
    l.style.color = HEED_COLOR_INK;
    if (rows < 0 || cols < 0 || !i64_mul(rows, cols, &l.n))
        return heed_fail(cx, HEED_ERR_SHAPE, "heatmap: (%lld,%lld) is no shape", (long long)rows, (long long)cols);
    if (map_check(cx, op, o.map, o.low, o.high) && copy_floats(cx, op, values, l.n, &l.y) &&
        copy_names(cx, op, o.row_names, rows, &l.names) && copy_names(cx, op, o.col_names, cols, &l.names_2) &&
        copy_names(cx, op, o.texts, l.n, &l.names_3) && copy_under(cx, op, o.under, &l))
        copy_text(cx, op, o.scale_label, &l.text);
    return panel_add(p, &l);
}

bool heed_panel_images(heed_panel *p, const float *images, int64_t n, int64_t height, int64_t width,
                       const heed_images *options) {
    static const char op[] = "images";
    if (!panel_ready(p)) return false;
    heed_ctx *cx = p->figure->cx;
    const heed_images o = options ? *options : (heed_images){0};
    struct layer l = {.kind = LAYER_IMAGES, .n = n, .rows = height, .cols = width};
    l.map = o.map;
    l.low = o.low;
    l.high = o.high;
    l.own_scales = o.own_scales;
    l.rgb = o.rgb;
    l.columns = o.columns;
    l.style.color = HEED_COLOR_INK;
    int64_t pixels;
    if (n < 0 || height < 1 || width < 1 || o.columns < 0 || !i64_mul(height, width, &pixels) ||
        !i64_mul(pixels, n, &pixels) || !i64_mul(pixels, o.rgb ? 3 : 1, &pixels))
        return heed_fail(cx, HEED_ERR_SHAPE, "images: (%lld,%lld,%lld) in %d columns is no shape", (long long)n,
                         (long long)height, (long long)width, o.columns);
    if (map_check(cx, op, o.map, o.low, o.high) && copy_floats(cx, op, images, pixels, &l.y))
        copy_names(cx, op, o.titles, n, &l.names);
    return panel_add(p, &l);
}

/* Lays the arrays at[i] of lengths count[i] one behind the other. */
static bool copy_joined(heed_ctx *cx, const char *op, const float *const *at, const int64_t *count, int n,
                        float **out) {
    int64_t total = 0, used = 0;
    size_t bytes;
    *out = NULL;
    if (!at) return true;
    for (int i = 0; i < n; i++) {
        if (!at[i]) return heed_fail(cx, HEED_ERR_USAGE, "%s: array %d of %d is NULL", op, i, n);
        if (!i64_add(total, count[i], &total)) return heed_fail(cx, HEED_ERR_RANGE, "%s: too many numbers", op);
    }
    if (!size_mul((size_t)total, sizeof **out, &bytes))
        return heed_fail(cx, HEED_ERR_RANGE, "%s: too many numbers", op);
    if (!(*out = heed_mem_new(cx, bytes))) return false;
    for (int i = 0; i < n; i++)
        for (int64_t k = 0; k < count[i]; k++) (*out)[used++] = at[i][k];
    return true;
}

#define MAX_DEPTH 64

bool heed_panel_network(heed_panel *p, const int *sizes, int layers, const float *const *weights,
                        const heed_network *options) {
    static const char op[] = "network";
    if (!panel_ready(p)) return false;
    heed_ctx *cx = p->figure->cx;
    const heed_network o = options ? *options : (heed_network){0};
    if (!sizes || layers < 1 || layers > MAX_DEPTH || o.most < 0)
        return heed_fail(cx, HEED_ERR_USAGE, "network: %d layers, at most %d nodes drawn: there must be 1 to %d layers",
                         layers, o.most, MAX_DEPTH);
    int64_t edges[MAX_DEPTH], nodes[MAX_DEPTH];
    for (int i = 0; i < layers; i++) {
        if (sizes[i] < 1) return heed_fail(cx, HEED_ERR_SHAPE, "network: layer %d has %d nodes", i, sizes[i]);
        nodes[i] = sizes[i];
        if (i > 0) edges[i - 1] = nodes[i - 1] * nodes[i];
    }
    struct layer l = {.kind = LAYER_NETWORK, .sizes_n = layers, .most = o.most ? o.most : 16};
    l.style.color = HEED_COLOR_INK;
    if ((l.sizes = heed_mem_new(cx, (size_t)layers * sizeof *l.sizes)))
        for (int i = 0; i < layers; i++) l.sizes[i] = sizes[i];
    if (l.sizes && copy_joined(cx, op, weights, edges, layers - 1, &l.y) &&
        copy_joined(cx, op, o.values, nodes, layers, &l.z) && copy_names(cx, op, o.layer_names, layers, &l.names) &&
        copy_names(cx, op, o.input_names, sizes[0], &l.names_2))
        copy_names(cx, op, o.output_names, sizes[layers - 1], &l.names_3);
    return panel_add(p, &l);
}

static bool line_is_sound(heed_ctx *cx, const heed_writing_line *line, int number) {
    if (!line->points || line->n < 1 || line->n > INT32_MAX / 3)
        return heed_fail(cx, HEED_ERR_RANGE, "writing: line %d has %lld points", number, (long long)line->n);
    for (int64_t i = 0; i < 3 * line->n; i++)
        if (!isfinite(line->points[i]))
            return heed_fail(cx, HEED_ERR_RANGE, "writing: line %d holds a number that is not finite", number);
    return true;
}

bool heed_panel_writing(heed_panel *p, const heed_writing_line *lines, int n) {
    static const char op[] = "writing";
    if (!panel_ready(p)) return false;
    heed_ctx *cx = p->figure->cx;
    struct layer l = {.kind = LAYER_WRITING, .n = n, .sizes_n = 2 * n};
    if (n < 1 || n > MAX_LINES || !lines)
        return heed_fail(cx, HEED_ERR_USAGE, "writing: %d lines are not 1 to %d", n, MAX_LINES);
    const float **at = heed_mem_new(cx, (size_t)n * (sizeof *at + sizeof(char *) + sizeof(int64_t)));
    const char **titles = at ? (const char **)(at + n) : NULL;
    int64_t *count = at ? (int64_t *)(titles + n) : NULL;
    l.style.color = HEED_COLOR_INK;
    l.sizes = at ? heed_mem_new(cx, 2 * (size_t)n * sizeof *l.sizes) : NULL;
    for (int i = 0; l.sizes && i < n && line_is_sound(cx, &lines[i], i + 1); i++) {
        at[i] = lines[i].points;
        titles[i] = lines[i].title ? lines[i].title : "";
        count[i] = 3 * lines[i].n;
        l.sizes[2 * i] = (int)lines[i].n;
        l.sizes[2 * i + 1] = (int)lines[i].given;
    }
    if (!heed_failed(cx) && copy_joined(cx, op, at, count, n, &l.y)) copy_names(cx, op, titles, n, &l.names);
    heed_mem_free(cx, at);
    return panel_add(p, &l);
}
