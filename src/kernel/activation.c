/* See kernel/activation.h. */
#include "kernel/activation.h"

#define PART ((int64_t)16384) /* numbers of one task */

struct act_job {
    float *dpre;
    const float *dy, *saved;
    int64_t n;
    enum activation act;
};

static void act_task(void *arg, int64_t task, void *scratch) {
    const struct act_job *j = arg;
    const int64_t from = task * PART, n = j->n - from < PART ? j->n - from : PART;
    (void)scratch;
    isa_get()->act_grad(j->dpre + from, j->dy + from, j->saved + from, n, j->act);
}

void kernel_act_grad(struct pool *pool, float *dpre, const float *dy, const float *saved, int64_t n,
                     enum activation act) {
    pool_run_if(n > 2 * PART, pool, (n + PART - 1) / PART, act_task, &(struct act_job){dpre, dy, saved, n, act});
}
