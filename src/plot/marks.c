/* Layers of points, lines, bars and words. */
#include "plot/frame.h"

#include <math.h>

void set_stroke(struct frame *f, const heed_style *s) {
    const double w = s->width;
    const double dashes[][4] = {{0}, {4.2 * w, 2.6 * w}, {0, 2.2 * w}, {4.2 * w, 2.4 * w, 0, 2.4 * w}};
    static const int counts[] = {0, 2, 2, 4};
    set_color(f->cr, theme_color(f->theme, s->color), s->alpha);
    cairo_set_line_width(f->cr, w);
    /* Round caps make a dot of a dash of length 0, and of a point that stands alone. */
    cairo_set_line_cap(f->cr, s->dash == HEED_DASH_LONG ? CAIRO_LINE_CAP_BUTT : CAIRO_LINE_CAP_ROUND);
    cairo_set_dash(f->cr, dashes[s->dash], counts[s->dash], 0);
}

void draw_marker(struct frame *f, const heed_style *s, double x, double y) {
    cairo_t *cr = f->cr;
    const double r = s->size / 2;
    cairo_new_path(cr);
    switch (s->marker) {
    case HEED_MARKER_DEFAULT:
    case HEED_MARKER_DISC:
        cairo_arc(cr, x, y, r, 0, 2 * 3.14159265358979323846);
        break;
    case HEED_MARKER_SQUARE:
        cairo_rectangle(cr, x - 0.89 * r, y - 0.89 * r, 1.78 * r, 1.78 * r);
        break;
    case HEED_MARKER_TRIANGLE:
        cairo_move_to(cr, x, y - 1.15 * r);
        cairo_line_to(cr, x + 1.1 * r, y + 0.8 * r);
        cairo_line_to(cr, x - 1.1 * r, y + 0.8 * r);
        break;
    case HEED_MARKER_DIAMOND:
        cairo_move_to(cr, x, y - 1.25 * r);
        cairo_line_to(cr, x + 1.25 * r, y);
        cairo_line_to(cr, x, y + 1.25 * r);
        cairo_line_to(cr, x - 1.25 * r, y);
        break;
    case HEED_MARKER_CROSS:
        cairo_set_line_width(cr, fmax(0.8, 0.3 * s->size));
        cairo_set_line_cap(cr, CAIRO_LINE_CAP_BUTT);
        cairo_move_to(cr, x - 0.85 * r, y - 0.85 * r);
        cairo_line_to(cr, x + 0.85 * r, y + 0.85 * r);
        cairo_move_to(cr, x - 0.85 * r, y + 0.85 * r);
        cairo_line_to(cr, x + 0.85 * r, y - 0.85 * r);
        cairo_stroke(cr);
        return;
    }
    cairo_close_path(cr);
    cairo_fill(cr);
}

static double x_at(const struct frame *f, const struct layer *l, int64_t i) {
    return frame_x(f, l->x ? (double)l->x[i] : (double)i);
}

/* Clips to the plot, a little beyond for lines that run along its edge. */
static void clip_plot(struct frame *f) {
    const struct rect r = f->plot;
    cairo_save(f->cr);
    cairo_rectangle(f->cr, r.x - 1, r.y - 1, r.w + 2, r.h + 2);
    cairo_clip(f->cr);
}

static bool inside(const struct frame *f, double x, double y) {
    const struct rect r = f->plot;
    return x >= r.x - 0.5 && x <= r.x + r.w + 0.5 && y >= r.y - 0.5 && y <= r.y + r.h + 0.5;
}

static void draw_points(struct frame *f, const struct layer *l) {
    set_color(f->cr, theme_color(f->theme, l->style.color), l->style.alpha);
    cairo_set_dash(f->cr, NULL, 0, 0);
    for (int64_t i = 0; i < l->n; i++) {
        const double x = x_at(f, l, i), y = frame_y(f, (double)l->y[i]);
        if (inside(f, x, y)) draw_marker(f, &l->style, x, y);
    }
}

