/* Threads that wait for work.
 *
 * One atomic word, the gate, runs a job: its upper half counts jobs, one bit says that the job is open, the lowest 16
 * bits count the workers inside. A worker enters by adding itself to an open gate and takes tasks off a counter until
 * none is left. The caller opens the gate, works too, closes it, and waits only for the workers that did get in: one
 * that the system has not woken yet, or has put aside, delays nobody. The job's fields change only while the gate is
 * closed and nobody is inside. */
#include "base/thread_pool.h"
#include "base/clock.h"
#include "base/ctx.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>

#define INSIDE    ((uint64_t)0xFFFF)
#define OPEN      ((uint64_t)1 << 16)
#define STOP      ((uint64_t)1 << 17)
#define JOB       ((uint64_t)1 << 32)
#define JOB_OF(g) ((uint32_t)((g) >> 32))

#define SPIN_ALONE   50000 /* ns a worker looks out for work before it sleeps, when it has a processor to itself */
#define SPIN_CROWDED 2000  /* when there are more threads than processors */

struct worker {
    struct pool *pool;
    unsigned char *scratch;
    pthread_t thread;
};

struct pool {
    int threads; /* workers and the caller */
    int64_t spin;
    unsigned char *scratch;
    struct worker *workers;
    heed_task_fn fn;
    void *arg;
    int64_t tasks;
    _Alignas(64) _Atomic uint64_t gate;
    _Alignas(64) _Atomic int64_t next;
    _Alignas(64) _Atomic int sleepers; /* changed under the lock */
    pthread_mutex_t lock;
    pthread_cond_t wake;
};

static void breathe(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
    __asm__ volatile("yield");
#endif
}

static void take_tasks(struct pool *p, unsigned char *scratch) {
    for (int64_t task; (task = atomic_fetch_add_explicit(&p->next, 1, memory_order_relaxed)) < p->tasks;)
        p->fn(p->arg, task, scratch);
}

/* Whether the gate calls a worker who has last seen job `seen`. */
static bool calls(uint64_t gate, uint32_t seen) { return (gate & STOP) || ((gate & OPEN) && JOB_OF(gate) != seen); }

static uint64_t sleep_till_called(struct pool *p, uint32_t seen) {
    uint64_t gate;
    pthread_mutex_lock(&p->lock);
    /* First be counted, then look: pool_run first opens, then counts. One of the two sees the other. */
    atomic_fetch_add(&p->sleepers, 1);
    while (!calls(gate = atomic_load(&p->gate), seen)) pthread_cond_wait(&p->wake, &p->lock);
    atomic_fetch_sub(&p->sleepers, 1);
    pthread_mutex_unlock(&p->lock);
    return gate;
}

static uint64_t wait_till_called(struct pool *p, uint32_t seen) {
    const int64_t start = clock_nanoseconds();
    do {
        for (int i = 0; i < 32; i++) {
            const uint64_t gate = atomic_load_explicit(&p->gate, memory_order_acquire);
            if (calls(gate, seen)) return gate;
            breathe();
        }
    } while (clock_nanoseconds() - start < p->spin);
    return sleep_till_called(p, seen);
}

/* Waking costs the waker microseconds, so the caller wakes one, who on entering wakes the next while tasks are left. */
static void wake_one(struct pool *p) {
    if (atomic_load(&p->sleepers) == 0) return;
    /* A sleeper that has looked at the gate but not yet lain down holds the lock. */
    pthread_mutex_lock(&p->lock);
    pthread_mutex_unlock(&p->lock);
    pthread_cond_signal(&p->wake);
}

static bool enter(struct pool *p, uint64_t gate, uint32_t job) {
    while ((gate & OPEN) && JOB_OF(gate) == job)
        if (atomic_compare_exchange_weak_explicit(&p->gate, &gate, gate + 1, memory_order_acq_rel,
                                                  memory_order_acquire))
            return true;
    return false;
}

static void *worker_main(void *arg) {
    struct worker *const w = arg;
    uint32_t seen = 0;
    while (true) {
        const uint64_t gate = wait_till_called(w->pool, seen);
        if (gate & STOP) return NULL;
        seen = JOB_OF(gate);
        if (!enter(w->pool, gate, seen)) continue;
        if (atomic_load_explicit(&w->pool->next, memory_order_relaxed) < w->pool->tasks) wake_one(w->pool);
        take_tasks(w->pool, w->scratch);
        atomic_fetch_sub_explicit(&w->pool->gate, 1, memory_order_release);
    }
}

static void run_alone(unsigned char *scratch, int64_t tasks, heed_task_fn fn, void *arg) {
    for (int64_t task = 0; task < tasks; task++) fn(arg, task, scratch);
}

