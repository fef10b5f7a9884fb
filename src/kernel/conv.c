/* Convolutions and their gradients as correlations. Kernels of one place are plain products.
 *
 * The gradient of the input: x[i] gets w[k] dy[(i + padding - k dilation) / stride] where that is whole. Places i of
 * one remainder r of i + padding by the stride see the same taps: those with k dilation = r. So there are stride x
 * stride correlations of dy, each with some of the taps, in reverse, and none of them multiplies by zeros. Where the
 * input has no more channels than dy, kernel/conv_fold.c is faster. */
#include "kernel/conv.h"
#include "kernel/gemm.h"
#include "kernel/ints.h"
#include "kernel/phases.h"
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

/* Group by group, each with the scales and shifts of its own rows. */
static void product_finished(struct pool *pool, const struct conv *c, float *y, const float *x, const float *w,
                             const struct conv_finish *f) {
    const int64_t plane = c->in[0] * c->in[1], m = c->outs / c->groups, k = c->ins / c->groups;
    if (c->batch * plane * c->outs == 0) return;
    for (int64_t i = 0; i < c->groups; i++) {
        const struct gemm_norm norm = {f->scale + i * m, f->shift + i * m, false};
        const struct gemm g = {.m = m,
                               .n = plane,
                               .k = k,
                               .a = w + i * m * k,
                               .lda = k,
                               .b = x + i * k * plane,
                               .ldb = plane,
                               .c = y + i * m * plane,
                               .ldc = plane,
                               .alpha = 1,
                               .norm = &norm,
                               .more = f->more ? f->more + i * m * plane : NULL,
                               .act = f->act};
        const struct gemm_batch batch = {.axes = 1, .size = {c->batch}, .b = {c->ins * plane}, .c = {c->outs * plane}};
        kernel_gemm_batch(pool, &g, &batch);
    }
}

/* One place with a stride: the places that it reads are taken first. */
static bool is_taken(const struct conv *c) {
    for (int i = 0; i < 2; i++)
        if (c->kernel[i] != 1 || c->padding[i] != 0 || (c->out[i] - 1) * c->stride[i] >= c->in[i]) return false;
    return !is_product(c);
}

struct take_job {
    const struct conv *c;
    const float *x;
    float *to;
};
static void take_rows(const void *arg, int64_t first, int64_t planes) {
    const struct take_job *const j = arg;
    const struct conv *const c = j->c;
    for (int64_t i = first * c->out[0]; i < (first + planes) * c->out[0]; i++) {
        const int64_t row = i / c->out[0] * c->in[0] + i % c->out[0] * c->stride[0];
        isa_get()->conv_take(j->to + i * c->out[1], j->x + row * c->in[1], c->stride[1], c->out[1]);
    }
}

int64_t kernel_finish_work(const struct conv *c) {
    return is_taken(c) ? c->batch * c->ins * c->out[0] * c->out[1] : kernel_winograd_work(c);
}

void kernel_conv_finish(struct pool *pool, const struct conv *c, float *y, const float *x, const float *w,
                        const struct conv_finish *finish, float *work) {
    const struct correlation f = forward_of(c);
    if (is_taken(c)) {
        const struct take_job job = {c, x, work};
        struct conv taken = *c;
        kernel_rows(pool, c->batch * c->ins, c->out[0] * c->out[1], take_rows, &job);
        for (int i = 0; i < 2; i++) taken.in[i] = c->out[i], taken.stride[i] = 1;
        product_finished(pool, &taken, y, work, w, finish);
    } else if (is_product(c))
        product_finished(pool, c, y, x, w, finish);
    else if (kernel_winograd_work(c) > 0)
        kernel_winograd(pool, c, y, x, w, finish, work);
    else
        kernel_correlate(pool, &f, y, false, x, w, NULL, finish);
}

void kernel_conv(struct pool *pool, const struct conv *c, float *y, bool add, const float *x, const float *w,
                 const float *bias) {
    const struct correlation f = forward_of(c);
    if (is_product(c))
        product(pool, c, y, add, x, w, bias, f.outs, f.ins, false);
    else
        kernel_correlate(pool, &f, y, add, x, w, bias, NULL);
}

/* ---- the gradient of the input ---- */

