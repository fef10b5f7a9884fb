/* Convolution with and without an order. A 1-d convolution over three neighbours has a matrix for each offset; where
 * all share one matrix it is the graph convolution of a line, and where only those to the left and to the right do, it
 * is GraphConv (Morris et al. 2019): T1' x_j + sum over neighbours of T2' x_i. Renaming the nodes changes nothing for a
 * graph, and everything for a sequence. */
#include "heed/graph.h"
#include "lessons/store.h"
#include <math.h>
#include <stdio.h>

enum { NODES = 10, IN = 3, OUT = 2, WINDOW = 3, ROWS = NODES - WINDOW + 1 };

/* Numbers, and the same job in whole numbers, whose sums are exact. */
enum { REAL, WHOLE, KINDS };

struct line {
    float x[NODES * IN];                   /* a row for each node */
    float own[OUT * IN * WINDOW];          /* a matrix for each offset: left, middle, right; (OUT, IN, WINDOW) */
    float first[OUT * IN], rest[OUT * IN]; /* T1: the middle's; T2: the mean of those to the left and to the right */
};

static void draw_numbers(struct lesson_run *r, int kind, struct line *l) {
    heed_random_normal(r->seed, 1, 0, l->x, NODES * IN);
    heed_random_normal(r->seed, 2, 0, l->own, OUT * IN * WINDOW);
    for (int i = 0; kind == WHOLE && i < NODES * IN; i++) l->x[i] = rintf(3 * l->x[i]);
    for (int i = 0; kind == WHOLE && i < OUT * IN * WINDOW; i++) l->own[i] = 2 * rintf(2 * l->own[i]);
    for (int i = 0; i < OUT * IN; i++) {
        const float *const w = l->own + i * WINDOW;
        l->first[i] = w[1];
        l->rest[i] = (w[0] + w[2]) / 2;
    }
}

/* ---- the two layers ---- */

/* Of the sequence x (NODES, IN), weight (OUT, IN, WINDOW) -> rows of OUT; padded: zeros beyond both ends. */
static const float *sequence_layer(struct lesson_run *r, const float *x, const float *weight, bool padded) {
    heed_ctx *const cx = r->cx;
    heed_tensor *const in = heed_transpose(cx, heed_from_f32(cx, x, 3, (int64_t[]){1, NODES, IN}), 1, 2);
    heed_tensor *const w = heed_from_f32(cx, weight, 3, (int64_t[]){OUT, IN, WINDOW});
    heed_tensor *const y = heed_conv1d(cx, in, w, NULL, &(heed_conv_opts){.padding = {padded, 0}});
    const float *const out = numbers_of(r, heed_transpose(cx, y, 1, 2));
    heed_reset(cx);
    return out;
}

/* T1' x_j + sum of T2' x_i over the edges from i to j -> (targets, OUT); first NULL: without T1. */
static const float *graph_layer(struct lesson_run *r, const float *x, const int32_t *edges, int64_t n, int64_t targets,
                                const float *first, const float *rest) {
    heed_ctx *const cx = r->cx;
    heed_tensor *const in = heed_from_f32(cx, x, 2, (int64_t[]){NODES, IN});
    const heed_graph *const g = heed_graph_step(cx, heed_from_i32(cx, edges, 2, (int64_t[]){2, n}), NULL,
                                                &(heed_graph_opts){.sources = NODES, .targets = targets});
    heed_tensor *const t2 = heed_from_f32(cx, rest, 2, (int64_t[]){OUT, IN});
    heed_tensor *y = heed_linear(cx, heed_graph_sum(cx, in, g, NULL), t2, NULL);
    if (first) y = heed_add(cx, heed_linear(cx, in, heed_from_f32(cx, first, 2, (int64_t[]){OUT, IN}), NULL), y);
    const float *const out = numbers_of(r, y);
    heed_reset(cx);
    return out;
}

/* Every window of three: from each of its nodes an edge to its row. */
static int64_t window_edges(int32_t *edges) {
    int32_t *const to = edges + ROWS * WINDOW;
    for (int e = 0; e < ROWS * WINDOW; e++) to[e] = e / WINDOW, edges[e] = e / WINDOW + e % WINDOW;
    return ROWS * WINDOW;
}

