/* The counting under heed_mem_*, for those who want to try without failing the context, or to count without taking. */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

#include "base/ctx.h"

/* As heed_mem_new, but a refusal is only returned: HEED_ERR_BUDGET or HEED_ERR_MEMORY, and *out is left alone. */
heed_status mem_try(heed_ctx *cx, size_t size, void **out);
/* Counts a block of `size` bytes as held, within the budget, as mem_try would, and takes nothing from the allocator. */
heed_status mem_count(heed_ctx *cx, size_t size);
void mem_uncount(heed_ctx *cx, size_t size);
/* Counts `more` bytes, which a library beneath takes past the allocator, as held in the place of `less` bytes that were
 * counted before; within the budget. */
heed_status mem_recount(heed_ctx *cx, size_t less, size_t more);
/* Fails the context with the sentence for a refusal of `size` bytes; always returns false. */
bool mem_refused(heed_ctx *cx, heed_status why, size_t size);
/* Fails: `what`, planned as a whole, needs more bytes than the budget. */
bool mem_over_budget(heed_ctx *cx, const char *what, size_t needed);

#endif
