/* Layout: from layers to axes, from axes to ticks that fit, from ticks to the room that words need. */
#include "plot/frame.h"

#include <math.h>
#include <stdio.h>

#define NAME_SHARE 0.45  /* of the plot that names beside it may take */
#define MAX_NAME   110.0 /* ... and what they may take where the figure has no size of its own */

/* ---- what the axes must hold ---- */

struct extent {
    struct range x, y;
    bool bars, hbars;
    bool numbers;  /* at the ends of bars */
    int64_t count; /* of bars */
    bool broken;   /* some x of a curve, of points or of a band is not an integer */
};

static void add_point(struct extent *e, const heed_panel *p, double x, double y) {
    /* A point that one axis cannot show does not widen the other. */
    if (!isfinite(x) || !isfinite(y) || (p->log_x && !(x > 0)) || (p->log_y && !(y > 0))) return;
    range_add(&e->x, x, p->log_x);
    range_add(&e->y, y, p->log_y);
}

static void add_layer(struct extent *e, const heed_panel *p, const struct layer *l) {
    switch (l->kind) {
    case LAYER_CURVE:
    case LAYER_SCATTER:
    case LAYER_BAND:
        for (int64_t i = 0; i < l->n; i++) {
            const double x = l->x ? (double)l->x[i] : (double)i;
            e->broken = e->broken || (isfinite(x) && x != floor(x));
            add_point(e, p, x, (double)l->y[i]);
            if (l->z) add_point(e, p, x, (double)l->z[i]);
        }
        break;
    case LAYER_BARS:
    case LAYER_HBARS: {
        const bool lying = l->kind == LAYER_HBARS;
        struct range *r = lying ? &e->x : &e->y;
        const bool log = lying ? p->log_x : p->log_y;
        if (l->n > 0) range_add(r, 0, log);
        for (int64_t i = 0; i < l->n; i++) range_add(r, (double)l->y[i], log);
        *(lying ? &e->hbars : &e->bars) = true;
        if (l->n > e->count) e->count = l->n;
        e->numbers = e->numbers || l->style.numbers;
        break;
    }
    case LAYER_VLINE:
        range_add(&e->x, l->at_x, p->log_x);
        break;
    case LAYER_HLINE:
        range_add(&e->y, l->at_y, p->log_y);
        break;
    case LAYER_NAMES:
        for (int64_t i = 0; i < l->n; i++) add_point(e, p, (double)l->x[i], (double)l->y[i]);
        break;
    case LAYER_TEXT:
        add_point(e, p, l->at_x, l->at_y);
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

/* The range of an axis of numbers. Bars stand on the axis itself: no margin at 0. */
static struct range number_range(struct range data, double margin, bool log, bool bars, double low, double high) {
    struct range r = range_axis(data, margin, log);
    if (bars && !log && !range_empty(data) && data.low < data.high) {
        if (data.low == 0) r.low = 0;
        if (data.high == 0) r.high = 0;
    }
    if (!isnan(low)) r.low = low;
    if (!isnan(high)) r.high = high;
    if (!(r.low < r.high)) { /* one end given, beyond all data */
        const double width = log ? 0 : fmax(1, fabs(r.low));
        if (isnan(low))
            r.low = log ? r.high / 10 : r.high - width;
        else
            r.high = log ? r.low * 10 : r.low + width;
    }
    return r;
}

static void count_axis(struct axis *a, int64_t count, double margin, const struct names *names) {
    a->range = (struct range){-0.5 - margin, (double)(count > 0 ? count : 1) - 0.5 + margin};
    a->counts = true;
    a->log = false;
    a->names = names && names->at ? names : NULL;
}

/* Of a heat map: cells, counted or named, or what the limits say that it spans. */
static void map_axis(struct axis *a, int64_t count, const struct names *names, double low, double high) {
    count_axis(a, count, 0, names);
    if (a->names || isnan(low) || isnan(high)) return;
    a->range = (struct range){low, high};
    a->counts = false;
}

static const struct names *bar_names(const heed_panel *p) {
    for (int i = 0; i < p->n; i++)
        if ((p->layers[i].kind == LAYER_BARS || p->layers[i].kind == LAYER_HBARS) && p->layers[i].names.at)
            return &p->layers[i].names;
    return NULL;
}

static bool check_log(const heed_panel *p) {
    const bool x = p->log_x && (p->x_low <= 0 || p->x_high <= 0), y = p->log_y && (p->y_low <= 0 || p->y_high <= 0);
    return (!x && !y) || heed_fail(p->figure->cx, HEED_ERR_RANGE, "panel: limits of %g to %g on a logarithmic axis",
                                   x ? p->x_low : p->y_low, x ? p->x_high : p->y_high);
}

bool frame_begin(struct frame *f, cairo_t *cr, const heed_panel *p, const struct theme *theme) {
    *f = (struct frame){.cr = cr, .panel = p, .theme = theme, .axes = true, .font = p->small ? FONT_SMALL : FONT_TICK};
    if (!check_log(p)) return false;
    struct extent e = {.x = range_none(), .y = range_none()};
    for (int i = 0; i < p->n; i++) {
        add_layer(&e, p, &p->layers[i]);
        if (p->layers[i].kind >= LAYER_HEATMAP) f->map = &p->layers[i];
    }
    f->x.log = p->log_x;
    f->y.log = p->log_y;
    f->empty = range_empty(e.x) && range_empty(e.y);
    /* Curves begin close to the axis; points keep clear of it. */
    f->x.range = number_range(e.x, e.hbars && e.numbers ? 0.16 : 0.03, p->log_x, e.hbars, p->x_low, p->x_high);
    f->y.range = number_range(e.y, e.bars && e.numbers ? 0.08 : 0.05, p->log_y, e.bars, p->y_low, p->y_high);
    f->x.whole = !e.broken && f->x.range.high - f->x.range.low >= 4; /* shorter axes would have a tick or two */
    if (e.bars) count_axis(&f->x, e.count, 0.1, bar_names(p));
    if (e.hbars) count_axis(&f->y, e.count, 0.1, bar_names(p));
    f->y.flipped = e.hbars;
    if (f->map && f->map->kind == LAYER_HEATMAP) {
        map_axis(&f->x, f->map->cols, &f->map->names_2, p->x_low, p->x_high);
        map_axis(&f->y, f->map->rows, &f->map->names, p->y_low, p->y_high);
        f->y.flipped = f->y.counts;
        f->empty = f->map->n == 0;
    } else if (f->map) {
        f->axes = false;
        f->empty = (f->map->kind == LAYER_IMAGES || f->map->kind == LAYER_GRAPH) && f->map->n == 0;
    }
    if (f->map && f->map->kind <= LAYER_IMAGES)
        f->scale = map_scale(f->map->map, f->map->low, f->map->high, f->map->y,
                             f->map->kind == LAYER_IMAGES ? f->map->n * f->map->rows * f->map->cols : f->map->n);
    f->has_bar = f->map && f->map->kind == LAYER_HEATMAP && !f->map->no_bar && !p->figure->bar;
    if (f->has_bar) f->bar = (struct bar){.map = f->map->map, .scale = f->scale, .label = f->map->text};
    return true;
}

void bar_group(const heed_panel *p, const struct layer *l, int *index, int *count) {
    *index = *count = 0;
    for (int i = 0; i < p->n; i++) {
        if (&p->layers[i] == l) *index = *count;
        *count += p->layers[i].kind == l->kind;
    }
}

/* ---- places ---- */

static double axis_place(const struct axis *a, double v) {
    double t;
    if (a->log)
        t = v > 0 ? log(v / a->range.low) / log(a->range.high / a->range.low) : (double)NAN;
    else
        t = (v - a->range.low) / (a->range.high - a->range.low);
    return a->flipped ? 1 - t : t;
}

/* cairo's coordinates end at some 8 million; what lies far outside keeps its side. */
static double held(double v) { return isnan(v) ? v : fmin(fmax(v, -1e5), 1e5); }

double frame_x(const struct frame *f, double v) { return held(f->plot.x + f->plot.w * axis_place(&f->x, v)); }
double frame_y(const struct frame *f, double v) { return held(f->plot.y + f->plot.h * (1 - axis_place(&f->y, v))); }

/* ---- ticks that fit ---- */

static double widest_label(const struct frame *f, const struct ticks *t) {
    double widest = 0;
    for (int i = 0; i < t->n; i++) widest = fmax(widest, text_width(f->cr, t->label[i], f->font, false));
    return widest;
}

static double widest_name(const struct frame *f, const struct axis *a, double most) {
    double widest = 0;
    for (int64_t i = 0; i < a->names->n; i += a->every)
        widest = fmax(widest, fmin(most, text_width(f->cr, a->names->at[i], f->font, false)));
    return widest;
}

static void choose_ticks(struct axis *a, int most) {
    if (a->log)
        ticks_log(&a->ticks, a->range.low, a->range.high, most, false);
    else
        ticks_linear(&a->ticks, a->range.low, a->range.high, most, a->counts || a->whole, false);
}

static double tick_gap(const struct axis *a, double width) {
    double gap = (double)INFINITY;
    for (int i = 1; i < a->ticks.n; i++)
        gap = fmin(gap, width * fabs(axis_place(a, a->ticks.at[i]) - axis_place(a, a->ticks.at[i - 1])));
    return gap;
}

/* Those that the caller has chosen: each `every`-th within the range. */
static void take_ticks(struct axis *a, const heed_panel *p, int64_t every) {
    struct ticks *t = &a->ticks;
    t->n = t->minors = 0;
    for (int64_t i = 0; i < p->tick_names.n && t->n < MAX_TICKS; i += every) {
        const double at = (double)p->tick_at[i];
        if (at < a->range.low || at > a->range.high) continue;
        t->at[t->n] = at;
        snprintf(t->label[t->n++], LABEL_SIZE, "%s", p->tick_names.at[i]);
    }
}

/* As many as stand clear of each other. */
static void ticks_across(struct frame *f, double width) {
    struct axis *a = &f->x;
    for (int64_t every = 1; f->panel->tick_at; every++) {
        take_ticks(a, f->panel, every);
        if (widest_label(f, &a->ticks) + 10 <= tick_gap(a, width)) return;
    }
    int most = (int)(width / 42) + 1;
    for (most = most > 9 ? 9 : most; most >= 2; most--) {
        choose_ticks(a, most);
        if (widest_label(f, &a->ticks) + 10 <= tick_gap(a, width)) return;
    }
}

static int64_t every_fitting(int64_t n, double spacing, double need) {
    const int64_t every = (int64_t)ceil(need / fmax(spacing, 1e-3));
    return every < 1 ? 1 : every > n ? n : every;
}

/* Names below: level if they fit, else turned, else turned and only some of them. Returns the height they take. */
static double names_below(struct frame *f, double width, double most) {
    struct axis *a = &f->x;
    const double spacing = width / (a->range.high - a->range.low);
    a->every = 1;
    a->angle = 0;
    if (widest_name(f, a, 1e9) + 5 <= spacing) return f->font;
    a->angle = spacing < 1.45 * f->font ? 90 : 45;
    a->every = every_fitting(a->names->n, spacing, 1.25 * f->font);
    const double widest = widest_name(f, a, most);
    return a->angle == 90 ? widest : (widest + f->font) * 0.7071;
}

/* ---- the room around ---- */

/* What names beside a plot of this width or height may take. */
static double names_most(const struct frame *f, double size) {
    const heed_figure *figure = f->panel->figure;
    const bool grows = figure->cell > 0 && figure->width == 0 && figure->height == 0;
    return fmax(NAME_SHARE * size, grows ? MAX_NAME : 0);
}

static double room_left(struct frame *f, double width, double height) {
    struct axis *a = &f->y;
    double words = -TICK_LENGTH - TICK_GAP;
    if (f->panel->bare_y)
        a->names = NULL, a->ticks.n = 0;
    else if (a->names) {
        a->every = every_fitting(a->names->n, height / (a->range.high - a->range.low), 1.2 * f->font);
        words = widest_name(f, a, names_most(f, width));
    } else {
        const int most = (int)(height / 26) + 1;
        choose_ticks(a, most > 8 ? 8 : most);
        words = widest_label(f, &a->ticks);
    }
    return words + TICK_LENGTH + TICK_GAP + (f->panel->y_label ? FONT_LABEL + LABEL_GAP : 0);
}

static double room_below(struct frame *f, double width, double height) {
    double words = f->font;
    if (f->panel->bare_x)
        words = -TICK_LENGTH - TICK_GAP, f->x.names = NULL, f->x.ticks.n = 0;
    else if (f->x.names)
        words = names_below(f, width, names_most(f, height));
    else
        ticks_across(f, width);
    return words + TICK_LENGTH + TICK_GAP + (f->panel->x_label ? FONT_LABEL + LABEL_GAP : 0);
}

static double room_right(struct frame *f, double width, double height) {
    double overhang = 0;
    if (!f->x.names && f->x.ticks.n > 0) {
        const int last = f->x.ticks.n - 1;
        overhang = text_width(f->cr, f->x.ticks.label[last], f->font, false) / 2 -
                   width * (1 - axis_place(&f->x, f->x.ticks.at[last]));
    }
    return fmax(overhang, f->has_bar ? bar_measure(&f->bar, f->cr, height, f->font) : 2);
}

/* The plot of a heat map with square cells within the room given. */
static struct rect square_cells(const struct frame *f, struct rect r) {
    if (!f->map || f->map->kind != LAYER_HEATMAP || f->map->stretch || f->map->n == 0) return r;
    const double shape = cell_shape(f->map), cols = shape * (double)f->map->cols;
    const double cell = fmin(r.w / cols, r.h / (double)f->map->rows);
    const double w = cell * cols, h = cell * (double)f->map->rows;
    return (struct rect){r.x + (r.w - w) / 2, r.y + (r.h - h) / 2, w, h};
}

void frame_measure(struct frame *f, double width, double height) {
    const struct rect r = square_cells(f, (struct rect){0, 0, width, height});
    f->top = !f->panel->title ? 3 : f->panel->small ? FONT_TICK + 5 : FONT_TITLE + 7;
    if (!f->axes) {
        f->left = f->right = f->bottom = 2;
        return;
    }
    f->left = room_left(f, r.w, r.h);
    f->bottom = room_below(f, r.w, r.h);
    f->plot = r;
    f->right = fmax(room_right(f, r.w, r.h), legend_beside(f));
    if (f->x.names && f->x.angle == 45) { /* the first name leans out to the left */
        const double lean =
            0.7071 * text_width(f->cr, f->x.names->at[0], f->font, false) - r.w / (double)f->x.names->n / 2;
        f->left = fmax(f->left, fmin(lean, names_most(f, r.h)));
    }
}

void frame_place(struct frame *f, struct rect plot) { f->plot = snapped(f->cr, square_cells(f, plot)); }

void frame_draw(struct frame *f) {
    if (f->axes) draw_axes_below(f);
    if (f->map && f->map->kind == LAYER_HEATMAP) draw_heatmap(f);
    if (f->map && f->map->kind == LAYER_IMAGES) draw_images(f);
    if (f->map && f->map->kind == LAYER_NETWORK) draw_network(f);
    if (f->map && f->map->kind == LAYER_GRAPH) draw_graph(f);
    if (f->map && f->map->kind == LAYER_WRITING) draw_writing(f);
    if (f->axes)
        for (int i = 0; i < f->panel->n; i++) draw_layer(f, &f->panel->layers[i]);
    draw_axes_above(f);
    if (f->axes) draw_legend(f);
}
