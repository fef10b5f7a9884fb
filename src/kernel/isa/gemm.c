/* The inner loops of the matrix products: B is packed into strips NR columns wide, along which the tiles of isa/tiles.h
 * run; few rows go without packing. Numbers of B that are stored in 16 bits become floats on the way into the strip or,
 * with few rows, into registers; everything after that is the same, bits included. */
#include "kernel/isa/tiles.h"

#define FEW       3    /* most rows for which B is not packed */
#define FEW_WIDTH 512  /* columns of them at a time */
#define PREFETCH  8192 /* floats of B beyond which it hardly fits L1 */

INLINE const char *address(const void *from, int64_t at, const enum stored type) {
    return (const char *)from + at * stored_size(type);
}

#if VW == 16
/* Transposes 16 rows of 8 numbers: out[c] is column c. */
INLINE void load_transposed_tall(vf out[8], const void *in, int64_t at, int64_t ldi, const enum stored type) {
    vf row[8];
    UNROLL for (int i = 0; i < 8; i++) row[i] =
        v_join(t_read(in, at + i * ldi, type), t_read(in, at + (i + 8) * ldi, type));
    transpose_tall(out, row);
}
#endif

INLINE void transpose(float *out, int64_t ldo, const void *in, int64_t ldi, int64_t rows, int64_t cols,
                      const enum stored type) {
    int64_t r = 0;
#if VW == 16
    for (; r + 16 <= rows; r += 16) {
        const void *const row = address(in, r * ldi, type);
        int64_t c = 0;
        for (; c + 8 <= cols; c += 8) {
            vf v[8];
            if (c % 16 == 0)
                UNROLL for (int i = 0; i < 16; i++)
                    __builtin_prefetch(address(row, (16 + i) * ldi + c, type)); /* next */
            load_transposed_tall(v, row, c, ldi, type);
            UNROLL for (int i = 0; i < 8; i++) v_store(out + (c + i) * ldo + r, v[i]);
        }
        for (; c < cols; c++)
            for (int64_t i = 0; i < 16; i++) out[c * ldo + r + i] = read_one(row, i * ldi + c, type);
    }
#endif
    for (; r + TW <= rows; r += TW) {
        const void *const row = address(in, r * ldi, type);
        int64_t c = 0;
        for (; c + TW <= cols; c += TW) {
            vt v[TW];
            UNROLL for (int i = 0; i < TW; i++) __builtin_prefetch(address(row, (TW + i) * ldi + c, type)); /* next */
            load_transposed(v, row, c, ldi, type);
            UNROLL for (int i = 0; i < TW; i++) memcpy(out + (c + i) * ldo + r, v + i, sizeof *v);
        }
        for (; c < cols; c++)
            for (int64_t i = 0; i < TW; i++) out[c * ldo + r + i] = read_one(row, i * ldi + c, type);
    }
    for (; r < rows; r++)
        for (int64_t c = 0; c < cols; c++) out[c * ldo + r] = read_one(in, r * ldi + c, type);
}

void ISA_NAME(gemm_transpose)(float *out, int64_t ldo, const float *in, int64_t ldi, int64_t rows, int64_t cols) {
    transpose(out, ldo, in, ldi, rows, cols, STORED_F32);
}

/* Up to NR columns of op(B) into a strip (k, NR), padded with zeros. */
INLINE void pack(float *strip, const void *b, int64_t ldb, bool trans_b, int64_t k, int64_t n, const enum stored type) {
    if (n < NR) memset(strip, 0, (size_t)(k * NR) * sizeof(float));
    if (trans_b) {
        transpose(strip, NR, b, ldb, n < NR ? n : NR, k, type);
    } else if (n >= NR) {
        for (int64_t p = 0; p < k; p++)
            UNROLL for (int v = 0; v < NV; v++) v_store(strip + p * NR + v * VW, v_read(b, p * ldb + v * VW, type));
    } else {
        for (int64_t p = 0; p < k; p++)
            for (int64_t c = 0; c < n; c++) strip[p * NR + c] = read_one(b, p * ldb + c, type);
    }
}

