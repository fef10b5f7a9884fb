/* Numbers that are stored in 16 bits, and the floats that they stand for. */
#ifndef KERNEL_STORED_H
#define KERNEL_STORED_H

#include "base/thread_pool.h"
#include "kernel/isa.h"

/* y = x as floats, which is exact. */
void kernel_widen(struct pool *pool, enum stored type, float *y, const void *x, int64_t n);
/* y = x rounded to nearest, ties to even; too large a number becomes infinite. */
void kernel_narrow(struct pool *pool, enum stored type, uint16_t *y, const float *x, int64_t n);

#endif
