/* Attention within chunks of an order: what the Reformer's local and LSH attention share (Kitaev et al. 2020).
 *
 * The R T slots of a head, R rounds of the T positions in some order each, are cut into chunks of C. The queries of a
 * chunk see the keys of their own chunk, of `before` chunks before it and of `after` chunks after it, counted in a
 * ring: W = C (1 + before + after) keys. Cost O(R T W D), memory O(R T D). */
#ifndef KERNEL_CHUNKS_H
#define KERNEL_CHUNKS_H

#include "base/thread_pool.h"
#include "kernel/isa.h"

#define CHUNKS_HEAD 1024 /* widest head: blocks of wider ones would not fit the scratch */

struct chunks {
    int64_t batch, time, heads, size, rounds; /* B T H D R */
    int64_t chunk, before, after;             /* chunk divides T */
    bool causal;
    bool shared;          /* keys are the queries, of root mean square 1, and no position sees itself, unless it sees
                           * nothing else */
    const float *x;       /* (B,T,ldx): rows of q, k and v of all heads; where shared of q and v */
    int64_t ldx;          /* 3 H D, or 2 H D */
    const int32_t *order; /* (B,H,R,T): the position in each slot; NULL: the slot's number */
    const uint8_t *keep;  /* (B,T): 0 is seen by nobody; or NULL */
    float dropout;
    uint64_t seed, stream;
};

static inline int64_t chunks_window(const struct chunks *c) { return c->chunk * (1 + c->before + c->after); }

/* y (B,T,H,D) and lse (B,H,T), the log-sum-exp of each query's scores over all rounds. work: kernel_chunks_work bytes.
 */
size_t kernel_chunks_work(const struct chunks *c);
void kernel_chunks(struct pool *pool, const struct chunks *c, float *y, float *lse, void *work);

/* dx, in the layout of x. work: kernel_chunks_grad_work bytes. */
size_t kernel_chunks_grad_work(const struct chunks *c);
void kernel_chunks_grad(struct pool *pool, const struct chunks *c, const float *y, const float *lse, const float *dy,
                        float *dx, bool add, void *work);

/* Weights of each slot within its round, before dropout: out (B,H,R T,W). */
void kernel_chunks_weights(struct pool *pool, const struct chunks *c, float *out);

/* Positions sorted by bucket, equal ones in order: buckets (n) of 0 to most -> order (n); room (n). */
void kernel_sort_buckets(int32_t *order, const int32_t *buckets, int64_t n, int32_t most, int32_t *room);

#endif
