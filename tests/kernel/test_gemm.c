/* Matrix products against plain loops in double, for every instruction set of this CPU, and the promise that bits do
 * not depend on threads, on the cut, on m or n, or on how the operands are stored.
 *
 * Matrices are allocated to the float, so that ASan sees any step outside; gaps between rows hold NaN, which would
 * spread if they were read for a result, and must still be there afterwards. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "heed/io.h"
#include "kernel/gemm.h"
#include "kernel/kernel_test.h"
#include "kernel/stored.h"
#include "kernel/twin.h"

void kernel_gemm_pack_isa(const struct isa *isa, struct pool *pool, const struct gemm_packed *p, float *strips);
void kernel_gemm_isa(const struct isa *isa, int64_t cache, struct pool *pool, const struct gemm *g,
                     const struct gemm_batch *batch);

static const struct isa *sets[4];
static int set_count;

struct matrix {
    int64_t rows, cols, ld;
    float *v; /* (rows - 1) * ld + cols floats */
};

static struct matrix matrix_new(int64_t rows, int64_t cols, int64_t gap) {
    struct matrix x = {.rows = rows, .cols = cols, .ld = cols + gap};
    const int64_t count = rows > 0 ? (rows - 1) * x.ld + cols : 0;
    x.v = malloc((size_t)count * sizeof(float));
    assert_true(x.v || count == 0);
    for (int64_t i = 0; i < count; i++) x.v[i] = i % x.ld < cols ? next_float() : NAN;
    return x;
}

static struct matrix matrix_copy(struct matrix x) {
    struct matrix y = matrix_new(x.rows, x.cols, x.ld - x.cols);
    if (x.rows > 0) memcpy(y.v, x.v, (size_t)((x.rows - 1) * x.ld + x.cols) * sizeof(float));
    return y;
}

static struct matrix matrix_transposed(struct matrix x, int64_t gap) {
    struct matrix y = matrix_new(x.cols, x.rows, gap);
    for (int64_t i = 0; i < x.rows; i++)
        for (int64_t k = 0; k < x.cols; k++) y.v[k * y.ld + i] = x.v[i * x.ld + k];
    return y;
}

static void same_bits(struct matrix x, struct matrix y) {
    for (int64_t i = 0; i < x.rows; i++)
        assert_memory_equal(x.v + i * x.ld, y.v + i * y.ld, (size_t)x.cols * sizeof(float));
}

static void gaps_are_nan(struct matrix x) {
    for (int64_t i = 0; i + 1 < x.rows; i++)
        for (int64_t k = x.cols; k < x.ld; k++) assert_true(isnan(x.v[i * x.ld + k]));
}

/* One product: a (m,k), b (k,n), c before it and c, pre after it. */
static void check_product(const struct gemm *g, struct matrix before) {
    const float *const gb = g->b;
    for (int64_t i = 0; i < g->m; i++)
        for (int64_t j = 0; j < g->n; j++) {
            double sum = 0, size = 0;
            for (int64_t k = 0; k < g->k; k++) {
                const double a = (double)(g->trans_a ? g->a[k * g->lda + i] : g->a[i * g->lda + k]);
                const double b = (double)(g->trans_b ? gb[j * g->ldb + k] : gb[k * g->ldb + j]);
                sum += a * b;
                size += fabs(a * b);
            }
            const double old = g->add ? (double)before.v[i * before.ld + j] : 0;
            const double bias = g->bias ? (double)g->bias[j] : 0;
            const double want = (double)g->alpha * sum + old + bias;
            const double room = 3e-6 * (fabs((double)g->alpha) * size + fabs(old) + fabs(bias)) + 1e-6;
            const double got = (double)g->c[i * g->ldc + j];
            if (g->pre) assert_true(fabs((double)g->pre[i * g->ldc + j] - want) <= room);
            assert_true(fabs(got - twin_act(g->act, want)) <= 1.2 * room + 1e-6 * fabs(got));
        }
}