static void draw_curve(struct frame *f, const struct layer *l) {
    cairo_t *cr = f->cr;
    clip_plot(f);
    set_stroke(f, &l->style);
    bool open = false;
    double last_x = 0, last_y = 0;
    for (int64_t i = 0; i < l->n; i++) {
        const double x = x_at(f, l, i), y = frame_y(f, (double)l->y[i]);
        const bool good = !isnan(x) && !isnan(y);
        if (good && open) {
            if (l->style.steps) cairo_line_to(cr, x, last_y);
            /* What cannot be seen is left out: long logs would fill a file. */
            if (i < l->n - 1 && fabs(x - last_x) < 0.04 && fabs(y - last_y) < 0.04) continue;
            cairo_line_to(cr, x, y);
        } else if (good) {
            cairo_move_to(cr, x, y);
            cairo_line_to(cr, x, y);
        }
        open = good;
        last_x = x;
        last_y = y;
    }
    cairo_stroke(cr);
    cairo_restore(cr);
    if (l->style.marker != HEED_MARKER_DEFAULT) draw_points(f, l);
}

static bool band_whole(const struct frame *f, const struct layer *l, int64_t i) {
    return !isnan(x_at(f, l, i)) && !isnan(frame_y(f, (double)l->y[i])) && !isnan(frame_y(f, (double)l->z[i]));
}

static void draw_band(struct frame *f, const struct layer *l) {
    cairo_t *cr = f->cr;
    clip_plot(f);
    set_color(cr, theme_color(f->theme, l->style.color), l->style.alpha);
    for (int64_t i = 0; i < l->n;) {
        int64_t end = i;
        while (end < l->n && band_whole(f, l, end)) end++;
        for (int64_t k = i; k < end; k++) cairo_line_to(cr, x_at(f, l, k), frame_y(f, (double)l->y[k]));
        for (int64_t k = end; k-- > i;) cairo_line_to(cr, x_at(f, l, k), frame_y(f, (double)l->z[k]));
        if (end > i) cairo_close_path(cr);
        cairo_fill(cr);
        i = end + 1;
    }
    cairo_restore(cr);
}

/* ---- bars ---- */

static void bar_number(struct frame *f, const struct layer *l, int64_t i, double x, double y, bool lying) {
    char text[LABEL_SIZE];
    number_label(text, (double)l->y[i], values_decimals(l->y, l->n), false);
    const bool negative = l->y[i] < 0;
    struct words how = {FONT_TICK - 0.5, false, f->theme->soft, 0.5, negative ? 0 : 1, 0};
    if (lying) {
        how.across = negative ? 1 : 0;
        how.down = 0.5;
        /* A bar that ends near the edge carries its number inside. */
        const double width = text_width(f->cr, text, how.size, false);
        x += negative ? -3 : 3;
        if (!negative && x + width > f->plot.x + f->plot.w + f->right) {
            x -= 6;
            how.across = 1;
            how.color = readable_on(theme_color(f->theme, l->style.color));
        }
    } else
        y += negative ? 2.5 : -2.5;
    text_draw(f->cr, text, x, y, how);
}

