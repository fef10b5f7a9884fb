/* Max and average pooling, plane by plane. */
#include "kernel/ints.h"
#include "kernel/planes.h"
#include "kernel/rows.h"
#include <math.h>
#include <string.h>

struct job {
    const struct pooling *p;
    float *y, *dx;
    const float *x, *dy;
    int32_t *index;
    const int32_t *from;
    bool add;
};

struct window {
    int64_t from, to, step; /* from, from + step, ... < to, all inside */
    int64_t places;         /* with those of the padding */
};

static struct window window_at(const struct window_axis *a, int64_t i) {
    if (a->adaptive) {
        const int64_t from = i * a->in / a->out, to = ceil_div((i + 1) * a->in, a->out);
        return (struct window){from, to, 1, to - from};
    }
    int64_t from = i * a->stride - a->padding;
    const int64_t to = from + (a->size - 1) * a->dilation + 1;
    const int64_t places = min64(to, a->in + a->padding) - from;
    if (from < 0) from += ceil_div(-from, a->dilation) * a->dilation;
    return (struct window){from, min64(to, a->in), a->dilation, places};
}

/* ---- maximum ---- */

/* The first place of an output's window, where nothing else is larger; -1: it is empty. */
static int32_t first_place(const struct window_axis *ax, struct window wy, int64_t column) {
    const struct window wx = window_at(ax, column);
    return wy.from >= wy.to || wx.from >= wx.to ? -1 : (int32_t)(wy.from * ax->in + wx.from);
}

/* n outputs take x[0], x[stride], ... where these are larger, or the first that is no number; index (NULL: nobody asks)
 * their places, which begin at `place`. */
static inline void take_larger(float *most, int32_t *index, const float *x, int64_t stride, int32_t place, int64_t n) {
    if (!index) {
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            const float v = x[i * stride];
            most[i] = (v > most[i]) | ((v != v) & (most[i] == most[i])) ? v : most[i];
        }
        return;
    }
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        const float v = x[i * stride];
        const bool takes = (v > most[i]) | ((v != v) & (most[i] == most[i]));
        most[i] = takes ? v : most[i];
        index[i] = takes ? place + (int32_t)(i * stride) : index[i];
    }
}

/* A row of outputs of a fixed window: one place of the window after the other, each for all outputs in which it is
 * inside. */
static void max_row(const struct job *j, const float *x, int64_t row, float *most, int32_t *index) {
    const struct window_axis *const ax = &j->p->x;
    const struct window wy = window_at(&j->p->y, row);
    for (int64_t i = 0; i < ax->out; i++) most[i] = -INFINITY;
    for (int64_t i = 0; index && i < ax->out; i++) index[i] = first_place(ax, wy, i);
    for (int64_t r = wy.from; r < wy.to; r += wy.step)
        for (int64_t k = 0; k < ax->size; k++) {
            const int64_t from = k * ax->dilation - ax->padding; /* of output 0 */
            const int64_t low = from < 0 ? ceil_div(-from, ax->stride) : 0,
                          high = min64(ax->out, from < ax->in ? (ax->in - 1 - from) / ax->stride + 1 : 0);
            const int64_t at = r * ax->in + from + low * ax->stride;
            if (low >= high) continue;
            int32_t *const places = index ? index + low : NULL;
            if (ax->stride == 1)
                take_larger(most + low, places, x + at, 1, (int32_t)at, high - low);
            else if (ax->stride == 2)
                take_larger(most + low, places, x + at, 2, (int32_t)at, high - low);
            else
                take_larger(most + low, places, x + at, ax->stride, (int32_t)at, high - low);
        }
}

static void max_adaptive(const struct job *j, const float *x, int64_t row, float *y, int32_t *index) {
    const struct window_axis *const ax = &j->p->x;
    const struct window wy = window_at(&j->p->y, row);
    for (int64_t i = 0; i < ax->out; i++) {
        const struct window wx = window_at(ax, i);
        y[i] = -INFINITY;
        int32_t best = first_place(ax, wy, i);
        for (int64_t r = wy.from; r < wy.to; r += wy.step)
            for (int64_t c = wx.from; c < wx.to; c += wx.step)
                take_larger(&y[i], &best, x + r * ax->in + c, 1, (int32_t)(r * ax->in + c), 1);
        if (index) index[i] = best;
    }
}

