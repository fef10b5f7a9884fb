/* Tables of nodes: their names, graphs and features; then the labels, and the tables beside them. */
#include "data/graphs/graph_tables.h"
#include "base/text.h"
#include "io/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- graphs ---- */

/* r->graph of each row: numbered in the order in which they first appear; *names: one for each. */
static bool number_graphs(struct graph_reading *r, int64_t *graphs) {
    const struct sheet *const s = &r->nodes;
    int32_t *const of = data_room(r->cx, s->rows, 1, sizeof *of);
    r->graph = of;
    *graphs = 1;
    if (!of) return false;
    memset(of, 0, (size_t)s->rows * sizeof *of);
    if (r->column.graph < 0) return true;
    struct vocabulary *const v = &r->graph_names;
    if (!vocabulary_of(s, r->column.graph, v)) return false;
    int64_t *const place = data_room(r->cx, v->n, 1, sizeof *place);
    for (int64_t i = 0; place && i < v->n; i++) place[i] = -1;
    *graphs = 0;
    for (int64_t i = 0; place && i < s->rows; i++) {
        const int64_t found = vocabulary_find(v, sheet_cell(s, i, r->column.graph));
        if (place[found] < 0) place[found] = (*graphs)++;
        of[i] = (int32_t)place[found];
    }
    for (int64_t i = 0; place && i < v->n; i++) v->list[i].number = place[i];
    heed_mem_free(r->cx, place);
    if (!heed_failed(r->cx)) r->g->graph_names = vocabulary_names(r->cx, v);
    return r->g->graph_names;
}

/* The nodes of a graph come together, in the order of the file. */
static bool group_nodes(struct graph_reading *r) {
    struct sheet *const s = &r->nodes;
    int64_t graphs;
    if (!number_graphs(r, &graphs)) return false;
    int64_t *const start = data_room(r->cx, graphs + 1, 1, sizeof *start), *const next = data_room(r->cx, graphs, 1, 8);
    r->g->node_start = start;
    r->g->graphs = graphs;
    r->g->nodes = s->rows;
    if (next) {
        memset(start, 0, ((size_t)graphs + 1) * sizeof *start);
        for (int64_t i = 0; i < s->rows; i++) start[r->graph[i] + 1]++;
        for (int64_t k = 0; k < graphs; k++) start[k + 1] += start[k];
        memcpy(next, start, (size_t)graphs * sizeof *next);
        for (int64_t i = 0; i < s->rows; i++) s->row[next[r->graph[i]]++] = i;
        for (int64_t k = 0; k < graphs; k++)
            for (int64_t i = start[k]; i < start[k + 1]; i++) r->graph[i] = (int32_t)k;
    }
    heed_mem_free(r->cx, next);
    return next;
}

/* ---- names ---- */

static int by_name(const void *x, const void *y) {
    const struct node_key *const a = x, *const b = y;
    const int order = strcmp(a->name, b->name);
    if (order != 0) return order;
    return a->graph != b->graph ? (a->graph > b->graph) - (a->graph < b->graph)
                                : (a->node > b->node) - (a->node < b->node);
}

static bool index_names(struct graph_reading *r) {
    const struct sheet *const s = &r->nodes;
    struct word *const words = data_room(r->cx, s->rows, 1, sizeof *words);
    for (int64_t i = 0; words && i < s->rows; i++) words[i] = word_trimmed(sheet_cell(s, i, r->column.id));
    if (words) r->g->node_names = data_names(r->cx, words, s->rows);
    heed_mem_free(r->cx, words);
    r->key = data_room(r->cx, s->rows, 1, sizeof *r->key);
    if (!r->key) return false;
    for (int64_t i = 0; i < s->rows; i++) r->key[i] = (struct node_key){r->g->node_names[i], r->graph[i], (int32_t)i};
    qsort(r->key, (size_t)s->rows, sizeof *r->key, by_name);
    return true;
}

const struct node_key *graph_find_node(const struct graph_reading *r, const char *name, int64_t graph) {
    const struct word word = word_trimmed(name);
    int64_t low = 0, high = r->g->nodes;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        const struct node_key *const k = &r->key[middle];
        int order = strncmp(k->name, word.text, word.length);
        if (order == 0) order = k->name[word.length] != 0;
        if (order == 0 && graph >= 0) order = (k->graph > graph) - (k->graph < graph);
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == r->g->nodes) return NULL;
    const struct node_key *const k = &r->key[low];
    const bool same = strncmp(k->name, word.text, word.length) == 0 && !k->name[word.length];
    return same && (graph < 0 || k->graph == graph) ? k : NULL;
}

