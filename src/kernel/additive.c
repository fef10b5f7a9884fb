/* Additive scores: how the work is cut. See kernel/additive.h. */
#include "kernel/additive.h"
#include "kernel/elementwise.h"
#include "kernel/move.h"

#define BLOCK ADDITIVE_BLOCK
#define ROWS  16 /* queries of a forward task */

static int64_t blocks_of(const struct additive *a) { return (a->width + BLOCK - 1) / BLOCK; }

/* Places in the workspace: floats first, then bytes. */
struct room {
    float *w, *eq, *ek, *sum_k, *dw;
    uint8_t *calm_q, *calm_k;
    size_t bytes;
};

static struct room room_of(const struct additive *a, bool grad, void *work) {
    const int64_t all = a->batch * blocks_of(a),
                  sizes[5] = {blocks_of(a) * BLOCK, all * a->queries * BLOCK, all * a->keys * BLOCK,
                              grad ? all * a->keys * BLOCK : 0, grad ? all * BLOCK : 0};
    float *at[6] = {work};
    size_t bytes = 0;
    for (int i = 0; i < 5; i++) {
        at[i + 1] = work ? at[i] + sizes[i] : NULL;
        bytes += (size_t)sizes[i] * sizeof(float);
    }
    uint8_t *calm = (uint8_t *)at[5];
    return (struct room){at[0],
                         at[1],
                         at[2],
                         at[3],
                         at[4],
                         calm,
                         work ? calm + all * a->queries : NULL,
                         bytes + (size_t)(all * (a->queries + a->keys))};
}

size_t kernel_additive_work(const struct additive *a) { return room_of(a, false, NULL).bytes; }
size_t kernel_additive_grad_work(const struct additive *a) { return room_of(a, true, NULL).bytes; }

struct additive_job {
    const struct isa *isa;
    const struct additive *a;
    const struct additive_grad *g;
    struct room room;
    float *scores;
    int64_t blocks, row_tasks;
};

static struct additive_job job_of(const struct additive *a, const struct additive_grad *g, float *scores, void *work) {
    struct additive_job j = {isa_get(), a, g, room_of(a, g != NULL, work), scores, blocks_of(a), 0};
    j.row_tasks = (a->queries + ROWS - 1) / ROWS;
    for (int64_t c = 0; c < j.blocks * BLOCK; c++) j.room.w[c] = c < a->width ? a->w[c] : 0.0f;
    return j;
}

/* Block `block` of the queries or keys of one batch, packed. */
static struct additive_side pack(const struct additive_job *j, bool keys, int64_t batch, int64_t block) {
    const struct additive *a = j->a;
    const int64_t rows = keys ? a->keys : a->queries, at = (batch * j->blocks + block) * rows;
    const int64_t left = a->width - block * BLOCK;
    const float *x = (keys ? a->k : a->q) + batch * rows * a->width + block * BLOCK;
    float *e = (keys ? j->room.ek : j->room.eq) + at * BLOCK;
    uint8_t *calm = (keys ? j->room.calm_k : j->room.calm_q) + at;
    j->isa->additive_pack(e, calm, x, a->width, rows, left < BLOCK ? left : BLOCK);
    return (struct additive_side){x, e, calm, rows};
}

static void pack_task(void *arg, int64_t task, void *scratch) {
    const struct additive_job *j = arg;
    (void)scratch;
    pack(j, task % 2, task / 2 / j->blocks, task / 2 % j->blocks);
}

static void score_task(void *arg, int64_t task, void *scratch) {
    const struct additive_job *j = arg;
    const struct additive *a = j->a;
    const struct room *m = &j->room;
    const int64_t batch = task / j->row_tasks, from = task % j->row_tasks * ROWS, all = batch * j->blocks;
    (void)scratch;
    const struct additive_side q = {a->q + batch * a->queries * a->width, m->eq + all * a->queries * BLOCK,
                                    m->calm_q + all * a->queries, a->queries};
    const struct additive_side k = {a->k + batch * a->keys * a->width, m->ek + all * a->keys * BLOCK,
                                    m->calm_k + all * a->keys, a->keys};
    const int64_t to = from + ROWS < a->queries ? from + ROWS : a->queries;
    j->isa->additive_scores(
        &(struct additive_rows){q, k, a->width, from, to, m->w, j->scores + batch * a->queries * a->keys});
}

/* A pair and channel costs about as much as ten numbers of an elementwise op. */
static bool is_large(const struct additive *a) {
    return !kernel_is_small(10 * a->batch * a->queries * a->keys * a->width);
}

static bool is_empty(const struct additive *a) {
    return a->batch <= 0 || a->queries <= 0 || a->keys <= 0 || a->width <= 0;
}

void kernel_additive(struct pool *pool, const struct additive *a, float *scores, void *work) {
    if (is_empty(a)) {
        kernel_clear(pool, scores, a->batch * a->queries * a->keys);
        return;
    }
    struct additive_job j = job_of(a, NULL, scores, work);
    pool_run_if(is_large(a), pool, 2 * a->batch * j.blocks, pack_task, &j);
    pool_run_if(is_large(a), pool, a->batch * j.row_tasks, score_task, &j);
}

static void grad_task(void *arg, int64_t task, void *scratch) {
    const struct additive_job *j = arg;
    const struct additive *a = j->a;
    const struct additive_grad *g = j->g;
    const int64_t batch = task / j->blocks, block = task % j->blocks, c = block * BLOCK, left = a->width - c;
    (void)scratch;
    j->isa->additive_grads(&(struct additive_block){
        .q = pack(j, false, batch, block),
        .k = pack(j, true, batch, block),
        .width = a->width,
        .n = left < BLOCK ? left : BLOCK,
        .w = j->room.w + c,
        .ds = g->ds + batch * a->queries * a->keys,
        .dq = g->dq ? g->dq + batch * a->queries * a->width + c : NULL,
        .dk = g->dk ? g->dk + batch * a->keys * a->width + c : NULL,
        .add_q = g->add_q,
        .add_k = g->add_k,
        .sum_k = j->room.sum_k + task * a->keys * BLOCK,
        .dw = j->room.dw + task * BLOCK,
    });
}

void kernel_additive_grad(struct pool *pool, const struct additive *a, const struct additive_grad *g, void *work) {
    if (is_empty(a)) {
        if (g->dq && !g->add_q) kernel_clear(pool, g->dq, a->batch * a->queries * a->width);
        if (g->dk && !g->add_k) kernel_clear(pool, g->dk, a->batch * a->keys * a->width);
        if (g->dw && !g->add_w) kernel_clear(pool, g->dw, a->width);
        return;
    }
    struct additive_job j = job_of(a, g, NULL, work);
    pool_run_if(is_large(a), pool, a->batch * j.blocks, grad_task, &j);
    if (!g->dw) return;
    if (!g->add_w) kernel_clear(pool, g->dw, a->width);
    for (int64_t batch = 0; batch < a->batch; batch++)
        j.isa->add_part(g->dw, g->dw, j.room.dw + batch * j.blocks * BLOCK, a->width);
}
