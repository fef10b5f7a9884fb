/* Graph networks: training steps on a graph as large as Cora, and one layer on a large one. */
#include "heed/graphs.h"
#include "bench.h"

/* Cora's sizes: nodes, features of which 1.3 % are ones, edges one way, classes. */
enum { NODES = 2708, FEATURES = 1433, EDGES = 5278, CLASSES = 7, ONES = 18 };

static heed_graph *graph, *features;

static void close_graphs(struct bench *b) {
    heed_graph_free(b->cx, graph);
    heed_graph_free(b->cx, features);
    graph = features = NULL;
}

/* Rows of ONES ones each, as (nodes,FEATURES) numbers or as a sparse matrix. */
static void make_features(struct bench *b, bool sparse) {
    int32_t *const columns = class_ids(b->cx, NODES * ONES, FEATURES);
    int32_t *const starts = class_ids(b->cx, NODES + 1, 2);
    b->x = numbers(b->cx, NODES * FEATURES, 0);
    for (int64_t i = 0; i < NODES * FEATURES; i++) b->x[i] = 0;
    for (int64_t i = 0; i < NODES * ONES; i++) b->x[i / ONES * FEATURES + columns[i]] = 1;
    for (int64_t i = 0; i <= NODES; i++) starts[i] = (int32_t)(i * ONES);
    if (sparse) features = heed_graph_from_csr(b->cx, starts, columns, NULL, NODES, FEATURES);
    heed_mem_free(b->cx, columns);
    heed_mem_free(b->cx, starts);
}

/* Edges among `nodes`, of which all that come in the second half are the first half's, turned round. */
static int32_t *draw_edges(struct bench *b, int64_t nodes, int64_t edges, bool both_ways) {
    int32_t *const index = class_ids(b->cx, 2 * edges, nodes);
    for (int64_t i = 0; both_ways && i < edges / 2; i++) {
        index[edges / 2 + i] = index[edges + i];
        index[edges + edges / 2 + i] = index[i];
    }
    return index;
}

/* k: 1 of sparse features */
static void train_setup(struct bench *b, const char *family, const char *const *settings, int n, double lr) {
    close_graphs(b);
    const heed_family *const f = heed_family_find(family);
    b->model = heed_model_new_as(b->cx, f, heed_head_for(f, "nodes"), settings, n, 1);
    const heed_trainer_opts opts = {.optimizer = {.kind = HEED_ADAM, .weight_decay = 5e-4}, .schedule = {.lr = lr}};
    if (b->model) b->trainer = heed_trainer_new(b->cx, heed_model_params(b->model), &opts);
    make_features(b, b->k == 1);
    int32_t *const index = draw_edges(b, NODES, 2 * EDGES, true);
    graph = heed_model_graph(b->cx, b->model, index, NULL, 2 * EDGES, NODES);
    heed_mem_free(b->cx, index);
    b->ids = class_ids(b->cx, NODES, CLASSES);
    for (int64_t i = 140; i < NODES; i++) b->ids[i] = -100;
    heed_set_training(b->cx, true);
}

static void train(struct bench *b) {
    heed_io in = {.graph = graph, .features = features}, out;
    heed_trainer_begin(b->cx, b->trainer);
    if (!features)
        heed_io_put(b->cx, &in, "x", heed_borrow(b->cx, HEED_F32, b->x, 2, (int64_t[]){NODES, FEATURES}, NULL));
    heed_io_put(b->cx, &in, "labels", heed_borrow(b->cx, HEED_I32, b->ids, 1, (int64_t[]){NODES}, NULL));
    heed_model_forward(b->cx, b->model, &in, &out);
    heed_backward(b->cx, heed_io_get(&out, "loss"));
    heed_trainer_step(b->cx, b->trainer, NULL);
}

static void gcn_setup(struct bench *b) {
    static const char *const settings[] = {"in_channels=1433", "hidden_channels=16", "out_channels=7", "dropout=0.5",
                                           "input_dropout=0.5"};
    train_setup(b, "gcn", settings, 5, 0.01);
}

static void gat_setup(struct bench *b) {
    static const char *const settings[] = {"in_channels=1433", "hidden_channels=64", "out_channels=7",
                                           "heads=8",          "out_heads=1",        "dropout=0.6",
                                           "act=elu",          "input_dropout=0.6"};
    train_setup(b, "gat", settings, 8, 0.005);
}

/* One GCN layer: m nodes, n edges, k wide; forward and backward, of x and of all weights. */
static void layer_setup(struct bench *b) {
    close_graphs(b);
    int32_t *const index = draw_edges(b, b->m, b->n, false);
    graph = heed_graph_new(b->cx, index, NULL, b->n,
                           &(heed_graph_opts){.sources = b->m, .loops = HEED_LOOPS_REMAINING, .normalize = true});
    heed_mem_free(b->cx, index);
    b->x = numbers(b->cx, b->m * b->k, 0);
    b->dy = numbers(b->cx, b->m * b->k, 1);
    b->w = numbers(b->cx, b->k * b->k, 2);
    b->b = numbers(b->cx, b->k, 3);
    b->grad = numbers(b->cx, b->m * b->k + b->k * b->k + b->k, 4);
    b->slot[0].data = b->grad;
    b->slot[1].data = b->grad + b->m * b->k;
    b->slot[2].data = b->slot[1].data + b->k * b->k;
}
static void layer(struct bench *b) {
    const int64_t nodes[] = {b->m, b->k}, square[] = {b->k, b->k};
    for (int i = 0; i < 3; i++) b->slot[i].filled = false;
    heed_tensor *const x = heed_borrow(b->cx, HEED_F32, b->x, 2, nodes, &b->slot[0]);
    heed_tensor *const w = heed_borrow(b->cx, HEED_F32, b->w, 2, square, &b->slot[1]);
    heed_tensor *const bias = heed_borrow(b->cx, HEED_F32, b->b, 1, &b->k, &b->slot[2]);
    heed_tensor *const y = heed_add(b->cx, heed_graph_sum(b->cx, heed_linear(b->cx, x, w, NULL), graph, NULL), bias);
    heed_backward_from(b->cx, y, heed_borrow(b->cx, HEED_F32, b->dy, 2, nodes, NULL));
}

void graphs_close(struct bench *b) { close_graphs(b); }

const struct workload graphs_workloads[] = {
    {"gcn_epoch", gcn_setup, train, false},
    {"gat_epoch", gat_setup, train, false},
    {"gcn_layer", layer_setup, layer, false},
    {"gcn_layer_matrix", layer_setup, layer, false}, /* beside another peer */
    {0},
};
