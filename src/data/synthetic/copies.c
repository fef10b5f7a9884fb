/* Copies of a random graph side by side: how many are there? Nodes are infected or healthy, and in every copy the same
 * number of nodes, of which there may be few or many, is infected or has an infected neighbour. One layer of message
 * passing sees which nodes those are, and their sum counts the copies. No mean and no maximum over the nodes does: they
 * are the same for one copy and for four, whatever the layers before them (Xu et al. 2019).
 *
 * Graph i draws its random numbers from a stream of its own. */
#include "data/graphs/graphs.h"
#include "data/synthetic/hand.h"

#include <string.h>

enum { INFECTED, HEALTHY, STATES, LEAST = 4, MOST = 10, EXPOSED = 3, COPIES = 4 };
#define STREAMS ((uint64_t)0x6C << 56) /* the streams of graphs, apart from those of epochs and layers */
#define DEGREE  2.5F                   /* the mean number of neighbours, whatever the number of nodes */

struct drawn_graph {
    int n, state[MOST];
    bool joined[MOST][MOST];
};

static int exposed_in(const struct drawn_graph *d) {
    int count = 0;
    for (int i = 0; i < d->n; i++) {
        bool exposed = d->state[i] == INFECTED;
        for (int j = 0; j < d->n; j++) exposed |= d->joined[i][j] && d->state[j] == INFECTED;
        count += exposed;
    }
    return count;
}

static void draw_once(struct draws *r, struct drawn_graph *d) {
    const float infected = draw(r, 0, 0.5F);
    memset(d->joined, 0, sizeof d->joined);
    for (int i = 0; i < d->n; i++) {
        d->state[i] = draw(r, 0, 1) < infected ? INFECTED : HEALTHY;
        for (int j = 0; j < i; j++) d->joined[i][j] = d->joined[j][i] = draw(r, 0, (float)(d->n - 1)) < DEGREE;
    }
}

/* The graph that is copied, drawn again until as many nodes as in all others are exposed; how many copies. */
static int draw_graph(uint64_t seed, int64_t i, struct drawn_graph *d) {
    struct draws r = {.seed = seed, .stream = STREAMS + (uint64_t)i};
    const int copies = 1 + draw_index(&r, COPIES);
    d->n = LEAST + draw_index(&r, MOST - LEAST + 1);
    do draw_once(&r, d);
    while (exposed_in(d) != EXPOSED);
    return copies;
}

static void put_copy(const struct drawn_graph *d, heed_graph_data *g, struct edge_list *list) {
    for (int i = 0; i < d->n; i++) {
        g->column[g->nodes + i] = d->state[i];
        for (int j = 0; j < i; j++)
            if (d->joined[i][j])
                list->at[list->n++] =
                    (struct listed_edge){(int32_t)(g->nodes + j), (int32_t)(g->nodes + i), 1, list->n};
    }
    g->nodes += d->n;
}

static bool make_room(heed_ctx *cx, heed_graph_data *g, int64_t n) {
    static const struct word states[STATES] = {{"infected", 8}, {"healthy", 7}},
                             classes[COPIES] = {{"1", 1}, {"2", 1}, {"3", 1}, {"4", 1}};
    g->whole = true;
    g->classes = COPIES;
    g->columns = STATES;
    g->node_start = data_room(cx, n + 1, 1, sizeof *g->node_start);
    g->label = data_room(cx, n, 1, sizeof *g->label);
    g->column = data_room(cx, n, COPIES * MOST, sizeof *g->column);
    g->x_names = data_names(cx, states, STATES);
    g->class_names = data_names(cx, classes, COPIES);
    return !heed_failed(cx);
}

/* One feature of two is 1. */
static bool put_states(heed_ctx *cx, heed_graph_data *g) {
    g->width = STATES;
    g->x = data_room(cx, g->nodes, STATES, sizeof *g->x);
    for (int64_t i = 0; g->x && i < g->nodes; i++)
        for (int k = 0; k < STATES; k++) g->x[i * STATES + k] = g->column[i] == k;
    heed_mem_free(cx, g->column);
    g->column = NULL;
    return g->x;
}

heed_graph_data *heed_graph_copies(heed_ctx *cx, uint64_t seed, int64_t n) {
    if (heed_failed(cx)) return NULL;
    if (n < 1 || n > INT32_MAX / (COPIES * MOST))
        return heed_fail(cx, HEED_ERR_RANGE, "graph_copies: %lld graphs, 1 to %d can be drawn", (long long)n,
                         INT32_MAX / (COPIES * MOST)),
               NULL;
    heed_graph_data *const g = graph_new(cx);
    struct edge_list list = {.name = "copies", .unit = "edge"};
    struct drawn_graph d;
    list.at = g ? data_room(cx, n, COPIES * MOST * (MOST - 1) / 2, sizeof *list.at) : NULL;
    bool ok = list.at && make_room(cx, g, n);
    for (; ok && g->graphs < n && !heed_cancelled(cx); g->graphs++) {
        int copies = draw_graph(seed, g->graphs, &d);
        g->label[g->graphs] = copies - 1;
        g->node_start[g->graphs] = g->nodes;
        for (; copies > 0; copies--) put_copy(&d, g, &list);
    }
    ok = ok && !heed_failed(cx);
    if (ok) g->node_start[n] = g->nodes;
    ok = ok && put_states(cx, g) && graph_put_edges(cx, g, &list);
    heed_mem_free(cx, list.at);
    if (ok) return g;
    heed_graph_data_free(cx, g);
    return NULL;
}
