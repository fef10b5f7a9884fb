/* Objects over a picture: boxes in the colours of their classes, and labels that do not hide each other. The surest
 * objects choose their places first; a label stands at a corner of its box, or close to it with a line to it. */
#include "heed/image.h"
#include "heed/objects.h"
#include "plot/frame.h"

#include <math.h>
#include <stdio.h>

#define MAX_PICTURES 64
#define MAX_BOXES    4096  /* of a picture */
#define LARGE        720.0 /* points of the longer side of a picture alone, */
#define SMALL        300.0 /* and of one of many: at least these, half as many at most where it has fewer pixels */
#define LABEL_PAD    2.5   /* around the text of a label */
#define LINE         1.6   /* of a box */
enum { ACROSS = 4, AROUND = 10, RINGS = 8 };

/* ---- drawing ---- */

struct tag {
    struct rect at;
    int64_t of; /* its object */
    bool away;  /* from its box: there is a line between them */
};

struct tags {
    struct frame *f;
    const struct layer *l;
    struct rect *box;  /* (n) of the objects */
    struct tag *there; /* (placed) labels */
    int64_t placed;
};

static double overlap(struct rect a, struct rect b) {
    const double w = fmin(a.x + a.w, b.x + b.w) - fmax(a.x, b.x), h = fmin(a.y + a.h, b.y + b.h) - fmax(a.y, b.y);
    return w > 0 && h > 0 ? w * h : 0;
}

/* Within the plot, as near as possible. */
static struct rect moved_within(struct rect r, struct rect plot) {
    r.x = fmax(plot.x, fmin(r.x, plot.x + plot.w - r.w));
    r.y = fmax(plot.y, fmin(r.y, plot.y + plot.h - r.h));
    return r;
}

/* Place `way` of a label of this size at a box: at its corners, outside and inside, then further and further above and
 * below it. */
static struct rect place_at(struct rect b, double w, double h, int way) {
    const double right = b.x + b.w, bottom = b.y + b.h;
    const struct rect at[AROUND] = {
        {b.x, b.y - h, w, h}, {right - w, b.y - h, w, h}, {b.x, bottom, w, h},     {right - w, bottom, w, h},
        {b.x, b.y, w, h},     {right - w, b.y, w, h},     {b.x, bottom - h, w, h}, {right - w, bottom - h, w, h},
        {right, b.y, w, h},   {b.x - w, b.y, w, h},
    };
    if (way < AROUND) return at[way];
    const double far = (1 + (double)((way - AROUND) / 2)) * h;
    return (way - AROUND) % 2 == 0 ? (struct rect){b.x, b.y - h - far, w, h} : (struct rect){b.x, bottom + far, w, h};
}

/* How bad a place is: what of other objects it hides. Negative: a label is there already. */
static double badness(const struct tags *t, int64_t i, struct rect r) {
    double sum = 0;
    for (int64_t k = 0; k < t->placed; k++)
        if (overlap(r, t->there[k].at) > 0) return -1;
    for (int64_t k = 0; k < t->l->n; k++)
        sum += overlap(r, t->box[k]) * (k == i ? 0.25 : 1); /* its own, too, but that is said by it */
    return sum / (r.w * r.h);
}

static bool best_place(const struct tags *t, int64_t i, double w, double h, struct tag *to) {
    double least = HUGE_VAL;
    for (int way = 0; way < AROUND + 2 * RINGS; way++) {
        if (way == AROUND && least < HUGE_VAL) break;
        const struct rect r = moved_within(place_at(t->box[i], w, h, way), t->f->plot);
        const double bad = badness(t, i, r);
        if (bad < 0 || bad + 0.02 * way >= least) continue;
        least = bad + 0.02 * way;
        *to = (struct tag){r, i, way >= AROUND};
    }
    return least < HUGE_VAL;
}

