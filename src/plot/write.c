/* A figure into its file. The plots of a grid are all of one size: what their words need is taken off first, by rows
 * and columns, so that axes stand in line. Words depend on ticks and ticks on the size, so it is done a few times. */
#include "io/text.h"
#include "plot/canvas.h"
#include "plot/frame.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#define EDGE      9.0   /* around the figure */
#define GAP       13.0  /* between panels */
#define LEAST     12.0  /* size of a plot, whatever its words need */
#define MAX_BAR   260.0 /* height of the bar of a figure */
#define MAX_TITLE 700.0 /* width that a title may ask for */

struct grid {
    const heed_figure *figure;
    struct frame *frames; /* rows * cols; no panel: panel is NULL */
    double width, height, head;
    double w, h; /* of every plot */
    struct bar bar;
    double beside; /* room for the bar of the figure; 0: it has none */
};

static double default_size(int panels, double one, double each) { return panels == 1 ? one : each * panels + 20; }

static struct frame *frame_at(const struct grid *g, int row, int col) {
    struct frame *f = &g->frames[row * g->figure->cols + col];
    return f->panel ? f : NULL;
}

/* The room on one side that the frames of a row (or column) need. */
static double side_room(const struct grid *g, int at, bool row, size_t side) {
    double most = 0;
    const int n = row ? g->figure->cols : g->figure->rows;
    for (int i = 0; i < n; i++) {
        const struct frame *f = row ? frame_at(g, at, i) : frame_at(g, i, at);
        if (f) most = fmax(most, (const double[]){f->left, f->right, f->top, f->bottom}[side]);
    }
    return most;
}

enum { LEFT, RIGHT, TOP, BOTTOM };

static bool has_heatmap(const struct frame *f) { return f->map && f->map->kind == LAYER_HEATMAP && f->map->n > 0; }

/* One scale for all heat maps of a figure with one bar. */
static void share_scale(struct grid *g) {
    const int n = g->figure->rows * g->figure->cols;
    struct range all = range_none();
    g->beside = 0;
    if (!g->figure->bar) return;
    for (int i = 0; i < n; i++)
        if (has_heatmap(&g->frames[i])) {
            range_add(&all, g->frames[i].scale.low, false);
            range_add(&all, g->frames[i].scale.high, false);
            g->bar.map = g->frames[i].map->map;
        }
    for (int i = 0; i < n; i++)
        if (has_heatmap(&g->frames[i])) g->frames[i].scale = all;
    if (!range_empty(all)) g->bar = (struct bar){.map = g->bar.map, .scale = all, .label = g->figure->bar_label};
}

/* The rectangle from the first plot with a heat map to the last, or a part of it: a bar need not be longer. */
static struct rect bar_place(const struct grid *g) {
    const struct frame *first = NULL, *last = NULL;
    for (int i = 0; i < g->figure->rows * g->figure->cols; i++)
        if (has_heatmap(&g->frames[i])) last = &g->frames[i], first = first ? first : last;
    const double top = first->plot.y, foot = last->plot.y + last->plot.h;
    return (struct rect){0, top, g->width - EDGE - g->beside, fmin(foot - top, MAX_BAR)};
}

/* What words need around the plots, in all. */
static void measure_words(struct grid *g, double *across, double *down) {
    const int rows = g->figure->rows, cols = g->figure->cols;
    for (int i = 0; i < rows * cols; i++)
        if (g->frames[i].panel) frame_measure(&g->frames[i], g->w, g->h);
    if (g->bar.scale.low < g->bar.scale.high)
        g->beside = bar_measure(&g->bar, g->frames[0].cr, fmin(rows * g->h, MAX_BAR), FONT_TICK);
    *across = 2 * EDGE + g->beside + GAP * (cols - 1);
    *down = 2 * EDGE + g->head + GAP * (rows - 1);
    for (int c = 0; c < cols; c++) *across += side_room(g, c, false, LEFT) + side_room(g, c, false, RIGHT);
    for (int r = 0; r < rows; r++) *down += side_room(g, r, true, TOP) + side_room(g, r, true, BOTTOM);
}

static void measure(struct grid *g) {
    double across, down;
    measure_words(g, &across, &down);
    g->w = fmax(LEAST, (g->width - across) / g->figure->cols);
    g->h = fmax(LEAST, (g->height - down) / g->figure->rows);
}

static void place(struct grid *g) {
    double y = EDGE + g->head;
    for (int r = 0; r < g->figure->rows; r++) {
        double x = EDGE;
        y += side_room(g, r, true, TOP);
        for (int c = 0; c < g->figure->cols; c++) {
            x += side_room(g, c, false, LEFT);
            struct frame *f = frame_at(g, r, c);
            if (f) frame_place(f, (struct rect){x, y, g->w, g->h});
            x += g->w + side_room(g, c, false, RIGHT) + GAP;
        }
        y += g->h + side_room(g, r, true, BOTTOM) + GAP;
    }
}

