/* Matching by hand (Carion et al. 2020): a detector's four boxes, three objects, and which is to find which. What each
 * pair costs, in its parts; taking the cheapest pair again and again; the assignment of least cost, which heed_assign
 * finds object by object (Crouse 2016). */
#include "heed/assign.h"
#include "lessons/lesson.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { QUERIES = 4, OBJECTS = 3, CLASSES = 2 };
static const double class_cost = 1, bbox_cost = 5, giou_cost = 2; /* DETR's */

struct box { /* centre, width, height, as shares of the picture */
    double x, y, w, h;
};
static const struct {
    const char *name;
    int class;
    struct box box;
} objects[OBJECTS] = {
    {"A", 0, {0.30, 0.30, 0.20, 0.20}},
    {"B", 0, {0.50, 0.30, 0.20, 0.20}},
    {"C", 1, {0.65, 0.70, 0.40, 0.30}},
};
static const char *const class_names[CLASSES] = {"circle", "square"};
static const struct {
    double p[CLASSES]; /* the rest is "no object" */
    struct box box;
} queries[QUERIES] = {
    {{0.70, 0.10}, {0.38, 0.32, 0.20, 0.20}},
    {{0.60, 0.10}, {0.20, 0.28, 0.20, 0.20}},
    {{0.10, 0.50}, {0.60, 0.70, 0.40, 0.40}},
    {{0.20, 0.40}, {0.70, 0.60, 0.20, 0.20}},
};

/* ---- costs ---- */

static double overlap(double a, double a_size, double b, double b_size) {
    return fmin(a + a_size / 2, b + b_size / 2) - fmax(a - a_size / 2, b - b_size / 2);
}

/* Intersection by union, less the share of the hull that is in neither (Rezatofighi et al. 2019). */
static double giou(const struct box *a, const struct box *b) {
    const double across = overlap(a->x, a->w, b->x, b->w), down = overlap(a->y, a->h, b->y, b->h);
    const double both = fmax(across, 0) * fmax(down, 0), all = a->w * a->h + b->w * b->h - both;
    const double hull = (a->w + b->w - across) * (a->h + b->h - down);
    return both / all - (hull - all) / hull;
}

static double distance(const struct box *a, const struct box *b) {
    return fabs(a->x - b->x) + fabs(a->y - b->y) + fabs(a->w - b->w) + fabs(a->h - b->h);
}

struct costs {
    double p[OBJECTS][QUERIES], l1[OBJECTS][QUERIES], giou[OBJECTS][QUERIES], all[OBJECTS][QUERIES];
};

static void work_out(struct costs *c) {
    for (int o = 0; o < OBJECTS; o++)
        for (int q = 0; q < QUERIES; q++) {
            c->p[o][q] = queries[q].p[objects[o].class];
            c->l1[o][q] = distance(&queries[q].box, &objects[o].box);
            c->giou[o][q] = giou(&queries[q].box, &objects[o].box);
            c->all[o][q] = bbox_cost * c->l1[o][q] - class_cost * c->p[o][q] - giou_cost * c->giou[o][q];
        }
}

/* ---- ways to match ---- */

typedef int way[OBJECTS]; /* the query of each object */

static double cost_of(const struct costs *c, const int *of, int n) {
    double sum = 0;
    for (int o = 0; o < n; o++) sum += c->all[o][of[o]];
    return sum;
}

/* The cheapest pair of what is left, again and again; order: in which objects get theirs. */
static void greedy(const struct costs *c, way of, int order[OBJECTS]) {
    bool has[OBJECTS] = {false}, taken[QUERIES] = {false};
    for (int turn = 0; turn < OBJECTS; turn++) {
        int object = -1, query = -1;
        for (int o = 0; o < OBJECTS; o++)
            for (int q = 0; q < QUERIES; q++)
                if (!has[o] && !taken[q] && (object < 0 || c->all[o][q] < c->all[object][query])) object = o, query = q;
        has[object] = taken[query] = true;
        of[object] = query;
        order[turn] = object;
    }
}

