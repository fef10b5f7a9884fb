/* Matrix products: how the work is cut; the inner loops are in isa/gemm.c.
 *
 * A task is a block of C for some products of the batch. Within it k goes by blocks of a length that k alone decides:
 * rows of op(A) are copied to contiguous memory where that pays, B is packed strip by strip while the first rows use
 * it, C is stored by the first block of k and added to by the others, and the epilogue follows the last. Invariant:
 * nothing but the length of the blocks of k touches the order in which an element is summed, so the cut may follow
 * threads and caches freely. */
#include "kernel/gemm.h"
#include "base/vectors.h"
#include "kernel/ints.h"
#include <pthread.h>
#include <string.h>
#include <unistd.h>

/* K_BLOCK is part of every result: it decides where a chain of multiply-adds ends and the next begins. */
#define K_BLOCK   256 /* most of k in one chain; a strip of B is then 16 KB (AVX-512: 32 KB), half of L1 */
#define M_UNIT    12  /* rows of a tile, at most: isa/tiles.h */
#define STRIP     32  /* columns that isa->gemm_panel packs at once, at most: isa/tiles.h */
#define APART     16  /* floats, one line: between rows that are copied, which else share a few sets of a cache */
#define M_LARGEST 768 /* the most that struct blocks may hold: what the scratch has room for */
#define MAX_KEPT  1024
_Static_assert((MAX_KEPT * K_BLOCK + M_LARGEST * (K_BLOCK + APART)) * sizeof(float) <= HEED_SCRATCH,
               "the packed parts fit the scratch");

/* Nothing below changes a bit; it decides only what lies in which cache, and when. None is sharp: on Zen 3 (AVX2, 512
 * KB of L2, one thread, CPU time) halving or doubling any one of the sizes, or those of struct blocks, changed the
 * geometric mean over 14 shapes, as y = x W', dx, dW and with gelu, by 1.3 % at most, which is what two runs differ by.
 * Packing B for one or two rows (FEW_ROWS 1) cost 11 to 15 %. */
#define N_BLOCK   2048               /* columns for which A is copied once; C, m rows of them, is 3 MB */
#define M_MOST    2304               /* rows of a task */
#define FEW_ROWS  4                  /* with fewer rows B stored (n,k) is read once, where it lies: */
#define FEW_BLOCK 128                /* by so few columns that each of its rows is read from end to end */
#define WORTH_A   128                /* columns from which on copying rows of A pays, where they share cache sets, */
#define WIDE_A    512                /* and where they do not */
#define WORTH_M   16                 /* and rows */
#define WAKE_WORK 65536              /* multiply-adds that are worth waking a thread: 1.5 us at 45 a ns */
#define TASK_WORK ((int64_t)1 << 23) /* multiply-adds of a task, where there are enough: 0.2 ms */

/* What L2 holds: rows of A in three quarters of it, or as much as all of it of packed B, or of C. */
struct blocks {
    int64_t m;     /* rows of A, K_BLOCK long */
    int64_t kept;  /* columns over which B is packed once for all rows of a task */
    int64_t panel; /* columns of C after which the epilogue is called, m rows each */
};

struct axes {
    int count;
    int64_t total; /* product of the sizes */
    int64_t size[GEMM_BATCH_AXES], a[GEMM_BATCH_AXES], b[GEMM_BATCH_AXES], c[GEMM_BATCH_AXES];
};

struct job {
    const struct isa *isa;
    struct gemm g;
    struct blocks blocks;
    struct axes items;                 /* products that go to different places of C */
    struct axes terms;                 /* products that are added up, in order, in each of them */
    int64_t k_block, m_block, n_block; /* sizes of the blocks */
    int64_t m_blocks, n_blocks, items_per_task, tasks;
    const float *strips; /* of B, packed before; NULL: it is not */
    int64_t strips_n;    /* columns that they have, */
    int64_t strips_at;   /* and the one that B begins with */
};

