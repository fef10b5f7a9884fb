/* Handwriting: lines below each other on one scale, a pen of even width, a given beginning in a colour of its own. */
#include "plot/frame.h"
#include <math.h>

/* What a line takes: the box around the way of its pen, from the first point on. */
struct extent {
    double left, right, top, bottom;
};

static struct extent extent_of(const float *p, int n) {
    struct extent e = {0, 0, 0, 0};
    double x = 0, y = 0;
    for (int i = 0; i < n; i++, p += 3) {
        if (i > 0) x += (double)p[0], y += (double)p[1];
        e.left = fmin(e.left, x), e.right = fmax(e.right, x);
        e.top = fmin(e.top, y), e.bottom = fmax(e.bottom, y);
    }
    return e;
}

/* From point `first` up to `end`, which begins at (x, y) when it goes on from a pen that is down. */
static void draw_points(struct frame *f, const float *p, int first, int end, double x, double y, double scale,
                        double pen, struct rgb color) {
    cairo_t *cr = f->cr;
    bool down = first > 0 && p[3 * first - 1] == 0;
    set_color(cr, color, 1);
    cairo_set_line_width(cr, pen);
    cairo_set_line_cap(cr, CAIRO_LINE_CAP_ROUND);
    cairo_set_line_join(cr, CAIRO_LINE_JOIN_ROUND);
    if (down) cairo_move_to(cr, x, y);
    for (int i = first; i < end; i++) {
        if (i > 0) x += scale * (double)p[3 * i], y += scale * (double)p[3 * i + 1];
        if (!down) cairo_move_to(cr, x, y);
        cairo_line_to(cr, x, y); /* a point alone is a dot */
        down = p[3 * i + 2] == 0;
    }
    cairo_stroke(cr);
}

static void draw_line(struct frame *f, const float *p, int n, int given, double x, double y, double scale, double pen) {
    double gx = x, gy = y;
    for (int i = 1; i < given && i < n; i++) gx += scale * (double)p[3 * i], gy += scale * (double)p[3 * i + 1];
    if (given < n)
        draw_points(f, p, given, n, gx, gy, scale, pen,
                    given > 0 ? theme_color(f->theme, HEED_COLOR_ORANGE) : f->theme->ink);
    if (given > 0)
        draw_points(f, p, 0, given < n ? given : n, x, y, scale, pen, theme_color(f->theme, HEED_COLOR_BLUE));
}

/* The scale at which all lines fit below each other. */
static double scale_for(const struct layer *l, struct rect r) {
    double widest = 1e-9, total = 1e-9;
    const float *p = l->y;
    for (int i = 0; i < l->n; p += 3 * l->sizes[2 * i], i++) {
        const struct extent e = extent_of(p, l->sizes[2 * i]);
        widest = fmax(widest, e.right - e.left);
        total += e.bottom - e.top;
    }
    return fmin(r.w / widest, 0.86 * r.h / total);
}

void draw_writing(struct frame *f) {
    const struct layer *l = f->map;
    double left = 0, free = f->plot.h, tallest = 0;
    for (int64_t i = 0; i < l->n; i++) left = fmax(left, text_width(f->cr, l->names.at[i], FONT_LABEL, false));
    left = fmin(left, 0.3 * f->plot.w);
    if (left > 0) left += 12;
    const struct rect r = {f->plot.x + left + 3, f->plot.y + 3, fmax(1, f->plot.w - left - 6), fmax(1, f->plot.h - 6)};
    const double scale = scale_for(l, r);
    const float *p = l->y;
    for (int i = 0; i < l->n; p += 3 * l->sizes[2 * i], i++) {
        const struct extent e = extent_of(p, l->sizes[2 * i]);
        free -= scale * (e.bottom - e.top);
        tallest = fmax(tallest, scale * (e.bottom - e.top));
    }
    const double gap = free / (double)l->n, pen = fmax(0.8, fmin(2.2, 0.055 * tallest));
    double y = f->plot.y + gap / 2;
    p = l->y;
    for (int i = 0; i < l->n; p += 3 * l->sizes[2 * i], i++) {
        const struct extent e = extent_of(p, l->sizes[2 * i]);
        const double tall = scale * (e.bottom - e.top);
        text_draw(f->cr, text_fit(f->cr, l->names.at[i], FONT_LABEL, false, left).text, f->plot.x + 2, y + tall / 2,
                  (struct words){FONT_LABEL, false, f->theme->soft, 0, 0.5, 0});
        draw_line(f, p, l->sizes[2 * i], l->sizes[2 * i + 1], r.x - scale * e.left, y - scale * e.top, scale, pen);
        y += tall + gap;
    }
}
