/* Vectors of VW floats in the compiler's own notation, so that one source serves every instruction set. */
#ifndef KERNEL_ISA_SIMD_H
#define KERNEL_ISA_SIMD_H

#include "heed/io.h"
#include "kernel/isa.h"
#include <string.h>
#if defined(__x86_64__)
#    include <immintrin.h>
#endif

#define ISA_JOIN_(a, b) a##_##b
#define ISA_JOIN(a, b)  ISA_JOIN_(a, b)
#define ISA_NAME(name)  ISA_JOIN(name, ISA_SUFFIX) /* softmax_rows -> softmax_rows_avx2 */

#define ISA(ret, name, args) ret ISA_NAME(name) args;
#include "kernel/isa_additive.def"
#include "kernel/isa_assign.def"
#include "kernel/isa_attention.def"
#include "kernel/isa_conv.def"
#include "kernel/isa_fft.def"
#include "kernel/isa_gemm.def"
#include "kernel/isa_graph.def"
#include "kernel/isa_image.def"
#include "kernel/isa_loss.def"
#include "kernel/isa_math.def"
#include "kernel/isa_recurrent.def"
#include "kernel/isa_rows.def"
#undef ISA

#define INLINE static inline __attribute__((always_inline))

/* Loops over a few vectors are to be unrolled, and others not. Neither under clang's sanitizers, which would take
 * minutes to compile tiles. */
#if !defined(__clang__)
#    define UNROLL _Pragma("GCC unroll 64")
#    define ROLLED _Pragma("GCC unroll 1")
#elif __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer) ||        \
    __has_feature(undefined_behavior_sanitizer) || __has_feature(coverage_sanitizer)
#    define UNROLL
#    define ROLLED
#else
#    define UNROLL _Pragma("clang loop unroll(full)")
#    define ROLLED _Pragma("clang loop unroll(disable)")
#endif

typedef float vf __attribute__((vector_size(VW * 4)));
typedef int32_t vi __attribute__((vector_size(VW * 4)));
typedef uint32_t vu __attribute__((vector_size(VW * 4)));

INLINE vf v_load(const float *p) {
    vf v;
    memcpy(&v, p, sizeof v);
    return v;
}
INLINE void v_store(float *p, vf v) { memcpy(p, &v, sizeof v); }
INLINE vf v_set(float x) { return x - (vf){0}; }

/* Half a vector of AVX-512, a whole one of the others. */
#if VW == 4
#    define TW 4
#else
#    define TW 8
#endif
typedef float vt __attribute__((vector_size(TW * 4)));

/* TW numbers from element `at` on, of any stored type, which is a constant wherever this is inlined. */
INLINE vt t_read(const void *from, int64_t at, const enum stored type) {
    typedef uint16_t half __attribute__((vector_size(TW * 2)));
    typedef int32_t bits __attribute__((vector_size(TW * 4)));
    vt v;
    half h;
    if (type == STORED_F32) {
        memcpy(&v, (const float *)from + at, sizeof v);
        return v;
    }
    memcpy(&h, (const uint16_t *)from + at, sizeof h);
#if TW == 8 && defined(__AVX2__) && defined(__F16C__)
    if (type == STORED_F16) return (vt)_mm256_cvtph_ps((__m128i)h);
    const bits b = (bits)_mm256_cvtepu16_epi32((__m128i)h); /* which gcc does not find for convertvector */
#else
    const bits b = __builtin_convertvector(h, bits);
#endif
    if (type == STORED_BF16) return (vt)(b << 16);
    /* binary16: the exponent's bias is 112 less; 31 stands for infinity and NaN, 0 for numbers without a leading 1 */
    const bits size = (b & 0x7fff) << 13, sign = (b & 0x8000) << 16, moved = size + (112 << 23);
    const bits normal = moved + ((size >= 31 << 23) & (112 << 23));
    const bits tiny = (bits)((vt)(moved + (1 << 23)) - 0x1p-14f), is_tiny = size < 1 << 23;
    return (vt)(sign | (tiny & is_tiny) | (normal & ~is_tiny));
}
/* VW of them. */
INLINE vf v_read(const void *from, int64_t at, const enum stored type) {
#if VW == TW
    return (vf)t_read(from, at, type);
#else
    vf v;
    vt part[2];
    if (type == STORED_F32) return v_load((const float *)from + at);
#    if defined(__AVX512F__)
    const uint16_t *const h = (const uint16_t *)from + at;
    if (type == STORED_F16) return (vf)_mm512_cvtph_ps(_mm256_loadu_si256((const void *)h));
    if (type == STORED_BF16)
        return (vf)_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const void *)h)), 16);
#    endif
    for (int i = 0; i < 2; i++) part[i] = t_read(from, at + i * TW, type);
    memcpy(&v, part, sizeof v);
    return v;
#endif
}

/* One number, in places that no whole vector reaches. */
INLINE float read_one(const void *from, int64_t at, const enum stored type) {
    if (type == STORED_F32) return ((const float *)from)[at];
    const uint16_t bits = ((const uint16_t *)from)[at];
    return type == STORED_BF16 ? heed_bf16_to_f32(bits) : heed_f16_to_f32(bits);
}