static void random_product(const struct isa *isa, struct pool *pool, int64_t m, int64_t n, int64_t k) {
    const uint32_t dice = next_bits();
    struct gemm g = {.m = m, .n = n, .k = k, .trans_a = dice & 1, .trans_b = dice & 2, .alpha = 1.0f};
    g.add = (dice & 12) == 4;
    if (!g.add && (dice & 16)) g.act = (enum activation)below(ACT_COUNT);
    if ((dice & 96) == 32) g.alpha = next_float();
    const struct matrix a = g.trans_a ? matrix_new(k, m, below(4)) : matrix_new(m, k, below(4));
    const struct matrix b = g.trans_b ? matrix_new(n, k, below(4)) : matrix_new(k, n, below(4));
    const struct matrix c = matrix_new(m, n, below(4)), before = matrix_copy(c);
    const struct matrix bias = matrix_new(1, n, 0), pre = matrix_copy(c);
    if (dice & 128) g.bias = bias.v;
    if (dice & 256) g.pre = pre.v;
    g.a = a.v, g.lda = a.ld, g.b = b.v, g.ldb = b.ld, g.c = c.v, g.ldc = c.ld;
    kernel_gemm_isa(isa, 0, pool, &g, NULL);
    check_product(&g, before);
    gaps_are_nan(c);
    gaps_are_nan(pre);
    free(a.v), free(b.v), free(c.v), free(before.v), free(bias.v), free(pre.v);
}

static void against_plain_loops(void **unused) {
    (void)unused;
    const int64_t sizes[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 15, 16, 17, 24, 31, 32, 33, 47, 64, 65};
    const int64_t count = sizeof sizes / sizeof *sizes;
    for (int s = 0; s < set_count; s++) {
        for (int i = 0; i < 1200; i++)
            random_product(sets[s], i % 2 ? pools[i / 2 % POOLS] : NULL, sizes[below(count)], sizes[below(count)],
                           sizes[below(count)]);
        for (int i = 0; i < 12; i++) { /* several blocks of k, m and n */
            random_product(sets[s], pools[i % POOLS], below(20), below(60), 200 + below(900));
            random_product(sets[s], pools[i % POOLS], 250 + below(300), below(60), below(30));
            random_product(sets[s], pools[i % POOLS], below(12), 900 + below(1400), below(20));
        }
        for (int i = 0; i < 4; i++) { /* strips that are kept for more rows */
            struct pool *const pool = i % 2 ? pools[i / 2 % POOLS] : NULL;
            random_product(sets[s], pool, 385 + below(90), 500 + below(60), 60 + below(9));
            random_product(sets[s], pool, 385 + below(90), 1 + below(40), 257 + below(60));
        }
    }
}

static void product(const struct isa *isa, struct pool *pool, struct matrix a, bool trans_a, struct matrix b,
                    bool trans_b, struct matrix c, bool add) {
    const struct gemm g = {.m = c.rows,
                           .n = c.cols,
                           .k = trans_a ? a.rows : a.cols,
                           .a = a.v,
                           .lda = a.ld,
                           .trans_a = trans_a,
                           .b = b.v,
                           .ldb = b.ld,
                           .trans_b = trans_b,
                           .c = c.v,
                           .ldc = c.ld,
                           .add = add,
                           .alpha = 0.7f};
    kernel_gemm_isa(isa, 0, pool, &g, NULL);
}

static void same_bits_for_any_threads(void **unused) {
    (void)unused;
    const int64_t shapes[][3] = {{64, 64, 64},   {301, 190, 77}, {70, 1500, 300},
                                 {1, 3000, 129}, {600, 24, 520}, {900, 600, 40}};
    for (int s = 0; s < set_count; s++)
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
            for (int form = 0; form < 4; form++) {
                const int64_t m = shapes[i][0], n = shapes[i][1], k = shapes[i][2];
                const bool ta = form & 1, tb = form & 2;
                const struct matrix a = ta ? matrix_new(k, m, 1) : matrix_new(m, k, 1);
                const struct matrix b = tb ? matrix_new(n, k, 2) : matrix_new(k, n, 2);
                const struct matrix before = matrix_new(m, n, 0), want = matrix_copy(before);
                product(sets[s], NULL, a, ta, b, tb, want, form == 3);
                for (int p = 0; p < POOLS; p++) {
                    const struct matrix c = matrix_copy(before);
                    product(sets[s], pools[p], a, ta, b, tb, c, form == 3);
                    same_bits(c, want);
                    free(c.v);
                }
                free(a.v), free(b.v), free(before.v), free(want.v);
            }
}

