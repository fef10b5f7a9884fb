/* Graph networks: inputs, layers, heads. */
#include "model/graphs/graphs.h"
#include "model/core/families.h"
#include "model/core/inputs.h"
#include "tensor/graph.h"
#include <string.h>

/* ---- build ---- */

const heed_key graphs_nodes_keys[] = {
    {"out_channels", HEED_KEY_INT, NULL, "number of classes"},
    END_OF_KEYS,
};

const heed_key graphs_graphs_keys[] = {
    {"out_channels", HEED_KEY_INT, NULL, "number of classes"},
    {"pooling", HEED_KEY_TEXT, "mean", "how the nodes of a graph become one vector: sum, mean or max"},
    END_OF_KEYS,
};

bool graphs_normed(heed_ctx *cx, heed_json config) {
    const heed_json norm = heed_json_find(cx, config, "norm");
    if (heed_json_kind_of(norm) == HEED_JSON_NULL) return false;
    const char *const name = heed_json_text(cx, norm, NULL);
    return name && (strcmp(name, "batch_norm") == 0 || heed_json_fail(cx, norm, "it is batch_norm or null"));
}

bool graphs_norm(heed_ctx *cx, heed_params *set, const char *prefix, int number, int64_t width,
                 heed_batch_norm_layer *norm) {
    const struct part_name at = part_numbered(cx, prefix, "norms", number);
    return heed_batch_norm_make(cx, set, part_under(cx, at.s, "module").s, width, 1e-5F, 0.1F, norm);
}

/* Layers up to width `out`; 0: the hidden one. */
static bool build(heed_ctx *cx, const heed_build *b, struct graphs *m, int64_t out, bool all_active) {
    const heed_json config = b->config;
    m->kind = b->family->kind;
    m->in = config_int(cx, config, "in_channels", 1, MAX_SIZE);
    m->layers = (int)config_int(cx, config, "num_layers", 1, MAX_LAYERS);
    m->act = config_activation(cx, config, "act");
    m->dropout = (float)config_number(cx, config, "dropout", 0, 1);
    m->input_dropout = (float)config_number(cx, config, "input_dropout", 0, 1);
    m->all_active = all_active;
    const int64_t hidden = config_int(cx, config, "hidden_channels", 1, MAX_SIZE);
    const bool normed = graphs_normed(cx, config);
    m->conv = heed_params_alloc(cx, b->params, (size_t)m->layers, m->kind->size);
    m->norm = heed_params_alloc(cx, b->params, (size_t)m->layers, sizeof *m->norm);
    if (heed_failed(cx) || (m->kind->edges && !m->kind->edges(cx, config, &m->edges))) return false;
    for (int i = 0; i < m->layers; i++) {
        const bool last = i + 1 == m->layers, maps_out = last && out > 0;
        const struct part_name name = part_numbered(cx, "", "convs", i);
        const struct conv_place at = {name.s, i, i ? hidden : m->in, maps_out ? out : hidden, maps_out};
        if (!m->kind->make(cx, b, &at, (char *)m->conv + (size_t)i * m->kind->size)) return false;
    }
    for (int i = 0; normed && i < m->layers - !all_active; i++)
        if (!graphs_norm(cx, b->params, "", i, hidden, &m->norm[i])) return false;
    return true;
}

bool graphs_build_bare(heed_ctx *cx, const heed_build *b, void *own) { return build(cx, b, own, 0, false); }

bool graphs_build_nodes(heed_ctx *cx, const heed_build *b, void *own) {
    const int64_t out = config_int(cx, b->config, "out_channels", 1, MAX_SIZE);
    return !heed_failed(cx) && build(cx, b, own, out, false);
}

bool graphs_build_graphs(heed_ctx *cx, const heed_build *b, void *own) {
    struct graphs *const m = own;
    const enum aggregation pooling = graphs_aggregation(cx, b->config, "pooling");
    const int64_t out = config_int(cx, b->config, "out_channels", 1, MAX_SIZE);
    if (heed_failed(cx) || !build(cx, b, own, 0, true)) return false;
    m->pooling = pooling;
    const int64_t hidden = config_int(cx, b->config, "hidden_channels", 1, MAX_SIZE);
    if (!heed_linear_make(cx, b->params, "lin", hidden, out, true, &m->output)) return false;
    m->output.weight->head = m->output.bias->head = true;
    return true;
}

bool graphs_glorot(heed_ctx *cx, heed_params *set, const char *prefix, const char *name, int64_t in, int64_t out,
                   bool bias, heed_linear_layer *layer) {
    const heed_init glorot = {HEED_INIT_XAVIER_UNIFORM, 1, 0};
    if (!part_linear(cx, set, prefix, name, in, out, bias, glorot, layer)) return false;
    if (bias) layer->bias->init = (heed_init){HEED_INIT_FAN_IN_UNIFORM, (float)in, 0};
    return true;
}

