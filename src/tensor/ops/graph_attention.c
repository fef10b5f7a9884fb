/* Attention of nodes to their neighbours (Velickovic et al. 2018; Brody et al. 2022).
 *     y_i = sum_k drop(alpha_k) x_j over the edges k from j to i, of each head; alpha: kernel/edge_attention.h
 *     dalpha_k = drop'(dy_i . x_j),   de = alpha (dalpha - sum alpha dalpha),   dx_j = sum_k drop(alpha_k) dy_i + …
 * Inputs of the static kind: x (sources,H,C), a_src, a_dst (…,H,C); of the dynamic one: l, r and a. Outputs: y
 * (targets,H,C), alpha (room,H) before dropout. Backward works leaky's slope out again from the nodes. */
#include "kernel/edge_attention.h"
#include "kernel/move.h"
#include "kernel/rows.h"
#include "tensor/graph.h"
#include "tensor/ops.h"

enum { A, B, C, INTS, WEIGHTS, INPUTS }; /* x a_src a_dst, or l r a */
enum { Y, ALPHA, OUTPUTS };

struct attention_attr {
    struct graph_sizes graph;
    float slope, dropout;
    uint64_t stream;
};

static bool is_dynamic(const heed_op_call *c) { return c->op == &op_graph_attention_v2; }

static bool check_inputs(heed_op_call *c) {
    const struct attention_attr *const at = c->attr;
    const bool dynamic = is_dynamic(c);
    const heed_tensor *const x = c->in[A];
    for (int i = A; i <= C; i++)
        if (!heed_op_want(c, i, HEED_F32)) return false;
    if (x->rank != 3 || x->shape[0] != at->graph.sources || at->graph.sources != at->graph.targets)
        return heed_op_fail(c, HEED_ERR_SHAPE, "nodes of shape %s are not (%lld,H,C), between which the edges go",
                            heed_shape_text(x).s, (long long)at->graph.sources);
    if (x->shape[1] < 1 || x->shape[1] > EDGE_HEADS)
        return heed_op_fail(c, HEED_ERR_SHAPE, "%lld heads: 1 to %d are possible", (long long)x->shape[1], EDGE_HEADS);
    if (dynamic && !same_shape(c->in[B], x))
        return heed_op_fail(c, HEED_ERR_SHAPE, "targets of shape %s and sources of shape %s",
                            heed_shape_text(c->in[B]).s, heed_shape_text(x).s);
    for (int i = dynamic ? C : B; i <= C; i++)
        if (c->in[i]->count != x->shape[1] * x->shape[2])
            return heed_op_fail(c, HEED_ERR_SHAPE, "a vector of shape %s for nodes of shape %s",
                                heed_shape_text(c->in[i]).s, heed_shape_text(x).s);
    return true;
}

/* What backward keeps of dropout's random numbers, and of the static kind's scores: s, t (nodes,H). */
static size_t mask_bytes(const struct attention_attr *at, int64_t heads) {
    return at->dropout > 0 ? (size_t)kernel_dropout_words(at->graph.room * heads) * sizeof(uint64_t) : 0;
}
static size_t padded(size_t bytes) { return (bytes + 63) & ~(size_t)63; }

/* The workspace: alpha after dropout, where there is dropout; backward also de, sums of nodes, and those of the sums.
 */
struct work {
    float *dropped, *de, *ds, *dt, *rest;
    size_t size;
};

static struct work work_of(const heed_op_call *c, bool backward) {
    const struct attention_attr *const at = c->attr;
    const heed_tensor *const x = c->in[A];
    const int64_t heads = x->shape[1], nodes = x->shape[0], width = heads * x->shape[2];
    const struct edge_attention e = {.heads = heads, .size = x->shape[2]};
    const size_t edges = padded((size_t)(at->graph.room * heads) * sizeof(float));
    const size_t scores = is_dynamic(c) ? 0 : padded((size_t)(nodes * heads) * sizeof(float));
    const size_t sums = kernel_neighbours_work(at->graph.room, width), parts = kernel_node_work(&e, nodes);
    char *p = c->work;
    struct work w = {.dropped = (float *)(void *)p};
    size_t used = at->dropout > 0 ? edges : 0;
    if (backward) {
        w.de = (float *)(void *)(p + used), used += edges;
        w.ds = (float *)(void *)(p + used), used += scores;
        w.dt = (float *)(void *)(p + used), used += scores;
    }
    w.rest = (float *)(void *)(p + used);
    w.size = used + (backward && parts > sums ? parts : sums);
    return w;
}