/* The first n objects alone. */
static bool best(struct lesson_run *r, const struct costs *c, int n, int *of) {
    int64_t row[OBJECTS], column[OBJECTS];
    if (!heed_assign(r->cx, c->all[0], n, QUERIES, row, column)) return false;
    for (int k = 0; k < n; k++) of[row[k]] = (int)column[k];
    return true;
}

/* How many ways there are, and how many of them cost less than `sum`. */
static int count_ways(const struct costs *c, double sum, int *less) {
    int n = 0;
    for (int k = 0; k < QUERIES * QUERIES * QUERIES; k++) {
        const way of = {k % QUERIES, k / QUERIES % QUERIES, k / QUERIES / QUERIES};
        if (of[0] == of[1] || of[0] == of[2] || of[1] == of[2]) continue;
        n++;
        *less += cost_of(c, of, OBJECTS) < sum - 1e-9;
    }
    return n;
}

/* ---- in words ---- */

static void print_boxes(struct lesson_run *r) {
    lesson_line(r, "%-10s %-10s %6s %6s %6s %7s", "object", "class", "x", "y", "width", "height");
    for (int o = 0; o < OBJECTS; o++) {
        const struct box *const b = &objects[o].box;
        lesson_line(r, "%-10s %-10s %6.2f %6.2f %6.2f %7.2f", objects[o].name, class_names[objects[o].class], b->x,
                    b->y, b->w, b->h);
    }
    lesson_line(r, "\n%-10s %-21s %6s %6s %6s %7s", "query", "p circle, p square", "x", "y", "width", "height");
    for (int q = 0; q < QUERIES; q++) {
        const struct box *const b = &queries[q].box;
        lesson_line(r, "%-10d %-10.2f %-10.2f %6.2f %6.2f %6.2f %7.2f", q + 1, queries[q].p[0], queries[q].p[1], b->x,
                    b->y, b->w, b->h);
    }
    lesson_line(r, "%s", "");
}

static void print_costs(struct lesson_run *r, const struct costs *c) {
    lesson_line(r, "%-9s %-9s %11s %11s %11s %11s", "object", "query", "5 L1", "- p", "- 2 GIoU", "cost");
    for (int o = 0; o < OBJECTS; o++)
        for (int q = 0; q < QUERIES; q++)
            lesson_line(r, "%-9s %-9d %11.3f %11.3f %11.3f %11.3f", q ? "" : objects[o].name, q + 1,
                        bbox_cost * c->l1[o][q], -class_cost * c->p[o][q], -giou_cost * c->giou[o][q], c->all[o][q]);
    lesson_line(r, "%s", "");
}

/* "A-2 B-1" */
static const char *pairs_text(const int *of, int n, char text[8 * OBJECTS]) {
    int at = 0;
    for (int o = 0; o < n; o++)
        at += snprintf(text + at, (size_t)(8 * OBJECTS - at), "%s%s-%d", o ? " " : "", objects[o].name, of[o] + 1);
    return text;
}

static void print_greedy(struct lesson_run *r, const struct costs *c, const int *of, const int *order) {
    lesson_line(r, "Greedy: the cheapest pair of those that are left, again and again.");
    for (int turn = 0; turn < OBJECTS; turn++) {
        const int o = order[turn];
        lesson_line(r, "%d. %s-%d %37.3f", turn + 1, objects[o].name, of[o] + 1, c->all[o][of[o]]);
    }
    lesson_line(r, "   together %34.3f\n", cost_of(c, of, OBJECTS));
}

