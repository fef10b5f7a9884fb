/* Softmax of rows on several threads. */
#include "kernel/elementwise.h"
#include "kernel/ints.h"
#include "kernel/rows.h"

struct rows_job {
    bool log, add;
    int64_t rows, cols;
    float *out;
    int64_t ld_out;
    const float *x; /* forward; y of the forward pass when there is a dy */
    int64_t ld_x;
    const float *dy; /* NULL: forward */
    int64_t ld_dy;
    const struct isa *isa;
    int64_t rows_per_task;
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

static void run_rows(struct pool *pool, struct rows_job j) {
    if (j.rows <= 0 || j.cols <= 0) return;
    const bool small = kernel_is_small(j.rows * j.cols);
    const heed_task_fn fn = j.dy ? backward_task : forward_task;
    j.isa = isa_get();
    j.rows_per_task = small ? j.rows : j.cols < TASK_ELEMENTS ? TASK_ELEMENTS / j.cols : 1;
    if (small)
        fn(&j, 0, NULL);
    else
        pool_run(pool, ceil_div(j.rows, j.rows_per_task), fn, &j);
}

void kernel_softmax(struct pool *pool, float *y, int64_t ldy, const float *x, int64_t ldx, int64_t rows, int64_t cols) {
    run_rows(pool, (struct rows_job){false, false, rows, cols, y, ldy, x, ldx, NULL, 0, NULL, 0});
}

void kernel_softmax_grad(struct pool *pool, float *dx, int64_t lddx, const float *y, int64_t ldy, const float *dy,
                         int64_t lddy, int64_t rows, int64_t cols, bool add) {
    run_rows(pool, (struct rows_job){false, add, rows, cols, dx, lddx, y, ldy, dy, lddy, NULL, 0});
}

void kernel_log_softmax(struct pool *pool, float *y, int64_t ldy, const float *x, int64_t ldx, int64_t rows,
                        int64_t cols) {
    run_rows(pool, (struct rows_job){true, false, rows, cols, y, ldy, x, ldx, NULL, 0, NULL, 0});
}

void kernel_log_softmax_grad(struct pool *pool, float *dx, int64_t lddx, const float *y, int64_t ldy, const float *dy,
                             int64_t lddy, int64_t rows, int64_t cols, bool add) {
    run_rows(pool, (struct rows_job){true, add, rows, cols, dx, lddx, y, ldy, dy, lddy, NULL, 0});
}
