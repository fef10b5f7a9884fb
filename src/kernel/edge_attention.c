/* Attention along edges on several threads: each row of edges is one task's, and sums over all nodes are made of blocks
 * of nodes. */
#include "kernel/edge_attention.h"
#include "kernel/ints.h"
#include "kernel/move.h"
#include "kernel/rows.h"

#define NODES_BLOCK 512 /* nodes whose part of da is summed on its own */

struct job {
    const struct isa *isa;
    const struct edge_attention *e;
    float *alpha, *dx, *dt, *parts;
    const float *s, *t, *x, *a, *l, *r, *de;
    int64_t nodes;
    bool add, sources;
};

/* Rows of about as many numbers as there are on the average. */
static void by_rows(struct pool *pool, const struct job *j, int64_t numbers, rows_fn fn) {
    const int64_t rows = j->sources ? j->e->edges.sources : j->e->edges.targets;
    kernel_rows(pool, rows, max64(1, numbers * (j->e->edges.room / max64(rows, 1) + 1)), fn, j);
}

static void static_rows(const void *arg, int64_t first, int64_t rows) {
    const struct job *const j = arg;
    j->isa->edge_static(j->e, j->alpha, j->s, j->t, first, rows);
}

void kernel_edge_static(struct pool *pool, const struct edge_attention *e, float *alpha, const float *s,
                        const float *t) {
    by_rows(pool, &(struct job){.isa = isa_get(), .e = e, .alpha = alpha, .s = s, .t = t}, 8 * e->heads, static_rows);
}

static void dynamic_rows(const void *arg, int64_t first, int64_t rows) {
    const struct job *const j = arg;
    j->isa->edge_dynamic(j->e, j->alpha, j->l, j->r, j->a, first, rows);
}

void kernel_edge_dynamic(struct pool *pool, const struct edge_attention *e, float *alpha, const float *l,
                         const float *r, const float *a) {
    by_rows(pool, &(struct job){.isa = isa_get(), .e = e, .alpha = alpha, .l = l, .r = r, .a = a}, e->heads * e->size,
            dynamic_rows);
}

static void softmax_grad_rows(const void *arg, int64_t first, int64_t rows) {
    const struct job *const j = arg;
    j->isa->edge_softmax_grad(j->e, j->dx, j->a, first, rows);
}

void kernel_edge_softmax_grad(struct pool *pool, const struct edge_attention *e, float *dalpha, const float *alpha) {
    by_rows(pool, &(struct job){.isa = isa_get(), .e = e, .dx = dalpha, .a = alpha}, 2 * e->heads, softmax_grad_rows);
}

static void static_grad_rows(const void *arg, int64_t first, int64_t rows) {
    const struct job *const j = arg;
    j->isa->edge_static_grad(j->e, j->dx, j->s, j->t, j->dt, first, rows);
}

void kernel_edge_static_grad(struct pool *pool, const struct edge_attention *e, float *de, const float *s,
                             const float *t, float *dt) {
    by_rows(pool, &(struct job){.isa = isa_get(), .e = e, .dx = de, .s = s, .t = t, .dt = dt}, 2 * e->heads,
            static_grad_rows);
}

/* ---- scores of nodes ---- */

static void score_rows(const void *arg, int64_t first, int64_t rows) {
    const struct job *const j = arg;
    const int64_t heads = j->e->heads, size = j->e->size;
    j->isa->node_scores(j->dx + first * heads, j->x + first * heads * size, j->a, heads, size, rows);
}

void kernel_node_scores(struct pool *pool, const struct edge_attention *e, float *s, const float *x, const float *a,
                        int64_t nodes) {
    kernel_rows(pool, nodes, e->heads * e->size, score_rows,
                &(struct job){.isa = isa_get(), .e = e, .dx = s, .x = x, .a = a});
}

static int64_t blocks_of(int64_t nodes) { return ceil_div(nodes, NODES_BLOCK); }

size_t kernel_node_work(const struct edge_attention *e, int64_t nodes) {
    return (size_t)(blocks_of(nodes) * e->heads * e->size) * sizeof(float);
}

/* da = or += the sum of the blocks' parts. */
static void add_parts(const struct job *j, float *da, bool add) {
    const int64_t n = j->e->heads * j->e->size;
    for (int64_t b = 1; b < blocks_of(j->nodes); b++) j->isa->add_part(j->parts, j->parts, j->parts + b * n, n);
    if (add)
        j->isa->add_part(da, da, j->parts, n);
    else
        kernel_copy(NULL, da, j->parts, n);
}

static float *part_of(const struct job *j, int64_t block) {
    const int64_t n = j->e->heads * j->e->size;
    if (!j->parts) return NULL;
    kernel_clear(NULL, j->parts + block * n, n);
    return j->parts + block * n;
}

static void score_grad_task(void *arg, int64_t block, void *scratch) {
    const struct job *const j = arg;
    const int64_t first = block * NODES_BLOCK, heads = j->e->heads, size = j->e->size, at = first * heads * size;
    (void)scratch;
    j->isa->node_scores_grad(j->dx ? j->dx + at : NULL, j->add, part_of(j, block), j->de + first * heads, j->x + at,
                             j->a, heads, size, min64(NODES_BLOCK, j->nodes - first));
}

void kernel_node_scores_grad(struct pool *pool, const struct edge_attention *e, float *dx, bool add_x, float *da,
                             bool add_a, const float *ds, const float *x, const float *a, int64_t nodes, void *work) {
    struct job j = {.isa = isa_get(),
                    .e = e,
                    .dx = dx,
                    .add = add_x,
                    .parts = da ? work : NULL,
                    .de = ds,
                    .x = x,
                    .a = a,
                    .nodes = nodes};
    pool_run(pool, blocks_of(nodes), score_grad_task, &j);
    if (da) add_parts(&j, da, add_a);
}

/* ---- the dynamic kind ---- */

static void dynamic_grad_task(void *arg, int64_t block, void *scratch) {
    const struct job *const j = arg;
    const int64_t first = block * NODES_BLOCK;
    (void)scratch;
    j->isa->edge_dynamic_grad(j->e, j->dx, j->add, part_of(j, block), j->de, j->l, j->r, j->a, j->sources, first,
                              min64(NODES_BLOCK, j->nodes - first));
}

void kernel_edge_dynamic_grad(struct pool *pool, const struct edge_attention *e, float *dr, bool add_r, float *da,
                              bool add_a, const float *de, const float *l, const float *r, const float *a, void *work) {
    struct job j = {.isa = isa_get(),
                    .e = e,
                    .dx = dr,
                    .add = add_r,
                    .parts = da ? work : NULL,
                    .de = de,
                    .l = l,
                    .r = r,
                    .a = a,
                    .nodes = e->edges.targets};
    pool_run(pool, blocks_of(j.nodes), dynamic_grad_task, &j);
    if (da) add_parts(&j, da, add_a);
}

void kernel_edge_dynamic_grad_sources(struct pool *pool, const struct edge_attention *e, float *dl, bool add,
                                      const float *de, const float *l, const float *r, const float *a) {
    struct job j = {.isa = isa_get(),
                    .e = e,
                    .dx = dl,
                    .add = add,
                    .sources = true,
                    .de = de,
                    .l = l,
                    .r = r,
                    .a = a,
                    .nodes = e->edges.sources};
    pool_run(pool, blocks_of(j.nodes), dynamic_grad_task, &j);
}
