/* permute, transpose, expand, roll, flip, pad, slice, split, concat, stack: each op is told by a plain map from the
 * places of y to those of x, against which numbers of several types and gradients (stored, added, of strided inputs, on
 * several threads) are compared exactly. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "tensor/engine.h"
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state = 1;
static uint32_t random_bits(void) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33);
}
static int below(int n) { return (int)(random_bits() % (uint32_t)n); }
static float random_float(void) { return (float)(int)(random_bits() % 2001) / 64.0f - 15.0f; }

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

static int64_t product(int rank, const int64_t *shape) {
    int64_t n = 1;
    for (int i = 0; i < rank; i++) n *= shape[i];
    return n;
}

/* Coordinates of a place, and back. */
static void coords(int64_t place, int rank, const int64_t *shape, int64_t *at) {
    for (int i = rank; i-- > 0; place /= shape[i]) at[i] = place % shape[i];
}
static int64_t place_of(int rank, const int64_t *shape, const int64_t *at) {
    int64_t place = 0;
    for (int i = 0; i < rank; i++) place = place * shape[i] + at[i];
    return place;
}

/* ---- one op of one input ---- */

enum kind { PERMUTE, TRANSPOSE, EXPAND, ROLL, FLIP, PAD, SLICE, KINDS };

struct op {
    enum kind kind;
    int axes[8]; /* order, or one or two axes */
    int64_t shift, start, length;
    int64_t before[8], after[8];
    float value;
    int rank; /* of y */
    int64_t shape[8];
};

static heed_tensor *run_op(heed_ctx *cx, const struct op *o, heed_tensor *x) {
    switch (o->kind) {
    case PERMUTE:
        return heed_permute(cx, x, o->axes);
    case TRANSPOSE:
        return heed_transpose(cx, x, o->axes[0], o->axes[1]);
    case EXPAND:
        return heed_expand(cx, x, o->rank, o->shape);
    case ROLL:
        return heed_roll(cx, x, o->shift, o->axes[0]);
    case FLIP:
        return heed_flip(cx, x, o->axes[0]);
    case PAD:
        return heed_pad(cx, x, o->before, o->after, o->value);
    default:
        return heed_slice(cx, x, o->axes[0], o->start, o->length);
    }
}

static int front(int axis, int rank) { return axis < 0 ? axis + rank : axis; }

/* Where in x (rank, shape) the number of y at `at` comes from; -1: it is the value to pad with. */
static int64_t source(const struct op *o, int rank, const int64_t *shape, const int64_t *at) {
    int64_t from[8] = {0};
    const int axis = rank ? front(o->axes[0], rank) : 0;
    for (int i = 0; i < rank; i++) from[i] = o->kind == EXPAND ? at[i + o->rank - rank] : at[i];
    if (o->kind == PERMUTE)
        for (int i = 0; i < rank; i++) from[front(o->axes[i], rank)] = at[i];
    if (o->kind == TRANSPOSE && rank > 0) {
        const int other = front(o->axes[1], rank);
        from[axis] = at[other];
        from[other] = at[axis];
    }
    if (o->kind == EXPAND)
        for (int i = 0; i < rank; i++)
            if (shape[i] == 1) from[i] = 0;
    if (o->kind == ROLL) from[axis] = ((at[axis] - o->shift) % shape[axis] + shape[axis]) % shape[axis];
    if (o->kind == FLIP && rank > 0) from[axis] = shape[axis] - 1 - at[axis];
    if (o->kind == SLICE) from[axis] = at[axis] + o->start;
    if (o->kind == PAD)
        for (int i = 0; i < rank; i++) {
            from[i] = at[i] - o->before[i];
            if (from[i] < 0 || from[i] >= shape[i]) return -1;
        }
    return place_of(rank, shape, from);
}

static int64_t *map_of(const struct op *o, int rank, const int64_t *shape) {
    const int64_t n = product(o->rank, o->shape);
    int64_t *map = room(n, sizeof *map);
    for (int64_t i = 0; i < n; i++) {
        int64_t at[8];
        coords(i, o->rank, o->shape, at);
        map[i] = source(o, rank, shape, at);
    }
    return map;
}

