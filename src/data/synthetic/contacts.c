/* Random graphs of red, blue and grey nodes: how many red ones have a blue neighbour? One layer of message passing sees
 * a blue neighbour; how many such nodes there are is in their sum. Their mean says which share of the nodes it is, and
 * the number of nodes has nothing to do with the answer; the maximum says whether there is one.
 *
 * Graph i draws its random numbers from a stream of its own. */
#include "data/graphs/graphs.h"
#include "data/synthetic/hand.h"

#include <string.h>

enum { RED, BLUE, GREY, COLOURS, LEAST = 8, MOST = 24, CLASSES = 5 };
#define STREAMS ((uint64_t)0x6C << 56) /* the streams of graphs, apart from those of epochs and layers */
#define DEGREE  2.5F                   /* the mean number of neighbours, whatever the number of nodes */

struct drawn_graph {
    int n, colour[MOST];
    bool joined[MOST][MOST];
};

/* Only between a red and a blue node does the answer depend on an edge. */
static int contacts_of(const struct drawn_graph *d) {
    int count = 0;
    for (int i = 0; i < d->n; i++) {
        bool touches = false;
        for (int j = 0; j < d->n; j++) touches |= d->joined[i][j] && d->colour[j] == BLUE;
        count += d->colour[i] == RED && touches;
    }
    return count;
}

static void draw_once(struct draws *r, struct drawn_graph *d) {
    const float red = draw(r, 0.15F, 0.6F), blue = draw(r, 0.05F, 0.35F);
    memset(d->joined, 0, sizeof d->joined);
    for (int i = 0; i < d->n; i++) {
        const float u = draw(r, 0, 1);
        d->colour[i] = u < red ? RED : u < red + blue ? BLUE : GREY;
        for (int j = 0; j < i; j++) d->joined[i][j] = d->joined[j][i] = draw(r, 0, (float)(d->n - 1)) < DEGREE;
    }
}

/* Drawn again until the answer is the one that was drawn first: so all answers are as likely, for any size. */
static int draw_graph(uint64_t seed, int64_t i, struct drawn_graph *d) {
    struct draws r = {.seed = seed, .stream = STREAMS + (uint64_t)i};
    const int class = draw_index(&r, CLASSES);
    d->n = LEAST + draw_index(&r, MOST - LEAST + 1);
    do draw_once(&r, d);
    while (contacts_of(d) != class);
    return class;
}

static void put_graph(const struct drawn_graph *d, heed_graph_data *g, struct edge_list *list) {
    for (int i = 0; i < d->n; i++) {
        g->column[g->nodes + i] = d->colour[i];
        for (int j = 0; j < i; j++)
            if (d->joined[i][j])
                list->at[list->n++] =
                    (struct listed_edge){(int32_t)(g->nodes + j), (int32_t)(g->nodes + i), 1, list->n};
    }
    g->nodes += d->n;
}

static bool make_room(heed_ctx *cx, heed_graph_data *g, int64_t n) {
    static const struct word colours[COLOURS] = {{"red", 3}, {"blue", 4}, {"grey", 4}},
                             classes[CLASSES] = {{"0", 1}, {"1", 1}, {"2", 1}, {"3", 1}, {"4", 1}};
    g->whole = true;
    g->classes = CLASSES;
    g->columns = COLOURS;
    g->node_start = data_room(cx, n + 1, 1, sizeof *g->node_start);
    g->label = data_room(cx, n, 1, sizeof *g->label);
    g->column = data_room(cx, n, MOST, sizeof *g->column);
    g->x_names = data_names(cx, colours, COLOURS);
    g->class_names = data_names(cx, classes, CLASSES);
    return !heed_failed(cx);
}

/* One feature of three is 1. */
static bool put_colours(heed_ctx *cx, heed_graph_data *g) {
    g->width = COLOURS;
    g->x = data_room(cx, g->nodes, COLOURS, sizeof *g->x);
    for (int64_t i = 0; g->x && i < g->nodes; i++)
        for (int k = 0; k < COLOURS; k++) g->x[i * COLOURS + k] = g->column[i] == k;
    heed_mem_free(cx, g->column);
    g->column = NULL;
    return g->x;
}

heed_graph_data *heed_graph_contacts(heed_ctx *cx, uint64_t seed, int64_t n) {
    if (heed_failed(cx)) return NULL;
    if (n < 1 || n > INT32_MAX / MOST)
        return heed_fail(cx, HEED_ERR_RANGE, "graph_contacts: %lld graphs, 1 to %d can be drawn", (long long)n,
                         INT32_MAX / MOST),
               NULL;
    heed_graph_data *const g = graph_new(cx);
    struct edge_list list = {.name = "contacts", .unit = "edge"};
    struct drawn_graph d;
    list.at = g ? data_room(cx, n, MOST * (MOST - 1) / 2, sizeof *list.at) : NULL;
    bool ok = list.at && make_room(cx, g, n);
    for (; ok && g->graphs < n && !heed_cancelled(cx); g->graphs++) {
        g->label[g->graphs] = draw_graph(seed, g->graphs, &d);
        g->node_start[g->graphs] = g->nodes;
        put_graph(&d, g, &list);
    }
    ok = ok && !heed_failed(cx);
    if (ok) g->node_start[n] = g->nodes;
    ok = ok && put_colours(cx, g) && graph_put_edges(cx, g, &list);
    heed_mem_free(cx, list.at);
    if (ok) return g;
    heed_graph_data_free(cx, g);
    return NULL;
}