/* The line, both ways, its nodes under other names; name NULL: their own. */
static int64_t line_edges(const int64_t *name, int32_t *edges) {
    enum { TIES = 2 * (NODES - 1) };
    for (int e = 0; e < TIES; e++) {
        const int left = e / 2, from = left + e % 2, to = left + 1 - e % 2;
        edges[e] = name ? (int32_t)name[from] : from;
        edges[TIES + e] = name ? (int32_t)name[to] : to;
    }
    return TIES;
}

/* ---- the same numbers, and others ---- */

static void same_for_all(const float *matrix, const float *middle, float *weight) {
    for (int i = 0; i < OUT * IN * WINDOW; i++) weight[i] = i % WINDOW == 1 ? middle[i / WINDOW] : matrix[i / WINDOW];
}

static void compare(struct lesson_run *r, const struct line *l) {
    float shared[OUT * IN * WINDOW], course[OUT * IN * WINDOW];
    int32_t windows[2 * ROWS * WINDOW], line[4 * NODES];
    const int64_t n_windows = window_edges(windows), n_line = line_edges(NULL, line);
    same_for_all(l->rest, l->rest, shared);
    same_for_all(l->rest, l->first, course);
    const float *const by_offset = sequence_layer(r, l->x, l->own, false),
                       *const one_matrix = sequence_layer(r, l->x, shared, false),
                       *const of_graph = graph_layer(r, l->x, windows, n_windows, ROWS, NULL, l->rest),
                       *const padded = sequence_layer(r, l->x, course, true),
                       *const of_course = graph_layer(r, l->x, line, n_line, NODES, l->first, l->rest);
    if (heed_failed(r->cx)) return;
    const double same = numbers_apart(one_matrix, of_graph, ROWS * OUT),
                 second = numbers_apart(padded, of_course, NODES * OUT),
                 other = numbers_apart(by_offset, of_course + OUT, ROWS * OUT);
    lesson_line(r, "%5s %18s %18s %24s", "row", "one matrix", "graph convolution", "a matrix for each offset");
    for (int i = 0; i < ROWS; i++)
        lesson_line(r, "%5d %18.6f %18.6f %24.6f", i + 1, (double)one_matrix[i * OUT], (double)of_graph[i * OUT],
                    (double)by_offset[i * OUT]);
    lesson_line(r, "\nlargest difference, one matrix against the graph: %.2g\n", same);
    lesson_say(r,
               "A graph tells a node from its neighbours, so the middle may have a matrix of its own: T1' x_j + sum "
               "over neighbours of T2' x_i is the convolution whose left and right offsets share T2. Largest "
               "difference on all %d nodes, zeros beyond the ends: %.2g. But left and right it cannot tell apart: with "
               "the mean of the two matrices for T2, the convolution with a matrix for each offset differs from it by "
               "up to %.2f.",
               NODES, second, other);
    lesson_result(r, "shared_difference", same);
    lesson_result(r, "course_difference", second);
    lesson_result(r, "own_difference", other);
    double row[ROWS], column[3][ROWS];
    for (int i = 0; i < ROWS; i++) {
        row[i] = i + 1;
        column[0][i] = (double)one_matrix[i * OUT], column[1][i] = (double)of_graph[i * OUT];
        column[2][i] = (double)by_offset[i * OUT];
    }
    lesson_table(r, "neighbours",
                 (heed_table_column[]){{.name = "row", .f64 = row},
                                       {.name = "one_matrix", .f64 = column[0]},
                                       {.name = "graph", .f64 = column[1]},
                                       {.name = "matrix_by_offset", .f64 = column[2]}},
                 4, ROWS);
}

/* ---- other names ---- */

/* Largest differences under another order of the nodes: of the rows, each at its own node, and of the sum of their
 * relu over all nodes. */
struct moved {
    double rows, sum;
};

static struct moved difference(const float *before, const float *after, const int64_t *name) {
    struct moved m = {0, 0};
    for (int o = 0; o < OUT; o++) {
        double sum[2] = {0, 0};
        for (int i = 0; i < NODES; i++) {
            const double a = (double)before[i * OUT + o], b = (double)after[name[i] * OUT + o];
            m.rows = fmax(m.rows, fabs(a - b));
            sum[0] += fmax(0, a), sum[1] += fmax(0, b);
        }
        m.sum = fmax(m.sum, fabs(sum[0] - sum[1]));
    }
    return m;
}

