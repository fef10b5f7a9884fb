/* What the columns of tables of graphs are: by their names or, without a header, by what they hold. */
#include "base/file.h"
#include "base/text.h"
#include "data/graphs/graph_tables.h"
#include "io/array.h"
#include "io/text.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { TITLES = 6, LOOKED_AT = 1 << 14 };
typedef const char *const titles[TITLES];

static titles of_id = {"id", "node", "node_id", "name"}, of_part = {"split", "part", "set", "subset"},
              of_label = {"label", "class", "y", "target"}, of_graph = {"graph", "graph_id"},
              of_graph_label = {"graph_label", "graph_class"}, of_features = {"features"},
              of_from = {"from", "source", "src", "source_id", "u"}, of_to = {"to", "target", "dst", "target_id", "v"},
              of_weight = {"weight", "edge_weight", "w"}, of_graph_id = {"graph", "graph_id", "id", "name"};

/* ---- opening ---- */

/* The table by itself, in memory; a table of blanks alone has no rows: NULL without a failure. */
static char *read_text(heed_ctx *cx, const char *path, const char *given, size_t *size) {
    char *const text = given ? heed_mem_new(cx, strlen(given) + 1) : (char *)file_read(cx, path, IO_READ_LIMIT, size);
    if (text && given) *size = strlen(strcpy(text, given));
    if (!text || !text_is_blank(text)) return text;
    heed_mem_free(cx, text);
    return NULL;
}

/* The first lines alone, to see whether one of them is a header. */
static heed_table *first_lines(heed_ctx *cx, const char *path, const char *text, size_t size, heed_header header) {
    size_t n = size < LOOKED_AT ? size : LOOKED_AT;
    while (n < size && n > 0 && text[n - 1] != '\n') n--;
    const heed_table_options options = {.header = header};
    return heed_table_parse(cx, path, text, n > 0 ? n : size, &options);
}

static bool is_titled(const char *text, titles names) {
    const struct word word = word_trimmed(text);
    for (int k = 0; k < TITLES && names[k]; k++)
        if (strlen(names[k]) == word.length && strncasecmp(word.text, names[k], word.length) == 0) return true;
    return false;
}

/* The column of the first of these names that there is. */
static int64_t find_titled(const struct sheet *s, titles names) {
    for (int k = 0; k < TITLES && names[k]; k++)
        for (int64_t i = 0; i < s->columns; i++)
            if (s->taken[i] == SHEET_FREE && strcasecmp(heed_table_name(s->cx, s->table, i), names[k]) == 0) {
                s->taken[i] = SHEET_CHOSEN;
                return i;
            }
    return -1;
}

/* Whether a first row of plain text names the columns: one of them is called so, or it is unlike what is below. */
static bool finds_header(heed_ctx *cx, const char *path, const char *text, size_t size, titles names) {
    heed_table *t = first_lines(cx, path, text, size, HEED_HEADER_NO);
    bool header = false;
    for (int64_t i = 0; t && i < heed_table_columns(t); i++) header |= is_titled(heed_table_cell(cx, t, 0, i), names);
    heed_table_close(t);
    if (header || heed_failed(cx)) return header;
    t = first_lines(cx, path, text, size, HEED_HEADER_AUTO);
    header = heed_table_has_header(t);
    heed_table_close(t);
    return header;
}

/* Takes all rows. */
static bool open_sheet(heed_ctx *cx, const char *path, const char *text, size_t size, bool header, struct sheet *s) {
    const heed_table_options options = {.header = header ? HEED_HEADER_YES : HEED_HEADER_NO};
    *s = (struct sheet){.cx = cx, .path = path, .table = heed_table_parse(cx, path, text, size, &options)};
    s->columns = heed_table_columns(s->table);
    s->rows = heed_table_rows(s->table);
    s->taken = data_room(cx, s->columns, 1, 1);
    s->input = data_room(cx, s->columns, 1, sizeof *s->input);
    s->row = data_room(cx, s->rows, 1, sizeof *s->row);
    if (heed_failed(cx)) return false;
    memset(s->taken, SHEET_FREE, (size_t)s->columns);
    for (int64_t i = 0; i < s->rows; i++) s->row[i] = i;
    return true;
}

/* ---- what columns hold ---- */

static bool holds_parts(const struct sheet *s, int64_t column) {
    bool any = false;
    for (int64_t i = 0; i < s->rows; i++) {
        const int part = graph_part_of(sheet_cell(s, i, column));
        if (part < 0) return false;
        any |= part != HEED_GRAPH_NONE;
    }
    return any;
}