struct conv_axis phase_axis(const struct conv *c, int i, int64_t begin, struct taps *taps) {
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

#define TURN   32 /* channels of the input that are turned at a time, at most */
#define PHASES 16 /* correlations whose weights are turned at once */

struct phase {
    struct correlation g;
    struct taps y, x;
    float *weight; /* (groups, ins, outs, taps) */
};
struct turn_job {
    const struct conv *c;
    const struct isa *isa;
    const struct phase *phase;
    int phases;
    const float *w;
    int64_t ins, outs, channels, blocks; /* channels of a task, and tasks of a group */
};

/* The taps of a phase, for one channel of the input. from: (kernel, outs) or, not turned, (outs, kernel) `apart`. */
static void take_taps(const struct conv *c, const struct phase *p, float *to, const float *from, bool turned,
                      int64_t outs, int64_t apart) {
    const int64_t taps = p->y.n * p->x.n;
    for (int64_t t = 0; t < taps; t++) {
        const int64_t tap =
            (p->y.first - t / p->x.n * p->y.apart) * c->kernel[1] + p->x.first - t % p->x.n * p->x.apart;
        const float *const get = turned ? from + tap * outs : from + tap;
        const int64_t step = turned ? 1 : apart;
        for (int64_t o = 0; o < outs; o++) to[o * taps + t] = get[o * step];
    }
}

/* For some channels of the input, w (outs, ins, kernel) becomes (ins, kernel, outs) in the scratch, where it fits, and
 * then each phase's own. */
static void turn_task(void *arg, int64_t task, void *scratch) {
    const struct turn_job *const j = arg;
    const int64_t size = j->c->kernel[0] * j->c->kernel[1], group = task / j->blocks, row = j->ins * size;
    const int64_t c0 = task % j->blocks * j->channels, n = min64(j->channels, j->ins - c0);
    const float *const w = j->w + group * j->outs * row + c0 * size;
    const bool turned = n * size * j->outs * (int64_t)sizeof(float) <= (int64_t)HEED_SCRATCH;
    float *const room = scratch;
    if (turned) j->isa->gemm_transpose(room, j->outs, w, row, j->outs, n * size);
    for (int64_t i = 0; i < n; i++)
        for (int p = 0; p < j->phases; p++)
            take_taps(j->c, &j->phase[p],
                      j->phase[p].weight + (group * j->ins + c0 + i) * j->outs * j->phase[p].y.n * j->phase[p].x.n,
                      turned ? room + i * size * j->outs : w + i * size, turned, j->outs, row);
}

static void run_phases(struct pool *pool, struct turn_job *j, float *dx, bool add, const float *dy, const float *bias) {
    if (j->ins * j->outs > 0) pool_run(pool, j->c->groups * j->blocks, turn_task, j);
    for (int i = 0; i < j->phases; i++) {
        struct correlation g = j->phase[i].g;
        if (g.y.taps * g.x.taps == 0) { /* only the bias goes there */
            g.ins = 0;
            g.y.taps = g.x.taps = 1;
        }
        kernel_correlate(pool, &g, dx, add, dy, j->phase[i].weight, bias, NULL);
    }
}

void kernel_conv_input(struct pool *pool, const struct conv *c, float *dx, bool add, const float *dy, const float *w,
                       const float *bias, float *work) {
    const int64_t ins = c->ins / c->groups, outs = c->outs / c->groups, size = c->kernel[0] * c->kernel[1];
    if (is_product(c)) {
        product(pool, c, dx, add, dy, w, bias, ins, outs, true);
        return;
    }
    if (c->batch * c->ins * c->in[0] * c->in[1] == 0 || kernel_conv_folded(pool, c, dx, add, dy, w, bias, work)) return;
    struct phase phase[PHASES];
    struct turn_job j = {.c = c, .isa = isa_get(), .phase = phase, .w = w, .ins = ins, .outs = outs};
    const int64_t fit = outs > 0 ? (int64_t)(HEED_SCRATCH / sizeof(float)) / (size * outs) : TURN;
    j.channels = min64(max64(fit, 1), TURN);
    j.blocks = ceil_div(ins, j.channels);
    const int64_t columns = min64(c->stride[1], c->in[1]), count = min64(c->stride[0], c->in[0]) * columns;
    for (int64_t i = 0; i < count; i++) {
        struct phase *const p = &phase[j.phases++];
        p->g = (struct correlation){.batch = c->batch, .groups = c->groups, .ins = outs, .outs = ins};
        p->g.y = phase_axis(c, 0, i / columns, &p->y);
        p->g.x = phase_axis(c, 1, i % columns, &p->x);
        p->weight = work;
        work += c->groups * ins * outs * p->y.n * p->x.n;
        if (j.phases < PHASES && i + 1 < count) continue;
        run_phases(pool, &j, dx, add, dy, bias);
        j.phases = 0;
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

/* ---- by Winograd's algorithm ---- */

bool kernel_conv_turned(const struct conv *c, struct conv *back, int64_t *weight) {
    *back = *c;
    back->ins = c->outs, back->outs = c->ins;
    for (int i = 0; i < 2; i++) {
        if (c->kernel[i] != 3 || c->stride[i] != 1 || c->dilation[i] != 1 || c->padding[i] > 2) return false;
        back->in[i] = c->out[i], back->out[i] = c->in[i];
        back->padding[i] = 2 - c->padding[i];
    }
    *weight = c->groups == 1 ? c->ins * c->outs * 9 : 0;
    return *weight > 0 && kernel_winograd_work(back) > 0;
}

struct round_job {
    const struct conv *c;
    const float *w;
    float *to;
};
static void turn_rows(const void *arg, int64_t first, int64_t rows) {
    const struct round_job *const j = arg;
    for (int64_t i = first; i < first + rows; i++)
        for (int64_t o = 0; o < j->c->outs; o++)
            for (int64_t t = 0; t < 9; t++) j->to[(i * j->c->outs + o) * 9 + t] = j->w[(o * j->c->ins + i) * 9 + 8 - t];
}

void kernel_turn_weights(struct pool *pool, const struct conv *c, float *to, const float *w) {
    const struct round_job job = {c, w, to};
    kernel_rows(pool, c->ins, c->outs * 9, turn_rows, &job);
}
