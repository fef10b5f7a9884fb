/* Rows on several threads. */
#include "kernel/rows.h"
#include "kernel/elementwise.h"
#include "kernel/ints.h"

struct rows_job {
    int64_t rows, per_task;
    rows_fn fn;
    const void *arg;
};

static void rows_task(void *arg, int64_t task, void *scratch) {
    (void)scratch;
    const struct rows_job *j = arg;
    const int64_t first = task * j->per_task;
    j->fn(j->arg, first, min64(j->per_task, j->rows - first));
}

void kernel_rows(struct pool *pool, int64_t rows, int64_t cols, rows_fn fn, const void *arg) {
    if (rows <= 0 || cols <= 0) return;
    if (kernel_is_small(rows * cols)) {
        fn(arg, 0, rows);
        return;
    }
    struct rows_job job = {rows, cols < TASK_ELEMENTS ? TASK_ELEMENTS / cols : 1, fn, arg};
    pool_run(pool, ceil_div(rows, job.per_task), rows_task, &job);
}
