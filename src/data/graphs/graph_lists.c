/* Tables of edges and of graphs, whose cells name nodes and graphs of the table of nodes. */
#include "data/graphs/graph_tables.h"
#include "io/text.h"

#include <math.h>
#include <string.h>

/* ---- edges ---- */

static int64_t find_graph(const struct graph_reading *r, const struct sheet *s, int64_t i, int64_t column) {
    if (column < 0) return -1;
    const int64_t found = r->graph_names.list ? vocabulary_find(&r->graph_names, sheet_cell(s, i, column)) : -1;
    if (found < 0)
        sheet_fail(s, HEED_ERR_FORMAT, i, column, "there is no node of graph '%s'",
                   escaped(sheet_cell(s, i, column)).s);
    return found;
}

static bool find_end(const struct graph_reading *r, int64_t i, int64_t column, int64_t graph, int32_t *out) {
    const struct sheet *const s = &r->edges;
    const struct node_key *const k = graph_find_node(r, sheet_cell(s, i, column), graph);
    if (k) *out = k->node;
    return k || sheet_fail(s, HEED_ERR_FORMAT, i, column, "there is no node '%s'%s in %s",
                           escaped(sheet_cell(s, i, column)).s, graph >= 0 ? " of this graph" : "", r->nodes.path);
}

static bool read_edge(const struct graph_reading *r, int64_t i, struct listed_edge *e) {
    const struct sheet *const s = &r->edges;
    double weight = 1;
    const int64_t graph = find_graph(r, s, i, r->edge.graph);
    if (heed_failed(r->cx)) return false;
    e->place = heed_table_line(s->table, i);
    if (!find_end(r, i, r->edge.from, graph, &e->from) || !find_end(r, i, r->edge.to, graph, &e->to)) return false;
    if (r->edge.weight >= 0 && (!heed_table_number(s->table, i, r->edge.weight, &weight) || !isfinite((float)weight)))
        return sheet_fail(s, HEED_ERR_FORMAT, i, r->edge.weight, "the weight '%s' is not a finite number",
                          escaped(sheet_cell(s, i, r->edge.weight)).s);
    e->weight = (float)weight;
    return true;
}

bool graph_read_edges(struct graph_reading *r) {
    const struct sheet *const s = &r->edges;
    struct edge_list list = {.name = s->path, .unit = "line", .weighted = r->edge.weight >= 0};
    list.at = data_room(r->cx, s->rows, 1, sizeof *list.at);
    bool ok = list.at;
    for (; ok && list.n < s->rows; list.n++) ok = read_edge(r, list.n, &list.at[list.n]);
    ok = ok && graph_put_edges(r->cx, r->g, &list);
    heed_mem_free(r->cx, list.at);
    return ok;
}

/* ---- labels of whole graphs ---- */

/* Of each graph, the row that says what it is, of the table `s`. */
struct graph_rows {
    const struct sheet *s;
    int64_t *row; /* (graphs) -1: none */
    int64_t part, label;
};

static bool rows_of_table(const struct graph_reading *r, struct graph_rows *to) {
    const struct sheet *const s = to->s;
    for (int64_t i = 0; i < s->rows; i++) {
        const int64_t graph = r->graph_names.list ? find_graph(r, s, i, r->whole.graph) : r->g->graphs > 1 ? -1 : 0;
        if (heed_failed(r->cx)) return false;
        if (graph < 0 || to->row[graph] >= 0)
            return sheet_fail(s, HEED_ERR_FORMAT, i, r->whole.graph, "graph '%s' is there already",
                              escaped(sheet_cell(s, i, r->whole.graph)).s);
        to->row[graph] = i;
    }
    return true;
}

/* All nodes of a graph must say the same of it. */
static bool rows_of_nodes(const struct graph_reading *r, struct graph_rows *to) {
    const struct sheet *const s = to->s;
    const int64_t columns[] = {to->part, to->label};
    for (int64_t i = 0; i < s->rows; i++) {
        int64_t *const first = &to->row[r->graph[i]];
        if (*first < 0) *first = i;
        for (int k = 0; k < 2; k++)
            if (columns[k] >= 0 && strcmp(sheet_cell(s, i, columns[k]), sheet_cell(s, *first, columns[k])) != 0)
                return sheet_fail(s, HEED_ERR_FORMAT, i, columns[k], "'%s', but '%s' on line %lld, of the same graph",
                                  escaped(sheet_cell(s, i, columns[k])).s, escaped(sheet_cell(s, *first, columns[k])).s,
                                  (long long)heed_table_line(s->table, s->row[*first]));
    }
    return true;
}

static bool put_parts(struct graph_reading *r, const struct graph_rows *from) {
    unsigned char *const part = r->g->part = data_room(r->cx, r->g->graphs, 1, 1);
    for (int64_t i = 0; part && i < r->g->graphs; i++) {
        const char *const text = from->row[i] < 0 ? "" : sheet_cell(from->s, from->row[i], from->part);
        const int found = graph_part_of(text);
        if (found < 0)
            return sheet_fail(from->s, HEED_ERR_FORMAT, from->row[i], from->part,
                              "'%s' is not one of: train, val, test, none", escaped(text).s);
        part[i] = (unsigned char)found;
    }
    return part;
}

static bool put_labels(struct graph_reading *r, const struct graph_rows *from) {
    const struct sheet *const s = from->s;
    const int64_t n = r->g->graphs;
    const char **const word = data_room(r->cx, n, 1, sizeof *word);
    int64_t *const place = data_room(r->cx, n, 1, sizeof *place);
    for (int64_t i = 0; place && i < n; i++) {
        const int64_t row = from->row[i] < 0 ? -1 : s->row[from->row[i]];
        word[i] =
            row < 0 || heed_table_missing(s->table, row, from->label) ? NULL : sheet_cell(s, from->row[i], from->label);
        place[i] = heed_table_line(s->table, row);
    }
    const struct labelled l = {s->path, "line", word, place, n};
    const bool ok = place && graph_put_labels(r->cx, r->g, &l, r->o->like);
    heed_mem_free(r->cx, place);
    heed_mem_free(r->cx, word);
    return ok;
}

bool graph_read_graphs(struct graph_reading *r) {
    const bool table = r->graphs.table;
    struct graph_rows rows = {.s = table ? &r->graphs : &r->nodes,
                              .row = data_room(r->cx, r->g->graphs, 1, sizeof *rows.row),
                              .part = table ? r->whole.part : r->column.part,
                              .label = table ? r->whole.label : r->column.graph_label};
    bool ok = rows.row;
    for (int64_t i = 0; ok && i < r->g->graphs; i++) rows.row[i] = -1;
    ok = ok && (table ? rows_of_table : rows_of_nodes)(r, &rows) && (rows.part < 0 || put_parts(r, &rows)) &&
         (rows.label < 0 || r->o->unlabelled || put_labels(r, &rows));
    heed_mem_free(r->cx, rows.row);
    return ok;
}