static void draw_bars(struct frame *f, const struct layer *l) {
    int index, count;
    bar_group(f->panel, l, &index, &count);
    const bool lying = l->kind == LAYER_HBARS;
    const struct axis *value = lying ? &f->x : &f->y;
    const double width = 0.78 / count, first = -0.39 + width * index, foot = value->log ? value->range.low : 0;
    const double thin = count > 1 ? 0.06 * width : 0;
    for (int64_t i = 0; i < l->n; i++) {
        const double v = (double)l->y[i], a = (double)i + first + thin, b = (double)i + first + width - thin;
        const double x0 = lying ? frame_x(f, foot) : frame_x(f, a), x1 = lying ? frame_x(f, v) : frame_x(f, b);
        const double y0 = lying ? frame_y(f, a) : frame_y(f, foot), y1 = lying ? frame_y(f, b) : frame_y(f, v);
        if (isnan(x0 + x1 + y0 + y1)) continue;
        clip_plot(f);
        cairo_rectangle(f->cr, fmin(x0, x1), fmin(y0, y1), fabs(x1 - x0), fabs(y1 - y0));
        set_color(f->cr, theme_color(f->theme, l->style.color), l->style.alpha);
        cairo_fill(f->cr);
        cairo_restore(f->cr);
        if (l->style.numbers) bar_number(f, l, i, lying ? x1 : (x0 + x1) / 2, lying ? (y0 + y1) / 2 : y1, lying);
    }
    const double zero = lying ? frame_x(f, foot) : frame_y(f, foot);
    if (value->range.low < 0 && value->range.high > 0) { /* the foot of the bars, where it is not the axis itself */
        set_color(f->cr, f->theme->axis, 1);
        cairo_set_line_width(f->cr, 0.7);
        cairo_set_dash(f->cr, NULL, 0, 0);
        cairo_move_to(f->cr, lying ? zero : f->plot.x, lying ? f->plot.y : zero);
        cairo_line_to(f->cr, lying ? zero : f->plot.x + f->plot.w, lying ? f->plot.y + f->plot.h : zero);
        cairo_stroke(f->cr);
    }
}

/* ---- lines and words ---- */

static void draw_reference(struct frame *f, const struct layer *l) {
    const struct rect r = f->plot;
    const bool upright = l->kind == LAYER_VLINE;
    const double at = upright ? frame_x(f, l->at_x) : frame_y(f, l->at_y);
    if (isnan(at) || !(upright ? inside(f, at, r.y) : inside(f, r.x, at))) return;
    set_stroke(f, &l->style);
    cairo_move_to(f->cr, upright ? at : r.x, upright ? r.y : at);
    cairo_line_to(f->cr, upright ? at : r.x + r.w, upright ? r.y + r.h : at);
    cairo_stroke(f->cr);
}

static void draw_words(struct frame *f, const struct layer *l) {
    const struct rect r = f->plot;
    const double x = frame_x(f, l->at_x), y = frame_y(f, l->at_y), size = l->style.size;
    if (isnan(x) || isnan(y) || !inside(f, x, y)) return;
    const struct fitted words = text_fit(f->cr, l->text, size, false, r.w);
    const double width = text_width(f->cr, words.text, size, false);
    /* Beginning at the point where there is room for it, else ending there. */
    const double across = x + width + 4 <= r.x + r.w ? 0 : x - width - 4 >= r.x ? 1 : 0.5;
    const double shift = across == 0 ? 3 : across == 1 ? -3 : 0;
    const bool above = y - 4 - size >= r.y; /* clear of a curve through the point */
    text_draw(f->cr, words.text, x + shift, above ? y - 4 : y + 4,
              (struct words){size, false, theme_color(f->theme, l->style.color), across, above ? 1 : 0, 0});
}

void draw_layer(struct frame *f, const struct layer *l) {
    switch (l->kind) {
    case LAYER_CURVE:
        draw_curve(f, l);
        break;
    case LAYER_SCATTER:
        draw_points(f, l);
        break;
    case LAYER_BAND:
        draw_band(f, l);
        break;
    case LAYER_BARS:
    case LAYER_HBARS:
        draw_bars(f, l);
        break;
    case LAYER_VLINE:
    case LAYER_HLINE:
        draw_reference(f, l);
        break;
    case LAYER_TEXT:
        draw_words(f, l);
        break;
    case LAYER_NAMES:
        draw_names(f, l);
        break;
    case LAYER_BOXES:
        draw_boxes(f, l);
        break;
    case LAYER_HEATMAP:
    case LAYER_IMAGES:
    case LAYER_NETWORK:
    case LAYER_GRAPH:
    case LAYER_WRITING:
        break;
    }
    cairo_set_dash(f->cr, NULL, 0, 0);
}
