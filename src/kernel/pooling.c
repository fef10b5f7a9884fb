/* Max and average pooling, plane by plane. */
#include "base/vectors.h"
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

/* One place of each window of a row of them, the k-th across, in a row of x whose first number is number `row` of its
 * plane. Without branches: which of a window's places is the largest cannot be foreseen. */
static void max_taps(const struct window_axis *a, int64_t k, const float *x, int64_t row, float *most, int32_t *best) {
    const int64_t offset = k * a->dilation - a->padding;
    const int64_t from = offset < 0 ? ceil_div(-offset, a->stride) : 0;
    const int64_t to = offset < a->in ? min64(a->out, (a->in - 1 - offset) / a->stride + 1) : 0;
    const float *const at = x + offset;
    const int64_t place = row + offset, stride = a->stride;
    if (!best) {
        VECTORS
        for (int64_t i = from; i < to; i++) {
            const float v = at[i * stride];
            most[i] = (!(v <= most[i]) & (most[i] == most[i])) ? v : most[i]; /* NaN is the largest */
        }
        return;
    }
    VECTORS
    for (int64_t i = from; i < to; i++) {
        const float v = at[i * stride], old = most[i];
        const bool takes = !(v <= old) & (old == old);
        most[i] = takes ? v : old;
        best[i] = takes ? (int32_t)(place + i * stride) : best[i];
    }
}

static void max_row(const struct job *j, const float *x, int64_t i, float *most, int32_t *best) {
    const struct window_axis *const ay = &j->p->y, *const ax = &j->p->x;
    const struct window rows = window_at(ay, i);
    for (int64_t c = 0; c < ax->out; c++) {
        const int64_t before = max64(0, ax->padding - c * ax->stride); /* places of the window that are padding */
        const int64_t from = c * ax->stride - ax->padding + ceil_div(before, ax->dilation) * ax->dilation;
        most[c] = -INFINITY;
        if (best) best[c] = rows.from < rows.to && from < ax->in ? (int32_t)(rows.from * ax->in + from) : -1;
    }
    for (int64_t r = rows.from; r < rows.to; r += rows.step)
        for (int64_t k = 0; k < ax->size; k++) max_taps(ax, k, x + r * ax->in, r * ax->in, most, best);
}

/* Windows of any size. */
static void max_row_adaptive(const struct job *j, const float *x, int64_t i, float *most, int32_t *best) {
    const struct window_axis *const ay = &j->p->y, *const ax = &j->p->x;
    const struct window wy = window_at(ay, i);
    for (int64_t o = 0; o < ax->out; o++) {
        const struct window wx = window_at(ax, o);
        const bool empty = wy.from >= wy.to || wx.from >= wx.to;
        int64_t at = empty ? -1 : wy.from * ax->in + wx.from;
        most[o] = empty ? -INFINITY : x[at];
        for (int64_t r = wy.from; r < wy.to; r += wy.step)
            for (int64_t c = wx.from; c < wx.to; c += wx.step) {
                const float v = x[r * ax->in + c];
                if (v > most[o] || (v != v && most[o] == most[o])) most[o] = v, at = r * ax->in + c;
            }
        if (best) best[o] = (int32_t)at;
    }
}

static void max_rows(const void *arg, int64_t first, int64_t planes) {
    const struct job *const j = arg;
    const struct window_axis *const ay = &j->p->y, *const ax = &j->p->x;
    const bool adaptive = ay->adaptive || ax->adaptive;
    for (int64_t plane = first; plane < first + planes; plane++)
        for (int64_t i = 0; i < ay->out; i++) {
            const int64_t at = (plane * ay->out + i) * ax->out;
            (adaptive ? max_row_adaptive : max_row)(j, j->x + plane * ay->in * ax->in, i, j->y + at,
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