heed_param *graphs_bias(heed_ctx *cx, heed_params *set, const char *prefix, int64_t width) {
    return heed_param_add(cx, set, prefix, "bias", 1, &width, (heed_init){.kind = HEED_INIT_ZEROS});
}

heed_tensor *graphs_add_bias(heed_ctx *cx, heed_tensor *x, const heed_param *bias) {
    return heed_add(cx, x, heed_param_tensor(cx, bias));
}

/* ---- inputs ---- */

static bool no_nodes(heed_ctx *cx) { return heed_fail(cx, HEED_ERR_SHAPE, "x: a graph needs at least one node"); }

static bool read_sparse(heed_ctx *cx, const struct graphs *m, const heed_io *in, struct nodes *to) {
    to->sparse = in->features;
    if (!to->sparse)
        to->sparse = graph_step_csr(cx, heed_io_get(in, "x_indptr"), heed_io_get(in, "x_indices"),
                                    heed_io_get(in, "x_values"), m->in);
    if (!to->sparse) return false;
    if (heed_graph_sources(to->sparse) != m->in)
        return heed_fail(cx, HEED_ERR_SHAPE, "features: rows of %lld numbers do not fit in_channels, %lld",
                         (long long)heed_graph_sources(to->sparse), (long long)m->in);
    if (m->input_dropout > 0 && engine_of(cx)->training)
        to->values = heed_dropout(cx, graph_values(cx, to->sparse), m->input_dropout);
    return !heed_failed(cx);
}

static bool read_nodes(heed_ctx *cx, const struct graphs *m, const heed_io *in, struct nodes *to) {
    heed_tensor *x = heed_io_get(in, "x");
    *to = (struct nodes){0};
    if (x && (in->features || heed_io_get(in, "x_indptr")))
        return heed_fail(cx, HEED_ERR_USAGE, "x: there are sparse features too; give one of them");
    if (in->features || heed_io_get(in, "x_indptr")) return read_sparse(cx, m, in, to);
    if (!x) return heed_fail(cx, HEED_ERR_USAGE, "x: the model needs this input");
    if (x->dtype != HEED_F32) x = heed_cast(cx, x, HEED_F32);
    if (!x) return false;
    if (x->rank != 2 || x->shape[1] != m->in)
        return heed_fail(cx, HEED_ERR_SHAPE, "x: shape %s is not (nodes,%lld), in_channels numbers for each node",
                         heed_shape_text(x).s, (long long)m->in);
    if (x->shape[0] == 0) return no_nodes(cx);
    to->x = heed_dropout(cx, x, m->input_dropout);
    return to->x != NULL;
}

static int64_t count_nodes(const struct nodes *nodes) {
    return nodes->sparse ? heed_graph_targets(nodes->sparse) : nodes->x->shape[0];
}

static heed_graph_opts edges_for(const struct graphs *m, int64_t nodes) {
    heed_graph_opts o = m->edges;
    o.sources = nodes;
    return o;
}

static const heed_graph *read_edges(heed_ctx *cx, const struct graphs *m, const heed_io *in, int64_t nodes) {
    const heed_graph_opts o = edges_for(m, nodes);
    heed_tensor *const edge_index = heed_io_get(in, "edge_index"), *weight = heed_io_get(in, "edge_weight");
    if (in->graph) {
        if (graph_fits(in->graph, &o)) return in->graph;
        heed_fail(cx, HEED_ERR_USAGE,
                  "graph: edges of %lld nodes for a model of another family, or of other settings, than this one with "
                  "%lld nodes; heed_model_graph sorts them as they are needed",
                  (long long)heed_graph_targets(in->graph), (long long)nodes);
        return NULL;
    }
    if (!edge_index) {
        heed_fail(cx, HEED_ERR_USAGE, "edge_index: the model needs this input");
        return NULL;
    }
    if (weight && weight->dtype != HEED_F32) weight = heed_cast(cx, weight, HEED_F32);
    return heed_graph_step(cx, edge_index, weight, &o);
}

heed_graph *heed_model_graph(heed_ctx *cx, const heed_model *m, const int32_t *edge_index, const float *weight,
                             int64_t edges, int64_t nodes) {
    if (heed_failed(cx)) return NULL;
    if (!m || !heed_head_takes(heed_model_head(m), "edge_index")) {
        heed_fail(cx, HEED_ERR_USAGE, "model_graph: a model of graphs is needed");
        return NULL;
    }
    if (weight && !heed_head_takes(heed_model_head(m), "edge_weight")) {
        heed_fail(cx, HEED_ERR_USAGE, "edge_weight: %s has none", heed_model_family(m)->name);
        return NULL;
    }
    const heed_graph_opts o = edges_for(model_own(m), nodes);
    return heed_graph_new(cx, edge_index, weight, edges, &o);
}

