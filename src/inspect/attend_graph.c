/* The attention of models of graphs: the inputs of a graph's data, what the model says of its nodes, and the parts of a
 * graph that can be looked at. A map is (1, heads, 1, edges), and comes with the edges that it is of, loops and all. */
#include "heed/graph.h"
#include "inspect/attended.h"
#include "tensor/engine.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the model's inputs ---- */

static bool put_features(struct attended *a, heed_io *in) {
    heed_ctx *const cx = a->cx;
    const heed_graph_data *const g = a->input->graph;
    if (g->x) return heed_io_put(cx, in, "x", heed_from_f32(cx, g->x, 2, (int64_t[]){g->nodes, g->width}));
    if (!g->start) return heed_fail(cx, HEED_ERR_USAGE, "attend: the nodes of the graph have no features");
    const int64_t some = g->start[g->nodes];
    return heed_io_put(cx, in, "x_indptr", heed_from_i32(cx, g->start, 1, (int64_t[]){g->nodes + 1})) &&
           heed_io_put(cx, in, "x_indices", heed_from_i32(cx, g->column, 1, &some)) &&
           heed_io_put(cx, in, "x_values", heed_from_f32(cx, g->value, 1, &some));
}

/* Which graph each node is of. */
static bool put_batch(struct attended *a, heed_io *in) {
    const heed_graph_data *const g = a->input->graph;
    int32_t *const of = heed_mem_new(a->cx, (size_t)g->nodes * sizeof *of);
    for (int64_t k = 0; of && k < g->graphs; k++)
        for (int64_t i = g->node_start[k]; i < g->node_start[k + 1]; i++) of[i] = (int32_t)k;
    const bool ok = of && heed_io_put(a->cx, in, "batch", heed_from_i32(a->cx, of, 1, &g->nodes));
    heed_mem_free(a->cx, of);
    return ok;
}

bool attend_read_graph(struct attended *a, heed_io *in) {
    heed_ctx *const cx = a->cx;
    const heed_graph_data *const g = a->input->graph;
    if (!g) return heed_fail(cx, HEED_ERR_USAGE, "attend: a model of graphs is given none");
    if (g->nodes < 1) return heed_fail(cx, HEED_ERR_USAGE, "attend: the graph has no nodes");
    return put_features(a, in) &&
           heed_io_put(cx, in, "edge_index", heed_from_i32(cx, g->edge, 2, (int64_t[]){2, g->edges})) &&
           (!g->weight || !heed_model_takes(a->model, "edge_weight") ||
            heed_io_put(cx, in, "edge_weight", heed_from_f32(cx, g->weight, 1, &g->edges))) &&
           (!heed_model_takes(a->model, "batch") || put_batch(a, in));
}

/* ---- what the model says ---- */

bool attend_take_nodes(struct attended *a, const heed_io *out) {
    heed_ctx *const cx = a->cx;
    const heed_graph_data *const g = a->input->graph;
    if (!g) return true;
    heed_attended_nodes *const nodes = &a->out.nodes;
    heed_tensor *logits = heed_io_get(out, "logits");
    nodes->n = g->nodes;
    nodes->classes = g->whole ? 0 : g->classes;
    nodes->class_names = (const char *const *)g->class_names;
    if (!g->whole && g->label) nodes->label = g->label;
    if (!logits || logits->rank != 2 || logits->shape[0] != g->nodes || heed_model_takes(a->model, "batch"))
        return true;
    const int64_t classes = logits->shape[1];
    if (!(logits = heed_contiguous(cx, logits)) ||
        !(a->predicted = heed_mem_new(cx, (size_t)g->nodes * sizeof *a->predicted)))
        return false;
    for (int64_t i = 0; i < g->nodes; i++) {
        const float *const y = f32_of(logits) + i * classes;
        int32_t best = 0;
        for (int32_t k = 1; k < classes; k++) best = y[k] > y[best] ? k : best;
        a->predicted[i] = best;
    }
    nodes->predicted = a->predicted;
    if (nodes->classes != classes) nodes->classes = classes, nodes->class_names = NULL;
    return true;
}

