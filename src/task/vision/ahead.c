/* Job number k lies in slot k % slots; the caller holds job `held`, and workers make the jobs up to held + slots - 1,
 * each with a context of its own. Without workers the caller makes each job when it asks for it, with its own context,
 * so that all memory counts against its budget. */
#include "task/vision/ahead.h"
#include <pthread.h>
#include <signal.h>
#include <stdio.h>

struct slot {
    int64_t job; /* what it holds; -1: nothing that is finished */
    heed_status status;
    char message[1024];
};

struct worker {
    struct ahead *of;
    heed_ctx *cx;
    int number; /* as a maker, from 1 on */
    pthread_t thread;
};

struct ahead {
    struct ahead_opts opts;
    int64_t slots;
    struct slot slot[AHEAD_WORKERS + 2];
    struct worker worker[AHEAD_WORKERS];
    int started;
    pthread_mutex_t lock;
    pthread_cond_t made_one, took_one;
    int64_t next, held; /* under the lock: the next job to make; the one that the caller has */
    bool began, stop;
};

static int workers_of(int asked) { return asked > AHEAD_WORKERS ? AHEAD_WORKERS : asked; }
int ahead_workers(const heed_ctx *cx, size_t budget) {
    const int threads = heed_threads(cx);
    return budget > 0 || threads < 2 ? 0 : threads - 1;
}
int64_t ahead_slots(int workers) { return workers > 0 ? workers_of(workers) + 2 : 1; }

static void *work(void *arg) {
    struct worker *const w = arg;
    struct ahead *const a = w->of;
    pthread_mutex_lock(&a->lock);
    while (true) {
        while (a->next >= a->held + a->slots && !a->stop) pthread_cond_wait(&a->took_one, &a->lock);
        if (a->stop) break;
        const int64_t job = a->next++, at = job % a->slots;
        struct slot *const s = &a->slot[at];
        pthread_mutex_unlock(&a->lock);
        s->status = HEED_OK;
        if (!a->opts.make(w->cx, a->opts.own, w->number, at, job)) {
            s->status = heed_error(w->cx);
            snprintf(s->message, sizeof s->message, "%s", heed_message(w->cx));
            heed_clear(w->cx);
        }
        pthread_mutex_lock(&a->lock);
        s->job = job;
        pthread_cond_broadcast(&a->made_one);
    }
    pthread_mutex_unlock(&a->lock);
    return NULL;
}

/* Signals stay with the threads of the program. A system that gives no thread gives the jobs all the same. */
static bool start(heed_ctx *cx, struct ahead *a) {
    sigset_t all, before;
    if (pthread_mutex_init(&a->lock, NULL) != 0) return false;
    if (pthread_cond_init(&a->made_one, NULL) != 0) goto no_made;
    if (pthread_cond_init(&a->took_one, NULL) != 0) goto no_took;
    for (int i = 0; i < a->opts.workers; i++) {
        struct worker *const w = &a->worker[a->started];
        *w = (struct worker){.of = a, .number = a->started + 1};
        w->cx = heed_open(&(heed_config){.threads = 1, .seed = heed_seed(cx)});
        if (!w->cx || heed_failed(w->cx)) break;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        const bool started = pthread_create(&w->thread, NULL, work, w) == 0;
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        if (!started) break;
        a->started++;
    }
    if (a->started > 0) return true;
    pthread_cond_destroy(&a->took_one);
no_took:
    pthread_cond_destroy(&a->made_one);
no_made:
    pthread_mutex_destroy(&a->lock);
    return false;
}

static void stop(struct ahead *a) {
    pthread_mutex_lock(&a->lock);
    a->stop = true;
    pthread_cond_broadcast(&a->took_one);
    pthread_mutex_unlock(&a->lock);
    for (int i = 0; i < a->started; i++) pthread_join(a->worker[i].thread, NULL);
    pthread_cond_destroy(&a->took_one);
    pthread_cond_destroy(&a->made_one);
    pthread_mutex_destroy(&a->lock);
}

struct ahead *ahead_open(heed_ctx *cx, const struct ahead_opts *o) {
    struct ahead *const a = heed_mem_new(cx, sizeof *a);
    if (!a) return NULL;
    *a = (struct ahead){.opts = *o, .next = o->first, .held = o->first, .slots = ahead_slots(o->workers)};
    a->opts.workers = workers_of(o->workers);
    for (int64_t i = 0; i < a->slots; i++) a->slot[i].job = -1;
    if (a->opts.workers > 0) start(cx, a);
    return a;
}

void ahead_close(heed_ctx *cx, struct ahead *a) {
    if (!a) return;
    if (a->started > 0) stop(a);
    for (int i = 0; i < AHEAD_WORKERS; i++) heed_close(a->worker[i].cx);
    heed_mem_free(cx, a);
}

/* Waits for the job that follows the one held. */
static int64_t take_made(struct ahead *a) {
    pthread_mutex_lock(&a->lock);
    a->held += a->began;
    a->began = true;
    pthread_cond_broadcast(&a->took_one);
    const int64_t at = a->held % a->slots;
    while (a->slot[at].job != a->held) pthread_cond_wait(&a->made_one, &a->lock);
    pthread_mutex_unlock(&a->lock);
    return at;
}

int64_t ahead_next(heed_ctx *cx, struct ahead *a) {
    if (heed_failed(cx)) return -1;
    if (a->started == 0) {
        const int64_t job = a->next++;
        return a->opts.make(cx, a->opts.own, 0, job % a->slots, job) ? job % a->slots : -1;
    }
    const int64_t at = take_made(a);
    const struct slot *const s = &a->slot[at];
    if (s->status == HEED_OK) return at;
    heed_fail(cx, s->status, "%s", s->message);
    return -1;
}
