/* Small arithmetic on counts, of which work is cut. b and unit are positive, a is not negative. */
#ifndef KERNEL_INTS_H
#define KERNEL_INTS_H

#include <stdint.h>

static inline int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t max64(int64_t a, int64_t b) { return a > b ? a : b; }
static inline int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
static inline int64_t round_up(int64_t a, int64_t unit) { return ceil_div(a, unit) * unit; }

#endif
