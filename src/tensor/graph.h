/* Graphs as the ops see them. */
#ifndef TENSOR_GRAPH_H
#define TENSOR_GRAPH_H

#include "heed/graph.h"
#include "kernel/edges.h"
#include "kernel/neighbours.h"
#include "tensor/engine.h"

struct heed_graph {
    heed_graph_opts opts;
    int64_t edges, room;
    bool weighted;
    /* Of a step the tensors; else memory, which is borrowed anew every step. */
    heed_tensor *ints, *weights;
    int32_t *own_ints;
    float *own_weights;
};

/* What an op takes of a graph beside its sizes, as two more inputs: i32, and f32 or NULL. */
heed_tensor *graph_ints(heed_ctx *cx, const heed_graph *g);
heed_tensor *graph_weights(heed_ctx *cx, const heed_graph *g);

/* heed_graph_from_csr for this step alone. */
const heed_graph *graph_step_csr(heed_ctx *cx, heed_tensor *indptr, heed_tensor *indices, heed_tensor *values,
                                 int64_t columns);
/* Was it made like this, apart from edges? */
bool graph_fits(const heed_graph *g, const heed_graph_opts *o);
/* Its weights (room) in the order of the targets' rows; ones where it has none. */
heed_tensor *graph_values(heed_ctx *cx, const heed_graph *g);
/* The sum with weights (room) in the order of the targets' rows, with a gradient, in place of the graph's own. */
heed_tensor *graph_sum_sorted(heed_ctx *cx, heed_tensor *x, const heed_graph *g, heed_tensor *weight);

/* Attention to neighbours, static (x, a_src, a_dst) or dynamic (l, r, a), and its weights alpha (room,H) in the order
 * of the targets' rows, before dropout. */
heed_tensor *graph_attend(heed_ctx *cx, bool dynamic, heed_tensor *const nodes[3], const heed_graph *g, float slope,
                          float dropout, heed_tensor **alpha);

/* The sizes, as attributes of an op; its tensors are inputs `at` and at + 1. */
struct graph_sizes {
    int64_t sources, targets, room;
};
static inline struct graph_sizes graph_sizes(const heed_graph *g) {
    return (struct graph_sizes){g->opts.sources, g->opts.targets, g->room};
}
struct edges graph_edges(const heed_op_call *c, const struct graph_sizes *s, int at);
/* Rows of the neighbours of targets, and of sources, with the graph's weights. */
struct neighbours graph_in(const struct edges *e);
struct neighbours graph_out(const struct edges *e);

#endif