/* ---- layers ---- */

/* X W' of sparse rows: the graph goes from the columns of X to its rows. */
static heed_tensor *sparse_product(heed_ctx *cx, const heed_linear_layer *layer, const struct nodes *nodes) {
    heed_tensor *const w = heed_transpose(cx, heed_param_tensor(cx, layer->weight), 0, 1);
    if (!w) return NULL;
    if (layer->weight->adapters) {
        heed_fail(cx, HEED_ERR_USAGE, "x_indptr: adapters of the first layer need dense features, x");
        return NULL;
    }
    return nodes->values ? graph_sum_sorted(cx, w, nodes->sparse, nodes->values)
                         : heed_graph_sum(cx, w, nodes->sparse, NULL);
}

heed_tensor *nodes_product(heed_ctx *cx, const heed_linear_layer *layer, const struct nodes *nodes) {
    const heed_linear_layer bare = {.weight = layer->weight};
    return nodes->sparse ? sparse_product(cx, layer, nodes) : heed_linear_run(cx, &bare, nodes->x, HEED_ACT_NONE);
}

heed_tensor *nodes_linear(heed_ctx *cx, const heed_linear_layer *layer, const struct nodes *nodes) {
    if (!nodes->sparse) return heed_linear_run(cx, layer, nodes->x, HEED_ACT_NONE);
    heed_tensor *const y = sparse_product(cx, layer, nodes);
    return layer->bias ? graphs_add_bias(cx, y, layer->bias) : y;
}

enum aggregation graphs_aggregation(heed_ctx *cx, heed_json config, const char *key) {
    static const char *const names[] = {"sum", "mean", "max", "add", NULL};
    const int kind = config_choice(cx, config, key, names);
    return kind == 1 ? AGGREGATE_MEAN : kind == 2 ? AGGREGATE_MAX : AGGREGATE_SUM;
}

heed_tensor *graphs_aggregate(heed_ctx *cx, enum aggregation kind, heed_tensor *x, const heed_graph *g) {
    if (kind == AGGREGATE_MAX) return heed_graph_max(cx, x, g);
    return kind == AGGREGATE_MEAN ? heed_graph_mean(cx, x, g, NULL) : heed_graph_sum(cx, x, g, NULL);
}

heed_tensor *nodes_aggregate_linear(heed_ctx *cx, enum aggregation kind, const heed_linear_layer *layer,
                                    const struct nodes *nodes, const heed_graph *g) {
    const int64_t *const shape = layer->weight->shape;
    if (kind != AGGREGATE_MAX && (nodes->sparse || shape[0] < shape[1])) {
        heed_tensor *const y = graphs_aggregate(cx, kind, nodes_product(cx, layer, nodes), g);
        return layer->bias ? graphs_add_bias(cx, y, layer->bias) : y;
    }
    if (nodes->sparse) {
        heed_fail(cx, HEED_ERR_USAGE, "x_indptr: sparse features have no largest; give x, or aggr sum or mean");
        return NULL;
    }
    return heed_linear_run(cx, layer, graphs_aggregate(cx, kind, nodes->x, g), HEED_ACT_NONE);
}

static heed_tensor *run_layer(heed_ctx *cx, const struct graphs *m, int i, const struct nodes *nodes,
                              const heed_graph *g) {
    heed_scope_begin(cx);
    heed_tensor *h = m->kind->run(cx, m, (const char *)m->conv + (size_t)i * m->kind->size, nodes, g, i);
    if (i + 1 < m->layers || m->all_active) {
        if (m->norm[i].weight) h = heed_batch_norm_run(cx, &m->norm[i], h);
        h = heed_dropout(cx, heed_activate(cx, h, m->act), m->dropout);
    }
    return heed_scope_end(cx, h);
}

/* (N,width of the last layer) */
static heed_tensor *run(heed_ctx *cx, const struct graphs *m, const heed_io *in) {
    struct nodes nodes;
    if (!read_nodes(cx, m, in, &nodes)) return NULL;
    const heed_graph *const g = read_edges(cx, m, in, count_nodes(&nodes));
    for (int i = 0; g && !heed_failed(cx) && i < m->layers; i++)
        nodes = (struct nodes){.x = run_layer(cx, m, i, &nodes, g)};
    return heed_failed(cx) ? NULL : nodes.x;
}

/* ---- heads ---- */

bool graphs_forward_bare(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    heed_tensor *const h = run(cx, own, in);
    return h && heed_io_put(cx, out, "last_hidden_state", h);
}

