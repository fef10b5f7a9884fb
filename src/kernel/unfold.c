/* All patches of pictures side by side, and back. */
#include "kernel/ints.h"
#include "kernel/planes.h"
#include "kernel/rows.h"
#include <string.h>

struct job {
    const struct unfold *u;
    float *to;
    const float *from;
    bool add;
};

/* Outputs low .. high of an axis whose inputs are i stride + first lie inside. */
static void inside(int64_t out, int64_t in, int64_t stride, int64_t first, int64_t *low, int64_t *high) {
    *low = first < 0 ? min64(ceil_div(-first, stride), out) : 0;
    *high = first < in ? max64(*low, min64(ceil_div(in - first, stride), out)) : *low;
}

static void unfold_planes(const void *arg, int64_t first, int64_t planes) {
    const struct job *const j = arg;
    const struct unfold *const u = j->u;
    const int64_t size = u->kernel[0] * u->kernel[1], out = u->out[0] * u->out[1];
    for (int64_t p = first * size; p < (first + planes) * size; p++) {
        const int64_t tap = p % size, y0 = tap / u->kernel[1] * u->dilation[0] - u->padding[0];
        const int64_t x0 = tap % u->kernel[1] * u->dilation[1] - u->padding[1];
        const float *const plane = j->from + p / size * u->in[0] * u->in[1];
        float *const to = j->to + p * out;
        int64_t top, bottom, left, right;
        inside(u->out[0], u->in[0], u->stride[0], y0, &top, &bottom);
        inside(u->out[1], u->in[1], u->stride[1], x0, &left, &right);
        if (!j->add) memset(to, 0, (size_t)out * sizeof *to);
        for (int64_t y = top; y < bottom; y++) {
            const float *const row = plane + (y * u->stride[0] + y0) * u->in[1] + x0;
            float *const put = to + y * u->out[1];
            for (int64_t x = left; x < right; x++) put[x] = (j->add ? put[x] : 0) + row[x * u->stride[1]];
        }
    }
}

void kernel_unfold(struct pool *pool, const struct unfold *u, float *cols, bool add, const float *x) {
    const struct job j = {u, cols, x, add};
    kernel_rows(pool, u->planes, u->kernel[0] * u->kernel[1] * u->out[0] * u->out[1], unfold_planes, &j);
}

static void fold_planes(const void *arg, int64_t first, int64_t planes) {
    const struct job *const j = arg;
    const struct unfold *const u = j->u;
    const int64_t size = u->kernel[0] * u->kernel[1], out = u->out[0] * u->out[1], in = u->in[0] * u->in[1];
    if (!j->add) memset(j->to + first * in, 0, (size_t)(planes * in) * sizeof *j->to);
    for (int64_t p = first * size; p < (first + planes) * size; p++) {
        const int64_t tap = p % size, y0 = tap / u->kernel[1] * u->dilation[0] - u->padding[0];
        const int64_t x0 = tap % u->kernel[1] * u->dilation[1] - u->padding[1];
        float *const plane = j->to + p / size * in;
        int64_t top, bottom, left, right;
        inside(u->out[0], u->in[0], u->stride[0], y0, &top, &bottom);
        inside(u->out[1], u->in[1], u->stride[1], x0, &left, &right);
        for (int64_t y = top; y < bottom; y++) {
            float *const row = plane + (y * u->stride[0] + y0) * u->in[1] + x0;
            const float *const get = j->from + p * out + y * u->out[1];
            for (int64_t x = left; x < right; x++) row[x * u->stride[1]] += get[x];
        }
    }
}

void kernel_fold_patches(struct pool *pool, const struct unfold *u, float *x, bool add, const float *cols) {
    const struct job j = {u, x, cols, add};
    kernel_rows(pool, u->planes, max64(u->kernel[0] * u->kernel[1] * u->out[0] * u->out[1], u->in[0] * u->in[1]),
                fold_planes, &j);
}