/* An element of a product of any part of A's rows and B's columns, stored in any way, has the bits it has in the whole.
 */
static void same_bits_in_any_place(void **unused) {
    (void)unused;
    const int64_t m = 29, n = 150, ks[] = {1, 7, 64, 255, 256, 257, 700};
    for (int s = 0; s < set_count; s++)
        for (size_t i = 0; i < sizeof ks / sizeof *ks; i++) {
            const int64_t k = ks[i];
            const struct matrix a = matrix_new(m, k, 3), b = matrix_new(k, n, 0), whole = matrix_new(m, n, 0);
            const struct matrix at = matrix_transposed(a, 1), bt = matrix_transposed(b, 2);
            product(sets[s], NULL, a, false, b, false, whole, false);
            for (int trial = 0; trial < 60; trial++) {
                const bool ta = trial & 1, tb = trial & 2;
                const int64_t rows = 1 + below(trial < 30 ? 8 : m), cols = 1 + below(n);
                const int64_t m0 = below(m - rows + 1), n0 = below(n - cols + 1);
                struct matrix pa = ta ? at : a, pb = tb ? bt : b, want = whole;
                pa.v += ta ? m0 : m0 * a.ld;
                pb.v += tb ? n0 * bt.ld : n0;
                want.v += m0 * whole.ld + n0;
                const struct matrix c = matrix_new(rows, cols, 5);
                product(sets[s], pools[trial % POOLS], pa, ta, pb, tb, c, false);
                same_bits(c, want);
                free(c.v);
            }
            free(a.v), free(b.v), free(at.v), free(bt.v), free(whole.v);
        }
}

/* Block sizes follow from that of L2, and no bit does. */
static void same_bits_for_any_cache(void **unused) {
    (void)unused;
    const int64_t caches[] = {1, 64 << 10, 256 << 10, 512 << 10, 2 << 20, (int64_t)1 << 40};
    const int64_t shapes[][3] = {{800, 700, 260}, {2500, 40, 30}, {3, 2100, 300}, {120, 1100, 513}};
    for (int s = 0; s < set_count; s++)
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
            const int64_t m = shapes[i][0], n = shapes[i][1], k = shapes[i][2];
            const struct matrix a = matrix_new(m, k, 0), b = matrix_new(n, k, 0), bias = matrix_new(1, n, 0);
            struct matrix want = {0};
            for (size_t c = 0; c < sizeof caches / sizeof *caches; c++) {
                const struct matrix y = matrix_new(m, n, 0);
                const struct gemm g = {.m = m,
                                       .n = n,
                                       .k = k,
                                       .a = a.v,
                                       .lda = k,
                                       .b = b.v,
                                       .ldb = k,
                                       .trans_b = true,
                                       .c = y.v,
                                       .ldc = n,
                                       .alpha = 1,
                                       .bias = bias.v,
                                       .act = ACT_SILU};
                kernel_gemm_isa(sets[s], caches[c], pools[c % POOLS], &g, NULL);
                if (c == 0) {
                    want = y;
                    continue;
                }
                same_bits(y, want);
                free(y.v);
            }
            free(a.v), free(b.v), free(bias.v), free(want.v);
        }
}

/* ---- B in 16 bits ---- */