static struct op random_op(enum kind kind, int rank, const int64_t *shape) {
    struct op o = {.kind = kind, .rank = rank, .value = (float)below(100)};
    memcpy(o.shape, shape, (size_t)rank * sizeof *shape);
    const int axis = rank ? below(rank) : 0;
    o.axes[0] = below(2) ? axis : axis - (rank ? rank : 1);
    if (kind == PERMUTE) {
        for (int i = 0; i < rank; i++) {
            const int j = below(i + 1);
            o.axes[i] = o.axes[j];
            o.axes[j] = i;
        }
        for (int i = 0; i < rank; i++) o.shape[i] = shape[o.axes[i]];
        for (int i = 0; i < rank; i++) o.axes[i] -= below(2) ? rank : 0;
    } else if (kind == TRANSPOSE) {
        const int other = rank ? below(rank) : 0;
        o.axes[1] = other;
        if (rank > 0) o.shape[axis] = shape[other], o.shape[other] = shape[axis];
    } else if (kind == EXPAND) {
        const int more = below(3);
        o.rank = rank + more;
        for (int i = 0; i < more; i++) o.shape[i] = below(4);
        for (int i = 0; i < rank; i++) o.shape[more + i] = shape[i] == 1 && below(2) ? below(6) : shape[i];
    } else if (kind == ROLL) {
        o.shift = below(21) - 10;
    } else if (kind == PAD) {
        for (int i = 0; i < rank; i++)
            o.before[i] = below(3), o.after[i] = below(3), o.shape[i] += o.before[i] + o.after[i];
    } else if (kind == SLICE) {
        o.start = below((int)shape[axis] + 1);
        o.length = o.shape[axis] = below((int)(shape[axis] - o.start) + 1);
    }
    return o;
}

/* ---- inputs: whole, or a part of a larger parent ---- */

struct input {
    int rank;
    int64_t shape[8], parent[8]; /* of x and of what it is a part of */
    int axis;                    /* cut along this one, from `start` on; -1: x is the parent */
    int64_t start, count, parent_count;
};

static struct input random_input(int rank, const int64_t *shape) {
    struct input in = {.rank = rank, .axis = -1};
    for (int i = 0; i < rank; i++) in.shape[i] = in.parent[i] = shape[i];
    if (rank > 0 && below(2)) {
        in.axis = below(2) ? rank - 1 : below(rank);
        in.start = below(3);
        in.parent[in.axis] += in.start + below(3);
    }
    in.count = product(rank, in.shape);
    in.parent_count = product(rank, in.parent);
    return in;
}

static heed_tensor *make_input(heed_ctx *cx, const struct input *in, heed_dtype dtype, const void *data,
                               heed_grad *grad) {
    heed_tensor *x = heed_borrow(cx, dtype, data, in->rank, in->parent, grad);
    return in->axis < 0 ? x : heed_slice(cx, x, in->axis, in->start, in->shape[in->axis]);
}

static int64_t in_parent(const struct input *in, int64_t place) {
    int64_t at[8];
    if (in->axis < 0) return place;
    coords(place, in->rank, in->shape, at);
    at[in->axis] += in->start;
    return place_of(in->rank, in->parent, at);
}

/* y's numbers are those of the parent that the map names, in any type. */
static void check_numbers(heed_ctx *cx, const struct op *o, const struct input *in, const int64_t *map,
                          heed_dtype dtype) {
    const size_t size = heed_dtype_size(dtype);
    const int32_t whole = (int32_t)o->value;
    struct op typed = *o;
    unsigned char *data = room(in->parent_count, size), value[8] = {0};
    if (dtype != HEED_F32 && dtype != HEED_I32 && dtype != HEED_U8) typed.value = 0;
    if (dtype == HEED_F32) memcpy(value, &o->value, 4);
    if (dtype == HEED_I32 || dtype == HEED_U8) memcpy(value, &whole, size);
    for (int64_t i = 0; i < in->parent_count * (int64_t)size; i++) data[i] = (unsigned char)random_bits();
    heed_tensor *y = run_op(cx, &typed, make_input(cx, in, dtype, data, NULL));
    assert_string_equal(heed_message(cx), "");
    assert_int_equal(y->rank, o->rank);
    assert_int_equal(y->dtype, dtype);
    for (int i = 0; i < o->rank; i++) assert_int_equal(y->shape[i], o->shape[i]);
    y = heed_contiguous(cx, y);
    for (int64_t i = 0; i < y->count; i++) {
        const void *want = map[i] < 0 ? value : data + (size_t)in_parent(in, map[i]) * size;
        if (memcmp(y->data + (size_t)i * size, want, size) != 0) fail_msg("op %d: place %d", (int)o->kind, (int)i);
    }
    heed_reset(cx);
    free(data);
}

