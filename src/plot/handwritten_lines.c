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

/* A curve through the points of a stroke (Catmull-Rom), from point `first` up to `end` at most, which begin at (x, y);
 * the pen is down on the way to `first` where it was not lifted before it. */
static void draw_points(struct frame *f, const float *p, int n, int first, int end, double x, double y, double scale,
                        double pen, struct rgb color) {
    cairo_t *cr = f->cr;
    bool down = first > 0 && p[3 * first - 1] == 0;
    set_color(cr, color, 1);
    cairo_set_line_width(cr, pen);
    cairo_set_line_cap(cr, CAIRO_LINE_CAP_ROUND);
    cairo_set_line_join(cr, CAIRO_LINE_JOIN_ROUND);
    if (down) cairo_move_to(cr, x, y);
    for (int i = first; i < end; i++) {
        const double dx = i > 0 ? scale * (double)p[3 * i] : 0, dy = i > 0 ? scale * (double)p[3 * i + 1] : 0;
        if (down) {
            /* slopes at both ends: towards the neighbour's neighbour, where the stroke has one */
            const bool before = i > 1 && p[3 * (i - 1) - 1] == 0, behind = i + 1 < n && p[3 * i + 2] == 0;
            const double bx = before ? scale * (double)p[3 * i - 3] : dx,
                         by = before ? scale * (double)p[3 * i - 2] : dy;
            const double ax = behind ? scale * (double)p[3 * i + 3] : dx,
                         ay = behind ? scale * (double)p[3 * i + 4] : dy;
            cairo_curve_to(cr, x + (dx + bx) / 6, y + (dy + by) / 6, x + dx - (dx + ax) / 6, y + dy - (dy + ay) / 6,
                           x + dx, y + dy);
        } else {
            cairo_move_to(cr, x + dx, y + dy);
            cairo_line_to(cr, x + dx, y + dy); /* a point alone is a dot */
        }
        x += dx, y += dy;
        down = p[3 * i + 2] == 0;
    }
    cairo_stroke(cr);
}

static void draw_line(struct frame *f, const float *p, int n, int given, double x, double y, double scale, double pen) {
    double gx = x, gy = y;
    for (int i = 1; i < given && i < n; i++) gx += scale * (double)p[3 * i], gy += scale * (double)p[3 * i + 1];
    if (given < n)
        draw_points(f, p, n, given, n, gx, gy, scale, pen,
                    given > 0 ? theme_color(f->theme, HEED_COLOR_ORANGE) : f->theme->ink);
    if (given > 0)
        draw_points(f, p, n, 0, given < n ? given : n, x, y, scale, pen, theme_color(f->theme, HEED_COLOR_BLUE));
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
