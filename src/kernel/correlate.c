/* Correlations as products of weights and patches, which are laid out tile by tile. */
#include "kernel/gemm.h"
#include "kernel/ints.h"
#include "kernel/patches.h"
#include "kernel/phases.h"
#include "kernel/rows.h"
#include <string.h>

#define LD        PATCH_LD
#define STRIPS    ((PATCH_COLS + 64) * 256) /* floats of the strips of a tile, for a block of k */
#define MAX_OUTS  384                       /* channels of outputs in a task */
#define MAX_ROWS  PATCH_ROWS                /* rows of k in a task of the weights' gradient, */
#define MAX_WIDE  256                       /* and its channels of outputs */
#define WAKE_WORK (1 << 17)                 /* multiply-adds that are worth waking a thread */
#define ROOM      ((int64_t)(HEED_SCRATCH / sizeof(float)))
_Static_assert(STRIPS + MAX_OUTS * LD < HEED_SCRATCH / sizeof(float) * 2 / 3, "forward leaves room to stage");
_Static_assert(MAX_ROWS *LD + MAX_ROWS * MAX_WIDE + MAX_WIDE * LD + 256 * 64 < HEED_SCRATCH / sizeof(float) * 4 / 5,
               "so does the gradient of the weights");

struct job {
    struct patches p;
    int64_t m_block, m_blocks; /* channels of outputs in a task */
    int64_t k_rows, k_blocks;  /* of the weights' gradient: rows of k */
    const float *in, *weight, *bias, *dout;
    const struct conv_finish *finish;
    float *out;
    bool add;
};

/* ---- the product ---- */

static void put_tile(const struct job *j, const struct tile *t, int64_t channel, int64_t m, const float *from) {
    const struct conv_axis *const x = &j->p.c->x, *const y = &j->p.c->y;
    const int64_t outs = j->p.c->groups * j->p.c->outs;
    const struct conv_finish *const f = j->finish;
    const bool whole = t->width == x->out && x->to_step == 1 && y->to_step == 1;
    for (int64_t i = 0; i < m; i++)
        for (int q = 0; q < t->parts; q++) {
            const struct part *const p = &t->part[q];
            float *const plane = j->out + (p->image * outs + channel + i) * y->out * x->out;
            const float bias = j->bias ? j->bias[channel + i] : 0;
            const int64_t rows = whole ? 1 : p->rows, n = whole ? p->rows * t->width : t->width;
            for (int64_t r = 0; r < rows; r++) {
                float *const to =
                    plane + ((p->y + r) * y->to_step + y->to_first) * x->out + t->x0 * x->to_step + x->to_first;
                const float *const sums = from + i * LD + p->column + r * n;
                if (f)
                    j->p.isa->conv_finish(to, sums, n, f->scale[channel + i], f->shift[channel + i],
                                          f->more ? f->more + (to - j->out) : NULL, f->act);
                else
                    j->p.isa->conv_put(to, x->to_step, sums, n, bias, j->add);
            }
        }
}

static void correlate_task(void *arg, int64_t task, void *scratch) {
    const struct job *const j = arg;
    const struct correlation *const c = j->p.c;
    const int64_t rest = task / j->p.tiles, m0 = rest % j->m_blocks * j->m_block, group = rest / j->m_blocks;
    const int64_t m = min64(j->m_block, c->outs - m0), channel = group * c->outs + m0;
    const int64_t block = j->p.k > 0 ? kernel_gemm_block(j->p.k) : 1, strip = j->p.isa->conv_strip();
    float *const strips = scratch, *const sums = strips + STRIPS, *const room = sums + MAX_OUTS * LD;
    struct tile t;
    patches_tile(&j->p, task % j->p.tiles, &t);
    for (int64_t k0 = 0; k0 < j->p.k; k0 += block) {
        const int64_t k = min64(block, j->p.k - k0);
        patches_lay(&j->p, &t, j->in + group * c->ins * c->y.in * c->x.in, k0, k, strips, strip, room,
                    ROOM - (room - (float *)scratch));
        j->p.isa->gemm_panel(m, t.columns, k, 1, j->weight + channel * j->p.k + k0, j->p.k, strips, strip, STORED_F32,
                             false, sums, LD, k0 > 0, NULL, strips, STRIPS_KEPT);
    }
    if (j->p.k == 0) memset(sums, 0, (size_t)(m * LD) * sizeof *sums);
    put_tile(j, &t, channel, m, sums);
}

static struct job job_of(const struct correlation *c) {
    struct job j = {.p = {.isa = isa_get(), .c = c, .taps = c->y.taps * c->x.taps}};
    j.p.k = c->ins * j.p.taps;
    return j;
}

/* Of depthwise convolutions, whose rows are sums of their own. */
static void finish_rows(const void *arg, int64_t first, int64_t rows) {
    const struct job *const j = arg;
    const struct conv_finish *const f = j->finish;
    const int64_t plane = j->p.c->y.out * j->p.c->x.out, outs = j->p.c->groups * j->p.c->outs;
    for (int64_t r = first; r < first + rows; r++) {
        float *const y = j->out + r * plane;
        j->p.isa->conv_finish(y, y, plane, f->scale[r % outs], f->shift[r % outs], f->more ? f->more + r * plane : NULL,
                              f->act);
    }
}
static void finish_planes(struct pool *pool, const struct job *j) {
    const struct correlation *const c = j->p.c;
    kernel_rows(pool, c->batch * c->groups * c->outs, c->y.out * c->x.out, finish_rows, j);
}

struct pool *conv_pool(struct pool *pool, int64_t work) {
    return work < WAKE_WORK ? NULL : pool;
}