/* Whole numbers, with or without :VALUE, and at least two of them somewhere. */
static bool holds_indices(const struct sheet *s, int64_t column) {
    bool lists = false;
    for (int64_t i = 0; i < s->rows; i++) {
        const char *at = sheet_cell(s, i, column);
        if (!at[strspn(at, "0123456789.:eE+- ")]) {
            lists |= strpbrk(at, ": ") != NULL;
            continue;
        }
        return false;
    }
    return lists;
}

static int64_t find_holding(const struct sheet *s, bool (*holds)(const struct sheet *, int64_t)) {
    for (int64_t i = 0; i < s->columns; i++)
        if (s->taken[i] == SHEET_FREE && holds(s, i)) {
            s->taken[i] = SHEET_CHOSEN;
            return i;
        }
    return -1;
}

static int64_t take_column(struct sheet *s, int64_t i) {
    if (i >= 0) s->taken[i] = SHEET_CHOSEN;
    return i;
}

/* ---- nodes ---- */

static int64_t columns_left(const struct sheet *s, int64_t *last) {
    int64_t left = 0;
    *last = -1;
    for (int64_t i = 0; i < s->columns; i++)
        if (s->taken[i] == SHEET_FREE) left++, *last = i;
    return left;
}

static void say_columns(const struct graph_reading *r) {
    const struct node_columns *const c = &r->column;
    char text[256] = "";
    const struct {
        int64_t column;
        const char *what;
    } known[] = {{c->id, "id"}, {c->part, "split"}, {c->label, "class"}, {c->features, "indices of features"}};
    for (int64_t i = 0; i < r->nodes.columns && strlen(text) < 200; i++)
        for (size_t k = 0; k < sizeof known / sizeof *known; k++)
            if (known[k].column == i) {
                const size_t used = strlen(text);
                snprintf(text + used, sizeof text - used, "%s%lld %s", used ? ", " : "", (long long)i + 1,
                         known[k].what);
            }
    heed_note(r->cx, HEED_LOG_INFO, "%s: no header; columns taken as %s%s", r->nodes.path, text,
              r->nodes.inputs > 0 ? ", the others features" : "");
}

/* Without a header: the names are the first column; parts and indices are known by what they hold; of what is left the
 * last is the class, unless the model's columns of features are as many. */
static void find_by_contents(struct graph_reading *r) {
    struct sheet *const s = &r->nodes;
    struct node_columns *const c = &r->column;
    int64_t last;
    c->id = take_column(s, 0);
    c->part = find_holding(s, holds_parts);
    c->features = find_holding(s, holds_indices);
    const int64_t left = columns_left(s, &last), known = r->o->like && c->features < 0 ? r->o->like->columns : 0;
    if (left > known) c->label = take_column(s, last);
}

static void find_by_titles(struct graph_reading *r) {
    struct sheet *const s = &r->nodes;
    struct node_columns *const c = &r->column;
    c->id = find_titled(s, of_id);
    if (c->id < 0 && s->columns > 0 && s->taken[0] == SHEET_FREE) c->id = take_column(s, 0);
    c->part = find_titled(s, of_part);
    c->graph = find_titled(s, of_graph);
    c->graph_label = find_titled(s, of_graph_label);
    c->features = find_titled(s, of_features);
    const bool elsewhere = r->o->whole && (c->graph_label >= 0 || r->files->graphs);
    if (c->label < 0 && !elsewhere) c->label = find_titled(s, of_label);
    if (r->o->whole && c->graph_label < 0) c->graph_label = c->label;
}

static bool find_target(struct graph_reading *r) {
    int64_t found[1], n = 0;
    const char *const name = r->o->target;
    if (!name) return true;
    if (!sheet_claim_each(&r->nodes, (const char *const[]){name, NULL}, found, &n)) return false;
    r->column.label = found[0];
    return true;
}

/* The features of a table with names are those that the model knows, by their names. */
static bool find_inputs(struct graph_reading *r) {
    struct sheet *const s = &r->nodes;
    char **const names = r->o->like && heed_table_has_header(s->table) ? r->o->like->x_names : NULL;
    int64_t last;
    if (names) return sheet_claim_each(s, (const char *const *)names, s->input, &s->inputs);
    if (r->column.features >= 0 && columns_left(s, &last) > 0)
        return heed_fail(s->cx, HEED_ERR_FORMAT,
                         "%s: features are in the column '%s' or in columns of their own, such as '%s', not both; "
                         "--drop leaves a column out",
                         s->path, escaped(heed_table_name(s->cx, s->table, r->column.features)).s,
                         escaped(heed_table_name(s->cx, s->table, last)).s);
    for (int64_t i = 0; i < s->columns; i++)
        if (s->taken[i] == SHEET_FREE) s->input[s->inputs++] = take_column(s, i);
    return true;
}

