/* Resizing of planes: two passes, along rows and along columns, with weights that depend on the place alone. */
#include "kernel/ints.h"
#include "kernel/planes.h"
#include "kernel/rows.h"
#include <math.h>
#include <string.h>

/* ---- weights ---- as torch.nn.functional.interpolate has them */

static double triangle(double x) { return fabs(x) < 1 ? 1 - fabs(x) : 0; }

/* Keys 1981 */
static double cubic(double x, double a) {
    x = fabs(x);
    if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((x - 5) * x + 8) * x * a - 4 * a : 0;
}

static double support(enum resize_kind kind, double scale) { /* of antialiasing */
    return (kind == RESIZE_CUBIC ? 2 : 1) * (scale > 1 ? scale : 1);
}

int64_t kernel_resize_taps(enum resize_kind kind, int64_t in, double scale, bool antialias) {
    if (kind == RESIZE_NEAREST || kind == RESIZE_NEAREST_EXACT) return 1;
    if (antialias) return min64((int64_t)fmin(ceil(support(kind, scale)) * 2 + 1, 0x1p62), in);
    return min64(kind == RESIZE_CUBIC ? 4 : 2, in);
}

static int64_t within(int64_t i, int64_t low, int64_t high) { return i < low ? low : i > high ? high : i; }

static void antialiased(struct resize_axis *a, enum resize_kind kind, double scale, int64_t i, float *weight) {
    const double centre = scale * ((double)i + 0.5), reach = support(kind, scale), narrow = scale > 1 ? 1 / scale : 1;
    const int64_t low = (int64_t)fmax(centre - reach + 0.5, 0);
    const int64_t high = (int64_t)fmin(centre + reach + 0.5, (double)a->in);
    const int64_t first = within(low, 0, a->in - a->taps);
    double sum = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int64_t x = low; x < high; x++) {
            const double at = ((double)x - centre + 0.5) * narrow;
            const double w = kind == RESIZE_CUBIC ? cubic(at, -0.5) : triangle(at);
            if (pass == 0)
                sum += w;
            else if (sum != 0 && x - first < a->taps)
                weight[x - first] = (float)(w / sum);
        }
    a->first[i] = (int32_t)first;
}

void kernel_resize_weights(struct resize_axis *a, enum resize_kind kind, double scale, bool align, bool antialias) {
    for (int64_t i = 0; i < a->out; i++) {
        float *const weight = a->weight + i * a->taps;
        for (int64_t t = 0; t < a->taps; t++) weight[t] = 0;
        if (kind == RESIZE_NEAREST || kind == RESIZE_NEAREST_EXACT) { /* in float, as PyTorch's */
            const float at = (float)scale * ((float)i + (kind == RESIZE_NEAREST ? 0.0f : 0.5f));
            a->first[i] = (int32_t)within((int64_t)floorf(at), 0, a->in - 1);
            weight[0] = 1;
            continue;
        }
        if (antialias) {
            antialiased(a, kind, scale, i, weight);
            continue;
        }
        double at = align ? scale * (double)i : scale * ((double)i + 0.5) - 0.5;
        if (kind == RESIZE_LINEAR && at < 0) at = 0;
        const int64_t low = (int64_t)floor(at), reach = kind == RESIZE_CUBIC ? 2 : 1;
        const int64_t first = within(low + 1 - reach, 0, a->in - a->taps);
        a->first[i] = (int32_t)first;
        for (int64_t x = low + 1 - reach; x <= low + reach; x++) /* beyond the border: the last one again */
            weight[within(x, 0, a->in - 1) - first] +=
                (float)(kind == RESIZE_CUBIC ? cubic(at - (double)x, -0.75) : triangle(at - (double)x));
    }
}

/* ---- planes ---- */

struct job {
    const struct resize *r;
    float *to;
    const float *from;
    float *work;
    bool add;
};

int64_t kernel_resize_work(const struct resize *r) { return r->planes * r->y.in * r->x.out; }

static void resize_planes(const void *arg, int64_t first, int64_t planes) {
    const struct job *const j = arg;
    const struct resize_axis *const y = &j->r->y, *const x = &j->r->x;
    const struct isa *const isa = isa_get();
    for (int64_t p = first; p < first + planes; p++) {
        float *const rows = j->work + p * y->in * x->out;
        for (int64_t r = 0; r < y->in; r++)
            isa->resize_row(rows + r * x->out, j->from + (p * y->in + r) * x->in, x->first, x->weight, x->taps, x->out);
        for (int64_t i = 0; i < y->out; i++) {
            float *const to = j->to + (p * y->out + i) * x->out;
            const float *const w = y->weight + i * y->taps, *const from = rows + y->first[i] * x->out;
            isa->scale_part(to, w[0], from, x->out);
            for (int64_t t = 1; t < y->taps; t++) isa->axpy_part(to, w[t], from + t * x->out, x->out);
        }
    }
}

void kernel_resize(struct pool *pool, const struct resize *r, float *y, const float *x, float *work) {
    if (r->planes * r->y.out * r->x.out == 0) return;
    const struct job j = {.r = r, .to = y, .from = x, .work = work};
    kernel_rows(pool, r->planes, max64(r->y.in, r->y.out) * r->x.out, resize_planes, &j);
}

static void grad_planes(const void *arg, int64_t first, int64_t planes) {
    const struct job *const j = arg;
    const struct resize_axis *const y = &j->r->y, *const x = &j->r->x;
    const struct isa *const isa = isa_get();
    for (int64_t p = first; p < first + planes; p++) {
        float *const rows = j->work + p * y->in * x->out, *const dx = j->to + p * y->in * x->in;
        memset(rows, 0, (size_t)(y->in * x->out) * sizeof *rows);
        if (!j->add) memset(dx, 0, (size_t)(y->in * x->in) * sizeof *dx);
        for (int64_t i = 0; i < y->out; i++)
            for (int64_t t = 0; t < y->taps; t++)
                isa->axpy_part(rows + (y->first[i] + t) * x->out, y->weight[i * y->taps + t],
                               j->from + (p * y->out + i) * x->out, x->out);
        for (int64_t r = 0; r < y->in; r++)
            isa->resize_row_grad(dx + r * x->in, rows + r * x->out, x->first, x->weight, x->taps, x->out);
    }
}

void kernel_resize_grad(struct pool *pool, const struct resize *r, float *dx, bool add, const float *dy, float *work) {
    const struct job j = {.r = r, .to = dx, .add = add, .from = dy, .work = work};
    kernel_rows(pool, r->planes, max64(r->y.in * r->x.in, r->y.out * r->x.out), grad_planes, &j);
}