static void pack_strip(float *strip, const void *b, int64_t ldb, bool trans_b, int64_t k, int64_t n, enum stored type) {
    if (type == STORED_F32)
        pack(strip, b, ldb, trans_b, k, n, STORED_F32);
    else if (type == STORED_BF16)
        pack(strip, b, ldb, trans_b, k, n, STORED_BF16);
    else
        pack(strip, b, ldb, trans_b, k, n, STORED_F16);
}

void ISA_NAME(gemm_pack)(float *strips, const void *b, int64_t ldb, enum stored type, bool trans_b, int64_t k,
                         int64_t n) {
    const int64_t column = trans_b ? ldb : 1;
    for (int64_t j = 0; j < n; j += NR)
        pack_strip(strips + j * k, address(b, j * column, type), ldb, trans_b, k, n - j, type);
}

/* sums[i][j] += a[i][u] * b[u][j] for u = 0 .. count - 1, over n columns; b from element `at` on. The rows of B that
 * follow are fetched meanwhile: theirs are other pages, which the CPU does not guess. */
INLINE void add_rows(const int rows, const int count, float *sums, const float *a, int64_t lda, const void *b,
                     int64_t at, int64_t ldb, int64_t n, const enum stored type) {
    const int64_t line = 64 / stored_size(type);
    for (int64_t j = 0; j < n; j += VW) {
        if (count > 1 && j % line == 0)
            UNROLL for (int u = 0; u < count; u++) __builtin_prefetch(address(b, at + (count + u) * ldb + j, type));
        UNROLL for (int i = 0; i < rows; i++) {
            vf s = v_load(sums + i * FEW_WIDTH + j);
            UNROLL for (int u = 0; u < count; u++) s =
                v_fma(v_set(a[i * lda + u]), v_read(b, at + u * ldb + j, type), s);
            v_store(sums + i * FEW_WIDTH + j, s);
        }
    }
}

/* Few rows: B is read once and not worth packing. Stored (k,n), its rows are added to sums in L1, eight at
 * a time. n is a multiple of VW. */
INLINE void few_straight(const struct part *t, const int rows, int64_t n, const enum stored type) {
    for (int64_t j = 0; j < n; j += FEW_WIDTH) {
        const int64_t width = n - j < FEW_WIDTH ? n - j : FEW_WIDTH, k = t->k, lda = t->lda, ldb = t->ldb;
        float sums[FEW * FEW_WIDTH];
        for (int i = 0; i < rows; i++) memset(sums + i * FEW_WIDTH, 0, (size_t)width * sizeof(float));
        int64_t p = 0;
        for (; p + 8 <= k; p += 8) add_rows(rows, 8, sums, t->a + p, lda, t->raw, p * ldb + j, ldb, width, type);
        for (; p < k; p++) add_rows(rows, 1, sums, t->a + p, lda, t->raw, p * ldb + j, ldb, width, type);
        for (int i = 0; i < rows; i++) {
            float *const c = t->c + i * t->ldc + j;
            for (int64_t v = 0; v < width; v += VW) {
                const float *const start = t->add ? c + v : t->bias ? t->bias + j + v : nothing;
                v_store(c + v, v_fma(v_set(t->alpha), v_load(sums + i * FEW_WIDTH + v), v_load(start)));
            }
        }
    }
}

/* Transposes TW rows of 16 numbers. Pairs of bf16 are transposed as if each were one float: half the shuffles. */
INLINE void load_transposed_16(vt out[16], const void *in, int64_t at, int64_t ldi, const enum stored type) {
    typedef uint32_t bits __attribute__((vector_size(TW * 4)));
    if (type != STORED_BF16) {
        UNROLL for (int q = 0; q < 16; q += TW) load_transposed(out + q, in, at + q, ldi, type);
        return;
    }
    UNROLL for (int q = 0; q < 8; q += TW) {
        vt pair[TW];
        UNROLL for (int i = 0; i < TW; i++) memcpy(pair + i, address(in, at + i * ldi + 2 * q, type), sizeof *pair);
        transpose_rows(pair, pair);
        UNROLL for (int i = 0; i < TW; i++) {
            out[2 * (q + i)] = (vt)((bits)pair[i] << 16);
            out[2 * (q + i) + 1] = (vt)((bits)pair[i] & 0xffff0000u);
        }
    }
}

