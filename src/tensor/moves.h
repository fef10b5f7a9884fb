/* Boxes of tensors, for the ops that only move numbers. */
#ifndef TENSOR_MOVES_H
#define TENSOR_MOVES_H

#include "kernel/move.h"
#include "tensor/engine.h"

/* Steps of a contiguous array: of each axis, the product of the sizes after it. */
void steps_of(int rank, const int64_t *shape, int64_t *step);
void steps_around(const heed_tensor *t, int axis, int64_t *outer,
                  int64_t *inner); /* numbers before and after an axis */

/* A strided x can be the source of a move whose axes are its own when no run ends amid one of them unevenly. Then
 * move_axis_of takes an axis by its step in a contiguous x, and splits the one in which the runs end. */
bool moves_evenly(const heed_tensor *x, int rank, const int64_t *shape);
void move_axis_of(struct move *m, const heed_tensor *x, int64_t n, int64_t to, int64_t step);
heed_tensor *movable(heed_ctx *cx, heed_tensor *x); /* x, or a contiguous copy when it does not move evenly */

/* A box within a larger contiguous array. */
struct box {
    size_t size; /* bytes of an element */
    int rank;
    int64_t whole[HEED_MAX_RANK], before[HEED_MAX_RANK], shape[HEED_MAX_RANK];
};
struct box box_along(const heed_tensor *whole, int axis, int64_t start, int64_t length);
/* Between the box and a contiguous array of its shape. `from` of box_put may be a strided tensor x that moves evenly;
 * x NULL says that it is contiguous. */
void box_put(struct pool *pool, const struct box *b, void *whole, const void *from, const heed_tensor *x, bool add);
void box_get(struct pool *pool, const struct box *b, void *to, const void *whole, bool add);
void box_fill(struct pool *pool, const struct box *b, void *whole, const void *value);        /* all of the box */
void box_fill_around(struct pool *pool, const struct box *b, void *whole, const void *value); /* all but the box */

extern const char move_zero[8]; /* the number zero of any type */

#endif
