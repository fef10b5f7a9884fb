/* embedding, index_select, gather, scatter_add against plain loops that add in order of position: the same bits, for
 * any number of threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "tensor/engine.h"
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state = 7;
static uint32_t random_bits(void) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33);
}
static int64_t below(int64_t n) { return (int64_t)(random_bits() % (uint64_t)n); }
static float random_float(void) { return (float)random_bits() / 0x1p30f - 1; }

static heed_ctx *open_with(int threads) {
    heed_ctx *cx = heed_open(&(heed_config){.threads = threads});
    assert_non_null(cx);
    assert_false(heed_failed(cx));
    return cx;
}

static void *room(int64_t n, size_t size) {
    void *p = calloc((size_t)n + 1, size);
    assert_non_null(p);
    return p;
}

static float *random_floats(int64_t n) {
    float *x = room(n, sizeof *x);
    for (int64_t i = 0; i < n; i++) x[i] = random_float();
    return x;
}

static int32_t *random_index(int64_t n, int64_t limit) {
    int32_t *index = room(n, sizeof *index);
    for (int64_t i = 0; i < n; i++) index[i] = (int32_t)(below(4) ? below(limit) : limit / 2); /* one of them often */
    return index;
}

static int64_t product(int rank, const int64_t *shape) {
    int64_t n = 1;
    for (int i = 0; i < rank; i++) n *= shape[i];
    return n;
}

static void same(const void *got, const void *want, int64_t n, size_t size) {
    assert_non_null(got);
    if (n > 0) assert_memory_equal(got, want, (size_t)n * size);
}

/* A gradient of n numbers that holds something already, or is yet to be filled; and a copy of it to add to. */
static heed_grad random_grad(int64_t n, bool filled, float **want) {
    heed_grad grad = {.data = random_floats(n), .filled = filled};
    *want = room(n, sizeof **want);
    for (int64_t i = 0; i < n; i++)
        if (filled)
            (*want)[i] = grad.data[i];
        else
            grad.data[i] = NAN;
    return grad;
}

/* ---- rows ---- */

static void check_rows(heed_ctx *cx, bool embedding, int64_t outer, int64_t n, int64_t inner, int64_t m, bool filled) {
    float *x = random_floats(outer * n * inner), *dy = random_floats(outer * m * inner), *want;
    float *y = room(outer * m * inner, sizeof *y);
    int32_t *index = random_index(m, n);
    heed_grad grad = random_grad(outer * n * inner, filled, &want);
    for (int64_t o = 0; o < outer; o++)
        for (int64_t j = 0; j < m; j++)
            for (int64_t k = 0; k < inner; k++) {
                const int64_t to = (o * m + j) * inner + k, from = (o * n + index[j]) * inner + k;
                y[to] = x[from];
                want[from] += dy[to];
            }
    const int64_t shape[] = {outer, n, inner};
    heed_tensor *t =
        embedding ? heed_borrow(cx, HEED_F32, x, 2, shape + 1, &grad) : heed_borrow(cx, HEED_F32, x, 3, shape, &grad);
    heed_tensor *i = heed_borrow(cx, HEED_I32, index, 1, &m, NULL);
    heed_tensor *out = embedding ? heed_embedding(cx, t, i) : heed_index_select(cx, t, 1, i);
    assert_string_equal(heed_message(cx), "");
    heed_keep(cx, out);
    assert_int_equal(out->count, outer * m * inner);
    assert_true(heed_backward_from(cx, out, heed_borrow(cx, HEED_F32, dy, out->rank, out->shape, NULL)));
    same(heed_f32(out), y, out->count, 4);
    same(grad.data, want, outer * n * inner, 4);
    heed_reset(cx);
    free(x), free(y), free(dy), free(want), free(index), free(grad.data);
}

static void rows(void **unused) {
    (void)unused;
    static const int64_t sizes[] = {0, 1, 2, 3, 5};
    heed_ctx *cx = open_with(2);
    for (int trial = 0; trial < 600; trial++) {
        const int64_t outer = sizes[below(5)], n = 1 + below(9), inner = below(3) ? sizes[below(5)] : 17 + below(300);
        const bool embedding = below(2);
        check_rows(cx, embedding, embedding ? 1 : outer, n, inner, below(20), below(2));
    }
    for (int64_t n = 255; n < 260; n++) check_rows(cx, true, 1, n, 3, 700, false); /* one digit of the sort, or two */
    check_rows(cx, true, 1, 70000, 2, 900, true);
    check_rows(cx, true, 1, 17000000, 1, 50, false);
    heed_close(cx);
}

