/* Memory of heed's own: one allocator hook under everything, counted and budgeted.
 *
 * The hook promises no alignment, so a block is cut to 64 bytes here: [pad][struct head][block]. The head lies right
 * before the block and remembers what the hook gave. memory.held is the sum of all head.total. */
#include "base/memory.h"
#include "base/checked.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define ALIGNMENT ((size_t)64)
#define HUGE_PAGE ((size_t)2 << 20)
#define HUGE_FROM ((size_t)4 << 20)

struct head {
    void *raw;    /* as the hook gave it */
    size_t size;  /* asked for */
    size_t total; /* taken from the hook, size + OVERHEAD */
};
#define OVERHEAD (sizeof(struct head) + ALIGNMENT - 1)

static struct head *head_of(void *block) { return (struct head *)block - 1; }

static void *place(void *raw, size_t size, size_t total) {
    const size_t skip = sizeof(struct head) + (-((uintptr_t)raw + sizeof(struct head)) & (ALIGNMENT - 1));
    void *block = (char *)raw + skip;
    *head_of(block) = (struct head){raw, size, total};
    return block;
}

/* Large blocks lie on huge pages where the system has them: page walks are what memory-bound kernels lose most on. */
static void *system_alloc(void *user, void *ptr, size_t old_size, size_t size) {
    (void)user;
    if (size == 0) {
        free(ptr);
        return NULL;
    }
    if (size < HUGE_FROM) return realloc(ptr, size);
    void *large = NULL;
    if (posix_memalign(&large, HUGE_PAGE, size) != 0) return NULL;
    madvise(large, size & ~(HUGE_PAGE - 1), MADV_HUGEPAGE);
    if (ptr) {
        memcpy(large, ptr, old_size < size ? old_size : size);
        free(ptr);
    }
    return large;
}

static void *ask(heed_ctx *cx, void *ptr, size_t old_size, size_t size) {
    const heed_alloc_fn alloc = cx->config.alloc ? cx->config.alloc : system_alloc;
    if (size > 0) cx->memory.system_calls++;
    return alloc(cx->config.user, ptr, old_size, size);
}

static void hold(heed_ctx *cx, size_t less, size_t more) {
    cx->memory.held = cx->memory.held - less + more;
    if (cx->memory.held > cx->memory.held_peak) cx->memory.held_peak = cx->memory.held;
}

/* Whether `more` bytes may take the place of `less` bytes that are held. */
static heed_status allowed(heed_ctx *cx, size_t less, size_t more) {
    size_t held;
    if (!size_add(cx->memory.held - less, more, &held)) return HEED_ERR_MEMORY;
    if (cx->config.byte_budget == 0 || held <= cx->config.byte_budget) return HEED_OK;
    cx->needed = held;
    cx->needed_total = false;
    return HEED_ERR_BUDGET;
}

bool mem_over_budget(heed_ctx *cx, const char *what, size_t needed) {
    if (heed_failed(cx)) return false;
    cx->needed = needed;
    cx->needed_total = true;
    return heed_fail(cx, HEED_ERR_BUDGET, "%s: needs %zu bytes of memory, the budget is %zu", what, needed,
                     cx->config.byte_budget);
}

bool mem_refused(heed_ctx *cx, heed_status why, size_t size) {
    if (why == HEED_ERR_BUDGET)
        return heed_fail(cx, why, "memory: %zu bytes more than the %zu held would exceed the budget of %zu bytes", size,
                         cx->memory.held, cx->config.byte_budget);
    return heed_fail(cx, HEED_ERR_MEMORY, "memory: the allocator has no %zu bytes (%zu are held)", size,
                     cx->memory.held);
}

heed_status mem_count(heed_ctx *cx, size_t size) {
    size_t total;
    if (!size_add(size, OVERHEAD, &total)) return HEED_ERR_MEMORY;
    const heed_status status = allowed(cx, 0, total);
    if (status == HEED_OK) hold(cx, 0, total);
    return status;
}

void mem_uncount(heed_ctx *cx, size_t size) { hold(cx, size + OVERHEAD, 0); }

heed_status mem_recount(heed_ctx *cx, size_t less, size_t more) {
    const heed_status status = more > less ? allowed(cx, less, more) : HEED_OK;
    if (status == HEED_OK) hold(cx, less, more);
    return status;
}

heed_status mem_try(heed_ctx *cx, size_t size, void **out) {
    size_t total;
    if (!size_add(size, OVERHEAD, &total)) return HEED_ERR_MEMORY;
    const heed_status status = allowed(cx, 0, total);
    if (status != HEED_OK) return status;
    void *raw = ask(cx, NULL, 0, total);
    if (!raw) return HEED_ERR_MEMORY;
    hold(cx, 0, total);
    *out = place(raw, size, total);
    return HEED_OK;
}

void *heed_mem_new(heed_ctx *cx, size_t size) {
    if (heed_failed(cx)) return NULL;
    void *block = NULL;
    const heed_status status = mem_try(cx, size, &block);
    if (status != HEED_OK) mem_refused(cx, status, size);
    return block;
}

void *heed_mem_resize(heed_ctx *cx, void *ptr, size_t size) {
    if (!ptr) return heed_mem_new(cx, size);
    if (heed_failed(cx)) return NULL;
    const struct head old = *head_of(ptr);
    const size_t skip = (size_t)((char *)ptr - (char *)old.raw);
    size_t total = 0;
    heed_status status = size_add(size, OVERHEAD, &total) ? allowed(cx, old.total, total) : HEED_ERR_MEMORY;
    char *raw = NULL;
    if (status == HEED_OK && !(raw = ask(cx, old.raw, old.total, total))) status = HEED_ERR_MEMORY;
    if (status != HEED_OK) {
        mem_refused(cx, status, size);
        return NULL;
    }
    hold(cx, old.total, total);
    /* The new place may be aligned otherwise than the old one; skip <= OVERHEAD, so both lie within the block. */
    const size_t fresh = sizeof old + (-((uintptr_t)raw + sizeof old) & (ALIGNMENT - 1));
    if (fresh != skip) memmove(raw + fresh, raw + skip, old.size < size ? old.size : size);
    return place(raw, size, total);
}

void heed_mem_free(heed_ctx *cx, void *ptr) {
    if (!cx || !ptr) return;
    const struct head head = *head_of(ptr);
    hold(cx, head.total, 0);
    ask(cx, head.raw, head.total, 0);
}

heed_memory heed_memory_use(const heed_ctx *cx) { return cx ? cx->memory : (heed_memory){0}; }

void heed_memory_reset_peak(heed_ctx *cx) {
    if (!cx) return;
    cx->memory.held_peak = cx->memory.held;
    cx->memory.step_peak = cx->memory.step;
}