static void max_rows(const void *arg, int64_t first, int64_t planes) {
    const struct job *const j = arg;
    const struct window_axis *const ay = &j->p->y, *const ax = &j->p->x;
    for (int64_t plane = first; plane < first + planes; plane++)
        for (int64_t row = 0; row < ay->out; row++) {
            const int64_t at = (plane * ay->out + row) * ax->out;
            (ax->adaptive ? max_adaptive : max_row)(j, j->x + plane * ay->in * ax->in, row, j->y + at,
                                                    j->index ? j->index + at : NULL);
        }
}

void kernel_max_pool(struct pool *pool, const struct pooling *p, float *y, int32_t *index, const float *x) {
    const struct job j = {.p = p, .y = y, .index = index, .x = x};
    kernel_rows(pool, p->planes, p->y.out * p->x.out * 8, max_rows, &j);
}

static void max_grad_rows(const void *arg, int64_t first, int64_t planes) {
    const struct job *const j = arg;
    const int64_t in = j->p->y.in * j->p->x.in, out = j->p->y.out * j->p->x.out;
    float *const dx = j->dx + first * in;
    if (!j->add) memset(dx, 0, (size_t)(planes * in) * sizeof *dx);
    for (int64_t plane = 0; plane < planes; plane++)
        for (int64_t i = 0; i < out; i++) {
            const int32_t at = j->from[(first + plane) * out + i];
            if (at >= 0) dx[plane * in + at] += j->dy[(first + plane) * out + i];
        }
}

void kernel_max_pool_grad(struct pool *pool, const struct pooling *p, float *dx, bool add, const float *dy,
                          const int32_t *index) {
    const struct job j = {.p = p, .dx = dx, .add = add, .dy = dy, .from = index};
    kernel_rows(pool, p->planes, p->y.in * p->x.in, max_grad_rows, &j);
}

static float share(const struct job *j, struct window y, struct window x) {
    return 1.0f / (float)(j->p->count_pad ? y.places * x.places : (y.to - y.from) * (x.to - x.from));
}

static void avg_rows(const void *arg, int64_t first, int64_t planes) {
    const struct job *const j = arg;
    const struct window_axis *const ay = &j->p->y, *const ax = &j->p->x;
    const int64_t in = ay->in * ax->in, out = ay->out * ax->out;
    for (int64_t plane = first; plane < first + planes; plane++)
        for (int64_t i = 0; i < out; i++) {
            const struct window wy = window_at(ay, i / ax->out), wx = window_at(ax, i % ax->out);
            float sum = 0;
            for (int64_t r = wy.from; r < wy.to; r++)
                for (int64_t c = wx.from; c < wx.to; c++) sum += j->x[plane * in + r * ax->in + c];
            j->y[plane * out + i] = sum * share(j, wy, wx);
        }
}

void kernel_avg_pool(struct pool *pool, const struct pooling *p, float *y, const float *x) {
    const struct job j = {.p = p, .y = y, .x = x};
    kernel_rows(pool, p->planes, max64(p->y.out * p->x.out, p->y.in * p->x.in), avg_rows, &j);
}

static void avg_grad_rows(const void *arg, int64_t first, int64_t planes) {
    const struct job *const j = arg;
    const struct window_axis *const ay = &j->p->y, *const ax = &j->p->x;
    const int64_t in = ay->in * ax->in, out = ay->out * ax->out;
    if (!j->add) memset(j->dx + first * in, 0, (size_t)(planes * in) * sizeof *j->dx);
    for (int64_t plane = first; plane < first + planes; plane++)
        for (int64_t i = 0; i < out; i++) {
            const struct window wy = window_at(ay, i / ax->out), wx = window_at(ax, i % ax->out);
            const float d = j->dy[plane * out + i] * share(j, wy, wx);
            for (int64_t r = wy.from; r < wy.to; r++)
                for (int64_t c = wx.from; c < wx.to; c++) j->dx[plane * in + r * ax->in + c] += d;
        }
}

void kernel_avg_pool_grad(struct pool *pool, const struct pooling *p, float *dx, bool add, const float *dy) {
    const struct job j = {.p = p, .dx = dx, .add = add, .dy = dy};
    kernel_rows(pool, p->planes, max64(p->y.out * p->x.out, p->y.in * p->x.in), avg_grad_rows, &j);
}
