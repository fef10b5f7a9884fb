/* Work done ahead by threads: job after job, each into a slot, in an order that the caller takes them in. What a job
 * makes is a function of its number alone, whoever makes it and whenever. */
#ifndef TASK_VISION_AHEAD_H
#define TASK_VISION_AHEAD_H

#include "heed/base.h"

enum { AHEAD_WORKERS = 16 };

struct ahead_opts {
    /* Makes job `job` into slot `slot`; maker 0 is the caller with its own context, from 1 on they are threads, each
     * with a context of one thread. False: the context has failed. */
    bool (*make)(heed_ctx *cx, void *own, int maker, int64_t slot, int64_t job);
    void *own;
    int workers; /* threads, at most AHEAD_WORKERS; 0: none, the caller makes each job when it asks for it */
    int64_t first;
};

struct ahead;
/* Threads that prepare pictures for a context: none where memory is to be counted (a budget), or there is one thread.
 */
int ahead_workers(const heed_ctx *cx, size_t budget);
int64_t ahead_slots(int workers); /* how many the caller provides */
struct ahead *ahead_open(heed_ctx *cx, const struct ahead_opts *o);
/* The slot that holds the next job, valid until the next call; -1: it failed, or the context had. */
int64_t ahead_next(heed_ctx *cx, struct ahead *a);
void ahead_close(heed_ctx *cx, struct ahead *a);

#endif
