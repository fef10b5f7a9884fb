/* Dropout on several threads: a task is a whole number of mask words. */
#include "kernel/elementwise.h"
#include "kernel/rows.h"
#include <math.h>

struct dropout_job {
    const struct isa *isa;
    float *out;
    uint64_t *mask;
    const float *in;
    int64_t n;
    int32_t least;
    float scale;
    const struct dropout *drop;
    const uint64_t *bits;
    bool add;
};

static int64_t part(const struct dropout_job *j, int64_t first) {
    return j->n - first < TASK_ELEMENTS ? j->n - first : TASK_ELEMENTS;
}

static void dropout_task(void *arg, int64_t task, void *scratch) {
    const struct dropout_job *j = arg;
    const int64_t first = task * TASK_ELEMENTS;
    (void)scratch;
    j->isa->dropout_part(j->out + first, j->mask + first / 64, j->in + first, part(j, first), j->least, j->scale,
                         j->drop->seed, j->drop->stream, j->drop->position + (uint64_t)first);
}

static void dropout_grad_task(void *arg, int64_t task, void *scratch) {
    const struct dropout_job *j = arg;
    const int64_t first = task * TASK_ELEMENTS;
    (void)scratch;
    j->isa->dropout_grad_part(j->out + first, j->bits + first / 64, j->in + first, part(j, first), j->scale, j->add);
}

static void run(struct pool *pool, struct dropout_job *j, heed_task_fn fn) {
    const int64_t tasks = (j->n + TASK_ELEMENTS - 1) / TASK_ELEMENTS;
    j->isa = isa_get();
    if (kernel_is_small(j->n))
        for (int64_t task = 0; task < tasks; task++) fn(j, task, NULL);
    else
        pool_run(pool, tasks, fn, j);
}

static float scale_of(float p) { return p < 1.0f ? 1.0f / (1.0f - p) : 0.0f; }

/* A number is its 24 high bits over 2^24, so that it reaches p where those bits reach p 2^24 rounded up. */
void kernel_dropout(struct pool *pool, float *y, uint64_t *mask, const float *x, int64_t n,
                    const struct dropout *drop) {
    run(pool,
        &(struct dropout_job){.out = y,
                              .mask = mask,
                              .in = x,
                              .n = n,
                              .least = (int32_t)ceilf(drop->p * 0x1p24f),
                              .scale = scale_of(drop->p),
                              .drop = drop},
        dropout_task);
}

void kernel_dropout_grad(struct pool *pool, float *dx, const uint64_t *mask, const float *dy, int64_t n, float p,
                         bool add) {
    run(pool, &(struct dropout_job){.out = dx, .bits = mask, .in = dy, .n = n, .scale = scale_of(p), .add = add},
        dropout_grad_task);
}
