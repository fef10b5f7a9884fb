/* Graph attention networks (Velickovic et al. 2018), and with dynamic attention GATv2 (Brody et al. 2022).
 *
 *     alpha_ij = softmax over j of leaky_relu(a_src . W x_j + a_dst . W x_i)      GAT
 *     alpha_ij = softmax over j of a . leaky_relu(W_l x_j + W_r x_i)              GATv2
 *     x_i' = sum_j alpha_ij W x_j + b                                             of heads side by side, or their mean
 *
 * over the edges from j to i, with one loop at every node. Which neighbour GAT likes best does not depend on i, since
 * a_dst . W x_i is the same for all j; GATv2's vector a comes behind the nonlinearity, so there it does. */
#include "model/core/families.h"
#include "model/graphs/graphs.h"
#include <math.h>

struct gat_conv {
    heed_linear_layer l, r;       /* of GAT l alone */
    heed_param *vector[2], *bias; /* a_src and a_dst, or a */
    int64_t heads, size;
    bool concat, dynamic;
    float slope, dropout;
};

#define GAT_KEYS                                                                                                       \
    GRAPH_KEYS("64"), {"heads", HEED_KEY_INT, "8", "attention heads; of hidden layers they share hidden_channels"},    \
        {"out_heads", HEED_KEY_INT_OR_NULL, "null",                                                                    \
         "heads of the layer that gives out_channels, which are averaged; "                                            \
         "null: as heads"},                                                                                            \
        {"concat", HEED_KEY_BOOL, "true",                                                                              \
         "heads of hidden layers side by side; false: each has hidden_channels, and "                                  \
         "their mean is taken"},                                                                                       \
        {"negative_slope", HEED_KEY_NUMBER, "0.2", "of leaky_relu, in the scores"}, {                                  \
        "attention_dropout", HEED_KEY_NUMBER_OR_NULL, "null",                                                          \
            "of the weights of attention, while training; null: as "                                                   \
            "dropout"                                                                                                  \
    }

static const heed_key gat_keys[] = {GAT_KEYS, END_OF_KEYS};
static const heed_key gatv2_keys[] = {
    GAT_KEYS,
    {"share_weights", HEED_KEY_BOOL, "false", "W_l and W_r are the same"},
    END_OF_KEYS,
};

static bool gat_edges(heed_ctx *cx, heed_json config, heed_graph_opts *to) {
    (void)config;
    to->loops = HEED_LOOPS_FRESH;
    return !heed_failed(cx);
}

/* A vector for each head, drawn as torch_geometric.nn.inits.glorot draws it. */
static heed_param *make_vector(heed_ctx *cx, heed_params *set, const char *prefix, const char *name,
                               const struct gat_conv *c) {
    const float bound = sqrtf(6 / (float)(c->heads + c->size));
    return heed_param_add(cx, set, prefix, name, 3, (int64_t[]){1, c->heads, c->size},
                          (heed_init){HEED_INIT_UNIFORM, -bound, bound});
}

/* Heads, their width, and whether they stand side by side. */
static bool read_conv(heed_ctx *cx, heed_json config, const struct conv_place *at, struct gat_conv *c) {
    c->heads = config_int(cx, config, "heads", 1, 1024);
    if (at->maps_out) c->heads = config_int_or(cx, config, "out_heads", 1, 1024, c->heads);
    c->concat = !at->maps_out && heed_json_bool(cx, config, "concat");
    c->slope = (float)config_number(cx, config, "negative_slope", -1e6, 1e6);
    c->dropout =
        (float)config_number_or(cx, config, "attention_dropout", 0, 1, config_number(cx, config, "dropout", 0, 1));
    if (heed_failed(cx)) return false;
    if (c->concat && at->out % c->heads)
        return heed_json_fail(cx, heed_json_find(cx, config, "heads"), "%lld heads do not divide hidden_channels, %lld",
                              (long long)c->heads, (long long)at->out);
    c->size = c->concat ? at->out / c->heads : at->out;
    return true;
}

static bool gat_make(heed_ctx *cx, const heed_build *b, const struct conv_place *at, void *conv) {
    struct gat_conv *const c = conv;
    if (!read_conv(cx, b->config, at, c)) return false;
    c->vector[0] = make_vector(cx, b->params, at->name, "att_src", c);
    c->vector[1] = make_vector(cx, b->params, at->name, "att_dst", c);
    c->bias = graphs_bias(cx, b->params, at->name, at->out);
    return c->bias && graphs_glorot(cx, b->params, at->name, "lin", at->in, c->heads * c->size, false, &c->l);
}

