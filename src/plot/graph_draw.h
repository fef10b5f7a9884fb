/* A graph as a layer keeps it. */
#ifndef PLOT_GRAPH_DRAW_H
#define PLOT_GRAPH_DRAW_H

#include "plot/frame.h"

/* What lies in the one block of whole numbers of a graph's layer. */
struct graph_numbers {
    int *from, *to;            /* (rows) edges */
    int *class, *truth, *mark; /* (n) nodes; class and truth -1: none */
};
static inline struct graph_numbers graph_numbers(const struct layer *l) {
    int *const nodes = l->sizes + 2 * l->rows;
    return (struct graph_numbers){l->sizes, l->sizes + l->rows, nodes, nodes + l->n, nodes + 2 * l->n};
}

#endif
