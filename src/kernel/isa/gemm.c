/* The inner loops of the matrix products: B is packed into strips NR columns wide, and tiles of MR x NR elements of C
 * stay in registers while k runs.
 *
 * Invariant: an element of a tile is acc = 0; acc += a[k] * b[k] for k = 0, 1, ...; C = alpha * acc [+ C], in every
 * tile, whole or cut off by an edge, so that the bits of an element do not tell where in C it lies. */
#include "kernel/isa/simd.h"
#if defined(__FMA__)
#    include <immintrin.h>
#endif

/* Tiles are written as loops to be unrolled, the one over k excepted. Not under clang's sanitizers, which would take
 * minutes to compile them. */
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

/* a b + c. By name where the CPU has it as one step: left to the compiler, it is fused only where no branch comes in
 * between, which sanitizers and loops unlike each other would make a matter of luck, and bits with it. */
INLINE vf v_fma(vf a, vf b, vf c) {
#if VW == 16 && defined(__AVX512F__)
    return (vf)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif VW == 8 && defined(__FMA__)
    return (vf)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#else
    return a * b + c;
#endif
}

#define NV 2         /* vectors across a strip */
#define NR (NV * VW) /* columns of a strip */
#if VW == 16
#    define MR 12 /* 24 accumulators of 32 registers */
#else
#    define MR 6 /* 12 accumulators of 16 registers */
#endif
#define FEW        3     /* most rows for which B is not packed */
#define FEW_WIDTH  512   /* columns of them at a time */
#define FEW_TURNED 64    /* the same where B is stored (n,k) */
#define PIECE      64    /* of k at a time, for few rows */
#define LOOK_AHEAD 65536 /* floats of B beyond which it hardly lies in the second cache */

/* Transposing goes by squares of TW x TW. */
#if VW == 4
#    define TW                        4
#    define SHUFFLE(a, b, i, j, k, l) __builtin_shufflevector(a, b, i, j, k, l)
#else
#    define TW     8
#    define IN8(i) ((i) < 4 ? (i) : (i) + 4) /* lanes 4-7 of a pair of fours are the second vector's first ones */
#    define SHUFFLE(a, b, i, j, k, l)                                                                                  \
        __builtin_shufflevector(a, b, IN8(i), IN8(j), IN8(k), IN8(l), IN8(i) + 4, IN8(j) + 4, IN8(k) + 4, IN8(l) + 4)
#endif
typedef float vt __attribute__((vector_size(TW * 4)));

