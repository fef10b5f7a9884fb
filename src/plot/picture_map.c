/* Attention over a picture: heat maps of its patches that the picture shows through. */
#include "base/checked.h"
#include "heed/image.h"
#include "plot/figure.h"
#include "plot/ticks.h"

#include <math.h>
#include <stdio.h>

#define MAX_MAPS 4096
#define NARROW   0.5 /* of the largest weight: where no weight is below, they are nearly equal */

static bool check(heed_ctx *cx, const char *op, const float *weights, const heed_picture_look *o) {
    if (!weights || !o || !o->picture || !o->picture->data)
        return heed_fail(cx, HEED_ERR_USAGE, "%s: weights and a picture are needed", op);
    int64_t n;
    if (o->rows < 1 || o->columns < 1 || !i64_mul(o->rows, o->columns, &n))
        return heed_fail(cx, HEED_ERR_SHAPE, "%s: (%lld,%lld) patches", op, (long long)o->rows, (long long)o->columns);
    return true;
}

/* From 0 to the largest weight; where all are nearly equal, from the smallest, for else the map were of one colour. */
static struct range range_of(const float *weights, int64_t n) {
    double least = HUGE_VAL, most = 0;
    for (int64_t i = 0; i < n; i++)
        if (isfinite(weights[i])) least = fmin(least, (double)weights[i]), most = fmax(most, (double)weights[i]);
    if (!(most > 0)) return (struct range){0, 1}; /* a map of zeros is all dark */
    return (struct range){least > NARROW * most && least < most ? least : 0, most};
}

/* A square around the patch whose attention it is: white, within a dark one that shows it on white. */
static bool outline(heed_panel *p, const heed_picture_look *o) {
    const float y = (float)o->row, x = (float)o->column;
    if (o->row < 0 || o->column < 0) return true;
    const float xs[] = {x - 0.5f, x + 0.5f, x + 0.5f, x - 0.5f, x - 0.5f},
                ys[] = {y - 0.5f, y - 0.5f, y + 0.5f, y + 0.5f, y - 0.5f};
    return heed_panel_curve(p, xs, ys, 5, &(heed_style){.color = HEED_COLOR_INK, .width = 2.4}) &&
           heed_panel_curve(p, xs, ys, 5, &(heed_style){.color = HEED_COLOR_ORANGE, .width = 1.5});
}

/* weights NULL: the picture alone. */
static bool draw(heed_panel *p, const float *weights, bool bar, const heed_picture_look *o) {
    heed_ctx *const cx = p->figure->cx;
    const int64_t n = o->rows * o->columns;
    float *const none = weights ? NULL : heed_mem_new(cx, (size_t)n * sizeof *none);
    if (!weights && !none) return false;
    for (int64_t i = 0; none && i < n; i++) none[i] = NAN;
    const struct range range = weights ? range_of(weights, n) : (struct range){0, 1};
    const heed_heatmap how = {.low = range.low,
                              .high = range.high,
                              .scale_label = bar ? "weight" : NULL,
                              .no_bar = !bar,
                              .under = o->picture,
                              .smooth = o->smooth};
    p->bare_x = p->bare_y = true;
    const bool ok = heed_panel_heatmap(p, weights ? weights : none, o->rows, o->columns, &how) && outline(p, o);
    heed_mem_free(cx, none);
    return ok;
}

/* A pixel of the picture is one of the file. */
static void suit_picture(heed_figure *f, const heed_picture_look *o) {
    f->cell = (double)o->picture->height / (double)o->rows / f->pixels;
}

bool heed_plot_picture_attention(heed_figure *f, const float *weights, const char *title,
                                 const heed_picture_look *look) {
    if (!f || heed_failed(f->cx) || !check(f->cx, "picture_attention", weights, look)) return false;
    if (!heed_figure_grid(f, 1, 2)) return false;
    heed_panel *const left = heed_figure_panel(f, 0, 0), *const right = heed_figure_panel(f, 0, 1);
    suit_picture(f, look);
    return left && right && draw(left, NULL, false, look) && draw(right, weights, true, look) &&
           (!title || heed_panel_title(right, title)) &&
           heed_panel_title(left, look->given ? look->given : "what the model is given");
}