/* b rounded to `type`, stored as that; b becomes what they stand for. */
static uint16_t *stored(struct matrix b, enum stored type) {
    const int64_t count = b.rows > 0 ? (b.rows - 1) * b.ld + b.cols : 0;
    uint16_t *v = malloc((size_t)count * sizeof *v);
    assert_true(v || count == 0);
    for (int64_t i = 0; i < count; i++) {
        v[i] = type == STORED_BF16 ? heed_f32_to_bf16(b.v[i]) : heed_f32_to_f16(b.v[i]);
        b.v[i] = type == STORED_BF16 ? heed_bf16_to_f32(v[i]) : heed_f16_to_f32(v[i]);
    }
    return v;
}

/* A product with B in 16 bits has the bits of the product with the same numbers as floats. */
static void check_stored(const struct isa *isa, struct pool *pool, int64_t m, int64_t n, int64_t k, bool trans_b,
                         enum stored type) {
    const uint32_t dice = next_bits();
    const struct matrix a = matrix_new(m, k, below(4)), bias = matrix_new(1, n, 0);
    const struct matrix b = trans_b ? matrix_new(n, k, below(4)) : matrix_new(k, n, below(4));
    const struct matrix want = matrix_new(m, n, below(4)), c = matrix_copy(want);
    if (k > 2 && n > 0) {
        b.v[0] *= 1e-6f; /* f16 has it without a leading 1 */
        if (dice & 1) b.v[1] = dice & 2 ? INFINITY : -INFINITY;
    }
    uint16_t *const bits = stored(b, type);
    struct gemm g = {.m = m,
                     .n = n,
                     .k = k,
                     .a = a.v,
                     .lda = a.ld,
                     .b = b.v,
                     .ldb = b.ld,
                     .trans_b = trans_b,
                     .c = want.v,
                     .ldc = want.ld,
                     .alpha = 1,
                     .add = dice & 4,
                     .bias = dice & 8 ? bias.v : NULL,
                     .act = dice & 4    ? ACT_NONE
                            : dice & 16 ? ACT_GELU
                                        : ACT_NONE};
    kernel_gemm_isa(isa, 0, NULL, &g, NULL);
    g.b = bits, g.b_type = type, g.c = c.v;
    kernel_gemm_isa(isa, 0, pool, &g, NULL);
    same_bits(c, want);
    gaps_are_nan(c);
    free(a.v), free(b.v), free(bias.v), free(want.v), free(c.v), free(bits);
}

static void stored_in_16_bits(void **unused) {
    (void)unused;
    const int64_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 48, 64, 65, 300};
    const int64_t count = sizeof sizes / sizeof *sizes;
    for (int s = 0; s < set_count; s++)
        for (int type = STORED_BF16; type < STORED_COUNT; type++) {
            for (int i = 0; i < 600; i++)
                check_stored(sets[s], i % 2 ? pools[i / 2 % POOLS] : NULL, i % 3 ? 1 + below(4) : sizes[below(count)],
                             sizes[below(count)], sizes[below(count)], i & 1, (enum stored)type);
            check_stored(sets[s], pools[1], 500, 600, 260, true, (enum stored)type);
            check_stored(sets[s], pools[2], 500, 600, 260, false, (enum stored)type);
            check_stored(sets[s], pools[1], 1, 3000, 700, true, (enum stored)type);
        }
}

/* ---- B packed before ---- */

