/* Dropout (Srivastava et al. 2014): the keep bits come from Philox, the very numbers of base/philox.h, several blocks
 * of four at a time; they are kept as one bit an element for the way back. */
#include "base/philox.h"
#include "kernel/isa/simd.h"

typedef uint64_t vq __attribute__((vector_size(VW * 4)));
#define BLOCKS (VW / 2) /* a lane of 64 bits carries one word of one block in its low half; the high half is noise */

/* Lanes hold the blocks in the order that lets LOW and HIGH, which stay within 128 bits, put them in sequence. */
#if VW == 4
#    define LANES                                                                                                      \
        (vq) { 0, 1 }
#    define LOW  0, 2
#    define HIGH 1, 3
#elif VW == 8
#    define LANES                                                                                                      \
        (vq) { 0, 2, 1, 3 }
#    define LOW  0, 4, 2, 6
#    define HIGH 1, 5, 3, 7
#else
#    define LANES                                                                                                      \
        (vq) { 0, 4, 1, 5, 2, 6, 3, 7 }
#    define LOW  0, 8, 2, 10, 4, 12, 6, 14
#    define HIGH 1, 9, 3, 11, 5, 13, 7, 15
#endif

/* Low half times m, 64 bits. gcc does not see that half of the general product is known to be zero. */
INLINE vq mul_wide(vq a, uint32_t m) {
#if VW == 4 && defined(__SSE2__)
    return (vq)_mm_mul_epu32((__m128i)a, _mm_set1_epi32((int)m));
#elif VW == 8 && defined(__AVX2__)
    return (vq)_mm256_mul_epu32((__m256i)a, _mm256_set1_epi32((int)m));
#elif VW == 16 && defined(__AVX512F__)
    return (vq)_mm512_mul_epu32((__m512i)a, _mm512_set1_epi32((int)m));
#else
    return (a & 0xffffffffu) * (uint64_t)m;
#endif
}

/* Bit i is set where lane i is. */
INLINE uint64_t v_bits(vi mask) {
#if VW == 4 && defined(__SSE2__)
    return (uint64_t)_mm_movemask_ps((__m128)mask);
#elif VW == 8 && defined(__AVX2__)
    return (uint64_t)_mm256_movemask_ps((__m256)mask);
#elif VW == 16 && defined(__AVX512DQ__)
    return (uint64_t)_mm512_movepi32_mask((__m512i)mask);
#else
    uint64_t bits = 0;
    for (int i = 0; i < VW; i++) bits |= (uint64_t)(mask[i] & 1) << i;
    return bits;
#endif
}

void ISA_NAME(random_words)(uint32_t *out, int64_t n, uint64_t seed, uint64_t stream, uint64_t block) {
    uint64_t key0[10], key1[10];
    for (uint32_t round = 0; round < 10; round++) {
        key0[round] = (uint32_t)seed + round * PHILOX_W0;
        key1[round] = (uint32_t)(seed >> 32) + round * PHILOX_W1;
    }
    for (int64_t i = 0; i < n; i += 4 * BLOCKS, block += BLOCKS) {
        vq c0 = block + LANES, c1 = c0 >> 32, c2 = stream - (vq){0}, c3 = c2 >> 32;
        for (int round = 0; round < 10; round++) {
            const vq p0 = mul_wide(c0, PHILOX_M0), p1 = mul_wide(c2, PHILOX_M1);
            c0 = (p1 >> 32) ^ c1 ^ key0[round];
            c2 = (p0 >> 32) ^ c3 ^ key1[round];
            c1 = p1;
            c3 = p0;
        }
        const vq first = (c0 & 0xffffffffu) | (c1 << 32), second = (c2 & 0xffffffffu) | (c3 << 32);
        const vq low = __builtin_shufflevector(first, second, LOW), high = __builtin_shufflevector(first, second, HIGH);
        memcpy(out + i, &low, sizeof low);
        memcpy(out + i + 2 * BLOCKS, &high, sizeof high);
    }
}

/* Up to 64 elements; returns their bits. */
INLINE uint64_t drop_word(float *y, const float *x, const uint32_t *bits, int64_t count, int32_t least, float scale) {
    uint64_t word = 0;
    V_EACH(i, n, count, {
        const vu number = (vu)v_get((const float *)(const void *)(bits + i), n, 0.0f) >> 8;
        const vi keep = (vi)number >= least;
        v_put(y + i, (vf)((vi)(v_get(x + i, n, 0.0f) * scale) & keep), n);
        word |= v_bits(keep) << i;
    });
    return count < 64 ? word & (((uint64_t)1 << count) - 1) : word;
}

#define CHUNK 2048

void ISA_NAME(dropout_part)(float *y, uint64_t *mask, const float *x, int64_t n, int32_t least, float scale,
                            uint64_t seed, uint64_t stream, uint64_t position) {
    uint32_t bits[CHUNK + 4 + 4 * BLOCKS] __attribute__((aligned(64)));
    const int64_t lead = (int64_t)(position % 4);
    for (int64_t at = 0; at < n; at += CHUNK) {
        const int64_t count = n - at < CHUNK ? n - at : CHUNK;
        ISA_NAME(random_words)(bits, lead + count, seed, stream, (position + (uint64_t)at) / 4);
        int64_t i = 0;
        for (; i + 64 <= count; i += 64) *mask++ = drop_word(y + at + i, x + at + i, bits + lead + i, 64, least, scale);
        if (i < count) *mask++ = drop_word(y + at + i, x + at + i, bits + lead + i, count - i, least, scale);
    }
}

INLINE void undrop_word(float *dx, const float *dy, uint64_t word, int64_t count, float scale, bool add) {
    vu lane;
    for (int i = 0; i < VW; i++) lane[i] = 1u << i;
    V_EACH(i, n, count, {
        const vu here = (uint32_t)(word >> i) & lane;
        const vf d = (vf)((vi)(v_get(dy + i, n, 0.0f) * scale) & (here != 0));
        v_put(dx + i, add ? v_get(dx + i, n, 0.0f) + d : d, n);
    });
}

void ISA_NAME(dropout_grad_part)(float *dx, const uint64_t *mask, const float *dy, int64_t n, float scale, bool add) {
    int64_t i = 0;
    for (; i + 64 <= n; i += 64) undrop_word(dx + i, dy + i, *mask++, 64, scale, add);
    if (i < n) undrop_word(dx + i, dy + i, *mask, n - i, scale, add);
}

void ISA_NAME(attention_factors)(float *out, int64_t ldo, int64_t rows, int64_t first, int64_t cols, uint32_t least,
                                 float scale, uint64_t seed, uint64_t stream, uint64_t word) {
    uint32_t bits[CHUNK + 4 * BLOCKS] __attribute__((aligned(64)));
    for (int64_t at = 0; at < rows; at += CHUNK / 8) {
        const int64_t count = rows - at < CHUNK / 8 ? rows - at : CHUNK / 8;
        ISA_NAME(random_words)(bits, count * 8, seed, stream, word / 4 + (uint64_t)at * 2);
        for (int64_t r = 0; r < count; r++) {
            const uint32_t *const words = bits + r * 8;
            float *const to = out + (at + r) * ldo, all[16];
            for (int c = 0; c < 8; c++) {
                all[c] = (words[c] & 0xffffu) >= least ? scale : 0;
                all[c + 8] = words[c] >> 16 >= least ? scale : 0;
            }
            memcpy(to, all + first, (size_t)cols * sizeof(float));
        }
    }
}
