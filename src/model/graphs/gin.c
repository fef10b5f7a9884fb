/* Graph isomorphism networks (Xu et al. 2019): as good as the Weisfeiler-Lehman test at telling graphs apart, since a
 * sum, unlike a mean or a maximum, says how many neighbours there are.
 *
 *     x_i' = W_1 act(W_0 ((1 + eps) x_i + sum_j x_j) + b_0) + b_1        over the edges from j to i */
#include "model/core/families.h"
#include "model/graphs/graphs.h"

struct gin_conv {
    heed_param *eps;
    heed_linear_layer lin[2];
    heed_batch_norm_layer norm; /* weight NULL: none */
};

static const heed_key gin_keys[] = {
    GRAPH_KEYS("32"),
    {"eps", HEED_KEY_NUMBER, "0", "that much more than a neighbour a node counts itself, at first"},
    {"train_eps", HEED_KEY_BOOL, "false", "eps is learnt"},
    END_OF_KEYS,
};

static bool gin_make(heed_ctx *cx, const heed_build *b, const struct conv_place *at, void *conv) {
    struct gin_conv *const c = conv;
    const int64_t one = 1;
    const heed_init init = {HEED_INIT_CONSTANT, (float)config_number(cx, b->config, "eps", -1e6, 1e6), 0};
    const bool learnt = heed_json_bool(cx, b->config, "train_eps");
    const struct part_name net = part_under(cx, at->name, "nn");
    c->eps = (learnt ? heed_param_add : heed_param_buffer)(cx, b->params, at->name, "eps", 1, &one, init);
    for (int i = 0; i < 2; i++)
        if (!heed_linear_make(cx, b->params, part_numbered(cx, net.s, "lins", i).s, i ? at->out : at->in, at->out, true,
                              &c->lin[i]))
            return false;
    return !graphs_normed(cx, b->config) || graphs_norm(cx, b->params, net.s, 0, at->out, &c->norm);
}

/* (1 + eps) x + what the neighbours come to */
static heed_tensor *gather(heed_ctx *cx, const struct gin_conv *c, heed_tensor *x, const heed_graph *g) {
    heed_tensor *const own = heed_mul(cx, x, heed_affine(cx, heed_param_tensor(cx, c->eps), 1, 1));
    return heed_add(cx, heed_graph_sum(cx, x, g, NULL), own);
}

static heed_tensor *gin_run(heed_ctx *cx, const struct graphs *m, const void *conv, const struct nodes *nodes,
                            const heed_graph *g, int layer) {
    const struct gin_conv *const c = conv;
    const int64_t *const shape = c->lin[0].weight->shape;
    (void)layer;
    heed_tensor *h;
    if (nodes->sparse || shape[0] < shape[1]) /* the same but for rounding, on shorter rows */
        h = graphs_add_bias(cx, gather(cx, c, nodes_product(cx, &c->lin[0], nodes), g), c->lin[0].bias);
    else
        h = heed_linear_run(cx, &c->lin[0], gather(cx, c, nodes->x, g), HEED_ACT_NONE);
    if (c->norm.weight) h = heed_batch_norm_run(cx, &c->norm, h);
    return heed_linear_run(cx, &c->lin[1], heed_activate(cx, h, m->act), HEED_ACT_NONE);
}

static const struct graph_kind gin = {sizeof(struct gin_conv), NULL, gin_make, gin_run};

static const heed_head gin_heads[] = {GRAPH_HEADS("GIN", "")};

const heed_family family_gin = {
    .name = "gin",
    .type = "heed-gin",
    .paper = "Xu et al. 2019",
    .summary = "graph isomorphism network: sums of neighbours through a perceptron of two layers",
    .notes =
        "Parameters: convs.N.nn.lins.0 and lins.1, convs.N.eps, and with norm batch_norm convs.N.nn.norms.0.module, "
        "as of torch_geometric.nn.models.GIN. Without train_eps, eps is a buffer. " GRAPH_NOTES,
    .keys = gin_keys,
    .heads = gin_heads,
    .kind = &gin,
    .size = sizeof(struct graphs),
};
