/* Graphs: nodes in the colours of their classes, and edges between them, the strong ones on top. */
#include "plot/graph_draw.h"

#include <math.h>
#include <stdlib.h>

#define LARGEST  10.5 /* points of a node's radius */
#define SMALLEST 1.3
#define BOW      0.13 /* of an edge that has another beside it the other way, to its length */
#define LEGEND   (FONT_TICK * 1.7)
#define SAMPLE   11.0 /* of a disc in the legend and the room behind it */
#define ENTRY    14.0 /* between entries */
#define NAMED    256  /* so many nodes get names */
#define CIRCLE   6.2831853071795862

struct drawing {
    struct frame *f;
    cairo_t *cr;
    const struct layer *l;
    struct graph_numbers of;
    struct rect r;   /* of the nodes' middles */
    double radius;   /* of a node */
    double *x, *y;   /* (n) of the picture */
    int64_t *order;  /* (edges) the weakest first */
    uint64_t *pairs; /* (edges) sorted: from and to, of graphs with arrows */
    double strongest;
};

/* ---- places ---- */

/* The smallest scale that fits both ways; what is left over is at both sides. */
static void place_nodes(struct drawing *g) {
    const struct layer *const l = g->l;
    double low[2] = {HUGE_VAL, HUGE_VAL}, high[2] = {-HUGE_VAL, -HUGE_VAL};
    for (int64_t i = 0; i < l->n; i++) {
        const double at[2] = {(double)l->x[i], (double)l->y[i]};
        for (int k = 0; k < 2; k++) low[k] = fmin(low[k], at[k]), high[k] = fmax(high[k], at[k]);
    }
    const double wide = high[0] - low[0], tall = high[1] - low[1];
    const double scale = fmin(wide > 0 ? g->r.w / wide : HUGE_VAL, tall > 0 ? g->r.h / tall : HUGE_VAL);
    for (int64_t i = 0; i < l->n; i++) {
        const double across = (double)l->x[i] - low[0] - wide / 2, up = (double)l->y[i] - low[1] - tall / 2;
        g->x[i] = g->r.x + g->r.w / 2 + (wide > 0 ? across * scale : 0);
        g->y[i] = g->r.y + g->r.h / 2 - (tall > 0 ? up * scale : 0);
    }
}

/* Half of the least distance between two nodes, where there are few enough to ask. */
static double least_distance(const struct drawing *g) {
    double least = HUGE_VAL;
    for (int64_t i = 0; g->l->n <= 512 && i < g->l->n; i++)
        for (int64_t j = 0; j < i; j++) least = fmin(least, hypot(g->x[i] - g->x[j], g->y[i] - g->y[j]));
    return least / 2;
}

static void place(struct drawing *g, struct rect room) {
    const double by_area = 0.26 * sqrt(room.w * room.h / (double)g->l->n);
    g->radius = fmax(SMALLEST, fmin(LARGEST, by_area));
    const double edge = fmin(2.2 * g->radius + 3, fmin(room.w, room.h) / 3); /* room for rings and loops */
    g->r = (struct rect){room.x + edge, room.y + edge, room.w - 2 * edge, room.h - 2 * edge};
    place_nodes(g);
    const double least = 0.92 * least_distance(g);
    g->radius = fmax(SMALLEST, fmax(0.6 * g->radius, fmin(g->radius, least)));
}

/* ---- edges ---- */

static double weight_of(const struct drawing *g, int64_t e) { return g->l->z ? (double)g->l->z[e] : 1; }

static int by_pair(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}
static uint64_t pair_of(int from, int to) { return (uint64_t)(uint32_t)from << 32 | (uint32_t)to; }

struct edge_at {
    float weight;
    int64_t edge;
};
static int weaker_first(const void *a, const void *b) {
    const struct edge_at *const x = a, *const y = b;
    if (x->weight != y->weight) return x->weight < y->weight ? -1 : 1;
    return (x->edge > y->edge) - (x->edge < y->edge);
}

