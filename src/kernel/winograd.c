/* Convolutions by minimal filtering (Winograd 1980; Lavin & Gray 2016), F(4 x 4, 3 x 3): 36 products for what are 144
 * multiply-adds otherwise.
 *
 *     U = G w G',   V = B' x B,   y = A' (sum over channels of U V) A
 *
 * for each 3 x 3 kernel w, and each 6 x 6 part x of a plane, which gives 4 x 4 numbers y. The sums over channels are 36
 * matrix products (outs, ins) x (ins, parts). Inputs are staged by the remainders of rows and columns by 4, so that the
 * numbers that one of the 36 places has in all parts lie in a row. */
#include "kernel/conv.h"
#include "kernel/gemm.h"
#include "kernel/ints.h"
#include <string.h>

#define POINTS    36
#define SIDE      6
#define LANES     16                 /* parts of a picture are rounded up to it: whole vectors of any instruction set */
#define COLUMNS   32                 /* and those of all pictures to whole strips of products */
#define ROWS_ONCE 16                 /* rows of weights of a task */
#define MAX_OUTS  64                 /* channels of a task, of several threads */
#define AT_A_TIME 256                /* parts, or those of one picture: sums of all would take much memory */
#define MAX_FEW   64                 /* parts that are few */
#define FEW_ROOM  ((int64_t)1 << 17) /* floats of transformed weights and sums that stay in L2 */
#define WEIGHTS   400                /* multiply-adds that transforming a kernel costs as much as */
#define FEWEST    16                 /* channels from which on it pays */
#define ROOM      ((int64_t)(HEED_SCRATCH / sizeof(float)))

struct winograd {
    const struct conv *c;
    const struct isa *isa;
    const float *x, *w;
    const struct conv_finish *finish;
    float *y, *u, *v, *sums;              /* u (36, outs, ins), v (36, strips of ins), sums (36, outs, columns) */
    int64_t down, across;                 /* parts of a picture */
    int64_t image, images;                /* at a time */
    int64_t parts, columns;               /* of a picture rounded up, and of these images */
    int64_t u_apart, v_apart, sums_apart; /* from one of the 36 to the next */
    int64_t k_block, outs;                /* outs: channels of a task */
};

static int64_t parts_of(const struct conv *c, int64_t *down, int64_t *across) {
    *down = ceil_div(c->out[0], 4), *across = ceil_div(c->out[1], 4);
    return round_up(*down * *across, LANES);
}

/* Multiply-adds of a channel by a channel: those of the products, and about as many as transforming the weights costs,
 * against those of the convolution, whose planes are rounded up, too. The batch does not count: a picture has the same
 * bits alone and among others. */
static bool fits(const struct conv *c) {
    int64_t down, across;
    for (int i = 0; i < 2; i++)
        if (c->kernel[i] != 3 || c->stride[i] != 1 || c->dilation[i] != 1 || c->padding[i] > 2 || c->out[i] < 4)
            return false;
    const int64_t parts = parts_of(c, &down, &across), whole = round_up(c->out[0] * c->out[1], LANES);
    return c->groups == 1 && c->ins >= FEWEST && c->outs >= FEWEST &&
           (down + 1) * across + 2 * LANES <= ROOM / (4 * SIDE) && POINTS * parts + WEIGHTS < 7 * whole;
}

/* Numbers of one of the 36, and a line more: else all would share a few sets of a cache. */
static int64_t spread(int64_t n) { return round_up(n, LANES) + LANES; }

/* Channels of a task where there are few parts; 0: there are not. */
static int64_t few_outs(const struct conv *c, int64_t columns) {
    int64_t down, across;
    const int64_t outs = FEW_ROOM / (POINTS * (c->ins + columns)) / 12 * 12;
    return columns > MAX_FEW || outs < 12 || c->batch * parts_of(c, &down, &across) > MAX_FEW
               ? 0
               : min64(outs, round_up(ceil_div(c->outs, 2), 12));
}

