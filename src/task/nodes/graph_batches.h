/* Graphs as inputs of models: one graph for many steps, or batches of some graphs out of many. */
#ifndef TASK_NODES_GRAPH_BATCHES_H
#define TASK_NODES_GRAPH_BATCHES_H

#include "heed/graph_data.h"
#include "heed/graphs.h"

/* ---- all of it, as one graph ---- its edges and sparse features are sorted once */

struct one_graph {
    const heed_graph_data *g;
    heed_graph *edges, *features; /* features NULL: they are dense */
};
bool one_graph_make(heed_ctx *cx, const heed_model *model, const heed_graph_data *g, struct one_graph *to);
void one_graph_free(heed_ctx *cx, struct one_graph *o);
bool one_graph_put(heed_ctx *cx, const struct one_graph *o, heed_io *in);

/* ---- batches ---- some graphs side by side: a graph with a block of edges for each */

struct graph_batch {
    const heed_graph_data *g;
    bool weighted, labelled;
    int64_t graphs, nodes, edges, features; /* in it now; features: of sparse rows */
    int64_t most_graphs, most_nodes, most_edges, most_features;
    int32_t *edge, *of, *label, *start, *column;
    float *weight, *x, *value;
};
/* Room for any `most` of these graphs (rows NULL: all n); closed with graph_batch_free, also when it failed. */
bool graph_batch_make(heed_ctx *cx, const heed_graph_data *g, const int64_t *rows, int64_t n, int64_t most,
                      struct graph_batch *b);
void graph_batch_free(heed_ctx *cx, struct graph_batch *b);
void graph_batch_fill(struct graph_batch *b, const int64_t *rows, int64_t n);
/* Takes all the room, for plans. */
void graph_batch_fill_up(struct graph_batch *b, int64_t n);
/* Its inputs, with labels where the graphs have them. */
bool graph_batch_put(heed_ctx *cx, const struct graph_batch *b, heed_io *in);

/* Numbers that a step borrows, or in a dry context their shape. */
heed_tensor *graph_numbers(heed_ctx *cx, heed_dtype type, const void *at, int rank, const int64_t *shape);

#endif