/* The parent's gradient: what was there, or nothing, and every dy at the place the map names. */
static void check_gradient(heed_ctx *cx, const struct op *o, const struct input *in, const int64_t *map, bool add) {
    const int64_t n = product(o->rank, o->shape);
    float *x = room(in->parent_count, 4), *dx = room(in->parent_count, 4), *want = room(in->parent_count, 4);
    float *dy = room(n, 4);
    for (int64_t i = 0; i < in->parent_count; i++) {
        dx[i] = add ? random_float() : NAN;
        want[i] = add ? dx[i] : 0;
    }
    for (int64_t i = 0; i < n; i++) dy[i] = random_float();
    /* multiples of 1/64: sums of some hundreds are exact in any order */
    for (int64_t i = 0; i < n; i++)
        if (map[i] >= 0) want[in_parent(in, map[i])] += dy[i];
    heed_grad grad = {.data = dx, .filled = add};
    heed_tensor *y = run_op(cx, o, make_input(cx, in, HEED_F32, x, &grad));
    assert_true(heed_backward_from(cx, y, heed_borrow(cx, HEED_F32, dy, o->rank, o->shape, NULL)));
    assert_true(grad.filled);
    for (int64_t i = 0; i < in->parent_count; i++)
        if (!(dx[i] == want[i])) fail_msg("op %d: gradient %g, not %g", (int)o->kind, (double)dx[i], (double)want[i]);
    heed_reset(cx);
    free(x), free(dx), free(want), free(dy);
}

static void check(heed_ctx *cx, const struct op *o, const struct input *in) {
    static const heed_dtype types[] = {HEED_F32, HEED_I32, HEED_U8, HEED_BF16, HEED_I64};
    int64_t *map = map_of(o, in->rank, in->shape);
    check_numbers(cx, o, in, map, types[below(5)]);
    check_gradient(cx, o, in, map, below(2));
    free(map);
}

static void random_shapes(void **unused) {
    (void)unused;
    static const int64_t sizes[] = {0, 1, 2, 3, 5, 2, 3, 5, 3, 2};
    heed_ctx *cx = open_with(2);
    for (int trial = 0; trial < 2500; trial++) {
        const int rank = below(7);
        int64_t shape[8];
        for (int i = 0; i < rank; i++) shape[i] = sizes[below(10)];
        const enum kind kind = (enum kind)below(KINDS);
        if (rank == 0 && (kind == ROLL || kind == SLICE)) continue;
        const struct input in = random_input(rank, shape);
        const struct op o = random_op(kind, rank, shape);
        check(cx, &o, &in);
    }
    heed_close(cx);
}