bool heed_plot_picture_sheet(heed_figure *f, const float *weights, const heed_picture_sheet *sheet,
                             const heed_picture_look *look) {
    static const char op[] = "picture_sheet";
    enum { IN_ROW = 16 };
    if (!f || heed_failed(f->cx) || !check(f->cx, op, weights, look)) return false;
    int64_t maps;
    if (!sheet || sheet->layers < 1 || sheet->heads < 1 || !i64_mul(sheet->layers, sheet->heads, &maps) ||
        maps > MAX_MAPS)
        return heed_fail(f->cx, HEED_ERR_RANGE, "%s: the number of maps must be 1 to %d", op, MAX_MAPS);
    int64_t columns = sheet->heads;
    if (sheet->layers == 1 && columns > 6) columns = (int64_t)ceil(sqrt(2 * (double)columns));
    if (columns > IN_ROW) columns = IN_ROW;
    const int64_t to_layer = (sheet->heads + columns - 1) / columns;
    if (!heed_figure_grid(f, (int)(sheet->layers * to_layer), (int)columns)) return false;
    suit_picture(f, look);
    for (int64_t i = 0; i < maps; i++) {
        const int64_t layer = i / sheet->heads, head = i % sheet->heads;
        heed_panel *const p = heed_figure_panel(f, (int)(layer * to_layer + head / columns), (int)(head % columns));
        const float *const map = weights + i * look->rows * look->columns;
        const struct range range = range_of(map, look->rows * look->columns);
        char title[96], label[32], name[32] = "mean", scale[48];
        if (!p || !draw(p, map, false, look)) return false;
        p->small = true;
        if (!sheet->mean || head + 1 < sheet->heads)
            snprintf(name, sizeof name, "head %lld", (long long)(sheet->first_head + head));
        if (range.low > 0)
            snprintf(scale, sizeof scale, "%.2g to %.2g", range.low, range.high);
        else
            snprintf(scale, sizeof scale, "max %.2g", range.high);
        snprintf(title, sizeof title, "%s, %s", name, scale);
        snprintf(label, sizeof label, "layer %lld", (long long)(sheet->first_layer + layer));
        if (!heed_panel_title(p, title) || (head == 0 && !heed_panel_labels(p, NULL, label))) return false;
    }
    return true;
}

/* ---- what found objects looked at ---- */

#define MAX_OBJECTS 64

/* Those that are seen on a dark map. */
static heed_color object_color(int i) {
    static const heed_color bright[] = {HEED_COLOR_ORANGE, HEED_COLOR_SKY, HEED_COLOR_PINK, HEED_COLOR_GOLD,
                                        HEED_COLOR_GREEN};
    return bright[i % 5];
}

/* The part of a box that lies in the picture, in patches: left, top, right, bottom. */
static void corners(const heed_picture_look *o, const heed_picture_object *object, double to[4]) {
    const double size[] = {(double)o->columns, (double)o->rows}, *const b = object->box;
    for (int k = 0; k < 2; k++) {
        to[k] = fmin(fmax(b[k], 0), 1) * size[k] - 0.5;
        to[2 + k] = fmin(fmax(b[k] + b[2 + k], 0), 1) * size[k] - 0.5;
    }
}

/* The outline of object i in its colour, within a dark one that shows it on any ground. */
static bool add_box(heed_panel *p, const heed_picture_look *o, const heed_picture_object *object, int i) {
    double at[4];
    corners(o, object, at);
    const float left = (float)at[0], top = (float)at[1], right = (float)at[2], bottom = (float)at[3],
                xs[] = {left, right, right, left, left}, ys[] = {top, top, bottom, bottom, top};
    return heed_panel_curve(p, xs, ys, 5, &(heed_style){.color = HEED_COLOR_INK, .width = 3.4}) &&
           heed_panel_curve(p, xs, ys, 5, &(heed_style){.color = object_color(i), .width = 2});
}

/* Where the numbers of objects are, in patches. */
struct place {
    double x, y;
};
struct dots {
    double size; /* points */
    int n;
    struct place at[MAX_OBJECTS];
};

enum { EDGES = 4, ALONG = 5, NUMBER_PLACES = EDGES * ALONG };

/* Place `way` on the outline of a box, at first the middle of its upper edge. */
static struct place on_outline(const double box[4], int way) {
    static const double along[ALONG] = {0.5, 0.25, 0.75, 0, 1};
    const double by = along[way % ALONG], x = box[0] + by * (box[2] - box[0]), y = box[1] + by * (box[3] - box[1]);
    const struct place at[EDGES] = {{x, box[1]}, {x, box[3]}, {box[0], y}, {box[2], y}};
    return at[way / ALONG];
}

static bool hides_another(const struct dots *d, struct place at, double point) {
    for (int i = 0; i < d->n; i++)
        if (hypot(d->at[i].x - at.x, d->at[i].y - at.y) < (d->size + 2) * point) return true;
    return false;
}