/* Where edges say their graph, names need be different only within one. */
static bool names_differ(struct graph_reading *r) {
    const struct sheet *const s = &r->nodes;
    for (int64_t i = 1; i < s->rows; i++) {
        const struct node_key *const a = &r->key[i - 1], *const b = &r->key[i];
        if (strcmp(a->name, b->name) != 0 || (r->edge.graph >= 0 && a->graph != b->graph)) continue;
        return heed_fail(r->cx, HEED_ERR_FORMAT, "%s: line %lld: node '%s' is there already, on line %lld", s->path,
                         (long long)heed_table_line(s->table, s->row[b->node]), escaped(b->name).s,
                         (long long)heed_table_line(s->table, s->row[a->node]));
    }
    return true;
}

/* ---- features ---- */

/* The next INDEX or INDEX:VALUE; false at the end, and where it is none. */
static bool next_feature(const char **at, int64_t *index, double *value) {
    char number[64];
    bool range;
    *at += strspn(*at, " ,;");
    const size_t digits = strspn(*at, "0123456789");
    if (digits == 0 || digits > 10) return false;
    *index = strtoll(*at, NULL, 10);
    *value = 1;
    *at += digits;
    if (**at != ':') return **at == 0 || strchr(" ,;", **at);
    const size_t n = strcspn(*at + 1, " ,;");
    snprintf(number, sizeof number, "%.*s", (int)(n < sizeof number ? n : 0), *at + 1);
    if (!number_read(number, value, &range) || !isfinite((float)*value)) return false;
    *at += 1 + n;
    return true;
}

static bool read_row(struct graph_reading *r, int64_t i, bool store, int64_t *n) {
    heed_graph_data *const g = r->g;
    const int64_t most = r->o->like ? r->o->like->width : INT32_MAX;
    const char *const text = sheet_cell(&r->nodes, i, r->column.features), *at = text;
    int64_t index;
    double value;
    while (next_feature(&at, &index, &value)) {
        if (index >= most)
            return sheet_fail(&r->nodes, HEED_ERR_RANGE, i, r->column.features,
                              "feature %lld of node '%s' is out of range, 0 to %lld", (long long)index,
                              escaped(g->node_names[i]).s, (long long)most - 1);
        if (store) g->column[*n] = (int32_t)index, g->value[*n] = (float)value;
        ++*n;
        if (index >= g->width) g->width = index + 1;
    }
    return !*at || sheet_fail(&r->nodes, HEED_ERR_FORMAT, i, r->column.features,
                              "'%s' is no list of indices, or of INDEX:VALUE, with blanks between", escaped(text).s);
}

static bool read_indices(struct graph_reading *r) {
    heed_graph_data *const g = r->g;
    int64_t n = 0, stored = 0;
    g->start = data_room(r->cx, g->nodes + 1, 1, sizeof *g->start);
    if (!g->start) return false;
    for (int64_t i = 0; i < g->nodes; i++) {
        g->start[i] = (int32_t)n;
        if (!read_row(r, i, false, &n)) return false;
        if (n > INT32_MAX) return heed_fail(r->cx, HEED_ERR_RANGE, "%s: too many features", r->nodes.path);
    }
    g->start[g->nodes] = (int32_t)n;
    g->column = data_room(r->cx, n, 1, sizeof *g->column);
    g->value = data_room(r->cx, n, 1, sizeof *g->value);
    for (int64_t i = 0; g->value && i < g->nodes; i++) read_row(r, i, true, &stored);
    if (r->o->like) g->width = r->o->like->width;
    return g->value && graph_sort_features(r->cx, g, r->nodes.path);
}

static bool all_there(const struct sheet *s) {
    for (int64_t k = 0; k < s->inputs; k++)
        for (int64_t i = 0; i < s->rows; i++)
            if (heed_table_missing(s->table, s->row[i], s->input[k]))
                return sheet_fail(s, HEED_ERR_FORMAT, i, s->input[k],
                                  "a missing value ('%s'); --drop leaves the column out",
                                  escaped(sheet_cell(s, i, s->input[k])).s);
    return true;
}

