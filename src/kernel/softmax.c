/* Softmax of rows on several threads. */
#include "kernel/rows.h"

struct softmax_job {
    bool log, add;
    int64_t rows, cols;
    float *out;
    int64_t ld_out;
    const float *x; /* forward; y of the forward pass when there is a dy */
    int64_t ld_x;
    const float *dy; /* NULL: forward */
    int64_t ld_dy;
};

static void some_rows(const void *arg, int64_t first, int64_t rows) {
    const struct softmax_job *j = arg;
    const struct isa *isa = isa_get();
    float *out = j->out + first * j->ld_out;
    const float *x = j->x + first * j->ld_x;
    if (!j->dy)
        (j->log ? isa->log_softmax_rows : isa->softmax_rows)(out, j->ld_out, x, j->ld_x, rows, j->cols);
    else
        (j->log ? isa->log_softmax_grad_rows : isa->softmax_grad_rows)(
            out, j->ld_out, x, j->ld_x, j->dy + first * j->ld_dy, j->ld_dy, rows, j->cols, j->add);
}

static void run_rows(struct pool *pool, struct softmax_job j) { kernel_rows(pool, j.rows, j.cols, some_rows, &j); }

void kernel_softmax(struct pool *pool, float *y, int64_t ldy, const float *x, int64_t ldx, int64_t rows, int64_t cols) {
    run_rows(pool, (struct softmax_job){false, false, rows, cols, y, ldy, x, ldx, NULL, 0});
}

void kernel_softmax_grad(struct pool *pool, float *dx, int64_t lddx, const float *y, int64_t ldy, const float *dy,
                         int64_t lddy, int64_t rows, int64_t cols, bool add) {
    run_rows(pool, (struct softmax_job){false, add, rows, cols, dx, lddx, y, ldy, dy, lddy});
}

void kernel_log_softmax(struct pool *pool, float *y, int64_t ldy, const float *x, int64_t ldx, int64_t rows,
                        int64_t cols) {
    run_rows(pool, (struct softmax_job){true, false, rows, cols, y, ldy, x, ldx, NULL, 0});
}

void kernel_log_softmax_grad(struct pool *pool, float *dx, int64_t lddx, const float *y, int64_t ldy, const float *dy,
                             int64_t lddy, int64_t rows, int64_t cols, bool add) {
    run_rows(pool, (struct softmax_job){true, add, rows, cols, dx, lddx, y, ldy, dy, lddy});
}
