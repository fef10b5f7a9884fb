/* zlib's memory is heed's own: it goes through the allocator hook and counts against the byte budget. */
#ifndef BASE_ZLIB_MEMORY_H
#define BASE_ZLIB_MEMORY_H

#include "heed/base.h"
#include <zlib.h>

static inline void *zlib_memory_new(void *cx, unsigned count, unsigned size) {
    return heed_mem_new(cx, (size_t)count * size);
}
static inline void zlib_memory_free(void *cx, void *ptr) { heed_mem_free(cx, ptr); }

static inline z_stream zlib_stream(heed_ctx *cx) {
    return (z_stream){.zalloc = zlib_memory_new, .zfree = zlib_memory_free, .opaque = cx};
}

#endif
