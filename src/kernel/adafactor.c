/* Adafactor (Shazeer and Stern 2018), as torch.optim.Adafactor: the second moments of a matrix are kept as the means of
 * its rows and of its columns, v_ij = row_i col_j / mean(row), those of a vector one by one. Updates are relative: the
 * learning rate is multiplied by the root mean square of the weights, so that embeddings of size 1 move as fast as
 * small matrices. u = g / sqrt(v);  w -= min(lr, 1/sqrt(step)) max(eps2, rms(w)) u / max(1, rms(u)) */
#include "kernel/elementwise.h"
#include "kernel/ints.h"
#include "kernel/rows.h"
#include <float.h>
#include <math.h>

#define DECAY     (-0.8)                /* of step t the second moments keep 1 - t^DECAY */
#define LEAST_RMS 1e-3                  /* eps2: weights that are zero must move too */
#define PARTS     256                   /* of a matrix, whose sums are added up in order */
#define COLUMNS   256                   /* of a task that walks down columns */
#define SMALLEST  ((double)FLT_EPSILON) /* eps1 */

/* One matrix; a vector is one row, whose second moments are col. */
struct factored {
    const struct isa *isa;
    float *w, *row, *col;
    const float *g;
    int64_t rows, cols, per_task;
    double rate, mean, scale; /* of the moments; of row; of g */
    float keep, step;         /* of w; of the update */
    double *sums;
};

static void mean_rows(void *arg, int64_t task, void *scratch) {
    const struct factored *f = arg;
    (void)scratch;
    for (int64_t r = task * f->per_task; r < min64((task + 1) * f->per_task, f->rows); r++) {
        const double mean =
            f->isa->square_sum_part(f->g + r * f->cols, f->cols) * f->scale * f->scale / (double)f->cols;
        f->row[r] += (float)((mean - (double)f->row[r]) * f->rate);
    }
}

static void mean_columns(void *arg, int64_t task, void *scratch) {
    const struct factored *f = arg;
    const int64_t first = task * COLUMNS, n = min64(COLUMNS, f->cols - first);
    double sums[COLUMNS] = {0};
    (void)scratch;
    for (int64_t r = 0; r < f->rows; r++) f->isa->square_add_part(sums, f->g + r * f->cols + first, n);
    for (int64_t i = 0; i < n; i++) {
        const double mean = sums[i] * f->scale * f->scale / (double)f->rows;
        f->col[first + i] += (float)((mean - (double)f->col[first + i]) * f->rate);
    }
}

static float share(const struct factored *f, int64_t r) { return f->row ? (float)((double)f->row[r] / f->mean) : 1; }

static void square_updates(void *arg, int64_t task, void *scratch) {
    const struct factored *f = arg;
    double sum = 0;
    (void)scratch;
    for (int64_t r = task * f->per_task; r < min64((task + 1) * f->per_task, f->rows); r++)
        sum += f->isa->factored_square_part(f->g + r * f->cols, f->col, f->cols, share(f, r),
                                            (float)(SMALLEST * SMALLEST));
    f->sums[task] = sum;
}

static void step_rows(void *arg, int64_t task, void *scratch) {
    const struct factored *f = arg;
    (void)scratch;
    for (int64_t r = task * f->per_task; r < min64((task + 1) * f->per_task, f->rows); r++)
        f->isa->factored_step_part(f->w + r * f->cols, f->g + r * f->cols, f->col, f->cols, share(f, r),
                                   (float)(SMALLEST * SMALLEST), f->keep, f->step);
}

static void each_row(struct pool *pool, struct factored *f, heed_task_fn fn) {
    pool_run_if(!kernel_is_small(f->rows * f->cols), pool, ceil_div(f->rows, f->per_task), fn, f);
}

static void find_mean(struct factored *f) {
    double sum = 0;
    for (int64_t r = 0; f->row && r < f->rows; r++) sum += (double)f->row[r];
    f->mean = fmax(sum / (double)f->rows, SMALLEST);
}

/* Brings the moments up to date; the sum of the squares of g / sqrt(v). */
static double renew(struct pool *pool, struct factored *f) {
    double sums[PARTS] = {0}, sum = 0;
    f->sums = sums;
    if (f->row) each_row(pool, f, mean_rows);
    pool_run_if(!kernel_is_small(f->rows * f->cols), pool, ceil_div(f->cols, COLUMNS), mean_columns, f);
    find_mean(f);
    each_row(pool, f, square_updates);
    for (int i = 0; i < PARTS; i++) sum += sums[i];
    return sum * f->scale * f->scale;
}

/* Points at matrix m of all. */
static void turn_to(struct factored *f, const struct factored *all, int64_t m) {
    f->w = all->w + m * f->rows * f->cols;
    f->g = all->g + m * f->rows * f->cols;
    f->row = all->row ? all->row + m * f->rows : NULL;
    f->col = all->col + m * f->cols;
}

void kernel_adafactor(struct pool *pool, float *w, float *moments, const float *g, int64_t matrices, int64_t rows,
                      int64_t cols, bool factored, const struct adafactor *a) {
    const int64_t n = matrices * rows * cols;
    if (n == 0) return;
    const struct factored all = {.isa = isa_get(),
                                 .w = w,
                                 .row = factored ? moments : NULL,
                                 .col = factored ? moments + matrices * rows : moments,
                                 .g = g,
                                 .rows = rows,
                                 .cols = cols,
                                 .per_task = max64(ceil_div(TASK_ELEMENTS, cols), ceil_div(rows, PARTS)),
                                 .rate = pow((double)a->step, DECAY),
                                 .scale = (double)a->scale,
                                 .keep = (float)(1 - a->lr * a->weight_decay)};
    struct factored f = all;
    double squares = 0; /* of the updates */
    for (int64_t m = 0; m < matrices; m++) turn_to(&f, &all, m), squares += renew(pool, &f);
    const double rms = sqrt(kernel_square_sum(pool, w, n) / (double)n);
    const double rate = fmin(a->lr, 1 / sqrt((double)a->step)) * fmax(LEAST_RMS, rms);
    f.step = (float)(rate / fmax(1, sqrt(squares / (double)n)) * f.scale);
    for (int64_t m = 0; m < matrices; m++) {
        turn_to(&f, &all, m);
        find_mean(&f);
        each_row(pool, &f, step_rows);
    }
}