static void axes_push(struct axes *x, int64_t size, int64_t a, int64_t b, int64_t c) {
    const int i = x->count++;
    x->size[i] = size, x->a[i] = a, x->b[i] = b, x->c[i] = c;
    x->total *= size;
}

/* Moves g's operands to product `index` of x, the last axis running fastest. */
static void axes_move(const struct axes *x, int64_t index, struct gemm *g) {
    for (int i = x->count - 1; i >= 0; i--) {
        const int64_t at = index % x->size[i];
        index /= x->size[i];
        g->a += at * x->a[i];
        g->b = (const char *)g->b + at * x->b[i] * stored_size(g->b_type);
        g->c += at * x->c[i];
        if (g->pre) g->pre += at * x->c[i];
        if (g->more) g->more += at * x->c[i];
    }
}

static bool has_epilogue(const struct gemm *g) { return g->pre || g->act != ACT_NONE || g->norm; }

static void normalise(const struct isa *isa, const struct gemm *g, int64_t m0, int64_t m, int64_t n0, int64_t n) {
    const float *const scale = g->norm->scale, *const shift = g->norm->shift;
    for (int64_t i = m0; i < m0 + m; i++) {
        float *const c = g->c + i * g->ldc + n0;
        if (!g->norm->columns) {
            isa->conv_finish(c, c, n, scale[i], shift[i], g->more ? g->more + i * g->ldc + n0 : NULL, g->act);
            continue;
        }
        VECTORS
        for (int64_t k = 0; k < n; k++) c[k] = c[k] * scale[n0 + k] + shift[n0 + k];
        if (g->act != ACT_NONE) isa->bias_act(c, n, 1, n, NULL, g->act, NULL);
    }
}

static void epilogue(const struct isa *isa, const struct gemm *g, int64_t m0, int64_t m, int64_t n0, int64_t n,
                     const float *bias) {
    const int64_t at = m0 * g->ldc + n0;
    if (g->norm)
        normalise(isa, g, m0, m, n0, n);
    else
        isa->bias_act(g->c + at, g->ldc, m, n, bias ? bias + n0 : NULL, g->act, g->pre ? g->pre + at : NULL);
}

/* Do rows `ld` floats apart, of which k are read, share a few sets of a cache? Sets repeat with a power of two: those
 * that rows begin at are as far apart as the largest one that divides ld. */
static bool share_sets(int64_t ld, int64_t k) { return (ld & -ld) > k; }

/* Rows m0 .. m0 + m of op(A), columns k0 .. k0 + k: where they are, or copied to `room`. */
static const float *rows_of_a(const struct job *j, const struct gemm *g, int64_t m0, int64_t m, int64_t k0, int64_t k,
                              int64_t n, float *room, int64_t *ld) {
    if (g->trans_a) {
        *ld = k + APART;
        j->isa->gemm_transpose(room, *ld, g->a + k0 * g->lda + m0, g->lda, k, m);
        return room;
    }
    const float *a = g->a + m0 * g->lda + k0;
    *ld = g->lda;
    if (n < (share_sets(g->lda, k) ? WORTH_A : WIDE_A) || m < WORTH_M || g->lda == k) return a;
    *ld = k + APART;
    for (int64_t i = 0; i < m; i++) memcpy(room + i * *ld, a + i * g->lda, (size_t)k * sizeof(float));
    return room;
}

int64_t kernel_gemm_block(int64_t k) { return round_up(ceil_div(k, ceil_div(k, K_BLOCK)), 8); }