static bool sort_edges(struct drawing *g) {
    const int64_t n = g->l->rows;
    heed_ctx *const cx = g->f->panel->figure->cx;
    struct edge_at *const at = heed_mem_new(cx, (size_t)n * sizeof *at + 1);
    for (int64_t e = 0; at && e < n; e++) {
        at[e] = (struct edge_at){(float)weight_of(g, e), e};
        g->pairs[e] = pair_of(g->of.from[e], g->of.to[e]);
        g->strongest = fmax(g->strongest, weight_of(g, e));
    }
    if (!at) return false;
    qsort(at, (size_t)n, sizeof *at, weaker_first);
    qsort(g->pairs, (size_t)n, sizeof *g->pairs, by_pair);
    for (int64_t e = 0; e < n; e++) g->order[e] = at[e].edge;
    heed_mem_free(cx, at);
    if (g->l->high > 0) g->strongest = g->l->high;
    return true;
}

/* A small loop, away from the node's neighbours. */
static void draw_loop(const struct drawing *g, int64_t i, double dx, double dy) {
    const double size = hypot(dx, dy), ux = size > 0 ? dx / size : 0, uy = size > 0 ? dy / size : -1;
    const double x = g->x[i], y = g->y[i], far = 2.9 * g->radius + 2, open = 1.7 * g->radius + 1;
    cairo_move_to(g->cr, x, y);
    cairo_curve_to(g->cr, x + far * ux - open * uy, y + far * uy + open * ux, x + far * ux + open * uy,
                   y + far * uy - open * ux, x, y);
    cairo_stroke(g->cr);
}

static void draw_arrow(const struct drawing *g, double x, double y, double ux, double uy, double width) {
    const double size = fmin(2.4 + 1.9 * width, 1.1 * g->radius + 1.5);
    cairo_move_to(g->cr, x, y);
    cairo_line_to(g->cr, x - size * ux - 0.45 * size * uy, y - size * uy + 0.45 * size * ux);
    cairo_line_to(g->cr, x - size * ux + 0.45 * size * uy, y - size * uy - 0.45 * size * ux);
    cairo_close_path(g->cr);
    cairo_fill(g->cr);
}

/* A line, or a bow where the other way has one too; with arrows it ends at the edge of the node. */
static void draw_line(const struct drawing *g, int from, int to, double width) {
    const double x0 = g->x[from], y0 = g->y[from], x1 = g->x[to], y1 = g->y[to], dx = x1 - x0, dy = y1 - y0;
    const bool arrow = g->l->directed && g->radius > 2;
    const uint64_t back = pair_of(to, from);
    const bool both = g->l->directed && bsearch(&back, g->pairs, (size_t)g->l->rows, sizeof back, by_pair);
    const double bow = both ? BOW : 0, cx = x0 + dx / 2 - bow * dy, cy = y0 + dy / 2 + bow * dx;
    const double far = hypot(x1 - cx, y1 - cy), ux = far > 0 ? (x1 - cx) / far : 0, uy = far > 0 ? (y1 - cy) / far : 0;
    const double off = arrow ? g->radius + 1 : 0, tip_x = x1 - off * ux, tip_y = y1 - off * uy;
    const double short_by = arrow ? fmin(2.0 + width, far / 2) : 0; /* the line ends within its arrow */
    const double end_x = tip_x - short_by * ux, end_y = tip_y - short_by * uy;
    cairo_move_to(g->cr, x0, y0);
    cairo_curve_to(g->cr, x0 + 2 * (cx - x0) / 3, y0 + 2 * (cy - y0) / 3, end_x + 2 * (cx - end_x) / 3,
                   end_y + 2 * (cy - end_y) / 3, end_x, end_y);
    cairo_stroke(g->cr);
    if (arrow) draw_arrow(g, tip_x, tip_y, ux, uy, width);
}