static void large_rows(void **unused) {
    (void)unused;
    for (int threads = 1; threads <= 8; threads = threads == 2 ? 8 : threads + 1) {
        heed_ctx *cx = open_with(threads);
        check_rows(cx, true, 1, 500, 200, 1500, false);
        check_rows(cx, true, 1, 500, 200, 1500, true);
        check_rows(cx, true, 1, 3, 7, 30000, false);
        check_rows(cx, false, 1, 4, 40000, 5, false);
        check_rows(cx, false, 9000, 5, 1, 7, true);
        check_rows(cx, false, 70, 30, 20, 40, false);
        check_rows(cx, false, 1, 1000, 1, 70000, false);
        heed_close(cx);
    }
}

static void shapes_of_rows(void **unused) {
    (void)unused;
    heed_ctx *cx = open_with(1);
    heed_tensor *table = heed_full(cx, 2, 2, (int64_t[]){3, 4}), *scalar = heed_full(cx, 5, 0, NULL);
    heed_tensor *zero = heed_zeros(cx, HEED_I32, 0, NULL), *one = heed_zeros(cx, HEED_I32, 1, (int64_t[]){1});
    heed_tensor *none = heed_zeros(cx, HEED_I32, 2, (int64_t[]){0, 2});
    assert_string_equal(heed_shape_text(heed_embedding(cx, table, zero)).s, "(4)");
    assert_string_equal(heed_shape_text(heed_embedding(cx, table, none)).s, "(0,2,4)");
    assert_string_equal(heed_shape_text(heed_embedding(cx, heed_zeros(cx, HEED_F32, 2, (int64_t[]){0, 4}), none)).s,
                        "(0,2,4)");
    assert_string_equal(heed_shape_text(heed_index_select(cx, table, 1, zero)).s, "(3,1)");
    assert_string_equal(heed_shape_text(heed_index_select(cx, scalar, -1, one)).s, "()");
    assert_true(heed_item(cx, heed_index_select(cx, scalar, 0, one)) == 5);
    heed_close(cx);
}

/* Strided inputs, and numbers of every size. */
static void types(void **unused) {
    (void)unused;
    static const heed_dtype dtypes[] = {HEED_U8, HEED_BF16, HEED_I32, HEED_I64};
    static const int32_t index[] = {2, 0, 2, 1, 1, 0};
    unsigned char data[24 * 8];
    for (size_t i = 0; i < sizeof data; i++) data[i] = (unsigned char)random_bits();
    heed_ctx *cx = open_with(1);
    for (int k = 0; k < 4; k++) {
        const size_t size = heed_dtype_size(dtypes[k]);
        heed_tensor *x = heed_slice(cx, heed_borrow(cx, dtypes[k], data, 2, (int64_t[]){4, 6}, NULL), 1, 1, 3);
        heed_tensor *i = heed_slice(cx, heed_borrow(cx, HEED_I32, index, 2, (int64_t[]){2, 3}, NULL), 1, 0, 2);
        heed_tensor *picked = heed_gather(cx, x, 1, i);
        heed_tensor *columns = heed_index_select(cx, x, 1, heed_from_i32(cx, index, 1, (int64_t[]){3}));
        heed_tensor *lines = heed_index_select(cx, x, 0, heed_from_i32(cx, index, 1, (int64_t[]){3}));
        assert_string_equal(heed_message(cx), "");
        for (int r = 0; r < 2; r++)
            for (int c = 0; c < 2; c++)
                same(picked->data + (size_t)(r * 2 + c) * size, data + (size_t)(r * 6 + 1 + index[r * 3 + c]) * size, 1,
                     size);
        for (int r = 0; r < 4; r++)
            for (int c = 0; c < 3; c++)
                same(columns->data + (size_t)(r * 3 + c) * size, data + (size_t)(r * 6 + 1 + index[c]) * size, 1, size);
        for (int r = 0; r < 3; r++)
            same(lines->data + (size_t)r * 3 * size, data + (size_t)(index[r] * 6 + 1) * size, 3, size);
    }
    heed_close(cx);
}

/* ---- single numbers ---- */

