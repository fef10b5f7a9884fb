/* Softmax of rows on several threads. */
#include "kernel/elementwise.h"
#include "kernel/rows.h"

struct rows_job {
    const struct isa *isa;
    float *out;
    const float *x, *dy;
    int64_t ld_out, ld_x, ld_dy, rows, cols, rows_per_task;
    bool log, add;
};

static void forward_task(void *arg, int64_t task, void *scratch) {
    const struct rows_job *j = arg;
    const int64_t first = task * j->rows_per_task, left = j->rows - first;
    const int64_t count = left < j->rows_per_task ? left : j->rows_per_task;
    (void)scratch;
    (j->log ? j->isa->log_softmax_rows : j->isa->softmax_rows)(j->out + first * j->ld_out, j->ld_out,
                                                               j->x + first * j->ld_x, j->ld_x, count, j->cols);
}

static void backward_task(void *arg, int64_t task, void *scratch) {
    const struct rows_job *j = arg;
    const int64_t first = task * j->rows_per_task, left = j->rows - first;
    const int64_t count = left < j->rows_per_task ? left : j->rows_per_task;
    (void)scratch;
    (j->log ? j->isa->log_softmax_grad_rows
            : j->isa->softmax_grad_rows)(j->out + first * j->ld_out, j->ld_out, j->x + first * j->ld_x, j->ld_x,
                                         j->dy + first * j->ld_dy, j->ld_dy, count, j->cols, j->add);
}

static void run_rows(struct pool *pool, struct rows_job *j) {
    if (j->rows <= 0 || j->cols <= 0) return;
    j->isa = isa_get();
    const bool small = kernel_is_small(j->rows * j->cols);
    j->rows_per_task = small ? j->rows : j->cols < TASK_ELEMENTS ? TASK_ELEMENTS / j->cols : 1;
    const heed_task_fn fn = j->dy ? backward_task : forward_task;
    if (small)
        fn(j, 0, NULL);
    else
        pool_run(pool, (j->rows + j->rows_per_task - 1) / j->rows_per_task, fn, j);
}

void kernel_softmax(struct pool *pool, float *y, int64_t ldy, const float *x, int64_t ldx, int64_t rows, int64_t cols) {
    run_rows(pool, &(struct rows_job){.out = y, .ld_out = ldy, .x = x, .ld_x = ldx, .rows = rows, .cols = cols});
}

void kernel_log_softmax(struct pool *pool, float *y, int64_t ldy, const float *x, int64_t ldx, int64_t rows,
                        int64_t cols) {
    run_rows(pool,
             &(struct rows_job){.out = y, .ld_out = ldy, .x = x, .ld_x = ldx, .rows = rows, .cols = cols, .log = true});
}

void kernel_softmax_grad(struct pool *pool, float *dx, int64_t lddx, const float *y, int64_t ldy, const float *dy,
                         int64_t lddy, int64_t rows, int64_t cols, bool add) {
    run_rows(pool, &(struct rows_job){.out = dx,
                                      .ld_out = lddx,
                                      .x = y,
                                      .ld_x = ldy,
                                      .dy = dy,
                                      .ld_dy = lddy,
                                      .rows = rows,
                                      .cols = cols,
                                      .add = add});
}

void kernel_log_softmax_grad(struct pool *pool, float *dx, int64_t lddx, const float *y, int64_t ldy, const float *dy,
                             int64_t lddy, int64_t rows, int64_t cols, bool add) {
    run_rows(pool, &(struct rows_job){.out = dx,
                                      .ld_out = lddx,
                                      .x = y,
                                      .ld_x = ldy,
                                      .dy = dy,
                                      .ld_dy = lddy,
                                      .rows = rows,
                                      .cols = cols,
                                      .log = true,
                                      .add = add});
}