/* Where the middle of a node's neighbours lies, seen from it: (n, 2). */
static void lean_of(const struct drawing *g, double *lean) {
    for (int64_t i = 0; i < 2 * g->l->n; i++) lean[i] = 0;
    for (int64_t e = 0; e < g->l->rows; e++) {
        const int a = g->of.from[e], b = g->of.to[e];
        const double dx = g->x[b] - g->x[a], dy = g->y[b] - g->y[a], far = hypot(dx, dy);
        if (far == 0) continue;
        lean[2 * a] += dx / far, lean[2 * a + 1] += dy / far;
        lean[2 * b] -= dx / far, lean[2 * b + 1] -= dy / far;
    }
}

static void draw_edges(const struct drawing *g, const double *lean) {
    const bool weighted = g->l->z != NULL;
    const double fine = fmax(0.45, fmin(1, g->radius / 5)); /* thinner lines between smaller nodes */
    cairo_set_line_cap(g->cr, CAIRO_LINE_CAP_BUTT);
    for (int64_t k = 0; k < g->l->rows; k++) {
        const int64_t e = g->order[k];
        const int from = g->of.from[e], to = g->of.to[e];
        const double w = weight_of(g, e), part = g->strongest > 0 ? fmax(0, fmin(1, w / g->strongest)) : 0;
        const double width = weighted ? fine * (0.5 + 3.0 * part) : 1.1 * fine;
        if (weighted)
            set_color(g->cr, g->f->theme->ink, 0.08 + 0.72 * part);
        else
            set_color(g->cr, g->f->theme->axis, g->radius > 3 ? 0.75 : 0.45);
        cairo_set_line_width(g->cr, width);
        if (from == to)
            draw_loop(g, from, -lean[2 * from], -lean[2 * from + 1]);
        else
            draw_line(g, from, to, width);
    }
}

/* ---- nodes ---- */

static struct rgb node_color(const struct drawing *g, int class) {
    const struct theme *const t = g->f->theme;
    return class < 0 ? mix(t->background, t->axis, 0.55) : class_color(t, class);
}

static void disc(const struct drawing *g, double x, double y, double radius, struct rgb color) {
    cairo_new_sub_path(g->cr);
    cairo_arc(g->cr, x, y, radius, 0, CIRCLE);
    set_color(g->cr, color, 1);
    cairo_fill(g->cr);
}

/* From the outside: a mark, a ring in the colour of the true class where it is another, the class. */
static void draw_node(const struct drawing *g, double x, double y, double radius, int class, int truth, bool marked) {
    const struct theme *const t = g->f->theme;
    const double line = fmax(0.5, 0.11 * radius), ring = fmax(1.3, 0.28 * radius);
    const bool wrong = truth >= 0 && truth != class;
    const double all = radius + line + (wrong ? ring + line : 0);
    if (marked) disc(g, x, y, all + fmax(1.2, 0.2 * radius), t->ink);
    disc(g, x, y, all, t->background);
    if (wrong) {
        disc(g, x, y, radius + line + ring, node_color(g, truth));
        disc(g, x, y, radius + line, t->background);
    }
    disc(g, x, y, radius, node_color(g, class));
}

/* ---- names ---- */

/* In the discs, in one size, where it can be read; false where there is no room. */
static bool names_within(const struct drawing *g) {
    double widest = 1;
    for (int64_t i = 0; i < g->l->n; i++) widest = fmax(widest, text_width(g->cr, g->l->names.at[i], FONT_TICK, false));
    const double size = fmin(FONT_TICK, fmin(FONT_TICK * 1.62 * g->radius / widest, 1.25 * g->radius));
    if (size < 5) return false;
    for (int64_t i = 0; i < g->l->n; i++)
        text_draw(g->cr, g->l->names.at[i], g->x[i], g->y[i],
                  (struct words){size, false, readable_on(node_color(g, g->of.class[i])), 0.5, 0.5, 0});
    return true;
}

