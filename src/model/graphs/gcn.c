/* Graph convolutional networks (Kipf & Welling 2017).
 *
 *     H' = D^-1/2 (A + I) D^-1/2 H W' + b
 *
 * A: weights of edges, 1 where there are none; D: the sums of the rows of A + I. A loop that is there already keeps its
 * weight and gets no other. */
#include "model/core/families.h"
#include "model/graphs/graphs.h"

struct gcn_conv {
    heed_linear_layer lin;
    heed_param *bias;
};

static const heed_key gcn_keys[] = {
    GRAPH_KEYS("16"),
    {"normalize", HEED_KEY_BOOL, "true", "D^-1/2 on both sides; false: the sum of the neighbours, without loops"},
    {"add_self_loops", HEED_KEY_BOOL_OR_NULL, "null", "I is added; null: as normalize says"},
    {"improved", HEED_KEY_BOOL, "false",
     "2 I in place of I, where edges have weights: without, it is I, as in PyTorch Geometric"},
    END_OF_KEYS,
};

static bool gcn_edges(heed_ctx *cx, heed_json config, heed_graph_opts *to) {
    const heed_json loops = heed_json_find(cx, config, "add_self_loops");
    to->normalize = heed_json_bool(cx, config, "normalize");
    const bool adds =
        heed_json_kind_of(loops) == HEED_JSON_NULL ? to->normalize : heed_json_bool(cx, config, "add_self_loops");
    if (heed_failed(cx)) return false;
    if (adds && !to->normalize)
        return heed_json_fail(cx, loops, "loops are added only where normalize is true, as in PyTorch Geometric");
    if (adds) to->loops = HEED_LOOPS_REMAINING;
    to->loop_weight = heed_json_bool(cx, config, "improved") ? 2 : 1;
    return !heed_failed(cx);
}

static bool gcn_make(heed_ctx *cx, const heed_build *b, const struct conv_place *at, void *conv) {
    struct gcn_conv *const c = conv;
    c->bias = graphs_bias(cx, b->params, at->name, at->out);
    return c->bias && graphs_glorot(cx, b->params, at->name, "lin", at->in, at->out, false, &c->lin);
}

static heed_tensor *gcn_run(heed_ctx *cx, const struct graphs *m, const void *conv, const struct nodes *nodes,
                            const heed_graph *g, int layer) {
    const struct gcn_conv *const c = conv;
    (void)m, (void)layer;
    return graphs_add_bias(cx, heed_graph_sum(cx, nodes_product(cx, &c->lin, nodes), g, NULL), c->bias);
}

static const struct graph_kind gcn = {sizeof(struct gcn_conv), gcn_edges, gcn_make, gcn_run};

static const heed_head gcn_heads[] = {GRAPH_HEADS("GCN", " edge_weight")};

const heed_family family_gcn = {
    .name = "gcn",
    .type = "heed-gcn",
    .paper = "Kipf & Welling 2017",
    .summary = "graph convolution: the weighted mean of neighbours, normalised by degrees",
    .notes =
        "Parameters: convs.N.lin.weight (out, in), convs.N.bias, as of torch_geometric.nn.models.GCN. " GRAPH_NOTES,
    .keys = gcn_keys,
    .heads = gcn_heads,
    .kind = &gcn,
    .size = sizeof(struct graphs),
};