/* ---- the maps ---- */

static int32_t *copy_ends(heed_ctx *cx, const int32_t *ends, int64_t n) {
    int32_t *const copy = heed_mem_new(cx, (size_t)n * sizeof *copy + 1);
    if (copy && n > 0) memcpy(copy, ends, (size_t)n * sizeof *copy);
    return copy;
}

/* (edges, heads) as they were captured -> (heads, edges) */
static bool take_map(struct attended *a, const heed_captured_edges *from) {
    static const char site[] = "attention";
    float *const w = heed_mem_new(a->cx, (size_t)(from->heads * from->edges) * sizeof *w + 1);
    char *const name = heed_mem_new(a->cx, sizeof site);
    if (name) memcpy(name, site, sizeof site);
    a->captured[a->n++] = (heed_capture_map){.site = name,
                                             .layer = from->layer,
                                             .batch = 1,
                                             .heads = from->heads,
                                             .rows = 1,
                                             .keys = from->edges,
                                             .weights = w};
    for (int64_t k = 0; w && name && k < from->heads * from->edges; k++)
        w[k] = from->weights[k % from->edges * from->heads + k / from->edges];
    return w && name;
}

/* All layers have the same edges. */
bool attend_take_edges(struct attended *a) {
    heed_ctx *const cx = a->cx;
    const int n = heed_capture_edges_count(cx);
    const heed_captured_edges *const first = heed_capture_edges_at(cx, 0);
    if (!a->input->graph || n == 0 || a->n > 0) return true;
    a->captured = heed_mem_new(cx, (size_t)n * sizeof *a->captured);
    a->sources = copy_ends(cx, first->from, first->edges);
    a->targets = copy_ends(cx, first->to, first->edges);
    if (heed_failed(cx)) return false;
    for (int i = 0; i < n; i++) {
        const heed_captured_edges *const layer = heed_capture_edges_at(cx, i);
        const size_t bytes = (size_t)first->edges * sizeof *a->sources;
        if (layer->edges != first->edges || memcmp(layer->from, a->sources, bytes) != 0 ||
            memcmp(layer->to, a->targets, bytes) != 0)
            return heed_fail(cx, HEED_ERR_FORMAT, "attend: layer %d has other edges than layer %d", layer->layer,
                             first->layer);
        if (!take_map(a, layer)) return false;
    }
    return true;
}

/* Nodes by their names, in full: they may be longer than NAME_ROOM. */
static struct side *name_nodes(struct attended *a) {
    const heed_graph_data *const g = a->input->graph;
    struct side *const side = side_numbered(a, "nodes", g->nodes);
    for (int64_t i = 0; side && g->node_names && i < g->nodes; i++) side->names[i] = g->node_names[i];
    return side;
}

/* Layers of other numbers of heads are sites of their own: the last layer of a graph attention network often has one.
 */
bool attend_place_graph(struct attended *a) {
    const struct side *const nodes = name_nodes(a);
    if (!nodes) return false;
    for (int i = 0; i < a->n; i++) {
        const bool first = a->captured[i].heads == a->captured[0].heads;
        snprintf(a->of[i].site, sizeof a->of[i].site, "%.47s", first ? a->captured[i].site : "output");
        a->of[i].queries = a->of[i].keys = &nodes->axis;
    }
    return true;
}

/* ---- parts ---- */

static bool is_graph(heed_ctx *cx, const heed_attended *a, const heed_attended_site *s) {
    return (a && s && s->targets && s->n_maps > 0) ||
           heed_fail(cx, HEED_ERR_USAGE, "attended: there is no attention over a graph");
}

/* Adds the other ends of all edges that touch what is there, so many times; place (nodes): -1 for what is not. One more
 * round would be needless where nothing was new. */
