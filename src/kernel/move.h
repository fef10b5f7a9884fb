/* Moving boxes of elements from one array to another: what permute, concat, pad, slice and their gradients have in
 * common.
 *
 * A box has up to MOVE_AXES axes, in any order, each with its size and its steps in both arrays (in elements; a step
 * may be negative, and 0 in the source, which repeats it). Every place of the destination is met once, so the bits do
 * not depend on how the work is cut. The arrays do not overlap. */
#ifndef KERNEL_MOVE_H
#define KERNEL_MOVE_H

#include "base/thread_pool.h"

#define MOVE_AXES 9

struct move {
    size_t size; /* bytes of an element: 1, 2, 4 or 8 */
    bool add;    /* adds to the destination instead of storing; of floats only */
    int axes;
    struct move_axis {
        int64_t n, to, from;
    } axis[MOVE_AXES];
};

static inline void move_axis(struct move *m, int64_t n, int64_t to, int64_t from) {
    m->axis[m->axes++] = (struct move_axis){n, to, from};
}

/* `to` and `from` are where the box begins. */
void kernel_move(struct pool *pool, const struct move *m, void *to, const void *from);
/* n floats become zero. */
void kernel_clear(struct pool *pool, float *to, int64_t n);

#endif
