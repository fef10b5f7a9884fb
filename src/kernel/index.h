/* Taking elements out by index, and adding them back.
 *
 * Indices are int32 and have been checked with kernel_index_bad. Sums go in the order of position in the index, so the
 * bits do not depend on the pool. Elements that are only copied may have 1, 2, 4 or 8 bytes (`size`). */
#ifndef KERNEL_INDEX_H
#define KERNEL_INDEX_H

#include "base/thread_pool.h"
#include "kernel/isa.h"
#include "kernel/walk.h"

/* The first place whose index is not in [0, limit), or -1. */
int64_t kernel_index_bad(struct pool *pool, const int32_t *index, int64_t n, int64_t limit);

/* ---- whole rows: x (outer, n, inner), y (outer, m, inner), index (m):   y[o, j] = x[o, index[j]] ---- */

struct select {
    int64_t outer, n, inner, m;
    const int32_t *index;
};
void kernel_select(struct pool *pool, const struct select *s, size_t size, void *y, const void *x);
/* The same of numbers stored as `type`, which become floats. */
void kernel_select_floats(struct pool *pool, const struct select *s, enum stored type, float *y, const void *x);
/* dx[o, i] = or += sum of dy[o, j] over the j with index[j] = i. work: kernel_select_grad_work bytes. */
size_t kernel_select_grad_work(int64_t m);
void kernel_select_grad(struct pool *pool, const struct select *s, float *dx, const float *dy, bool add, void *work);

/* ---- single elements: lines along one axis ---- each place of the index has a place in y, and the line in x that it
 * picks from. */

struct lines {
    struct walk across;     /* the lines, with steps in x, y and the index */
    struct walk_axis along; /* one line: its n is the index's; its step in x is that of the axis */
};
/* x, y and the index have this rank, at least 1 and at most 8. Lines go along `axis`; the index is no larger than y,
 * nor than x beside the axis. */
void kernel_lines(struct lines *l, int rank, int axis, const int64_t *x, const int64_t *y, const int64_t *index);
/* y = or (floats only) += x at the index. Places of y beyond the index's shape are left alone. */
void kernel_gather(struct pool *pool, const struct lines *l, size_t size, void *y, const void *x, const int32_t *index,
                   bool add);
/* x at the index += y */
void kernel_scatter_add(struct pool *pool, const struct lines *l, float *x, const float *y, const int32_t *index);

#endif
