/* The inner loops of the matrix products: B is packed into strips NR columns wide, along which the tiles of isa/tiles.h
 * run; few rows go without packing. */
#include "kernel/isa/tiles.h"

#define FEW        3    /* most rows for which B is not packed */
#define FEW_WIDTH  512  /* columns of them at a time */
#define LOOK_AHEAD 8192 /* floats of B beyond which it hardly lies in the first cache */

void ISA_NAME(gemm_transpose)(float *out, int64_t ldo, const float *in, int64_t ldi, int64_t rows, int64_t cols) {
    int64_t r = 0;
    for (; r + TW <= rows; r += TW) {
        const float *row = in + r * ldi;
        int64_t c = 0;
        for (; c + TW <= cols; c += TW) {
            vt v[TW];
            UNROLL for (int i = 0; i < TW; i++) __builtin_prefetch(row + (TW + i) * ldi + c); /* the next ones */
            turn(v, row + c, ldi);
            UNROLL for (int i = 0; i < TW; i++) memcpy(out + (c + i) * ldo + r, v + i, sizeof *v);
        }
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

/* sums[i][j] += a[i][u] * b[u][j] for u = 0 .. count - 1, over n columns. */
INLINE void add_rows(const int rows, const int count, float *sums, const float *a, int64_t lda, const float *b,
                     int64_t ldb, int64_t n) {
    for (int64_t j = 0; j < n; j += VW) UNROLL for (int i = 0; i < rows; i++) {
            vf s = v_load(sums + i * FEW_WIDTH + j);
            UNROLL for (int u = 0; u < count; u++) s = v_fma(v_set(a[i * lda + u]), v_load(b + u * ldb + j), s);
            v_store(sums + i * FEW_WIDTH + j, s);
        }
}

/* Few rows: B is read once and not worth packing. Stored (k,n), its rows are added to sums in the first cache, eight at
 * a time. n is a multiple of VW. */
INLINE void few_straight(const struct part *t, const int rows, int64_t n) {
    for (int64_t j = 0; j < n; j += FEW_WIDTH) {
        const int64_t width = n - j < FEW_WIDTH ? n - j : FEW_WIDTH, k = t->k, lda = t->lda, ldb = t->ldb;
        const float *b = t->b + j;
        float sums[FEW * FEW_WIDTH];
        for (int i = 0; i < rows; i++) memset(sums + i * FEW_WIDTH, 0, (size_t)width * sizeof(float));
        int64_t p = 0;
        for (; p + 8 <= k; p += 8) add_rows(rows, 8, sums, t->a + p, lda, b + p * ldb, ldb, width);
        for (; p < k; p++) add_rows(rows, 1, sums, t->a + p, lda, b + p * ldb, ldb, width);
        for (int i = 0; i < rows; i++) {
            float *const c = t->c + i * t->ldc + j;
            for (int64_t v = 0; v < width; v += VW) {
                const float *const start = t->add ? c + v : t->bias ? t->bias + j + v : nothing;
                v_store(c + v, v_fma(v_set(t->alpha), v_load(sums + i * FEW_WIDTH + v), v_load(start)));
            }
        }
    }
}

/* Stored (n,k), groups * TW of B's rows run along k together and are turned in registers, from column j of C on. */
INLINE void few_turned(const struct part *t, const int rows, const int groups, int64_t j) {
    const int64_t k = t->k, lda = t->lda, ldb = t->ldb;
    const float *const a = t->a, *const b = t->b + j * ldb;
    vt acc[FEW][2];
    UNROLL for (int i = 0; i < rows; i++) UNROLL for (int g = 0; g < groups; g++) acc[i][g] = (vt){0};
    int64_t p = 0;
    ROLLED for (; p + 16 <= k; p += 16) UNROLL for (int g = 0; g < groups; g++)
        UNROLL for (int q = 0; q < 16; q += TW) {
        vt column[TW];
        turn(column, b + g * TW * ldb + p + q, ldb);
        UNROLL for (int u = 0; u < TW; u++) UNROLL for (int i = 0; i < rows; i++) acc[i][g] =
            t_fma(t_set(a[i * lda + p + q + u]), column[u], acc[i][g]);
    }
    for (; p < k; p++) UNROLL for (int g = 0; g < groups; g++) {
            float column[TW];
            vt v;
            for (int l = 0; l < TW; l++) column[l] = b[(g * TW + l) * ldb + p];
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
INLINE int64_t few(const struct part *t, const int rows) {
    if (!t->trans_b) {
        few_straight(t, rows, t->n - t->n % VW);
        return t->n - t->n % VW;
    }
    int64_t j = 0;
    for (; j + 2 * TW <= t->n; j += 2 * TW) few_turned(t, rows, 2, j);
    if (j + TW <= t->n) few_turned(t, rows, 1, j), j += TW;
    return j;
}

#define ROWS(rows)                                                                                                     \
    static void tile_##rows(const struct part *t) { tile(t, rows); }
#define FEW_ROWS(rows)                                                                                                 \
    static int64_t few_##rows(const struct part *t) { return few(t, rows); }
EACH_ROWS(ROWS)
FEW_ROWS(1)
FEW_ROWS(2)
FEW_ROWS(3)

static int64_t (*const fews[FEW + 1])(const struct part *t) = {NULL, few_1, few_2, few_3};
static void (*const tiles[MR + 1])(const struct part *t) = TILE_TABLE(tile);

/* Draws groups of eight lines of the strip that will be packed next into the cache. */
INLINE void look_ahead(const float *next, int64_t ldb, bool trans_b, int64_t from, int64_t to) {
    for (int64_t g = from; g < to; g++) {
        const float *line = trans_b ? next + g % (NR / 8) * 8 * ldb + g / (NR / 8) * 16 : next + g * 8 * ldb;
        UNROLL for (int i = 0; i < 8; i++) __builtin_prefetch(line + i * ldb);
    }
}

void ISA_NAME(gemm_panel)(int64_t m, int64_t n, int64_t k, float alpha, const float *a, int64_t lda, const float *b,
                          int64_t ldb, bool trans_b, float *c, int64_t ldc, bool add, const float *bias, float *strips,
                          enum gemm_strips kept) {
    struct part t = {n, k, alpha, add, trans_b, a, b, lda, ldb, c, ldc, bias};
    const int64_t column = trans_b ? ldb : 1;
    int64_t j = 0;
    if (m <= FEW && kept == STRIPS_PASS) j = fews[m](&t);
    /* Rows are shared out evenly: 8 rows are 4 + 4, which is faster than 6 + 2. */
    const int64_t count = (m + MR - 1) / MR, rows = m / count, longer = m % count;
    const bool turned = trans_b && kept != STRIPS_KEPT;
    const int64_t groups = turned ? (k + 15) / 16 * (NR / 8) : (k + 7) / 8;
    const int64_t share = count < 8 || n * k <= LOOK_AHEAD ? 0 : (groups + count - 1) / count;
    for (; j < n; j += NR) {
        float *const strip = kept == STRIPS_PASS ? strips : strips + j * k;
        const float *const next = kept == STRIPS_KEPT ? strip + NR * k : b + (j + NR) * column;
        if (kept != STRIPS_KEPT) pack_strip(strip, b + j * column, ldb, trans_b, k, n - j);
        t.b = strip;
        t.n = n - j, t.a = a, t.c = c + j, t.bias = bias ? bias + j : NULL;
        for (int64_t i = 0; i < count; i++) {
            const int64_t r = rows + (i < longer);
            if (i * share < groups)
                look_ahead(next, kept == STRIPS_KEPT ? NR : ldb, turned, i * share, (i + 1) * share);
            tiles[r](&t);
            t.a += r * lda, t.c += r * ldc;
        }
    }
}
