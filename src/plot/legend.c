/* Legends, placed where they hide least. The plot is laid out in a coarse grid of cells that count what is drawn in
 * them; of nine places the one whose cells count least wins, corners first. Where even that hides too much, the legend
 * stands beside the plot. */
#include "plot/frame.h"

#include <math.h>

#define ACROSS   64
#define DOWN     48
#define PAD      5.0
#define SAMPLE   18.0 /* width of the sample of a line */
#define LINE     (FONT_TICK * 1.5)
#define CLEAR    5.0 /* from the edges of the plot */
#define TOO_MUCH 30  /* counts hidden */
#define BESIDE   6.0 /* from the plot, when beside it */

struct cover {
    const struct frame *f;
    unsigned count[DOWN][ACROSS];
};

static void cover_point(struct cover *c, double x, double y) {
    const struct rect r = c->f->plot;
    const double u = (x - r.x) / r.w * ACROSS, v = (y - r.y) / r.h * DOWN;
    if (u >= 0 && u < ACROSS && v >= 0 && v < DOWN) c->count[(int)v][(int)u]++;
}

static void cover_line(struct cover *c, double x0, double y0, double x1, double y1) {
    const struct rect r = c->f->plot;
    const double steps = fmin(200, ceil(fmax(fabs(x1 - x0) / r.w * ACROSS, fabs(y1 - y0) / r.h * DOWN)));
    for (double i = 1; i <= steps; i++) cover_point(c, x0 + (x1 - x0) * i / steps, y0 + (y1 - y0) * i / steps);
}

static void cover_layer(struct cover *c, const struct layer *l) {
    const struct frame *f = c->f;
    double last_x = (double)NAN, last_y = (double)NAN, last_z = (double)NAN;
    switch (l->kind) {
    case LAYER_CURVE:
    case LAYER_SCATTER:
    case LAYER_BAND:
        for (int64_t i = 0; i < l->n; i++) {
            const double x = frame_x(f, l->x ? (double)l->x[i] : (double)i), y = frame_y(f, (double)l->y[i]);
            const double z = l->kind == LAYER_BAND ? frame_y(f, (double)l->z[i]) : y;
            const bool gap = isnan(x) || isnan(y) || isnan(z), goes_on = !gap && !isnan(last_x);
            if (!gap) cover_point(c, x, y);
            if (l->kind != LAYER_SCATTER && goes_on) cover_line(c, last_x, last_y, x, y);
            if (l->kind == LAYER_BAND && !gap) cover_line(c, x, y, x, z);
            if (l->kind == LAYER_BAND && goes_on) cover_line(c, last_x, last_z, x, z);
            last_x = gap ? (double)NAN : x;
            last_y = y;
            last_z = z;
        }
        break;
    case LAYER_BARS:
    case LAYER_HBARS:
        for (int64_t i = 0; i < l->n; i++) {
            const bool lying = l->kind == LAYER_HBARS;
            const double v = (double)l->y[i];
            for (double at = -0.36; isfinite(v) && at < 0.37; at += 0.12) {
                const double along = (double)i + at;
                if (lying)
                    cover_line(c, frame_x(f, 0), frame_y(f, along), frame_x(f, v), frame_y(f, along));
                else
                    cover_line(c, frame_x(f, along), frame_y(f, 0), frame_x(f, along), frame_y(f, v));
            }
        }
        break;
    case LAYER_VLINE:
        cover_line(c, frame_x(f, l->at_x), f->plot.y, frame_x(f, l->at_x), f->plot.y + f->plot.h);
        break;
    case LAYER_HLINE:
        cover_line(c, f->plot.x, frame_y(f, l->at_y), f->plot.x + f->plot.w, frame_y(f, l->at_y));
        break;
    case LAYER_TEXT: {
        const double x = frame_x(f, l->at_x), y = frame_y(f, l->at_y);
        const double w = fmin(text_width(f->cr, l->text, l->style.size, false), f->plot.w);
        const double end = x + w <= f->plot.x + f->plot.w ? x + w : x - w;
        for (int k = 0; k < 6; k++) cover_line(c, x, y, end, y); /* words must not be hidden */
        break;
    }
    case LAYER_NAMES: /* on either side, as nobody knows yet where they will stand */
        for (int64_t i = 0; i < l->n; i++) {
            const double x = frame_x(f, (double)l->x[i]), y = frame_y(f, (double)l->y[i]);
            const double w = text_width(f->cr, l->names.at[i], l->style.size, false) / 2;
            if (!isnan(x) && !isnan(y)) cover_line(c, x - w, y, x + w, y);
        }
        break;
    case LAYER_BOXES:
    case LAYER_HEATMAP:
    case LAYER_IMAGES:
    case LAYER_NETWORK:
    case LAYER_GRAPH:
    case LAYER_WRITING:
        break;
    }
}

