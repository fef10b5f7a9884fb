/* Options that say where graphs are and how they are read: in training, in measuring, and in use. */
#ifndef TASK_NODES_GRAPH_FIELDS_H
#define TASK_NODES_GRAPH_FIELDS_H

#include "heed/graph_data.h"
#include "io/fields.h"

/* clang-format off */
#define GRAPH_TABLE_FIELDS                                                                                            \
    {.name = "nodes", .kind = HEED_FIELD_FILE, .value = "FILE",                                                       \
     .help = "of graphs, instead of --data: the table of nodes, csv or tsv (also .gz)"},                              \
    {.name = "edges", .kind = HEED_FIELD_FILE, .value = "FILE", .help = "with --nodes: the table of edges"},          \
    {.name = "graphs", .kind = HEED_FIELD_FILE, .value = "FILE",                                                      \
     .help = "with --nodes: a table of graph, split and label, of whole graphs"}
/* clang-format on */
extern const heed_field graph_fields[]; /* these */

/* Whether the tables that are given belong together; `why` is a sentence. */
bool graph_fields_fit(const struct values *v, char why[FIELD_WHY]);
/* Reads graphs from `path`, or from the tables that are given; or draws them, where the path is the word for it. */
heed_graph_data *graph_fields_load(heed_ctx *cx, const struct values *v, const char *path,
                                   const heed_graph_data_opts *opts);

#define GRAPHS_DRAWN "copies"

#endif
