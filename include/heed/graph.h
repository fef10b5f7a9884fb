/* heed/graph.h: the edges of a graph, and message passing along them.
 *
 * A graph is a list of edges, edge_index (2,E): row 0 holds the node that each edge comes from, row 1 the node that it
 * goes to, as in PyTorch Geometric. Edges that are there twice count twice. Before use it is sorted (CSR), by target
 * for sums and by source for their gradients, so that no op holds a number for each edge and channel. The order within
 * a row is by the neighbour's number, then by weight: results have the same bits whatever the order of the edges in a
 * file.
 *
 * heed_graph_new sorts once, for steps that all use one graph; heed_graph_step sorts for this step alone. A graph is
 * never changed, and any number of contexts may use it at once. */
#ifndef HEED_GRAPH_H
#define HEED_GRAPH_H

#include "heed/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct heed_graph heed_graph;

typedef enum heed_graph_loops {
    HEED_LOOPS_KEEP,      /* edges from a node to itself are as they are given */
    HEED_LOOPS_REMAINING, /* every node has exactly one: its own last one with its weight, else a new one (GCN) */
    HEED_LOOPS_FRESH,     /* those that are given are dropped, and every node gets a new one (GAT) */
} heed_graph_loops;
typedef struct heed_graph_opts {
    int64_t sources, targets; /* nodes that edges come from and go to; targets 0: the same nodes */
    heed_graph_loops loops;
    float loop_weight; /* of a new loop, where edges have weights: without, all weigh 1; 0: 1 */
    bool normalize;    /* the weight w of an edge from j to i becomes w / sqrt(d_j d_i), where d_i is the sum of the
                        * weights of the edges to i (Kipf & Welling 2017); where d is 0 it becomes 0 */
} heed_graph_opts;

/* edge_index: 2 E numbers, the first E of which are the sources; weight: E numbers, or NULL. Both are read at once, and
 * may go. A node that is not there is a sentence. */
HEED_API heed_graph *heed_graph_new(heed_ctx *cx, const int32_t *edge_index, const float *weight, int64_t edges,
                                    const heed_graph_opts *opts);
/* A sparse matrix (rows,columns) in the layout that SciPy's csr_matrix has, as a graph from its columns to its rows:
 * heed_graph_sum of (columns,C) is the product with it. indptr: rows + 1 numbers; values NULL: ones. */
HEED_API heed_graph *heed_graph_from_csr(heed_ctx *cx, const int32_t *indptr, const int32_t *indices,
                                         const float *values, int64_t rows, int64_t columns);
HEED_API void heed_graph_free(heed_ctx *cx, heed_graph *g); /* after the last step that used it was reset */
/* The same from tensors, edge_index i32 (2,E) and weight f32 (E) or NULL: a graph that goes with the step's tensors, in
 * the scope in which it was made. The weight gets no gradient. */
HEED_API const heed_graph *heed_graph_step(heed_ctx *cx, heed_tensor *edge_index, heed_tensor *weight,
                                           const heed_graph_opts *opts);
HEED_API int64_t heed_graph_sources(const heed_graph *g);
HEED_API int64_t heed_graph_targets(const heed_graph *g);
/* Edges with loops: those that there are at most (E + nodes) where loops are added. */
HEED_API int64_t heed_graph_room(const heed_graph *g);

/* ---- aggregation ---- x (sources,C) -> y (targets,C); a node that no edge goes to gets 0.
 *
 * weight: f32 (E), one for each edge in the order in which the edges were given, with a gradient: only of graphs that
 * keep their loops and are not normalised. NULL: the graph's own weights, and 1 where it has none. */
HEED_API heed_tensor *heed_graph_sum(heed_ctx *cx, heed_tensor *x, const heed_graph *g, heed_tensor *weight);
HEED_API heed_tensor *heed_graph_mean(heed_ctx *cx, heed_tensor *x, const heed_graph *g, heed_tensor *weight);
/* Of the graph's own weights; ties share the gradient evenly, as in PyTorch. */
HEED_API heed_tensor *heed_graph_max(heed_ctx *cx, heed_tensor *x, const heed_graph *g);

/* ---- attention to neighbours ---- of each head; a node that no edge goes to gets 0
 *
 *     e_k = leaky_relu(att_src . x_j + att_dst . x_i),   alpha_k = softmax of e_k over the edges k from j to i
 *     y_i = sum_k dropout(alpha_k) x_j                          static: GAT (Velickovic et al. 2018)
 *
 * The dynamic kind (GATv2, Brody et al. 2022): e_k = att . leaky_relu(l_j + r_i),  y_i = sum_k dropout(alpha_k) l_j. */
typedef struct heed_graph_attention_opts {
    float negative_slope; /* of leaky_relu */
    float dropout;        /* of the weights, while training */
    int layer;            /* as what heed_capture_edges_at gives the weights */
} heed_graph_attention_opts;
/* x (N,H,C), att_src and att_dst (H,C) or (1,H,C) -> y (N,H,C). */
HEED_API heed_tensor *heed_graph_attention(heed_ctx *cx, heed_tensor *x, heed_tensor *att_src, heed_tensor *att_dst,
                                           const heed_graph *g, const heed_graph_attention_opts *opts);
HEED_API heed_tensor *heed_graph_attention_v2(heed_ctx *cx, heed_tensor *l, heed_tensor *r, heed_tensor *att,
                                              const heed_graph *g, const heed_graph_attention_opts *opts);

/* The weights of each edge and head, of every layer that ran while attention was captured (heed_capture_begin),
 * whatever site, heads or rows were asked for; layers are. They live until heed_capture_end, in PyTorch Geometric's
 * order: that of the edges given, without the loops that were dropped, then the loops that were added, by node. */
typedef struct heed_captured_edges {
    int layer;
    int64_t edges, heads;
    const int32_t *from, *to; /* (edges), one behind the other: from is edge_index, (2,edges), too */
    const float *weights;     /* (edges,heads) */
} heed_captured_edges;
HEED_API int heed_capture_edges_count(const heed_ctx *cx);
HEED_API const heed_captured_edges *heed_capture_edges_at(const heed_ctx *cx, int i); /* NULL: out of range */

#ifdef __cplusplus
}
#endif
#endif