/* Some rows and the columns n0 .. n0 + n of one product, for one block of k; `final` is the last of them all. */
static void product_rows(const struct job *j, const struct gemm *g, int64_t m0, int64_t m, int64_t n0, int64_t n,
                         int64_t k0, int64_t k, bool final, float *strips, enum gemm_strips kept, float *room) {
    const float *const late_bias = g->add ? g->bias : NULL;
    const bool finish = final && (late_bias || has_epilogue(g));
    const int64_t step = finish ? j->blocks.panel : n;
    /* the bias costs nothing where the first block of k stores; else it comes last */
    const float *const bias = g->add || k0 > 0 ? NULL : g->bias;
    int64_t lda;
    const float *const a = rows_of_a(j, g, m0, m, k0, k, n, room, &lda);
    for (int64_t at = n0; at < n0 + n; at += step) {
        const int64_t width = min64(step, n0 + n - at);
        const int64_t from = g->trans_b ? at * g->ldb + k0 : k0 * g->ldb + at;
        j->isa->gemm_panel(m, width, k, g->alpha, a, lda, (const char *)g->b + from * stored_size(g->b_type), g->ldb,
                           g->b_type, g->trans_b, g->c + m0 * g->ldc + at, g->ldc, g->add || k0 > 0,
                           bias ? bias + at : NULL, strips + (kept ? (at - n0) * k : 0), kept);
        if (finish) epilogue(j->isa, g, m0, m, at, width, late_bias);
    }
}

/* Rows m0 .. m0 + m and columns n0 .. n0 + n of one product. */
static void product(const struct job *j, const struct gemm *g, int64_t m0, int64_t m, int64_t n0, int64_t n, bool last,
                    float *scratch) {
    const int64_t parts = ceil_div(m, j->blocks.m), rows = round_up(ceil_div(m, parts), M_UNIT);
    float *const room = scratch + j->blocks.kept * K_BLOCK;
    for (int64_t k0 = 0; k0 < g->k; k0 += j->k_block) {
        const int64_t k = min64(j->k_block, g->k - k0);
        for (int64_t at = 0; at < m; at += rows) {
            const enum gemm_strips kept = j->strips    ? STRIPS_KEPT
                                          : parts == 1 ? STRIPS_PASS
                                          : at == 0    ? STRIPS_KEEP
                                                       : STRIPS_KEPT;
            const float *const strips = j->strips ? j->strips + k0 * j->strips_n + (j->strips_at + n0) * k : scratch;
            product_rows(j, g, m0 + at, min64(rows, m - at), n0, n, k0, k, last && k0 + k == g->k,
                         (float *)(uintptr_t)strips, kept, room); /* kept ones are only read */
        }
    }
}

/* A sum of no terms. */
static void nothing(const struct job *j, const struct gemm *g) {
    for (int64_t i = 0; i < g->m && !g->add; i++) memset(g->c + i * g->ldc, 0, (size_t)g->n * sizeof(float));
    if (g->bias || has_epilogue(g)) epilogue(j->isa, g, 0, g->m, 0, g->n, g->bias);
}

static void run_task(void *arg, int64_t task, void *scratch) {
    const struct job *const j = arg;
    const int64_t m0 = task % j->m_blocks * j->m_block, rest = task / j->m_blocks;
    const int64_t n0 = rest % j->n_blocks * j->n_block, first = rest / j->n_blocks * j->items_per_task;
    const int64_t m = min64(j->m_block, j->g.m - m0), n = min64(j->n_block, j->g.n - n0);
    for (int64_t item = first; item < min64(first + j->items_per_task, j->items.total); item++) {
        for (int64_t term = 0; term < j->terms.total; term++) {
            struct gemm g = j->g;
            axes_move(&j->items, item, &g);
            axes_move(&j->terms, term, &g);
            if (term > 0) {
                if (!g.add) g.bias = NULL; /* the first term has taken it */
                g.add = true;
            }
            product(j, &g, m0, m, n0, n, term + 1 == j->terms.total, scratch);
        }
    }
}

static void run_nothing(const struct job *j) {
    for (int64_t item = 0; item < j->items.total; item++) {
        struct gemm g = j->g;
        g.a = g.b = g.c; /* not read, perhaps NULL */
        axes_move(&j->items, item, &g);
        nothing(j, &g);
    }
}