bool graphs_forward_nodes(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    return head_classify(cx, PROBLEM_ONE_LABEL, in, run(cx, own, in), out);
}

/* How many graphs there are: as many as labels, else those that nodes are in, up to the last. In a dry context without
 * labels each node may be one. -1: batch is wrong. */
static int64_t count_graphs(heed_ctx *cx, const heed_tensor *batch, const heed_tensor *labels, int64_t nodes) {
    int64_t graphs = labels ? labels->count : cx->config.dry ? nodes : 0;
    if (!batch) return 1;
    if (batch->dtype != HEED_I32 || batch->rank != 1 || batch->count != nodes) {
        heed_fail(cx, HEED_ERR_SHAPE, "batch: %lld whole numbers are needed, the graph of each node, not %s %s",
                  (long long)nodes, heed_dtype_name(batch->dtype), heed_shape_text(batch).s);
        return -1;
    }
    for (int64_t i = 0; !cx->config.dry && i < nodes; i++) {
        const int32_t graph = i32_of(batch)[i];
        if (graph < 0 || (labels && graph >= graphs)) {
            heed_fail(cx, HEED_ERR_RANGE, "batch: node %lld is in graph %d, %s%lld", (long long)i, (int)graph,
                      labels ? "and the labels are those of graphs 0 to " : "which must be at least ",
                      labels ? (long long)graphs - 1 : 0);
            return -1;
        }
        if (graph >= graphs) graphs = (int64_t)graph + 1;
    }
    return graphs;
}

/* Edges from each node to its graph. */
static const heed_graph *membership(heed_ctx *cx, heed_tensor *batch, int64_t nodes, int64_t graphs) {
    heed_tensor *const index = heed_zeros(cx, HEED_I32, 2, (int64_t[]){2, nodes});
    int32_t *const to = index && !cx->config.dry ? (int32_t *)(void *)index->data : NULL;
    for (int64_t i = 0; to && i < nodes; i++) to[i] = (int32_t)i;
    if (to && batch) memcpy(to + nodes, batch->data, (size_t)nodes * sizeof *to);
    return heed_graph_step(cx, index, NULL, &(heed_graph_opts){.sources = nodes, .targets = graphs});
}

static heed_tensor *pool(heed_ctx *cx, const struct graphs *m, const heed_io *in, heed_tensor *h) {
    heed_tensor *const batch = heed_io_get(in, "batch") ? heed_contiguous(cx, heed_io_get(in, "batch")) : NULL;
    const int64_t nodes = h->shape[0], graphs = count_graphs(cx, batch, heed_io_get(in, "labels"), nodes);
    if (heed_failed(cx) || graphs < 1) return NULL;
    const heed_graph *const g = membership(cx, batch, nodes, graphs);
    return graphs_aggregate(cx, m->pooling, h, g);
}

bool graphs_forward_graphs(heed_ctx *cx, const void *own, const heed_io *in, heed_io *out) {
    const struct graphs *const m = own;
    heed_tensor *const h = run(cx, m, in);
    if (!h) return false;
    return head_classify(cx, PROBLEM_ONE_LABEL, in, heed_linear_run(cx, &m->output, pool(cx, m, in, h), HEED_ACT_NONE),
                         out);
}

/* ---- samples ---- */

#define SAMPLE_NEIGHBOURS 4 /* of a node */

static bool sample(heed_ctx *cx, const struct graphs *m, int64_t nodes, heed_io *in) {
    heed_tensor *const x = heed_zeros(cx, HEED_F32, 2, (int64_t[]){nodes, m->in});
    heed_tensor *const edges = heed_zeros(cx, HEED_I32, 2, (int64_t[]){2, nodes * SAMPLE_NEIGHBOURS});
    return x && edges && heed_io_put(cx, in, "x", x) && heed_io_put(cx, in, "edge_index", edges);
}

/* One graph of `batch` nodes. */
bool graphs_sample_bare(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in) {
    (void)length;
    return sample(cx, own, batch, in);
}

bool graphs_sample_nodes(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in) {
    (void)length;
    return sample(cx, own, batch, in) && heed_io_put(cx, in, "labels", heed_zeros(cx, HEED_I32, 1, &batch));
}

/* Graphs of `length` nodes. */
bool graphs_sample_graphs(heed_ctx *cx, const void *own, int64_t batch, int64_t length, heed_io *in) {
    const int64_t nodes = batch * length;
    return sample(cx, own, nodes, in) && heed_io_put(cx, in, "batch", heed_zeros(cx, HEED_I32, 1, &nodes)) &&
           heed_io_put(cx, in, "labels", heed_zeros(cx, HEED_I32, 1, &batch));
}