/* 16 steps of k: acc[i][g] += a[i][p + u] * b[u], u = 0 .. 15, for TW rows of B. */
INLINE void few_columns(const struct part *t, const int rows, vt acc[FEW][2], const int g, const void *b, int64_t p,
                        const enum stored type) {
    vt column[16];
    load_transposed_16(column, b, g * TW * t->ldb + p, t->ldb, type);
    UNROLL for (int u = 0; u < 16; u++) UNROLL for (int i = 0; i < rows; i++) acc[i][g] =
        t_fma(t_set(t->a[i * t->lda + p + u]), column[u], acc[i][g]);
}

/* Stored (n,k), groups * TW of B's rows run along k together and are transposed in registers, from column j of C on. */
INLINE void few_transposed(const struct part *t, const int rows, const int groups, int64_t j, const enum stored type) {
    const int64_t k = t->k, lda = t->lda, ldb = t->ldb;
    const float *const a = t->a;
    const void *const b = address(t->raw, j * ldb, type);
    /* what will be read then, of the next block of k after the last rows */
    const int64_t after = j + groups * TW;
    const void *const next = after < t->n ? address(t->raw, after * ldb, type) : address(t->raw, k, type);
    vt acc[FEW][2];
    UNROLL for (int i = 0; i < rows; i++) UNROLL for (int g = 0; g < groups; g++) acc[i][g] = (vt){0};
    int64_t p = 0;
    /* each row by whole lines of 64 bytes: where rows share cache sets, half a line would be evicted before the other
     * is read */
    const int line = (int)(64 / stored_size(type));
    ROLLED for (; p + line <= k; p += line) UNROLL for (int g = 0; g < groups; g++) {
        UNROLL for (int i = 0; i < TW; i++) __builtin_prefetch(address(next, (g * TW + i) * ldb + p, type));
        UNROLL for (int q = 0; q < line; q += 16) few_columns(t, rows, acc, g, b, p + q, type);
    }
    if (line > 16 && p + 16 <= k) {
        UNROLL for (int g = 0; g < groups; g++) few_columns(t, rows, acc, g, b, p, type);
        p += 16;
    }
    for (; p < k; p++) UNROLL for (int g = 0; g < groups; g++) {
            float column[TW];
            vt v;
            for (int l = 0; l < TW; l++) column[l] = read_one(b, (g * TW + l) * ldb + p, type);
            memcpy(&v, column, sizeof v);
            UNROLL for (int i = 0; i < rows; i++) acc[i][g] = t_fma(t_set(a[i * lda + p]), v, acc[i][g]);
        }
    UNROLL for (int i = 0; i < rows; i++) UNROLL for (int g = 0; g < groups; g++) {
        float *const c = t->c + i * t->ldc + j + g * TW;
        vt old;
        memcpy(&old, t->add ? c : t->bias ? t->bias + j + g * TW : nothing, sizeof old);
        acc[i][g] = t_fma(t_set(t->alpha), acc[i][g], old);
        memcpy(c, &acc[i][g], sizeof old);
    }
}

/* As many columns of few rows as can be done so; returns how many. */
INLINE int64_t few(const struct part *t, const int rows, const enum stored type) {
    if (!t->trans_b) {
        few_straight(t, rows, t->n - t->n % VW, type);
        return t->n - t->n % VW;
    }
    int64_t j = 0;
    for (; j + 2 * TW <= t->n; j += 2 * TW) few_transposed(t, rows, 2, j, type);
    if (j + TW <= t->n) few_transposed(t, rows, 1, j, type), j += TW;
    return j;
}

#define ROWS(rows)                                                                                                     \
    static void tile_##rows(const struct part *t) { tile(t, rows); }
#define FEW_ROWS(rows, type)                                                                                           \
    static int64_t few_##rows##_##type(const struct part *t) { return few(t, rows, STORED_##type); }
