/* Graphs: places that follow from graph and seed to the bit, springs that are as long as they should be, parts that do
 * not lie over each other, names that do not; and sentences for nonsense. */
#include "heed/plot.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../context.h"
#include "../folder.h"

static int set_up(void **state) { return open_cx(state) || make_folder(state); }
static int tear_down(void **state) { return close_cx(state) || wipe_folder(state); }

enum { SIDE = 6, GRID = SIDE * SIDE, ALONE = 5, NODES = GRID + 8 + ALONE, MOST = 4 * NODES };

struct graph {
    int32_t from[MOST], to[MOST];
    int64_t edges;
    float x[NODES], y[NODES];
};

static void join(struct graph *g, int from, int to) { g->from[g->edges] = from, g->to[g->edges++] = to; }

/* A grid, a ring of eight, and nodes alone, one of them with a loop. */
static void make_graph(struct graph *g) {
    g->edges = 0;
    for (int i = 0; i < GRID; i++) {
        if (i % SIDE + 1 < SIDE) join(g, i, i + 1);
        if (i + SIDE < GRID) join(g, i + SIDE, i);
    }
    for (int i = 0; i < 8; i++) join(g, GRID + i, GRID + (i + 1) % 8);
    join(g, NODES - 1, NODES - 1);
}

static double apart(const struct graph *g, int a, int b) {
    return hypot((double)g->x[a] - (double)g->x[b], (double)g->y[a] - (double)g->y[b]);
}

static void layout(void **state) {
    (void)state;
    static struct graph g, again;
    make_graph(&g), make_graph(&again);
    assert_true(heed_graph_layout(cx, NODES, g.from, g.to, g.edges, 7, g.x, g.y));
    assert_true(heed_graph_layout(cx, NODES, again.from, again.to, again.edges, 7, again.x, again.y));
    assert_memory_equal(g.x, again.x, sizeof g.x);
    assert_memory_equal(g.y, again.y, sizeof g.y);
    assert_true(heed_graph_layout(cx, NODES, again.from, again.to, again.edges, 8, again.x, again.y));
    assert_memory_not_equal(g.x, again.x, sizeof g.x);
    /* a grid and a ring come out flat: neighbours about 1 apart, the grid's corners farthest */
    for (int64_t e = 0; e < g.edges - 1; e++) {
        const double d = apart(&g, g.from[e], g.to[e]);
        assert_true(d > 0.6 && d < 1.4);
    }
    assert_true(apart(&g, 0, GRID - 1) > 5 && apart(&g, SIDE - 1, GRID - SIDE) > 5);
    assert_true(apart(&g, GRID, GRID + 4) > 2);
    /* no two nodes lie on each other, and no part over another */
    for (int a = 0; a < NODES; a++)
        for (int b = 0; b < a; b++) assert_true(apart(&g, a, b) > 0.4);
    for (int i = 0; i < GRID; i++)
        for (int k = GRID; k < NODES; k++) assert_true(apart(&g, i, k) > 0.9);
}

/* Names of the edges' order and direction do not count: the graph has the same picture turned around, of edges the
 * other way. */
static void directions(void **state) {
    (void)state;
    static struct graph g, turned;
    make_graph(&g), make_graph(&turned);
    for (int64_t e = 0; e < g.edges; e++) turned.from[e] = g.to[e], turned.to[e] = g.from[e];
    assert_true(heed_graph_layout(cx, NODES, g.from, g.to, g.edges, 1, g.x, g.y));
    assert_true(heed_graph_layout(cx, NODES, turned.from, turned.to, turned.edges, 1, turned.x, turned.y));
    assert_memory_equal(g.x, turned.x, sizeof g.x);
}

static void large(void **state) {
    (void)state;
    enum { N = 2000 };
    static int32_t from[N], to[N];
    static float x[N], y[N];
    for (int i = 1; i < N; i++)
        from[i - 1] = i, to[i - 1] = (int32_t)(heed_random_bits(1, 1, (uint64_t)i) % (unsigned)i);
    assert_true(heed_graph_layout(cx, N, from, to, N - 1, 1, x, y));
    for (int i = 0; i < N; i++) assert_true(isfinite(x[i]) && isfinite(y[i]));
    assert_true(heed_graph_layout(cx, 0, NULL, NULL, 0, 1, x, y));
    assert_true(heed_graph_layout(cx, 1, NULL, NULL, 0, 1, x, y) && x[0] == 0);
}

/* Where the texts of an SVG stand; cairo writes letters as shapes, so those of a drawing are counted by their uses. */
static size_t letters_of(const char *path) {
    FILE *const f = fopen(path, "rb");
    char line[4096];
    size_t n = 0;
    assert_non_null(f);
    while (fgets(line, sizeof line, f))
        for (const char *s = line; (s = strstr(s, "<use ")); s++) n++;
    fclose(f);
    return n;
}

