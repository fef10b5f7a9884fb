/* Rows of heads that have fewer numbers each than a vector holds, so that several heads share a vector. */
#ifndef KERNEL_ISA_HEADS_H
#define KERNEL_ISA_HEADS_H

#include "kernel/isa/simd.h"

/* Do whole vectors of whole heads make up a row of `heads` heads of `size` numbers? */
INLINE bool heads_share(int64_t heads, int64_t size) {
    return size > 0 && size < VW && VW % size == 0 && heads * size % VW == 0;
}

INLINE void sums_by(float *to, vf v, const int size) {
    float lane[VW];
    memcpy(lane, &v, sizeof v);
    UNROLL
    for (int half = size / 2; half > 0; half /= 2) UNROLL
    for (int h = 0; h < VW; h += size) UNROLL
    for (int i = 0; i < half; i++) lane[h + i] += lane[h + i + half];
    for (int h = 0; h < VW / size; h++) to[h] = lane[h * size];
}
/* to[h]: the sum of the numbers of head h, of VW / size heads. */
INLINE void heads_sum(float *to, vf v, int64_t size) {
    switch (size) {
    case 1:
        v_store(to, v);
        break;
    case 2:
        sums_by(to, v, 2);
        break;
    case 4:
        sums_by(to, v, 4);
        break;
    default:
        sums_by(to, v, 8);
        break; /* VW is 16 at most */
    }
}

INLINE vf spread_by(const float *x, const int size) {
    float lane[VW];
    UNROLL
    for (int i = 0; i < VW; i++) lane[i] = x[i / size];
    return v_load(lane);
}
/* Each of VW / size numbers, `size` times. */
INLINE vf heads_spread(const float *x, int64_t size) {
    switch (size) {
    case 1:
        return v_load(x);
    case 2:
        return spread_by(x, 2);
    case 4:
        return spread_by(x, 4);
    default:
        return spread_by(x, 8);
    }
}

INLINE float head_dot(const float *a, const float *b, int64_t n) {
    vf sum = {0};
    V_EACH(c, count, n, { sum = v_fma(v_get(a + c, count, 0.0f), v_get(b + c, count, 0.0f), sum); });
    return v_sum(sum);
}
/* to[h] = a . b of each head */
INLINE void heads_dot(float *to, const float *a, const float *b, int64_t heads, int64_t size) {
    if (heads_share(heads, size))
        for (int64_t c = 0; c < heads * size; c += VW) heads_sum(to + c / size, v_load(a + c) * v_load(b + c), size);
    else
        for (int64_t h = 0; h < heads; h++) to[h] = head_dot(a + h * size, b + h * size, size);
}

#endif