static void place_tag(struct tags *t, int64_t i) {
    const double size = t->f->font, h = size + 2 * LABEL_PAD,
                 w = text_width(t->f->cr, t->l->names.at[i], size, true) + 2 * LABEL_PAD;
    if (h <= t->f->plot.h && best_place(t, i, fmin(w, t->f->plot.w), h, &t->there[t->placed])) t->placed++;
}

/* From a label to its box. */
static void draw_leader(const struct tags *t, const struct tag *tag) {
    cairo_t *const cr = t->f->cr;
    const struct rect r = tag->at, b = t->box[tag->of];
    const double x = r.x + fmin(r.w, b.w) / 2;
    set_color(cr, class_color(t->f->theme, t->l->sizes[tag->of]), 1);
    cairo_set_line_width(cr, 0.8);
    cairo_move_to(cr, x, r.y < b.y ? r.y + r.h : r.y);
    cairo_line_to(cr, x, r.y < b.y ? b.y : b.y + b.h);
    cairo_stroke(cr);
}

static void draw_tag(const struct tags *t, const struct tag *tag) {
    cairo_t *const cr = t->f->cr;
    const struct rgb color = class_color(t->f->theme, t->l->sizes[tag->of]);
    const double size = t->f->font;
    const struct rect r = tag->at;
    set_color(cr, color, 1);
    rounded(cr, r, 2);
    cairo_fill(cr);
    text_draw(cr, text_fit(cr, t->l->names.at[tag->of], size, true, r.w - 2 * LABEL_PAD).text, r.x + LABEL_PAD,
              r.y + r.h / 2, (struct words){size, true, readable_on(color), 0, 0.5, 0});
}

/* A line in the class's colour within a thin one that shows it on any picture. */
static void draw_box(const struct tags *t, int64_t i) {
    cairo_t *const cr = t->f->cr;
    const struct rgb color = class_color(t->f->theme, t->l->sizes[i]), edge = readable_on(color);
    const struct rect r = t->box[i];
    for (int pass = 0; pass < 2; pass++) {
        cairo_rectangle(cr, r.x, r.y, r.w, r.h);
        set_color(cr, pass == 0 ? edge : color, pass == 0 ? 0.5 : 1);
        cairo_set_line_width(cr, pass == 0 ? LINE + 1 : LINE);
        cairo_set_line_join(cr, CAIRO_LINE_JOIN_ROUND);
        cairo_stroke(cr);
    }
}

/* As much of box i as lies in the picture, in points. */
static struct rect box_of(const struct frame *f, const float *corner) {
    const struct rect p = f->plot;
    const double x0 = fmin(1, fmax(0, (double)corner[0])), y0 = fmin(1, fmax(0, (double)corner[1])),
                 x1 = fmin(1, fmax(0, (double)corner[2])), y1 = fmin(1, fmax(0, (double)corner[3]));
    return (struct rect){p.x + x0 * p.w, p.y + y0 * p.h, (x1 - x0) * p.w, (y1 - y0) * p.h};
}

void draw_boxes(struct frame *f, const struct layer *l) {
    heed_ctx *const cx = f->panel->figure->cx;
    struct tags t = {.f = f, .l = l};
    t.box = heed_mem_new(cx, (size_t)(l->n + 1) * sizeof *t.box);
    t.there = heed_mem_new(cx, (size_t)(l->n + 1) * sizeof *t.there);
    if (t.box && t.there) {
        for (int64_t i = 0; i < l->n; i++) t.box[i] = box_of(f, l->x + 4 * i);
        for (int64_t i = l->n; i-- > 0;) draw_box(&t, i);
        for (int64_t i = 0; i < l->n; i++) place_tag(&t, i);
        for (int64_t k = 0; k < t.placed; k++) /* below all labels */
            if (t.there[k].away) draw_leader(&t, &t.there[k]);
        for (int64_t k = 0; k < t.placed; k++) draw_tag(&t, &t.there[k]);
    }
    heed_mem_free(cx, t.box);
    heed_mem_free(cx, t.there);
}

/* ---- making ---- */