/* The first place that is free, within the picture; where none is, the first. */
static void place_number(struct dots *d, const heed_picture_look *o, const heed_picture_object *object, double point) {
    const double top = d->size * 0.6 * point - 0.5, bottom = (double)o->rows - 1 - top,
                 left = (3 + 0.4 * d->size) * point - 0.5,
                 right = (double)o->columns - 1 - left; /* words begin within */
    double box[4];
    corners(o, object, box);
    for (int way = 0; way <= NUMBER_PLACES; way++) {
        struct place *const at = &d->at[d->n];
        *at = on_outline(box, way % NUMBER_PLACES);
        at->x = fmax(left, fmin(at->x, right));
        at->y = fmax(top, fmin(at->y, bottom));
        if (!hides_another(d, *at, point)) break;
    }
    d->n++;
}

/* Words begin 3 points beside their place and end 4 above it. */
static bool draw_number(heed_panel *p, const struct dots *d, int i) {
    const double point = 1 / p->figure->cell, size = 0.62 * d->size, x = d->at[i].x, y = d->at[i].y;
    char number[16];
    const float there[] = {(float)x, (float)y};
    const int digits = snprintf(number, sizeof number, "%d", i + 1);
    const heed_style dark = {.color = HEED_COLOR_INK, .size = d->size + 1.8, .alpha = 1},
                     dot = {.color = object_color(i), .size = d->size, .alpha = 1},
                     words = {.color = HEED_COLOR_INK, .size = size};
    return heed_panel_scatter(p, there, there + 1, 1, &dark) && heed_panel_scatter(p, there, there + 1, 1, &dot) &&
           heed_panel_text(p, x - (3 + 0.32 * size * digits) * point, y + (4 + 0.4 * size) * point, number, &words);
}

/* The number of each object on a dot at its box; the surest choose their places first and lie on top. */
static bool add_numbers(heed_panel *p, const heed_picture_look *o, const heed_picture_object *objects, int n) {
    const double cell = p->figure->cell;
    struct dots d = {.size = fmin(13, fmax(7, 0.09 * cell * (double)o->rows))};
    bool ok = true;
    for (int i = 0; i < n; i++) place_number(&d, o, &objects[i], 1 / cell);
    for (int i = n - 1; ok && i >= 0; i--) ok = draw_number(p, &d, i);
    return ok;
}

static bool draw_object(heed_panel *p, const heed_picture_object *object, int i, const heed_picture_look *look) {
    char title[160];
    snprintf(title, sizeof title, "%d%s%.140s", i + 1, object->title ? ": " : "", object->title ? object->title : "");
    p->small = true;
    return draw(p, object->weights, false, look) && add_box(p, look, object, i) && heed_panel_title(p, title);
}

/* About as wide as high, with the fewest places that stay empty. */
static int sheet_columns(int panels) {
    const int wide = (int)ceil(sqrt(1.4 * panels));
    int best = wide;
    if (panels <= 4) return panels;
    for (int c = wide - 1; c <= wide + 1; c++)
        if ((c - panels % c) % c < (best - panels % best) % best) best = c;
    return best;
}

bool heed_plot_picture_objects(heed_figure *f, const heed_picture_object *objects, int n,
                               const heed_picture_look *look) {
    static const char op[] = "picture_objects";
    if (!f || heed_failed(f->cx)) return false;
    if (!objects || n < 1 || n > MAX_OBJECTS)
        return heed_fail(f->cx, HEED_ERR_RANGE, "%s: the number of objects must be 1 to %d", op, MAX_OBJECTS);
    for (int i = 0; i < n; i++)
        if (!check(f->cx, op, objects[i].weights, look)) return false;
    const int columns = sheet_columns(n + 1);
    if (!heed_figure_grid(f, n / columns + 1, columns)) return false;
    suit_picture(f, look);
    heed_panel *const first = heed_figure_panel(f, 0, 0);
    bool ok =
        first && draw(first, NULL, false, look) && heed_panel_title(first, look->given ? look->given : "what is found");
    if (ok) first->small = true;
    for (int i = n - 1; ok && i >= 0; i--) ok = add_box(first, look, &objects[i], i); /* the surest on top */
    ok = ok && add_numbers(first, look, objects, n);
    for (int i = 0; ok && i < n; i++) {
        heed_panel *const p = heed_figure_panel(f, (i + 1) / columns, (i + 1) % columns);
        ok = p && draw_object(p, &objects[i], i, look);
    }
    return ok;
}
