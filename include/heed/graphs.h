/* heed/graphs.h: models of graphs.
 *
 * What they take, by name: x f32 (N,in_channels), the features of nodes; edge_index i32 (2,E), from and to; edge_weight
 * f32 (E), of families that have it; batch i32 (N), the graph of each node, of heads that look at whole graphs (absent:
 * all are one graph); labels i32, one for each node or graph, where -100 does not count.
 *
 * Sparse features. In place of x, x_indptr i32 (N+1), x_indices i32 (nonzeros) and x_values f32 (nonzeros; absent:
 * ones) are its rows as SciPy's csr_matrix has them: the first layer then takes time for the nonzeros alone, and
 * input_dropout drops among them.
 *
 * Many steps on one graph. Sorting the edges anew in each step is a waste: heed_model_graph sorts them once, as the
 * model's family wants them, heed_graph_from_csr the features, and a step has them as in->graph and in->features. */
#ifndef HEED_GRAPHS_H
#define HEED_GRAPHS_H

#include "heed/graph.h"
#include "heed/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* edge_index: 2 E numbers, the sources first; weight: E numbers, or NULL. Freed with heed_graph_free. It serves all
 * models whose family treats loops and weights alike, whatever their other sizes. */
HEED_API heed_graph *heed_model_graph(heed_ctx *cx, const heed_model *m, const int32_t *edge_index, const float *weight,
                                      int64_t edges, int64_t nodes);

#ifdef __cplusplus
}
#endif
#endif
