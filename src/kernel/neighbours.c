/* Rows of neighbours on several threads: a task takes rows with about as many neighbours as the others'. */
#include "kernel/neighbours.h"
#include "kernel/elementwise.h"
#include "kernel/ints.h"
#include "kernel/rows.h"

#define TASK_NUMBERS (4 * TASK_ELEMENTS) /* that a task reads */

struct job {
    const struct isa *isa;
    const struct neighbours *n;
    float *y, *ties;
    const float *x, *top, *all_ties, *dy, *rows_scale;
    int64_t cols, per_task; /* neighbours and rows of a task */
    bool mean, add;
    int32_t from, end; /* of one long row */
};

/* The first row at which the neighbours and rows before it come to `many`. */
static int64_t row_at(const struct neighbours *n, int64_t many) {
    int64_t low = 0, high = n->rows;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (n->start[middle] + middle >= many)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static void run_rows(struct pool *pool, struct job *j, heed_task_fn fn) {
    const int64_t all = j->n->start[j->n->rows] + j->n->rows;
    j->isa = isa_get();
    if (all == 0 || j->cols == 0) return;
    j->per_task = max64(1, TASK_NUMBERS / j->cols);
    if (kernel_is_small(all * j->cols)) j->per_task = all;
    pool_run(pool, ceil_div(all, j->per_task), fn, j);
}

static int64_t rows_of_task(const struct job *j, int64_t task, int64_t *first) {
    *first = row_at(j->n, task * j->per_task);
    return row_at(j->n, (task + 1) * j->per_task) - *first;
}

/* ---- sums ---- */

size_t kernel_neighbours_work(int64_t room, int64_t cols) {
    return room > NEIGHBOURS_RUN ? (size_t)(ceil_div(room, NEIGHBOURS_RUN) * cols) * sizeof(float) : 0;
}

static void sum_task(void *arg, int64_t task, void *scratch) {
    const struct job *const j = arg;
    int64_t first;
    const int64_t rows = rows_of_task(j, task, &first);
    (void)scratch;
    j->isa->neighbours_sum(j->n, j->y, j->x, j->cols, first, rows, j->mean, j->add);
}

static void run_task(void *arg, int64_t task, void *scratch) {
    const struct job *const j = arg;
    const int32_t from = j->from + (int32_t)task * NEIGHBOURS_RUN;
    (void)scratch;
    j->isa->neighbours_run(j->n, j->ties + task * j->cols, j->x, j->cols, from,
                           (int32_t)min64(from + NEIGHBOURS_RUN, j->end));
}

/* A row of more than one chain. */
static void long_row(struct pool *pool, struct job *j, int64_t row, float *chains) {
    float *const y = j->y + row * j->cols;
    j->from = j->n->start[row], j->end = j->n->start[row + 1], j->ties = chains;
    const int64_t many = ceil_div(j->end - j->from, NEIGHBOURS_RUN);
    pool_run(pool, many, run_task, j);
    for (int64_t i = 1; i < many; i++) j->isa->add_part(chains, chains, chains + i * j->cols, j->cols);
    if (j->mean)
        for (int64_t c = 0; c < j->cols; c++) chains[c] /= (float)(j->end - j->from);
    if (j->add)
        j->isa->add_part(y, y, chains, j->cols);
    else
        kernel_copy(NULL, y, chains, j->cols);
}

void kernel_neighbours_sum(struct pool *pool, const struct neighbours *n, float *y, const float *x, int64_t cols,
                           bool mean, bool add, void *work) {
    struct job j = {.n = n, .y = y, .x = x, .cols = cols, .mean = mean, .add = add};
    run_rows(pool, &j, sum_task);
    for (int64_t i = 0; n->most > NEIGHBOURS_RUN && i < n->rows; i++)
        if (n->start[i + 1] - n->start[i] > NEIGHBOURS_RUN) long_row(pool, &j, i, work);
}

/* ---- gradients of weights ---- */

static void dots_task(void *arg, int64_t task, void *scratch) {
    const struct job *const j = arg;
    const int64_t from = task * j->per_task;
    (void)scratch;
    j->isa->neighbours_dots(j->n, j->y, j->dy, j->x, j->cols, j->rows_scale, (int32_t)from,
                            (int32_t)min64(from + j->per_task, j->n->start[j->n->rows]), j->add);
}

void kernel_neighbours_dots(struct pool *pool, const struct neighbours *n, float *dw, const float *dy, const float *x,
                            int64_t cols, const float *rows_scale, bool add) {
    const int64_t all = n->start[n->rows];
    struct job j = {.isa = isa_get(),
                    .n = n,
                    .y = dw,
                    .dy = dy,
                    .x = x,
                    .cols = cols,
                    .rows_scale = rows_scale,
                    .add = add,
                    .per_task = max64(1, TASK_NUMBERS / max64(cols, 1))};
    if (kernel_is_small(all * cols)) j.per_task = max64(1, all);
    pool_run(pool, ceil_div(all, j.per_task), dots_task, &j);
}

void kernel_neighbours_inverse(const struct neighbours *n, float *scale) {
    for (int64_t i = 0; i < n->rows; i++) {
        const int32_t many = n->start[i + 1] - n->start[i];
        scale[i] = many > 0 ? 1 / (float)many : 0;
    }
}

/* ---- maxima ---- */

static void max_task(void *arg, int64_t task, void *scratch) {
    const struct job *const j = arg;
    int64_t first;
    const int64_t rows = rows_of_task(j, task, &first);
    (void)scratch;
    j->isa->neighbours_max(j->n, j->y, j->ties, j->x, j->cols, first, rows);
}

void kernel_neighbours_max(struct pool *pool, const struct neighbours *n, float *y, float *ties, const float *x,
                           int64_t cols) {
    struct job j = {.n = n, .y = y, .ties = ties, .x = x, .cols = cols};
    run_rows(pool, &j, max_task);
}

static void max_grad_task(void *arg, int64_t task, void *scratch) {
    const struct job *const j = arg;
    int64_t first;
    const int64_t rows = rows_of_task(j, task, &first);
    (void)scratch;
    j->isa->neighbours_max_grad(j->n, j->y, j->x, j->top, j->all_ties, j->dy, j->cols, first, rows, j->add);
}

void kernel_neighbours_max_grad(struct pool *pool, const struct neighbours *n, float *dx, const float *x,
                                const float *y, const float *ties, const float *dy, int64_t cols, bool add) {
    struct job j = {.n = n, .y = dx, .x = x, .top = y, .all_ties = ties, .dy = dy, .cols = cols, .add = add};
    run_rows(pool, &j, max_grad_task);
}
