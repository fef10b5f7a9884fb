/* Graphs as the loop's source: one graph whose nodes are classified, or batches of graphs. */
#ifndef TASK_NODES_GRAPH_TRAINING_H
#define TASK_NODES_GRAPH_TRAINING_H

#include "heed/loop.h"
#include "task/nodes/graph_batches.h"

enum graph_set { GRAPH_SET_TRAIN, GRAPH_SET_VALID, GRAPH_SET_TEST, GRAPH_SETS };

struct graph_training_opts {
    const heed_graph_data *g;
    const heed_model *model; /* like the one to train, for how it wants edges sorted; it may be dry */
    const int64_t *rows[GRAPH_SETS];
    int64_t n[GRAPH_SETS];
    int64_t batch, micro_batch; /* of graphs; micro 0: the batch */
    uint64_t seed;
    const char *settings[8][2]; /* further ones that a checkpoint must agree with: name and value; NULL at the end */
};
struct graph_training;
/* What opts points to must stay until it is freed, but for the model. */
struct graph_training *graph_training_new(heed_ctx *cx, const struct graph_training_opts *opts);
void graph_training_free(heed_ctx *cx, struct graph_training *t);
const heed_loop_source *graph_training_source(const struct graph_training *t);

#endif
