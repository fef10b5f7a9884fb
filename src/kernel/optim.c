/* Optimizer steps and other walks over flat arrays on several threads. */
#include "kernel/elementwise.h"
#include "kernel/ints.h"
#include "kernel/rows.h"
#include <math.h>
#include <string.h>

/* Long stretches keep the processor's prefetchers running. */
#define FLAT_ELEMENTS (4 * TASK_ELEMENTS)

struct flat_job {
    const struct isa *isa;
    int64_t n, per_task;
    float *out, *m, *v;
    const float *a, *b;
    float factor;
    const struct sgd *sgd;
    const struct adam *adam;
    double *sums;
};

typedef void (*flat_fn)(const struct flat_job *j, int64_t first, int64_t count);
struct flat_run {
    struct flat_job *job;
    flat_fn fn;
};

static void flat_task(void *arg, int64_t task, void *scratch) {
    const struct flat_run *run = arg;
    const int64_t first = task * run->job->per_task, left = run->job->n - first;
    (void)scratch;
    run->fn(run->job, first, left < run->job->per_task ? left : run->job->per_task);
}

static void run_flat(struct pool *pool, struct flat_job *j, flat_fn fn) {
    if (j->n <= 0) return;
    j->isa = isa_get();
    if (j->per_task == 0) j->per_task = FLAT_ELEMENTS;
    if (j->n <= j->per_task)
        fn(j, 0, j->n);
    else
        pool_run(pool, ceil_div(j->n, j->per_task), flat_task, &(struct flat_run){j, fn});
}

static void sgd_flat(const struct flat_job *j, int64_t i, int64_t n) {
    const struct sgd *s = j->sgd;
    j->isa->sgd_part(j->out + i, s->momentum != 0.0 ? j->m + i : NULL, j->a + i, n, (float)s->lr, (float)s->momentum,
                     s->nesterov, (float)s->weight_decay, s->scale);
}

void kernel_sgd(struct pool *pool, float *w, float *velocity, const float *g, int64_t n, const struct sgd *sgd) {
    run_flat(pool, &(struct flat_job){.n = n, .out = w, .m = velocity, .a = g, .sgd = sgd}, sgd_flat);
}

/* Constants are worked out in double, as torch does, and rounded once. */
static void adam_flat(const struct flat_job *j, int64_t i, int64_t n) {
    const struct adam *a = j->adam;
    const double steps = (double)a->step;
    const float decay = a->decoupled ? 0.0f : (float)a->weight_decay;
    const float shrink = a->decoupled ? (float)(1.0 - a->lr * a->weight_decay) : 1.0f;
    const float step = (float)(a->lr / (1.0 - pow(a->beta1, steps)));
    const float root = (float)(1.0 / sqrt(1.0 - pow(a->beta2, steps)));
    j->isa->adam_part(j->out + i, j->m + i, j->v + i, j->a + i, n, a->scale, decay, shrink, (float)(1.0 - a->beta1),
                      (float)a->beta2, (float)(1.0 - a->beta2), step, root, (float)a->eps);
}

void kernel_adam(struct pool *pool, float *w, float *m, float *v, const float *g, int64_t n, const struct adam *adam) {
    run_flat(pool, &(struct flat_job){.n = n, .out = w, .m = m, .v = v, .a = g, .adam = adam}, adam_flat);
}

/* At most SUM_PARTS partial sums, of parts whose size follows from n, added up in order. */
#define SUM_PARTS 256

static void square_sum_flat(const struct flat_job *j, int64_t i, int64_t n) {
    j->sums[i / j->per_task] = j->isa->square_sum_part(j->a + i, n);
}

double kernel_square_sum(struct pool *pool, const float *x, int64_t n) {
    double sums[SUM_PARTS] = {0};
    int64_t part = (n + SUM_PARTS - 1) / SUM_PARTS;
    if (part < FLAT_ELEMENTS) part = FLAT_ELEMENTS;
    run_flat(pool, &(struct flat_job){.n = n, .per_task = part, .a = x, .sums = sums}, square_sum_flat);
    double sum = 0.0;
    for (int i = 0; i < SUM_PARTS; i++) sum += sums[i];
    return sum;
}

static void ema_flat(const struct flat_job *j, int64_t i, int64_t n) {
    j->isa->ema_part(j->out + i, j->a + i, n, j->factor);
}
static void add_flat(const struct flat_job *j, int64_t i, int64_t n) {
    j->isa->add_part(j->out + i, j->a + i, j->b + i, n);
}
static void axpy_flat(const struct flat_job *j, int64_t i, int64_t n) {
    j->isa->axpy_part(j->out + i, j->factor, j->a + i, n);
}
static void scale_flat(const struct flat_job *j, int64_t i, int64_t n) {
    j->isa->scale_part(j->out + i, j->factor, j->a + i, n);
}
static void copy_flat(const struct flat_job *j, int64_t i, int64_t n) {
    memcpy(j->out + i, j->a + i, (size_t)n * sizeof(float));
}

void kernel_ema(struct pool *pool, float *average, const float *x, int64_t n, double decay) {
    run_flat(pool, &(struct flat_job){.n = n, .out = average, .a = x, .factor = (float)(1.0 - decay)}, ema_flat);
}
void kernel_add(struct pool *pool, float *c, const float *a, const float *b, int64_t n) {
    run_flat(pool, &(struct flat_job){.n = n, .out = c, .a = a, .b = b}, add_flat);
}
void kernel_axpy(struct pool *pool, float *y, float a, const float *x, int64_t n) {
    run_flat(pool, &(struct flat_job){.n = n, .out = y, .a = x, .factor = a}, axpy_flat);
}
void kernel_scale(struct pool *pool, float *y, float a, const float *x, int64_t n) {
    run_flat(pool, &(struct flat_job){.n = n, .out = y, .a = x, .factor = a}, scale_flat);
}
void kernel_copy(struct pool *pool, float *y, const float *x, int64_t n) {
    run_flat(pool, &(struct flat_job){.n = n, .out = y, .a = x}, copy_flat);
}
