/* Tables of nodes, edges and graphs while they are read: graph_columns.c says what their columns are, graph_tables.c
 * reads nodes, graph_lists.c edges and graphs. */
#ifndef DATA_GRAPHS_GRAPH_TABLES_H
#define DATA_GRAPHS_GRAPH_TABLES_H

#include "data/graphs/graphs.h"

/* Columns by what they are; -1: there is none. */
struct node_columns {
    int64_t id, part, label, graph, graph_label, features;
};
struct edge_columns {
    int64_t from, to, weight, graph;
};
struct graph_columns {
    int64_t graph, part, label;
};

struct node_key {
    const char *name;
    int32_t graph, node;
};

struct graph_reading {
    heed_ctx *cx;
    const struct graph_files *files;
    const heed_graph_data_opts *o;
    heed_graph_data *g;
    struct sheet nodes; /* its rows in the order of g's nodes */
    struct node_columns column;
    struct sheet edges, graphs; /* table NULL: there is none */
    struct edge_columns edge;
    struct graph_columns whole;
    int32_t *graph;       /* (nodes) of each */
    struct node_key *key; /* (nodes) sorted by name and graph */
    struct vocabulary graph_names;
};

/* Opens the tables and says what their columns are. */
bool graph_open_nodes(struct graph_reading *r);
bool graph_open_edges(
    struct graph_reading *r); /* false without a failure is not possible; an empty file has no table */
bool graph_open_graphs(struct graph_reading *r);

/* The place of a name among the keys; graph -1: of any graph. NULL: there is no such node. */
const struct node_key *graph_find_node(const struct graph_reading *r, const char *name, int64_t graph);

bool graph_read_edges(struct graph_reading *r);
/* Labels and parts of whole graphs, of the table of graphs or else of columns of nodes. */
bool graph_read_graphs(struct graph_reading *r);

#endif
