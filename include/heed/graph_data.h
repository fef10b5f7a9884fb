/* heed/graph_data.h: graphs as data: nodes with features and labels, the edges between them, and graphs with labels of
 * their own; read from tables and npz files, or drawn.
 *
 *     heed_graph_data *g = heed_graph_load(cx, &(heed_graph_data_opts){.data = "cora"});
 *     heed_graph_data *g = heed_graph_load(cx, &(heed_graph_data_opts){.nodes = "nodes.tsv", .edges = "edges.tsv"}); */
#ifndef HEED_GRAPH_DATA_H
#define HEED_GRAPH_DATA_H

#include "heed/data.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HEED_UNLABELLED (-100) /* the label of what has none: losses and metrics leave it out */

typedef enum heed_graph_part { HEED_GRAPH_NONE, HEED_GRAPH_TRAIN, HEED_GRAPH_VALID, HEED_GRAPH_TEST } heed_graph_part;

/* One graph or many. The nodes of a graph lie side by side, and so do its edges, which are sorted by source and target
 * whatever their order in the file. An undirected edge is stored as its two directions, one of a node to itself once.
 * Lists of names end in NULL. */
typedef struct heed_graph_data {
    int64_t nodes, edges, graphs;
    int64_t *node_start, *edge_start; /* (graphs + 1): graph i is nodes node_start[i] up to node_start[i + 1] */
    int32_t *edge;                    /* (2, edges): the sources, then the targets */
    float *weight;                    /* (edges); NULL: all 1 */
    bool directed;                    /* edges stand for one direction; else each is here with its reverse */
    char **node_names, **graph_names; /* as the file has them; NULL: numbers from 0 */

    /* Features: dense, or sparse as rows start[i] up to start[i + 1] of column and value, or none (width 0). */
    int64_t width;
    float *x;           /* (nodes, width); NULL: not dense */
    int32_t *start;     /* (nodes + 1); NULL: not sparse */
    int32_t *column;    /* (start[nodes]), ascending in each row */
    float *value;       /* (start[nodes]) */
    char **x_names;     /* (columns) of a table's columns of features; NULL: they have no names */
    int64_t columns;    /* of a table; 0: the features are no columns */
    char ***categories; /* (columns): of a column of text, see heed_data; NULL: all are numbers */

    /* Labels, of nodes or, with `whole`, of graphs. */
    bool whole;
    int32_t *label;      /* (nodes or graphs) HEED_UNLABELLED: none; NULL: there are no labels */
    int64_t classes;     /* 0: no labels */
    char **class_names;  /* (classes); NULL: the model has no names for them, they are numbers */
    unsigned char *part; /* (nodes or graphs) a heed_graph_part; NULL: the file does not say */
    int64_t isolated;    /* nodes without an edge to another node */
    int64_t repeated;    /* edges that were listed again and left out */
} heed_graph_data;

typedef struct heed_graph_data_opts {
    /* A directory with nodes.tsv and edges.tsv (also .csv and .gz) and, where there is one, graphs.tsv; or an .npz
     * file. Or the tables by themselves: */
    const char *data;
    const char *nodes, *edges, *graphs; /* nodes NULL: those that edges name; graphs NULL: no table of graphs */
    bool whole;                         /* the labels are those of graphs */
    bool directed;                      /* an edge stands for one direction */
    bool unlabelled;                    /* labels are not wanted: for predicting them */
    const char *target; /* the column of the classes, by name or number; NULL: label, class or y, or what is left */
    const char *const *drop; /* columns of nodes that are no features, NULL-terminated; NULL: none */
    /* Features and classes as in this one, whose numbers are not looked at: for measuring and for new graphs. */
    const heed_graph_data *like;
} heed_graph_data_opts;

/* Reads graphs. A table of nodes has a row for each: its name (the column id, node or name, else the first), and where
 * there are such columns its part (split: train, val, test, none), its class (label, class, y), its graph (graph) and
 * that graph's class (graph_label). A column `features` holds the indices of features that are 1, or index:value, with
 * blanks between; all other columns are features, numbers or categories. Without a header columns are known by what
 * they hold. A table of edges has source and target (from, to; else the first two columns) and, where there are such
 * columns, weight and graph; a table of graphs has graph, split and label. An .npz has x or the parts of a sparse
 * matrix (attr_data, attr_indices, attr_indptr, attr_shape), edge_index or adj_..., y or labels, train_mask, val_mask,
 * test_mask, edge_weight and batch. What was recognised is said by heed_note.
 *
 * Names of nodes may be any text; where edges have a graph they need be different only within a graph. */
HEED_API heed_graph_data *heed_graph_load(heed_ctx *cx, const heed_graph_data_opts *opts);
/* The same of tables in memory; graphs may be NULL. */
HEED_API heed_graph_data *heed_graph_parse(heed_ctx *cx, const char *nodes, const char *edges, const char *graphs,
                                           const heed_graph_data_opts *opts);
HEED_API void heed_graph_data_free(heed_ctx *cx, heed_graph_data *g);
/* What node i is called; out holds its number where it has no name. */
HEED_API const char *heed_graph_node_name(const heed_graph_data *g, int64_t i, char out[24]);
HEED_API const char *heed_graph_name(const heed_graph_data *g, int64_t i, char out[24]); /* the same of graph i */

/* Features of graphs that have none, by name: "identity", one feature for each node, on which only this graph can be
 * learnt; "degree", one-hot: the number of edges that lead to a node, of which `width` - 1 and more are one;
 * "constant", a 1. width is looked at for degrees alone; 0: one more than the largest. */
#define HEED_GRAPH_FEATURES "given identity degree constant"
HEED_API bool heed_graph_add_features(heed_ctx *cx, heed_graph_data *g, const char *kind, int64_t width);
/* Divides the features of each node by their sum, as Kipf and Welling (2017) do; a row whose sum is 0 stays. */
HEED_API bool heed_graph_normalise_rows(heed_ctx *cx, heed_graph_data *g);
/* Draws who trains and who validates: of the labelled nodes (graphs, with `whole`) `per_class` of each class are to
 * train (0: all), and of the others the fraction `valid` is to validate, the rest is to test; with per_class 0 the
 * fraction is taken of all and none is to test. */
HEED_API bool heed_graph_split(heed_ctx *cx, heed_graph_data *g, int64_t per_class, double valid, uint64_t seed);
/* The nodes (graphs) of a part, ascending, to be freed; *n: how many. */
HEED_API int64_t *heed_graph_rows(heed_ctx *cx, const heed_graph_data *g, heed_graph_part part, int64_t *n);

/* n graphs, each of 1 to 4 copies of a random graph of 4 to 10 nodes side by side; the class is the number of copies.
 * Nodes are infected or healthy (two features), and in every copy three are infected or have an infected neighbour: so
 * a sum over nodes tells the class, and their mean and maximum cannot (Xu et al. 2019). Graph i depends on (seed, i)
 * alone. */
HEED_API heed_graph_data *heed_graph_copies(heed_ctx *cx, uint64_t seed, int64_t n);

#ifdef __cplusplus
}
#endif
#endif