INLINE void transpose_square(float *out, int64_t ldo, const float *in, int64_t ldi) {
    vt row[TW], turned[TW];
    UNROLL for (int i = 0; i < TW; i++) memcpy(row + i, in + i * ldi, sizeof *row);
    UNROLL for (int i = 0; i < TW; i += 4) { /* each half of each four rows */
        const vt lo01 = SHUFFLE(row[i], row[i + 1], 0, 4, 1, 5), hi01 = SHUFFLE(row[i], row[i + 1], 2, 6, 3, 7);
        const vt lo23 = SHUFFLE(row[i + 2], row[i + 3], 0, 4, 1, 5), hi23 = SHUFFLE(row[i + 2], row[i + 3], 2, 6, 3, 7);
        turned[i] = SHUFFLE(lo01, lo23, 0, 1, 4, 5);
        turned[i + 1] = SHUFFLE(lo01, lo23, 2, 3, 6, 7);
        turned[i + 2] = SHUFFLE(hi01, hi23, 0, 1, 4, 5);
        turned[i + 3] = SHUFFLE(hi01, hi23, 2, 3, 6, 7);
    }
#if TW == 8
    UNROLL for (int i = 0; i < 4; i++) {
        row[i] = __builtin_shufflevector(turned[i], turned[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        row[i + 4] = __builtin_shufflevector(turned[i], turned[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
    UNROLL for (int i = 0; i < TW; i++) memcpy(out + i * ldo, row + i, sizeof *row);
#else
    UNROLL for (int i = 0; i < TW; i++) memcpy(out + i * ldo, turned + i, sizeof *turned);
#endif
}

void ISA_NAME(gemm_transpose)(float *out, int64_t ldo, const float *in, int64_t ldi, int64_t rows, int64_t cols) {
    int64_t r = 0;
    for (; r + TW <= rows; r += TW) {
        const float *row = in + r * ldi;
        int64_t c = 0;
        for (; c + TW <= cols; c += TW) transpose_square(out + c * ldo + r, ldo, row + c, ldi);
        for (; c < cols; c++)
            for (int64_t i = 0; i < TW; i++) out[c * ldo + r + i] = row[i * ldi + c];
    }
    for (; r < rows; r++)
        for (int64_t c = 0; c < cols; c++) out[c * ldo + r] = in[r * ldi + c];
}

/* Up to NR columns of op(B) into a strip (k, NR), padded with zeros. */
static void pack_strip(float *strip, const float *b, int64_t ldb, bool trans_b, int64_t k, int64_t n) {
    if (n < NR) memset(strip, 0, (size_t)(k * NR) * sizeof(float));
    if (trans_b) {
        ISA_NAME(gemm_transpose)(strip, NR, b, ldb, n < NR ? n : NR, k);
    } else if (n >= NR) {
        for (int64_t p = 0; p < k; p++)
            UNROLL for (int v = 0; v < NV; v++) v_store(strip + p * NR + v * VW, v_load(b + p * ldb + v * VW));
    } else {
        for (int64_t p = 0; p < k; p++) memcpy(strip + p * NR, b + p * ldb, (size_t)n * sizeof(float));
    }
}

/* What C = alpha acc + C reads where nothing is to be added: adding -0 changes no number. */
static const float nothing[NR] = {[0 ... NR - 1] = -0.0f};

struct part {
    int64_t n, k; /* n: columns of C from here to the edge */
    float alpha;
    bool add, trans_b;
    const float *a, *b;
    int64_t lda, ldb;
    float *c;
    int64_t ldc;
};

/* The rows of a tile that the edge of C cuts off. */
static void put_cut(const struct part *t, const float *acc, int rows) {
    const size_t bytes = (size_t)t->n * sizeof(float);
    for (int i = 0; i < rows; i++) {
        float *const c = t->c + i * t->ldc, row[NR];
        memcpy(row, nothing, sizeof row);
        if (t->add) memcpy(row, c, bytes);
        for (int v = 0; v < NR; v += VW)
            v_store(row + v, v_fma(v_set(t->alpha), v_load(acc + i * NR + v), v_load(row + v)));
        memcpy(c, row, bytes);
    }
}

/* rows x NR elements of C, fewer columns at the edge; b is a packed strip. */
INLINE void tile(const struct part *t, const int rows) {
    const int64_t k = t->k, lda = t->lda, ldc = t->ldc;
    const float *a = t->a, *b = t->b;
    float *c = t->c;
    vf acc[MR][NV];
    UNROLL for (int i = 0; i < rows; i++) {
        UNROLL for (int v = 0; v < NV; v++) acc[i][v] = (vf){0};
        __builtin_prefetch(c + i * ldc + NR - 1, 1); /* the strip before has fetched the first line */
    }
    ROLLED for (int64_t p = 0; p < k; p++) {
        vf bv[NV];
        UNROLL for (int v = 0; v < NV; v++) bv[v] = v_load(b + p * NR + v * VW);
        UNROLL for (int i = 0; i < rows; i++) {
            const vf s = v_set(a[i * lda + p]);
            UNROLL for (int v = 0; v < NV; v++) acc[i][v] = v_fma(s, bv[v], acc[i][v]);
        }
    }
    const vf alpha = v_set(t->alpha);
    if (t->n < NR) {
        float cut[MR * NR];
        UNROLL for (int i = 0; i < rows; i++) UNROLL for (int v = 0; v < NV; v++)
            v_store(cut + i * NR + v * VW, acc[i][v]);
        put_cut(t, cut, rows);
    } else if (t->add) {
        UNROLL for (int i = 0; i < rows; i++, c += ldc) UNROLL for (int v = 0; v < NV; v++)
            v_store(c + v * VW, v_fma(alpha, acc[i][v], v_load(c + v * VW)));
    } else {
        UNROLL for (int i = 0; i < rows; i++, c += ldc) UNROLL for (int v = 0; v < NV; v++)
            v_store(c + v * VW, v_fma(alpha, acc[i][v], v_set(-0.0f)));
    }
}

/* sums[i][j] += a[i][u] * b[u][j] for u = 0 .. count - 1, over n columns. */
INLINE void add_rows(const int rows, const int count, float *sums, const float *a, int64_t lda, const float *b,
                     int64_t ldb, int64_t n) {
    for (int64_t j = 0; j < n; j += VW) UNROLL for (int i = 0; i < rows; i++) {
            vf s = v_load(sums + i * FEW_WIDTH + j);
            UNROLL for (int u = 0; u < count; u++) s = v_fma(v_set(a[i * lda + u]), v_load(b + u * ldb + j), s);
            v_store(sums + i * FEW_WIDTH + j, s);
        }
}

/* Few rows: B is read once and not worth packing. Its rows are added to sums in the first cache as they lie, eight at a
 * time, or turned a piece at a time. n is a multiple of VW. */
INLINE void few(const struct part *t, const int rows, int64_t n, float *room) {
    const int64_t step = t->trans_b ? FEW_TURNED : FEW_WIDTH, lda = t->lda;
    for (int64_t j = 0; j < n; j += step) {
        const int64_t width = n - j < step ? n - j : step;
        float sums[FEW * FEW_WIDTH];
        for (int i = 0; i < rows; i++) memset(sums + i * FEW_WIDTH, 0, (size_t)width * sizeof(float));
        for (int64_t p = 0; p < t->k; p += PIECE) {
            const int64_t end = t->k - p < PIECE ? t->k : p + PIECE;
            if (t->trans_b) {
                for (int64_t r = 0; r < width; r++)
                    for (int l = 0; l < PIECE; l += 16) __builtin_prefetch(t->b + (j + r) * t->ldb + p + PIECE + l);
                ISA_NAME(gemm_transpose)(room, FEW_TURNED, t->b + j * t->ldb + p, t->ldb, width, end - p);
            }
            const float *b = t->trans_b ? room : t->b + p * t->ldb + j;
            const int64_t ldb = t->trans_b ? FEW_TURNED : t->ldb;
            int64_t q = p;
            for (; q + 8 <= end; q += 8, b += 8 * ldb) add_rows(rows, 8, sums, t->a + q, lda, b, ldb, width);
            for (; q < end; q++, b += ldb) add_rows(rows, 1, sums, t->a + q, lda, b, ldb, width);
        }
        for (int i = 0; i < rows; i++) {
            float *const c = t->c + i * t->ldc + j;
            const float *const old = t->add ? c : nothing;
            const int64_t on = t->add ? 1 : 0;
            for (int64_t v = 0; v < width; v += VW)
                v_store(c + v, v_fma(v_set(t->alpha), v_load(sums + i * FEW_WIDTH + v), v_load(old + on * v)));
        }
    }
}

#define ROWS(rows)                                                                                                     \
    static void tile_##rows(const struct part *t) { tile(t, rows); }
#define FEW_ROWS(rows)                                                                                                 \
    static void few_##rows(const struct part *t, int64_t n, float *room) { few(t, rows, n, room); }
ROWS(1)
ROWS(2)
ROWS(3)
ROWS(4)
ROWS(5)
ROWS(6)
FEW_ROWS(1)
FEW_ROWS(2)
FEW_ROWS(3)
#if MR == 12
ROWS(7)
ROWS(8)
ROWS(9)
ROWS(10)
ROWS(11)
ROWS(12)
#endif

static void (*const fews[FEW + 1])(const struct part *t, int64_t n, float *room) = {NULL, few_1, few_2, few_3};
static void (*const tiles[MR + 1])(const struct part *t) = {
    NULL,   tile_1, tile_2, tile_3,  tile_4,  tile_5,  tile_6,
#if MR == 12
    tile_7, tile_8, tile_9, tile_10, tile_11, tile_12,
#endif
};

/* Draws groups of eight lines of the strip that will be packed next into the cache. */
INLINE void look_ahead(const float *next, int64_t ldb, bool trans_b, int64_t from, int64_t to) {
    for (int64_t g = from; g < to; g++) {
        const float *line = trans_b ? next + g % (NR / 8) * 8 * ldb + g / (NR / 8) * 16 : next + g * 8 * ldb;
        UNROLL for (int i = 0; i < 8; i++) __builtin_prefetch(line + i * ldb);
    }
}

void ISA_NAME(gemm_panel)(int64_t m, int64_t n, int64_t k, float alpha, const float *a, int64_t lda, const float *b,
                          int64_t ldb, bool trans_b, float *c, int64_t ldc, bool add, float *strip) {
    struct part t = {n, k, alpha, add, trans_b, a, b, lda, ldb, c, ldc};
    const int64_t column = trans_b ? ldb : 1;
    int64_t j = 0;
    if (m <= FEW) fews[m](&t, j = n - n % VW, strip);
    t.b = strip;
    /* Rows are shared out evenly: 8 rows are 4 + 4, which is faster than 6 + 2. */
    const int64_t count = (m + MR - 1) / MR, rows = m / count, longer = m % count;
    const int64_t groups = trans_b ? (k + 15) / 16 * (NR / 8) : (k + 7) / 8;
    const int64_t share = count < 8 || n * k <= LOOK_AHEAD ? 0 : (groups + count - 1) / count;
    for (; j < n; j += NR) {
        pack_strip(strip, b + j * column, ldb, trans_b, k, n - j);
        const float *const next = b + (j + NR) * column;
        t.n = n - j, t.a = a, t.c = c + j;
        for (int64_t i = 0; i < count; i++) {
            const int64_t r = rows + (i < longer);
            if (i * share < groups) look_ahead(next, ldb, trans_b, i * share, (i + 1) * share);
            tiles[r](&t);
            t.a += r * lda, t.c += r * ldc;
        }
    }
}
