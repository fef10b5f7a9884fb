/* Graphs in memory: their life, the names of nodes and graphs, features that are made up, and rows that sum to 1. */
#include "data/graphs/graphs.h"

#include <stdio.h>
#include <string.h>

heed_graph_data *graph_new(heed_ctx *cx) {
    heed_graph_data *const g = heed_mem_new(cx, sizeof *g);
    if (g) *g = (heed_graph_data){.nodes = 0};
    return g;
}

void heed_graph_data_free(heed_ctx *cx, heed_graph_data *g) {
    if (!g) return;
    for (int64_t i = 0; g->categories && i < g->columns; i++) heed_mem_free(cx, g->categories[i]);
    void *const parts[] = {g->node_start,  g->edge_start, g->edge,  g->weight, g->node_names,
                           g->graph_names, g->x,          g->start, g->column, g->value,
                           g->x_names,     g->categories, g->label, g->part,   g->class_names};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) heed_mem_free(cx, parts[i]);
    heed_mem_free(cx, g);
}

int64_t graph_labelled(const heed_graph_data *g) { return g->whole ? g->graphs : g->nodes; }
const char *graph_unit(const heed_graph_data *g) { return g->whole ? "graph" : "node"; }

static const char *name_of(char **names, int64_t n, int64_t i, char out[24]) {
    if (names && i >= 0 && i < n) return names[i];
    snprintf(out, 24, "%lld", (long long)i);
    return out;
}
const char *heed_graph_node_name(const heed_graph_data *g, int64_t i, char out[24]) {
    return g && out ? name_of(g->node_names, g->nodes, i, out) : "";
}
const char *heed_graph_name(const heed_graph_data *g, int64_t i, char out[24]) {
    return g && out ? name_of(g->graph_names, g->graphs, i, out) : "";
}

bool graph_put_single(heed_ctx *cx, heed_graph_data *g) {
    g->graphs = 1;
    g->node_start = data_room(cx, 2, 1, sizeof *g->node_start);
    if (g->node_start) g->node_start[0] = 0, g->node_start[1] = g->nodes;
    return g->node_start;
}

/* ---- sparse rows ---- */

bool graph_sort_features(heed_ctx *cx, heed_graph_data *g, const char *name) {
    char number[24];
    for (int64_t i = 0; i < g->nodes; i++)
        for (int64_t k = g->start[i] + 1; k < g->start[i + 1]; k++) { /* they come sorted, more often than not */
            const int32_t column = g->column[k];
            const float value = g->value[k];
            int64_t to = k;
            for (; to > g->start[i] && g->column[to - 1] > column; to--) {
                g->column[to] = g->column[to - 1];
                g->value[to] = g->value[to - 1];
            }
            g->column[to] = column;
            g->value[to] = value;
            if (to > g->start[i] && g->column[to - 1] == column)
                return heed_fail(cx, HEED_ERR_FORMAT, "%s: node '%s' has feature %d twice", name,
                                 heed_graph_node_name(g, i, number), column);
        }
    return true;
}

bool graph_features_fit(heed_ctx *cx, const heed_graph_data *g, const char *name, const heed_graph_data *like) {
    return !like || like->width == g->width ||
           heed_fail(cx, HEED_ERR_SHAPE, "%s: %lld features of a node, should be %lld", name, (long long)g->width,
                     (long long)like->width);
}

/* ---- features that are made up ---- */

/* One feature of each node is 1. */
static bool put_ones(heed_ctx *cx, heed_graph_data *g, int64_t width) {
    g->start = data_room(cx, g->nodes + 1, 1, sizeof *g->start);
    g->column = data_room(cx, g->nodes, 1, sizeof *g->column);
    g->value = data_room(cx, g->nodes, 1, sizeof *g->value);
    if (!g->start || !g->column || !g->value) return false;
    for (int64_t i = 0; i <= g->nodes; i++) g->start[i] = (int32_t)i;
    for (int64_t i = 0; i < g->nodes; i++) g->column[i] = 0, g->value[i] = 1;
    g->width = width;
    return true;
}

static bool put_degrees(heed_ctx *cx, heed_graph_data *g, int64_t width) {
    int32_t *degree;
    int32_t most = 0;
    if (!put_ones(cx, g, width)) return false;
    degree = g->column;
    for (int64_t i = 0; i < g->edges; i++) degree[g->edge[g->edges + i]]++;
    for (int64_t i = 0; i < g->nodes; i++) most = degree[i] > most ? degree[i] : most;
    if (width == 0) g->width = (int64_t)most + 1;
    for (int64_t i = 0; i < g->nodes; i++)
        if (degree[i] >= g->width) degree[i] = (int32_t)(g->width - 1);
    return true;
}

bool heed_graph_add_features(heed_ctx *cx, heed_graph_data *g, const char *kind, int64_t width) {
    if (heed_failed(cx)) return false;
    if (!g || !kind || width < 0)
        return heed_fail(cx, HEED_ERR_USAGE, "graph_add_features: the %s",
                         !g      ? "graphs are NULL"
                         : !kind ? "kind is NULL"
                                 : "width is negative");
    if (g->width > 0) return heed_fail(cx, HEED_ERR_USAGE, "graph_add_features: the nodes have features");
    if (strcmp(kind, "degree") == 0) return put_degrees(cx, g, width);
    if (strcmp(kind, "constant") == 0) return put_ones(cx, g, 1);
    if (strcmp(kind, "identity") != 0)
        return heed_fail(cx, HEED_ERR_USAGE, "graph_add_features: '%s' is not one of: identity, degree, constant",
                         kind);
    if (!put_ones(cx, g, g->nodes)) return false;
    for (int64_t i = 0; i < g->nodes; i++) g->column[i] = (int32_t)i;
    return true;
}

/* ---- rows that sum to 1 ---- */

static void divide(float *row, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += (double)row[i];
    for (int64_t i = 0; sum != 0 && i < n; i++) row[i] = (float)((double)row[i] / sum);
}

bool heed_graph_normalise_rows(heed_ctx *cx, heed_graph_data *g) {
    if (heed_failed(cx)) return false;
    if (!g) return heed_fail(cx, HEED_ERR_USAGE, "graph_normalise_rows: the graphs are NULL");
    for (int64_t i = 0; i < g->nodes; i++)
        if (g->start)
            divide(g->value + g->start[i], g->start[i + 1] - g->start[i]);
        else if (g->x)
            divide(g->x + i * g->width, g->width);
    return true;
}
