/* heed/base.h: the context: errors, memory, threads, random numbers, callbacks.
 *
 * A context is the first argument of every call. It keeps the first error and its sentence; once it has failed, every
 * call returns NULL, false or nothing until heed_clear, so a program checks once at the end. Nothing here prints, exits
 * or aborts.
 *
 * Threads: a context is used by one thread at a time; any number of contexts may be used by any number of threads. fork
 * before heed_open, not after. Nothing may be called from a signal handler, except that the cancel callback may read a
 * flag which a handler sets. */
#ifndef HEED_BASE_H
#define HEED_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#    define HEED_API              __attribute__((visibility("default")))
#    define HEED_PRINTF(fmt, arg) __attribute__((format(printf, fmt, arg)))
#else
#    define HEED_API
#    define HEED_PRINTF(fmt, arg)
#endif

#define HEED_VERSION_MAJOR 0
#define HEED_VERSION_MINOR 1
#define HEED_VERSION_PATCH 0

typedef struct heed_ctx heed_ctx;

typedef enum heed_status {
    HEED_OK = 0,
    HEED_ERR_USAGE,     /* an argument or option makes no sense */
    HEED_ERR_SHAPE,     /* shapes do not fit together */
    HEED_ERR_TYPE,      /* a tensor of the wrong type */
    HEED_ERR_RANGE,     /* an index, size or number out of range */
    HEED_ERR_MEMORY,    /* the allocator gave nothing */
    HEED_ERR_BUDGET,    /* the byte budget would be exceeded */
    HEED_ERR_FILE,      /* the system refused a file */
    HEED_ERR_FORMAT,    /* a file does not hold what it should */
    HEED_ERR_CANCELLED, /* the cancel callback said stop */
} heed_status;

/* One function for all of heed's own memory, as Lua's: size 0 frees and returns NULL; ptr NULL allocates; else resizes.
 * A failed call returns NULL and leaves ptr as it was. Called only by the thread that uses the context. */
typedef void *(*heed_alloc_fn)(void *user, void *ptr, size_t old_size, size_t size);
typedef enum heed_log_level { HEED_LOG_INFO, HEED_LOG_WARN } heed_log_level;
typedef void (*heed_log_fn)(void *user, heed_log_level level, const char *sentence);
/* Long work reports `done` of `total` (0 = unknown) units of `what`. */
typedef void (*heed_progress_fn)(void *user, const char *what, int64_t done, int64_t total);
/* Return true to stop: the call under way fails with HEED_ERR_CANCELLED. Asked before every op and by long loops. A
 * training run is saved instead, and heed_loop_run returns HEED_LOOP_STOPPED from a context that has not failed. */
typedef bool (*heed_cancel_fn)(void *user);

typedef struct heed_config {
    int threads;         /* 0: as many as affinity and the container's cpu quota allow */
    uint64_t seed;       /* of the random numbers; 0 is a seed like any other */
    size_t byte_budget;  /* maximum bytes of heed's own memory at any moment; 0: no limit */
    bool dry;            /* plan only: shapes and memory are worked out, nothing is computed */
    heed_alloc_fn alloc; /* NULL: the system's */
    heed_log_fn log;     /* NULL: silence */
    heed_progress_fn progress;
    heed_cancel_fn cancel;
    void *user; /* given to all of the callbacks */
} heed_config;

/* Opens a context; NULL config gives the defaults. NULL only when not even the context itself could be allocated; any
 * other trouble is a failed context with its sentence. heed_close(NULL) is allowed. */
HEED_API heed_ctx *heed_open(const heed_config *config);
HEED_API void heed_close(heed_ctx *cx);

/* heed_failed(NULL) is true, and heed_message(NULL) says that there is no context. The message of a context that has
 * not failed is "". It stays valid until heed_clear or heed_close. */
HEED_API bool heed_failed(const heed_ctx *cx);
HEED_API heed_status heed_error(const heed_ctx *cx);
HEED_API const char *heed_message(const heed_ctx *cx);
/* Forgets the error and everything of the step under way (tape, tensors, scopes), so that the context is as new. What
 * heed_open could not get is tried again. */