/* The same bits with strips of B, or of a matrix of which B is some columns. */
static void check_packed(const struct isa *isa, struct pool *pool, int64_t m, int64_t n, int64_t k, bool trans_b,
                         int64_t before, int64_t behind) {
    const int64_t all = before + n + behind;
    const struct matrix a = matrix_new(m, k, below(4)), bias = matrix_new(1, n, 0);
    const struct matrix b = trans_b ? matrix_new(all, k, below(4)) : matrix_new(k, all, below(4));
    const struct matrix want = matrix_new(m, n, below(4)), c = matrix_copy(want);
    struct gemm_packed packed = {.n = all, .k = k, .b = b.v, .ldb = b.ld, .trans_b = trans_b};
    float *const strips = malloc(kernel_gemm_packed_size(all, k) + 1);
    assert_non_null(strips);
    kernel_gemm_pack_isa(isa, pool, &packed, strips);
    packed.strips = strips;
    struct gemm g = {.m = m,
                     .n = n,
                     .k = k,
                     .a = a.v,
                     .lda = a.ld,
                     .b = b.v + before * (trans_b ? b.ld : 1),
                     .ldb = b.ld,
                     .trans_b = trans_b,
                     .c = want.v,
                     .ldc = want.ld,
                     .alpha = 1,
                     .bias = bias.v,
                     .act = ACT_GELU};
    kernel_gemm_isa(isa, 0, NULL, &g, NULL);
    /* a column that is in use may lie in no strip of its own: then B itself is read, else it is not */
    if (before % 32 == 0 && m >= 4)
        for (int64_t i = 0; i < (b.rows - 1) * b.ld + b.cols; i++) b.v[i] = NAN;
    g.packed = &packed, g.c = c.v;
    kernel_gemm_isa(isa, 0, pool, &g, NULL);
    same_bits(c, want);
    gaps_are_nan(c);
    free(a.v), free(b.v), free(bias.v), free(want.v), free(c.v), free(strips);
}

static void packed_before(void **unused) {
    (void)unused;
    const int64_t sizes[] = {1, 3, 4, 5, 8, 15, 16, 17, 31, 32, 33, 64, 65, 300};
    const int64_t count = sizeof sizes / sizeof *sizes, parts[] = {0, 0, 32, 64, 7};
    for (int s = 0; s < set_count; s++) {
        for (int i = 0; i < 600; i++)
            check_packed(sets[s], i % 2 ? pools[i / 2 % POOLS] : NULL, sizes[below(count)], sizes[below(count)],
                         sizes[below(count)], i & 1, parts[below(5)], parts[below(5)]);
        check_packed(sets[s], pools[1], 500, 2500, 700, true, 0, 0);
        check_packed(sets[s], pools[2], 16, 2500, 700, false, 32, 1);
    }
}

/* A batch steps by numbers, not by bytes. */
static void stored_batches(void **unused) {
    (void)unused;
    const struct matrix a = matrix_new(6, 20, 0), b = matrix_new(9, 20, 0), c = matrix_new(6, 3, 0),
                        want = matrix_copy(c);
    uint16_t *const bits = stored(b, STORED_BF16);
    struct gemm g = {.m = 2,
                     .n = 3,
                     .k = 20,
                     .a = a.v,
                     .lda = 20,
                     .b = b.v,
                     .ldb = 20,
                     .trans_b = true,
                     .c = want.v,
                     .ldc = 3,
                     .alpha = 1};
    const struct gemm_batch batch = {.axes = 1, .size = {3}, .a = {40}, .b = {60}, .c = {6}};
    kernel_gemm_batch(NULL, &g, &batch);
    g.b = bits, g.b_type = STORED_BF16, g.c = c.v;
    kernel_gemm_batch(NULL, &g, &batch);
    same_bits(c, want);
    free(a.v), free(b.v), free(c.v), free(want.v), free(bits);
}

/* All 65536 of each, against the conversion of single numbers; and back. */
static void every_number_of_16_bits(void **unused) {
    (void)unused;
    enum { COUNT = 65536 };
    uint16_t *const all = malloc(COUNT * sizeof *all), *const back = malloc(COUNT * sizeof *back);
    float *const y = malloc((COUNT + 3) * sizeof *y);
    assert_true(all && back && y);
    for (int i = 0; i < COUNT; i++) all[i] = (uint16_t)i;
    for (int s = 0; s < set_count; s++)
        for (int type = STORED_BF16; type < STORED_COUNT; type++)
            for (int n = COUNT - 17; n <= COUNT; n++) { /* with any rest after the whole vectors */
                y[n] = -7;
                sets[s]->widen(y, all + COUNT - n, n, (enum stored)type);
                assert_true(y[n] == -7);
                for (int i = 0; i < n; i++) {
                    const uint16_t bits = all[COUNT - n + i];
                    const float want = type == STORED_BF16 ? heed_bf16_to_f32(bits) : heed_f16_to_f32(bits);
                    if (isnan(want) ? !isnan(y[i]) : memcmp(&y[i], &want, sizeof want) != 0)
                        fail_msg("%s, type %d: %04x is %g, not %g", sets[s]->name, type, bits, (double)y[i],
                                 (double)want);
                }
            }
    for (int type = STORED_BF16; type < STORED_COUNT; type++) {
        kernel_widen(pools[2], (enum stored)type, y, all, COUNT);
        kernel_narrow(pools[2], (enum stored)type, back, y, COUNT);
        for (int i = 0; i < COUNT; i++) assert_true(isnan(y[i]) || back[i] == all[i]);
    }
    free(all), free(back), free(y);
}

