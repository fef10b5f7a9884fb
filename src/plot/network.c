/* Networks: layers of nodes from left to right, edges by weight. Of a wide layer the first and last nodes are drawn,
 * with three dots between. */
#include "plot/frame.h"

#include <math.h>
#include <stdlib.h>

struct net {
    struct frame *f;
    const struct layer *l;
    struct rect r;    /* of the nodes' middles */
    double radius;    /* of a node */
    double strongest; /* weight */
    double brightest; /* value of a node */
};

/* Places of a layer: its nodes, one more (the dots) when some are left out. */
static int places(const struct net *n, int layer) {
    const int size = n->l->sizes[layer];
    return size <= n->l->most ? size : n->l->most + 1;
}

/* The node at a place, -1 for the dots. */
static int node_at(const struct net *n, int layer, int place) {
    const int size = n->l->sizes[layer], most = n->l->most, before = (most + 1) / 2;
    if (size <= most || place < before) return place;
    return place == before ? -1 : size - most - 1 + place;
}

static double node_x(const struct net *n, int layer) {
    return n->l->sizes_n == 1 ? n->r.x + n->r.w / 2 : n->r.x + n->r.w * layer / (n->l->sizes_n - 1);
}

static double node_y(const struct net *n, int layer, int place) {
    int most = 1;
    for (int i = 0; i < n->l->sizes_n; i++) most = places(n, i) > most ? places(n, i) : most;
    const int here = places(n, layer);
    /* Layers of few nodes spread half as far as they might: even, but not all of one pitch. */
    const double pitch = n->r.h / (most > 1 ? most - 1 : 1);
    const double wide = here > 1 ? n->r.h / (here - 1) : pitch;
    const double step = most > 1 ? fmin(wide, pitch * 1.35) : pitch;
    return n->r.y + n->r.h / 2 + (place - (here - 1) / 2.0) * step;
}

struct edge {
    double x0, y0, x1, y1, weight;
};

static int weaker_first(const void *a, const void *b) {
    const double x = fabs(((const struct edge *)a)->weight), y = fabs(((const struct edge *)b)->weight);
    return (x > y) - (x < y);
}

static void draw_edge(struct net *n, struct edge e) {
    cairo_t *cr = n->f->cr;
    const double strength = n->l->y ? fmin(1, fabs(e.weight) / n->strongest) : 0.3;
    if (!n->l->y)
        set_color(cr, n->f->theme->axis, 0.55);
    else
        set_color(cr, map_color(HEED_MAP_DIVERGING, n->f->theme, e.weight < 0 ? 0.06 : 0.94), 0.10 + 0.85 * strength);
    cairo_set_line_width(cr, n->l->y ? 0.35 + 2.4 * strength : 0.6);
    cairo_move_to(cr, e.x0, e.y0);
    cairo_line_to(cr, e.x1, e.y1);
    cairo_stroke(cr);
}

/* All edges between a layer and the next; weights (out, in). */
static void draw_edges(struct net *n, int layer, const float *weights) {
    heed_ctx *cx = n->f->panel->figure->cx;
    const int from = places(n, layer), to = places(n, layer + 1), in = n->l->sizes[layer];
    struct edge *edges = heed_mem_new(cx, (size_t)from * (size_t)to * sizeof *edges);
    size_t count = 0;
    if (!edges) return;
    for (int i = 0; i < from; i++)
        for (int k = 0; k < to; k++) {
            const int a = node_at(n, layer, i), b = node_at(n, layer + 1, k);
            if (a < 0 || b < 0) continue;
            const double w = weights ? (double)weights[(int64_t)b * in + a] : 0;
            if (isfinite(w))
                edges[count++] = (struct edge){node_x(n, layer), node_y(n, layer, i), node_x(n, layer + 1),
                                               node_y(n, layer + 1, k), w};
        }
    if (weights) qsort(edges, count, sizeof *edges, weaker_first); /* strong edges lie on top */
    for (size_t i = 0; i < count; i++) draw_edge(n, edges[i]);
    heed_mem_free(cx, edges);
}

static void draw_dots(struct net *n, double x, double y) {
    set_color(n->f->cr, n->f->theme->soft, 1);
    for (int i = -1; i <= 1; i++) {
        cairo_arc(n->f->cr, x, y + i * n->radius * 0.7, fmax(0.8, 0.14 * n->radius), 0, 6.2831853071795862);
        cairo_fill(n->f->cr);
    }
}

