/* Edges in their one order, whatever that of the file: by source and target, of undirected graphs in both directions.
 * The nodes of a graph lie side by side, so the edges of a graph do too. */
#include "base/text.h"
#include "data/graphs/graphs.h"

#include <stdlib.h>
#include <string.h>

static int64_t graph_of(const heed_graph_data *g, int32_t node) {
    int64_t low = 0, high = g->graphs;
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (g->node_start[middle] <= node)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static bool same_graph(heed_ctx *cx, const heed_graph_data *g, const struct edge_list *list,
                       const struct listed_edge *e) {
    char from[24], to[24];
    if (g->graphs == 1 || graph_of(g, e->from) == graph_of(g, e->to)) return true;
    return heed_fail(cx, HEED_ERR_FORMAT, "%s: %s %lld: nodes '%s' and '%s' are of different graphs", list->name,
                     list->unit, (long long)e->place, heed_graph_node_name(g, e->from, from),
                     heed_graph_node_name(g, e->to, to));
}

static int by_ends(const void *x, const void *y) {
    const struct listed_edge *const a = x, *const b = y;
    if (a->from != b->from) return a->from < b->from ? -1 : 1;
    if (a->to != b->to) return a->to < b->to ? -1 : 1;
    if (a->weight != b->weight) return a->weight < b->weight ? -1 : 1;
    return (a->place > b->place) - (a->place < b->place);
}

static bool other_weight(heed_ctx *cx, const heed_graph_data *g, const struct edge_list *list,
                         const struct listed_edge *a, const struct listed_edge *b) {
    char from[24], to[24];
    return heed_fail(
        cx, HEED_ERR_FORMAT,
        "%s: %s %lld: the edge of '%s' and '%s' has weight %g here and %g at %s %lld: --directed keeps two "
        "directions apart",
        list->name, list->unit, (long long)(a->place > b->place ? a : b)->place, heed_graph_node_name(g, a->from, from),
        heed_graph_node_name(g, a->to, to), (double)(a->place > b->place ? a : b)->weight,
        (double)(a->place > b->place ? b : a)->weight, list->unit, (long long)(a->place > b->place ? b : a)->place);
}

/* Each undirected edge once, from its lower node; how many are left, -1 when it failed. */
static int64_t unite(heed_ctx *cx, heed_graph_data *g, const struct edge_list *list, struct listed_edge *e, int64_t n) {
    int64_t kept = 0;
    for (int64_t i = 0; i < n; i++)
        if (e[i].from > e[i].to) {
            const int32_t from = e[i].from;
            e[i].from = e[i].to;
            e[i].to = from;
        }
    qsort(e, (size_t)n, sizeof *e, by_ends);
    for (int64_t i = 0; i < n; i++) {
        const bool again = kept > 0 && e[kept - 1].from == e[i].from && e[kept - 1].to == e[i].to;
        if (again && e[kept - 1].weight != e[i].weight) return other_weight(cx, g, list, &e[kept - 1], &e[i]), -1;
        if (!again) e[kept++] = e[i];
    }
    return kept;
}

static int64_t add_reverse(struct listed_edge *e, int64_t n) {
    int64_t all = n;
    for (int64_t i = 0; i < n; i++)
        if (e[i].from != e[i].to) e[all++] = (struct listed_edge){e[i].to, e[i].from, e[i].weight, e[i].place};
    return all;
}

static bool count_isolated(heed_ctx *cx, heed_graph_data *g) {
    unsigned char *const joined = data_room(cx, g->nodes, 1, 1);
    if (!joined) return false;
    memset(joined, 0, (size_t)g->nodes);
    for (int64_t i = 0; i < g->edges; i++)
        if (g->edge[i] != g->edge[g->edges + i]) joined[g->edge[i]] = joined[g->edge[g->edges + i]] = 1;
    for (int64_t i = 0; i < g->nodes; i++) g->isolated += !joined[i];
    heed_mem_free(cx, joined);
    return true;
}

static bool store(heed_ctx *cx, heed_graph_data *g, const struct listed_edge *e, int64_t n, bool weighted) {
    g->edges = n;
    g->edge = data_room(cx, n, 2, sizeof *g->edge);
    g->edge_start = data_room(cx, g->graphs + 1, 1, sizeof *g->edge_start);
    if (weighted) g->weight = data_room(cx, n, 1, sizeof *g->weight);
    if (heed_failed(cx)) return false;
    int64_t graph = 0;
    for (int64_t i = 0; i < n; i++) {
        g->edge[i] = e[i].from;
        g->edge[n + i] = e[i].to;
        if (weighted) g->weight[i] = e[i].weight;
        while (graph < g->graphs && g->node_start[graph] <= e[i].from) g->edge_start[graph++] = i;
    }
    while (graph <= g->graphs) g->edge_start[graph++] = n;
    return count_isolated(cx, g);
}

bool graph_put_edges(heed_ctx *cx, heed_graph_data *g, const struct edge_list *list) {
    struct listed_edge *const e = data_room(cx, list->n, 2, sizeof *e);
    int64_t n = list->n;
    if (!e) return false;
    memcpy(e, list->at, (size_t)n * sizeof *e);
    for (int64_t i = 0; i < n && !heed_failed(cx); i++) same_graph(cx, g, list, &e[i]);
    if (!heed_failed(cx) && !g->directed) {
        const int64_t reversed = n;
        n = unite(cx, g, list, e, n);
        g->repeated = n < 0 ? 0 : reversed - n;
        if (n >= 0) n = add_reverse(e, n);
    }
    bool ok = !heed_failed(cx);
    if (ok) qsort(e, (size_t)n, sizeof *e, by_ends);
    ok = ok && store(cx, g, e, n, list->weighted);
    heed_mem_free(cx, e);
    return ok;
}