/* In a function of its own: others need not carry 2 MiB of stack. */
__attribute__((noinline)) static void run_on_stack(int64_t tasks, heed_task_fn fn, void *arg) {
    _Alignas(64) unsigned char scratch[HEED_SCRATCH];
    run_alone(scratch, tasks, fn, arg);
}

void pool_run(struct pool *p, int64_t tasks, heed_task_fn fn, void *arg) {
    if (tasks <= 0) return;
    if (!p) {
        run_on_stack(tasks, fn, arg);
        return;
    }
    if (p->threads == 1 || tasks == 1) {
        run_alone(p->scratch, tasks, fn, arg);
        return;
    }
    p->fn = fn;
    p->arg = arg;
    p->tasks = tasks;
    atomic_store_explicit(&p->next, 0, memory_order_relaxed);
    const uint64_t closed = atomic_load_explicit(&p->gate, memory_order_relaxed);
    atomic_store(&p->gate, (closed & ~(JOB - 1)) + JOB + OPEN);
    wake_one(p);
    take_tasks(p, p->scratch);
    uint64_t gate = atomic_fetch_and_explicit(&p->gate, ~OPEN, memory_order_acq_rel);
    for (int spins = 0; gate & INSIDE; spins++) {
        if (spins < 256)
            breathe();
        else
            sched_yield();
        gate = atomic_load_explicit(&p->gate, memory_order_acquire);
    }
}

/* Starts as many workers as the system allows. Signals stay with the threads of the program. */
static int start_workers(struct pool *p, int wanted) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int started = 0;
    for (; started < wanted; started++) {
        struct worker *const w = &p->workers[started];
        *w = (struct worker){.pool = p, .scratch = p->scratch + (size_t)(started + 1) * HEED_SCRATCH};
        if (pthread_create(&w->thread, NULL, worker_main, w) != 0) break;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

struct pool *pool_open(heed_ctx *cx, int threads) {
    if (threads < 1) threads = 1;
    struct pool *p = heed_mem_new(cx, sizeof *p);
    struct worker *workers = heed_mem_new(cx, (size_t)threads * sizeof *workers);
    unsigned char *scratch = heed_mem_new(cx, (size_t)threads * HEED_SCRATCH);
    if (!scratch || pthread_mutex_init(&p->lock, NULL) != 0) goto failed;
    if (pthread_cond_init(&p->wake, NULL) != 0) goto failed_lock;
    p->workers = workers;
    p->scratch = scratch;
    p->spin = threads > 1 && threads > heed_threads_available() ? SPIN_CROWDED : SPIN_ALONE;
    atomic_init(&p->gate, 0);
    atomic_init(&p->next, 0);
    atomic_init(&p->sleepers, 0);
    p->threads = start_workers(p, threads - 1) + 1;
    if (p->threads < threads)
        heed_note(cx, HEED_LOG_WARN, "open: the system gave %d threads of %d", p->threads, threads);
    return p;
failed_lock:
    pthread_mutex_destroy(&p->lock);
failed:
    heed_fail(cx, HEED_ERR_MEMORY, "open: the system has no lock for the threads");
    heed_mem_free(cx, scratch);
    heed_mem_free(cx, workers);
    heed_mem_free(cx, p);
    return NULL;
}

void pool_close(heed_ctx *cx, struct pool *p) {
    if (!p) return;
    pthread_mutex_lock(&p->lock);
    atomic_fetch_or(&p->gate, STOP);
    pthread_cond_broadcast(&p->wake);
    pthread_mutex_unlock(&p->lock);
    for (int i = 0; i < p->threads - 1; i++) pthread_join(p->workers[i].thread, NULL);
    pthread_cond_destroy(&p->wake);
    pthread_mutex_destroy(&p->lock);
    heed_mem_free(cx, p->scratch);
    heed_mem_free(cx, p->workers);
    heed_mem_free(cx, p);
}

int pool_threads(const struct pool *p) { return p ? p->threads : 1; }

int heed_threads(const heed_ctx *cx) { return cx ? pool_threads(cx->pool) : 0; }

void heed_parallel(heed_ctx *cx, int64_t tasks, heed_task_fn fn, void *arg) {
    if (heed_failed(cx)) return;
    if (!fn || tasks < 0) {
        heed_fail(cx, HEED_ERR_USAGE, "parallel: %lld tasks of %s function", (long long)tasks, fn ? "a" : "no");
        return;
    }
    if (!cx->config.dry) pool_run(cx->pool, tasks, fn, arg);
}