static bool begin(struct grid *g, cairo_t *cr) {
    const heed_figure *f = g->figure;
    for (int i = 0; i < f->rows * f->cols; i++) {
        g->frames[i] = (struct frame){.cr = cr};
        if (f->panels && f->panels[i] && !frame_begin(&g->frames[i], cr, f->panels[i], theme_of(f->theme)))
            return false;
    }
    share_scale(g);
    return true;
}

/* The size of a figure of heat maps: that of their cells, and what the words need around them. */
static bool suit_cells(struct grid *g, const char *path) {
    const heed_figure *f = g->figure;
    cairo_t *cr = canvas_scratch(f->cx, path);
    if (!cr) return false;
    const bool ok = begin(g, cr);
    double across = 0, down = 0, title = f->title ? text_width(cr, f->title, FONT_FIGURE, true) : 0;
    g->w = g->h = LEAST;
    for (int i = 0; ok && i < f->rows * f->cols; i++) {
        const struct frame *at = &g->frames[i];
        if (!has_heatmap(at)) continue;
        g->w = fmax(g->w, f->cell * cell_shape(at->map) * (double)at->map->cols);
        g->h = fmax(g->h, f->cell * (double)at->map->rows);
        if (f->rows * f->cols == 1 && at->panel->title)
            title = fmax(title, text_width(cr, at->panel->title, FONT_TITLE, true));
    }
    if (ok) measure_words(g, &across, &down);
    g->width = fmin(MAX_POINTS, fmax(across + f->cols * g->w, fmin(title, MAX_TITLE) + 2 * EDGE + 2));
    g->height = fmin(MAX_POINTS, down + f->rows * g->h);
    cairo_destroy(cr);
    return ok;
}

static bool draw(struct grid *g, cairo_t *cr) {
    const heed_figure *f = g->figure;
    const struct theme *theme = theme_of(f->theme);
    const int n = f->rows * f->cols;
    if (!begin(g, cr)) return false;
    set_color(cr, theme->background, 1);
    cairo_paint(cr);
    g->w = g->width / f->cols * 0.8;
    g->h = g->height / f->rows * 0.8;
    for (int pass = 0; pass < 4; pass++) measure(g);
    place(g);
    if (f->title)
        text_draw(cr, text_fit(cr, f->title, FONT_FIGURE, true, g->width - 2 * EDGE).text, g->width / 2, EDGE + 1,
                  (struct words){FONT_FIGURE, true, theme->ink, 0.5, 0, 0});
    for (int i = 0; i < n; i++)
        if (g->frames[i].panel) frame_draw(&g->frames[i]);
    if (g->beside > 0) bar_draw(&g->bar, cr, f->cx, theme, bar_place(g), FONT_TICK);
    return !heed_failed(f->cx);
}

static bool has_images(const heed_figure *f) {
    for (int i = 0; f->panels && i < f->rows * f->cols; i++)
        for (int k = 0; f->panels[i] && k < f->panels[i]->n; k++)
            if (f->panels[i]->layers[k].kind == LAYER_HEATMAP || f->panels[i]->layers[k].kind == LAYER_IMAGES)
                return true;
    return false;
}

bool heed_figure_write(heed_figure *f, const char *path) {
    if (!f || heed_failed(f->cx)) return false;
    const char *const end = path ? strrchr(path, '.') : NULL;
    static const char *const endings[] = {".png", ".svg", ".pdf"};
    for (int i = 0; end && end > path && i < 3; i++)
        if (strcasecmp(end, endings[i]) == 0) return heed_figure_write_as(f, path, endings[i] + 1);
    return heed_fail(f->cx, HEED_ERR_USAGE, "figure_write: '%s': the name must end in .png, .svg or .pdf",
                     escaped(path).s);
}

bool heed_figure_write_as(heed_figure *f, const char *path, const char *format) {
    enum canvas_format as;
    if (!f || heed_failed(f->cx) || !canvas_format(f->cx, format, &as)) return false;
    if (!path) return heed_fail(f->cx, HEED_ERR_USAGE, "figure_write: the path is NULL");
    struct grid g = {.figure = f, .head = f->title ? FONT_FIGURE + 8 : 0};
    g.width = f->width > 0 ? f->width : default_size(f->cols, 430, 290);
    g.height = f->height > 0 ? f->height : default_size(f->rows, 290, 220);
    g.frames = heed_mem_new(f->cx, (size_t)f->rows * (size_t)f->cols * sizeof *g.frames);
    if (!g.frames) return false;
    const bool suited = !(f->cell > 0) || f->width > 0 || f->height > 0 || suit_cells(&g, path);
    struct canvas *c = suited ? canvas_open(f->cx, path, as, g.width, g.height, f->pixels, has_images(f)) : NULL;
    const bool ok = c && draw(&g, canvas_cairo(c));
    heed_mem_free(f->cx, g.frames);
    if (ok) return canvas_commit(c);
    canvas_abort(c);
    return false;
}
