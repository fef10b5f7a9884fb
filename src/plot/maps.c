/* Heat maps with their colour bar, and grids of images. */
#include "plot/frame.h"

#include <math.h>

struct pixels {
    const struct theme *theme;
    const float *values; /* (rows, cols) */
    int64_t cols;
    heed_map map;
    struct range scale;
};

static struct rgb value_color(const struct pixels *p, double v) {
    return isnan(v) ? missing_color(p->theme) : map_color(p->map, p->theme, scale_place(p->scale, v));
}

static struct rgb pixel(const void *arg, int64_t row, int64_t col) {
    const struct pixels *p = arg;
    return value_color(p, (double)p->values[row * p->cols + col]);
}

static void paint(struct frame *f, struct rect r, int64_t rows, const struct pixels *p) {
    if (!paint_pixels(f->cr, r, rows, p->cols, pixel, p))
        heed_fail(f->panel->figure->cx, HEED_ERR_MEMORY, "figure_write: no memory for an image");
}

/* ---- heat maps ---- */

/* The values in the cells, in the largest size that fits them all; none when that is too small to read. */
static void cell_numbers(struct frame *f, const struct pixels *p) {
    const struct layer *l = f->map;
    const double w = f->plot.w / (double)l->cols, h = f->plot.h / (double)l->rows;
    double widest = 0;
    char text[LABEL_SIZE];
    const int decimals = values_decimals(l->y, l->n);
    for (int64_t i = 0; i < l->n; i++) {
        number_label(text, (double)l->y[i], decimals, false);
        widest = fmax(widest, text_width(f->cr, text, FONT_TICK, false));
    }
    const double size = fmin(FONT_TICK + 0.5, fmin(FONT_TICK * 0.88 * w / fmax(widest, 1e-9), 0.75 * h));
    if (size < 4) return;
    for (int64_t i = 0; i < l->n; i++) {
        const double v = (double)l->y[i];
        if (isnan(v)) continue; /* the cell is shown to hold none */
        number_label(text, v, decimals, false);
        text_draw(f->cr, text, f->plot.x + w * ((double)(i % l->cols) + 0.5),
                  f->plot.y + h * ((double)(i / l->cols) + 0.5),
                  (struct words){size, false, readable_on(value_color(p, v)), 0.5, 0.5, 0});
    }
}

/* Colours from bottom to top. */
static void color_bar(struct frame *f) {
    enum { STEPS = 256 };
    cairo_t *cr = f->cr;
    float ramp[STEPS];
    for (int i = 0; i < STEPS; i++) ramp[i] = (float)(STEPS - 1 - i) / (STEPS - 1);
    struct rect r = {f->plot.x + f->plot.w + BAR_GAP, f->plot.y, BAR_WIDE, f->plot.h};
    r = snapped(cr, r);
    paint(f, r, STEPS, &(struct pixels){f->theme, ramp, 1, f->map->map, {0, 1}});
    set_color(cr, f->theme->axis, 1);
    cairo_set_line_width(cr, 0.6);
    cairo_rectangle(cr, r.x, r.y, r.w, r.h);
    double widest = 0;
    for (int i = 0; i < f->scale_ticks.n; i++) {
        const double y = r.y + r.h * (1 - scale_place(f->scale, f->scale_ticks.at[i]));
        cairo_move_to(cr, r.x + r.w, y);
        cairo_line_to(cr, r.x + r.w + 2.5, y);
        widest = fmax(widest, text_width(cr, f->scale_ticks.label[i], FONT_TICK, false));
    }
    cairo_stroke(cr);
    for (int i = 0; i < f->scale_ticks.n; i++)
        text_draw(cr, f->scale_ticks.label[i], r.x + r.w + 5,
                  r.y + r.h * (1 - scale_place(f->scale, f->scale_ticks.at[i])),
                  (struct words){FONT_TICK, false, f->theme->soft, 0, 0.5, 0});
    if (f->map->text)
        text_draw(cr, text_fit(cr, f->map->text, FONT_LABEL, false, r.h + 30).text, r.x + r.w + 5 + widest + 6,
                  r.y + r.h / 2, (struct words){FONT_LABEL, false, f->theme->ink, 0.5, 0, 90});
}

void draw_heatmap(struct frame *f) {
    const struct layer *l = f->map;
    if (l->n == 0) return;
    const struct pixels p = {f->theme, l->y, l->cols, l->map, f->scale};
    paint(f, f->plot, l->rows, &p);
    if (l->numbers) cell_numbers(f, &p);
    if (!l->no_bar) color_bar(f);
}

/* ---- images ---- */

#define IMAGE_GAP 5.0

/* How large an image gets when so many stand in a row. */
static double image_scale(const struct layer *l, struct rect r, int64_t columns, double above) {
    const double rows = ceil((double)l->n / (double)columns);
    const double w = (r.w - IMAGE_GAP * (double)(columns - 1)) / (double)columns / (double)l->cols;
    const double h = ((r.h + IMAGE_GAP) / rows - IMAGE_GAP - above) / (double)l->rows;
    return fmin(w, h);
}

void draw_images(struct frame *f) {
    const struct layer *l = f->map;
    const struct rect r = f->plot;
    const double above = l->names.at ? FONT_TICK + 3 : 0;
    if (l->n == 0) return;
    int64_t columns = l->columns ? l->columns : 1;
    for (int64_t c = 2; !l->columns && c <= l->n; c++)
        if (image_scale(l, r, c, above) > image_scale(l, r, columns, above) * 1.001) columns = c;
    const double scale = image_scale(l, r, columns, above);
    if (!(scale > 0)) return;
    const double w = scale * (double)l->cols, h = scale * (double)l->rows;
    const int64_t in_row = l->n < columns ? l->n : columns, rows = (l->n + columns - 1) / columns;
    const double x0 = r.x + (r.w - (double)in_row * (w + IMAGE_GAP) + IMAGE_GAP) / 2;
    const double y0 = r.y + (r.h - (double)rows * (h + above + IMAGE_GAP) + IMAGE_GAP) / 2;
    const struct words how = {FONT_TICK, false, f->theme->soft, 0.5, 1, 0};
    cairo_set_line_width(f->cr, 0.5);
    for (int64_t i = 0; i < l->n; i++) {
        struct rect box = {x0 + (double)(i % columns) * (w + IMAGE_GAP),
                           y0 + (double)(i / columns) * (h + above + IMAGE_GAP) + above, w, h};
        box = snapped(f->cr, box);
        const float *image = l->y + i * l->rows * l->cols;
        const struct range own = l->own_scales ? map_scale(l->map, 0, 0, image, l->rows * l->cols) : f->scale;
        paint(f, box, l->rows, &(struct pixels){f->theme, image, l->cols, l->map, own});
        set_color(f->cr, f->theme->axis, 0.8);
        cairo_rectangle(f->cr, box.x, box.y, box.w, box.h);
        cairo_stroke(f->cr);
        if (l->names.at)
            text_draw(f->cr, text_fit(f->cr, l->names.at[i], FONT_TICK, false, w + IMAGE_GAP - 1).text, box.x + w / 2,
                      box.y - 2.5, how);
    }
}
