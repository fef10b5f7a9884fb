/* Graphs while they are read: what the readers of tables and of npz files share. */
#ifndef DATA_GRAPHS_GRAPHS_H
#define DATA_GRAPHS_GRAPHS_H

#include "data/tables/table_columns.h"
#include "heed/graph_data.h"

/* ---- edges (graph_edges.c) ---- as a file lists them */

struct listed_edge {
    int32_t from, to;
    float weight;
    int64_t place; /* line or number, for sentences */
};
struct edge_list {
    const char *name, *unit; /* of the file; what a place is: "line", "edge" */
    struct listed_edge *at;
    int64_t n;
    bool weighted;
};
/* Sorted, in both directions where the graph is undirected; g has its nodes and graphs. Fails where an edge joins two
 * graphs, or the two directions of one edge have different weights. */
bool graph_put_edges(heed_ctx *cx, heed_graph_data *g, const struct edge_list *list);

/* ---- labels (graph_labels.c) ---- */

/* What is labelled: its words, NULL where it has none, and where it stands in the file. */
struct labelled {
    const char *name, *unit; /* of the file, "line" or "node" */
    const char **word;       /* (n) */
    const int64_t *place;    /* (n) */
    int64_t n;
};
/* g->label, classes and class_names: numbers in their order, or words sorted; like those of `like` where it is given.
 */
bool graph_put_labels(heed_ctx *cx, heed_graph_data *g, const struct labelled *l, const heed_graph_data *like);
/* "train", "val", "none", ... ; -1: none of the words for a part. */
int graph_part_of(const char *text);
/* Fails where a class of validation or test does not occur among what is to train. */
bool graph_parts_fit(heed_ctx *cx, const heed_graph_data *g, const char *name);

/* ---- features (graph_features.c) ---- */

/* Sorts the columns of each sparse row; the same column twice is refused, with the name of the row. */
bool graph_sort_features(heed_ctx *cx, heed_graph_data *g, const char *name);
/* As many as those of `like`: they cannot be told apart by names. */
bool graph_features_fit(heed_ctx *cx, const heed_graph_data *g, const char *name, const heed_graph_data *like);

/* ---- the readers ---- each fills g, which is new; what a failed one leaves in it is freed by the caller */

struct graph_files {
    const char *nodes, *edges, *graphs;                /* paths, or names of */
    const char *nodes_text, *edges_text, *graphs_text; /* the tables themselves; NULL: files */
};
bool graph_read_tables(heed_ctx *cx, const struct graph_files *files, const heed_graph_data_opts *opts,
                       heed_graph_data *g);
bool graph_read_npz(heed_ctx *cx, const char *path, const heed_graph_data_opts *opts, heed_graph_data *g);
bool graph_parse_npz(heed_ctx *cx, const char *name, const void *bytes, size_t size, const heed_graph_data_opts *opts,
                     heed_graph_data *g);

heed_graph_data *graph_new(heed_ctx *cx);
int64_t graph_labelled(const heed_graph_data *g); /* how many nodes or graphs labels are for */
const char *graph_unit(const heed_graph_data *g); /* "node" or "graph" */
/* One graph of all nodes. */
bool graph_put_single(heed_ctx *cx, heed_graph_data *g);

#endif
