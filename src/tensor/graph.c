/* Making graphs, for one step and for many. */
#include "tensor/graph.h"
#include "base/profile.h"
#include "kernel/index.h"
#include "tensor/ops.h"
#include <string.h>

static struct edge_list list_of(const heed_graph *g, const int32_t *edge_index, const float *weight) {
    const heed_graph_opts *const o = &g->opts;
    return (struct edge_list){.sources = o->sources,
                              .targets = o->targets,
                              .edges = g->edges,
                              .from = edge_index,
                              .to = edge_index ? edge_index + g->edges : NULL,
                              .weight = weight,
                              .loops = (enum edge_loops)o->loops,
                              .loop_weight = weight ? o->loop_weight : 1,
                              .normalize = o->normalize};
}

/* Fills g in, as far as sizes go. */
static bool describe(heed_ctx *cx, heed_graph *g, int64_t edges, bool weighted, const heed_graph_opts *o) {
    *g = (heed_graph){.opts = *o, .edges = edges, .weighted = weighted || o->normalize};
    if (g->opts.targets == 0) g->opts.targets = o->sources;
    if (g->opts.loop_weight == 0) g->opts.loop_weight = 1;
    if (o->sources < 1 || g->opts.targets < 1) return heed_fail(cx, HEED_ERR_SHAPE, "graph: there are no nodes");
    if ((o->loops != HEED_LOOPS_KEEP || o->normalize) && o->sources != g->opts.targets)
        return heed_fail(cx, HEED_ERR_USAGE, "graph: loops and normalized weights need sources that are the targets");
    if (edges < 0 || edges > INT32_MAX - g->opts.targets || o->sources > INT32_MAX || g->opts.targets > INT32_MAX)
        return heed_fail(cx, HEED_ERR_RANGE, "graph: %lld edges and %lld nodes do not fit in 32 bits", (long long)edges,
                         (long long)o->sources);
    const struct edge_list list = list_of(g, NULL, NULL);
    g->room = kernel_edges_room(&list);
    return true;
}

static bool check_edges(heed_ctx *cx, const struct edge_list *l) {
    const int64_t from = kernel_index_bad(cx->pool, l->from, l->edges, l->sources);
    const int64_t to = kernel_index_bad(cx->pool, l->to, l->edges, l->targets);
    if (from < 0 && to < 0) return true;
    const bool first = to < 0 || (from >= 0 && from <= to);
    const int64_t at = first ? from : to;
    return heed_fail(cx, HEED_ERR_RANGE, "edge_index: edge %lld goes %s node %d, and nodes are numbered from 0 to %lld",
                     (long long)at, first ? "from" : "to", (int)(first ? l->from : l->to)[at],
                     (long long)(first ? l->sources : l->targets) - 1);
}

heed_graph *heed_graph_new(heed_ctx *cx, const int32_t *edge_index, const float *weight, int64_t edges,
                           const heed_graph_opts *opts) {
    heed_graph made;
    if (heed_failed(cx)) return NULL;
    if (!opts || (!edge_index && edges > 0)) {
        heed_fail(cx, HEED_ERR_USAGE, "graph_new: the %s NULL", opts ? "edges are" : "options are");
        return NULL;
    }
    if (!describe(cx, &made, edges, weight != NULL, opts)) return NULL;
    const struct edge_list list = list_of(&made, edge_index, weight);
    heed_graph *const g = check_edges(cx, &list) ? heed_mem_new(cx, sizeof *g) : NULL;
    if (!g) return NULL;
    *g = made;
    g->own_ints = heed_mem_new(cx, (size_t)kernel_edges_ints(&list) * sizeof(int32_t));
    if (g->weighted) g->own_weights = heed_mem_new(cx, (size_t)kernel_edges_floats(&list) * sizeof(float));
    void *const work = heed_mem_new(cx, kernel_edges_work(&list));
    if (work && g->own_ints && (!g->weighted || g->own_weights)) {
        const struct profile_mark mark = profile_begin(cx);
        kernel_edges_sort(&list, g->own_ints, g->own_weights, work);
        profile_end(cx, mark, "sort edges", PROFILE_FORWARD);
        heed_mem_free(cx, work);
        return g;
    }
    heed_mem_free(cx, work);
    heed_graph_free(cx, g);
    return NULL;
}

/* A column for each nonzero is there; its row, of `rows` rows that begin at indptr. False: they do not rise from 0 to
 * n. */