/* What each object changes. */
static bool print_steps(struct lesson_run *r, const struct costs *c) {
    way before = {0}, of;
    lesson_line(r, "Least cost: objects come one by one; those before may exchange their queries.");
    for (int n = 1; n <= OBJECTS; n++) {
        char text[8 * OBJECTS], moved[96] = "";
        if (!best(r, c, n, of)) return false;
        for (int o = 0; o + 1 < n; o++)
            if (of[o] != before[o])
                snprintf(moved, sizeof moved, "   %s gives up %d for %d", objects[o].name, before[o] + 1, of[o] + 1);
        lesson_line(r, "%d. %-15s together %13.3f%s", n, pairs_text(of, n, text), cost_of(c, of, n), moved);
        memcpy(before, of, sizeof before);
    }
    lesson_line(r, "%s", "");
    return true;
}

/* ---- in pictures ---- */

static void draw_box(heed_panel *p, const struct box *b, const char *name, const heed_style *style) {
    const float left = (float)(b->x - b->w / 2), right = (float)(b->x + b->w / 2);
    const float top = (float)(b->y + b->h / 2), bottom = (float)(b->y - b->h / 2);
    const float x[] = {left, right, right, left, left}, y[] = {top, top, bottom, bottom, top};
    heed_panel_curve(p, x, y, 5, style);
    const bool guess = style->dash != HEED_DASH_NONE; /* named in its upper left corner, an object in its lower right */
    heed_panel_text(p, (double)(guess ? left + 0.015f : right - 0.04f), (double)(guess ? top - 0.045f : bottom + 0.02f),
                    name, &(heed_style){.color = style->color});
}

static void draw_cell(heed_panel *p, int row, int column, double inset, const heed_style *style) {
    const double half = 0.5 - inset;
    const float left = (float)(column - half), right = (float)(column + half), low = (float)(row - half),
                high = (float)(row + half);
    const float x[] = {left, right, right, left, left}, y[] = {low, low, high, high, low};
    heed_panel_curve(p, x, y, 5, style);
}

static void draw(struct lesson_run *r, const struct costs *c, const int *taken, const int *of) {
    static const heed_color colors[QUERIES] = {HEED_COLOR_ORANGE, HEED_COLOR_GREEN, HEED_COLOR_PINK, HEED_COLOR_VIOLET};
    static const char *const rows[] = {"A", "B", "C"}, *const columns[] = {"query 1", "2", "3", "4"};
    float all[OBJECTS * QUERIES];
    for (int i = 0; i < OBJECTS * QUERIES; i++) all[i] = (float)c->all[i / QUERIES][i % QUERIES];
    const heed_heatmap map = {.map = HEED_MAP_DIVERGING,
                              .low = -7,
                              .high = 7,
                              .row_names = rows,
                              .col_names = columns,
                              .numbers = true,
                              .scale_label = "cost"};
    lesson_show(r, heed_terminal_heatmap(r->cx, all, OBJECTS, QUERIES, &map, &r->terminal));
    heed_figure *f = lesson_figure(r, 760, 360);
    heed_figure_grid(f, 1, 2);
    heed_panel *p = heed_figure_panel(f, 0, 0);
    heed_panel_title(p, "Objects (lines) and queries' boxes (dashes)");
    heed_panel_limits_x(p, 0, 1);
    heed_panel_limits_y(p, 0, 1);
    for (int o = 0; o < OBJECTS; o++)
        draw_box(p, &objects[o].box, objects[o].name, &(heed_style){.color = HEED_COLOR_INK, .width = 2});
    for (int q = 0; q < QUERIES; q++) {
        char name[16];
        snprintf(name, sizeof name, "%d", q + 1);
        draw_box(p, &queries[q].box, name, &(heed_style){.color = colors[q], .width = 1.6, .dash = HEED_DASH_LONG});
    }
    p = heed_figure_panel(f, 0, 1);
    heed_panel_title(p, "Costs: framed the least, dashed the greedy");
    heed_panel_heatmap(p, all, OBJECTS, QUERIES, &map);
    for (int o = 0; o < OBJECTS; o++) {
        draw_cell(p, o, of[o], 0.04, &(heed_style){.color = HEED_COLOR_INK, .width = 2.6});
        draw_cell(p, o, taken[o], 0.1, &(heed_style){.color = HEED_COLOR_RED, .width = 2, .dash = HEED_DASH_LONG});
    }
    lesson_picture(r, f, "matching");
}