struct pick {
    int rank, axis;
    int64_t x[8], index[8], src[8];
};

/* Where the index's place `at` lies in src, and in x when it holds i. */
static void places(const struct pick *p, int64_t at, int32_t i, int64_t *in_src, int64_t *in_x) {
    int64_t coord[8];
    for (int k = p->rank; k-- > 0; at /= p->index[k]) coord[k] = at % p->index[k];
    *in_src = *in_x = 0;
    for (int k = 0; k < p->rank; k++) {
        *in_src = *in_src * p->src[k] + coord[k];
        *in_x = *in_x * p->x[k] + (k == p->axis ? i : coord[k]);
    }
}

static void check_gather(heed_ctx *cx, const struct pick *p, const float *x, const int32_t *index, bool filled) {
    struct pick like_index = *p;
    const int64_t n = product(p->rank, p->index), nx = product(p->rank, p->x);
    float *dy = random_floats(n), *want;
    heed_grad grad = random_grad(nx, filled, &want);
    memcpy(like_index.src, p->index, sizeof p->index);
    heed_tensor *y =
        heed_gather(cx, heed_borrow(cx, HEED_F32, x, p->rank, p->x, &grad), p->axis - (filled ? p->rank : 0),
                    heed_borrow(cx, HEED_I32, index, p->rank, p->index, NULL));
    assert_string_equal(heed_message(cx), "");
    heed_keep(cx, y);
    assert_true(heed_backward_from(cx, y, heed_borrow(cx, HEED_F32, dy, y->rank, y->shape, NULL)));
    for (int64_t i = 0; i < n; i++) {
        int64_t at, from;
        places(&like_index, i, index[i], &at, &from);
        same(heed_f32(y) + i, x + from, 1, 4);
        want[from] += dy[i];
    }
    same(grad.data, want, nx, 4);
    heed_reset(cx);
    free(dy), free(want), free(grad.data);
}

static void check_scatter(heed_ctx *cx, const struct pick *p, const float *x, const int32_t *index, bool filled) {
    const int64_t n = product(p->rank, p->index), nx = product(p->rank, p->x), ns = product(p->rank, p->src);
    float *src = random_floats(ns), *dy = random_floats(nx), *want = room(nx, 4), *dx, *dsrc;
    heed_grad of_x = random_grad(nx, filled, &dx), of_src = random_grad(ns, filled, &dsrc);
    heed_tensor *y = heed_scatter_add(cx, heed_borrow(cx, HEED_F32, x, p->rank, p->x, &of_x), p->axis,
                                      heed_borrow(cx, HEED_I32, index, p->rank, p->index, NULL),
                                      heed_borrow(cx, HEED_F32, src, p->rank, p->src, &of_src));
    assert_string_equal(heed_message(cx), "");
    heed_keep(cx, y);
    assert_true(heed_backward_from(cx, y, heed_borrow(cx, HEED_F32, dy, p->rank, p->x, NULL)));
    memcpy(want, x, (size_t)nx * 4);
    for (int64_t i = 0; i < nx; i++) dx[i] += dy[i];
    for (int64_t i = 0; i < n; i++) {
        int64_t from, to;
        places(p, i, index[i], &from, &to);
        want[to] += src[from];
        dsrc[from] += dy[to];
    }
    same(heed_f32(y), want, nx, 4);
    same(of_x.data, dx, nx, 4);
    same(of_src.data, dsrc, ns, 4);
    heed_reset(cx);
    free(src), free(dy), free(want), free(dx), free(dsrc), free(of_x.data), free(of_src.data);
}

static void check_pick(heed_ctx *cx, const struct pick *p) {
    float *x = random_floats(product(p->rank, p->x));
    int32_t *index = random_index(product(p->rank, p->index), p->x[p->axis]);
    check_gather(cx, p, x, index, below(2));
    check_scatter(cx, p, x, index, below(2));
    free(x), free(index);
}

static void picks(void **unused) {
    (void)unused;
    static const int64_t sizes[] = {0, 1, 2, 3, 5, 3, 2, 5, 1, 2};
    heed_ctx *cx = open_with(2);
    for (int trial = 0; trial < 1500; trial++) {
        struct pick p = {.rank = 1 + (int)below(6)};
        p.axis = (int)below(p.rank);
        for (int i = 0; i < p.rank; i++) {
            p.x[i] = sizes[below(10)];
            p.index[i] = below(2) ? p.x[i] : below(p.x[i] + 1);
            if (i == p.axis) p.index[i] = p.x[i] > 0 ? below(8) : 0;
            p.src[i] = p.index[i] + (below(4) ? 0 : below(3));
        }
        check_pick(cx, &p);
    }
    heed_close(cx);
}

