/* Attention along the edges of a graph: of a node to those that edges come from.
 *
 *     e_k = leaky(s_j + t_i),  s_j = a_src . x_j,  t_i = a_dst . x_i     static: GAT (Velickovic et al. 2018)
 *     e_k = a . leaky(l_j + r_i)                                        dynamic: GATv2 (Brody et al. 2022)
 *     alpha_k = softmax of e_k over the edges k from j to i             of each head
 *
 * Held are numbers for each edge and head, never for each channel. Nodes have rows (heads, size). */
#ifndef KERNEL_EDGE_ATTENTION_H
#define KERNEL_EDGE_ATTENTION_H

#include "base/thread_pool.h"
#include "kernel/edges.h"
#include "kernel/isa.h"

#define EDGE_HEADS 1024 /* at most */

struct edge_attention {
    struct edges edges;
    int64_t heads, size;
    float slope;
};

/* s = a . x of each node and head: x (nodes,heads,size), a (heads,size), s (nodes,heads). */
void kernel_node_scores(struct pool *pool, const struct edge_attention *e, float *s, const float *x, const float *a,
                        int64_t nodes);
/* alpha (edges,heads) of scores s (sources,heads), t (targets,heads); and of l (sources,heads,size), r and a. */
void kernel_edge_static(struct pool *pool, const struct edge_attention *e, float *alpha, const float *s,
                        const float *t);
void kernel_edge_dynamic(struct pool *pool, const struct edge_attention *e, float *alpha, const float *l,
                         const float *r, const float *a);
/* dalpha becomes the gradient of e, of the static kind of s_j + t_i; dt (targets,heads) or NULL: its sums. */
void kernel_edge_softmax_grad(struct pool *pool, const struct edge_attention *e, float *dalpha, const float *alpha);
void kernel_edge_static_grad(struct pool *pool, const struct edge_attention *e, float *de, const float *s,
                             const float *t, float *dt);
/* dx = or += ds a, and da = or += sum of ds x over the nodes; dx or da may be NULL. work: kernel_node_work bytes. */
size_t kernel_node_work(const struct edge_attention *e, int64_t nodes);
void kernel_node_scores_grad(struct pool *pool, const struct edge_attention *e, float *dx, bool add_x, float *da,
                             bool add_a, const float *ds, const float *x, const float *a, int64_t nodes, void *work);
/* Of the dynamic kind, from de (edges,heads): of r and a along the targets, of l along the sources. */
void kernel_edge_dynamic_grad(struct pool *pool, const struct edge_attention *e, float *dr, bool add_r, float *da,
                              bool add_a, const float *de, const float *l, const float *r, const float *a, void *work);
void kernel_edge_dynamic_grad_sources(struct pool *pool, const struct edge_attention *e, float *dl, bool add,
                                      const float *de, const float *l, const float *r, const float *a);

#endif
