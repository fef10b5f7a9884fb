/* The gradient of a convolution's input where it has few channels: a product, and then sums of its rows.
 *
 *   s[c,k,j] = sum_o w[o,c,k] dy[o,j],   x[c, j stride - padding + k dilation] += s[c,k,j]
 *
 * The product reads dy as it lies, with some zeros between its rows, where correlations lay out every place once for
 * each tap. A phase of x is then a sum of rows of s, one for each of its taps, shifted: what reaches beyond the ends of
 * a row of dy meets the zeros. A task has whole pictures, so that each element is the same chain whatever the threads.
 */
#include "kernel/gemm.h"
#include "kernel/ints.h"
#include "kernel/phases.h"
#include <string.h>

#define MAX_TAPS   64
#define MAX_STRIDE 8
#define MIN_OUTS   8
#define COLUMNS    512                /* of a product, where a picture has no more */
#define NEAR       ((int64_t)1 << 15) /* floats of s that are made at a time, so that they are still near when read */
#define SLACK      16                 /* floats that whole vectors may reach beyond what is meant */
#define TURN_ROWS  64                 /* rows of weights in a task */
#define ROOM       ((int64_t)(HEED_SCRATCH / sizeof(float)))

struct phase {
    struct conv_axis axis;
    struct taps taps;
};
struct job {
    const struct conv *c;
    const struct isa *isa;
    int64_t ins, outs, taps;    /* of a group, and of a channel */
    int64_t zeros, line, plane; /* zeros between rows; floats from row to row, and from picture to picture */
    int64_t pictures, width;    /* of a task; width: columns of its product, of whole strips */
    int64_t channels, blocks;   /* of a product, and tasks that share a group's channels */
    int64_t tiles;
    struct phase phase[2][MAX_STRIDE];
    int64_t phases[2], phase_size; /* along each axis; floats of one of a plane */
    const float *dy, *w, *bias;
    float *dx, *turned; /* turned: (groups, ins taps, outs) */
    bool add;
};

/* false: it does not fit, or does not pay. */
static bool plan(struct job *j) {
    const struct conv *const c = j->c;
    if (j->taps > MAX_TAPS || j->outs < MIN_OUTS || j->ins > j->outs) return false;
    for (int i = 0; i < 2; i++) {
        if (c->stride[i] > MAX_STRIDE) return false;
        j->phases[i] = min64(c->stride[i], c->in[i]);
        for (int64_t p = 0; p < j->phases[i]; p++) j->phase[i][p].axis = phase_axis(c, i, p, &j->phase[i][p].taps);
    }
    for (int64_t i = 0; i < j->phases[1]; i++) {
        const struct conv_axis *const x = &j->phase[1][i].axis;
        if (x->taps > 0)
            j->zeros = max64(j->zeros, max64(-x->first, x->first + (x->taps - 1) * x->apart + x->n - x->in));
    }
    j->line = c->out[1] + j->zeros;
    if (j->zeros > c->out[1] || j->phase[1][0].axis.n > j->line) return false;
    j->plane = c->out[0] * j->line;
    j->phase_size = j->phase[0][0].axis.n * j->line + SLACK;
    const int64_t folded = j->phases[0] * j->phases[1] * j->phase_size + c->in[0] * c->in[1] + 2 * SLACK;
    /* whether one picture fits decides: it has the same bits in every batch */
    for (j->pictures = min64(max64(COLUMNS / j->plane, 1), c->batch); j->pictures > 0; j->pictures--) {
        j->width = round_up(j->zeros + j->pictures * j->plane, 32);
        j->channels = min64(max64(NEAR / (j->taps * j->width), 1), j->ins);
        j->tiles = ceil_div(c->batch, j->pictures);
        const int64_t packed = kernel_gemm_block(j->outs) * j->width;
        if ((j->outs + j->channels * j->taps) * j->width + max64(packed, folded) <= ROOM) return true;
    }
    return false;
}

static void turn_task(void *arg, int64_t task, void *scratch) {
    (void)scratch;
    const struct job *const j = arg;
    const int64_t rows = j->ins * j->taps, blocks = ceil_div(rows, TURN_ROWS), group = task / blocks;
    const int64_t r = task % blocks * TURN_ROWS, at = group * rows * j->outs;
    j->isa->gemm_transpose(j->turned + at + r * j->outs, j->outs, j->w + at + r, rows, j->outs,
                           min64(TURN_ROWS, rows - r));
}

/* dy of some pictures as strips. */
static void pack(const struct job *j, float *strips, int64_t image, int64_t pictures, int64_t group, float *room) {
    const int64_t *const out = j->c->out, block = kernel_gemm_block(j->outs), outs = j->c->outs;
    for (int64_t k0 = 0; k0 < j->outs; k0 += block) {
        const int64_t k = min64(block, j->outs - k0);
        for (int64_t i = 0; i < k; i++) {
            float *to = room + i * j->width;
            memset(to, 0, (size_t)j->zeros * sizeof *to);
            to += j->zeros;
            for (int64_t r = 0; r < pictures * out[0]; r++, to += j->line) {
                const int64_t plane = (image + r / out[0]) * outs + group * j->outs + k0 + i;
                memcpy(to, j->dy + (plane * out[0] + r % out[0]) * out[1], (size_t)out[1] * sizeof *to);
                memset(to + out[1], 0, (size_t)j->zeros * sizeof *to);
            }
        }
        j->isa->gemm_pack(strips + k0 * j->width, room, j->width, STORED_F32, false, k, j->zeros + pictures * j->plane);
    }
}

