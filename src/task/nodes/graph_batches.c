/* Graphs as inputs of models. */
#include "task/nodes/graph_batches.h"
#include "base/ctx.h"
#include "data/data.h"

#include <stdlib.h>
#include <string.h>

heed_tensor *graph_numbers(heed_ctx *cx, heed_dtype type, const void *at, int rank, const int64_t *shape) {
    return cx->config.dry ? heed_zeros(cx, type, rank, shape) : heed_borrow(cx, type, at, rank, shape, NULL);
}

/* ---- one graph ---- */

bool one_graph_make(heed_ctx *cx, const heed_model *model, const heed_graph_data *g, struct one_graph *to) {
    *to = (struct one_graph){.g = g, .edges = heed_model_graph(cx, model, g->edge, g->weight, g->edges, g->nodes)};
    if (g->start) to->features = heed_graph_from_csr(cx, g->start, g->column, g->value, g->nodes, g->width);
    return !heed_failed(cx);
}

void one_graph_free(heed_ctx *cx, struct one_graph *o) {
    heed_graph_free(cx, o->features);
    heed_graph_free(cx, o->edges);
    *o = (struct one_graph){0};
}

bool one_graph_put(heed_ctx *cx, const struct one_graph *o, heed_io *in) {
    *in = (heed_io){.graph = o->edges, .features = o->features};
    return o->features ||
           heed_io_put(cx, in, "x", graph_numbers(cx, HEED_F32, o->g->x, 2, (int64_t[]){o->g->nodes, o->g->width}));
}

/* ---- batches ---- */

static int64_t nodes_of(const heed_graph_data *g, int64_t i) { return g->node_start[i + 1] - g->node_start[i]; }
static int64_t edges_of(const heed_graph_data *g, int64_t i) { return g->edge_start[i + 1] - g->edge_start[i]; }
static int64_t features_of(const heed_graph_data *g, int64_t i) {
    return g->start ? g->start[g->node_start[i + 1]] - g->start[g->node_start[i]] : 0;
}

static int falling(const void *x, const void *y) {
    const int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return (a < b) - (a > b);
}

/* The sum over the `most` graphs that have most of something; `room` (n). */
static int64_t largest(const heed_graph_data *g, const int64_t *rows, int64_t n, int64_t most,
                       int64_t (*of)(const heed_graph_data *, int64_t), int64_t *room) {
    int64_t sum = 0;
    for (int64_t i = 0; i < n; i++) room[i] = of(g, rows ? rows[i] : i);
    qsort(room, (size_t)n, sizeof *room, falling);
    for (int64_t i = 0; i < most && i < n; i++) sum += room[i];
    return sum;
}

bool graph_batch_make(heed_ctx *cx, const heed_graph_data *g, const int64_t *rows, int64_t n, int64_t most,
                      struct graph_batch *b) {
    *b = (struct graph_batch){.g = g, .weighted = g->weight, .labelled = g->label, .most_graphs = most};
    int64_t *const room = data_room(cx, n, 1, sizeof *room);
    if (!room) return false;
    b->most_nodes = largest(g, rows, n, most, nodes_of, room);
    b->most_edges = largest(g, rows, n, most, edges_of, room);
    b->most_features = largest(g, rows, n, most, features_of, room);
    heed_mem_free(cx, room);
    b->edge = data_room(cx, b->most_edges, 2, sizeof *b->edge);
    b->of = data_room(cx, b->most_nodes, 1, sizeof *b->of);
    if (b->labelled) b->label = data_room(cx, most, 1, sizeof *b->label);
    if (b->weighted) b->weight = data_room(cx, b->most_edges, 1, sizeof *b->weight);
    if (g->start) {
        b->start = data_room(cx, b->most_nodes + 1, 1, sizeof *b->start);
        b->column = data_room(cx, b->most_features, 1, sizeof *b->column);
        b->value = data_room(cx, b->most_features, 1, sizeof *b->value);
    } else {
        b->x = data_room(cx, b->most_nodes, g->width, sizeof *b->x);
    }
    return !heed_failed(cx);
}