static void write_table(struct lesson_run *r, const struct costs *c, const int *taken, const int *of) {
    enum { PAIRS = OBJECTS * QUERIES };
    const char *object[PAIRS];
    float query[PAIRS], l1[PAIRS], p[PAIRS], overlaps[PAIRS], cost[PAIRS], chosen[PAIRS], first[PAIRS];
    for (int i = 0; i < PAIRS; i++) {
        const int o = i / QUERIES, q = i % QUERIES;
        object[i] = objects[o].name;
        query[i] = (float)(q + 1);
        l1[i] = (float)c->l1[o][q], p[i] = (float)c->p[o][q], overlaps[i] = (float)c->giou[o][q];
        cost[i] = (float)c->all[o][q];
        chosen[i] = of[o] == q, first[i] = taken[o] == q;
    }
    lesson_table(r, "matching",
                 (heed_table_column[]){{.name = "object", .text = object},
                                       {.name = "query", .f32 = query},
                                       {.name = "l1", .f32 = l1},
                                       {.name = "p", .f32 = p},
                                       {.name = "giou", .f32 = overlaps},
                                       {.name = "cost", .f32 = cost},
                                       {.name = "least_cost", .f32 = chosen},
                                       {.name = "greedy", .f32 = first}},
                 8, PAIRS);
}

static void run(struct lesson_run *r) {
    struct costs c;
    way taken, of;
    int order[OBJECTS], less = 0, left = 0;
    char text[8 * OBJECTS];
    work_out(&c);
    greedy(&c, taken, order);
    if (!best(r, &c, OBJECTS, of)) return;
    const double dear = cost_of(&c, taken, OBJECTS), cheap = cost_of(&c, of, OBJECTS);
    const int ways = count_ways(&c, dear, &less);
    for (int q = 0; q < QUERIES; q++)
        if (q != of[0] && q != of[1] && q != of[2]) left = q;
    lesson_say(
        r, "Matching four boxes by hand. A detector such as DETR (Carion et al. 2020) answers with a box and classes "
           "for each of its queries, here four. The picture has three objects. Before anything can be learned it "
           "must be said which query is to find which object, and each object may be found once: no box is thrown "
           "away afterwards. x and y are the centre of a box, from the lower left corner, as shares of the picture.");
    print_boxes(r);
    lesson_say(
        r, "A pair costs 5 L1 - p - 2 GIoU: how far apart the boxes are, how probable the query finds the object's "
           "class, and how much the boxes overlap. GIoU is 1 for the same box, and falls towards -1 for boxes that are "
           "far apart.");
    print_costs(r, &c);
    draw(r, &c, taken, of);
    write_table(r, &c, taken, of);
    print_greedy(r, &c, taken, order);
    if (!print_steps(r, &c)) return;
    lesson_say(r,
               "Query 1 lies between A and B, a little nearer to A. The greedy choice gives it to A; then only far "
               "queries are left for B, which costs more than was saved: of the %d ways to match it is number %d by "
               "cost. The least cost is %.3f, of %s. Query %d is left over, and learns to say 'no object'; the others "
               "learn the class and the box of their object.",
               ways, less + 1, cheap, pairs_text(of, OBJECTS, text), left + 1);
    lesson_say(r,
               "Detectors are trained so, step by step, with the algorithm of scipy's linear_sum_assignment, index for "
               "index: '%s train detect'.",
               r->program);
    lesson_result(r, "greedy_cost", dear);
    lesson_result(r, "least_cost", cheap);
    lesson_result(r, "ways", ways);
    lesson_result(r, "ways_below_greedy", less);
    lesson_result(r, "query_left_over", left + 1);
}

const struct lesson matching_lesson = {
    .name = "matching",
    .summary = "matching four boxes by hand: which query is to find which object, greedily and at least cost",
    .run = run,
};
