/* What families of graph networks share: layers of message passing, convs.i, each followed by a norm, an activation and
 * dropout, as in PyTorch Geometric's models; and heads for nodes, for whole graphs, and the body alone.
 *
 *     h_0 = x;   h_{l+1} = dropout(act(norm_l(conv_l(h_l))))
 *
 * Of nodes the last layer gives the logits, without norm and activation; of graphs it is like the others, and
 * logits = lin(pool(h_L)). Parameters: convs.i.…, norms.i.module.…, lin. */
#ifndef MODEL_GRAPHS_GRAPHS_H
#define MODEL_GRAPHS_GRAPHS_H

#include "heed/graphs.h"
#include "model/parts/parts.h"

/* Nodes on their way through the layers: numbers (N,C), or the features as a sparse matrix with its values. */
struct nodes {
    heed_tensor *x;
    const heed_graph *sparse; /* NULL: x */
    heed_tensor *values;      /* NULL: those of the matrix */
};

enum aggregation { AGGREGATE_SUM, AGGREGATE_MEAN, AGGREGATE_MAX };

struct graphs {
    const struct graph_kind *kind;
    int64_t in;
    int layers;
    bool all_active; /* the last layer is as the others */
    heed_activation act;
    float dropout, input_dropout;
    heed_graph_opts edges; /* how the family treats them; sources is not set */
    enum aggregation pooling;
    void *conv;                  /* (layers) of kind->size bytes, memory of the parameter set */
    heed_batch_norm_layer *norm; /* (layers); weight NULL: none */
    heed_linear_layer output;
};

struct conv_place {
    const char *name; /* "convs.0" */
    int number;
    int64_t in, out;
    bool maps_out; /* to the channels that come out of the model */
};

/* What tells a family from its kin. */
struct graph_kind {
    size_t size; /* of the struct of a layer */
    /* How edges are treated; NULL: as they are. */
    bool (*edges)(heed_ctx *cx, heed_json config, heed_graph_opts *to);
    bool (*make)(heed_ctx *cx, const heed_build *b, const struct conv_place *at, void *conv);
    /* (N,out) */
    heed_tensor *(*run)(heed_ctx *cx, const struct graphs *m, const void *conv, const struct nodes *nodes,
                        const heed_graph *g, int layer);
};

/* ---- for the families' layers ---- */

/* The product of all nodes with a layer's weight, and its bias. */
heed_tensor *nodes_linear(heed_ctx *cx, const heed_linear_layer *layer, const struct nodes *nodes);
/* The same without the bias. */
heed_tensor *nodes_product(heed_ctx *cx, const heed_linear_layer *layer, const struct nodes *nodes);
/* sum, which may be called add, mean or max */
enum aggregation graphs_aggregation(heed_ctx *cx, heed_json config, const char *key);
heed_tensor *graphs_aggregate(heed_ctx *cx, enum aggregation kind, heed_tensor *x, const heed_graph *g);
/* The layer's product with what the neighbours come to, and its bias: of a sum or mean the product comes first where
 * that makes rows shorter, which is the same but for rounding. */
heed_tensor *nodes_aggregate_linear(heed_ctx *cx, enum aggregation kind, const heed_linear_layer *layer,
                                    const struct nodes *nodes, const heed_graph *g);
/* A linear layer whose weight is drawn by Glorot & Bengio's rule. */
bool graphs_glorot(heed_ctx *cx, heed_params *set, const char *prefix, const char *name, int64_t in, int64_t out,
                   bool bias, heed_linear_layer *layer);
/* Does the config ask for batch norm? And such a layer: PREFIX.norms.N.module. */
bool graphs_normed(heed_ctx *cx, heed_json config);
bool graphs_norm(heed_ctx *cx, heed_params *set, const char *prefix, int number, int64_t width,
                 heed_batch_norm_layer *norm);
heed_param *graphs_bias(heed_ctx *cx, heed_params *set, const char *prefix, int64_t width);
heed_tensor *graphs_add_bias(heed_ctx *cx, heed_tensor *x, const heed_param *bias);

/* ---- for the families' records ---- */

bool graphs_build_bare(heed_ctx *cx, const heed_build *b, void *own);
bool graphs_build_nodes(heed_ctx *cx, const heed_build *b, void *own);
bool graphs_build_graphs(heed_ctx *cx, const heed_build *b, void *own);
bool graphs_forward_bare(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out);
bool graphs_forward_nodes(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out);
bool graphs_forward_graphs(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out);
bool graphs_sample_bare(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in);
bool graphs_sample_nodes(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in);
bool graphs_sample_graphs(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in);

extern const heed_key graphs_nodes_keys[], graphs_graphs_keys[];

#define GRAPH_KEYS(hidden)                                                                                             \
    {"in_channels", HEED_KEY_INT, NULL, "features of a node"},                                                         \
        {"hidden_channels", HEED_KEY_INT, hidden, "width of hidden layers"},                                           \
        {"num_layers", HEED_KEY_INT, "2", "number of layers, which is how many steps away a node sees"},               \
        {"act", HEED_KEY_TEXT, "relu", "activation, by its name: relu, elu, tanh, leaky_relu, ..."},                   \
        {"norm", HEED_KEY_TEXT_OR_NULL, "null", "before the activation: batch_norm, or null"},                         \
        {"dropout", HEED_KEY_NUMBER, "0", "behind the activation, while training"}, {                                  \
        "input_dropout", HEED_KEY_NUMBER, "0", "of the features of nodes, while training"                              \
    }

/* With `more` inputs, such as " edge_weight". */
#define GRAPH_HEADS(Name, more)                                                                                        \
    {Name "ForNodeClassification",                                                                                     \
     .tasks = "nodes",                                                                                                 \
     .inputs = "x edge_index" more " labels x_indptr x_indices x_values",                                              \
     .keys = graphs_nodes_keys,                                                                                        \
     .build = graphs_build_nodes,                                                                                      \
     .forward = graphs_forward_nodes,                                                                                  \
     .sample = graphs_sample_nodes},                                                                                   \
        {Name "ForGraphClassification",                                                                                \
         .tasks = "graphs",                                                                                            \
         .inputs = "x edge_index" more " batch labels x_indptr x_indices x_values",                                    \
         .keys = graphs_graphs_keys,                                                                                   \
         .build = graphs_build_graphs,                                                                                 \
         .forward = graphs_forward_graphs,                                                                             \
         .sample = graphs_sample_graphs},                                                                              \
        {Name "Model",                                                                                                 \
         .tasks = "",                                                                                                  \
         .inputs = "x edge_index" more " x_indptr x_indices x_values",                                                 \
         .bare = true,                                                                                                 \
         .build = graphs_build_bare,                                                                                   \
         .forward = graphs_forward_bare,                                                                               \
         .sample = graphs_sample_bare},                                                                                \
    {                                                                                                                  \
        .architecture = NULL                                                                                           \
    }
#define GRAPH_NOTES                                                                                                    \
    "edge_index is (2, edges): from, to; edges that are there twice count twice. Of whole graphs every layer is "      \
    "activated, then come pooling and lin, as with jk=\"last\" of PyTorch Geometric."

#endif
