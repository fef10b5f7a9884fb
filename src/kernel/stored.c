/* See kernel/stored.h. */
#include "kernel/stored.h"
#include "heed/io.h"
#include "kernel/elementwise.h"
#include "kernel/ints.h"

struct stored_job {
    const struct isa *isa;
    enum stored type;
    float *wide;
    const void *from;
    uint16_t *narrow;
    const float *x;
    int64_t n;
};

static void widen_task(void *arg, int64_t task, void *scratch) {
    (void)scratch;
    const struct stored_job *j = arg;
    const int64_t at = task * TASK_ELEMENTS;
    j->isa->widen(j->wide + at, (const char *)j->from + at * stored_size(j->type), min64(TASK_ELEMENTS, j->n - at),
                  j->type);
}

void kernel_widen(struct pool *pool, enum stored type, float *y, const void *x, int64_t n) {
    struct stored_job job = {.isa = isa_get(), .type = type, .wide = y, .from = x, .n = n};
    pool_run_if(!kernel_is_small(n), pool, ceil_div(n, TASK_ELEMENTS), widen_task, &job);
}

static void narrow_task(void *arg, int64_t task, void *scratch) {
    (void)scratch;
    const struct stored_job *j = arg;
    const int64_t end = min64((task + 1) * TASK_ELEMENTS, j->n);
    for (int64_t i = task * TASK_ELEMENTS; i < end; i++)
        j->narrow[i] = j->type == STORED_BF16 ? heed_f32_to_bf16(j->x[i]) : heed_f32_to_f16(j->x[i]);
}

void kernel_narrow(struct pool *pool, enum stored type, uint16_t *y, const float *x, int64_t n) {
    struct stored_job job = {.type = type, .narrow = y, .x = x, .n = n};
    pool_run_if(!kernel_is_small(n), pool, ceil_div(n, TASK_ELEMENTS), narrow_task, &job);
}
