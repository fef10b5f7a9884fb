/* Reductions over any axes of a contiguous tensor, and what goes along one axis: cumulative sums, arg-max, top-k.
 *
 * The order of every sum follows from the shape alone: rows are summed in blocks by vectors of partial sums, columns in
 * blocks of rows, blocks in double, one after the other; large reductions with few results are cut into parts of fixed
 * size. Nothing is allocated. */
#ifndef KERNEL_REDUCE_H
#define KERNEL_REDUCE_H

#include "kernel/elementwise.h"

/* ---- Reductions ---- */

enum reduction {
    REDUCE_SUM,
    REDUCE_MEAN,
    REDUCE_MAX, /* NaN if any is NaN */
    REDUCE_MIN,
    REDUCE_VAR,       /* sum (x - mean)^2 / (N - correction) */
    REDUCE_LOGSUMEXP, /* -inf when all are -inf */
    REDUCE_NORM,      /* (sum |x|^p)^(1/p); p = INFINITY: the largest |x| */
    REDUCE_COUNT,
};

struct reduce {
    enum reduction kind;
    int rank; /* at most BCAST_AXES */
    int64_t shape[BCAST_AXES];
    uint32_t axes;  /* bit i: axis i is reduced */
    int correction; /* of REDUCE_VAR: 0 or 1 */
    float p;        /* of REDUCE_NORM, > 0 */
};

int64_t kernel_reduce_outputs(const struct reduce *r); /* how many results: the product of the sizes of the kept axes */

/* Reductions of no numbers: sum 0, mean and variance NaN, log-sum-exp -inf, norm 0. The largest of none is for the op
 * to refuse; here it is -inf (smallest: +inf). REDUCE_VAR writes the means too (its gradient reads them); mean is NULL
 * for the others. */
void kernel_reduce(struct pool *pool, const struct reduce *r, float *y, float *mean, const float *x);

/* dx = or += gradient. Sum and mean read neither x nor y; the variance reads x and the means, given as y; the others x
 * and y. Max, min and the norm of p = INFINITY share among ties equally (as torch.amax) and need `work`,
 * kernel_reduce_outputs floats; others take NULL. A norm of 0 has gradient 0, and so has a log-sum-exp of -inf. */
bool kernel_reduce_needs_work(const struct reduce *r);
void kernel_reduce_grad(struct pool *pool, const struct reduce *r, float *dx, const float *dy, const float *x,
                        const float *y, float *work, bool add);

/* out = or += in, summed down to the shape of an operand that was broadcast to the shape of `in`. */
void kernel_reduce_to(struct pool *pool, float *out, struct bcast_operand out_shape, const float *in,
                      struct bcast_operand in_shape, bool add);

/* ---- Along one axis: x is (outer, n, inner) ---- */

/* y_i = or += sum of x_j for j <= i (j >= i when `reverse`, the gradient), added up in double. */
void kernel_cumsum(struct pool *pool, float *y, const float *x, int64_t outer, int64_t n, int64_t inner, bool reverse,
                   bool add);
/* Index (outer, inner) of the largest or smallest; the first of equals; the first NaN when there is one. n >= 1 and
 * below 2^31. */
void kernel_argmax(struct pool *pool, int32_t *index, const float *x, int64_t outer, int64_t n, int64_t inner,
                   bool smallest);
/* The same of one short row without NaN. */
int64_t kernel_best(const float *x, int64_t n);
/* The k <= n largest of each row of x (rows, n), largest first; equals by index; NaN counts as largest. */
void kernel_topk(struct pool *pool, float *value, int32_t *index, const float *x, int64_t rows, int64_t n, int64_t k);

/* ---- The folding behind sums, also of gradients ---- */

enum fold {
    FOLD_SUM,
    FOLD_ABS,
    FOLD_SQUARE,
    FOLD_POWER,     /* |x|^p */
    FOLD_DEVIATION, /* (x - shift)^2 */
    FOLD_EXP,       /* exp(x - shift) */
    FOLD_TIES,      /* x == shift */
    FOLD_TIES_ABS,  /* |x| == shift */
    FOLD_MAX,
    FOLD_MIN,
    FOLD_MAX_ABS,
};

struct fold_pass {
    enum fold fold;
    const float *shift;                                     /* one per result, or NULL */
    float *out;                                             /* one per result */
    float (*finish)(double sum, float shift, double param); /* what becomes of the sum */
    double param;
    float p;
};

/* The whole lies under up to three sources. Either source 0 is x itself, or fill writes a tile of what is to be folded
 * from the sources: rows of n elements from at[] on, sources stepping by row[k] from row to row. */
struct fold_source {
    const float *x;
    void (*fill)(const void *arg, float *tile, const int64_t at[3], const int64_t row[3], int64_t rows, int64_t n);
    const void *arg;
    int64_t step[3][BCAST_AXES];
};

/* Folds over those axes of bc along which operand `target` is repeated. Passes follow each other, each complete for a
 * result before the next reads it as shift. */
void kernel_fold(struct pool *pool, const struct bcast *bc, int target, const struct fold_source *source,
                 const struct fold_pass *pass, int passes, bool add);

#endif
