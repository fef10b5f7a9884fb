/* Heat maps with their colour bar, and grids of images. */
#include "plot/frame.h"

#include <math.h>

#define OVER_ALPHA 0.62 /* of colours over a picture */

struct pixels {
    const struct theme *theme;
    const float *values; /* (rows, cols) */
    int64_t cols;
    heed_map map;
    struct range scale;
    bool rgb; /* values (rows, cols, 3) are the colours themselves */
};

static struct rgb value_color(const struct pixels *p, double v) {
    return isnan(v) ? missing_color(p->theme) : map_color(p->map, p->theme, scale_place(p->scale, v));
}

static struct rgb pixel(const void *arg, int64_t row, int64_t col) {
    const struct pixels *p = arg;
    return value_color(p, (double)p->values[row * p->cols + col]);
}

static double part_of(float v) { return v > 0 ? fmin((double)v, 1) : 0; } /* NaN: 0 */

static struct rgb pixel_rgb(const void *arg, int64_t row, int64_t col) {
    const struct pixels *p = arg;
    const float *v = p->values + 3 * (row * p->cols + col);
    return (struct rgb){part_of(v[0]), part_of(v[1]), part_of(v[2])};
}

static void paint(cairo_t *cr, heed_ctx *cx, struct rect r, int64_t rows, const struct pixels *p) {
    if (!paint_pixels(cr, r, rows, p->cols, p->rgb ? pixel_rgb : pixel, p))
        heed_fail(cx, HEED_ERR_MEMORY, "figure_write: no memory for an image");
}

/* ---- over a picture ---- */

struct over {
    struct pixels map;
    const struct layer *l;
};

/* The value at a point in units of cells, (0, 0) being the middle of the first one: that of the cell, or between. */
static double value_at(const struct layer *l, double row, double col) {
    const double top = (double)(l->rows - 1), right = (double)(l->cols - 1);
    row = fmin(fmax(row, 0), top), col = fmin(fmax(col, 0), right);
    if (!l->smooth) return (double)l->y[(int64_t)(row + 0.5) * l->cols + (int64_t)(col + 0.5)];
    const int64_t y = (int64_t)fmin(row, fmax(top - 1, 0)), x = (int64_t)fmin(col, fmax(right - 1, 0));
    const float *const at = l->y + y * l->cols + x;
    const int64_t down = l->rows > 1 ? l->cols : 0, across = l->cols > 1;
    const double v = row - (double)y, u = col - (double)x;
    return (1 - v) * ((1 - u) * (double)at[0] + u * (double)at[across]) +
           v * ((1 - u) * (double)at[down] + u * (double)at[down + across]);
}

/* The picture loses most of its colour, and gets that of the value; it stays bright where the value is large. */
static struct rgb pixel_over(const void *arg, int64_t row, int64_t col) {
    const struct over *const o = arg;
    const struct layer *const l = o->l;
    const uint8_t *const b = l->under + 3 * (row * l->under_cols + col);
    const struct rgb picture = {b[0] / 255.0, b[1] / 255.0, b[2] / 255.0};
    const double v = value_at(l, ((double)row + 0.5) * (double)l->rows / (double)l->under_rows - 0.5,
                              ((double)col + 0.5) * (double)l->cols / (double)l->under_cols - 0.5);
    if (!isfinite(v)) return picture;
    const double grey = 0.30 * picture.r + 0.59 * picture.g + 0.11 * picture.b;
    return mix((struct rgb){grey, grey, grey}, value_color(&o->map, v), OVER_ALPHA);
}

/* ---- colour bars ---- */

static double widest_tick(const struct bar *b, cairo_t *cr, double font) {
    double widest = 0;
    for (int i = 0; i < b->ticks.n; i++) widest = fmax(widest, text_width(cr, b->ticks.label[i], font, false));
    return widest;
}

double bar_measure(struct bar *b, cairo_t *cr, double height, double font) {
    const int most = (int)(height / 28) + 1;
    ticks_linear(&b->ticks, b->scale.low, b->scale.high, most > 8 ? 8 : most, false, false);
    return BAR_GAP + BAR_WIDE + TICK_LENGTH + TICK_GAP + widest_tick(b, cr, font) +
           (b->label ? FONT_LABEL + LABEL_GAP : 0);
}

