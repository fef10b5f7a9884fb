/* Softmax, norms, dropout and optimizer steps on several threads.
 *
 * Arrays are float32. (rows, cols) arrays have rows `ld` floats apart where an ld is given, else none between. Work is
 * cut by shape alone and every sum has a fixed order, so the bits do not depend on the pool; small work stays on the
 * calling thread. `add` adds to the output where it would else be stored. An output may be the input it belongs to
 * element by element (y = x, dx = dy); other overlaps are not allowed. Sizes of 0 do nothing. */
#ifndef KERNEL_ROWS_H
#define KERNEL_ROWS_H

#include "base/thread_pool.h"
#include "kernel/isa.h"

/* Calls fn for runs of rows of `cols` numbers each, on several threads where there is enough work. */
typedef void (*rows_fn)(const void *arg, int64_t first, int64_t rows);
void kernel_rows(struct pool *pool, int64_t rows, int64_t cols, rows_fn fn, const void *arg);

/* y_i = exp(x_i - max x) / sum_j exp(x_j - max x), along rows. A row of nothing but -inf gives zeros. NaN or +inf
 * anywhere in a row gives a row of NaN, as in PyTorch. */
void kernel_softmax(struct pool *pool, float *y, int64_t ldy, const float *x, int64_t ldx, int64_t rows, int64_t cols);
/* dx = y (dy - sum dy y) */
void kernel_softmax_grad(struct pool *pool, float *dx, int64_t lddx, const float *y, int64_t ldy, const float *dy,
                         int64_t lddy, int64_t rows, int64_t cols, bool add);
/* y_i = x_i - max x - log sum_j exp(x_j - max x). A row of nothing but -inf stays as it is. */
void kernel_log_softmax(struct pool *pool, float *y, int64_t ldy, const float *x, int64_t ldx, int64_t rows,
                        int64_t cols);
/* dx = dy - exp(y) sum dy */
void kernel_log_softmax_grad(struct pool *pool, float *dx, int64_t lddx, const float *y, int64_t ldy, const float *dy,
                             int64_t lddy, int64_t rows, int64_t cols, bool add);

/* h = x + r;   y = (h - mean) rstd gamma + beta,   rstd = 1 / sqrt(avg((h - mean)^2) + eps).   Without `centre` the
 * mean counts as 0: the RMS norm. The variance is taken in a second pass over the row. */
struct norm {
    int64_t rows, cols;
    bool centre; /* layer norm; else RMS norm */
    float eps;
    const float *x;
    const float *r;            /* residual to be added first, or NULL */
    const float *gamma, *beta; /* (cols) or NULL: 1 and 0 */
    float *y;
    float *h;           /* x + r, when wanted, else NULL; not written when r is NULL */
    float *mean, *rstd; /* (rows) for backward, or NULL; the RMS norm writes no mean */
};
void kernel_norm(struct pool *pool, const struct norm *norm);

/* The gradient of h, and so of x and of r alike; of gamma and of beta. */
struct norm_grad {
    int64_t rows, cols;
    const float *dy, *h;
    const float *mean; /* NULL: the RMS norm */
    const float *rstd;
    const float *gamma;    /* NULL: 1 */
    float *dx;             /* or NULL */
    bool add;              /* to dx */
    float *dgamma, *dbeta; /* or NULL */
    bool add_sums;         /* to dgamma and dbeta */
    float *work;           /* kernel_norm_grad_work floats; NULL when neither dgamma nor dbeta is wanted */
};
int64_t kernel_norm_grad_work(int64_t rows, int64_t cols);
void kernel_norm_grad(struct pool *pool, const struct norm_grad *grad);

/* y = x / (1 - p) where random number position + i of (seed, stream) is at least p, else 0; p in [0, 1]. mask:
 * kernel_dropout_words(n) words, one bit an element, for backward. */
struct dropout {
    float p;
    uint64_t seed, stream, position;
};
static inline int64_t kernel_dropout_words(int64_t n) { return n / 64 + (n % 64 != 0); }
void kernel_dropout(struct pool *pool, float *y, uint64_t *mask, const float *x, int64_t n, const struct dropout *drop);
void kernel_dropout_grad(struct pool *pool, float *dx, const uint64_t *mask, const float *dy, int64_t n, float p,
                         bool add);

/* Optimizers as torch.optim has them. `scale` multiplies the gradient first (clipping); 1 changes nothing. */
struct sgd {
    double lr, momentum, weight_decay;
    bool nesterov;
    float scale;
};
/* velocity is zero before the first step; NULL when momentum is 0. */
void kernel_sgd(struct pool *pool, float *w, float *velocity, const float *g, int64_t n, const struct sgd *sgd);

struct adam {
    double lr, beta1, beta2, eps, weight_decay;
    bool decoupled; /* AdamW; else the decay is part of the gradient */
    int64_t step;   /* this one: 1, 2, ... */
    float scale;
};
/* Moments m and v are zero before the first step. */
void kernel_adam(struct pool *pool, float *w, float *m, float *v, const float *g, int64_t n, const struct adam *adam);

struct adafactor {
    double lr, weight_decay; /* decoupled */
    int64_t step;
    float scale;
};
/* w and g: (matrices, rows, cols). The moments are zero before the first step: (matrices, rows) of rows, then
 * (matrices, cols) of columns; of what is not factored, a vector of cols in one row, (cols). */
void kernel_adafactor(struct pool *pool, float *w, float *moments, const float *g, int64_t matrices, int64_t rows,
                      int64_t cols, bool factored, const struct adafactor *a);

double kernel_square_sum(struct pool *pool, const float *x, int64_t n); /* in double */
/* average += (1 - decay) (x - average) */
void kernel_ema(struct pool *pool, float *average, const float *x, int64_t n, double decay);

void kernel_add(struct pool *pool, float *c, const float *a, const float *b, int64_t n); /* c = a + b */
void kernel_axpy(struct pool *pool, float *y, float a, const float *x, int64_t n);       /* y += a x */
void kernel_scale(struct pool *pool, float *y, float a, const float *x, int64_t n);      /* y = a x */
void kernel_copy(struct pool *pool, float *y, const float *x, int64_t n);

#endif