static void draw_node(struct net *n, double x, double y, double value) {
    cairo_t *cr = n->f->cr;
    const struct theme *t = n->f->theme;
    cairo_arc(cr, x, y, n->radius, 0, 6.2831853071795862);
    if (n->l->z && isfinite(value))
        set_color(cr, map_color(HEED_MAP_DIVERGING, t, 0.5 + 0.5 * value / n->brightest), 1);
    else
        set_color(cr, mix(t->background, t->axis, 0.12), 1);
    cairo_fill_preserve(cr);
    set_color(cr, t->soft, 1);
    cairo_set_line_width(cr, 0.9);
    cairo_stroke(cr);
}

static double largest_of(const float *v, int64_t n) {
    double largest = 0;
    for (int64_t i = 0; v && i < n; i++)
        if (isfinite(v[i])) largest = fmax(largest, fabs((double)v[i]));
    return largest > 0 ? largest : 1;
}

static double widest_of(struct frame *f, const struct names *names) {
    double widest = 0;
    for (int64_t i = 0; i < names->n; i++) widest = fmax(widest, text_width(f->cr, names->at[i], FONT_TICK, false));
    return fmin(widest, 0.25 * f->plot.w);
}

/* Names of the nodes of the first or last layer, outside of it. */
static void node_names(struct net *n, int layer, const struct names *names, double side, double most) {
    const struct words how = {FONT_TICK, false, n->f->theme->soft, side < 0 ? 1 : 0, 0.5, 0};
    for (int i = 0; names->at && i < places(n, layer); i++) {
        const int node = node_at(n, layer, i);
        if (node < 0) continue;
        text_draw(n->f->cr, text_fit(n->f->cr, names->at[node], FONT_TICK, false, most + 0.5).text,
                  node_x(n, layer) + side * (n->radius + 4), node_y(n, layer, i), how);
    }
}

void draw_network(struct frame *f) {
    const struct layer *l = f->map;
    const int last = l->sizes_n - 1;
    int64_t edges = 0, nodes = 0;
    int tallest = 1;
    struct net n = {.f = f, .l = l};
    for (int i = 0; i <= last; i++) {
        nodes += l->sizes[i];
        if (i < last) edges += (int64_t)l->sizes[i] * l->sizes[i + 1];
        tallest = places(&n, i) > tallest ? places(&n, i) : tallest;
    }
    n.strongest = largest_of(l->y, edges);
    n.brightest = largest_of(l->z, nodes);
    const double below = l->names.at ? FONT_LABEL + 8 : 0;
    const double left = widest_of(f, &l->names_2), right = widest_of(f, &l->names_3);
    n.radius = fmax(1.5, fmin(9, 0.36 * (f->plot.h - below) / tallest));
    const double side = fmax(n.radius + 4, fmax(left, right) > 0 ? n.radius + 8 + fmax(left, right) : 0);
    n.r = (struct rect){f->plot.x + side, f->plot.y + n.radius + 2, fmax(1, f->plot.w - 2 * side),
                        fmax(1, f->plot.h - below - 2 * n.radius - 4)};
    const float *weights = l->y, *values = l->z;
    for (int i = 0; i < last; i++) {
        draw_edges(&n, i, weights);
        if (weights) weights += (int64_t)l->sizes[i] * l->sizes[i + 1];
    }
    for (int i = 0; i <= last; i++) {
        for (int k = 0; k < places(&n, i); k++) {
            const int node = node_at(&n, i, k);
            if (node < 0)
                draw_dots(&n, node_x(&n, i), node_y(&n, i, k));
            else
                draw_node(&n, node_x(&n, i), node_y(&n, i, k), values ? (double)values[node] : 0);
        }
        if (values) values += l->sizes[i];
        if (l->names.at)
            text_draw(f->cr, l->names.at[i], node_x(&n, i), f->plot.y + f->plot.h - 1,
                      (struct words){FONT_LABEL, false, f->theme->ink, 0.5, 1, 0});
    }
    node_names(&n, 0, &l->names_2, -1, left);
    node_names(&n, last, &l->names_3, 1, right);
}