/* Rows a .. of a phase that see the same taps; returns how many there are. from: of each tap, in number `count`. */
static int64_t rows_alike(const struct job *j, const struct phase *p, const struct phase *q, int64_t a,
                          const float *sums, const float **from, int64_t *count) {
    const int64_t rows = j->c->out[0];
    int64_t end = p->axis.n;
    *count = 0;
    for (int64_t t = 0; t < p->taps.n; t++) {
        const int64_t row = a + p->axis.first + t * p->axis.apart;
        const int64_t tap = (p->taps.first - t * p->taps.apart) * j->c->kernel[1] + q->taps.first;
        if (row < 0) end = min64(end, a - row);
        if (row < 0 || row >= rows) continue;
        end = min64(end, a + rows - row);
        for (int64_t u = 0; u < q->taps.n; u++)
            from[(*count)++] =
                sums + (tap - u * q->taps.apart) * j->width + row * j->line + q->axis.first + u * q->axis.apart;
    }
    return end - a;
}

/* One channel of one picture, from its sums. The phases are made whole vectors at a time: what is written behind a row
 * is written again, or read by nobody. */
static void fold(const struct job *j, float *to, const float *sums, float bias, float *room) {
    static const float ones[MAX_TAPS] = {[0 ... MAX_TAPS - 1] = 1};
    const int64_t *const in = j->c->in, down = j->phases[0], across = j->phases[1];
    const float *from[MAX_TAPS];
    float *const plane = room + down * across * j->phase_size;
    for (int64_t i = 0; i < down * across; i++) {
        const struct phase *const p = &j->phase[0][i / across], *const q = &j->phase[1][i % across];
        for (int64_t a = 0, n, count; a < p->axis.n; a += n) {
            n = rows_alike(j, p, q, a, sums, from, &count);
            j->isa->conv_taps(room + i * j->phase_size + a * j->line, from, 0, ones, count,
                              round_up((n - 1) * j->line + q->axis.n, SLACK), bias);
        }
    }
    for (int64_t y = 0; y < in[0]; y++) {
        const float *const row = room + y % down * across * j->phase_size + y / down * j->line;
        if (across == 2)
            j->isa->conv_weave(plane + y * in[1], row, row + j->phase_size, j->phase[1][0].axis.n);
        else
            for (int64_t q = 0; q < across; q++)
                j->isa->conv_put(plane + y * in[1] + q, across, row + q * j->phase_size, j->phase[1][q].axis.n, 0,
                                 false);
    }
    j->isa->conv_put(to, 1, plane, in[0] * in[1], 0, j->add);
}

static void fold_task(void *arg, int64_t task, void *scratch) {
    const struct job *const j = arg;
    const struct conv *const c = j->c;
    const int64_t rest = task / j->tiles, group = rest / j->blocks, image = task % j->tiles * j->pictures;
    const int64_t share = ceil_div(j->ins, j->blocks), c0 = rest % j->blocks * share;
    const int64_t end = min64(c0 + share, j->ins), pictures = min64(j->pictures, c->batch - image);
    const int64_t columns = round_up(j->zeros + pictures * j->plane, j->isa->conv_strip());
    const int64_t block = kernel_gemm_block(j->outs);
    float *const strips = scratch, *const sums = strips + j->outs * j->width,
                 *const room = sums + j->channels * j->taps * j->width;
    if (c0 >= end) return;
    pack(j, strips, image, pictures, group, room);
    for (int64_t first = c0; first < end; first += j->channels) {
        const int64_t channels = min64(j->channels, end - first);
        const float *const w = j->turned + (group * j->ins + first) * j->taps * j->outs;
        for (int64_t k0 = 0; k0 < j->outs; k0 += block) {
            float *const kept = strips + k0 * j->width;
            j->isa->gemm_panel(channels * j->taps, columns, min64(block, j->outs - k0), 1, w + k0, j->outs, kept,
                               j->width, STORED_F32, false, sums, j->width, k0 > 0, NULL, kept, STRIPS_KEPT);
        }
        for (int64_t i = 0; i < channels * pictures; i++) {
            const int64_t p = i % pictures, channel = group * j->ins + first + i / pictures;
            fold(j, j->dx + ((image + p) * c->ins + channel) * c->in[0] * c->in[1],
                 sums + i / pictures * j->taps * j->width + j->zeros + p * j->plane, j->bias ? j->bias[channel] : 0,
                 room);
        }
    }
}

bool kernel_conv_folded(struct pool *pool, const struct conv *c, float *dx, bool add, const float *dy, const float *w,
                        const float *bias, float *work) {
    struct job j = {.c = c,
                    .isa = isa_get(),
                    .ins = c->ins / c->groups,
                    .outs = c->outs / c->groups,
                    .taps = c->kernel[0] * c->kernel[1],
                    .dy = dy,
                    .w = w,
                    .bias = bias,
                    .dx = dx,
                    .turned = work,
                    .add = add,
                    .blocks = 1};
    if (!plan(&j)) return false;
    pool = conv_pool(pool, c->batch * c->outs * c->out[0] * c->out[1] * j.ins * j.taps);
    const int threads = pool ? pool_threads(pool) : 1;
    while (threads > 1 && j.tiles * j.blocks * c->groups < 4 * threads && j.ins / j.blocks > 8) j.blocks++;
    pool_run(pool, c->groups * ceil_div(j.ins * j.taps, TURN_ROWS), turn_task, &j);
    pool_run(pool, j.tiles * j.blocks * c->groups, fold_task, &j);
    return true;
}