/* Numbers and categories, as of any table. */
static bool read_columns(struct graph_reading *r) {
    const struct sheet *const s = &r->nodes;
    const heed_graph_data *const like = r->o->like;
    heed_graph_data *const g = r->g;
    if (like && like->columns > 0 && s->inputs != like->columns)
        return heed_fail(r->cx, HEED_ERR_SHAPE, "%s: %lld columns of features, should be %lld", s->path,
                         (long long)s->inputs, (long long)like->columns);
    if (!all_there(s)) return false;
    const heed_data known = {.columns = like ? like->columns : 0, .categories = like ? like->categories : NULL};
    heed_data out = {.n = s->rows};
    const bool ok = sheet_inputs(s, like && like->columns > 0 ? &known : NULL, &out);
    g->x = out.x;
    g->width = out.width;
    g->columns = out.columns;
    g->categories = out.categories;
    if (ok && heed_table_has_header(s->table)) g->x_names = sheet_names(s, s->input, s->inputs);
    return ok && !heed_failed(r->cx);
}

static bool read_features(struct graph_reading *r) {
    if (r->column.features >= 0 ? !read_indices(r) : r->nodes.inputs > 0 && !read_columns(r)) return false;
    return r->g->width == 0 || graph_features_fit(r->cx, r->g, r->nodes.path, r->o->like);
}

/* ---- labels of nodes ---- */

static bool read_parts(struct graph_reading *r) {
    const struct sheet *const s = &r->nodes;
    unsigned char *const part = r->g->part = data_room(r->cx, s->rows, 1, 1);
    for (int64_t i = 0; part && i < s->rows; i++) {
        const char *const text = sheet_cell(s, i, r->column.part);
        const int found = graph_part_of(text);
        if (found < 0)
            return sheet_fail(s, HEED_ERR_FORMAT, i, r->column.part, "'%s' is not one of: train, val, test, none",
                              escaped(text).s);
        part[i] = (unsigned char)found;
    }
    return part;
}

static bool read_labels(struct graph_reading *r) {
    const struct sheet *const s = &r->nodes;
    const char **const word = data_room(r->cx, s->rows, 1, sizeof *word);
    int64_t *const place = data_room(r->cx, s->rows, 1, sizeof *place);
    for (int64_t i = 0; place && i < s->rows; i++) {
        word[i] = heed_table_missing(s->table, s->row[i], r->column.label) ? NULL : sheet_cell(s, i, r->column.label);
        place[i] = heed_table_line(s->table, s->row[i]);
    }
    const struct labelled l = {s->path, "line", word, place, s->rows};
    const bool ok = place && graph_put_labels(r->cx, r->g, &l, r->o->like);
    heed_mem_free(r->cx, place);
    heed_mem_free(r->cx, word);
    return ok;
}

static bool read_nodes_labels(struct graph_reading *r) {
    return (r->column.part < 0 || read_parts(r)) && (r->column.label < 0 || r->o->unlabelled || read_labels(r));
}

/* ---- all of it ---- */

static void close_sheet(struct sheet *s) {
    heed_mem_free(s->cx, s->row);
    heed_mem_free(s->cx, s->taken);
    heed_mem_free(s->cx, s->input);
    heed_table_close(s->table);
}

static bool read_all(struct graph_reading *r) {
    return graph_open_nodes(r) && group_nodes(r) && index_names(r) && graph_open_edges(r) && names_differ(r) &&
           read_features(r) && (r->o->whole ? graph_open_graphs(r) && graph_read_graphs(r) : read_nodes_labels(r)) &&
           graph_read_edges(r);
}

bool graph_read_tables(heed_ctx *cx, const struct graph_files *files, const heed_graph_data_opts *opts,
                       heed_graph_data *g) {
    struct graph_reading r = {.cx = cx, .files = files, .o = opts, .g = g};
    r.nodes.cx = r.edges.cx = r.graphs.cx = cx;
    const bool ok = read_all(&r);
    heed_mem_free(cx, r.graph_names.list);
    heed_mem_free(cx, r.key);
    heed_mem_free(cx, r.graph);
    close_sheet(&r.graphs);
    close_sheet(&r.edges);
    close_sheet(&r.nodes);
    return ok && !heed_failed(cx);
}