static void names(void **state) {
    (void)state;
    enum { N = 40 };
    int32_t from[2 * N], to[2 * N], classes[N], truth[N];
    float weights[2 * N], x[N], y[N];
    bool marked[N] = {true};
    const char *apart_names[N];
    for (int i = 0; i < N; i++) {
        from[2 * i] = i, to[2 * i] = (i + 1) % N;
        from[2 * i + 1] = (i + 1) % N, to[2 * i + 1] = i % 7 ? i : (i + 1) % N; /* both ways, and some loops */
        weights[2 * i] = (float)i / N, weights[2 * i + 1] = i % 3 ? 0 : 1;
        classes[i] = i % 12 - 1;
        truth[i] = i % 5 - 1;
        apart_names[i] = "wwww";
        x[i] = (float)i, y[i] = 0;
    }
    heed_graph_look look = {.nodes = N,
                            .edges = 2 * N,
                            .from = from,
                            .to = to,
                            .weights = weights,
                            .directed = true,
                            .classes = classes,
                            .truth = truth,
                            .marked = marked,
                            .mark_label = "chosen",
                            .class_names = (const char *[]){"one", "two"},
                            .n_classes = 2,
                            .names = apart_names};
    for (int crowded = 0; crowded < 2; crowded++) {
        if (crowded) look.x = x, look.y = y; /* all in a line: there is no room for every name */
        heed_figure *const f = heed_figure_new(cx, 420, 320);
        assert_true(heed_panel_graph(heed_figure_panel(f, 0, 0), &look));
        assert_false(heed_panel_graph(heed_figure_panel(f, 0, 0), &look)); /* one to a panel */
        heed_clear(cx);
        assert_true(heed_figure_write(f, in_folder("graph.png")) && heed_figure_write(f, in_folder("graph.pdf")));
        assert_true(heed_figure_write(f, in_folder(crowded ? "line.svg" : "ring.svg")));
        heed_figure_free(f);
    }
    const size_t ring = letters_of(in_folder("ring.svg")), line = letters_of(in_folder("line.svg"));
    assert_true(ring >= 4 * N * 3 / 4);
    assert_true(line < ring && line > 4 * 4);
}

static void refuses(const heed_graph_look *look, const char *sentence) {
    heed_figure *const f = heed_figure_new(cx, 0, 0);
    heed_panel *const p = heed_figure_panel(f, 0, 0);
    assert_false(heed_panel_graph(p, look));
    assert_string_equal(heed_message(cx), sentence);
    heed_clear(cx);
    heed_figure_free(f);
}

static void nonsense(void **state) {
    (void)state;
    const int32_t from[] = {0, 1}, to[] = {1, 2}, classes[] = {0, -2};
    const float weights[] = {1, NAN}, x[] = {0, INFINITY}, y[] = {0, 0};
    float room[4];
    refuses(NULL, "graph: NULL");
    refuses(&(heed_graph_look){.nodes = -1}, "graph: -1 nodes and 0 edges cannot be drawn");
    refuses(&(heed_graph_look){.nodes = 2, .edges = 1}, "graph: an array of edges or of places is NULL");
    refuses(&(heed_graph_look){.nodes = 2, .x = x}, "graph: an array of edges or of places is NULL");
    refuses(&(heed_graph_look){.nodes = 2, .edges = 2, .from = from, .to = to},
            "graph: edge 1 goes from 1 to 2, there are 2 nodes");
    refuses(&(heed_graph_look){.nodes = 3, .edges = 2, .from = from, .to = to, .weights = weights},
            "graph: the weight of edge 1 is nan: must be 0 or more");
    refuses(&(heed_graph_look){.nodes = 2, .classes = classes}, "graph: node 1 is of class -2: must be -1 to 4095");
    refuses(&(heed_graph_look){.nodes = 2, .x = x, .y = y}, "graph: the place of node 1 is not finite");
    refuses(&(heed_graph_look){.n_classes = -1}, "graph: -1 names of classes, strongest edge 0: out of range");
    assert_false(heed_graph_layout(cx, 2, from, to, 2, 0, room, room + 2));
    assert_string_equal(heed_message(cx), "graph: edge 1 goes from 1 to 2, there are 2 nodes");
    heed_clear(cx);
    assert_false(heed_graph_layout(cx, 2, from, to, 1, 0, room, NULL));
    heed_clear(cx);
    enum { CHAIN = 5000 };
    int32_t *const long_from = malloc(2 * CHAIN * sizeof *long_from);
    float *const places = malloc(2 * CHAIN * sizeof *places);
    for (int i = 0; i < CHAIN; i++) long_from[i] = i, long_from[CHAIN + i] = i + 1;
    assert_false(heed_graph_layout(cx, CHAIN, long_from, long_from + CHAIN, CHAIN - 1, 0, places, places + CHAIN));
    assert_string_equal(heed_message(cx), "graph: 5000 connected nodes cannot be laid out, at most 4096");
    free(long_from);
    free(places);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(layout, set_up, tear_down),
        cmocka_unit_test_setup_teardown(directions, set_up, tear_down),
        cmocka_unit_test_setup_teardown(large, set_up, tear_down),
        cmocka_unit_test_setup_teardown(names, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nonsense, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