void bar_draw(const struct bar *b, cairo_t *cr, heed_ctx *cx, const struct theme *theme, struct rect plot,
              double font) {
    enum { STEPS = 256 };
    float ramp[STEPS];
    for (int i = 0; i < STEPS; i++) ramp[i] = (float)(STEPS - 1 - i) / (STEPS - 1);
    const struct rect r = snapped(cr, (struct rect){plot.x + plot.w + BAR_GAP, plot.y, BAR_WIDE, plot.h});
    paint(cr, cx, r, STEPS, &(struct pixels){theme, ramp, 1, b->map, {0, 1}, false});
    set_color(cr, theme->axis, 1);
    cairo_set_line_width(cr, 0.6);
    cairo_rectangle(cr, r.x, r.y, r.w, r.h);
    for (int i = 0; i < b->ticks.n; i++) {
        const double y = r.y + r.h * (1 - scale_place(b->scale, b->ticks.at[i]));
        cairo_move_to(cr, r.x + r.w, y);
        cairo_line_to(cr, r.x + r.w + 2.5, y);
    }
    cairo_stroke(cr);
    const double x = r.x + r.w + TICK_LENGTH + TICK_GAP;
    for (int i = 0; i < b->ticks.n; i++)
        text_draw(cr, b->ticks.label[i], x, r.y + r.h * (1 - scale_place(b->scale, b->ticks.at[i])),
                  (struct words){font, false, theme->soft, 0, 0.5, 0});
    if (b->label)
        text_draw(cr, text_fit(cr, b->label, FONT_LABEL, false, r.h + 30).text,
                  x + widest_tick(b, cr, font) + LABEL_GAP, r.y + r.h / 2,
                  (struct words){FONT_LABEL, false, theme->ink, 0.5, 0, 90});
}

/* ---- heat maps ---- */

/* What is written into cell i. */
static const char *cell_text(const struct layer *l, int64_t i, struct cells cells, char room[static LABEL_SIZE]) {
    if (l->names_3.at) return l->names_3.at[i];
    cell_label(room, (double)l->y[i], cells, false);
    return room;
}

/* The values in the cells, in the largest size that fits them all; none when that is too small to read. */
static void cell_numbers(struct frame *f, const struct pixels *p) {
    const struct layer *l = f->map;
    const double w = f->plot.w / (double)l->cols, h = f->plot.h / (double)l->rows;
    double widest = 0;
    char text[LABEL_SIZE];
    const struct cells cells = cells_of(l->y, l->n, l->weights);
    for (int64_t i = 0; i < l->n; i++)
        widest = fmax(widest, text_width(f->cr, cell_text(l, i, cells, text), FONT_TICK, false));
    const double size = fmin(FONT_TICK + 0.5, fmin(FONT_TICK * 0.88 * w / fmax(widest, 1e-9), 0.75 * h));
    if (size < 4) return;
    for (int64_t i = 0; i < l->n; i++) {
        const double v = (double)l->y[i];
        if (isnan(v)) continue; /* the cell is shown to hold none */
        text_draw(f->cr, cell_text(l, i, cells, text), f->plot.x + w * ((double)(i % l->cols) + 0.5),
                  f->plot.y + h * ((double)(i / l->cols) + 0.5),
                  (struct words){size, false, readable_on(value_color(p, v)), 0.5, 0.5, 0});
    }
}

void draw_heatmap(struct frame *f) {
    const struct layer *l = f->map;
    if (l->n == 0) return;
    const struct pixels p = {f->theme, l->y, l->cols, l->map, f->scale, false};
    heed_ctx *const cx = f->panel->figure->cx;
    if (!l->under)
        paint(f->cr, cx, f->plot, l->rows, &p);
    else if (!paint_pixels(f->cr, f->plot, l->under_rows, l->under_cols, pixel_over, &(struct over){p, l}))
        heed_fail(cx, HEED_ERR_MEMORY, "figure_write: no memory for an image");
    if (l->numbers) cell_numbers(f, &p);
    if (f->has_bar) bar_draw(&f->bar, f->cr, cx, f->theme, f->plot, f->font);
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
        const float *image = l->y + i * l->rows * l->cols * (l->rgb ? 3 : 1);
        const struct range own = l->own_scales ? map_scale(l->map, 0, 0, image, l->rows * l->cols) : f->scale;
        paint(f->cr, f->panel->figure->cx, box, l->rows,
              &(struct pixels){f->theme, image, l->cols, l->map, own, l->rgb});
        set_color(f->cr, f->theme->axis, 0.8);
        cairo_rectangle(f->cr, box.x, box.y, box.w, box.h);
        cairo_stroke(f->cr);
        if (l->names.at)
            text_draw(f->cr, text_fit(f->cr, l->names.at[i], FONT_TICK, false, w + IMAGE_GAP - 1).text, box.x + w / 2,
                      box.y - 2.5, how);
    }
}