/* Sorts the axes of the batch: those along which rows of A and C continue evenly are more rows. */
static void sort_axes(struct job *j, const struct gemm_batch *batch) {
    struct gemm *const g = &j->g;
    j->items.total = j->terms.total = 1;
    int axes = batch ? batch->axes : 0;
    for (; axes > 0; axes--) {
        const int i = axes - 1;
        if (batch->size[i] == 1) continue;
        if (g->trans_a || (g->norm && !g->norm->columns) || batch->b[i] != 0 || batch->a[i] != g->m * g->lda ||
            batch->c[i] != g->m * g->ldc)
            break;
        g->m *= batch->size[i];
    }
    for (int i = 0; i < axes; i++)
        if (batch->size[i] != 1)
            axes_push(batch->c[i] == 0 ? &j->terms : &j->items, batch->size[i], batch->a[i], batch->b[i], batch->c[i]);
}

/* How many tasks there should be: some for each thread, so that all are busy to the end, where each is worth it. */
static int64_t tasks_wanted(int64_t work, int threads) {
    if (threads == 1 || work < 2 * WAKE_WORK) return 1;
    if (work < threads * WAKE_WORK) return work / WAKE_WORK;
    const int64_t want = work / TASK_WORK;
    return want < threads ? threads : min64(want, 4 * threads);
}

/* Cuts C into blocks, no larger than the caches allow, of which the longer side is cut again until there are enough
 * tasks; or puts several small products into a task. */
static void cut(struct job *j, int threads) {
    const struct gemm *const g = &j->g;
    const int64_t items = j->items.total, want = tasks_wanted(g->m * g->n * g->k * j->terms.total * items, threads);
    j->k_block = kernel_gemm_block(g->k);
    j->m_blocks = ceil_div(g->m, M_MOST);
    const bool few = g->trans_b && g->m < FEW_ROWS;
    const int64_t widest = g->m > j->blocks.m ? j->blocks.kept : few ? FEW_BLOCK : N_BLOCK;
    j->n_blocks = ceil_div(g->n, widest);
    while (true) {
        j->m_block = min64(round_up(ceil_div(g->m, j->m_blocks), M_UNIT), M_MOST);
        j->n_block = min64(round_up(ceil_div(g->n, j->n_blocks), STRIP), widest);
        const bool long_m = j->m_block > M_UNIT, long_n = j->n_block > STRIP;
        const int64_t tasks = j->m_blocks * j->n_blocks * items;
        const bool even = want == 1 || tasks % threads == 0 || tasks > 8 * threads; /* else some wait for the last */
        if ((tasks >= want && even) || (!long_m && !long_n)) break;
        if (long_m && (j->m_block > j->n_block || !long_n))
            j->m_blocks++;
        else
            j->n_blocks++;
    }
    j->m_blocks = ceil_div(g->m, j->m_block);
    j->n_blocks = ceil_div(g->n, j->n_block);
    j->items_per_task = j->m_blocks * j->n_blocks == 1 ? ceil_div(items, want) : 1;
    j->tasks = j->m_blocks * j->n_blocks * ceil_div(items, j->items_per_task);
}

/* ---- B packed before ---- blocks of k, in each all strips of columns: (k / k_block, n / NR, k_block, NR) */

static int64_t packed_columns(int64_t n) { return round_up(n, STRIP); }

size_t kernel_gemm_packed_size(int64_t n, int64_t k) { return (size_t)packed_columns(n) * (size_t)k * sizeof(float); }

struct pack_job {
    const struct isa *isa;
    const struct gemm_packed *p;
    float *strips;
    int64_t k_block, n_blocks;
};

static void run_pack(void *arg, int64_t task, void *scratch) {
    (void)scratch;
    const struct pack_job *const j = arg;
    const struct gemm_packed *const p = j->p;
    const int64_t n0 = task % j->n_blocks * N_BLOCK, k0 = task / j->n_blocks * j->k_block;
    const int64_t n = min64(N_BLOCK, p->n - n0), k = min64(j->k_block, p->k - k0);
    j->isa->gemm_pack(j->strips + k0 * packed_columns(p->n) + n0 * k,
                      p->b + (p->trans_b ? n0 * p->ldb + k0 : k0 * p->ldb + n0), p->ldb, STORED_F32, p->trans_b, k, n);
}

