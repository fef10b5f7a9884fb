/* Attention along the edges of a graph, and capture of its weights, one for each edge and head. */
#include "attention/attention.h"
#include "tensor/graph.h"
#include <string.h>

/* ---- capture ---- */

/* A layer's weights; the arrays lie behind it in the same block. */
struct edges_kept {
    heed_captured_edges edges;
    struct edges_kept *next;
};

void capture_edges_free(heed_ctx *cx, struct edges_kept *first) {
    while (first) {
        struct edges_kept *const next = first->next;
        heed_mem_free(cx, first);
        first = next;
    }
}

int heed_capture_edges_count(const heed_ctx *cx) {
    struct edges_kept *const *const list = capture_edges_list(cx);
    int n = 0;
    for (const struct edges_kept *k = list ? *list : NULL; k; k = k->next) n++;
    return n;
}

const heed_captured_edges *heed_capture_edges_at(const heed_ctx *cx, int i) {
    struct edges_kept *const *const list = capture_edges_list(cx);
    const struct edges_kept *k = list && i >= 0 ? *list : NULL;
    while (k && i-- > 0) k = k->next;
    return k ? &k->edges : NULL;
}

/* The place of each edge's number among those that are there: numbers may be left out. */
static int64_t place_numbers(int32_t *place, const struct edges *e, int64_t numbers) {
    const int64_t n = e->in[e->targets];
    memset(place, 0, (size_t)(numbers + 1) * sizeof *place);
    for (int64_t k = 0; k < n; k++) place[e->number[k] + 1] = 1;
    for (int64_t i = 0; i < numbers; i++) place[i + 1] += place[i];
    return n;
}

static bool keep_edges(heed_ctx *cx, int layer, const heed_graph *g, const heed_tensor *ints,
                       const heed_tensor *alpha) {
    const struct edges e = kernel_edges(g->opts.sources, g->opts.targets, g->room, i32_of(ints), NULL);
    const int64_t numbers = g->edges + g->opts.targets, heads = alpha->shape[1];
    int32_t *const place = heed_mem_new(cx, (size_t)(numbers + 1) * sizeof *place);
    if (!place) return false;
    const int64_t n = place_numbers(place, &e, numbers);
    const size_t bytes = (size_t)(n * (2 + heads)) * sizeof(float);
    struct edges_kept *const kept =
        capture_room(cx, "attention", layer, bytes) ? heed_mem_new(cx, sizeof *kept + bytes) : NULL;
    if (!kept) {
        heed_mem_free(cx, place);
        return false;
    }
    int32_t *const from = (int32_t *)(void *)(kept + 1), *const to = from + n;
    float *const weights = (float *)(void *)(to + n);
    for (int64_t i = 0; i < e.targets; i++)
        for (int32_t k = e.in[i]; k < e.in[i + 1]; k++) {
            const int32_t at = place[e.number[k]];
            from[at] = e.from[k], to[at] = (int32_t)i;
            memcpy(weights + at * heads, f32_of(alpha) + k * heads, (size_t)heads * sizeof *weights);
        }
    heed_mem_free(cx, place);
    *kept = (struct edges_kept){{layer, n, heads, from, to, weights}, NULL};
    struct edges_kept **last = capture_edges_list(cx);
    while (*last) last = &(*last)->next;
    *last = kept;
    return true;
}

/* ---- attention ---- */

static heed_tensor *attend(heed_ctx *cx, bool dynamic, heed_tensor *const nodes[3], const heed_graph *g,
                           const heed_graph_attention_opts *o) {
    const char *const name = dynamic ? "graph_attention_v2" : "graph_attention";
    heed_tensor *alpha = NULL;
    if (heed_failed(cx)) return NULL;
    if (!g || !o || !(o->dropout >= 0 && o->dropout <= 1)) {
        heed_fail(cx, HEED_ERR_USAGE, "%s: %s", name,
                  g && o ? "dropout is not within 0 and 1" : "the graph or the options are NULL");
        return NULL;
    }
    heed_tensor *const y = graph_attend(cx, dynamic, nodes, g, o->negative_slope, o->dropout, &alpha);
    if (!y || !capture_wants(cx, "attention", o->layer) || cx->config.dry) return y;
    return keep_edges(cx, o->layer, g, graph_ints(cx, g), alpha) ? y : NULL;
}

heed_tensor *heed_graph_attention(heed_ctx *cx, heed_tensor *x, heed_tensor *att_src, heed_tensor *att_dst,
                                  const heed_graph *g, const heed_graph_attention_opts *opts) {
    return attend(cx, false, (heed_tensor *[]){x, att_src, att_dst}, g, opts);
}

heed_tensor *heed_graph_attention_v2(heed_ctx *cx, heed_tensor *l, heed_tensor *r, heed_tensor *att,
                                     const heed_graph *g, const heed_graph_attention_opts *opts) {
    return attend(cx, true, (heed_tensor *[]){l, r, att}, g, opts);
}