static bool empty(heed_ctx *cx, const char *path) {
    return heed_fail(cx, HEED_ERR_FORMAT, "%s: the graph is empty: it has no nodes", path);
}

bool graph_open_nodes(struct graph_reading *r) {
    size_t size = 0;
    const char *const path = r->files->nodes;
    char *const text = read_text(r->cx, path, r->files->nodes_text, &size);
    struct sheet *const s = &r->nodes;
    r->column = (struct node_columns){-1, -1, -1, -1, -1, -1};
    if (!text) return !heed_failed(r->cx) && empty(r->cx, path);
    const bool header = finds_header(r->cx, path, text, size, of_id);
    bool ok = !heed_failed(r->cx) && open_sheet(r->cx, path, text, size, header, s);
    heed_mem_free(r->cx, text);
    if (ok && s->rows == 0) ok = empty(r->cx, path);
    ok = ok && (!r->o->drop || sheet_claim_each(s, r->o->drop, NULL, NULL)) && find_target(r);
    if (ok) (header ? find_by_titles : find_by_contents)(r);
    ok = ok && !heed_failed(r->cx) && find_inputs(r);
    if (ok && !header) say_columns(r);
    return ok && !heed_failed(r->cx);
}

/* ---- edges ---- */

/* Words that are no nodes stand above them; a number would be a node that is missing. */
static bool edges_have_header(const struct graph_reading *r, const char *path, const char *text, size_t size) {
    heed_table *const t = first_lines(r->cx, path, text, size, HEED_HEADER_NO);
    bool header = heed_table_columns(t) > 1, titled[2] = {false, false};
    for (int64_t i = 0; header && i < heed_table_columns(t); i++) {
        titled[0] |= is_titled(heed_table_cell(r->cx, t, 0, i), of_from);
        titled[1] |= is_titled(heed_table_cell(r->cx, t, 0, i), of_to);
    }
    for (int64_t i = 0; header && i < 2; i++)
        header = !graph_find_node(r, heed_table_cell(r->cx, t, 0, i), -1) && !heed_table_number(t, 0, i, NULL);
    heed_table_close(t);
    return header || (titled[0] && titled[1]);
}

bool graph_open_edges(struct graph_reading *r) {
    size_t size = 0;
    const char *const path = r->files->edges;
    char *const text = read_text(r->cx, path, r->files->edges_text, &size);
    struct sheet *const s = &r->edges;
    struct edge_columns *const c = &r->edge;
    *c = (struct edge_columns){-1, -1, -1, -1};
    s->path = path;
    if (!text) return !heed_failed(r->cx);
    const bool header = edges_have_header(r, path, text, size);
    const bool ok = !heed_failed(r->cx) && open_sheet(r->cx, path, text, size, header, s);
    heed_mem_free(r->cx, text);
    if (!ok) return false;
    if (s->columns < 2) return heed_fail(r->cx, HEED_ERR_FORMAT, "%s: an edge is two nodes: there is one column", path);
    if (header) {
        c->from = find_titled(s, of_from);
        c->to = find_titled(s, of_to);
        c->weight = find_titled(s, of_weight);
        c->graph = find_titled(s, of_graph);
    }
    if (c->from < 0 || c->to < 0) c->from = 0, c->to = 1;
    if (!header && s->columns == 3) c->weight = 2;
    if (!header && s->columns > 3)
        return heed_fail(r->cx, HEED_ERR_FORMAT,
                         "%s: %lld columns without names: an edge is two nodes and, at most, a weight", path,
                         (long long)s->columns);
    return !heed_failed(r->cx);
}

/* ---- graphs ---- */

bool graph_open_graphs(struct graph_reading *r) {
    size_t size = 0;
    const char *const path = r->files->graphs;
    struct sheet *const s = &r->graphs;
    struct graph_columns *const c = &r->whole;
    *c = (struct graph_columns){-1, -1, -1};
    if (!path) return true;
    char *const text = read_text(r->cx, path, r->files->graphs_text, &size);
    if (!text) return !heed_failed(r->cx) && heed_fail(r->cx, HEED_ERR_FORMAT, "%s: the table is empty", path);
    const bool header = finds_header(r->cx, path, text, size, of_graph_id);
    const bool ok = !heed_failed(r->cx) && open_sheet(r->cx, path, text, size, header, s);
    heed_mem_free(r->cx, text);
    if (!ok) return false;
    c->graph = header ? find_titled(s, of_graph_id) : -1;
    if (c->graph < 0) c->graph = take_column(s, 0);
    c->part = header ? find_titled(s, of_part) : find_holding(s, holds_parts);
    c->label = header ? find_titled(s, of_label) : -1;
    int64_t last;
    if (c->label < 0 && columns_left(s, &last) > 0) c->label = take_column(s, last);
    return !heed_failed(r->cx);
}
