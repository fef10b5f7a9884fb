/* Numbers that are not finite. A weight of 0 hides what it weighs: 0 times NaN must be 0 there, so such rows are
 * replaced by zeros. */
#ifndef KERNEL_FINITE_H
#define KERNEL_FINITE_H

#include <stdbool.h>
#include <stdint.h>

bool kernel_is_finite(const float *x, int64_t n);
/* to (rows, cols) = x, rows ldx apart; those that are not finite as zeros. */
void kernel_copy_finite(float *to, const float *x, int64_t ldx, int64_t rows, int64_t cols);

#endif