/* With the instruction set given: for the tests. */
void kernel_gemm_pack_isa(const struct isa *isa, struct pool *pool, const struct gemm_packed *p, float *strips);
void kernel_gemm_pack_isa(const struct isa *isa, struct pool *pool, const struct gemm_packed *p, float *strips) {
    if (p->n == 0 || p->k == 0) return;
    struct pack_job j = {isa, p, strips, kernel_gemm_block(p->k), ceil_div(p->n, N_BLOCK)};
    pool_run(pool, j.n_blocks * ceil_div(p->k, j.k_block), run_pack, &j);
}

void kernel_gemm_pack(struct pool *pool, const struct gemm_packed *p, float *strips) {
    kernel_gemm_pack_isa(isa_get(), pool, p, strips);
}

/* Takes the strips of B, where they begin with one of its columns. */
static void use_packed(struct job *j) {
    const struct gemm *const g = &j->g;
    const struct gemm_packed *const p = g->packed;
    if (!p || g->m < FEW_ROWS || j->items.total * j->terms.total != 1 || g->b_type != STORED_F32 || g->k != p->k ||
        g->ldb != p->ldb || g->trans_b != p->trans_b)
        return;
    const int64_t at = (const float *)g->b - p->b, first = p->trans_b ? at / p->ldb : at;
    if (first % STRIP != 0 || (p->trans_b ? first * p->ldb != at : at >= p->ldb)) return;
    j->strips = p->strips;
    j->strips_n = packed_columns(p->n);
    j->strips_at = first;
}

/* ---- the caches of this CPU ---- */

static int64_t within(int64_t x, int64_t low, int64_t high) { return x < low ? low : x > high ? high : x; }

static struct blocks blocks_for(int64_t cache) { /* bytes of L2 */
    const int64_t row = K_BLOCK * (int64_t)sizeof(float);
    struct blocks b = {.m = within(cache * 3 / 4 / row / M_UNIT * M_UNIT, 8 * M_UNIT, M_LARGEST),
                       .kept = within(cache / row / STRIP * STRIP, 4 * STRIP, MAX_KEPT)};
    b.panel = within(cache / (b.m * (int64_t)sizeof(float)) / STRIP * STRIP, STRIP, N_BLOCK);
    return b;
}

static struct blocks own_blocks;

static void find_blocks(void) {
    long cache = 0;
#if defined(_SC_LEVEL2_CACHE_SIZE)
    cache = sysconf(_SC_LEVEL2_CACHE_SIZE); /* 0 or -1 where the system does not know */
#endif
    own_blocks = blocks_for(cache > 0 ? cache : 512 << 10);
}

/* With the instruction set and the size of L2 given (0: this CPU's): for the tests. */
void kernel_gemm_isa(const struct isa *isa, int64_t cache, struct pool *pool, const struct gemm *g,
                     const struct gemm_batch *batch);
void kernel_gemm_isa(const struct isa *isa, int64_t cache, struct pool *pool, const struct gemm *g,
                     const struct gemm_batch *batch) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_blocks);
    struct job j = {.isa = isa, .g = *g, .blocks = cache > 0 ? blocks_for(cache) : own_blocks};
    sort_axes(&j, batch);
    if (j.g.m == 0 || j.g.n == 0 || j.items.total == 0) return;
    if (j.g.k == 0 || j.terms.total == 0) {
        run_nothing(&j);
        return;
    }
    cut(&j, pool ? pool_threads(pool) : 1);
    use_packed(&j);
    pool_run(pool, j.tasks, run_task, &j);
}

void kernel_gemm(struct pool *pool, const struct gemm *g) { kernel_gemm_isa(isa_get(), 0, pool, g, NULL); }

void kernel_gemm_batch(struct pool *pool, const struct gemm *g, const struct gemm_batch *batch) {
    kernel_gemm_isa(isa_get(), 0, pool, g, batch);
}