static int64_t images_of(const struct conv *c, int64_t parts) { return min64(max64(AT_A_TIME / parts, 1), c->batch); }
static int64_t columns_of(const struct conv *c, int64_t parts) {
    return round_up(parts * images_of(c, parts), COLUMNS);
}

int64_t kernel_winograd_work(const struct conv *c) {
    int64_t down, across;
    if (!fits(c)) return 0;
    const int64_t parts = parts_of(c, &down, &across), columns = columns_of(c, parts);
    if (few_outs(c, columns) > 0) return POINTS * spread(c->ins * columns);
    return POINTS * (spread(c->outs * c->ins) + spread(c->ins * columns) + spread(c->outs * columns));
}

/* A plane of a channel: number (row % 4, place in the part's row) of part t at ((row % 4) 6 + place) size + t. */
static void stage(const struct winograd *j, const float *plane, float *to, int64_t size) {
    const struct conv *const c = j->c;
    memset(to, 0, (size_t)(4 * SIDE * size) * sizeof *to);
    for (int64_t row = 0; row < c->in[0]; row++) {
        const int64_t at = row + c->padding[0];
        if (at / 4 > j->down) break;
        for (int64_t s = 0; s < SIDE; s++) {
            float *const put = to + (at % 4 * SIDE + s) * size + at / 4 * j->across;
            const int64_t left = s - c->padding[1], begin = left < 0 ? 1 : 0,
                          end = min64(j->across, c->in[1] > left ? (c->in[1] - left + 3) / 4 : 0);
            const float *const get = plane + row * c->in[1] + left;
            for (int64_t t = begin; t < end; t++) put[t] = get[4 * t];
        }
    }
}

static void input_task(void *arg, int64_t task, void *scratch) {
    const struct winograd *const j = arg;
    const struct conv *const c = j->c;
    const int64_t channel = task % c->ins, image = task / c->ins, strip = j->isa->conv_strip();
    const int64_t k0 = channel / j->k_block * j->k_block, k = min64(j->k_block, c->ins - k0);
    const int64_t size = (j->down + 1) * j->across + LANES;
    float *const staged = scratch;
    stage(j, j->x + (j->image * c->ins + task) * c->in[0] * c->in[1], staged, size);
    for (int64_t t = 0; t < j->parts; t += min64(strip, LANES)) {
        const int64_t column = image * j->parts + t;
        j->isa->winograd_input(j->v + k0 * j->columns + column / strip * strip * k + (channel - k0) * strip +
                                   column % strip,
                               j->v_apart, staged + t, size, j->across, min64(strip, LANES));
    }
}

/* Product i of the 36 for m channels: sums (m, columns). */
static void multiply(const struct winograd *j, int64_t i, int64_t m, const float *u, float *sums) {
    const struct conv *const c = j->c;
    for (int64_t k0 = 0; k0 < c->ins; k0 += j->k_block) {
        const int64_t k = min64(j->k_block, c->ins - k0);
        float *const strips = j->v + i * j->v_apart + k0 * j->columns;
        j->isa->gemm_panel(m, j->images * j->parts, k, 1, u + k0, c->ins, strips, j->isa->conv_strip(), STORED_F32,
                           false, sums, j->columns, k0 > 0, NULL, strips, STRIPS_KEPT);
    }
}

/* A plane from its sums, which are `apart`: the rows of 4 numbers of its parts become rows of it. */
static void put_plane(const struct winograd *j, int64_t image, int64_t o, const float *sums, int64_t apart,
                      float *numbers) {
    const struct conv *const c = j->c;
    const struct conv_finish *const f = j->finish;
    const int64_t width = c->out[1];
    float *const line = numbers + 16 * j->parts;
    j->isa->winograd_output(numbers, j->parts, sums + image * j->parts, apart, j->parts);
    for (int64_t row = 0; row < c->out[0]; row++) {
        const float *const from = numbers + row % 4 * 4 * j->parts + row / 4 * j->across;
        for (int64_t t = 0; t < j->across; t++)
            for (int64_t s = 0; s < 4; s++) line[4 * t + s] = from[s * j->parts + t];
        const int64_t at = (((j->image + image) * c->outs + o) * c->out[0] + row) * width;
        j->isa->conv_finish(j->y + at, line, width, f->scale[o], f->shift[o], f->more ? f->more + at : NULL, f->act);
    }
}