/* Larger than one task, with sides that no tile divides. */
static void large(void **unused) {
    (void)unused;
    static const struct {
        struct op op;
        int rank;
        int64_t shape[8];
    } cases[] = {
        {{PERMUTE, .axes = {0, 2, 1, 3}, .rank = 4, .shape = {3, 6, 50, 64}}, 4, {3, 50, 6, 64}},
        {{PERMUTE, .axes = {0, 2, 1, 3}, .rank = 4, .shape = {3, 6, 600, 4}}, 4, {3, 600, 6, 4}},
        {{PERMUTE, .axes = {2, 1, 0}, .rank = 3, .shape = {65, 7, 131}}, 3, {131, 7, 65}},
        {{PERMUTE, .axes = {0, 2, 3, 1}, .rank = 4, .shape = {2, 31, 33, 19}}, 4, {2, 19, 31, 33}},
        {{PERMUTE, .axes = {3, 1, 2, 0}, .rank = 4, .shape = {9, 13, 17, 21}}, 4, {21, 13, 17, 9}},
        {{TRANSPOSE, .axes = {0, 1}, .rank = 2, .shape = {257, 300}}, 2, {300, 257}},
        {{TRANSPOSE, .axes = {0, 1}, .rank = 2, .shape = {3, 20000}}, 2, {20000, 3}},
        {{TRANSPOSE, .axes = {0, 1}, .rank = 2, .shape = {20000, 3}}, 2, {3, 20000}},
        {{EXPAND, .rank = 3, .shape = {40, 3, 500}}, 2, {1, 500}},
        {{EXPAND, .rank = 2, .shape = {129, 501}}, 2, {129, 1}},
        {{EXPAND, .rank = 2, .shape = {50000, 2}}, 2, {50000, 1}},
        {{ROLL, .axes = {1}, .shift = -77, .rank = 3, .shape = {5, 200, 63}}, 3, {5, 200, 63}},
        {{FLIP, .axes = {1}, .rank = 2, .shape = {3, 30001}}, 2, {3, 30001}},
        {{FLIP, .axes = {0}, .rank = 2, .shape = {301, 203}}, 2, {301, 203}},
        {{PAD, .before = {1, 0, 3}, .after = {0, 2, 4}, .value = 7, .rank = 3, .shape = {4, 102, 157}},
         3,
         {3, 100, 150}},
        {{SLICE, .axes = {1}, .start = 7, .length = 90, .rank = 3, .shape = {40, 90, 21}}, 3, {40, 100, 21}},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        for (int threads = 1; threads <= 8; threads = threads == 2 ? 8 : threads + 1) {
            heed_ctx *cx = open_with(threads);
            struct input in = {.rank = cases[k].rank, .axis = -1};
            memcpy(in.shape, cases[k].shape, sizeof in.shape);
            memcpy(in.parent, cases[k].shape, sizeof in.shape);
            in.parent[in.axis = in.rank - 1] += 3;
            in.start = 2;
            in.count = product(in.rank, in.shape);
            in.parent_count = product(in.rank, in.parent);
            check(cx, &cases[k].op, &in);
            in.axis = -1;
            in.parent[in.rank - 1] -= 3;
            in.parent_count = in.count;
            check(cx, &cases[k].op, &in);
            heed_close(cx);
        }
}

/* A view of (B,T,3,H,D) as attention makes it: sliced, reshaped so that runs span two axes, permuted. */
static void heads_of_fused(void **unused) {
    (void)unused;
    enum { B = 2, T = 5, H = 3, D = 4, C = H * D };
    float data[B * T * 3 * C];
    for (int i = 0; i < B * T * 3 * C; i++) data[i] = (float)i;
    heed_ctx *cx = open_with(1);
    heed_tensor *x = heed_borrow(cx, HEED_F32, data, 3, (int64_t[]){B, T, 3 * C}, NULL);
    heed_tensor *k = heed_slice(cx, x, 2, C, C);
    heed_tensor *y = heed_permute(cx, heed_reshape(cx, k, 4, (int64_t[]){B, T, H, D}), (int[]){0, 2, 1, 3});
    assert_non_null(y);
    for (int b = 0; b < B; b++)
        for (int h = 0; h < H; h++)
            for (int t = 0; t < T; t++)
                for (int d = 0; d < D; d++)
                    assert_true(heed_f32(y)[((b * H + h) * T + t) * D + d] ==
                                data[(b * T + t) * 3 * C + C + h * D + d]);
    /* runs of 12 end amid the axis of 10 (unevenly) and amid the one of 6 (evenly) */
    heed_tensor *odd = heed_transpose(cx, heed_reshape(cx, k, 2, (int64_t[]){12, 10}), 0, 1);
    heed_tensor *even = heed_transpose(cx, heed_reshape(cx, k, 2, (int64_t[]){10 * C / 24, 24}), 0, 1);
    assert_non_null(even);
    const float *flat = heed_f32(heed_contiguous(cx, k));
    for (int i = 0; i < 120; i++) {
        assert_true(heed_f32(odd)[i % 10 * 12 + i / 10] == flat[i]);
        assert_true(heed_f32(even)[i % 24 * 5 + i / 24] == flat[i]);
    }
    heed_close(cx);
}

/* Two uses of one tensor: the second contribution adds. */
static void used_twice(void **unused) {
    (void)unused;
    heed_ctx *cx = open_with(1);
    const float x[6] = {0}, dy[12] = {1, 2, 3, 4, 5, 6, 10, 20, 30, 40, 50, 60};
    const int64_t shape[] = {2, 3};
    heed_tensor *t = heed_want_grad(cx, heed_from_f32(cx, x, 2, shape));
    heed_tensor *a = heed_transpose(cx, heed_transpose(cx, t, 0, 1), 0, 1), *b = heed_flip(cx, t, 1);
    heed_tensor *y = heed_stack(cx, (heed_tensor *[]){a, b}, 2, 0);
    assert_true(heed_backward_from(cx, y, heed_from_f32(cx, dy, 3, (int64_t[]){2, 2, 3})));
    const float want[6] = {31, 22, 13, 64, 55, 46};
    assert_memory_equal(heed_f32(heed_grad_of(cx, t)), want, sizeof want);
    heed_reset(cx);

    t = heed_want_grad(cx, heed_from_f32(cx, x, 2, shape));
    y = heed_concat(cx, (heed_tensor *[]){t, t}, 2, 0);
    assert_true(heed_backward_from(cx, y, heed_from_f32(cx, dy, 2, (int64_t[]){4, 3})));
    const float sum[6] = {11, 22, 33, 44, 55, 66};
    assert_memory_equal(heed_f32(heed_grad_of(cx, t)), sum, sizeof sum);
    heed_close(cx);
}

/* Sums of many numbers: the same bits for any number of threads, and near the sum in double. */
static void expand_sums(void **unused) {
    (void)unused;
    enum { N = 700, C = 129 };
    float x[C] = {0}, dx[3][C], *dy = room((int64_t)N * C, 4);
    for (int64_t i = 0; i < N * C; i++) dy[i] = random_float() / 3;
    static const int threads[3] = {1, 2, 8};
    for (int k = 0; k < 3; k++) {
        heed_ctx *cx = open_with(threads[k]);
        heed_grad grad = {.data = dx[k]};
        heed_tensor *t = heed_borrow(cx, HEED_F32, x, 1, (int64_t[]){C}, &grad);
        heed_tensor *y = heed_expand(cx, t, 2, (int64_t[]){N, -1});
        assert_true(heed_backward_from(cx, y, heed_from_f32(cx, dy, 2, (int64_t[]){N, C})));
        assert_memory_equal(dx[k], dx[0], sizeof dx[0]);
        heed_close(cx);
    }
    for (int c = 0; c < C; c++) {
        double sum = 0;
        for (int i = 0; i < N; i++) sum += (double)dy[i * C + c];
        if (!(fabs(sum - (double)dx[0][c]) <= 1e-3)) fail_msg("column %d", c);
    }
    free(dy);
}

/* ---- concat, stack, split ---- */

/* One input of a join, and what its parent's gradient should become. */
struct joined {
    struct input in;
    float *data, *dx, *want;
    heed_grad grad;
    bool wants;
};

static struct joined random_joined(int rank, const int64_t *shape) {
    struct joined j = {.in = random_input(rank, shape), .wants = below(3) > 0};
    const int64_t n = j.in.parent_count;
    j.data = room(n, 4);
    j.dx = room(n, 4);
    j.want = room(n, 4);
    j.grad = (heed_grad){.data = j.dx, .filled = below(2)};
    for (int64_t i = 0; i < n; i++) {
        j.data[i] = random_float();
        j.dx[i] = j.grad.filled ? random_float() : NAN;
        j.want[i] = j.grad.filled ? j.dx[i] : 0;
    }
    return j;
}

/* Input i is columns [start, start + length) of y seen as (outer, total). */
static void check_join(heed_ctx *cx, bool stack, int n, int axis, int rank, const int64_t *shape, int widest) {
    struct joined *in = room(n, sizeof *in);
    heed_tensor **xs = room(n, sizeof *xs);
    int64_t inner = 1, size = 0, start = 0;
    for (int i = stack ? axis : axis + 1; i < rank; i++) inner *= shape[i];
    for (int i = 0; i < n; i++) {
        int64_t own[8];
        memcpy(own, shape, sizeof own);
        if (!stack) own[axis] = below(widest);
        size += stack ? 1 : own[axis];
        in[i] = random_joined(rank, own);
        in[i].wants |= i == 0;
        xs[i] = make_input(cx, &in[i].in, HEED_F32, in[i].data, in[i].wants ? &in[i].grad : NULL);
    }
    heed_tensor *y = (stack ? heed_stack : heed_concat)(cx, xs, n, below(2) ? axis : axis - rank - stack);
    assert_string_equal(heed_message(cx), "");
    assert_int_equal(y->rank, rank + stack);
    assert_int_equal(y->shape[axis], size);
    float *dy = room(y->count, 4);
    for (int64_t k = 0; k < y->count; k++) dy[k] = random_float();
    heed_tensor *upstream = heed_borrow(cx, HEED_F32, dy, y->rank, y->shape, NULL);
    assert_true(heed_backward_from(cx, heed_keep(cx, y), upstream));
    for (int i = 0; i < n; i++) {
        struct joined *j = &in[i];
        const int64_t length = (stack ? 1 : j->in.shape[axis]) * inner;
        for (int64_t k = 0; k < j->in.count; k++) {
            const int64_t at = k / length * size * inner + start + k % length, from = in_parent(&j->in, k);
            assert_true(heed_f32(y)[at] == j->data[from]);
            j->want[from] += dy[at];
        }
        if (j->wants) assert_memory_equal(j->dx, j->want, (size_t)j->in.parent_count * 4);
        start += length;
        free(j->data), free(j->dx), free(j->want);
    }
    free(dy), free(in), free(xs);
    heed_reset(cx);
}

static void joins(void **unused) {
    (void)unused;
    static const int64_t sizes[] = {1, 2, 3, 5};
    for (int threads = 1; threads <= 8; threads = threads == 2 ? 8 : threads + 1) {
        heed_ctx *cx = open_with(threads);
        for (int trial = 0; trial < 150; trial++) {
            const bool stack = below(2);
            const int rank = below(5) + !stack;
            int64_t shape[8] = {0};
            for (int i = 0; i < rank; i++) shape[i] = sizes[below(4)];
            check_join(cx, stack, 1 + below(5), below(rank + stack), rank, shape, 4);
        }
        check_join(cx, false, 300, 1, 2, (int64_t[8]){3, 1}, 4);
        check_join(cx, true, 300, 1, 1, (int64_t[8]){3}, 0);
        check_join(cx, false, 3, 1, 3, (int64_t[8]){20, 1, 65}, 200);
        check_join(cx, false, 3, 0, 2, (int64_t[8]){1, 700}, 200);
        check_join(cx, true, 2, 2, 2, (int64_t[8]){200, 301}, 0);
        heed_close(cx);
    }
}

static void joins_of_nothing(void **unused) {
    (void)unused;
    heed_ctx *cx = open_with(1);
    heed_tensor *none = heed_zeros(cx, HEED_F32, 1, (int64_t[]){0}), *x = heed_full(cx, 3, 2, (int64_t[]){2, 3});
    heed_tensor *y = heed_concat(cx, (heed_tensor *[]){none, x, none}, 3, 1);
    assert_string_equal(heed_shape_text(y).s, "(2,3)");
    assert_true(heed_f32(y)[5] == 3);
    assert_string_equal(heed_shape_text(heed_concat(cx, (heed_tensor *[]){none, none}, 2, 0)).s, "(0)");
    heed_tensor *flat = heed_zeros(cx, HEED_U8, 2, (int64_t[]){4, 0});
    assert_string_equal(heed_shape_text(heed_concat(cx, (heed_tensor *[]){flat, flat}, 2, 0)).s, "(8,0)");
    assert_string_equal(heed_shape_text(heed_stack(cx, (heed_tensor *[]){flat, flat}, 2, 1)).s, "(4,2,0)");
    heed_close(cx);
}

/* Runs that end amid the rows of a piece: x is (4,6) sliced to (4,3), seen as (2,6), and as (6,2) it is cut unevenly.
 */
static void joins_of_uneven_runs(void **unused) {
    (void)unused;
    float data[24];
    for (int i = 0; i < 24; i++) data[i] = (float)i;
    heed_ctx *cx = open_with(1);
    heed_tensor *x = heed_slice(cx, heed_borrow(cx, HEED_F32, data, 2, (int64_t[]){4, 6}, NULL), 1, 2, 3);
    static const int64_t shapes[][2] = {{2, 6}, {6, 2}, {12, 1}, {1, 12}, {3, 4}};
    for (int k = 0; k < 5; k++) {
        heed_tensor *t = heed_reshape(cx, x, 2, shapes[k]);
        heed_tensor *y = heed_concat(cx, (heed_tensor *[]){t, t}, 2, 1);
        assert_non_null(y);
        for (int64_t i = 0; i < 24; i++) {
            const int64_t n = shapes[k][1], from = i / (2 * n) * n + i % n;
            assert_true(heed_f32(y)[i] == data[from / 3 * 6 + 2 + from % 3]);
        }
    }
    heed_close(cx);
}

static void split_back(void **unused) {
    (void)unused;
    for (int threads = 1; threads <= 8; threads = threads == 2 ? 8 : threads + 1) {
        heed_ctx *cx = open_with(threads);
        enum { A = 30, N = 60, C = 33 };
        static const int64_t sizes[] = {25, 0, 35};
        float *x = room(A * N * C, 4), *dx = room(A * N * C, 4), *dy = room(A * 35 * C, 4);
        for (int i = 0; i < A * N * C; i++) dx[i] = NAN;
        for (int i = 0; i < A * 35 * C; i++) dy[i] = random_float();
        heed_grad grad = {.data = dx};
        heed_tensor *parts[3];
        assert_true(heed_split(cx, heed_borrow(cx, HEED_F32, x, 3, (int64_t[]){A, N, C}, &grad), 1, sizes, 3, parts));
        assert_true(heed_backward_from(cx, parts[2], heed_from_f32(cx, dy, 3, (int64_t[]){A, 35, C})));
        for (int i = 0; i < A * N * C; i++) {
            const int a = i / (N * C), n = i / C % N, c = i % C;
            assert_true(dx[i] == (n < 25 ? 0 : dy[(a * 35 + n - 25) * C + c]));
        }
        free(x), free(dx), free(dy);
        heed_close(cx);
    }
}

/* ---- wrong inputs ---- */

static void said(heed_ctx *cx, const heed_tensor *y, const char *sentence) {
    assert_null(y);
    assert_string_equal(heed_message(cx), sentence);
    heed_clear(cx);
}

static void wrong_inputs(void **unused) {
    (void)unused;
    heed_ctx *cx = open_with(1);
    const int64_t shape[] = {2, 3};
#define X heed_full(cx, 0, 2, shape)
#define I heed_zeros(cx, HEED_I32, 2, shape)
    said(cx, heed_permute(cx, NULL, NULL), "permute: input 0 is NULL");
    said(cx, heed_permute(cx, X, NULL), "permute: the axes are NULL");
    said(cx, heed_permute(cx, X, (int[]){0, 2}), "permute: axis 2 is out of range for shape (2,3)");
    said(cx, heed_permute(cx, X, (int[]){1, -1}), "permute: axis 1 of shape (2,3) appears twice in the order");
    said(cx, heed_transpose(cx, NULL, 0, 1), "transpose: input 0 is NULL");
    said(cx, heed_transpose(cx, X, 0, -3), "transpose: axis -3 is out of range for shape (2,3)");
    said(cx, heed_transpose(cx, heed_full(cx, 0, 0, NULL), 1, 0), "transpose: axis 1 is out of range for shape ()");
    said(cx, heed_expand(cx, X, 1, shape), "expand: (2,3) has more axes than the 1 asked for");
    said(cx, heed_expand(cx, X, 2, (int64_t[]){4, 3}), "expand: (2,3) cannot have size 4 in axis 0 of 2");
    said(cx, heed_expand(cx, X, 3, (int64_t[]){-1, 2, 3}), "expand: (2,3) cannot have size -1 in axis 0 of 3");
    said(cx, heed_expand(cx, X, 9, shape), "expand: rank 9 is not between 0 and 8, or the shape is NULL");
    said(cx, heed_expand(cx, X, 3, (int64_t[]){INT64_MAX, 2, 3}),
         "expand: shape (9223372036854775807,2,3) is too large");
    said(cx, heed_roll(cx, X, 1, 2), "roll: axis 2 is out of range for shape (2,3)");
    said(cx, heed_roll(cx, heed_full(cx, 0, 0, NULL), 1, 0), "roll: axis 0 is out of range for shape ()");
    said(cx, heed_flip(cx, X, -3), "flip: axis -3 is out of range for shape (2,3)");
    said(cx, heed_flip(cx, NULL, 0), "flip: input 0 is NULL");
    said(cx, heed_pad(cx, X, NULL, shape, 0), "pad: the amounts before are NULL");
    said(cx, heed_pad(cx, X, shape, NULL, 0), "pad: the amounts after are NULL");
    said(cx, heed_pad(cx, X, (int64_t[]){0, -1}, shape, 0),
         "pad: -1 before and 3 after axis 1 of shape (2,3): negative");
    said(cx, heed_pad(cx, X, (int64_t[]){INT64_MAX, 0}, shape, 0),
         "pad: 9223372036854775807 before and 2 after axis 0 of shape (2,3): too large");
    said(cx, heed_pad(cx, I, shape, shape, 0.5f), "pad: 0.5 is not a value to pad i32 with");
    said(cx, heed_pad(cx, I, shape, shape, NAN), "pad: nan is not a value to pad i32 with");
    said(cx, heed_pad(cx, heed_zeros(cx, HEED_U8, 2, shape), shape, shape, 256),
         "pad: 256 is not a value to pad u8 with");
    said(cx, heed_concat(cx, NULL, 2, 0), "concat: at least one input is needed");
    said(cx, heed_stack(cx, (heed_tensor *[]){NULL}, 0, 0), "stack: at least one input is needed");
    said(cx, heed_concat(cx, (heed_tensor *[]){X, NULL}, 2, 0), "concat: input 1 is NULL");
    said(cx, heed_concat(cx, (heed_tensor *[]){X, I}, 2, 0), "concat: input 1 is i32, not f32 as input 0");
    said(cx, heed_concat(cx, (heed_tensor *[]){X, X}, 2, 2), "concat: axis 2 is out of range for shape (2,3)");
    said(cx, heed_concat(cx, (heed_tensor *[]){heed_full(cx, 0, 0, NULL)}, 1, 0),
         "concat: axis 0 is out of range for shape ()");
    said(cx, heed_concat(cx, (heed_tensor *[]){X, heed_transpose(cx, X, 0, 1)}, 2, 0),
         "concat: input 1 of shape (3,2) does not join input 0 of shape (2,3) along axis 0");
    said(cx, heed_stack(cx, (heed_tensor *[]){X, I}, 2, 0), "stack: input 1 is i32, not f32 as input 0");
    said(cx, heed_stack(cx, (heed_tensor *[]){X, X}, 2, 3),
         "stack: axis 3 is out of range for shape (2,3) and a new axis");
    said(cx, heed_stack(cx, (heed_tensor *[]){X, heed_transpose(cx, X, 0, 1)}, 2, 0),
         "stack: input 1 of shape (3,2) differs from input 0 of shape (2,3)");
    said(cx, heed_stack(cx, (heed_tensor *[]){heed_full(cx, 0, 8, (int64_t[]){1, 1, 1, 1, 1, 1, 1, 1})}, 1, 0),
         "stack: shape (1,1,1,1,1,1,1,1) has no room for one more axis");
    heed_close(cx);
    assert_null(heed_permute(NULL, NULL, NULL));
    assert_null(heed_expand(NULL, NULL, 0, NULL));
    assert_null(heed_pad(NULL, NULL, NULL, NULL, 0));
    assert_null(heed_concat(NULL, NULL, 0, 0));
}

/* A dry context plans what a real one uses. */
static void dry(void **unused) {
    (void)unused;
    size_t peak[2];
    for (int k = 0; k < 2; k++) {
        heed_ctx *cx = heed_open(&(heed_config){.threads = 1, .dry = k == 1});
        heed_tensor *x = heed_want_grad(cx, heed_full(cx, 1, 3, (int64_t[]){20, 30, 10}));
        heed_tensor *y =
            heed_pad(cx, heed_permute(cx, x, (int[]){2, 0, 1}), (int64_t[]){1, 1, 1}, (int64_t[]){0, 0, 2}, 0);
        y = heed_concat(cx, (heed_tensor *[]){heed_flip(cx, y, 0), heed_roll(cx, y, 3, 1)}, 2, 1);
        y = heed_expand(cx, y, 4, (int64_t[]){2, -1, -1, -1});
        assert_true(heed_backward_from(cx, y, heed_zeros(cx, HEED_F32, 4, heed_shape(y))));
        peak[k] = heed_memory_use(cx).step_peak;
        heed_close(cx);
    }
    assert_int_equal(peak[0], peak[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_shapes),
        cmocka_unit_test(large),
        cmocka_unit_test(heads_of_fused),
        cmocka_unit_test(used_twice),
        cmocka_unit_test(expand_sums),
        cmocka_unit_test(joins),
        cmocka_unit_test(joins_of_nothing),
        cmocka_unit_test(joins_of_uneven_runs),
        cmocka_unit_test(split_back),
        cmocka_unit_test(wrong_inputs),
        cmocka_unit_test(dry),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
