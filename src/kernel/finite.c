/* Rows that are not finite: see the header. */
#include "kernel/finite.h"
#include "kernel/isa.h"
#include <string.h>

bool kernel_is_finite(const float *x, int64_t n) { return isa_get()->attention_finite(x, n, 1, n); }

void kernel_copy_finite(float *to, const float *x, int64_t ldx, int64_t rows, int64_t cols) {
    const size_t bytes = (size_t)cols * sizeof(float);
    for (int64_t r = 0; r < rows; r++, to += cols, x += ldx)
        if (kernel_is_finite(x, cols))
            memcpy(to, x, bytes);
        else
            memset(to, 0, bytes);
}