/* Shared weights have two names, as in PyTorch. */
static bool share(heed_ctx *cx, heed_params *set, const struct conv_place *at, struct gat_conv *c) {
    const struct part_name r = part_under(cx, at->name, "lin_r");
    c->r = c->l;
    return heed_param_tie(cx, set, r.s, "weight", c->l.weight) && heed_param_tie(cx, set, r.s, "bias", c->l.bias);
}

static bool gatv2_make(heed_ctx *cx, const heed_build *b, const struct conv_place *at, void *conv) {
    struct gat_conv *const c = conv;
    if (!read_conv(cx, b->config, at, c)) return false;
    c->dynamic = true;
    c->vector[0] = make_vector(cx, b->params, at->name, "att", c);
    c->bias = graphs_bias(cx, b->params, at->name, at->out);
    const int64_t width = c->heads * c->size;
    if (!c->bias || !graphs_glorot(cx, b->params, at->name, "lin_l", at->in, width, true, &c->l)) return false;
    return heed_json_bool(cx, b->config, "share_weights")
               ? share(cx, b->params, at, c)
               : graphs_glorot(cx, b->params, at->name, "lin_r", at->in, width, true, &c->r);
}

/* (N,H C) -> (N,H,C) */
static heed_tensor *by_head(heed_ctx *cx, const struct gat_conv *c, heed_tensor *x) {
    return heed_reshape(cx, x, 3, (int64_t[]){heed_dim(x, 0), c->heads, c->size});
}

static heed_tensor *gat_run(heed_ctx *cx, const struct graphs *m, const void *conv, const struct nodes *nodes,
                            const heed_graph *g, int layer) {
    const struct gat_conv *const c = conv;
    const heed_graph_attention_opts opts = {.negative_slope = c->slope, .dropout = c->dropout, .layer = layer};
    heed_tensor *const l = by_head(cx, c, nodes_linear(cx, &c->l, nodes)), *y;
    (void)m;
    if (c->dynamic) {
        const bool shared = c->r.weight == c->l.weight;
        heed_tensor *const r = shared ? l : by_head(cx, c, nodes_linear(cx, &c->r, nodes));
        y = heed_graph_attention_v2(cx, l, r, heed_param_tensor(cx, c->vector[0]), g, &opts);
    } else {
        y = heed_graph_attention(cx, l, heed_param_tensor(cx, c->vector[0]), heed_param_tensor(cx, c->vector[1]), g,
                                 &opts);
    }
    y = c->concat ? heed_reshape(cx, y, 2, (int64_t[]){heed_dim(y, 0), c->heads * c->size})
                  : heed_mean(cx, y, (const int[]){1}, 1, false);
    return graphs_add_bias(cx, y, c->bias);
}

static const struct graph_kind gat = {sizeof(struct gat_conv), gat_edges, gat_make, gat_run};
static const struct graph_kind gatv2 = {sizeof(struct gat_conv), gat_edges, gatv2_make, gat_run};

#define ATTENTION_NOTES                                                                                                \
    "Hidden layers have hidden_channels in all, the last out_channels in each head. attentions.N is (edges, heads), "  \
    "and "                                                                                                             \
    "attention_edges.N (2, edges) says which: the edges without loops, then the loop of each node, as "                \
    "return_attention_weights gives them. "

static const heed_head gat_heads[] = {GRAPH_HEADS("GAT", "")};

const heed_family family_gat = {
    .name = "gat",
    .type = "heed-gat",
    .paper = "Velickovic et al. 2018",
    .summary = "graph attention: each node weighs its neighbours",
    .notes = "Parameters: convs.N.lin.weight, convs.N.att_src and att_dst (1, heads, width), convs.N.bias, as of "
             "torch_geometric.nn.models.GAT. " ATTENTION_NOTES GRAPH_NOTES,
    .keys = gat_keys,
    .heads = gat_heads,
    .kind = &gat,
    .size = sizeof(struct graphs),
};

static const heed_head gatv2_heads[] = {GRAPH_HEADS("GATv2", "")};

const heed_family family_gatv2 = {
    .name = "gatv2",
    .type = "heed-gatv2",
    .paper = "Brody et al. 2022",
    .summary = "graph attention whose order of neighbours depends on who asks",
    .notes = "Parameters: convs.N.lin_l and lin_r, convs.N.att (1, heads, width), convs.N.bias, as of "
             "torch_geometric.nn.models.GAT with v2=True. " ATTENTION_NOTES GRAPH_NOTES,
    .keys = gatv2_keys,
    .heads = gatv2_heads,
    .kind = &gatv2,
    .size = sizeof(struct graphs),
};