static bool attention_infer(heed_op_call *c) {
    const struct attention_attr *const at = c->attr;
    if (!check_inputs(c)) return false;
    const heed_tensor *const x = c->in[A];
    const int64_t heads = x->shape[1];
    c->save_in = 1u << A | 1u << B | 1u << C | 1u << INTS;
    c->save_out = 1u << ALPHA;
    c->state_size =
        padded(mask_bytes(at, heads)) + (is_dynamic(c) ? 0 : (size_t)(2 * x->shape[0] * heads) * sizeof(float));
    c->work_forward = work_of(c, false).size;
    if (c->recording) c->work_backward = work_of(c, true).size;
    return heed_op_like(c, Y, A) && heed_op_out(c, ALPHA, HEED_F32, 2, (int64_t[]){at->graph.room, heads});
}

static struct edge_attention describe(const heed_op_call *c) {
    const struct attention_attr *const at = c->attr;
    return (struct edge_attention){.edges = graph_edges(c, &at->graph, INTS),
                                   .heads = c->in[A]->shape[1],
                                   .size = c->in[A]->shape[2],
                                   .slope = at->slope};
}

static float *scores_of(const heed_op_call *c) {
    return (float *)(void *)((char *)c->state + padded(mask_bytes(c->attr, c->in[A]->shape[1])));
}

static bool attention_forward(heed_op_call *c) {
    const struct attention_attr *const at = c->attr;
    const struct edge_attention e = describe(c);
    const int64_t nodes = c->in[A]->shape[0], numbers = e.edges.in[nodes] * e.heads;
    float *const alpha = heed_op_f32(c, ALPHA);
    const float *weights = alpha;
    const struct work w = work_of(c, false);
    if (is_dynamic(c)) {
        kernel_edge_dynamic(pool_of(c), &e, alpha, f32_of(c->in[A]), f32_of(c->in[B]), f32_of(c->in[C]));
    } else {
        float *const s = scores_of(c), *const t = s + nodes * e.heads;
        kernel_node_scores(pool_of(c), &e, s, f32_of(c->in[A]), f32_of(c->in[B]), nodes);
        kernel_node_scores(pool_of(c), &e, t, f32_of(c->in[A]), f32_of(c->in[C]), nodes);
        kernel_edge_static(pool_of(c), &e, alpha, s, t);
    }
    kernel_clear(pool_of(c), alpha + numbers, e.edges.room * e.heads - numbers);
    if (at->dropout > 0) {
        const struct dropout drop = {.p = at->dropout, .seed = c->cx->seed, .stream = at->stream};
        kernel_dropout(pool_of(c), w.dropped, c->state, alpha, e.edges.room * e.heads, &drop);
        weights = w.dropped;
    }
    struct neighbours n = graph_in(&e.edges);
    n.weight = weights, n.heads = e.heads;
    kernel_neighbours_sum(pool_of(c), &n, heed_op_f32(c, Y), f32_of(c->in[A]), e.heads * e.size, false, false, w.rest);
    return true;
}