static void draw_names_of(const struct drawing *g) {
    int64_t named = 0;
    if (!g->l->names.at) return;
    for (int64_t i = 0; i < g->l->n; i++) named += *g->l->names.at[i] != 0;
    if (names_within(g) || named > NAMED) return;
    place_names(&(struct naming){.f = g->f,
                                 .names = &g->l->names,
                                 .color = HEED_COLOR_INK,
                                 .x = g->x,
                                 .y = g->y,
                                 .n = g->l->n,
                                 .radius = g->radius + 0.5,
                                 .size = g->f->panel->small ? FONT_SMALL : FONT_TICK - 0.5,
                                 .rings = 1,
                                 .backed = true});
}

/* ---- the legend ---- in lines below */

/* Draws entry `text` at (x, y), or, with draw false, only moves on; begins a new line where there is no room. */
struct pen {
    double x, y;
    bool draw;
};

static void entry(const struct drawing *g, struct pen *at, struct rect room, const char *text, int class, int truth,
                  bool marked) {
    const double wide = SAMPLE + fmin(text_width(g->cr, text, FONT_TICK, false), room.w - SAMPLE);
    if (at->x > room.x && at->x + wide > room.x + room.w) at->x = room.x, at->y += LEGEND;
    if (at->draw) {
        draw_node(g, at->x + 4, at->y + LEGEND / 2, truth >= 0 || marked ? 2.4 : 3.4, class, truth, marked);
        text_draw(g->cr, text_fit(g->cr, text, FONT_TICK, false, room.w - SAMPLE).text, at->x + SAMPLE,
                  at->y + LEGEND / 2, (struct words){FONT_TICK, false, g->f->theme->ink, 0, 0.5, 0});
    }
    at->x += wide + ENTRY;
}

/* What stands below the graph; its height. */
static double legend(const struct drawing *g, struct rect room, bool draw) {
    const struct layer *const l = g->l;
    struct pen at = {room.x, room.y, draw};
    bool marks = false, wrong = false;
    for (int64_t i = 0; i < l->n; i++) {
        marks |= g->of.mark[i] != 0;
        wrong |= g->of.truth[i] >= 0 && g->of.truth[i] != g->of.class[i];
    }
    for (int64_t k = 0; k < l->names_2.n; k++) entry(g, &at, room, l->names_2.at[k], (int)k, -1, false);
    if (wrong) entry(g, &at, room, "ring: the true class", -1, 0, false);
    if (marks && l->text) entry(g, &at, room, l->text, -1, -1, true);
    return at.x > room.x || at.y > room.y ? at.y + LEGEND - room.y : 0;
}

/* ---- all of it ---- */

void draw_graph(struct frame *f) {
    const struct layer *const l = f->map;
    heed_ctx *const cx = f->panel->figure->cx;
    if (l->n == 0) return;
    struct drawing g = {.f = f, .cr = f->cr, .l = l, .of = graph_numbers(l)};
    g.x = heed_mem_new(cx, (size_t)l->n * 4 * sizeof *g.x);
    g.order = heed_mem_new(cx, (size_t)l->rows * sizeof *g.order + 1);
    g.pairs = heed_mem_new(cx, (size_t)l->rows * sizeof *g.pairs + 1);
    if (g.x && g.order && g.pairs && sort_edges(&g)) {
        double *const lean = g.x + 2 * l->n;
        g.y = g.x + l->n;
        struct rect room = f->plot;
        const double below = f->panel->no_legend ? 0 : fmin(legend(&g, room, false), room.h / 2);
        room.h -= below;
        place(&g, room);
        lean_of(&g, lean);
        draw_edges(&g, lean);
        for (int pass = 0; pass < 2; pass++) /* what is marked lies on top */
            for (int64_t i = 0; i < l->n; i++)
                if ((g.of.mark[i] != 0) == pass)
                    draw_node(&g, g.x[i], g.y[i], g.radius, g.of.class[i], g.of.truth[i], pass);
        draw_names_of(&g);
        if (below > 0) legend(&g, (struct rect){room.x, room.y + room.h, room.w, below}, true);
    }
    heed_mem_free(cx, g.x);
    heed_mem_free(cx, g.order);
    heed_mem_free(cx, g.pairs);
}
