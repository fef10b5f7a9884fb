/* The graph network of the course: each node by itself, and its neighbours, whoever they are (Morris et al. 2019).
 *
 *     x_i' = W_root x_i + W_rel sum_j w_ij x_j + b        over the edges from j to i
 *
 * Without order among neighbours they share one matrix; a convolution of a line has one for each offset. */
#include "model/core/families.h"
#include "model/graphs/graphs.h"

struct graphconv {
    heed_linear_layer rel, root;
    enum aggregation aggr;
};

static const heed_key graphconv_keys[] = {
    GRAPH_KEYS("16"),
    {"aggr", HEED_KEY_TEXT, "add", "what neighbours come to: add (or sum), mean or max"},
    END_OF_KEYS,
};

static bool graphconv_make(heed_ctx *cx, const heed_build *b, const struct conv_place *at, void *conv) {
    struct graphconv *const c = conv;
    c->aggr = graphs_aggregation(cx, b->config, "aggr");
    return heed_linear_make(cx, b->params, part_under(cx, at->name, "lin_rel").s, at->in, at->out, true, &c->rel) &&
           heed_linear_make(cx, b->params, part_under(cx, at->name, "lin_root").s, at->in, at->out, false, &c->root);
}

static heed_tensor *graphconv_run(heed_ctx *cx, const struct graphs *m, const void *conv, const struct nodes *nodes,
                                  const heed_graph *g, int layer) {
    const struct graphconv *const c = conv;
    (void)m, (void)layer;
    heed_tensor *const neighbours = nodes_aggregate_linear(cx, c->aggr, &c->rel, nodes, g);
    return heed_add(cx, neighbours, nodes_linear(cx, &c->root, nodes));
}

static const struct graph_kind graphconv = {sizeof(struct graphconv), NULL, graphconv_make, graphconv_run};

static const heed_head graphconv_heads[] = {GRAPH_HEADS("GraphConv", " edge_weight")};

const heed_family family_graphconv = {
    .name = "graphconv",
    .type = "heed-graphconv",
    .paper = "Morris et al. 2019",
    .summary = "one matrix for a node itself, and one for all of its neighbours",
    .notes = "Parameters: convs.N.lin_rel.weight and bias, of the neighbours, and convs.N.lin_root.weight, as of "
             "torch_geometric.nn.GraphConv in a model of layers. " GRAPH_NOTES,
    .keys = graphconv_keys,
    .heads = graphconv_heads,
    .kind = &graphconv,
    .size = sizeof(struct graphs),
};
