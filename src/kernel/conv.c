/* Convolutions and their gradients as correlations. Kernels of one place are plain products.
 *
 * The gradient of the input: x[i] gets w[k] dy[(i + padding - k dilation) / stride] where that is whole. Places i of
 * one remainder r of i + padding by the stride see the same taps: those with k dilation = r. So there are stride x
 * stride correlations of dy, each with some of the taps, in reverse, and none of them multiplies by zeros. */
#include "kernel/conv.h"
#include "kernel/gemm.h"
#include "kernel/ints.h"
#include "kernel/rows.h"

static bool is_product(const struct conv *c) {
    for (int i = 0; i < 2; i++)
        if (c->kernel[i] != 1 || c->stride[i] != 1 || c->padding[i] != 0 || c->in[i] != c->out[i]) return false;
    return true;
}

struct bias_job {
    float *y;
    const float *bias;
    int64_t channels, plane;
};
static void bias_rows(const void *arg, int64_t first, int64_t rows) {
    const struct bias_job *const j = arg;
    for (int64_t r = first; r < first + rows; r++)
        isa_get()->conv_put(j->y + r * j->plane, 1, j->y + r * j->plane, j->plane, j->bias[r % j->channels], false);
}

/* out (batch, groups m, plane) = or += op(w) (m, k) in (batch, groups k, plane), group by group */
static void product(struct pool *pool, const struct conv *c, float *out, bool add, const float *in, const float *w,
                    const float *bias, int64_t m, int64_t k, bool trans) {
    const int64_t plane = c->in[0] * c->in[1];
    const struct gemm g = {.m = m,
                           .n = plane,
                           .k = k,
                           .a = w,
                           .lda = trans ? m : k,
                           .trans_a = trans,
                           .b = in,
                           .ldb = plane,
                           .c = out,
                           .ldc = plane,
                           .add = add,
                           .alpha = 1};
    const struct gemm_batch batch = {.axes = 2,
                                     .size = {c->batch, c->groups},
                                     .a = {0, m * k},
                                     .b = {c->groups * k * plane, k * plane},
                                     .c = {c->groups * m * plane, m * plane}};
    if (c->batch * c->groups * m * plane == 0) return;
    kernel_gemm_batch(pool, &g, &batch);
    const struct bias_job job = {out, bias, c->groups * m, plane};
    if (bias) kernel_rows(pool, c->batch * c->groups * m, plane, bias_rows, &job);
}

static struct conv_axis forward_axis(const struct conv *c, int i) {
    return (struct conv_axis){.in = c->in[i],
                              .taps = c->kernel[i],
                              .step = c->stride[i],
                              .first = -c->padding[i],
                              .apart = c->dilation[i],
                              .n = c->out[i],
                              .out = c->out[i],
                              .to_step = 1};
}

static struct correlation forward_of(const struct conv *c) {
    return (struct correlation){.batch = c->batch,
                                .groups = c->groups,
                                .ins = c->ins / c->groups,
                                .outs = c->outs / c->groups,
                                .y = forward_axis(c, 0),
                                .x = forward_axis(c, 1)};
}

void kernel_conv(struct pool *pool, const struct conv *c, float *y, bool add, const float *x, const float *w,
                 const float *bias) {
    const struct correlation f = forward_of(c);
    if (is_product(c))
        product(pool, c, y, add, x, w, bias, f.outs, f.ins, false);
    else
        kernel_correlate(pool, &f, y, add, x, w, bias);
}

/* ---- the gradient of the input ---- */

struct taps { /* those of one remainder: first, first - apart, ... */
    int64_t n, first, apart;
};

/* Places begin, begin + stride, ... along axis i. */
static struct conv_axis backward_axis(const struct conv *c, int i, int64_t begin, struct taps *taps) {
    const int64_t s = c->stride[i], d = c->dilation[i], pad = c->padding[i], r = (begin + pad) % s;
    int64_t least = 0, period = 1;
    while (least < c->kernel[i] && least * d % s != r) least++;
    while (period < c->kernel[i] && period * d % s != 0) period++;
    taps->apart = period;
    taps->n = least < c->kernel[i] ? (c->kernel[i] - 1 - least) / period + 1 : 0;
    taps->first = least + (taps->n - 1) * period; /* the last one first: it reads the first place */
    return (struct conv_axis){.in = c->out[i],
                              .taps = taps->n,
                              .step = 1,
                              .first = taps->n ? (begin + pad - taps->first * d) / s : 0,
                              .apart = period * d / s,
                              .n = (c->in[i] - begin - 1) / s + 1,
                              .out = c->in[i],
                              .to_step = s,
                              .to_first = begin};
}