/* The picture alone: a map of one cell without a number, which lets it through. */
static bool add_picture(heed_panel *p, const heed_image *picture) {
    static const float none = NAN;
    p->bare_x = p->bare_y = true;
    return heed_panel_heatmap(p, &none, 1, 1, &(heed_heatmap){.low = 0, .high = 1, .no_bar = true, .under = picture});
}

/* Corners as parts of the picture, classes, and what is written at them: "cat 0.97". */
static bool add_boxes(heed_panel *p, const heed_detections_look *o) {
    heed_ctx *const cx = p->figure->cx;
    const double w = (double)o->picture->width, h = (double)o->picture->height;
    struct layer l = {.kind = LAYER_BOXES, .n = o->n};
    const char **const at = heed_mem_new(cx, (size_t)(o->n + 1) * sizeof *at);
    char(*const text)[96] = heed_mem_new(cx, (size_t)(o->n + 1) * sizeof *text);
    l.style.color = HEED_COLOR_INK;
    l.x = heed_mem_new(cx, (size_t)(4 * o->n + 1) * sizeof *l.x);
    l.sizes = heed_mem_new(cx, (size_t)(o->n + 1) * sizeof *l.sizes);
    for (int64_t i = 0; at && text && l.x && l.sizes && i < o->n; i++) {
        const heed_detection *const d = &o->found[i];
        l.x[4 * i] = (float)(d->box[0] / w);
        l.x[4 * i + 1] = (float)(d->box[1] / h);
        l.x[4 * i + 2] = (float)((d->box[0] + d->box[2]) / w);
        l.x[4 * i + 3] = (float)((d->box[1] + d->box[3]) / h);
        l.sizes[i] = d->label > 0 ? d->label : 0;
        if (o->names)
            snprintf(text[i], sizeof text[i], "%.80s %.2f", o->names[l.sizes[i]], d->score);
        else
            snprintf(text[i], sizeof text[i], "%d %.2f", d->label, d->score);
        at[i] = text[i];
    }
    if (!heed_failed(cx)) copy_names(cx, "detections", at, o->n, &l.names);
    heed_mem_free(cx, at);
    heed_mem_free(cx, text);
    return panel_add(p, &l);
}

static bool look_ok(heed_ctx *cx, const heed_detections_look *o) {
    if (!o->picture || !o->picture->data || o->n < 0 || o->n > MAX_BOXES || (o->n > 0 && !o->found))
        return heed_fail(cx, HEED_ERR_USAGE, "detections: a picture and at most %d objects are needed", MAX_BOXES);
    return true;
}

/* Whole multiples of small pictures, which stay sharp; large ones get smaller. */
static double height_of(const heed_figure *f, const heed_detections_look *o, double side) {
    const double w = (double)o->picture->width, h = (double)o->picture->height, longer = fmax(w, h) / f->pixels;
    const double by = longer >= side ? side / longer : fmax(1, floor(side / longer));
    return h / f->pixels * by;
}

bool heed_plot_detections(heed_figure *f, const heed_detections_look *looks, int n) {
    if (!f || heed_failed(f->cx)) return false;
    if (!looks || n < 1 || n > MAX_PICTURES)
        return heed_fail(f->cx, HEED_ERR_RANGE, "detections: 1 to %d pictures can be drawn", MAX_PICTURES);
    const int columns = n < ACROSS ? n : ACROSS;
    for (int i = 0; i < n; i++)
        if (!look_ok(f->cx, &looks[i])) return false;
    if (!heed_figure_grid(f, (n + columns - 1) / columns, columns)) return false;
    f->cell = height_of(f, &looks[0], n == 1 ? LARGE / 2 : SMALL / 1.5);
    for (int i = 0; i < n; i++) {
        heed_panel *const p = heed_figure_panel(f, i / columns, i % columns);
        if (!p || !add_picture(p, looks[i].picture) || !add_boxes(p, &looks[i])) return false;
        p->small = n > 1;
        if (looks[i].title && !heed_panel_title(p, looks[i].title)) return false;
    }
    return true;
}
