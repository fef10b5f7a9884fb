/* The inner loops of the matrix products: B is packed into strips NR columns wide, and tiles of MR x NR elements of C
 * stay in registers while k runs.
 *
 * Invariant: an element of a tile is acc = 0; acc += a[k] * b[k] for k = 0, 1, ...; C = alpha * acc [+ C], in every
 * tile, whole or cut off by an edge, so that the bits of an element do not tell where in C it lies. */
#include "kernel/isa/simd.h"

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

#define NV 2         /* vectors across a strip */
#define NR (NV * VW) /* columns of a strip */
#if VW == 16
#    define MR 12 /* 24 accumulators of 32 registers */
#else
#    define MR 6 /* 12 accumulators of 16 registers */
#endif
#define WIDE       4     /* most strips across a tile */
#define LOOK_AHEAD 32768 /* floats of B from which on it may lie beyond the second cache */

/* Shuffles within each group of four lanes, taking lanes of a (0-3) and b (4-7). */
#define IN4(base, i)           ((i) < 4 ? (base) + (i) : VW + (base) + (i)-4)
#define FOUR(base, i, j, k, l) IN4(base, i), IN4(base, j), IN4(base, k), IN4(base, l)
#if VW == 4
#    define SHUFFLE(a, b, i, j, k, l) __builtin_shufflevector(a, b, FOUR(0, i, j, k, l))
#elif VW == 8
#    define SHUFFLE(a, b, i, j, k, l) __builtin_shufflevector(a, b, FOUR(0, i, j, k, l), FOUR(4, i, j, k, l))
#else
#    define SHUFFLE(a, b, i, j, k, l)                                                                                  \
        __builtin_shufflevector(a, b, FOUR(0, i, j, k, l), FOUR(4, i, j, k, l), FOUR(8, i, j, k, l),                   \
                                FOUR(12, i, j, k, l))
#endif