#define TURN 16 /* channels either way that are turned at a time */

struct turn_job {
    const struct conv *c;
    struct taps y, x;
    const float *w;
    float *to;
    int64_t ins, outs, blocks;
};

/* to (ins, outs, taps) of a group = some taps of w (outs, ins, kernel), for TURN channels of the input */
static void turn_task(void *arg, int64_t task, void *scratch) {
    (void)scratch;
    const struct turn_job *const j = arg;
    const int64_t *const kernel = j->c->kernel, size = kernel[0] * kernel[1], taps = j->y.n * j->x.n;
    const int64_t group = task / j->blocks, c0 = task % j->blocks * TURN, c1 = min64(c0 + TURN, j->ins);
    const float *const w = j->w + group * j->outs * j->ins * size;
    float *const to = j->to + group * j->outs * j->ins * taps;
    for (int64_t o0 = 0; o0 < j->outs; o0 += TURN)
        for (int64_t c = c0; c < c1; c++)
            for (int64_t o = o0; o < min64(o0 + TURN, j->outs); o++) {
                const float *const from = w + (o * j->ins + c) * size;
                float *put = to + (c * j->outs + o) * taps;
                for (int64_t y = 0; y < j->y.n; y++)
                    for (int64_t x = 0; x < j->x.n; x++)
                        *put++ = from[(j->y.first - y * j->y.apart) * kernel[1] + j->x.first - x * j->x.apart];
            }
}

void kernel_conv_input(struct pool *pool, const struct conv *c, float *dx, bool add, const float *dy, const float *w,
                       const float *bias, float *work) {
    const int64_t ins = c->ins / c->groups, outs = c->outs / c->groups;
    if (is_product(c)) {
        product(pool, c, dx, add, dy, w, bias, ins, outs, true);
        return;
    }
    if (c->batch * c->ins * c->in[0] * c->in[1] == 0) return;
    for (int64_t y = 0; y < min64(c->stride[0], c->in[0]); y++)
        for (int64_t x = 0; x < min64(c->stride[1], c->in[1]); x++) {
            struct turn_job j = {.c = c, .w = w, .to = work, .ins = ins, .outs = outs, .blocks = ceil_div(ins, TURN)};
            struct correlation g = {.batch = c->batch, .groups = c->groups, .ins = outs, .outs = ins};
            g.y = backward_axis(c, 0, y, &j.y);
            g.x = backward_axis(c, 1, x, &j.x);
            if (j.y.n * j.x.n * outs > 0) {
                pool_run(pool, c->groups * j.blocks, turn_task, &j);
            } else { /* only the bias goes there */
                g.ins = 0;
                g.y.taps = g.x.taps = 1;
            }
            kernel_correlate(pool, &g, dx, add, dy, work, bias);
            work += c->groups * ins * outs * j.y.n * j.x.n;
        }
}

void kernel_conv_weight(struct pool *pool, const struct conv *c, float *dw, bool add, const float *x, const float *dy) {
    const struct correlation f = forward_of(c);
    const int64_t plane = c->in[0] * c->in[1];
    if (!is_product(c) || c->batch * plane * c->outs * c->ins == 0) {
        kernel_correlate_weight(pool, &f, dw, add, x, dy);
        return;
    }
    const struct gemm g = {.m = f.outs,
                           .n = f.ins,
                           .k = plane,
                           .a = dy,
                           .lda = plane,
                           .b = x,
                           .ldb = plane,
                           .trans_b = true,
                           .c = dw,
                           .ldc = f.ins,
                           .add = add,
                           .alpha = 1};
    const struct gemm_batch batch = {.axes = 2,
                                     .size = {c->batch, c->groups},
                                     .a = {c->outs * plane, f.outs * plane},
                                     .b = {c->ins * plane, f.ins * plane},
                                     .c = {0, f.outs * f.ins}};
    kernel_gemm_batch(pool, &g, &batch);
}
