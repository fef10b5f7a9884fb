/* Names of points, placed one after the other where they hide neither points nor names that are there already: beside
 * the point, or a little further away with a line to it. A name for which there is no room is left out. */
#include "plot/frame.h"

#include <math.h>

#define NEAR 4.0 /* points from a point to its name */
#define STEP 7.0 /* from ring to ring of places further away */
enum { RINGS = 4, WAYS = 16 };

struct placing {
    struct frame *f;
    const struct layer *l;
    double *x, *y;      /* (n) where the points are */
    struct rect *there; /* (placed) */
    int64_t placed;
};

static bool overlap(struct rect a, struct rect b) {
    return a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;
}

static bool is_free(const struct placing *p, struct rect box) {
    const struct rect r = p->f->plot;
    if (box.x < r.x + 1 || box.y < r.y + 1 || box.x + box.w > r.x + r.w - 1 || box.y + box.h > r.y + r.h - 1)
        return false;
    for (int64_t i = 0; i < p->placed; i++)
        if (overlap(box, p->there[i])) return false;
    for (int64_t i = 0; i < p->l->n; i++)
        if (overlap(box, (struct rect){p->x[i] - 2, p->y[i] - 2, 4, 4})) return false;
    return true;
}

/* A name of this size, its nearest edge `far` from the point in direction `way`: first to the right, then left, above,
 * below, and between them. */
static struct rect box_at(double x, double y, double w, double h, int way, double far) {
    static const int order[WAYS] = {0, 8, 4, 12, 2, 14, 6, 10, 1, 15, 7, 9, 3, 13, 5, 11};
    const double angle = order[way] * (3.14159265358979 / 8), across = cos(angle), up = sin(angle);
    return (struct rect){x + across * (far + w / 2) - w / 2, y - up * (far + h / 2) - h / 2, w, h};
}

/* From the point to the nearest place of the name's edge. */
static void draw_leader(struct frame *f, double x, double y, struct rect box, struct rgb color) {
    const double to_x = fmax(box.x, fmin(x, box.x + box.w)), to_y = fmax(box.y, fmin(y, box.y + box.h));
    set_color(f->cr, color, 0.45);
    cairo_set_line_width(f->cr, 0.5);
    cairo_move_to(f->cr, x, y);
    cairo_line_to(f->cr, to_x, to_y);
    cairo_stroke(f->cr);
}

static void place(struct placing *p, int64_t i) {
    const struct layer *l = p->l;
    const char *name = l->names.at[i];
    const double size = l->style.size, w = text_width(p->f->cr, name, size, false) + 2, h = size + 1;
    const struct rgb color = theme_color(p->f->theme, l->sizes ? (heed_color)l->sizes[i] : l->style.color);
    if (!*name || isnan(p->x[i]) || isnan(p->y[i])) return;
    for (int ring = 0; ring < RINGS; ring++)
        for (int way = 0; way < WAYS; way++) {
            const struct rect box = box_at(p->x[i], p->y[i], w, h, way, NEAR + ring * STEP);
            if (!is_free(p, box)) continue;
            if (ring > 0) draw_leader(p->f, p->x[i], p->y[i], box, color);
            p->there[p->placed++] = box;
            text_draw(p->f->cr, name, box.x + w / 2, box.y + h / 2, (struct words){size, false, color, 0.5, 0.5, 0});
            return;
        }
}

void draw_names(struct frame *f, const struct layer *l) {
    heed_ctx *cx = f->panel->figure->cx;
    struct placing p = {.f = f, .l = l};
    p.there = heed_mem_new(cx, (size_t)l->n * sizeof *p.there + 1);
    p.x = heed_mem_new(cx, (size_t)l->n * 2 * sizeof *p.x + 1);
    if (p.there && p.x) {
        p.y = p.x + l->n;
        for (int64_t i = 0; i < l->n; i++) {
            p.x[i] = frame_x(f, (double)l->x[i]);
            p.y[i] = frame_y(f, (double)l->y[i]);
        }
        for (int64_t i = 0; i < l->n; i++) place(&p, i);
    }
    heed_mem_free(cx, p.there);
    heed_mem_free(cx, p.x);
}
