/* Grid, axis lines, ticks, and the words around a plot. */
#include "plot/frame.h"

#include <math.h>

static void line(cairo_t *cr, double x0, double y0, double x1, double y1) {
    cairo_move_to(cr, x0, y0);
    cairo_line_to(cr, x1, y1);
}

static double crisp(const struct frame *f, double v) { return snapped(f->cr, (struct rect){v, v, 0, 0}).x; }

/* ---- below the layers ---- */

void draw_axes_below(struct frame *f) {
    cairo_t *cr = f->cr;
    const struct rect r = f->plot;
    if (f->map) return;
    set_color(cr, f->theme->grid, 1);
    cairo_set_line_width(cr, 0.6);
    for (int i = 0; !f->x.counts && i < f->x.ticks.n; i++) {
        const double x = crisp(f, frame_x(f, f->x.ticks.at[i]));
        line(cr, x, r.y, x, r.y + r.h);
    }
    for (int i = 0; !f->y.counts && i < f->y.ticks.n; i++) {
        const double y = crisp(f, frame_y(f, f->y.ticks.at[i]));
        line(cr, r.x, y, r.x + r.w, y);
    }
    cairo_stroke(cr);
}

/* ---- above them ---- */

static void ticks_below(struct frame *f) {
    cairo_t *cr = f->cr;
    const double foot = f->plot.y + f->plot.h;
    for (int i = 0; i < f->x.ticks.minors; i++) {
        const double x = frame_x(f, f->x.ticks.minor[i]);
        line(cr, x, foot, x, foot + TICK_LENGTH * 0.55);
    }
    for (int i = 0; !f->x.names && i < f->x.ticks.n; i++) {
        const double x = crisp(f, frame_x(f, f->x.ticks.at[i]));
        line(cr, x, foot, x, foot + TICK_LENGTH);
    }
    cairo_stroke(cr);
    const double top = foot + TICK_LENGTH + TICK_GAP;
    const struct words level = {f->font, false, f->theme->soft, 0.5, 0, 0};
    const struct words turned = {f->font, false, f->theme->soft, 1, f->x.angle == 90 ? 0.5 : 0.35, f->x.angle};
    const double most = f->bottom - TICK_LENGTH - TICK_GAP - (f->panel->x_label ? FONT_LABEL + LABEL_GAP : 0);
    const double length = f->x.angle == 45 ? most / 0.7071 - f->font + 0.5 : most + 0.5;
    for (int64_t i = 0; f->x.names && i < f->x.names->n; i += f->x.every) {
        const double x = frame_x(f, (double)i);
        const char *name = f->x.names->at[i];
        if (f->x.angle == 0)
            text_draw(cr, name, x, top, level);
        else
            text_draw(cr, text_fit(cr, name, f->font, false, length).text, x + (f->x.angle == 45 ? 2 : 0), top, turned);
    }
    for (int i = 0; !f->x.names && i < f->x.ticks.n; i++)
        text_draw(cr, f->x.ticks.label[i], frame_x(f, f->x.ticks.at[i]), top, level);
}

static void ticks_left(struct frame *f) {
    cairo_t *cr = f->cr;
    const double side = f->plot.x;
    for (int i = 0; i < f->y.ticks.minors; i++) {
        const double y = frame_y(f, f->y.ticks.minor[i]);
        line(cr, side, y, side - TICK_LENGTH * 0.55, y);
    }
    for (int i = 0; !f->y.names && i < f->y.ticks.n; i++) {
        const double y = crisp(f, frame_y(f, f->y.ticks.at[i]));
        line(cr, side, y, side - TICK_LENGTH, y);
    }
    cairo_stroke(cr);
    const double end = side - TICK_LENGTH - TICK_GAP;
    const struct words how = {f->font, false, f->theme->soft, 1, 0.5, 0};
    const double most = f->left - TICK_LENGTH - TICK_GAP - (f->panel->y_label ? FONT_LABEL + LABEL_GAP : 0) + 0.5;
    for (int64_t i = 0; f->y.names && i < f->y.names->n; i += f->y.every)
        text_draw(cr, text_fit(cr, f->y.names->at[i], f->font, false, most).text, end, frame_y(f, (double)i), how);
    for (int i = 0; !f->y.names && i < f->y.ticks.n; i++)
        text_draw(cr, f->y.ticks.label[i], end, frame_y(f, f->y.ticks.at[i]), how);
}

