/* Tiles of a matrix product: MR x NR elements of C that stay in registers while k runs.
 *
 * Invariant: an element of a tile is acc = 0; acc += a[k] * b[k] for k = 0, 1, ...; C = alpha * acc [+ C], in every
 * tile, whole or cut off by an edge, so that the bits of an element do not tell where in C it lies. */
#ifndef KERNEL_ISA_TILES_H
#define KERNEL_ISA_TILES_H

#include "kernel/isa/simd.h"

#define NV      2         /* vectors across a strip */
#define NR      (NV * VW) /* columns of a strip */
#define FETCHES 4         /* parts of k in which C is fetched */
#if VW == 16
#    define MR 12 /* 24 accumulators of 32 registers */
#else
#    define MR 6 /* 12 accumulators of 16 registers */
#endif

/* One function for each number of rows that a tile can have, since loops over rows are to be unrolled: EACH_ROWS(D)
 * is D(1) .. D(MR), which define kind_1 .. kind_MR; TILE_TABLE(kind) is the table of these. */
#if MR == 12
#    define EACH_ROWS(D) D(1) D(2) D(3) D(4) D(5) D(6) D(7) D(8) D(9) D(10) D(11) D(12)
#    define TILE_TABLE(kind)                                                                                           \
        {                                                                                                              \
            NULL, kind##_1, kind##_2, kind##_3, kind##_4, kind##_5, kind##_6, kind##_7, kind##_8, kind##_9, kind##_10, \
                kind##_11, kind##_12                                                                                   \
        }