/* What goes back through e to the nodes and the vectors. */
static void static_backward(heed_op_call *c, const struct edge_attention *e, const struct work *w) {
    const int64_t nodes = c->in[A]->shape[0];
    const float *const s = scores_of(c), *const t = s + nodes * e->heads, *const x = f32_of(c->in[A]);
    kernel_edge_static_grad(pool_of(c), e, w->de, s, t, w->dt);
    struct neighbours out = graph_out(&e->edges); /* ds_j: the sum of de over the edges from j */
    out.index = e->edges.place, out.others = e->edges.room, out.weight = NULL;
    kernel_neighbours_sum(pool_of(c), &out, w->ds, w->de, e->heads, false, false, w->rest);
    kernel_node_scores_grad(pool_of(c), e, c->din[A], true, c->din[B], c->add[B], w->ds, x, f32_of(c->in[B]), nodes,
                            w->rest);
    kernel_node_scores_grad(pool_of(c), e, c->din[A], true, c->din[C], c->add[C], w->dt, x, f32_of(c->in[C]), nodes,
                            w->rest);
}

static void dynamic_backward(heed_op_call *c, const struct edge_attention *e, const struct work *w) {
    const float *const l = f32_of(c->in[A]), *const r = f32_of(c->in[B]), *const a = f32_of(c->in[C]);
    if (c->din[B] || c->din[C])
        kernel_edge_dynamic_grad(pool_of(c), e, c->din[B], c->add[B], c->din[C], c->add[C], w->de, l, r, a, w->rest);
    if (c->din[A]) kernel_edge_dynamic_grad_sources(pool_of(c), e, c->din[A], true, w->de, l, r, a);
}

static bool attention_backward(heed_op_call *c) {
    const struct attention_attr *const at = c->attr;
    const struct edge_attention e = describe(c);
    const struct work w = work_of(c, true);
    const int64_t width = e.heads * e.size, numbers = e.edges.room * e.heads;
    const float *const alpha = f32_of(c->out[ALPHA]), *weights = alpha;
    struct neighbours in = graph_in(&e.edges), out = graph_out(&e.edges);
    in.weight = NULL, in.heads = out.heads = e.heads;
    kernel_neighbours_dots(pool_of(c), &in, w.de, c->dout[Y], f32_of(c->in[A]), width, NULL, false);
    if (at->dropout > 0) {
        const int64_t used = e.edges.in[e.edges.targets] * e.heads;
        kernel_clear(pool_of(c), w.de + used, numbers - used);
        kernel_dropout_grad(pool_of(c), w.dropped, c->state, alpha, numbers, at->dropout, false);
        kernel_dropout_grad(pool_of(c), w.de, c->state, w.de, numbers, at->dropout, false);
        weights = w.dropped;
    }
    kernel_edge_softmax_grad(pool_of(c), &e, w.de, alpha);
    out.weight = weights, out.place = e.edges.place;
    if (c->din[A]) kernel_neighbours_sum(pool_of(c), &out, c->din[A], c->dout[Y], width, false, c->add[A], w.rest);
    (is_dynamic(c) ? dynamic_backward : static_backward)(c, &e, &w);
    return true;
}

#define ATTENTION_OP(name_)                                                                                            \
    const heed_op op_##name_ = {.name = #name_,                                                                        \
                                .infer = attention_infer,                                                              \
                                .forward = attention_forward,                                                          \
                                .backward = attention_backward,                                                        \
                                .flags = HEED_OP_ADDS,                                                                 \
                                .optional = 1u << WEIGHTS,                                                             \
                                .attr_size = sizeof(struct attention_attr)};
ATTENTION_OP(graph_attention)
ATTENTION_OP(graph_attention_v2)

heed_tensor *graph_attend(heed_ctx *cx, bool dynamic, heed_tensor *const nodes[3], const heed_graph *g, float slope,
                          float dropout, heed_tensor **alpha) {
    struct attention_attr at = {.graph = graph_sizes(g), .slope = slope};
    heed_tensor *out[OUTPUTS];
    if (!engine_of(cx)) return NULL;
    if (engine_of(cx)->training && dropout > 0) at.dropout = dropout, at.stream = engine_next_stream(cx);
    heed_tensor *const in[INPUTS] = {nodes[0], nodes[1], nodes[2], graph_ints(cx, g), NULL};
    heed_apply(cx, dynamic ? &op_graph_attention_v2 : &op_graph_attention, &at, in, INPUTS, out, OUTPUTS);
    *alpha = out[ALPHA];
    return out[Y];
}
