/* Max and average pooling, plane by plane. */
#include "kernel/ints.h"
#include "kernel/planes.h"
#include "kernel/rows.h"
#include <math.h>
#include <string.h>

#define MAX_LINE 1024 /* places of a row that are held at once */

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

/* NaN where either is. */
static inline float larger(float a, float b) { return b > a || b != b ? b : a; }

/* to = larger(to, from), number by number */
static void take_larger(float *to, const float *from, int64_t n) {
#pragma omp simd
    for (int64_t i = 0; i < n; i++) to[i] = larger(to[i], from[i]);
}

/* The largest alone, of windows whose places lie beside each other: first down, then along the row, for windows that
 * begin at any place, of which `most` keeps the largest. */
static void max_plane(const struct job *j, const float *x, float *y, float *line, float *most) {
    const struct window_axis *const ay = &j->p->y, *const ax = &j->p->x;
    for (int64_t r = 0; r < ay->out; r++) {
        const struct window wy = window_at(ay, r);
        memcpy(line, x + wy.from * ax->in, (size_t)ax->in * sizeof *line);
        for (int64_t i = wy.from + 1; i < wy.to; i++) take_larger(line, x + i * ax->in, ax->in);
        memcpy(most, line, (size_t)ax->in * sizeof *most);
        for (int64_t k = 1; k < min64(ax->size, ax->in); k++) take_larger(most, line + k, ax->in - k);
        for (int64_t c = 0; c < ax->out; c++) {
            const int64_t at = c * ax->stride - ax->padding;
            float *const put = y + r * ax->out + c;
            if (at >= 0) {
                *put = most[at];
                continue;
            }
            *put = line[0];
            for (int64_t i = 1; i < min64(at + ax->size, ax->in); i++) *put = larger(*put, line[i]);
        }
    }
}

/* Every window has a place inside. */
static bool is_plain(const struct window_axis *a) {
    return !a->adaptive && a->dilation == 1 && a->padding < a->size && (a->out - 1) * a->stride - a->padding < a->in;
}

static void max_rows(const void *arg, int64_t first, int64_t planes) {
    const struct job *const j = arg;
    const struct window_axis *const ay = &j->p->y, *const ax = &j->p->x;
    const int64_t in = ay->in * ax->in, out = ay->out * ax->out;
    float line[MAX_LINE], most_of[MAX_LINE];
    const bool plain = !j->index && ax->in <= MAX_LINE && is_plain(ay) && is_plain(ax);
    for (int64_t plane = first; plane < first + planes; plane++) {
        const float *const x = j->x + plane * in;
        if (plain) {
            max_plane(j, x, j->y + plane * out, line, most_of);
            continue;
        }
        for (int64_t i = 0; i < out; i++) {
            const struct window wy = window_at(ay, i / ax->out), wx = window_at(ax, i % ax->out);
            const bool empty = wy.from >= wy.to || wx.from >= wx.to;
            int64_t best = empty ? -1 : wy.from * ax->in + wx.from;
            float most = empty ? -INFINITY : x[best];
            for (int64_t r = wy.from; r < wy.to; r += wy.step)
                for (int64_t c = wx.from; c < wx.to; c += wx.step) {
                    const float v = x[r * ax->in + c];
                    if (v > most || (v != v && most == most)) most = v, best = r * ax->in + c;
                }
            j->y[plane * out + i] = most;
            if (j->index) j->index[plane * out + i] = (int32_t)best;
        }
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
