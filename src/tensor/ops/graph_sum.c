/* Messages from neighbours, added up or averaged, and the largest of them.
 *   sum   y_i = sum_k w_k x_j,   dx_j = sum_k w_k dy_i,   dw_k = dy_i . x_j      over the edges k from j to i
 *   mean  the same over the number of edges to i
 *   max   y_i = max_k w_k x_j, of each channel;  its gradient goes to the largest, and ties share it
 * x (sources,C) -> y (targets,C). Messages are not stored: forward goes through the edges by target, backward by
 * source. */
#include "kernel/move.h"
#include "tensor/graph.h"
#include "tensor/ops.h"

enum { X, INTS, WEIGHTS, WEIGHT, INPUTS }; /* WEIGHT (room): in the order of targets, in place of the graph's own */

struct sum_attr {
    struct graph_sizes graph;
    bool mean;
};

static bool check_nodes(heed_op_call *c, const struct graph_sizes *g) {
    const heed_tensor *const x = c->in[X];
    if (!heed_op_want(c, X, HEED_F32)) return false;
    if (x->rank == 2 && x->shape[0] == g->sources) return true;
    return heed_op_fail(c, HEED_ERR_SHAPE, "x of shape %s is not (%lld,C), a row for each node", heed_shape_text(x).s,
                        (long long)g->sources);
}

static bool out_nodes(heed_op_call *c, const struct graph_sizes *g) {
    return heed_op_out(c, 0, HEED_F32, 2, (int64_t[]){g->targets, c->in[X]->shape[1]});
}

/* Workspace of backward: sums of long rows, then 1 / the number of neighbours. */
static size_t scales_at(const heed_op_call *c, const struct sum_attr *a) {
    const size_t sums = kernel_neighbours_work(a->graph.room, c->in[X]->shape[1]);
    return (sums + 63) & ~(size_t)63;
}

static bool sum_infer(heed_op_call *c) {
    const struct sum_attr *const a = c->attr;
    if (!check_nodes(c, &a->graph)) return false;
    const heed_tensor *const w = c->in[WEIGHT];
    if (w && !heed_op_want(c, WEIGHT, HEED_F32)) return false;
    if (w && w->count != a->graph.room)
        return heed_op_fail(c, HEED_ERR_SHAPE, "a weight of shape %s for %lld edges", heed_shape_text(w).s,
                            (long long)a->graph.room);
    c->save_in = 1u << INTS;
    if (c->wants[X]) c->save_in |= w ? 1u << WEIGHT : c->in[WEIGHTS] ? 1u << WEIGHTS : 0;
    if (c->wants[WEIGHT]) c->save_in |= 1u << X;
    c->work_forward = kernel_neighbours_work(a->graph.room, c->in[X]->shape[1]);
    if (c->recording) c->work_backward = scales_at(c, a) + (a->mean ? (size_t)a->graph.targets * sizeof(float) : 0);
    return out_nodes(c, &a->graph);
}

static bool sum_forward(heed_op_call *c) {
    const struct sum_attr *const a = c->attr;
    const struct edges e = graph_edges(c, &a->graph, INTS);
    struct neighbours n = graph_in(&e);
    if (c->in[WEIGHT]) n.weight = f32_of(c->in[WEIGHT]);
    kernel_neighbours_sum(pool_of(c), &n, heed_op_f32(c, 0), f32_of(c->in[X]), c->in[X]->shape[1], a->mean, false,
                          c->work);
    return true;
}

static bool sum_backward(heed_op_call *c) {
    const struct sum_attr *const a = c->attr;
    const struct edges e = graph_edges(c, &a->graph, INTS);
    const struct neighbours in = graph_in(&e);
    struct neighbours n = graph_out(&e);
    const int64_t C = c->in[X]->shape[1];
    float *const scale = a->mean ? (float *)(void *)((char *)c->work + scales_at(c, a)) : NULL;
    if (scale) kernel_neighbours_inverse(&in, scale);
    if (c->in[WEIGHT]) n.weight = f32_of(c->in[WEIGHT]), n.place = e.place;
    n.scale = scale;
    if (c->din[X]) kernel_neighbours_sum(pool_of(c), &n, c->din[X], c->dout[0], C, false, c->add[X], c->work);
    if (!c->din[WEIGHT]) return true;
    const int32_t edges = e.in[e.targets];
    if (!c->add[WEIGHT]) kernel_clear(pool_of(c), c->din[WEIGHT] + edges, a->graph.room - edges);
    kernel_neighbours_dots(pool_of(c), &in, c->din[WEIGHT], c->dout[0], f32_of(c->in[X]), C, scale, c->add[WEIGHT]);
    return true;
}

#define SUM_OP(name_)                                                                                                  \
    const heed_op op_##name_ = {.name = #name_,                                                                        \
                                .infer = sum_infer,                                                                    \
                                .forward = sum_forward,                                                                \
                                .backward = sum_backward,                                                              \
                                .flags = HEED_OP_ADDS,                                                                 \
                                .optional = 1u << WEIGHTS | 1u << WEIGHT,                                              \
                                .attr_size = sizeof(struct sum_attr)};