void graph_batch_free(heed_ctx *cx, struct graph_batch *b) {
    void *const parts[] = {b->edge, b->of, b->label, b->start, b->column, b->weight, b->x, b->value};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) heed_mem_free(cx, parts[i]);
    *b = (struct graph_batch){0};
}

static void add_features(struct graph_batch *b, int64_t node, int64_t n) {
    const heed_graph_data *const g = b->g;
    if (!g->start) {
        memcpy(b->x + b->nodes * g->width, g->x + node * g->width, (size_t)(n * g->width) * sizeof *b->x);
        return;
    }
    const int32_t first = g->start[node], count = g->start[node + n] - first;
    memcpy(b->column + b->features, g->column + first, (size_t)count * sizeof *b->column);
    memcpy(b->value + b->features, g->value + first, (size_t)count * sizeof *b->value);
    for (int64_t i = 1; i <= n; i++) b->start[b->nodes + i] = g->start[node + i] - first + (int32_t)b->features;
    b->features += count;
}

static void add_graph(struct graph_batch *b, int64_t i, int64_t all_edges) {
    const heed_graph_data *const g = b->g;
    const int64_t node = g->node_start[i], edge = g->edge_start[i], n = nodes_of(g, i), edges = edges_of(g, i);
    const int32_t shift = (int32_t)(b->nodes - node);
    for (int64_t k = 0; k < edges; k++) {
        b->edge[b->edges + k] = g->edge[edge + k] + shift;
        b->edge[all_edges + b->edges + k] = g->edge[g->edges + edge + k] + shift;
        if (b->weighted) b->weight[b->edges + k] = g->weight[edge + k];
    }
    for (int64_t k = 0; k < n; k++) b->of[b->nodes + k] = (int32_t)b->graphs;
    if (b->labelled) b->label[b->graphs] = g->label[i];
    add_features(b, node, n);
    b->nodes += n;
    b->edges += edges;
    b->graphs++;
}

void graph_batch_fill(struct graph_batch *b, const int64_t *rows, int64_t n) {
    int64_t edges = 0;
    b->graphs = b->nodes = b->edges = b->features = 0;
    if (b->start) b->start[0] = 0;
    for (int64_t i = 0; i < n; i++) edges += edges_of(b->g, rows[i]);
    for (int64_t i = 0; i < n; i++) add_graph(b, rows[i], edges);
}

void graph_batch_fill_up(struct graph_batch *b, int64_t n) {
    b->graphs = n;
    b->nodes = b->most_nodes;
    b->edges = b->most_edges;
    b->features = b->most_features;
}

bool graph_batch_put(heed_ctx *cx, const struct graph_batch *b, heed_io *in) {
    const int64_t edges[] = {2, b->edges}, x[] = {b->nodes, b->g->width}, starts = b->nodes + 1;
    *in = (heed_io){0};
    if (b->start && (!heed_io_put(cx, in, "x_indptr", graph_numbers(cx, HEED_I32, b->start, 1, &starts)) ||
                     !heed_io_put(cx, in, "x_indices", graph_numbers(cx, HEED_I32, b->column, 1, &b->features)) ||
                     !heed_io_put(cx, in, "x_values", graph_numbers(cx, HEED_F32, b->value, 1, &b->features))))
        return false;
    return (b->start || heed_io_put(cx, in, "x", graph_numbers(cx, HEED_F32, b->x, 2, x))) &&
           heed_io_put(cx, in, "edge_index", graph_numbers(cx, HEED_I32, b->edge, 2, edges)) &&
           (!b->weighted || heed_io_put(cx, in, "edge_weight", graph_numbers(cx, HEED_F32, b->weight, 1, &b->edges))) &&
           heed_io_put(cx, in, "batch", graph_numbers(cx, HEED_I32, b->of, 1, &b->nodes)) &&
           (!b->labelled || heed_io_put(cx, in, "labels", graph_numbers(cx, HEED_I32, b->label, 1, &b->graphs)));
}
