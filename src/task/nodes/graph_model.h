/* What models of graphs predict, and how good that is. */
#ifndef TASK_NODES_GRAPH_MODEL_H
#define TASK_NODES_GRAPH_MODEL_H

#include "heed/graph_model.h"
#include "heed/loop.h"
#include "task/nodes/graph_batches.h"

/* What an evaluation asks for, of some nodes or graphs (rows, n): the mean loss and the accuracy, and into `predicted`
 * (n; NULL: not wanted) the likeliest classes. */
struct graph_measure {
    const int64_t *rows;
    int64_t n;
    heed_score *score;
    int32_t *predicted;
};
/* Of one graph whose nodes are classified; `label` (nodes) is room for the labels of the rows alone. */
bool graph_measure_nodes(heed_ctx *cx, const heed_model *model, const struct one_graph *o, int32_t *label,
                         const struct graph_measure *m);
/* Of whole graphs, as many at a time as the batch has room for. */
bool graph_measure_graphs(heed_ctx *cx, const heed_model *model, struct graph_batch *b, const struct graph_measure *m);

/* Runs the model as it is when it is used; without labels there is no loss. */
bool graph_run(heed_ctx *cx, const heed_model *model, const heed_io *in, heed_io *out);

/* What a config says beside the names of columns and classes. */
#define GRAPH_KEY_FEATURES  "node_features"      /* "given", "identity", "degree" or "constant" */
#define GRAPH_KEY_NORMALIZE "normalize_features" /* rows sum to 1 */
#define GRAPH_KEY_DIRECTED  "directed_edges"
heed_graph_data *graph_config_data(heed_ctx *cx, heed_json config, bool whole);

#endif