static void large_picks(void **unused) {
    (void)unused;
    static const struct pick cases[] = {
        {1, 0, {1000}, {90000}, {90001}},
        {2, 1, {40000, 9}, {40000, 1}, {40000, 1}},
        {2, 1, {300, 150}, {290, 200}, {300, 200}},
        {2, 0, {70, 100}, {900, 100}, {900, 103}},
        {3, 1, {5, 20, 300}, {5, 50, 299}, {6, 50, 300}},
        {3, 0, {20, 30, 70}, {40, 30, 70}, {40, 30, 70}},
        {4, 2, {3, 41, 11, 5}, {2, 40, 100, 5}, {3, 40, 100, 6}},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        for (int threads = 1; threads <= 8; threads = threads == 2 ? 8 : threads + 1) {
            heed_ctx *cx = open_with(threads);
            check_pick(cx, &cases[k]);
            heed_close(cx);
        }
}

static void scalars(void **unused) {
    (void)unused;
    heed_ctx *cx = open_with(1);
    heed_tensor *x = heed_full(cx, 3, 0, NULL), *zero = heed_zeros(cx, HEED_I32, 0, NULL);
    heed_tensor *zeros = heed_zeros(cx, HEED_I32, 1, (int64_t[]){2});
    heed_tensor *src = heed_from_f32(cx, (float[]){1, 2}, 1, (int64_t[]){2});
    assert_true(heed_item(cx, heed_gather(cx, x, -1, zero)) == 3);
    assert_string_equal(heed_shape_text(heed_gather(cx, x, 0, zeros)).s, "(2)");
    assert_true(heed_item(cx, heed_gather(cx, src, 0, zero)) == 1);
    heed_tensor *sum = heed_scatter_add(cx, x, 0, zeros, src);
    assert_string_equal(heed_shape_text(sum).s, "()");
    assert_true(heed_item(cx, sum) == 6);
    heed_close(cx);
}

/* ---- wrong inputs ---- */

static void said(heed_ctx *cx, const heed_tensor *y, const char *sentence) {
    assert_null(y);
    assert_string_equal(heed_message(cx), sentence);
    heed_clear(cx);
}

static void wrong_inputs(void **unused) {
    (void)unused;
    heed_ctx *cx = open_with(2);
    const int64_t shape[] = {3, 4}, turned[] = {4, 3};
    static const int32_t ids[] = {0, 2, 1, 3, -1, 2};
#define X       heed_full(cx, 0, 2, shape)
#define I(n)    heed_from_i32(cx, ids, 1, (int64_t[]){n})
#define II(s)   heed_zeros(cx, HEED_I32, 2, s)
#define BAD(at) heed_from_i32(cx, ids + at, 2, (int64_t[]){1, 2})
    said(cx, heed_embedding(cx, NULL, I(3)), "embedding: input 0 is NULL");
    said(cx, heed_embedding(cx, X, NULL), "embedding: input 1 is NULL");
    said(cx, heed_embedding(cx, X, X), "embedding: input 1 is f32, not i32");
    said(cx, heed_embedding(cx, II(shape), I(3)), "embedding: input 0 is i32, not f32, bf16 or f16");
    said(cx, heed_embedding(cx, heed_full(cx, 0, 1, shape), I(3)), "embedding: a table of shape (3) is not (V,C)");
    said(cx, heed_embedding(cx, X, heed_zeros(cx, HEED_I32, 8, (int64_t[]){1, 1, 1, 1, 1, 1, 1, 1})),
         "embedding: ids of shape (1,1,1,1,1,1,1,1) leave no room for one more axis");
    said(cx, heed_embedding(cx, X, I(6)), "embedding: id 3 at place 3 is not below 3");
    said(cx, heed_embedding(cx, X, BAD(4)), "embedding: id -1 at place 0 is negative");
    said(cx, heed_index_select(cx, X, 2, I(3)), "index_select: axis 2 is out of range for shape (3,4)");
    said(cx, heed_index_select(cx, X, 0, II(shape)), "index_select: an index of shape (3,4) is not one row");
    said(cx, heed_index_select(cx, X, 0, X), "index_select: input 1 is f32, not i32");
    said(cx, heed_index_select(cx, heed_full(cx, 0, 0, NULL), 0, I(3)),
         "index_select: an index of shape (3) for a scalar");
    said(cx, heed_index_select(cx, X, 0, I(4)), "index_select: index 3 at place 3 is not below 3");
    said(cx, heed_index_select(cx, X, 1, I(6)), "index_select: index -1 at place 4 is negative");
    said(cx, heed_gather(cx, X, -3, II(shape)), "gather: axis -3 is out of range for shape (3,4)");
    said(cx, heed_gather(cx, X, 0, X), "gather: input 1 is f32, not i32");
    said(cx, heed_gather(cx, X, 0, I(3)), "gather: an index of shape (3) does not lie within (3,4) beside axis 0");
    said(cx, heed_gather(cx, X, 1, II(turned)),
         "gather: an index of shape (4,3) does not lie within (3,4) beside axis 1");
    said(cx, heed_gather(cx, X, 0, BAD(2)), "gather: index 3 at place 1 is not below 3");
    said(cx, heed_scatter_add(cx, X, 0, II(shape), NULL), "scatter_add: input 2 is NULL");
    said(cx, heed_scatter_add(cx, X, 2, II(shape), X), "scatter_add: axis 2 is out of range for shape (3,4)");
    said(cx, heed_scatter_add(cx, X, 0, II(shape), II(shape)), "scatter_add: input 2 is i32, not f32");
    said(cx, heed_scatter_add(cx, II(shape), 0, II(shape), X), "scatter_add: input 0 is i32, not f32");
    said(cx, heed_scatter_add(cx, X, 1, II(turned), X),
         "scatter_add: an index of shape (4,3) does not lie within (3,4) beside axis 1");
    said(cx, heed_scatter_add(cx, X, 0, heed_zeros(cx, HEED_I32, 2, (int64_t[]){4, 4}), X),
         "scatter_add: an index of shape (4,4) does not lie within the source's (3,4)");
    said(cx, heed_scatter_add(cx, X, 0, BAD(4), X), "scatter_add: index -1 at place 0 is negative");

    /* of several bad ones, in several tasks, the lowest is named */
    const int64_t many = 200000;
    int32_t *index = room(many, sizeof *index);
    index[70001] = 9;
    index[70002] = -5;
    index[199999] = index[150000] = 3;
    for (int trial = 0; trial < 20; trial++)
        said(cx, heed_embedding(cx, X, heed_borrow(cx, HEED_I32, index, 1, &many, NULL)),
             "embedding: id 9 at place 70001 is not below 3");
    free(index);
    heed_close(cx);
    assert_null(heed_embedding(NULL, NULL, NULL));
    assert_null(heed_gather(NULL, NULL, 0, NULL));
}

/* A dry context plans what a real one uses, and never looks at the indices. */
static void dry(void **unused) {
    (void)unused;
    size_t peak[2];
    for (int k = 0; k < 2; k++) {
        heed_ctx *cx = heed_open(&(heed_config){.threads = 1, .dry = k == 1});
        heed_tensor *table = heed_want_grad(cx, heed_full(cx, 1, 2, (int64_t[]){50, 20}));
        heed_tensor *index = heed_zeros(cx, HEED_I32, 2, (int64_t[]){30, 20});
        heed_tensor *y = heed_embedding(cx, table, heed_zeros(cx, HEED_I32, 1, (int64_t[]){30}));
        y = heed_scatter_add(cx, heed_gather(cx, y, 0, index), 0, index, y);
        y = heed_index_select(cx, y, 1, heed_zeros(cx, HEED_I32, 1, (int64_t[]){3}));
        assert_true(heed_backward_from(cx, y, heed_zeros(cx, HEED_F32, 2, heed_shape(y))));
        peak[k] = heed_memory_use(cx).step_peak;
        heed_close(cx);
    }
    assert_int_equal(peak[0], peak[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows),    cmocka_unit_test(large_rows),   cmocka_unit_test(shapes_of_rows),
        cmocka_unit_test(types),   cmocka_unit_test(picks),        cmocka_unit_test(large_picks),
        cmocka_unit_test(scalars), cmocka_unit_test(wrong_inputs), cmocka_unit_test(dry),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
