/* Which files graphs are read from, and what is checked and said of whatever was read. */
#include "base/profile.h"
#include "base/text.h"
#include "data/graphs/graphs.h"
#include "data/recognise.h"
#include "io/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct graph_paths {
    char nodes[FOUND_PATH], edges[FOUND_PATH], graphs[FOUND_PATH];
};

static bool find_file(const char *folder, const char *name, char out[FOUND_PATH]) {
    static const char *const endings[] = {".tsv", ".csv", ".txt", ".tsv.gz", ".csv.gz", ".txt.gz"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (snprintf(out, FOUND_PATH, "%s/%s%s", folder, name, endings[i]) < FOUND_PATH && data_is_file(out))
            return true;
    return false;
}

static bool find_tables(heed_ctx *cx, const char *folder, struct graph_paths *p, struct graph_files *f) {
    static const char lacks[] = "%s: there is no table of %s: nodes.tsv and edges.tsv (also .csv, .gz) are expected";
    if (access(folder, F_OK) != 0) return heed_fail(cx, HEED_ERR_FILE, "%s: %s", folder, strerror(errno));
    if (!data_is_folder(folder))
        return heed_fail(cx, HEED_ERR_FILE,
                         "%s: neither a directory with nodes.tsv and edges.tsv nor an .npz file; --nodes and --edges "
                         "name tables",
                         folder);
    if (!find_file(folder, "nodes", p->nodes)) return heed_fail(cx, HEED_ERR_FILE, lacks, folder, "nodes");
    if (!find_file(folder, "edges", p->edges)) return heed_fail(cx, HEED_ERR_FILE, lacks, folder, "edges");
    *f = (struct graph_files){.nodes = p->nodes, .edges = p->edges};
    if (find_file(folder, "graphs", p->graphs)) f->graphs = p->graphs;
    return true;
}

static bool is_npz(const char *path) { return text_ends(path, strlen(path), ".npz"); }

static bool read_any(heed_ctx *cx, const heed_graph_data_opts *o, heed_graph_data *g) {
    struct graph_files files = {.nodes = o->nodes, .edges = o->edges, .graphs = o->graphs};
    if (o->data && is_npz(o->data)) return graph_read_npz(cx, o->data, o, g);
    struct graph_paths *const p = o->data ? heed_mem_new(cx, sizeof *p) : NULL;
    const bool ok = (!o->data || (p && find_tables(cx, o->data, p, &files))) && graph_read_tables(cx, &files, o, g);
    heed_mem_free(cx, p);
    return ok;
}

/* ---- what is checked of all graphs ---- */

static bool check(heed_ctx *cx, const char *name, const heed_graph_data_opts *o, const heed_graph_data *g) {
    char count[48], number[24];
    if (g->nodes == 0) return heed_fail(cx, HEED_ERR_FORMAT, "%s: the graph is empty: it has no nodes", name);
    for (int64_t i = 0; i < g->graphs; i++)
        if (g->node_start[i] == g->node_start[i + 1])
            return heed_fail(cx, HEED_ERR_FORMAT, "%s: graph '%s' has no nodes", name, heed_graph_name(g, i, number));
    if (g->part && g->label && !o->like && !o->unlabelled && !graph_parts_fit(cx, g, name)) return false;
    if (g->isolated > 0)
        heed_note(cx, HEED_LOG_INFO, "%s: %s without an edge to another node", name,
                  text_count(g->isolated, "node", "nodes", count));
    if (g->repeated > 0)
        heed_note(cx, HEED_LOG_INFO, "%s: %s listed more than once, taken once", name,
                  text_count(g->repeated, "edge is", "edges are", count));
    return !heed_failed(cx);
}

static heed_graph_data *begin(heed_ctx *cx, const heed_graph_data_opts *o) {
    heed_graph_data *const g = graph_new(cx);
    if (g) g->whole = o->whole, g->directed = o->directed;
    return g;
}

static heed_graph_data *finish(heed_ctx *cx, const char *name, const heed_graph_data_opts *o, heed_graph_data *g,
                               bool read) {
    if (read && check(cx, name, o, g)) return g;
    heed_graph_data_free(cx, g);
    return NULL;
}

heed_graph_data *heed_graph_load(heed_ctx *cx, const heed_graph_data_opts *opts) {
    if (heed_failed(cx)) return NULL;
    if (!opts || (!opts->data && !(opts->nodes && opts->edges)))
        return heed_fail(cx, HEED_ERR_USAGE,
                         "graphs: a directory, an .npz file, or tables of nodes and edges are needed"),
               NULL;
    if (opts->data && (opts->nodes || opts->edges || opts->graphs))
        return heed_fail(cx, HEED_ERR_USAGE, "graphs: tables of their own beside %s: only one of them makes sense",
                         opts->data),
               NULL;
    const struct profile_mark mark = profile_begin(cx);
    heed_graph_data *g = begin(cx, opts);
    g = finish(cx, opts->data ? opts->data : opts->nodes, opts, g, g && read_any(cx, opts, g));
    profile_end(cx, mark, "load data", PROFILE_FORWARD);
    return g;
}

heed_graph_data *heed_graph_parse(heed_ctx *cx, const char *nodes, const char *edges, const char *graphs,
                                  const heed_graph_data_opts *opts) {
    static const heed_graph_data_opts defaults = {.data = NULL};
    if (heed_failed(cx)) return NULL;
    if (!nodes || !edges)
        return heed_fail(cx, HEED_ERR_USAGE, "graph_parse: the %s NULL", nodes ? "edges are" : "nodes are"), NULL;
    const heed_graph_data_opts *const o = opts ? opts : &defaults;
    const struct graph_files files = {"nodes", "edges", graphs ? "graphs" : NULL, nodes, edges, graphs};
    heed_graph_data *const g = begin(cx, o);
    return finish(cx, "nodes", o, g, g && graph_read_tables(cx, &files, o, g));
}
