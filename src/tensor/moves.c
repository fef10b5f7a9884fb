/* Boxes of tensors, for the ops that only move numbers. */
#include "tensor/moves.h"

const char move_zero[8] __attribute__((aligned(8))) = {0};

void steps_of(int rank, const int64_t *shape, int64_t *step) {
    int64_t next = 1;
    for (int i = rank; i-- > 0; next *= shape[i]) step[i] = next;
}

void steps_around(const heed_tensor *t, int axis, int64_t *outer, int64_t *inner) {
    *outer = *inner = 1;
    for (int i = 0; i < axis; i++) *outer *= t->shape[i];
    for (int i = axis + 1; i < t->rank; i++) *inner *= t->shape[i];
}

/* ---- strided sources ---- */

/* Runs are whole multiples of this axis's step, or it of them, and a run ends with the axis or a part of it. */
static bool axis_evenly(const heed_tensor *x, int64_t n, int64_t step) {
    if (step % x->run == 0 || x->run % (step * n) == 0) return true;
    return x->run % step == 0 && n % (x->run / step) == 0;
}

bool moves_evenly(const heed_tensor *x, int rank, const int64_t *shape) {
    int64_t step = 1;
    if (is_contiguous(x)) return true;
    for (int i = rank; i-- > 0; step *= shape[i])
        if (!axis_evenly(x, shape[i], step)) return false;
    return true;
}

void move_axis_of(struct move *m, const heed_tensor *x, int64_t n, int64_t to, int64_t step) {
    if (is_contiguous(x) || x->run % (step * n) == 0) {
        move_axis(m, n, to, step);
    } else if (step % x->run == 0) {
        move_axis(m, n, to, step / x->run * x->stride);
    } else {
        const int64_t within = x->run / step;
        move_axis(m, n / within, to * within, x->stride);
        move_axis(m, within, to, step);
    }
}

heed_tensor *movable(heed_ctx *cx, heed_tensor *x) {
    return !x || heed_failed(cx) || moves_evenly(x, x->rank, x->shape) ? x : heed_contiguous(cx, x);
}

/* ---- boxes ---- */

struct box box_along(const heed_tensor *whole, int axis, int64_t start, int64_t length) {
    int64_t outer, inner;
    steps_around(whole, axis, &outer, &inner);
    return (struct box){.size = heed_dtype_size(whole->dtype),
                        .rank = 3,
                        .whole = {outer, whole->shape[axis], inner},
                        .before = {0, start, 0},
                        .shape = {outer, length, inner}};
}

static char *box_begin(const struct box *b, const void *whole, const int64_t *step) {
    int64_t at = 0;
    for (int i = 0; i < b->rank; i++) at += b->before[i] * step[i];
    return (char *)(uintptr_t)whole + at * (int64_t)b->size;
}

void box_put(struct pool *pool, const struct box *b, void *whole, const void *from, const heed_tensor *x, bool add) {
    int64_t to_step[HEED_MAX_RANK], from_step[HEED_MAX_RANK];
    struct move m = {.size = b->size, .add = add};
    steps_of(b->rank, b->whole, to_step);
    steps_of(b->rank, b->shape, from_step);
    for (int i = 0; i < b->rank; i++) {
        if (b->shape[i] == 0) return;
        if (x)
            move_axis_of(&m, x, b->shape[i], to_step[i], from_step[i]);
        else
            move_axis(&m, b->shape[i], to_step[i], from_step[i]);
    }
    kernel_move(pool, &m, box_begin(b, whole, to_step), from);
}

void box_get(struct pool *pool, const struct box *b, void *to, const void *whole, bool add) {
    int64_t to_step[HEED_MAX_RANK], from_step[HEED_MAX_RANK];
    struct move m = {.size = b->size, .add = add};
    steps_of(b->rank, b->shape, to_step);
    steps_of(b->rank, b->whole, from_step);
    for (int i = 0; i < b->rank; i++) move_axis(&m, b->shape[i], to_step[i], from_step[i]);
    kernel_move(pool, &m, to, box_begin(b, whole, from_step));
}

void box_fill(struct pool *pool, const struct box *b, void *whole, const void *value) {
    int64_t step[HEED_MAX_RANK];
    struct move m = {.size = b->size};
    steps_of(b->rank, b->whole, step);
    for (int i = 0; i < b->rank; i++) move_axis(&m, b->shape[i], step[i], 0);
    kernel_move(pool, &m, box_begin(b, whole, step), value);
}

/* What is not in the box lies before or after it along a first axis: within the box along the axes before that one,
 * anywhere along those after it. */
void box_fill_around(struct pool *pool, const struct box *b, void *whole, const void *value) {
    struct box side = *b;
    for (int i = b->rank; i-- > 0;) {
        side.before[i] = 0;
        side.shape[i] = b->before[i];
        box_fill(pool, &side, whole, value);
        side.before[i] = b->before[i] + b->shape[i];
        side.shape[i] = b->whole[i] - side.before[i];
        box_fill(pool, &side, whole, value);
        side.before[i] = 0;
        side.shape[i] = b->whole[i];
    }
}