void kernel_correlate(struct pool *pool, const struct correlation *c, float *out, bool add, const float *in,
                      const float *weight, const float *bias, const struct conv_finish *finish) {
    if (c->batch * c->groups * c->outs * c->y.n * c->x.n == 0) return;
    struct job j = job_of(c);
    j.out = out, j.add = add, j.in = in, j.weight = weight, j.bias = bias, j.finish = finish;
    if (kernel_depthwise(pool, &j.p, out, add, in, weight, bias)) {
        if (finish) finish_planes(pool, &j);
        return;
    }
    patches_cut(&j.p);
    const int64_t work = c->batch * c->groups * c->outs * c->y.n * c->x.n * (j.p.k + 1);
    pool = conv_pool(pool, work);
    const int threads = pool ? pool_threads(pool) : 1;
    j.m_blocks = ceil_div(c->outs, MAX_OUTS);
    while (threads > 1 && c->outs / j.m_blocks > 48) { /* each block lays out the patches again */
        const int64_t tasks = j.m_blocks * j.p.tiles * c->groups;
        if (tasks >= 8 * threads || (tasks >= 2 * threads && tasks % threads == 0)) break;
        j.m_blocks++;
    }
    j.m_block = min64(round_up(ceil_div(c->outs, j.m_blocks), 12), MAX_OUTS);
    j.m_blocks = ceil_div(c->outs, j.m_block);
    pool_run(pool, j.p.tiles * j.m_blocks * c->groups, correlate_task, &j);
}

/* ---- the weights' gradient: dweight' (k,outs) = patches (k,places) dout' (places,outs), tile by tile ---- */

/* Rows of dout for a tile: where they lie, or, of several pictures, copied to `room`. */
static const float *douts_of(const struct job *j, const struct tile *t, int64_t channel, int64_t n, float *room,
                             int64_t *ld) {
    const int64_t width = j->p.c->x.n, plane = j->p.c->y.n * width, outs = j->p.c->groups * j->p.c->outs;
    const struct part *const p = t->part;
    if (t->parts == 1) {
        *ld = plane;
        return j->dout + (p->image * outs + channel) * plane + p->y * width + t->x0;
    }
    *ld = LD;
    for (int64_t o = 0; o < n; o++)
        for (int q = 0; q < t->parts; q++)
            memcpy(room + o * LD + p[q].column, j->dout + (p[q].image * outs + channel + o) * plane + p[q].y * width,
                   (size_t)(p[q].rows * width) * sizeof *room);
    return room;
}

static void weight_task(void *arg, int64_t task, void *scratch) {
    const struct job *const j = arg;
    const struct correlation *const c = j->p.c;
    const int64_t k0 = task % j->k_blocks * j->k_rows, rest = task / j->k_blocks;
    const int64_t o0 = rest % j->m_blocks * j->m_block, group = rest / j->m_blocks;
    const int64_t k = min64(j->k_rows, j->p.k - k0), n = min64(j->m_block, c->outs - o0),
                  channel = group * c->outs + o0;
    float *const rows = scratch, *const sums = rows + MAX_ROWS * LD, *const douts = sums + MAX_ROWS * MAX_WIDE;
    float *const strips = douts + MAX_WIDE * LD, *const room = strips + 256 * 64;
    struct tile t;
    for (int64_t i = 0; i < j->p.tiles; i++) {
        int64_t ld;
        patches_tile(&j->p, i, &t);
        patches_lay(&j->p, &t, j->in + group * c->ins * c->y.in * c->x.in, k0, k, rows, PATCH_COLS, room,
                    ROOM - (room - (float *)scratch));
        const float *const dout = douts_of(j, &t, channel, n, douts, &ld);
        j->p.isa->gemm_panel(k, n, t.columns, 1, rows, LD, dout, ld, STORED_F32, true, sums, n, i > 0, NULL, strips,
                             STRIPS_PASS);
    }
    float *const turned = rows; /* (n,k) */
    j->p.isa->gemm_transpose(turned, k, sums, n, k, n);
    for (int64_t o = 0; o < n; o++)
        j->p.isa->conv_put(j->out + (channel + o) * j->p.k + k0, 1, turned + o * k, k, 0, j->add);
}

void kernel_correlate_weight(struct pool *pool, const struct correlation *c, float *dweight, bool add, const float *in,
                             const float *dout) {
    struct job j = job_of(c);
    const int64_t places = c->batch * c->y.n * c->x.n, count = c->groups * c->outs * j.p.k;
    if (count == 0) return;
    if (places == 0) {
        if (!add) memset(dweight, 0, (size_t)count * sizeof *dweight);
        return;
    }
    if (kernel_depthwise_weight(pool, &j.p, dweight, add, in, dout)) return;
    j.out = dweight, j.add = add, j.in = in, j.dout = dout;
    patches_cut(&j.p);
    pool = conv_pool(pool, places * count);
    const int threads = pool ? pool_threads(pool) : 1;
    j.m_block = ceil_div(c->outs, ceil_div(c->outs, MAX_WIDE));
    j.m_blocks = ceil_div(c->outs, j.m_block);
    j.k_rows = min64(j.p.taps <= MAX_ROWS ? MAX_ROWS / j.p.taps * j.p.taps : MAX_ROWS, j.p.k);
    while (threads > 1) { /* long enough to gain by what they share, and enough of them */
        const int64_t tasks = ceil_div(j.p.k, j.k_rows) * j.m_blocks * c->groups;
        if (j.k_rows <= 36 || tasks >= 4 * threads || (tasks >= threads && j.k_rows <= MAX_ROWS / 2)) break;
        j.k_rows = ceil_div(j.k_rows, 2);
    }
    j.k_blocks = ceil_div(j.p.k, j.k_rows);
    pool_run(pool, j.k_blocks * j.m_blocks * c->groups, weight_task, &j);
}
