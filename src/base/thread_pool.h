/* Threads that wait for work: they spin for some microseconds, then sleep. See heed_parallel for what a task may do. */
#ifndef BASE_THREAD_POOL_H
#define BASE_THREAD_POOL_H

#include "heed/base.h"

struct pool;

struct pool *pool_open(heed_ctx *cx, int threads); /* NULL and a failed context on trouble */
void pool_close(heed_ctx *cx, struct pool *pool);
int pool_threads(const struct pool *pool);
/* Runs all tasks; the calling thread works too. pool NULL runs them here, one after the other, with scratch on
 * the stack. With one task or one thread nothing is woken. Never called from inside a task. */
void pool_run(struct pool *pool, int64_t tasks, heed_task_fn fn, void *arg);

/* The same for tasks that use no scratch; small work stays on the calling thread. */
static inline void pool_run_if(bool large, struct pool *pool, int64_t tasks, heed_task_fn fn, void *arg) {
    if (large)
        pool_run(pool, tasks, fn, arg);
    else
        for (int64_t task = 0; task < tasks; task++) fn(arg, task, NULL);
}

#endif
