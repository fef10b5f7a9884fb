/* Numbers stored in 16 bits become floats. */
#include "kernel/isa/simd.h"

INLINE void widen(float *y, const void *x, int64_t n, const enum stored type) {
    int64_t i = 0;
    for (; i + VW <= n; i += VW) v_store(y + i, v_read(x, i, type));
    for (; i < n; i++) y[i] = read_one(x, i, type);
}

void ISA_NAME(widen)(float *y, const void *x, int64_t n, enum stored type) {
    if (type == STORED_BF16)
        widen(y, x, n, STORED_BF16);
    else if (type == STORED_F16)
        widen(y, x, n, STORED_F16);
    else
        memcpy(y, x, (size_t)n * sizeof(float));
}