SUM_OP(graph_sum)
SUM_OP(graph_mean)

/* Weights of edges in the order in which they were given -> in that of the targets. */
static heed_tensor *in_order(heed_ctx *cx, const heed_graph *g, heed_tensor *weight) {
    if (g->opts.loops != HEED_LOOPS_KEEP || g->opts.normalize || weight->count != g->edges) {
        heed_fail(cx, HEED_ERR_SHAPE, "graph_sum: weights of shape %s for a graph of %lld edges that %s",
                  heed_shape_text(weight).s, (long long)g->edges,
                  g->opts.loops == HEED_LOOPS_KEEP && !g->opts.normalize ? "keeps its loops" : "has its own weights");
        return NULL;
    }
    heed_tensor *const ints = graph_ints(cx, g);
    heed_tensor *const number =
        heed_slice(cx, ints, 0, kernel_edges_number(g->opts.sources, g->opts.targets, g->room), g->room);
    return heed_index_select(cx, heed_reshape(cx, weight, 1, &g->edges), 0, number);
}

static heed_tensor *apply(heed_ctx *cx, heed_tensor *x, const heed_graph *g, heed_tensor *weight, bool mean) {
    const struct sum_attr a = {graph_sizes(g), mean};
    heed_tensor *const in[INPUTS] = {
        [X] = x, [INTS] = graph_ints(cx, g), [WEIGHTS] = graph_weights(cx, g), [WEIGHT] = weight};
    return apply1(cx, mean ? &op_graph_mean : &op_graph_sum, &a, in, INPUTS);
}

heed_tensor *graph_sum_sorted(heed_ctx *cx, heed_tensor *x, const heed_graph *g, heed_tensor *weight) {
    return apply(cx, x, g, weight, false);
}

static heed_tensor *sum(heed_ctx *cx, heed_tensor *x, const heed_graph *g, heed_tensor *weight, bool mean) {
    if (heed_failed(cx)) return NULL;
    if (!g || !x || !engine_of(cx)) {
        heed_fail(cx, HEED_ERR_USAGE, "graph_%s: the %s NULL", mean ? "mean" : "sum", g ? "nodes are" : "graph is");
        return NULL;
    }
    if (weight && !(weight = in_order(cx, g, weight))) return NULL;
    return apply(cx, x, g, weight, mean);
}

heed_tensor *heed_graph_sum(heed_ctx *cx, heed_tensor *x, const heed_graph *g, heed_tensor *weight) {
    return sum(cx, x, g, weight, false);
}
heed_tensor *heed_graph_mean(heed_ctx *cx, heed_tensor *x, const heed_graph *g, heed_tensor *weight) {
    return sum(cx, x, g, weight, true);
}

/* ---- the largest ---- state: how many are the largest, (targets,C) */

static bool max_infer(heed_op_call *c) {
    const struct graph_sizes *const g = c->attr;
    if (!check_nodes(c, g)) return false;
    c->save_in = 1u << X | 1u << INTS | (c->in[WEIGHTS] ? 1u << WEIGHTS : 0);
    const size_t ties = (size_t)(g->targets * c->in[X]->shape[1]) * sizeof(float);
    if (c->recording)
        c->state_size = ties;
    else
        c->work_forward = ties;
    return out_nodes(c, g);
}

static bool max_forward(heed_op_call *c) {
    const struct edges e = graph_edges(c, c->attr, INTS);
    const struct neighbours n = graph_in(&e);
    kernel_neighbours_max(pool_of(c), &n, heed_op_f32(c, 0), c->recording ? c->state : c->work, f32_of(c->in[X]),
                          c->in[X]->shape[1]);
    return true;
}

static bool max_backward(heed_op_call *c) {
    const struct edges e = graph_edges(c, c->attr, INTS);
    const struct neighbours n = graph_out(&e);
    kernel_neighbours_max_grad(pool_of(c), &n, c->din[X], f32_of(c->in[X]), f32_of(c->out[0]), c->state, c->dout[0],
                               c->in[X]->shape[1], c->add[X]);
    return true;
}

const heed_op op_graph_max = {.name = "graph_max",
                              .infer = max_infer,
                              .forward = max_forward,
                              .backward = max_backward,
                              .flags = HEED_OP_ADDS,
                              .save_out = 1,
                              .optional = 1u << WEIGHTS,
                              .attr_size = sizeof(struct graph_sizes)};

heed_tensor *heed_graph_max(heed_ctx *cx, heed_tensor *x, const heed_graph *g) {
    if (heed_failed(cx)) return NULL;
    if (!g || !x || !engine_of(cx)) {
        heed_fail(cx, HEED_ERR_USAGE, "graph_max: the %s NULL", g ? "nodes are" : "graph is");
        return NULL;
    }
    const struct graph_sizes a = graph_sizes(g);
    return apply1(cx, &op_graph_max, &a, (heed_tensor *const[]){x, graph_ints(cx, g), graph_weights(cx, g)}, 3);
}
