/* The edges of a graph, sorted by target and by source: rows of neighbours.
 *
 * Sources and targets are different nodes, or the same (sources = targets), as with loops. Numbers are int32 and have
 * been checked with kernel_index_bad. The order within a row is by the neighbour's number, then by weight, so it does
 * not depend on the order in which the edges are given. */
#ifndef KERNEL_EDGES_H
#define KERNEL_EDGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum edge_loops { LOOPS_KEEP, LOOPS_REMAINING, LOOPS_FRESH }; /* as heed_graph_loops */

struct edge_list {
    int64_t sources, targets, edges;
    const int32_t *from, *to; /* (edges) */
    const float *weight;      /* (edges), or NULL */
    enum edge_loops loops;
    float loop_weight;
    bool normalize;
};

/* Rows of neighbours, both ways. Position k of a target's row is edge number[k], which comes from from[k]; the loop
 * that node i is given has the number edges + i. Position k of a source's row goes to to[k] and is position place[k] of
 * the target's. There are `room` positions, of which those beyond the last row's end are 0. */
struct edges {
    int64_t sources, targets, room;
    int32_t most_in, most_out;         /* edges of the longest row */
    const int32_t *in, *from, *number; /* in (targets + 1): where rows begin */
    const int32_t *out, *to, *place;   /* out (sources + 1) */
    const float *weight, *weight_out;  /* in either order, or NULL */
};

int64_t kernel_edges_room(const struct edge_list *list);
int64_t kernel_edges_ints(const struct edge_list *list);   /* of the array that holds them */
int64_t kernel_edges_floats(const struct edge_list *list); /* of the weights; 0: there are none */
size_t kernel_edges_work(const struct edge_list *list);    /* bytes */
void kernel_edges_sort(const struct edge_list *list, int32_t *ints, float *weights, void *work);
/* What the arrays hold. weights may be NULL: without them. */
struct edges kernel_edges(int64_t sources, int64_t targets, int64_t room, const int32_t *ints, const float *weights);

/* Where the edges' numbers are among the ints. */
int64_t kernel_edges_number(int64_t sources, int64_t targets, int64_t room);

#endif
