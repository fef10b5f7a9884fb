/* Weighted sums and transposes of bytes, for resizing pictures.
 *
 * A weight is cut in two, k = 2^15 high + low, so that pairs of bytes can be multiplied and added as 16-bit numbers;
 * sums wrap around like integers of 32 bits do, and the whole, which fits, is right again. */
#include "kernel/isa/simd.h"

#define WEIGHT_BITS 22
#define LOW_BITS    15

INLINE uint8_t clip(int32_t sum) {
    const int32_t v = sum >> WEIGHT_BITS;
    return v < 0 ? 0 : v > 255 ? 255 : (uint8_t)v;
}

static void combine_scalar(uint8_t *out, const uint8_t *in, int64_t stride, const int32_t *k, int64_t taps, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        int32_t sum = 1 << (WEIGHT_BITS - 1);
        for (int64_t t = 0; t < taps; t++) sum += k[t] * in[t * stride + i];
        out[i] = clip(sum);
    }
}

#if defined(__AVX2__)
typedef __m256i bytes;
#    define OP(name)    _mm256_##name
#    define LOAD(p)     _mm256_loadu_si256((const __m256i *)(const void *)(p))
#    define STORE(p, v) _mm256_storeu_si256((__m256i *)(void *)(p), v)
#    define ZERO        _mm256_setzero_si256()
#elif defined(__SSE2__)
typedef __m128i bytes;
#    define OP(name)    _mm_##name
#    define LOAD(p)     _mm_loadu_si128((const __m128i *)(const void *)(p))
#    define STORE(p, v) _mm_storeu_si128((__m128i *)(void *)(p), v)
#    define ZERO        _mm_setzero_si128()
#endif

#if defined(__SSE2__)
/* Four vectors of 32-bit sums, in the order that unpacking gives and packing takes back. */
struct sums {
    bytes of[4];
};

INLINE void add_pair(struct sums *high, struct sums *low, bytes a, bytes b, int32_t ka, int32_t kb) {
    const bytes zero = ZERO, left = OP(unpacklo_epi8)(a, b), right = OP(unpackhi_epi8)(a, b);
    const bytes kh =
        OP(set1_epi32)((int32_t)((uint32_t)(ka >> LOW_BITS) & 0xFFFF) | (int32_t)((uint32_t)(kb >> LOW_BITS) << 16));
    const uint32_t mask = (1u << LOW_BITS) - 1;
    const bytes kl = OP(set1_epi32)((int32_t)(((uint32_t)ka & mask) | ((uint32_t)kb & mask) << 16));
    const bytes pairs[4] = {OP(unpacklo_epi8)(left, zero), OP(unpackhi_epi8)(left, zero),
                            OP(unpacklo_epi8)(right, zero), OP(unpackhi_epi8)(right, zero)};
    UNROLL
    for (int i = 0; i < 4; i++) {
        high->of[i] = OP(add_epi32)(high->of[i], OP(madd_epi16)(pairs[i], kh));
        low->of[i] = OP(add_epi32)(low->of[i], OP(madd_epi16)(pairs[i], kl));
    }
}

INLINE void combine_block(uint8_t *out, const uint8_t *in, int64_t stride, const int32_t *k, int64_t taps) {
    struct sums high, low;
    UNROLL
    for (int i = 0; i < 4; i++) {
        high.of[i] = ZERO;
        low.of[i] = OP(set1_epi32)(1 << (WEIGHT_BITS - 1));
    }
    int64_t t = 0;
    for (; t + 1 < taps; t += 2)
        add_pair(&high, &low, LOAD(in + t * stride), LOAD(in + (t + 1) * stride), k[t], k[t + 1]);
    if (t < taps) add_pair(&high, &low, LOAD(in + t * stride), ZERO, k[t], 0);
    bytes sum[4];
    UNROLL
    for (int i = 0; i < 4; i++)
        sum[i] = OP(srai_epi32)(OP(add_epi32)(OP(slli_epi32)(high.of[i], LOW_BITS), low.of[i]), WEIGHT_BITS);
    STORE(out, OP(packus_epi16)(OP(packs_epi32)(sum[0], sum[1]), OP(packs_epi32)(sum[2], sum[3])));
}

void ISA_NAME(combine_bytes)(uint8_t *out, const uint8_t *in, int64_t stride, const int32_t *k, int64_t taps,
                             int64_t n) {
    const int64_t block = (int64_t)sizeof(bytes);
    if (n < block) {
        combine_scalar(out, in, stride, k, taps, n);
        return;
    }
    for (int64_t i = 0; i + block <= n; i += block) combine_block(out + i, in + i, stride, k, taps);
    if (n % block) combine_block(out + n - block, in + n - block, stride, k, taps);
}
#else
void ISA_NAME(combine_bytes)(uint8_t *out, const uint8_t *in, int64_t stride, const int32_t *k, int64_t taps,
                             int64_t n) {
    combine_scalar(out, in, stride, k, taps, n);
}
#endif

/* ---- transposes ---- */

static void transpose_scalar(uint8_t *out, int64_t ldo, const uint8_t *in, int64_t ldi, int64_t rows, int64_t cols) {
    for (int64_t j = 0; j < cols; j++)
        for (int64_t i = 0; i < rows; i++) out[j * ldo + i] = in[i * ldi + j];
}

#if defined(__SSE2__)
/* 16 x 16: four times every row is woven with that eight further down. */
INLINE void transpose_block(uint8_t *out, int64_t ldo, const uint8_t *in, int64_t ldi) {
    __m128i a[16], b[16];
    UNROLL
    for (int i = 0; i < 16; i++) a[i] = _mm_loadu_si128((const __m128i *)(const void *)(in + i * ldi));
    UNROLL
    for (int round = 0; round < 4; round++) {
        UNROLL
        for (int i = 0; i < 8; i++) {
            b[2 * i] = _mm_unpacklo_epi8(a[i], a[i + 8]);
            b[2 * i + 1] = _mm_unpackhi_epi8(a[i], a[i + 8]);
        }
        UNROLL
        for (int i = 0; i < 16; i++) a[i] = b[i];
    }
    UNROLL
    for (int i = 0; i < 16; i++) _mm_storeu_si128((__m128i *)(void *)(out + i * ldo), a[i]);
}
#else
INLINE void transpose_block(uint8_t *out, int64_t ldo, const uint8_t *in, int64_t ldi) {
    transpose_scalar(out, ldo, in, ldi, 16, 16);
}
#endif

/* The last blocks reach back over the ones before. */
void ISA_NAME(transpose_bytes)(uint8_t *out, int64_t ldo, const uint8_t *in, int64_t ldi, int64_t rows, int64_t cols) {
    if (rows < 16 || cols < 16) {
        transpose_scalar(out, ldo, in, ldi, rows, cols);
        return;
    }
    for (int64_t i = 0; i < rows; i += 16) {
        const int64_t row = i + 16 <= rows ? i : rows - 16;
        for (int64_t j = 0; j < cols; j += 16) {
            const int64_t col = j + 16 <= cols ? j : cols - 16;
            transpose_block(out + col * ldo + row, ldo, in + row * ldi + col, ldi);
        }
    }
}