static bool spread_rows(heed_ctx *cx, const int32_t *indptr, int64_t rows, int64_t n, int32_t *row) {
    for (int64_t i = 0; i <= rows; i++)
        if (indptr[i] != (i == 0 ? 0 : i == rows ? n : indptr[i]) || (i > 0 && indptr[i] < indptr[i - 1]))
            return heed_fail(cx, HEED_ERR_RANGE, "x_indptr: %d at place %lld: they rise from 0 to %lld, the nonzeros",
                             (int)indptr[i], (long long)i, (long long)n);
    for (int64_t i = 0; i < rows; i++)
        for (int32_t k = indptr[i]; k < indptr[i + 1]; k++) row[k] = (int32_t)i;
    return true;
}

heed_graph *heed_graph_from_csr(heed_ctx *cx, const int32_t *indptr, const int32_t *indices, const float *values,
                                int64_t rows, int64_t columns) {
    if (heed_failed(cx)) return NULL;
    const int64_t n = indptr && rows > 0 ? indptr[rows] : 0;
    if (!indptr || rows < 1 || n < 0 || (!indices && n > 0)) {
        heed_fail(cx, HEED_ERR_USAGE, "graph_from_csr: indptr and indices of at least one row are needed");
        return NULL;
    }
    int32_t *const index = heed_mem_new(cx, (size_t)n * 2 * sizeof *index);
    heed_graph *g = NULL;
    if (index && spread_rows(cx, indptr, rows, n, index + n)) {
        if (n > 0) memcpy(index, indices, (size_t)n * sizeof *index);
        g = heed_graph_new(cx, index, values, n, &(heed_graph_opts){.sources = columns, .targets = rows});
    }
    heed_mem_free(cx, index);
    return g;
}

void heed_graph_free(heed_ctx *cx, heed_graph *g) {
    if (!g) return;
    heed_mem_free(cx, g->own_ints);
    heed_mem_free(cx, g->own_weights);
    heed_mem_free(cx, g);
}

static bool check_tensors(heed_ctx *cx, const heed_tensor *edge_index, const heed_tensor *weight) {
    if (edge_index->dtype != HEED_I32 || edge_index->rank != 2 || edge_index->shape[0] != 2)
        return heed_fail(cx, HEED_ERR_SHAPE, "edge_index: whole numbers of shape (2,edges) are needed, not %s %s",
                         heed_dtype_name(edge_index->dtype), heed_shape_text(edge_index).s);
    if (!weight) return true;
    if (weight->dtype != HEED_F32)
        return heed_fail(cx, HEED_ERR_TYPE, "edge_weight: f32 is needed, not %s", heed_dtype_name(weight->dtype));
    if (weight->count == edge_index->shape[1]) return true;
    return heed_fail(cx, HEED_ERR_SHAPE, "edge_weight: shape %s does not give each of %lld edges a number",
                     heed_shape_text(weight).s, (long long)edge_index->shape[1]);
}

/* Numbers that are about to be written. */
static heed_tensor *room_for(heed_ctx *cx, heed_dtype type, int64_t n) {
    heed_tensor *const t = tensor_make(cx, type, 1, &n);
    if (t && tensor_allocate(t)) {
        tensor_enter_scope(t);
        return t;
    }
    tensor_unref(t);
    return NULL;
}

const heed_graph *heed_graph_step(heed_ctx *cx, heed_tensor *edge_index, heed_tensor *weight,
                                  const heed_graph_opts *opts) {
    heed_graph made;
    if (heed_failed(cx)) return NULL;
    if (!opts || !edge_index || !engine_of(cx)) {
        heed_fail(cx, HEED_ERR_USAGE, "graph_step: the %s NULL", opts ? "edges are" : "options are");
        return NULL;
    }
    if (!check_tensors(cx, edge_index, weight) || !describe(cx, &made, edge_index->shape[1], weight != NULL, opts))
        return NULL;
    heed_scope_begin(cx);
    edge_index = heed_contiguous(cx, edge_index);
    if (weight) weight = heed_contiguous(cx, weight);
    if (heed_failed(cx)) return NULL;
    const struct edge_list list = list_of(&made, i32_of(edge_index), weight ? f32_of(weight) : NULL);
    heed_graph *const g = bump_take(cx, &engine_of(cx)->lists, sizeof *g);
    made.ints = room_for(cx, HEED_I32, kernel_edges_ints(&list));
    if (made.weighted) made.weights = room_for(cx, HEED_F32, kernel_edges_floats(&list));
    heed_tensor *const work = room_for(cx, HEED_I32, (int64_t)(kernel_edges_work(&list) / sizeof(int32_t)));
    if (heed_failed(cx) || (!cx->config.dry && !check_edges(cx, &list))) return NULL;
    const struct profile_mark mark = profile_begin(cx);
    if (!cx->config.dry)
        kernel_edges_sort(&list, (int32_t *)(void *)made.ints->data,
                          made.weighted ? (float *)(void *)made.weights->data : NULL, work->data);
    profile_end(cx, mark, "sort edges", PROFILE_FORWARD);
    heed_scope_end_many(cx, (heed_tensor *[]){made.ints, made.weights}, 2);
    *g = made;
    return heed_failed(cx) ? NULL : g;
}

