/* Along one axis of (outer, n, inner): cumulative sums, arg-max, top-k.
 *
 * A task is a range of lines, numbered outer * inner + inner index; within one outer index they are neighbours in
 * memory and are walked side by side in strips. */
#include "kernel/ints.h"
#include "kernel/reduce.h"
#include <math.h>

#define STRIP ((int64_t)64)

struct scan_job {
    const struct isa *isa;
    const float *x;
    float *y;
    int32_t *index;
    int64_t outer, n, inner, lines, k;
    bool reverse, add, smallest;
    void (*strip)(const struct scan_job *j, int64_t line, int64_t width);
};

static void scan_task(void *arg, int64_t task, void *scratch) {
    (void)scratch;
    const struct scan_job *j = arg;
    const int64_t end = min64((task + 1) * j->lines, j->outer * j->inner);
    for (int64_t line = task * j->lines, width; line < end; line += width) {
        width = min64(min64(end - line, STRIP), j->inner - line % j->inner);
        j->strip(j, line, width);
    }
}

static void scan(struct pool *pool, struct scan_job *j) {
    const int64_t lines = j->outer * j->inner;
    if (lines == 0 || j->n == 0) return;
    const int64_t fit = TASK_ELEMENTS / j->n, strip = j->inner > 1 ? STRIP : 1;
    j->lines = kernel_is_small(lines * j->n) ? lines : (fit / strip + 1) * strip;
    pool_run(pool, ceil_div(lines, j->lines), scan_task, j);
}

/* Where a line begins. */
static int64_t start_of(const struct scan_job *j, int64_t line) {
    return line / j->inner * j->n * j->inner + line % j->inner;
}

/* ---- Cumulative sum ---- */

static void cumsum_line(const struct scan_job *j, int64_t line) {
    double sum = 0.0;
    for (int64_t i = 0; i < j->n; i++) {
        const int64_t at = line * j->n + (j->reverse ? j->n - 1 - i : i);
        sum += (double)j->x[at];
        j->y[at] = j->add ? j->y[at] + (float)sum : (float)sum;
    }
}

static void cumsum_strip(const struct scan_job *j, int64_t line, int64_t width) {
    if (j->inner == 1) {
        cumsum_line(j, line);
        return;
    }
    const int64_t first = start_of(j, line);
    double sum[STRIP] = {0};
    for (int64_t i = 0; i < j->n; i++) {
        const int64_t at = first + (j->reverse ? j->n - 1 - i : i) * j->inner;
        for (int64_t c = 0; c < width; c++) {
            sum[c] += (double)j->x[at + c];
            j->y[at + c] = j->add ? j->y[at + c] + (float)sum[c] : (float)sum[c];
        }
    }
}

void kernel_cumsum(struct pool *pool, float *y, const float *x, int64_t outer, int64_t n, int64_t inner, bool reverse,
                   bool add) {
    struct scan_job job = {
        .x = x, .y = y, .outer = outer, .n = n, .inner = inner, .reverse = reverse, .add = add, .strip = cumsum_strip};
    scan(pool, &job);
}

/* ---- Arg-max ---- */

/* One contiguous line: the extreme by vectors, then where it is first. */
static void argmax_line(const struct scan_job *j, int64_t line) {
    const float *x = j->x + line * j->n;
    double top = (double)(j->smallest ? INFINITY : -INFINITY);
    j->isa->fold_rows(j->smallest ? FOLD_MIN : FOLD_MAX, &top, x, 0, 1, j->n, NULL, 0.0f);
    const float value = (float)top;
    int64_t i = 0;
    if (isnan(value))
        while (!isnan(x[i])) i++;
    else
        while (x[i] != value) i++;
    j->index[line] = (int32_t)i;
}

static void argmax_strip(const struct scan_job *j, int64_t line, int64_t width) {
    if (j->inner == 1) {
        argmax_line(j, line);
        return;
    }
    const float *x = j->x + start_of(j, line);
    float best[STRIP];
    int32_t *index = j->index + line;
    for (int64_t c = 0; c < width; c++) {
        best[c] = x[c];
        index[c] = 0;
    }
    for (int64_t i = 1; i < j->n; i++)
        for (int64_t c = 0; c < width; c++) {
            const float v = x[i * j->inner + c];
            const bool better = (j->smallest ? v < best[c] : v > best[c]) || (isnan(v) && !isnan(best[c]));
            best[c] = better ? v : best[c];
            index[c] = better ? (int32_t)i : index[c];
        }
}

void kernel_argmax(struct pool *pool, int32_t *index, const float *x, int64_t outer, int64_t n, int64_t inner,
                   bool smallest) {
    struct scan_job job = {.isa = isa_get(),
                           .x = x,
                           .index = index,
                           .outer = outer,
                           .n = n,
                           .inner = inner,
                           .smallest = smallest,
                           .strip = argmax_strip};
    scan(pool, &job);
}

/* ---- Top-k: a heap of the k best so far, the worst on top, kept in the outputs ---- */

static bool above(float a, float b) { return a > b || (isnan(a) && !isnan(b)); }
static bool ranks_before(float a, int32_t ia, float b, int32_t ib) { return above(a, b) || (!above(b, a) && ia < ib); }

/* Puts (v, i) where it belongs in a heap of k whose top is free. */
static void sift_down(float *value, int32_t *index, int64_t k, int64_t hole, float v, int32_t i) {
    for (int64_t child; (child = 2 * hole + 1) < k; hole = child) {
        if (child + 1 < k && ranks_before(value[child], index[child], value[child + 1], index[child + 1])) child++;
        if (!ranks_before(v, i, value[child], index[child])) break;
        value[hole] = value[child];
        index[hole] = index[child];
    }
    value[hole] = v;
    index[hole] = i;
}

static void topk_strip(const struct scan_job *j, int64_t row, int64_t width) {
    (void)width; /* inner is 1: a line at a time */
    const float *x = j->x + row * j->n;
    const int64_t k = j->k;
    float *value = j->y + row * k;
    int32_t *index = j->index + row * k;
    for (int64_t i = 0; i < k; i++) {
        value[i] = x[i];
        index[i] = (int32_t)i;
    }
    for (int64_t i = k / 2 - 1; i >= 0; i--) sift_down(value, index, k, i, value[i], index[i]);
    for (int64_t i = k; i < j->n; i++) /* an equal one comes later and so ranks behind */
        if (above(x[i], value[0])) sift_down(value, index, k, 0, x[i], (int32_t)i);
    for (int64_t left = k - 1; left > 0; left--) { /* the worst goes to the end */
        const float v = value[left];
        const int32_t i = index[left];
        value[left] = value[0];
        index[left] = index[0];
        sift_down(value, index, left, 0, v, i);
    }
}

void kernel_topk(struct pool *pool, float *value, int32_t *index, const float *x, int64_t rows, int64_t n, int64_t k) {
    if (k == 0) return;
    struct scan_job job = {
        .x = x, .y = value, .index = index, .outer = rows, .n = n, .inner = 1, .k = k, .strip = topk_strip};
    scan(pool, &job);
}

int64_t kernel_best(const float *x, int64_t n) {
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++)
        if (x[i] > x[best]) best = i;
    return best;
}
