/* Functions of each element: of one tensor, of two or three with PyTorch's broadcasting, and their gradients.
 *
 * Tensors are contiguous. An output may be one of the inputs when it has the same shape and every input is either it or
 * apart from it. `add` adds to what is there, else it is overwritten (and may hold anything before). Sums over
 * broadcast axes have an order that follows from the shapes alone. Small work wakes no thread. */
#ifndef KERNEL_ELEMENTWISE_H
#define KERNEL_ELEMENTWISE_H

#include "base/thread_pool.h"
#include "kernel/isa.h"

/* The functions of one number: kernel/functions.def. */
enum unary {
#define UNARY(name, NAME, ...) UNARY_##NAME,
#include "kernel/functions.def"
    UNARY_COUNT
};

/* Which of its input x and its output y the gradient reads: what an op has to save. */
enum unary_reads { READS_NOTHING, READS_X, READS_Y };
enum unary_reads kernel_unary_reads(enum unary fn);

/* An activation is a function with its parameters. Not for ACT_NONE. */
struct activation_fn {
    enum unary fn;
    float a, b;
};
struct activation_fn kernel_activation(enum activation act);

/* y = fn(x) over n floats. */
void kernel_unary(struct pool *pool, enum unary fn, float *y, const float *x, int64_t n, float a, float b);
/* dx = or += dy * fn'; `saved` is x or y as kernel_unary_reads says (NULL for READS_NOTHING). At kinks PyTorch's
 * values: relu'(0) = 0, abs'(0) = 0, clamp' = 1 at its bounds; steps have gradient 0. */
void kernel_unary_grad(struct pool *pool, enum unary fn, float *dx, const float *dy, const float *saved, int64_t n,
                       float a, float b, bool add);
/* y = (x == 0), on bytes. */
void kernel_not(struct pool *pool, uint8_t *y, const uint8_t *x, int64_t n);

/* Up to three contiguous operands laid over one shape. Neighbouring axes over which every operand goes on evenly are
 * one, axes of size 1 are gone, the innermost axis comes first; so along axis 0 every step is 0 or 1, and operands of
 * the same shape give one axis. At least one axis; sizes may be 0. */
#define BCAST_AXES 8
struct bcast {
    int axes;
    int64_t total; /* elements of the whole */
    int64_t size[BCAST_AXES];
    int64_t step[3][BCAST_AXES]; /* of operands a, b, c; 0 where the operand is repeated */
};
struct bcast_operand {
    int rank;
    const int64_t *shape;
};

/* The shape that a and b broadcast to. False when they do not fit; ranks are at most BCAST_AXES. */
bool kernel_bcast_shape(struct bcast_operand a, struct bcast_operand b, int *rank, int64_t shape[BCAST_AXES]);
/* `operands` (1 to 3) must broadcast to `whole`. */
void kernel_bcast(struct bcast *bc, struct bcast_operand whole, const struct bcast_operand *operand, int operands);

enum binary { BINARY_ADD, BINARY_SUB, BINARY_MUL, BINARY_DIV, BINARY_POW, BINARY_MAX, BINARY_MIN, BINARY_COUNT };
enum comparison { COMPARE_EQ, COMPARE_NE, COMPARE_LT, COMPARE_LE, COMPARE_GT, COMPARE_GE, COMPARE_COUNT };
enum logic { LOGIC_AND, LOGIC_OR, LOGIC_XOR, LOGIC_COUNT };

/* Outputs have the whole shape. NaN goes through maximum and minimum. */
void kernel_binary(struct pool *pool, enum binary op, float *y, const float *a, const float *b, const struct bcast *bc);
void kernel_compare(struct pool *pool, enum comparison op, uint8_t *y, const float *a, const float *b,
                    const struct bcast *bc);
void kernel_compare_i32(struct pool *pool, enum comparison op, uint8_t *y, const int32_t *a, const int32_t *b,
                        const struct bcast *bc);
void kernel_logic(struct pool *pool, enum logic op, uint8_t *y, const uint8_t *a, const uint8_t *b,
                  const struct bcast *bc);
/* y = cond ? a : b; the operands of bc in this order: cond, a, b. */
void kernel_where(struct pool *pool, float *y, const uint8_t *cond, const float *a, const float *b,
                  const struct bcast *bc);

/* Gradient of a, or of b when `second`, summed to that operand's shape; the product is never written out. dy has the
 * whole shape. a and b are read by mul (only the other one), div, pow, max and min; add and sub take NULL. Where a = b,
 * max and min give each half. */
void kernel_binary_grad(struct pool *pool, enum binary op, bool second, float *dx, const float *dy, const float *a,
                        const float *b, const struct bcast *bc, bool add);
/* Gradient of where's a, or of b when `second`. */
void kernel_where_grad(struct pool *pool, bool second, float *dx, const float *dy, const uint8_t *cond,
                       const struct bcast *bc, bool add);

/* Calls fn for tiles that cover the whole, on several threads when it is large. A tile: `rows` rows of n elements that
 * lie without gaps at element `at` of the whole; at[k]: where operand k stands then. From row to row an operand steps
 * by bc->step[k][1], along a row by bc->step[k][0]. */
typedef void (*tile_fn)(const void *arg, int64_t whole, const int64_t at[3], int64_t rows, int64_t n);
void kernel_tiles(struct pool *pool, const struct bcast *bc, tile_fn fn, const void *arg);

/* Elementwise work is cut into tasks of this many elements; up to twice as many run on the calling thread. */
#define TASK_ELEMENTS ((int64_t)16384)
static inline bool kernel_is_small(int64_t elements) { return elements <= 2 * TASK_ELEMENTS; }

#endif