/* The widest of the words at the left: the label stands beyond them. */
static double words_left(struct frame *f) {
    double widest = 0;
    for (int i = 0; !f->y.names && i < f->y.ticks.n; i++)
        widest = fmax(widest, text_width(f->cr, f->y.ticks.label[i], f->font, false));
    for (int64_t i = 0; f->y.names && i < f->y.names->n; i += f->y.every)
        widest = fmax(widest, text_width(f->cr, f->y.names->at[i], f->font, false));
    const double most = f->left - TICK_LENGTH - TICK_GAP - FONT_LABEL - LABEL_GAP;
    return fmin(widest, most) + TICK_LENGTH + TICK_GAP + LABEL_GAP;
}

static void axis_labels(struct frame *f) {
    const struct rect r = f->plot;
    struct words how = {FONT_LABEL, false, f->theme->ink, 0.5, 1, 0};
    if (f->panel->x_label)
        text_draw(f->cr, text_fit(f->cr, f->panel->x_label, FONT_LABEL, false, r.w + 40).text, r.x + r.w / 2,
                  r.y + r.h + f->bottom, how);
    how.angle = 90;
    if (f->panel->y_label)
        text_draw(f->cr, text_fit(f->cr, f->panel->y_label, FONT_LABEL, false, r.h + 30).text, r.x - words_left(f),
                  r.y + r.h / 2, how);
}

static void axis_lines(struct frame *f) {
    cairo_t *cr = f->cr;
    const struct rect r = f->plot;
    set_color(cr, f->theme->axis, 1);
    cairo_set_line_width(cr, 0.7);
    cairo_set_line_cap(cr, CAIRO_LINE_CAP_BUTT);
    if (f->map)
        cairo_rectangle(cr, r.x, r.y, r.w, r.h);
    else {
        line(cr, r.x, r.y, r.x, r.y + r.h);
        line(cr, r.x - 0.35, r.y + r.h, r.x + r.w, r.y + r.h);
    }
    cairo_stroke(cr);
}

/* Over the middle of the plot; one that is too long for that over the middle of the panel. */
static void draw_title(struct frame *f) {
    const struct rect r = f->plot;
    const double all = r.w + f->left + f->right;
    const bool small = f->panel->small;
    const double size = small ? FONT_TICK : FONT_TITLE;
    const struct fitted title = text_fit(f->cr, f->panel->title, size, !small, all);
    const bool fits = text_width(f->cr, title.text, size, !small) <= r.w + 2 * fmin(f->left, f->right);
    text_draw(f->cr, title.text, fits ? r.x + r.w / 2 : r.x - f->left + all / 2, r.y - (small ? 4 : 6.5),
              (struct words){size, !small, f->theme->ink, 0.5, 1, 0});
}

void draw_axes_above(struct frame *f) {
    const struct rect r = f->plot;
    if (f->axes) {
        axis_lines(f);
        ticks_below(f);
        set_color(f->cr, f->theme->axis, 1);
        cairo_set_line_width(f->cr, 0.7);
        ticks_left(f);
        axis_labels(f);
    }
    if (f->panel->title) draw_title(f);
    if (f->empty)
        text_draw(f->cr, "no data", r.x + r.w / 2, r.y + r.h / 2,
                  (struct words){FONT_LABEL, false, f->theme->soft, 0.5, 0.5, 0});
}
