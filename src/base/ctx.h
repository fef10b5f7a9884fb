/* The context as the rooms see it. */
#ifndef BASE_CTX_H
#define BASE_CTX_H

#include "heed/base.h"

struct pool;
struct arena;
struct profile;

struct heed_ctx {
    heed_config config; /* with defaults filled in */
    heed_status status;
    char message[1024];
    unsigned cleared; /* how often heed_clear was called */
    heed_memory memory;
    size_t needed;     /* after HEED_ERR_BUDGET: bytes that would have been held, */
    bool needed_total; /* and whether that is all that the work needs, as it was planned */
    struct pool *pool;
    struct arena *arena;     /* memory of the step */
    struct profile *profile; /* NULL: not asked for */
    uint64_t seed;
    /* The tensor room hangs its state here; base calls the functions without knowing it. */
    void *engine;
    void (*engine_clear)(heed_ctx *cx);
    void (*engine_close)(heed_ctx *cx);
    /* Likewise the attention room: the capture under way, which outlives steps. */
    void *capture;
    void (*capture_close)(heed_ctx *cx);
    /* Likewise the nn room: the parameter set whose gradients this context computes, and where they go. */
    const void *bound_params;
    void *bound_grads;
};

#endif