static bool rename_nodes(struct lesson_run *r, const struct line *l, const int64_t *name, struct moved *graph,
                         struct moved *sequence) {
    float moved[NODES * IN];
    int32_t before[4 * NODES], after[4 * NODES];
    const int64_t n = line_edges(NULL, before);
    line_edges(name, after);
    for (int i = 0; i < NODES * IN; i++) moved[name[i / IN] * IN + i % IN] = l->x[i];
    const float *const of_graph[] = {graph_layer(r, l->x, before, n, NODES, l->first, l->rest),
                                     graph_layer(r, moved, after, n, NODES, l->first, l->rest)},
                       *const of_sequence[] = {sequence_layer(r, l->x, l->own, true),
                                               sequence_layer(r, moved, l->own, true)};
    if (heed_failed(r->cx)) return false;
    *graph = difference(of_graph[0], of_graph[1], name);
    *sequence = difference(of_sequence[0], of_sequence[1], name);
    return true;
}

static void print_moved(struct lesson_run *r, const char *what, const char *key, const struct moved m[KINDS]) {
    char name[48];
    lesson_line(r, "%-34s %14.2g %14.2g %14.2g", what, m[REAL].rows, m[WHOLE].rows, m[WHOLE].sum);
    snprintf(name, sizeof name, "%s_rows", key);
    lesson_result(r, name, m[REAL].rows);
    snprintf(name, sizeof name, "%s_whole", key);
    lesson_result(r, name, m[WHOLE].rows);
    snprintf(name, sizeof name, "%s_sum", key);
    lesson_result(r, name, m[WHOLE].sum);
}

static void rename_all(struct lesson_run *r, const struct line *lines, const int64_t *name) {
    int64_t reverse[NODES];
    struct moved graph[2][KINDS], sequence[2][KINDS];
    for (int i = 0; i < NODES; i++) reverse[i] = NODES - 1 - i;
    for (int kind = 0; kind < KINDS; kind++)
        if (!rename_nodes(r, &lines[kind], name, &graph[0][kind], &sequence[0][kind]) ||
            !rename_nodes(r, &lines[kind], reverse, &graph[1][kind], &sequence[1][kind]))
            return;
    lesson_line(r, "%-34s %14s %14s %14s", "largest difference", "of a row", "whole numbers", "of their sum");
    print_moved(r, "graph, nodes renamed", "graph_renamed", graph[0]);
    print_moved(r, "graph, order reversed", "graph_reversed", graph[1]);
    print_moved(r, "sequence, in another order", "sequence_renamed", sequence[0]);
    print_moved(r, "sequence, order reversed", "sequence_reversed", sequence[1]);
    lesson_line(r, "%s", "");
    if (graph[0][WHOLE].rows == 0 && graph[0][WHOLE].sum == 0 && sequence[1][WHOLE].sum > 0)
        lesson_say(r, "The rows of a graph follow their nodes (equivariance), and their sum stays as it was "
                      "(invariance), in whole numbers to the last bit. A convolution with a matrix for each offset "
                      "knows the order: what is read backwards is something else to it. It is the better layer where "
                      "the order says something, as in text, and the wrong one where nodes have none.");
    else
        lesson_say(r, "Here the numbers do not tell the two apart; another --seed may.");
}

/* ---- pictures ---- */

/* What node i holds stands at place i of the line; of a sequence in another order at place name[i], and edges lead
 * from place to place. */
static void draw_line(heed_panel *p, const char *title, const int64_t *name, bool by_place) {
    int32_t edges[4 * NODES], classes[NODES];
    char number[NODES][12];
    const char *names[NODES];
    const int64_t n = line_edges(by_place ? NULL : name, edges);
    float x[NODES], y[NODES];
    for (int i = 0; i < NODES; i++) {
        const int64_t at = name ? name[i] : i, place = by_place ? at : i;
        snprintf(number[at], sizeof number[at], "%d", (int)at + 1);
        names[at] = number[at];
        classes[at] = i < NODES / 2 ? 0 : 1;
        x[at] = (float)place, y[at] = place % 2 ? 2.0F : 0;
    }
    heed_panel_title(p, title);
    heed_panel_graph(p, &(heed_graph_look){.nodes = NODES,
                                           .edges = n,
                                           .from = edges,
                                           .to = edges + n,
                                           .x = x,
                                           .y = y,
                                           .classes = classes,
                                           .names = names});
}

