/* Squared distances of all pairs: how the work is cut. See kernel/distance.h. */
#include "kernel/distance.h"
#include "kernel/elementwise.h"
#include "kernel/ints.h"
#include "kernel/move.h"
#include <string.h>

struct distance_job {
    const struct isa *isa;
    const struct distance *p;
    const struct distance_grad *g;
    float *out;
    float *kt;     /* (batch,d,keys) */
    float *dk;     /* the same */
    float *dq;     /* (batch,d,queries) */
    double *sharp; /* (batch,d): sums for ds */
    int64_t rows_per_task, row_tasks;
    const float *s; /* (d) or NULL */
};

static float sharpness(const struct distance *p, int64_t c) { return p->s ? p->s[p->sharps > 1 ? c : 0] : 1.0f; }

static int64_t key_floats(const struct distance *p) { return p->batch * p->keys * p->d; }

size_t kernel_distance_work(const struct distance *p) { return (size_t)(key_floats(p) + p->d) * sizeof(float); }
size_t kernel_distance_grad_work(const struct distance *p) {
    return (size_t)(p->batch * p->d) * sizeof(double) +
           (size_t)(2 * key_floats(p) + p->batch * p->queries * p->d) * sizeof(float);
}

static bool is_large(const struct distance *p) { return !kernel_is_small(p->batch * p->queries * p->keys * p->d); }

static void rows_task(void *arg, int64_t task, void *scratch) {
    const struct distance_job *j = arg;
    const struct distance *p = j->p;
    const int64_t batch = task / j->row_tasks, first = task % j->row_tasks * j->rows_per_task,
                  row = batch * p->queries + first, left = p->queries - first;
    (void)scratch;
    j->isa->distance_rows(j->out + row * p->keys, p->q + row * p->d, j->kt + batch * p->d * p->keys, j->s,
                          left < j->rows_per_task ? left : j->rows_per_task, p->keys, p->d);
}

static void turn_task(void *arg, int64_t batch, void *scratch) {
    const struct distance_job *j = arg;
    const int64_t keys = j->p->keys, d = j->p->d, at = batch * keys * d;
    (void)scratch;
    j->isa->gemm_transpose(j->kt + at, keys, j->p->k + at, d, keys, d);
}

static bool is_empty(const struct distance *p) { return p->batch <= 0 || p->queries <= 0 || p->keys <= 0 || p->d <= 0; }

void kernel_distance(struct pool *pool, const struct distance *p, float *out, void *work) {
    if (is_empty(p)) {
        kernel_clear(pool, out, p->batch * p->queries * p->keys);
        return;
    }
    struct distance_job j = {.isa = isa_get(), .p = p, .out = out, .kt = work};
    const int64_t cost = p->keys * p->d;
    j.rows_per_task = cost < 4 * TASK_ELEMENTS ? 4 * TASK_ELEMENTS / cost : 1;
    j.row_tasks = ceil_div(p->queries, j.rows_per_task);
    float *s = j.kt + key_floats(p);
    for (int64_t c = 0; p->s && c < p->d; c++) s[c] = sharpness(p, c);
    j.s = p->s ? s : NULL;
    pool_run_if(is_large(p), pool, p->batch, turn_task, &j);
    pool_run_if(is_large(p), pool, p->batch * j.row_tasks, rows_task, &j);
}

/* One coordinate of one batch. */
static void grad_task(void *arg, int64_t task, void *scratch) {
    const struct distance_job *j = arg;
    const struct distance *p = j->p;
    const int64_t batch = task / p->d, c = task % p->d, at = task * p->keys;
    (void)scratch;
    memset(j->dk + at, 0, (size_t)p->keys * sizeof(float));
    for (int64_t i = 0; i < p->keys; i++) j->kt[at + i] = p->k[(batch * p->keys + i) * p->d + c];
    float *q = j->dq + task * p->queries; /* the coordinate's own column: first q, then its gradient */
    for (int64_t i = 0; i < p->queries; i++) q[i] = p->q[(batch * p->queries + i) * p->d + c];
    j->sharp[task] =
        j->isa->distance_grads(q, j->dk + at, j->kt + at, j->g->g + batch * p->queries * p->keys, p->queries, p->keys);
}

/* to (n,d) = or += 2 s^2 from (d,n), for one batch */
static void put_rows(const struct distance *p, float *to, const float *from, int64_t n, bool add) {
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < p->d; c++) {
            const float s = sharpness(p, c), v = 2.0f * s * s * from[c * n + i];
            to[i * p->d + c] = add ? to[i * p->d + c] + v : v;
        }
}

static void put_task(void *arg, int64_t batch, void *scratch) {
    const struct distance_job *j = arg;
    const struct distance *p = j->p;
    const int64_t at_q = batch * p->queries * p->d, at_k = batch * p->keys * p->d;
    (void)scratch;
    if (j->g->dq) put_rows(p, j->g->dq + at_q, j->dq + at_q, p->queries, j->g->add_q);
    if (j->g->dk) put_rows(p, j->g->dk + at_k, j->dk + at_k, p->keys, j->g->add_k);
}

void kernel_distance_grad(struct pool *pool, const struct distance *p, const struct distance_grad *g, void *work) {
    if (is_empty(p)) {
        if (g->dq && !g->add_q) kernel_clear(pool, g->dq, p->batch * p->queries * p->d);
        if (g->dk && !g->add_k) kernel_clear(pool, g->dk, p->batch * p->keys * p->d);
        if (g->ds && !g->add_s) kernel_clear(pool, g->ds, p->sharps);
        return;
    }
    struct distance_job j = {.isa = isa_get(), .p = p, .g = g, .sharp = work};
    j.kt = (float *)(void *)(j.sharp + p->batch * p->d);
    j.dk = j.kt + key_floats(p);
    j.dq = j.dk + key_floats(p);
    pool_run_if(is_large(p), pool, p->batch * p->d, grad_task, &j);
    pool_run_if(is_large(p), pool, p->batch, put_task, &j);
    for (int64_t i = 0; g->ds && i < p->sharps; i++) {
        double sum = 0.0;
        for (int64_t t = 0; t < p->batch * p->d; t++)
            if (p->sharps == 1 || t % p->d == i) sum += j.sharp[t];
        const float v = (float)(2.0 * (double)p->s[i] * sum);
        g->ds[i] = g->add_s ? g->ds[i] + v : v;
    }
}