static unsigned hidden_by(const struct cover *c, struct rect box) {
    const struct rect r = c->f->plot;
    const int x0 = (int)fmax(0, floor((box.x - 2 - r.x) / r.w * ACROSS));
    const int x1 = (int)fmin(ACROSS - 1, floor((box.x + box.w + 2 - r.x) / r.w * ACROSS));
    const int y0 = (int)fmax(0, floor((box.y - 2 - r.y) / r.h * DOWN));
    const int y1 = (int)fmin(DOWN - 1, floor((box.y + box.h + 2 - r.y) / r.h * DOWN));
    unsigned sum = 0;
    for (int y = y0; y <= y1; y++)
        for (int x = x0; x <= x1; x++) sum += c->count[y][x];
    return sum;
}

/* The best place within the plot for a legend of this size, and how much it hides there. */
static struct rect best_place(const struct frame *f, double w, double h, unsigned *least) {
    static const double places[][2] = {{1, 0},   {0, 0},   {1, 1},   {0, 1},    {1, 0.5},
                                       {0.5, 0}, {0.5, 1}, {0, 0.5}, {0.5, 0.5}};
    struct cover c = {.f = f};
    const struct rect r = f->plot;
    for (int i = 0; i < f->panel->n; i++)
        if (!f->panel->open_bands || f->panel->layers[i].kind == LAYER_BAND) cover_layer(&c, &f->panel->layers[i]);
    struct rect best = {0};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        const struct rect box = {r.x + CLEAR + places[i][0] * (r.w - w - 2 * CLEAR),
                                 r.y + CLEAR + places[i][1] * (r.h - h - 2 * CLEAR), w, h};
        const unsigned hidden = hidden_by(&c, box);
        if (i == 0 || hidden < *least) {
            best = box;
            *least = hidden;
        }
    }
    return best;
}

static bool in_legend(const struct layer *l) { return l->text && l->kind < LAYER_TEXT; }

static double label_most(const struct frame *f) { return fmax(20, 0.6 * f->plot.w - SAMPLE); }

/* Width and height of the legend, 0 when there is none. */
static struct rect legend_size(const struct frame *f) {
    double widest = 0;
    int lines = 0;
    for (int i = 0; i < f->panel->n; i++) {
        const struct layer *l = &f->panel->layers[i];
        if (!in_legend(l)) continue;
        widest = fmax(widest, fmin(label_most(f), text_width(f->cr, l->text, FONT_TICK, false)));
        lines++;
    }
    if (lines == 0 || f->panel->no_legend) return (struct rect){0};
    return (struct rect){0, 0, widest + SAMPLE + 5 + 2 * PAD, LINE * lines + PAD * 1.1};
}

double legend_beside(struct frame *f) {
    const struct rect size = legend_size(f);
    unsigned hidden = 0;
    if (size.w == 0 || f->map) return 0;
    if (!f->legend_beside) {
        best_place(f, size.w, size.h, &hidden);
        f->legend_beside = hidden > (f->panel->open_bands ? 0 : TOO_MUCH) || size.h > f->plot.h - CLEAR;
    }
    return f->legend_beside ? size.w + BESIDE : 0;
}

static void draw_sample(struct frame *f, const struct layer *l, double x, double y) {
    cairo_t *cr = f->cr;
    const struct rgb color = theme_color(f->theme, l->style.color);
    switch (l->kind) {
    case LAYER_SCATTER:
        set_color(cr, color, fmax(l->style.alpha, 0.6));
        draw_marker(f, &l->style, x + SAMPLE / 2, y);
        break;
    case LAYER_BAND:
    case LAYER_BARS:
    case LAYER_HBARS:
        set_color(cr, color, l->style.alpha);
        cairo_rectangle(cr, x + 2, y - 3.2, SAMPLE - 4, 6.4);
        cairo_fill(cr);
        break;
    default:
        set_stroke(f, &l->style);
        cairo_move_to(cr, x + 1, y);
        cairo_line_to(cr, x + SAMPLE - 1, y);
        cairo_stroke(cr);
        cairo_set_dash(cr, NULL, 0, 0);
        if (l->style.marker != HEED_MARKER_DEFAULT) draw_marker(f, &l->style, x + SAMPLE / 2, y);
    }
}

void draw_legend(struct frame *f) {
    cairo_t *cr = f->cr;
    const struct rect size = legend_size(f);
    unsigned hidden;
    if (size.w == 0) return;
    struct rect box = {f->plot.x + f->plot.w + BESIDE, f->plot.y, size.w, size.h};
    if (!f->legend_beside) {
        box = best_place(f, size.w, size.h, &hidden);
        rounded(cr, box, 2.5);
        set_color(cr, f->theme->background, 0.86);
        cairo_fill_preserve(cr);
        set_color(cr, f->theme->grid, 1);
        cairo_set_line_width(cr, 0.7);
        cairo_stroke(cr);
    }
    double y = box.y + PAD * 0.55 + LINE / 2;
    for (int i = 0; i < f->panel->n; i++) {
        const struct layer *l = &f->panel->layers[i];
        if (!in_legend(l)) continue;
        draw_sample(f, l, box.x + PAD, y);
        text_draw(cr, text_fit(cr, l->text, FONT_TICK, false, label_most(f)).text, box.x + PAD + SAMPLE + 5, y,
                  (struct words){FONT_TICK, false, f->theme->ink, 0, 0.5, 0});
        y += LINE;
    }
}