const heed_graph *graph_step_csr(heed_ctx *cx, heed_tensor *indptr, heed_tensor *indices, heed_tensor *values,
                                 int64_t columns) {
    if (heed_failed(cx) || !engine_of(cx)) return NULL;
    if (!indptr || !indices || indptr->dtype != HEED_I32 || indices->dtype != HEED_I32 || indptr->rank != 1 ||
        indices->rank != 1 || indptr->count < 2) {
        heed_fail(cx, HEED_ERR_SHAPE,
                  "x_indptr, x_indices: whole numbers of shape (nodes + 1) and (nonzeros) are needed");
        return NULL;
    }
    heed_scope_begin(cx);
    const int64_t rows = indptr->count - 1, n = indices->count;
    heed_tensor *const index = room_for(cx, HEED_I32, 2 * n);
    indptr = heed_contiguous(cx, indptr), indices = heed_contiguous(cx, indices);
    if (heed_failed(cx)) return NULL;
    int32_t *const to = (int32_t *)(void *)index->data;
    if (!cx->config.dry && !spread_rows(cx, i32_of(indptr), rows, n, to + n)) return NULL;
    if (!cx->config.dry && n > 0) memcpy(to, indices->data, (size_t)n * sizeof *to);
    const heed_graph *const g = heed_graph_step(cx, heed_reshape(cx, index, 2, (int64_t[]){2, n}), values,
                                                &(heed_graph_opts){.sources = columns, .targets = rows});
    if (!g) return NULL;
    heed_scope_end_many(cx, (heed_tensor *[]){g->ints, g->weights}, 2);
    return g;
}

int64_t heed_graph_sources(const heed_graph *g) { return g ? g->opts.sources : 0; }
int64_t heed_graph_targets(const heed_graph *g) { return g ? g->opts.targets : 0; }
int64_t heed_graph_room(const heed_graph *g) { return g ? g->room : 0; }

/* ---- for ops ---- */

heed_tensor *graph_ints(heed_ctx *cx, const heed_graph *g) {
    const struct edge_list list = list_of(g, NULL, NULL);
    const int64_t n = kernel_edges_ints(&list);
    return g->ints ? g->ints : heed_borrow(cx, HEED_I32, g->own_ints, 1, &n, NULL);
}

heed_tensor *graph_weights(heed_ctx *cx, const heed_graph *g) {
    const int64_t n = 2 * g->room;
    if (!g->weighted) return NULL;
    return g->weights ? g->weights : heed_borrow(cx, HEED_F32, g->own_weights, 1, &n, NULL);
}

heed_tensor *graph_values(heed_ctx *cx, const heed_graph *g) {
    return g->weighted ? heed_slice(cx, graph_weights(cx, g), 0, 0, g->room) : heed_full(cx, 1, 1, &g->room);
}

bool graph_fits(const heed_graph *g, const heed_graph_opts *o) {
    return g->opts.sources == o->sources && g->opts.targets == (o->targets ? o->targets : o->sources) &&
           g->opts.loops == o->loops && g->opts.normalize == o->normalize &&
           (g->opts.loops == HEED_LOOPS_KEEP || g->opts.loop_weight == (o->loop_weight == 0 ? 1 : o->loop_weight));
}

struct edges graph_edges(const heed_op_call *c, const struct graph_sizes *s, int at) {
    return kernel_edges(s->sources, s->targets, s->room, i32_of(c->in[at]),
                        c->in[at + 1] ? f32_of(c->in[at + 1]) : NULL);
}

struct neighbours graph_in(const struct edges *e) {
    return (struct neighbours){.rows = e->targets,
                               .room = e->room,
                               .others = e->sources,
                               .most = e->most_in,
                               .start = e->in,
                               .index = e->from,
                               .weight = e->weight};
}

struct neighbours graph_out(const struct edges *e) {
    return (struct neighbours){.rows = e->sources,
                               .room = e->room,
                               .others = e->targets,
                               .most = e->most_out,
                               .start = e->out,
                               .index = e->to,
                               .weight = e->weight_out};
}
