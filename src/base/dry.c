/* Dry contexts within a budget. */
#include "base/dry.h"
#include <stdint.h>
#include <stdlib.h>

#define LEAST ((size_t)1 << 30)

static void *take(void *user, void *ptr, size_t old_size, size_t size) {
    struct dry *const d = user;
    const size_t others = d->held - old_size;
    if (size > d->most - others && size > old_size) {
        d->needed = size < SIZE_MAX - others ? others + size : SIZE_MAX;
        return NULL;
    }
    void *const at = size > 0 ? realloc(ptr, size) : NULL;
    if (size == 0) free(ptr);
    if (at || size == 0) d->held = others + size;
    return at;
}

heed_ctx *dry_open(struct dry *d, int threads, size_t budget) {
    *d = (struct dry){.most = budget == 0 ? SIZE_MAX : budget < LEAST ? LEAST : budget};
    return heed_open(&(heed_config){.threads = threads, .dry = true, .alloc = take, .user = d});
}