HEED_API void heed_clear(heed_ctx *cx);
/* Records an error unless there is one already. Always returns false. For ops and readers of one's own. */
HEED_API bool heed_fail(heed_ctx *cx, heed_status status, const char *format, ...) HEED_PRINTF(3, 4);
HEED_API bool heed_failv(heed_ctx *cx, heed_status status, const char *format, va_list args);
/* Says where a context has failed: puts "place: " before its message, so that a caller who knows the file or the line
 * adds it to the error of a function that does not; `return encode(cx, ...) || heed_fail_in(cx, "line %d", i);`. Errors
 * of memory, budget and cancellation have no place and stay as they are, as does a context that has not failed. Always
 * returns false. */
HEED_API bool heed_fail_in(heed_ctx *cx, const char *format, ...) HEED_PRINTF(2, 3);

/* Callbacks, for rooms and programs above. heed_cancelled asks the callback and fails the context when it says stop. */
HEED_API void heed_note(heed_ctx *cx, heed_log_level level, const char *format, ...) HEED_PRINTF(3, 4);
HEED_API void heed_progress(heed_ctx *cx, const char *what, int64_t done, int64_t total);
HEED_API bool heed_cancelled(heed_ctx *cx);

/* Memory of heed's own that lives until it is freed, aligned to 64 bytes, counted and budgeted. Contents undefined.
 * heed_mem_resize keeps the contents and leaves ptr as it was when it fails. Sizes of 0 give a pointer to free all the
 * same. */
HEED_API void *heed_mem_new(heed_ctx *cx, size_t size);
HEED_API void *heed_mem_resize(heed_ctx *cx, void *ptr, size_t size);
HEED_API void heed_mem_free(heed_ctx *cx, void *ptr);

typedef struct heed_memory {
    size_t held, held_peak; /* bytes taken from the allocator, all in all (dry: that would be) */
    size_t step, step_peak; /* bytes live in the step's arena: tensors, gradients, workspace */
    int64_t system_calls;   /* number of requests to the allocator */
} heed_memory;
HEED_API heed_memory heed_memory_use(const heed_ctx *cx);
HEED_API void heed_memory_reset_peak(heed_ctx *cx);

/* Threads. heed_parallel runs fn(arg, task, scratch) for every task in [0, tasks), in any order, on the context's
 * threads, and returns when all are done. Results must not depend on who ran what. scratch: HEED_SCRATCH bytes of the
 * thread's own, aligned to 64. fn must not call anything that takes the context. Small work should be done without it.
 * In a dry context nothing is run. */
#define HEED_SCRATCH ((size_t)2 << 20)
typedef void (*heed_task_fn)(void *arg, int64_t task, void *scratch);
HEED_API void heed_parallel(heed_ctx *cx, int64_t tasks, heed_task_fn fn, void *arg);
HEED_API int heed_threads(const heed_ctx *cx);
HEED_API int heed_threads_available(void); /* affinity and cpu.max, at least 1 */

/* Counter-based random numbers (Philox4x32-10): number `position` of `stream` under `seed` is always the same, whoever
 * asks. Fills write numbers position, position + 1, ... ; uniform lies in [0, 1); normal is Box-Muller on uniforms; the
 * truncated normal lies within [low, high] (in standard deviations; low > high gives NaN). A permutation is a function
 * of (seed, stream, n). */
HEED_API uint32_t heed_random_bits(uint64_t seed, uint64_t stream, uint64_t position);
HEED_API void heed_random_uniform(uint64_t seed, uint64_t stream, uint64_t position, float *out, int64_t n);
HEED_API void heed_random_normal(uint64_t seed, uint64_t stream, uint64_t position, float *out, int64_t n);
HEED_API void heed_random_truncated(uint64_t seed, uint64_t stream, uint64_t position, float low, float high,
                                    float *out, int64_t n);
HEED_API void heed_random_permutation(uint64_t seed, uint64_t stream, int64_t *out, int64_t n);
HEED_API uint64_t heed_seed(const heed_ctx *cx);
HEED_API void heed_set_seed(heed_ctx *cx, uint64_t seed);

HEED_API const char *heed_version(void); /* "0.1.0" */
HEED_API const char *heed_isa(void);     /* instruction set of the kernels: "portable", "baseline", "avx2", "avx512" */

#ifdef __cplusplus
}
#endif
#endif