/* Infinities and NaNs stay in the rows and columns they belong to, also where tiles are padded. */
static void infinities_stay_put(void **unused) {
    (void)unused;
    for (int s = 0; s < set_count; s++)
        for (int64_t n = 1; n < 70; n += 4) {
            const int64_t m = 11, k = 19;
            const struct matrix a = matrix_new(m, k, 0), b = matrix_new(n, k, 0), c = matrix_new(m, n, 0);
            a.v[3 * k + 2] = INFINITY;
            b.v[(n - 1) * k + 5] = NAN;
            product(sets[s], NULL, a, false, b, true, c, false);
            for (int64_t i = 0; i < m; i++)
                for (int64_t j = 0; j < n; j++) {
                    if (j == n - 1)
                        assert_true(isnan(c.v[i * n + j]));
                    else
                        assert_int_equal(isfinite(c.v[i * n + j]) != 0, i != 3);
                }
            free(a.v), free(b.v), free(c.v);
        }
}

/* A batch is its products one after the other; where one has been before, the next is added. */
static void check_batch(const struct isa *isa, struct pool *pool, const struct gemm *g, const struct gemm_batch *batch,
                        struct matrix c) {
    const struct matrix want = matrix_copy(c);
    int64_t total = 1;
    for (int i = 0; i < batch->axes; i++) total *= batch->size[i];
    char *seen = calloc((size_t)(c.rows * c.ld + 1), 1);
    assert_non_null(seen);
    for (int64_t index = 0; index < total; index++) {
        struct gemm one = *g;
        int64_t rest = index, at = 0;
        for (int i = batch->axes - 1; i >= 0; i--) {
            const int64_t x = rest % batch->size[i];
            rest /= batch->size[i];
            one.a += x * batch->a[i];
            one.b = (const float *)one.b + x * batch->b[i];
            at += x * batch->c[i];
        }
        one.c = want.v + at;
        one.add = g->add || seen[at];
        if (seen[at]) one.bias = NULL;
        seen[at] = 1;
        kernel_gemm_isa(isa, 0, NULL, &one, NULL);
    }
    kernel_gemm_isa(isa, 0, pool, g, batch);
    same_bits(c, want);
    free(want.v);
    free(seen);
}

static void batches(void **unused) {
    (void)unused;
    for (int s = 0; s < set_count; s++)
        for (int trial = 0; trial < 300; trial++) {
            struct gemm_batch batch = {.axes = (int)below(5)};
            const int64_t m = 1 + below(20), n = 1 + below(40), k = trial % 50 ? 1 + below(20) : 300;
            /* The axes of each operand run in nested order, some with stride 0; C's rows lie together or apart. */
            int64_t a = m * k, b = k * n, c = m * n;
            bool summed = false;
            for (int i = batch.axes - 1; i >= 0; i--) {
                const uint32_t dice = next_bits();
                batch.size[i] = 1 + below(4);
                if (trial % 37 == 0 && (dice & 112)) batch.size[i] = below(2);
                if (dice & 3) batch.a[i] = a, a *= batch.size[i];
                if (dice & 12) batch.b[i] = b, b *= batch.size[i];
                if (dice & 112) batch.c[i] = c, c *= batch.size[i];
                summed |= batch.c[i] == 0 && batch.size[i] > 1;
            }
            const struct matrix x = matrix_new(1, a, 0), y = matrix_new(1, b, 0), z = matrix_new(1, c, 0);
            const struct matrix bias = matrix_new(1, n, 0);
            const struct gemm g = {.m = m,
                                   .n = n,
                                   .k = k,
                                   .a = x.v,
                                   .trans_a = trial & 1,
                                   .lda = trial & 1 ? m : k,
                                   .b = y.v,
                                   .trans_b = trial & 2,
                                   .ldb = trial & 2 ? k : n,
                                   .c = z.v,
                                   .ldc = n,
                                   .add = trial & 4,
                                   .alpha = 0.5f,
                                   .bias = !summed && !(trial & 4) && (trial & 8) ? bias.v : NULL,
                                   .act = !summed && !(trial & 4) && (trial & 16) ? ACT_RELU : ACT_NONE};
            check_batch(sets[s], pools[trial % POOLS], &g, &batch, z);
            free(x.v), free(y.v), free(z.v), free(bias.v);
        }
}

