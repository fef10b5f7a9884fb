/* A figure into its file. The plots of a grid are all of one size: what their words need is taken off first, by rows
 * and columns, so that axes stand in line. Words depend on ticks and ticks on the size, so it is done a few times. */
#include "plot/frame.h"

#include <math.h>

#define EDGE  9.0  /* around the figure */
#define GAP   13.0 /* between panels */
#define LEAST 12.0 /* size of a plot, whatever its words need */

struct grid {
    const heed_figure *figure;
    struct frame *frames; /* rows * cols; no panel: panel is NULL */
    double width, height, head;
    double w, h; /* of every plot */
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

static void measure(struct grid *g) {
    double across = 2 * EDGE, down = 2 * EDGE + g->head;
    const int rows = g->figure->rows, cols = g->figure->cols;
    for (int i = 0; i < rows * cols; i++)
        if (g->frames[i].panel) frame_measure(&g->frames[i], g->w, g->h);
    for (int c = 0; c < cols; c++) across += side_room(g, c, false, LEFT) + side_room(g, c, false, RIGHT);
    for (int r = 0; r < rows; r++) down += side_room(g, r, true, TOP) + side_room(g, r, true, BOTTOM);
    g->w = fmax(LEAST, (g->width - across - GAP * (cols - 1)) / cols);
    g->h = fmax(LEAST, (g->height - down - GAP * (rows - 1)) / rows);
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

static bool draw(struct grid *g, cairo_t *cr) {
    const heed_figure *f = g->figure;
    const struct theme *theme = theme_of(f->theme);
    const int n = f->rows * f->cols;
    for (int i = 0; i < n; i++) {
        g->frames[i] = (struct frame){0};
        if (f->panels && f->panels[i] && !frame_begin(&g->frames[i], cr, f->panels[i], theme)) return false;
    }
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
    return !heed_failed(f->cx);
}

bool heed_figure_write(heed_figure *f, const char *path) {
    if (!f || heed_failed(f->cx)) return false;
    struct grid g = {.figure = f, .head = f->title ? FONT_FIGURE + 8 : 0};
    g.width = f->width > 0 ? f->width : default_size(f->cols, 430, 290);
    g.height = f->height > 0 ? f->height : default_size(f->rows, 290, 220);
    struct canvas *c = canvas_open(f->cx, path, g.width, g.height, f->pixels);
    if (!c) return false;
    g.frames = heed_mem_new(f->cx, (size_t)f->rows * (size_t)f->cols * sizeof *g.frames);
    bool ok = g.frames && draw(&g, canvas_cairo(c));
    heed_mem_free(f->cx, g.frames);
    if (ok) return canvas_commit(c);
    canvas_abort(c);
    return false;
}
