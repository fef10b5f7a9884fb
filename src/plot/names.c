/* Names of points, placed one after the other where they hide neither points nor names that are there already: beside
 * the point, or a little further away with a line to it. A name for which there is no room is left out. */
#include "plot/frame.h"

#include <math.h>

#define STEP 7.0 /* from ring to ring of places further away */
#define WAYS 16

struct placing {
    const struct naming *of;
    struct rect *there; /* (placed) */
    int64_t placed;
};

static bool overlap(struct rect a, struct rect b) {
    return a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;
}

static bool is_free(const struct placing *p, struct rect box) {
    const struct naming *const of = p->of;
    const struct rect r = of->f->plot;
    if (box.x < r.x + 1 || box.y < r.y + 1 || box.x + box.w > r.x + r.w - 1 || box.y + box.h > r.y + r.h - 1)
        return false;
    for (int64_t i = 0; i < p->placed; i++)
        if (overlap(box, p->there[i])) return false;
    for (int64_t i = 0; i < of->n; i++)
        if (overlap(box, (struct rect){of->x[i] - of->radius, of->y[i] - of->radius, 2 * of->radius, 2 * of->radius}))
            return false;
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
    const struct naming *const of = p->of;
    const char *const name = of->names->at[i];
    const double size = of->size, w = text_width(of->f->cr, name, size, false) + 2, h = size + 1;
    const struct rgb color = theme_color(of->f->theme, of->colors ? (heed_color)of->colors[i] : of->color);
    if (!*name || isnan(of->x[i]) || isnan(of->y[i])) return;
    for (int ring = 0; ring < of->rings; ring++)
        for (int way = 0; way < WAYS; way++) {
            const struct rect box = box_at(of->x[i], of->y[i], w, h, way, of->radius + 2 + ring * STEP);
            if (!is_free(p, box)) continue;
            if (ring > 0) draw_leader(of->f, of->x[i], of->y[i], box, color);
            p->there[p->placed++] = box;
            if (of->backed) {
                set_color(of->f->cr, of->f->theme->background, 0.72);
                rounded(of->f->cr, box, 2);
                cairo_fill(of->f->cr);
            }
            text_draw(of->f->cr, name, box.x + w / 2, box.y + h / 2, (struct words){size, false, color, 0.5, 0.5, 0});
            return;
        }
}

void place_names(const struct naming *of) {
    heed_ctx *const cx = of->f->panel->figure->cx;
    struct placing p = {.of = of, .there = heed_mem_new(cx, (size_t)of->n * sizeof *p.there + 1)};
    for (int64_t i = 0; p.there && i < of->n; i++) place(&p, i);
    heed_mem_free(cx, p.there);
}

void draw_names(struct frame *f, const struct layer *l) {
    heed_ctx *cx = f->panel->figure->cx;
    double *const x = heed_mem_new(cx, (size_t)l->n * 2 * sizeof *x + 1), *const y = x + l->n;
    for (int64_t i = 0; x && i < l->n; i++) {
        x[i] = frame_x(f, (double)l->x[i]);
        y[i] = frame_y(f, (double)l->y[i]);
    }
    if (x)
        place_names(&(struct naming){.f = f,
                                     .names = &l->names,
                                     .colors = l->sizes,
                                     .color = l->style.color,
                                     .x = x,
                                     .y = y,
                                     .n = l->n,
                                     .radius = 2,
                                     .size = l->style.size,
                                     .rings = 4});
    heed_mem_free(cx, x);
}