static void grow(const heed_attended_site *s, int64_t hops, heed_attended_part *out, int32_t *place) {
    const int64_t edges = s->maps[0].keys;
    int64_t before = 0;
    for (int64_t h = 0; h < hops && before < out->nodes; h++) {
        const int64_t known = before = out->nodes;
        for (int64_t e = 0; e < edges; e++) {
            const int32_t ends[] = {s->sources[e], s->targets[e]};
            for (int k = 0; k < 2; k++) {
                const int32_t here = place[ends[k]], there = ends[1 - k];
                if (here < 0 || here >= known || place[there] >= 0) continue;
                place[there] = (int32_t)out->nodes;
                out->node[out->nodes++] = there;
            }
        }
    }
}

static bool take_part(heed_ctx *cx, const heed_attended_site *s, int64_t n, int64_t node, int64_t hops,
                      heed_attended_part *out) {
    const int64_t edges = s->maps[0].keys;
    int32_t *const place = heed_mem_new(cx, (size_t)n * sizeof *place);
    out->node = heed_mem_new(cx, (size_t)n * sizeof *out->node);
    out->edge = heed_mem_new(cx, (size_t)edges * sizeof *out->edge + 1);
    out->from = heed_mem_new(cx, (size_t)edges * sizeof *out->from + 1);
    out->to = heed_mem_new(cx, (size_t)edges * sizeof *out->to + 1);
    const bool ok = !heed_failed(cx);
    for (int64_t i = 0; ok && i < n; i++) {
        place[i] = node < 0 || node == i ? (int32_t)out->nodes : -1;
        if (place[i] >= 0) out->node[out->nodes++] = i;
    }
    if (ok && node >= 0) grow(s, hops, out, place);
    for (int64_t e = 0; ok && e < edges; e++) {
        const int32_t from = place[s->sources[e]], to = place[s->targets[e]];
        if (from < 0 || to < 0) continue;
        out->edge[out->edges] = e;
        out->from[out->edges] = from, out->to[out->edges++] = to;
    }
    heed_mem_free(cx, place);
    return ok;
}

bool heed_attended_near(heed_ctx *cx, const heed_attended *a, const heed_attended_site *site, int64_t node,
                        int64_t hops, heed_attended_part *out) {
    if (heed_failed(cx)) return false;
    if (!is_graph(cx, a, site)) return false;
    if (!out) return heed_fail(cx, HEED_ERR_USAGE, "attended: no place for a part of a graph");
    *out = (heed_attended_part){0};
    if (node < -1 || node >= a->nodes.n || hops < 0)
        return heed_fail(cx, HEED_ERR_RANGE, "attended: node %lld, %lld hops, of %lld nodes", (long long)node,
                         (long long)hops, (long long)a->nodes.n);
    if (take_part(cx, site, a->nodes.n, node, hops, out)) return true;
    heed_attended_part_free(cx, out);
    return false;
}

void heed_attended_part_free(heed_ctx *cx, heed_attended_part *part) {
    if (!cx || !part) return;
    heed_mem_free(cx, part->node);
    heed_mem_free(cx, part->edge);
    heed_mem_free(cx, part->from);
    heed_mem_free(cx, part->to);
    *part = (heed_attended_part){0};
}

bool heed_attended_edges(heed_ctx *cx, const heed_attended_site *s, int layer, int64_t head, float *out) {
    if (heed_failed(cx)) return false;
    if (!s || !s->targets || !out)
        return heed_fail(cx, HEED_ERR_USAGE, "attended: a site of a graph and a place for numbers are needed");
    if (!attended_check_layer(cx, s, layer, head)) return false;
    const heed_capture_map *const m = &s->maps[layer];
    const int64_t low = head < 0 ? 0 : head, high = head < 0 ? m->heads : head + 1;
    for (int64_t e = 0; e < m->keys; e++) {
        double sum = 0;
        for (int64_t h = low; h < high; h++) sum += (double)m->weights[h * m->keys + e];
        out[e] = (float)(sum / (double)(high - low));
    }
    return true;
}
