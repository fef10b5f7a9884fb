/* The memory of a step: a deterministic best-fit free-list over a few large chunks.
 *
 * Bookkeeping lies outside the chunks, so that a dry context runs the very same allocator over addresses that are never
 * touched: planned = used. Blocks are multiples of 64 bytes, aligned to 64. Freed neighbours merge. arena_reset gives
 * every block back and joins the chunks into one, so that the next step of the same shape asks the system for nothing.
 * Under ASan free blocks are poisoned. */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include "base/ctx.h"

struct arena *arena_open(heed_ctx *cx); /* NULL and a failed context when out of memory */
void arena_close(heed_ctx *cx, struct arena *a);
/* A block of at least `size` bytes (0 gives the smallest block); NULL and a failed context when it cannot be had. */
void *arena_take(heed_ctx *cx, size_t size);
void arena_give(heed_ctx *cx, void *block); /* NULL is allowed */
void arena_reset(heed_ctx *cx);
size_t arena_room(const heed_ctx *cx); /* bytes of all chunks */
/* Of an empty arena: one chunk of so many bytes, where it has fewer, so that steps of a plan fit without growing. */
void arena_reserve(heed_ctx *cx, size_t total);

#endif