/* a b + c, for the two kinds of vectors. By name where the CPU has it as one step: left to the compiler, it is fused
 * only where no branch comes in between, which sanitizers and loops unlike each other would make a matter of luck, and
 * bits with it. */
#if TW == 8 && defined(__FMA__)
#    define T_FMA(a, b, c) ((vt)_mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c)))
#else
#    define T_FMA(a, b, c) ((a) * (b) + (c))
#endif
INLINE vt t_fma(vt a, vt b, vt c) { return T_FMA(a, b, c); }
INLINE vf v_fma(vf a, vf b, vf c) {
#if VW == 16 && defined(__AVX512F__)
    return (vf)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif VW == 16 /* the tests' stand-in for AVX-512: by halves */
    vt x[2], y[2], z[2];
    memcpy(x, &a, sizeof a), memcpy(y, &b, sizeof b), memcpy(z, &c, sizeof c);
    for (int i = 0; i < 2; i++) z[i] = t_fma(x[i], y[i], z[i]);
    memcpy(&c, z, sizeof c);
    return c;
#else
    return T_FMA(a, b, c);
#endif
}

/* The first n < VW floats; the rest is `fill` when loading and untouched when storing. */
#if VW == 16 && defined(__AVX512F__) && !defined(__SANITIZE_ADDRESS__) /* which does not see masked ones */
INLINE __mmask16 v_mask(int64_t n) { return (__mmask16)((1u << n) - 1); }
INLINE vf v_load_part(const float *p, int64_t n, float fill) {
    return (vf)_mm512_mask_loadu_ps((__m512)v_set(fill), v_mask(n), p);
}
INLINE void v_store_part(float *p, vf v, int64_t n) { _mm512_mask_storeu_ps(p, v_mask(n), (__m512)v); }
#else
INLINE vf v_load_part(const float *p, int64_t n, float fill) {
    vf v = v_set(fill);
    memcpy(&v, p, (size_t)n * sizeof(float));
    return v;
}
INLINE void v_store_part(float *p, vf v, int64_t n) { memcpy(p, &v, (size_t)n * sizeof(float)); }
#endif

/* n floats, n <= VW: a whole vector or a part of one. */
INLINE vf v_get(const float *p, int64_t n, float fill) { return n >= VW ? v_load(p) : v_load_part(p, n, fill); }
INLINE void v_put(float *p, vf v, int64_t n) {
    if (n >= VW)
        v_store(p, v);
    else
        v_store_part(p, v, n);
}

/* Runs the body for i = 0, VW, 2 VW ... below `count`, with n = VW, and for the rest, if any, with n < VW. The body is
 * written out twice, so that the whole vectors know their n. */
#define V_EACH(i, n, count, ...)                                                                                       \
    do {                                                                                                               \
        int64_t i = 0;                                                                                                 \
        for (; i + VW <= (count); i += VW) {                                                                           \
            const int64_t n = VW;                                                                                      \
            __VA_ARGS__                                                                                                \
        }                                                                                                              \
        if (i < (count)) {                                                                                             \
            const int64_t n = (count)-i;                                                                               \
            __VA_ARGS__                                                                                                \
        }                                                                                                              \
    } while (0)

/* where(mask, a, b); a mask is what a comparison of two vectors gives: all bits set or none. */
INLINE vf v_where(vi mask, vf a, vf b) { return (vf)(((vi)a & mask) | ((vi)b & ~mask)); }
/* b where either is NaN. x86 has just this as one instruction, which gcc does not find. */
#if VW == 4 && defined(__SSE2__)
INLINE vf v_max(vf a, vf b) { return (vf)_mm_max_ps((__m128)a, (__m128)b); }
INLINE vf v_min(vf a, vf b) { return (vf)_mm_min_ps((__m128)a, (__m128)b); }
#elif VW == 8 && defined(__AVX__)
INLINE vf v_max(vf a, vf b) { return (vf)_mm256_max_ps((__m256)a, (__m256)b); }
INLINE vf v_min(vf a, vf b) { return (vf)_mm256_min_ps((__m256)a, (__m256)b); }
#elif VW == 16 && defined(__AVX512F__)
INLINE vf v_max(vf a, vf b) { return (vf)_mm512_max_ps((__m512)a, (__m512)b); }
INLINE vf v_min(vf a, vf b) { return (vf)_mm512_min_ps((__m512)a, (__m512)b); }
#else
INLINE vf v_max(vf a, vf b) { return v_where(a > b, a, b); }
INLINE vf v_min(vf a, vf b) { return v_where(a < b, a, b); }
#endif

/* Sum and maximum over the lanes, by halves: a fixed order. */
INLINE float v_sum(vf v) {
    float lane[VW];
    memcpy(lane, &v, sizeof v);
    for (int half = VW / 2; half > 0; half /= 2)
        for (int i = 0; i < half; i++) lane[i] += lane[i + half];
    return lane[0];
}
INLINE float v_top(vf v) {
    float lane[VW];
    memcpy(lane, &v, sizeof v);
    for (int half = VW / 2; half > 0; half /= 2)
        for (int i = 0; i < half; i++) lane[i] = lane[i] > lane[i + half] ? lane[i] : lane[i + half];
    return lane[0];
}

#endif