#else
#    define EACH_ROWS(D) D(1) D(2) D(3) D(4) D(5) D(6)
#    define TILE_TABLE(kind)                                                                                           \
        { NULL, kind##_1, kind##_2, kind##_3, kind##_4, kind##_5, kind##_6 }
#endif

/* Transposing goes by squares of TW x TW. */
#if TW == 4
#    define SHUFFLE(a, b, i, j, k, l) __builtin_shufflevector(a, b, i, j, k, l)
#else
#    define IN8(i) ((i) < 4 ? (i) : (i) + 4) /* lanes 4-7 of a pair of fours are the second vector's first ones */
#    define SHUFFLE(a, b, i, j, k, l)                                                                                  \
        __builtin_shufflevector(a, b, IN8(i), IN8(j), IN8(k), IN8(l), IN8(i) + 4, IN8(j) + 4, IN8(k) + 4, IN8(l) + 4)
#endif
typedef float vt __attribute__((vector_size(TW * 4)));

INLINE vt t_set(float x) { return x - (vt){0}; }

/* Transposes TW rows of TW numbers; out may be row. */
INLINE void transpose_rows(vt out[TW], const vt row[TW]) {
    UNROLL for (int i = 0; i < TW; i += 4) { /* four rows, in each half */
        const vt lo01 = SHUFFLE(row[i], row[i + 1], 0, 4, 1, 5), hi01 = SHUFFLE(row[i], row[i + 1], 2, 6, 3, 7);
        const vt lo23 = SHUFFLE(row[i + 2], row[i + 3], 0, 4, 1, 5), hi23 = SHUFFLE(row[i + 2], row[i + 3], 2, 6, 3, 7);
        out[i] = SHUFFLE(lo01, lo23, 0, 1, 4, 5);
        out[i + 1] = SHUFFLE(lo01, lo23, 2, 3, 6, 7);
        out[i + 2] = SHUFFLE(hi01, hi23, 0, 1, 4, 5);
        out[i + 3] = SHUFFLE(hi01, hi23, 2, 3, 6, 7);
    }
#if TW == 8
    UNROLL for (int i = 0; i < 4; i++) { /* and the halves are swapped */
        const vt low = out[i], high = out[i + 4];
        out[i] = __builtin_shufflevector(low, high, 0, 1, 2, 3, 8, 9, 10, 11);
        out[i + 4] = __builtin_shufflevector(low, high, 4, 5, 6, 7, 12, 13, 14, 15);
    }
#endif
}

/* The same of numbers in memory, from element `at` on. */
INLINE void load_transposed(vt out[TW], const void *in, int64_t at, int64_t ldi, const enum stored type) {
    vt row[TW];
    UNROLL for (int i = 0; i < TW; i++) row[i] = t_read(in, at + i * ldi, type);
    transpose_rows(out, row);
}

#if VW == 16
INLINE vf v_join(vt low, vt high) {
    return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}

/* Transposes 16 rows of 8 numbers: row[i] holds rows i and i + 8, in whose halves squares of 8 x 8 are transposed side
 * by side; out[c] is column c. */
INLINE void transpose_tall(vf out[8], const vf row[8]) {
#    define EACH_FOUR(a, b, i, j, k, l)                                                                                \
        __builtin_shufflevector(a, b, i, j, k, l, i + 4, j + 4, k + 4, l + 4, i + 8, j + 8, k + 8, l + 8, i + 12,      \
                                j + 12, k + 12, l + 12)
    UNROLL for (int i = 0; i < 8; i += 4) {
        const vf lo01 = EACH_FOUR(row[i], row[i + 1], 0, 16, 1, 17), hi01 = EACH_FOUR(row[i], row[i + 1], 2, 18, 3, 19);
        const vf lo23 = EACH_FOUR(row[i + 2], row[i + 3], 0, 16, 1, 17),
                 hi23 = EACH_FOUR(row[i + 2], row[i + 3], 2, 18, 3, 19);
        out[i] = EACH_FOUR(lo01, lo23, 0, 1, 16, 17);
        out[i + 1] = EACH_FOUR(lo01, lo23, 2, 3, 18, 19);
        out[i + 2] = EACH_FOUR(hi01, hi23, 0, 1, 16, 17);
        out[i + 3] = EACH_FOUR(hi01, hi23, 2, 3, 18, 19);
    }
    UNROLL for (int i = 0; i < 4; i++) {
        const vf low = out[i], high = out[i + 4];
        out[i] = __builtin_shufflevector(low, high, 0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27);
        out[i + 4] = __builtin_shufflevector(low, high, 4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31);
    }
#    undef EACH_FOUR
}
#endif

/* What C = alpha acc + start reads where nothing is to be added: adding -0 changes no number. */
static const float nothing[NR] = {[0 ... NR - 1] = -0.0f};

struct part {
    int64_t n, k; /* n: columns of C from here to the edge */
    float alpha;
    bool add, trans_b;
    const float *a, *b; /* b: a packed strip */
    const void *raw;    /* B as it is stored, rows ldb apart */
    int64_t lda, ldb;
    float *c;
    int64_t ldc;
    const float *bias; /* from here on, or NULL */
};

/* The rows of a tile that the edge of C cuts off. */
static void put_cut(const struct part *t, const float *acc, int rows) {
    const size_t bytes = (size_t)t->n * sizeof(float);
    const int width = t->n <= VW ? VW : NR;
    for (int i = 0; i < rows; i++) {
        float *const c = t->c + i * t->ldc, row[NR];
        memcpy(row, nothing, sizeof row);
        if (t->add || t->bias) memcpy(row, t->add ? c : t->bias, bytes);
        for (int v = 0; v < width; v += VW)
            v_store(row + v, v_fma(v_set(t->alpha), v_load(acc + i * NR + v), v_load(row + v)));
        memcpy(c, row, bytes);
    }
}

/* Adds k steps to the sums of a tile. b: (k,NR), rows ldb apart; row i of A is a column where A is stored transposed,
 * (k,rows). */
INLINE void tile_add_some(vf acc[MR][NV], const int rows, const int vectors, const bool transposed, int64_t k,
                          const float *a, int64_t lda, const float *b, int64_t ldb) {
    ROLLED for (int64_t p = 0; p < k; p++) {
        vf bv[NV];
        UNROLL for (int v = 0; v < vectors; v++) bv[v] = v_load(b + p * ldb + v * VW);
        UNROLL for (int i = 0; i < rows; i++) {
            const vf s = v_set(transposed ? a[p * lda + i] : a[i * lda + p]);
            UNROLL for (int v = 0; v < vectors; v++) acc[i][v] = v_fma(s, bv[v], acc[i][v]);
        }
    }
}

INLINE void tile_add(vf acc[MR][NV], const int rows, const bool transposed, int64_t k, const float *a, int64_t lda,
                     const float *b, int64_t ldb) {
    tile_add_some(acc, rows, NV, transposed, k, a, lda, b, ldb);
}

INLINE void tile_sums(vf acc[MR][NV], const int rows, const bool transposed, int64_t k, const float *a, int64_t lda,
                      const float *b, int64_t ldb) {
    UNROLL for (int i = 0; i < rows; i++) UNROLL for (int v = 0; v < NV; v++) acc[i][v] = (vf){0};
    tile_add(acc, rows, transposed, k, a, lda, b, ldb);
}

/* rows x NR elements of C, fewer columns at the edge; b is a packed strip. vectors: 1 where the edge leaves no more. */
INLINE void tile_across(const struct part *t, const int rows, const int vectors) {
    const int64_t ldc = t->ldc;
    float *c = t->c;
    vf acc[MR][NV];
    /* C is fetched in parts while k runs: all at once, it would keep A waiting. Lines have 16 floats; where they begin
     * to the left of the tile, the strip before has fetched the first. */
    const int64_t each = t->k / FETCHES;
    UNROLL for (int i = 0; i < rows; i++) UNROLL for (int v = 0; v < vectors; v++) acc[i][v] = (vf){0};
    ROLLED for (int f = 0; f < FETCHES; f++) {
        UNROLL for (int i = 0; i < (rows + FETCHES - 1) / FETCHES; i++)
            UNROLL for (int last = NR < 16 ? NR : 16; last <= vectors * VW; last += 16)
                __builtin_prefetch(c + (f + i * FETCHES) * ldc + last - 1, 1);
        tile_add_some(acc, rows, vectors, false, each, t->a + f * each, t->lda, t->b + f * each * NR, NR);
    }
    tile_add_some(acc, rows, vectors, false, t->k - FETCHES * each, t->a + FETCHES * each, t->lda,
                  t->b + FETCHES * each * NR, NR);
    const vf alpha = v_set(t->alpha);
    if (t->n < vectors * VW) {
        float cut[MR * NR];
        UNROLL for (int i = 0; i < rows; i++) UNROLL for (int v = 0; v < vectors; v++)
            v_store(cut + i * NR + v * VW, acc[i][v]);
        put_cut(t, cut, rows);
    } else if (t->add) {
        UNROLL for (int i = 0; i < rows; i++, c += ldc) UNROLL for (int v = 0; v < vectors; v++)
            v_store(c + v * VW, v_fma(alpha, acc[i][v], v_load(c + v * VW)));
    } else {
        const float *const start = t->bias ? t->bias : nothing;
        vf from[NV];
        UNROLL for (int v = 0; v < vectors; v++) from[v] = v_load(start + v * VW);
        UNROLL for (int i = 0; i < rows; i++, c += ldc) UNROLL for (int v = 0; v < vectors; v++)
            v_store(c + v * VW, v_fma(alpha, acc[i][v], from[v]));
    }
}

INLINE void tile(const struct part *t, const int rows) {
    if (t->n <= VW)
        tile_across(t, rows, 1);
    else
        tile_across(t, rows, NV);
}

#endif