/* The bias of a sum of products is added once. */
static void bias_of_a_sum(void **unused) {
    (void)unused;
    const float a[] = {1, 2, 3}, b[] = {10, 20, 30}, bias[] = {0.5f};
    float c[1] = {-1}, pre[1] = {-1};
    const struct gemm g = {.m = 1,
                           .n = 1,
                           .k = 1,
                           .a = a,
                           .lda = 1,
                           .b = b,
                           .ldb = 1,
                           .c = c,
                           .ldc = 1,
                           .alpha = 1,
                           .bias = bias,
                           .pre = pre};
    kernel_gemm_batch(NULL, &g, &(struct gemm_batch){.axes = 1, .size = {3}, .a = {1}, .b = {1}, .c = {0}});
    assert_true(c[0] == 140.5f && pre[0] == 140.5f);
    kernel_gemm_batch(NULL, &g, &(struct gemm_batch){.axes = 1, .size = {0}, .a = {1}, .b = {1}, .c = {0}});
    assert_true(c[0] == 0.5f);
}

static void empty_products(void **unused) {
    (void)unused;
    float c[6] = {1, 2, 3, 4, 5, 6};
    const float bias[] = {10, -20};
    struct gemm g = {.m = 3, .n = 2, .k = 0, .c = c, .ldc = 2, .alpha = 1, .add = true};
    kernel_gemm(NULL, &g); /* nothing is added; A and B have no address */
    assert_true(c[0] == 1 && c[5] == 6);
    g.bias = bias;
    kernel_gemm(NULL, &g);
    assert_true(c[0] == 11 && c[5] == -14);
    g.add = false, g.act = ACT_RELU;
    kernel_gemm(NULL, &g);
    assert_true(c[0] == 10 && c[1] == 0 && c[5] == 0);
    g = (struct gemm){.m = 0, .n = 2, .k = 5, .ldc = 2, .alpha = 1};
    kernel_gemm(NULL, &g);
    g = (struct gemm){.m = 2, .n = 0, .k = 5, .lda = 5, .alpha = 1};
    kernel_gemm(pools[1], &g);
    kernel_gemm_batch(pools[1], &g, &(struct gemm_batch){.axes = 1, .size = {0}});
}

static int set_up(void **unused) {
    set_count = isa_all(sets);
    return open_pools(unused);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(against_plain_loops),    cmocka_unit_test(same_bits_for_any_threads),
        cmocka_unit_test(same_bits_in_any_place), cmocka_unit_test(same_bits_for_any_cache),
        cmocka_unit_test(stored_in_16_bits),      cmocka_unit_test(packed_before),
        cmocka_unit_test(stored_batches),         cmocka_unit_test(every_number_of_16_bits),
        cmocka_unit_test(infinities_stay_put),    cmocka_unit_test(batches),
        cmocka_unit_test(bias_of_a_sum),          cmocka_unit_test(empty_products),
    };
    return cmocka_run_group_tests_name("gemm", tests, set_up, close_pools);
}