/* ---- many parts: step by step, one product after the other, whose operands stay in the caches ---- */

static void weights_task(void *arg, int64_t task, void *scratch) {
    const struct winograd *const j = arg;
    const int64_t first = task * ROWS_ONCE, rows = min64(ROWS_ONCE, j->c->outs - first), ins = j->c->ins;
    (void)scratch;
    j->isa->winograd_weights(j->u + first * ins, j->u_apart, j->w + first * ins * 9, rows * ins);
}

static void product_task(void *arg, int64_t task, void *scratch) {
    const struct winograd *const j = arg;
    const int64_t outs = j->c->outs, blocks = ceil_div(outs, j->outs), m0 = task % blocks * j->outs;
    const int64_t i = task / blocks;
    (void)scratch;
    multiply(j, i, min64(j->outs, outs - m0), j->u + i * j->u_apart + m0 * j->c->ins,
             j->sums + i * j->sums_apart + m0 * j->columns);
}

static void output_task(void *arg, int64_t task, void *scratch) {
    const struct winograd *const j = arg;
    const int64_t outs = j->c->outs, o = task % outs;
    put_plane(j, task / outs, o, j->sums + o * j->columns, j->sums_apart, scratch);
}

/* ---- few parts: some channels from beginning to end, whose transformed weights no memory but a cache sees ---- */

static void few_task(void *arg, int64_t task, void *scratch) {
    const struct winograd *const j = arg;
    const struct conv *const c = j->c;
    const int64_t m0 = task * j->outs, m = min64(j->outs, c->outs - m0);
    const int64_t apart = spread(m * c->ins), sums_apart = spread(m * j->columns);
    float *const u = scratch, *const sums = u + POINTS * apart, *const numbers = sums + POINTS * sums_apart;
    j->isa->winograd_weights(u, apart, j->w + m0 * c->ins * 9, m * c->ins);
    for (int64_t i = 0; i < POINTS; i++) multiply(j, i, m, u + i * apart, sums + i * sums_apart);
    for (int64_t o = 0; o < m; o++)
        for (int64_t image = 0; image < j->images; image++)
            put_plane(j, image, m0 + o, sums + o * j->columns, sums_apart, numbers);
}

void kernel_winograd(struct pool *pool, const struct conv *c, float *y, const float *x, const float *w,
                     const struct conv_finish *finish, float *work) {
    struct winograd j = {.c = c, .isa = isa_get(), .x = x, .w = w, .finish = finish, .y = y};
    const int threads = pool ? pool_threads(pool) : 1;
    j.parts = parts_of(c, &j.down, &j.across);
    j.images = images_of(c, j.parts);
    j.columns = columns_of(c, j.parts);
    j.k_block = kernel_gemm_block(c->ins);
    j.u_apart = spread(c->outs * c->ins);
    j.v_apart = spread(c->ins * j.columns);
    j.sums_apart = spread(c->outs * j.columns);
    j.outs = few_outs(c, j.columns);
    if (j.outs > 0) {
        j.v = work;
        pool_run(pool, j.images * c->ins, input_task, &j);
        pool_run(pool, ceil_div(c->outs, j.outs), few_task, &j);
        return;
    }
    j.u = work;
    j.v = work + POINTS * j.u_apart;
    j.sums = j.v + POINTS * j.v_apart;
    j.outs = threads == 1 ? c->outs : ceil_div(c->outs, ceil_div(c->outs, MAX_OUTS));
    pool_run(pool, ceil_div(c->outs, ROWS_ONCE), weights_task, &j);
    for (const int64_t once = j.images; j.image < c->batch; j.image += once) {
        j.images = min64(once, c->batch - j.image);
        pool_run(pool, j.images * c->ins, input_task, &j);
        pool_run(pool, POINTS * ceil_div(c->outs, j.outs), product_task, &j);
        pool_run(pool, j.images * c->outs, output_task, &j);
    }
}