EACH_ROWS(ROWS)
FEW_ROWS(1, F32)
FEW_ROWS(2, F32)
FEW_ROWS(3, F32)
FEW_ROWS(1, BF16)
FEW_ROWS(2, BF16)
FEW_ROWS(3, BF16)
FEW_ROWS(1, F16)
FEW_ROWS(2, F16)
FEW_ROWS(3, F16)

static int64_t (*const fews[STORED_COUNT][FEW + 1])(const struct part *t) = {
    [STORED_F32] = {NULL, few_1_F32, few_2_F32, few_3_F32},
    [STORED_BF16] = {NULL, few_1_BF16, few_2_BF16, few_3_BF16},
    [STORED_F16] = {NULL, few_1_F16, few_2_F16, few_3_F16},
};
static void (*const tiles[MR + 1])(const struct part *t) = TILE_TABLE(tile);

/* Prefetches groups of eight lines of 64 bytes of the strip that will be packed next. */
INLINE void prefetch_next(const void *next, int64_t ldb, bool trans_b, int64_t from, int64_t to, enum stored type) {
    const int64_t row = ldb * stored_size(type);
    for (int64_t g = from; g < to; g++) {
        const char *line = (const char *)next + (trans_b ? g % (NR / 8) * 8 * row + g / (NR / 8) * 64 : g * 8 * row);
        UNROLL for (int i = 0; i < 8; i++) __builtin_prefetch(line + i * row);
    }
}

/* Rows of A that the next tile reads, into L2. */
INLINE void prefetch_rows(const float *a, int64_t lda, int64_t rows, int64_t k) {
    for (int64_t i = 0; i < rows; i++)
        for (int64_t p = 0; p < k; p += 16) __builtin_prefetch(a + i * lda + p, 0, 2);
}

void ISA_NAME(gemm_panel)(int64_t m, int64_t n, int64_t k, float alpha, const float *a, int64_t lda, const void *b,
                          int64_t ldb, enum stored type, bool trans_b, float *c, int64_t ldc, bool add,
                          const float *bias, float *strips, enum gemm_strips kept) {
    struct part t = {n, k, alpha, add, trans_b, a, NULL, b, lda, ldb, c, ldc, bias};
    const int64_t column = trans_b ? ldb : 1;
    int64_t j = 0;
    if (m <= FEW && kept == STRIPS_PASS) j = fews[type][m](&t);
    /* Rows are shared out evenly: 8 rows are 4 + 4, which is faster than 6 + 2. */
    const int64_t count = (m + MR - 1) / MR, rows = m / count, longer = m % count;
    const bool transposed = trans_b && kept != STRIPS_KEPT;
    const int64_t groups = transposed ? (k * stored_size(type) + 63) / 64 * (NR / 8) : (k + 7) / 8;
    const int64_t share = count < 8 || n * k <= PREFETCH ? 0 : (groups + count - 1) / count;
    bool first = true; /* of the strips: A comes from far away */
    for (; j < n; j += NR, first = false) {
        float *const strip = kept == STRIPS_PASS ? strips : strips + j * k;
        const void *const next =
            kept == STRIPS_KEPT ? (const void *)(strip + NR * k) : address(b, (j + NR) * column, type);
        if (kept != STRIPS_KEPT) pack_strip(strip, address(b, j * column, type), ldb, trans_b, k, n - j, type);
        t.b = strip;
        t.n = n - j, t.a = a, t.c = c + j, t.bias = bias ? bias + j : NULL;
        for (int64_t i = 0; i < count; i++) {
            const int64_t r = rows + (i < longer);
            if (i * share < groups) {
                if (kept == STRIPS_KEPT)
                    prefetch_next(next, NR, false, i * share, (i + 1) * share, STORED_F32);
                else
                    prefetch_next(next, ldb, transposed, i * share, (i + 1) * share, type);
            }
            if (first && i + 1 < count) prefetch_rows(t.a + r * lda, lda, rows, k);
            tiles[r](&t);
            t.a += r * lda, t.c += r * ldc;
        }
    }
}
