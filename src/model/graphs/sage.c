/* GraphSAGE (Hamilton et al. 2017).
 *
 *     x_i' = W_l mean_j x_j + b + W_r x_i        over the edges from j to i;  normalize: over its length
 *
 * With `project` the neighbours' x_j are relu(W x_j + b') first. */
#include "model/core/families.h"
#include "model/graphs/graphs.h"
#include <math.h>

struct sage_conv {
    heed_linear_layer lin, l, r; /* lin.weight NULL: no projection; r.weight NULL: the node itself is not seen */
    enum aggregation aggr;
    bool normalize;
};

static const heed_key sage_keys[] = {
    GRAPH_KEYS("16"),
    {"aggr", HEED_KEY_TEXT, "mean", "what neighbours come to: mean, max or sum (or add)"},
    {"normalize", HEED_KEY_BOOL, "false", "what a layer gives for a node has length 1"},
    {"root_weight", HEED_KEY_BOOL, "true", "a node sees itself, by a matrix of its own"},
    {"project", HEED_KEY_BOOL, "false", "neighbours go through a linear layer and relu before they are aggregated"},
    END_OF_KEYS,
};

static bool sage_make(heed_ctx *cx, const heed_build *b, const struct conv_place *at, void *conv) {
    struct sage_conv *const c = conv;
    c->aggr = graphs_aggregation(cx, b->config, "aggr");
    c->normalize = heed_json_bool(cx, b->config, "normalize");
    const bool root = heed_json_bool(cx, b->config, "root_weight"), project = heed_json_bool(cx, b->config, "project");
    if (heed_failed(cx)) return false;
    if (project && !heed_linear_make(cx, b->params, part_under(cx, at->name, "lin").s, at->in, at->in, true, &c->lin))
        return false;
    if (!heed_linear_make(cx, b->params, part_under(cx, at->name, "lin_l").s, at->in, at->out, true, &c->l))
        return false;
    return !root || heed_linear_make(cx, b->params, part_under(cx, at->name, "lin_r").s, at->in, at->out, false, &c->r);
}

/* x / max(|x|, 1e-12) of each row */
static heed_tensor *unit_rows(heed_ctx *cx, heed_tensor *x) {
    heed_tensor *const length = heed_norm(cx, x, 2, (const int[]){-1}, 1, true);
    return heed_div(cx, x, heed_clamp(cx, length, 1e-12F, HUGE_VALF));
}

static heed_tensor *sage_run(heed_ctx *cx, const struct graphs *m, const void *conv, const struct nodes *nodes,
                             const heed_graph *g, int layer) {
    const struct sage_conv *const c = conv;
    struct nodes others = *nodes;
    (void)m, (void)layer;
    if (c->lin.weight) others = (struct nodes){.x = heed_activate(cx, nodes_linear(cx, &c->lin, nodes), HEED_ACT_RELU)};
    heed_tensor *y = nodes_aggregate_linear(cx, c->aggr, &c->l, &others, g);
    if (c->r.weight) y = heed_add(cx, y, nodes_linear(cx, &c->r, nodes));
    return c->normalize ? unit_rows(cx, y) : y;
}

static const struct graph_kind sage = {sizeof(struct sage_conv), NULL, sage_make, sage_run};

static const heed_head sage_heads[] = {GRAPH_HEADS("GraphSAGE", "")};

const heed_family family_sage = {
    .name = "sage",
    .type = "heed-sage",
    .paper = "Hamilton et al. 2017",
    .summary = "GraphSAGE: the mean or the largest of neighbours, beside the node itself",
    .notes = "Parameters: convs.N.lin_l.weight and bias, of the neighbours, convs.N.lin_r.weight, and with project "
             "convs.N.lin, as of torch_geometric.nn.models.GraphSAGE. " GRAPH_NOTES,
    .keys = sage_keys,
    .heads = sage_heads,
    .kind = &sage,
    .size = sizeof(struct graphs),
};