typedef float four __attribute__((vector_size(16)));
INLINE four load_four(const float *p) {
    four v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* Four floats each of rows 0, 4, 8, ... side by side. */
INLINE vf load_fours(const float *in, int64_t ld) {
    const four a = load_four(in);
#if VW == 4
    (void)ld;
    return a;
#else
    const four b = load_four(in + 4 * ld);
#    define JOIN_4 0, 1, 2, 3, 4, 5, 6, 7
#    if VW == 8
    return __builtin_shufflevector(a, b, JOIN_4);
#    else
    const four c = load_four(in + 8 * ld), d = load_four(in + 12 * ld);
    return __builtin_shufflevector(__builtin_shufflevector(a, b, JOIN_4), __builtin_shufflevector(c, d, JOIN_4), JOIN_4,
                                   8, 9, 10, 11, 12, 13, 14, 15);
#    endif
#endif
}

/* VW rows of four floats become four vectors. */
INLINE void transpose_block(float *out, int64_t ldo, const float *in, int64_t ldi) {
    const vf r0 = load_fours(in, ldi), r1 = load_fours(in + ldi, ldi), r2 = load_fours(in + 2 * ldi, ldi),
             r3 = load_fours(in + 3 * ldi, ldi);
    const vf lo01 = SHUFFLE(r0, r1, 0, 4, 1, 5), hi01 = SHUFFLE(r0, r1, 2, 6, 3, 7);
    const vf lo23 = SHUFFLE(r2, r3, 0, 4, 1, 5), hi23 = SHUFFLE(r2, r3, 2, 6, 3, 7);
    v_store(out, SHUFFLE(lo01, lo23, 0, 1, 4, 5));
    v_store(out + ldo, SHUFFLE(lo01, lo23, 2, 3, 6, 7));
    v_store(out + 2 * ldo, SHUFFLE(hi01, hi23, 0, 1, 4, 5));
    v_store(out + 3 * ldo, SHUFFLE(hi01, hi23, 2, 3, 6, 7));
}

void ISA_NAME(gemm_transpose)(float *out, int64_t ldo, const float *in, int64_t ldi, int64_t rows, int64_t cols) {
    int64_t r = 0;
    for (; r + VW <= rows; r += VW) {
        const float *row = in + r * ldi;
        int64_t c = 0;
        for (; c + 4 <= cols; c += 4) transpose_block(out + c * ldo + r, ldo, row + c, ldi);
        for (; c < cols; c++)
            for (int64_t i = 0; i < VW; i++) out[c * ldo + r + i] = row[i * ldi + c];
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

/* What C = alpha acc + C reads where nothing is to be added: adding -0 changes no number. One path for all keeps the
 * compiler from fusing the multiply-add in one place and not in another. */
static const float nothing[NR * WIDE] = {[0 ... NR * WIDE - 1] = -0.0f};

struct tile {
    int64_t n, k; /* n: columns of C from here to the edge */
    float alpha;
    bool add;
    const float *a, *strips;
    int64_t lda;
    float *c;
    int64_t ldc;
};

/* rows x (strips * NR) elements of C, fewer columns at the edge. Strips lie k * NR floats apart. */
INLINE void tile(const struct tile *t, const int rows, const int strips) {
    const int vectors = strips * NV;
    const int64_t k = t->k, lda = t->lda, ldc = t->ldc;
    const float *a = t->a, *b = t->strips;
    float *c = t->c;
    vf acc[MR][NV * WIDE];
    UNROLL for (int i = 0; i < rows; i++) {
        UNROLL for (int v = 0; v < vectors; v++) acc[i][v] = (vf){0};
        UNROLL for (int s = 0; s < strips; s++) __builtin_prefetch(c + i * ldc + s * NR, 1);
        __builtin_prefetch(c + i * ldc + strips * NR - 1, 1);
    }
    ROLLED for (int64_t p = 0; p < k; p++) {
        vf bv[NV * WIDE];
        UNROLL for (int v = 0; v < vectors; v++) bv[v] = v_load(b + (v / NV * k + p) * NR + v % NV * VW);
        UNROLL for (int i = 0; i < rows; i++) {
            const float s = a[i * lda + p];
            UNROLL for (int v = 0; v < vectors; v++) acc[i][v] += s * bv[v];
        }
    }
    float edge[MR * NR * WIDE];
    const bool cut = t->n < strips * NR;
    const size_t bytes = (size_t)t->n * sizeof(float);
    float *const out = cut ? edge : c;
    const int64_t ldo = cut ? strips * NR : ldc, ld = t->add ? ldo : 0;
    const float *const old = t->add ? out : nothing;
    if (cut && t->add) UNROLL for (int i = 0; i < rows; i++) memcpy(edge + i * ldo, c + i * ldc, bytes);
    UNROLL for (int i = 0; i < rows; i++) UNROLL for (int v = 0; v < vectors; v++)
        v_store(out + i * ldo + v * VW, t->alpha * acc[i][v] + v_load(old + i * ld + v * VW));
    if (cut) UNROLL for (int i = 0; i < rows; i++) memcpy(c + i * ldc, edge + i * ldo, bytes);
}

#define TILE(rows, strips)                                                                                             \
    static void tile_##rows##x##strips(const struct tile *t) { tile(t, rows, strips); }
TILE(1, 4)
TILE(2, 2)
TILE(3, 2)
TILE(3, 1)
TILE(4, 1)
TILE(5, 1)
TILE(6, 1)
#if MR == 12
TILE(7, 1)
TILE(8, 1)
TILE(9, 1)
TILE(10, 1)
TILE(11, 1)
TILE(12, 1)
#endif

typedef void tile_fn(const struct tile *t);
static tile_fn *const tiles[MR + 1] = {
    [3] = tile_3x1, [4] = tile_4x1, [5] = tile_5x1, [6] = tile_6x1,
#if MR == 12
    [7] = tile_7x1, [8] = tile_8x1, [9] = tile_9x1, [10] = tile_10x1, [11] = tile_11x1, [12] = tile_12x1,
#endif
};
/* One to three rows alone cannot keep the multipliers busy: they take several strips at a time. */
static tile_fn *const wide_tiles[] = {NULL, tile_1x4, tile_2x2, tile_3x2};
static const int wide_strips[] = {0, 4, 2, 2};

/* Draws groups of eight lines of the strip that will be packed next into the cache. */
INLINE void look_ahead(const float *next, int64_t ldb, bool trans_b, int64_t from, int64_t to) {
    for (int64_t g = from; g < to; g++) {
        const float *line = trans_b ? next + g % (NR / 8) * 8 * ldb + g / (NR / 8) * 16 : next + g * 8 * ldb;
        UNROLL for (int i = 0; i < 8; i++) __builtin_prefetch(line + i * ldb);
    }
}

void ISA_NAME(gemm_panel)(int64_t m, int64_t n, int64_t k, float alpha, const float *a, int64_t lda, const float *b,
                          int64_t ldb, bool trans_b, float *c, int64_t ldc, bool add, float *strips) {
    struct tile t = {.k = k, .alpha = alpha, .add = add, .strips = strips, .lda = lda, .ldc = ldc};
    const bool few = m < 4;
    const int64_t width = few ? wide_strips[m] * NR : NR, column = trans_b ? ldb : 1;
    /* Rows are shared out evenly: 8 rows are 4 + 4, which is faster than 6 + 2. */
    const int64_t count = (m + MR - 1) / MR, rows = m / count, longer = m % count;
    const int64_t groups = trans_b ? (k + 15) / 16 * (NR / 8) : (k + 7) / 8;
    const int64_t share = count < 8 || n * k < LOOK_AHEAD ? 0 : (groups + count - 1) / count;
    for (int64_t j = 0; j < n; j += width) {
        for (int64_t s = 0; s < width && j + s < n; s += NR)
            pack_strip(strips + s * k, b + (j + s) * column, ldb, trans_b, k, n - j - s);
        t.n = n - j, t.a = a, t.c = c + j;
        const float *const next = b + (j + width) * column;
        for (int64_t i = 0; i < count; i++) {
            const int64_t r = rows + (i < longer);
            look_ahead(next, ldb, trans_b, i * share, (i + 1) * share);
            (few ? wide_tiles : tiles)[r](&t);
            t.a += r * lda, t.c += r * ldc;
        }
    }
}
