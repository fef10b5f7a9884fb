/* Random features by blocks of rows: w'x of a block, which stays in the caches, and then the functions of it.
 *   dz = f df (positive),   dx = scale (dz W -+ scale x sum(f df)),   dW = scale dz' x
 * Cost: rows x m x d, forward once and backward once (twice with dW). */
#include "kernel/favor.h"
#include "kernel/gemm.h"
#include "kernel/ints.h"
#include "kernel/packed.h"

#define ROWS  48    /* of a block: with 256 features 48 KB */
#define BLOCK 65536 /* floats of w'x of a block, at most; m <= MAX_FAVOR */

struct job {
    const struct isa *isa;
    const struct favor *f;
    const struct favor_grad *g;
    struct packed w;
    float *features, *shift, *all; /* all: dz of every row, or NULL */
};

static float *behind_strips(float *scratch) { return scratch + 256 * 32; }
/* Rows of a block: fewer where there are very many features. */
static int64_t block_of(const struct favor *f) { return max64(1, min64(ROWS, BLOCK / max64(1, f->m))); }

static void run_rows(void *arg, int64_t task, void *scratch) {
    const struct job *const j = arg;
    const struct favor *const f = j->f;
    const int64_t first = task * block_of(f), n = min64(block_of(f), f->rows - first);
    float *const z = behind_strips(scratch);
    kernel_packed_product(&j->w, n, 0, f->m, f->x + first * f->d, f->d, z, f->m, false, NULL, scratch);
    j->isa->favor_rows(f->kind, j->features + first * favor_width(f->kind, f->m), j->shift ? j->shift + first : NULL, z,
                       f->x + first * f->d, n, f->m, f->d, f->scale);
}

size_t kernel_favor_work(const struct favor *f) { return kernel_gemm_packed_size(f->m, f->d); }

void kernel_favor(struct pool *pool, const struct favor *f, float *features, float *shift, float *work) {
    struct job j = {.isa = isa_get(), .f = f, .features = features, .shift = shift};
    j.w = (struct packed){.n = f->m, .k = f->d, .b = f->w, .ldb = f->d, .trans_b = true, .strips = work};
    if (f->rows == 0) return;
    kernel_pack(&j.w);
    pool_run(pool, ceil_div(f->rows, block_of(f)), run_rows, &j);
}

static void run_grad(void *arg, int64_t task, void *scratch) {
    const struct job *const j = arg;
    const struct favor *const f = j->f;
    const struct favor_grad *const g = j->g;
    const int64_t first = task * block_of(f), n = min64(block_of(f), f->rows - first);
    const int64_t width = favor_width(f->kind, f->m);
    float sum[ROWS], *const room = behind_strips(scratch);
    float *const dz = j->all ? j->all + first * f->m : room, *const product = room + BLOCK;
    j->isa->favor_grad_rows(f->kind, dz, sum, g->f + first * width, g->df + first * width, n, f->m);
    if (!g->dx) return;
    kernel_packed_product(&j->w, n, 0, f->d, dz, f->m, product, f->d, false, NULL, scratch);
    const float sign = f->kind == FAVOR_TRIGONOMETRIC ? 1 : -1;
    for (int64_t i = 0; i < n; i++) {
        const float *const x = f->x + (first + i) * f->d;
        float *const dx = g->dx + (first + i) * f->d, *const p = product + i * f->d;
        j->isa->scale_part(p, f->scale, p, f->d);
        j->isa->axpy_part(p, sign * f->scale * f->scale * sum[i], x, f->d);
        if (g->add_x)
            j->isa->axpy_part(dx, 1, p, f->d);
        else
            j->isa->scale_part(dx, 1, p, f->d);
    }
}

static size_t strips_size(const struct favor *f) { return (kernel_gemm_packed_size(f->d, f->m) + 63) / 64 * 64; }

size_t kernel_favor_grad_work(const struct favor *f, bool dw) {
    return strips_size(f) + (dw ? (size_t)(f->rows * f->m) * sizeof(float) : 0);
}

void kernel_favor_grad(struct pool *pool, const struct favor *f, const struct favor_grad *g) {
    struct job j = {.isa = isa_get(), .f = f, .g = g};
    j.w = (struct packed){.n = f->d, .k = f->m, .b = f->w, .ldb = f->d, .strips = g->work};
    if (g->dw) j.all = g->work + strips_size(f) / sizeof(float);
    if (f->rows > 0) {
        kernel_pack(&j.w);
        pool_run(pool, ceil_div(f->rows, block_of(f)), run_grad, &j);
    }
    if (!g->dw) return;
    kernel_gemm(pool, &(struct gemm){.m = f->m,
                                     .n = f->d,
                                     .k = f->rows,
                                     .a = j.all,
                                     .lda = f->m,
                                     .trans_a = true,
                                     .b = f->x,
                                     .ldb = f->d,
                                     .c = g->dw,
                                     .ldc = f->d,
                                     .add = g->add_w,
                                     .alpha = f->scale});
}
