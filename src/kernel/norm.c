/* Layer norm and RMS norm on several threads.
 *
 * Backward cuts the rows into at most NORM_BLOCKS blocks whose size follows from the shape. Each block sums dgamma and
 * dbeta for itself into the workspace, and the blocks are then added up in order. */
#include "kernel/elementwise.h"
#include "kernel/ints.h"
#include "kernel/rows.h"
#include <string.h>

#define NORM_BLOCKS 64
#define NORM_ROWS   4 /* the fewest rows of a block: what the row kernels take at a time */

struct norm_job {
    const struct isa *isa;
    const struct norm *norm;
    int64_t rows_per_task;
};

static float *at(float *p, int64_t i) { return p ? p + i : NULL; }

static void norm_task(void *arg, int64_t task, void *scratch) {
    const struct norm_job *j = arg;
    const struct norm *n = j->norm;
    const int64_t first = task * j->rows_per_task, left = n->rows - first, start = first * n->cols;
    (void)scratch;
    j->isa->norm_rows(n->centre, n->y + start, n->r ? at(n->h, start) : NULL, n->centre ? at(n->mean, first) : NULL,
                      at(n->rstd, first), n->x + start, n->r ? n->r + start : NULL, n->gamma, n->beta, n->eps,
                      left < j->rows_per_task ? left : j->rows_per_task, n->cols);
}

void kernel_norm(struct pool *pool, const struct norm *norm) {
    if (norm->rows <= 0 || norm->cols <= 0) return;
    const bool small = kernel_is_small(norm->rows * norm->cols);
    const int64_t some = (TASK_ELEMENTS / norm->cols + NORM_ROWS - 1) / NORM_ROWS * NORM_ROWS;
    struct norm_job j = {isa_get(), norm, small ? norm->rows : some > 0 ? some : NORM_ROWS};
    if (small)
        norm_task(&j, 0, NULL);
    else
        pool_run(pool, ceil_div(norm->rows, j.rows_per_task), norm_task, &j);
}

static int64_t rows_per_block(int64_t rows, int64_t cols) {
    int64_t block = (rows + NORM_BLOCKS - 1) / NORM_BLOCKS;
    if (block * cols < TASK_ELEMENTS) block = TASK_ELEMENTS / cols;
    return (block + NORM_ROWS - 1) / NORM_ROWS * NORM_ROWS + (block == 0 ? NORM_ROWS : 0);
}

int64_t kernel_norm_grad_work(int64_t rows, int64_t cols) {
    if (rows <= 0 || cols <= 0) return 0;
    const int64_t block = rows_per_block(rows, cols);
    return ceil_div(rows, block) * 2 * cols;
}

struct norm_grad_job {
    const struct isa *isa;
    const struct norm_grad *grad;
    int64_t rows_per_block;
};

static void norm_grad_task(void *arg, int64_t block, void *scratch) {
    const struct norm_grad_job *j = arg;
    const struct norm_grad *g = j->grad;
    const int64_t first = block * j->rows_per_block, left = g->rows - first, start = first * g->cols;
    float *sums = at(g->work, block * 2 * g->cols);
    if (sums) memset(sums, 0, (size_t)(2 * g->cols) * sizeof *sums);
    (void)scratch;
    j->isa->norm_grad_rows(at(g->dx, start), g->add, g->dgamma ? sums : NULL, g->dbeta ? sums + g->cols : NULL,
                           g->dy + start, g->h + start, g->mean ? g->mean + first : NULL, g->rstd + first, g->gamma,
                           left < j->rows_per_block ? left : j->rows_per_block, g->cols);
}

/* out (cols) = or += the sum over blocks */
static void add_blocks(const struct isa *isa, float *out, const float *sums, int64_t blocks, int64_t cols, bool add) {
    if (!add) memset(out, 0, (size_t)cols * sizeof *out);
    for (int64_t b = 0; b < blocks; b++) isa->add_part(out, out, sums + b * 2 * cols, cols);
}

void kernel_norm_grad(struct pool *pool, const struct norm_grad *grad) {
    const int64_t rows = grad->rows, cols = grad->cols;
    if (cols <= 0) return;
    struct norm_grad_job j = {isa_get(), grad, rows_per_block(rows, cols)};
    const int64_t blocks = rows > 0 ? ceil_div(rows, j.rows_per_block) : 0;
    if (kernel_is_small(rows * cols))
        for (int64_t b = 0; b < blocks; b++) norm_grad_task(&j, b, NULL);
    else
        pool_run(pool, blocks, norm_grad_task, &j);
    if (grad->dgamma) add_blocks(j.isa, grad->dgamma, grad->work, blocks, cols, grad->add_sums);
    if (grad->dbeta) add_blocks(j.isa, grad->dbeta, grad->work + cols, blocks, cols, grad->add_sums);
}