/* What each node gets of each other, of one channel. */
static void fill_map(const int64_t *name, bool by_offset, float *map) {
    static const float own[WINDOW] = {-1, 0.35F, 0.7F};
    for (int i = 0; i < NODES * NODES; i++) map[i] = 0;
    for (int i = 0; i < NODES; i++)
        for (int o = 0; o < WINDOW; o++) {
            const int from = i + o - 1;
            if (from < 0 || from >= NODES) continue;
            const int64_t row = name ? name[i] : i, column = name ? name[from] : from;
            map[row * NODES + column] = by_offset ? own[o] : o == 1 ? 0.35F : 0.7F;
        }
}

static void draw_map(heed_panel *p, const char *title, const float *map) {
    static const char *const names[NODES] = {"1", "2", "3", "4", "5", "6", "7", "8", "9", "10"};
    heed_panel_title(p, title);
    heed_panel_labels(p, "of node", "what node gets");
    heed_panel_heatmap(
        p, map, NODES, NODES,
        &(heed_heatmap){
            .map = HEED_MAP_DIVERGING, .low = -1, .high = 1, .row_names = names, .col_names = names, .no_bar = true});
}

static void draw(struct lesson_run *r, const int64_t *name) {
    enum { MAPS = 3 };
    static const char *const titles[MAPS] = {"Graph: one matrix for both sides", "Graph: it goes with the names",
                                             "Sequence: it stays with the places"},
                             *const shorter[MAPS] = {"graph", "renamed", "sequence"};
    float map[MAPS][NODES * NODES];
    fill_map(NULL, false, map[0]), fill_map(name, false, map[1]), fill_map(NULL, true, map[2]);
    lesson_show(r, heed_terminal_images(r->cx, map[0], MAPS, NODES, NODES,
                                        &(heed_images){.columns = MAPS, .low = -1, .high = 1, .titles = shorter},
                                        &r->terminal));
    heed_figure *const f = lesson_figure(r, 860, 500);
    heed_figure_grid(f, 2, MAPS);
    draw_line(heed_figure_panel(f, 0, 0), "A line", NULL, false);
    draw_line(heed_figure_panel(f, 0, 1), "The same line, renamed", name, false);
    draw_line(heed_figure_panel(f, 0, 2), "A sequence, in another order", name, true);
    for (int k = 0; k < MAPS; k++) draw_map(heed_figure_panel(f, 1, k), titles[k], map[k]);
    lesson_picture(r, f, "neighbours");
}

static void run(struct lesson_run *r) {
    struct line lines[KINDS];
    int64_t name[NODES];
    for (int kind = 0; kind < KINDS; kind++) draw_numbers(r, kind, &lines[kind]);
    heed_random_permutation(r->seed, 3, name, NODES);
    lesson_say(r,
               "A 1-d convolution over k neighbours makes T - k + 1 rows of T: y_t = sum over offsets o of W_o' "
               "x_(t+o). Let all offsets share one matrix, and it no longer asks which neighbour is which: it sums "
               "them, and multiplies once. This is a graph convolution, and the graph is a line. %d nodes of %d "
               "numbers, k = %d, first output:",
               NODES, IN, WINDOW);
    compare(r, &lines[REAL]);
    if (heed_failed(r->cx)) return;
    lesson_say(r, "Nodes of a graph have no order: their numbers are names. Give them other names, and the edges with "
                  "them. And put the rows of a sequence into another order, where there are no edges to tell:");
    rename_all(r, lines, name);
    if (!heed_failed(r->cx)) draw(r, name);
}

const struct lesson neighbours_lesson = {
    .name = "neighbours",
    .summary = "convolution with and without an order: of a sequence, and of a line as a graph",
    .run = run,
};
