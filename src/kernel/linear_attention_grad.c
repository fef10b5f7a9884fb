/* Linear attention, backward: a task is a head of a sequence.
 *
 *   dn_i = dy_i / sum_i,   dd_i = -dy_i'y_i / sum_i,   da_ij = (dn_i'v_j + dd_i) exp(s_j - top_i)
 *   dq_i = sum_j da_ij k_j                      = S dn_i + dd_i z      of all keys, or of those before the chunk
 *   dk_j = sum_i da_ij q_i,   dv_j = sum_i a_ij dn_i      = dS v_j + dz,  dS'k_j     of all queries, or of those after
 *
 * dq goes along time with the state S, as forward does; dk and dv then go back with dS = sum q_i dn_i', dz = sum q_i
 * dd_i. */
#include "kernel/linear_attention.h"
#include "kernel/linear_parts.h"
#include <math.h>
#include <string.h>

struct job {
    const struct linear *l;
    const struct linear_grad *g;
};

struct room {
    float *state, *z, *q, *k; /* S or dS (E,M), z or dz (M); rows of a chunk where some are hidden */
    float *v, *dn, *x, *xt;   /* (C,E), xt (E,C) */
    float *w, *wt, *a;        /* (C,C) */
};
_Static_assert((256 * 32 + LINEAR_STATE + 2 * LINEAR_FEATURES + 2 * CHUNKS + 4 * CHUNK * LINEAR_VALUES +
                3 * CHUNK * CHUNK + 1024) *
                       sizeof(float) <=
                   HEED_SCRATCH,
               "a task's room fits the scratch");

/* The gradients of one head. */
struct head_grad {
    const float *y, *dy, *sum, *top;
    float *dq, *dk, *dv;
    bool add_q, add_k, add_v;
};

static struct room room_of(const struct linear_head *h, float *scratch) {
    const int64_t m = h->l->m, e = h->l->e, n = h->size;
    return (struct room){linear_take(&scratch, m * e), linear_take(&scratch, m),     linear_take(&scratch, n * m),
                         linear_take(&scratch, n * m), linear_take(&scratch, n * e), linear_take(&scratch, n * e),
                         linear_take(&scratch, n * e), linear_take(&scratch, n * e), linear_take(&scratch, n * n),
                         linear_take(&scratch, n * n), linear_take(&scratch, n * n)};
}

static void clear_state(const struct linear_head *h, const struct room *r) {
    memset(r->state, 0, (size_t)(h->l->m * h->l->e) * sizeof(float));
    memset(r->z, 0, (size_t)h->l->m * sizeof(float));
}

/* A chunk of queries: its rows, dn (C,E) and dd. */
struct queries {
    struct linear_chunk rows;
    const float *q;
    int64_t ldq;
    float dd[CHUNK];
};
static void load_queries(const struct linear_head *h, const struct head_grad *g, const struct room *r, int64_t first,
                         struct queries *to) {
    linear_queries(h, first, &to->rows);
    const int64_t n = to->rows.n, at = first * h->ldv, e = h->l->e;
    to->ldq = h->ldq;
    to->q = linear_rows(&to->rows, h->q, &to->ldq, h->l->m, r->q);
    float inverse[CHUNK];
    h->isa->attention_dots(to->dd, g->dy + at, h->ldv, g->y + at, h->ldv, n, e);
    for (int64_t i = 0; i < n; i++) {
        inverse[i] = g->sum[first + i] == 0 ? 0 : 1 / g->sum[first + i];
        to->dd[i] = inverse[i] == 0 ? 0 : -to->dd[i] * inverse[i];
    }
    h->isa->linear_scale(r->dn, e, inverse, g->dy + at, h->ldv, n, e, false);
}

/* A chunk of keys and values; hidden ones are zeros. */
struct keys {
    struct linear_chunk rows;
    const float *k, *v;
    int64_t ldk, ldv;
    float factor[CHUNK]; /* exp(s_j - top) */
};
static void load_keys(const struct linear_head *h, const struct room *r, int64_t first, struct keys *to) {
    linear_keys(h, first, &to->rows);
    to->ldk = h->ldq, to->ldv = h->ldv;
    to->k = linear_rows(&to->rows, h->k, &to->ldk, h->l->m, r->k);
    to->v = linear_rows(&to->rows, h->v, &to->ldv, h->l->e, r->v);
}

/* S and z take in a chunk of keys; dS and dz one of queries, each times factor. */
static void take_keys(const struct linear_head *h, const struct room *r, const struct keys *k, float keep) {
    h->isa->linear_scale(r->x, h->l->e, k->factor, k->v, k->ldv, k->rows.n, h->l->e, false);
    linear_gather_rows(h, k->rows.n, keep, r->x, k->factor, k->k, k->ldk, r->state, r->z, r->xt);
}
static void take_queries(const struct linear_head *h, const struct room *r, const struct queries *q,
                         const float *factor, float keep) {
    float dd[CHUNK];
    for (int64_t i = 0; i < q->rows.n; i++) dd[i] = q->dd[i] * factor[i];
    h->isa->linear_scale(r->x, h->l->e, factor, r->dn, h->l->e, q->rows.n, h->l->e, false);
    linear_gather_rows(h, q->rows.n, keep, r->x, dd, q->q, q->ldq, r->state, r->z, r->xt);
}

/* dq = or += factor (S dn + dd z) */
static void put_dq(const struct linear_head *h, const struct room *r, const struct queries *q, const float *factor,
                   float *dq, bool add) {
    const int64_t n = q->rows.n, m = h->l->m, e = h->l->e;
    float dd[CHUNK];
    for (int64_t i = 0; i < n; i++) dd[i] = q->dd[i] * factor[i];
    h->isa->linear_scale(r->x, e, factor, r->dn, e, n, e, false);
    linear_multiply(h, &(struct linear_product){n, m, e, r->x, e, r->state, m, false, dq, h->ldq, add});
    h->isa->linear_spread(dq, h->ldq, dd, r->z, n, m);
}

/* dk = or += factor (dS v + dz) */
static void put_dk(const struct linear_head *h, const struct room *r, const struct keys *k, float *dk, bool add) {
    const int64_t n = k->rows.n, m = h->l->m, e = h->l->e;
    h->isa->linear_scale(r->x, e, k->factor, k->v, k->ldv, n, e, false);
    linear_multiply(h, &(struct linear_product){n, m, e, r->x, e, r->state, m, false, dk, h->ldq, add});
    h->isa->linear_spread(dk, h->ldq, k->factor, r->z, n, m);
}

/* dv = or += factor (dS'k) */
static void put_dv(const struct linear_head *h, const struct room *r, const struct keys *k, float *dv, bool add) {
    const int64_t n = k->rows.n, m = h->l->m, e = h->l->e;
    linear_multiply(h, &(struct linear_product){n, e, m, k->k, k->ldk, r->state, m, true, r->x, e, false});
    h->isa->linear_scale(dv, h->ldv, k->factor, r->x, e, n, e, add);
}

/* ---- every key seen by every query ---- */

static void run_all(const struct linear_head *h, const struct head_grad *g, const struct room *r) {
    const struct linear *const l = h->l;
    const float most = linear_top(h);
    float one[CHUNK];
    struct keys k;
    struct queries q;
    for (int i = 0; i < CHUNK; i++) one[i] = 1;
    if (g->dq) {
        for (int64_t first = 0; first < l->keys; first += h->size) {
            load_keys(h, r, first, &k);
            linear_factors_to(&k.rows, most, k.factor);
            take_keys(h, r, &k, 1);
        }
        for (int64_t first = 0; first < l->queries; first += h->size) {
            load_queries(h, g, r, first, &q);
            put_dq(h, r, &q, one, g->dq + first * h->ldq, g->add_q);
        }
    }
    if (!g->dk && !g->dv) return;
    clear_state(h, r);
    for (int64_t first = 0; first < l->queries; first += h->size) {
        load_queries(h, g, r, first, &q);
        take_queries(h, r, &q, one, 1);
    }
    for (int64_t first = 0; first < l->keys; first += h->size) {
        load_keys(h, r, first, &k);
        linear_factors_to(&k.rows, most, k.factor);
        if (g->dk) put_dk(h, r, &k, g->dk + first * h->ldq, g->add_k);
        if (g->dv) put_dv(h, r, &k, g->dv + first * h->ldv, g->add_v);
    }
}

/* ---- causal ---- */

/* Of the chunk at `first`: exp(before - top_i) of its queries, and that of its last. */
static float chunk_factors(const struct head_grad *g, int64_t first, int64_t n, float *factor) {
    const float before = first > 0 ? g->top[first - 1] : -INFINITY;
    for (int64_t i = 0; i < n; i++) factor[i] = linear_factor(before, g->top[first + i]);
    return factor[n - 1];
}

static void run_dq(const struct linear_head *h, const struct head_grad *g, const struct room *r) {
    const int64_t time = h->l->queries, m = h->l->m, e = h->l->e, ld = h->size;
    struct keys k;
    struct queries q;
    float factor[CHUNK];
    for (int64_t first = 0; first < time; first += h->size) {
        float *const dq = g->dq + first * h->ldq;
        load_queries(h, g, r, first, &q);
        load_keys(h, r, first, &k);
        const int64_t n = k.rows.n;
        const float keep = chunk_factors(g, first, n, factor);
        h->isa->linear_factors(r->w, ld, k.rows.s, g->top + first, n);
        linear_multiply(h, &(struct linear_product){n, n, e, r->dn, e, k.v, k.ldv, true, r->a, ld, false});
        h->isa->linear_weigh(r->a, r->w, ld, q.dd, NULL, NULL, n);
        linear_multiply(h, &(struct linear_product){n, m, n, r->a, ld, k.k, k.ldk, false, dq, h->ldq, g->add_q});
        if (first > 0) put_dq(h, r, &q, factor, dq, true);
        if (first + n == time) break;
        linear_factors_to(&k.rows, g->top[first + n - 1], k.factor);
        take_keys(h, r, &k, keep);
    }
}

static void run_dk_dv(const struct linear_head *h, const struct head_grad *g, const struct room *r) {
    const int64_t time = h->l->queries, m = h->l->m, e = h->l->e, ld = h->size;
    struct keys k;
    struct queries q;
    float factor[CHUNK];
    for (int64_t first = time > 0 ? (time - 1) / ld * ld : -1; first >= 0; first -= ld) {
        load_queries(h, g, r, first, &q);
        load_keys(h, r, first, &k);
        const int64_t n = k.rows.n;
        const bool last = first + n == time;
        const float keep = chunk_factors(g, first, n, factor);
        linear_factors_to(&k.rows, g->top[first + n - 1], k.factor);
        h->isa->linear_factors(r->w, ld, k.rows.s, g->top + first, n);
        h->isa->gemm_transpose(r->wt, ld, r->w, ld, n, n);
        if (g->dv) {
            float *const dv = g->dv + first * h->ldv;
            if (!last) put_dv(h, r, &k, dv, g->add_v);
            linear_multiply(h, &(struct linear_product){n, n, m, k.k, k.ldk, q.q, q.ldq, true, r->a, ld, false});
            h->isa->linear_weigh(r->a, r->wt, ld, NULL, NULL, NULL, n);
            linear_multiply(
                h, &(struct linear_product){n, e, n, r->a, ld, r->dn, e, false, dv, h->ldv, g->add_v || !last});
        }
        if (g->dk) {
            float *const dk = g->dk + first * h->ldq;
            linear_multiply(h, &(struct linear_product){n, n, e, k.v, k.ldv, r->dn, e, true, r->a, ld, false});
            h->isa->linear_weigh(r->a, r->wt, ld, NULL, q.dd, NULL, n);
            linear_multiply(h, &(struct linear_product){n, m, n, r->a, ld, q.q, q.ldq, false, dk, h->ldq, g->add_k});
            if (!last) put_dk(h, r, &k, dk, true);
        }
        if (first > 0) take_queries(h, r, &q, factor, keep);
    }
}

static void run_head(void *arg, int64_t task, void *scratch) {
    const struct job *const j = arg;
    const struct linear *const l = j->l;
    const struct linear_grad *const g = j->g;
    float *rest = scratch;
    const struct linear_head h = linear_head_of(isa_get(), l, task, &rest);
    const struct room r = room_of(&h, rest);
    const int64_t at_q = h.q - l->q, at_k = h.k - l->k, at_v = h.v - l->v;
    const int64_t at_y = h.b * l->queries * h.ldv + h.h * l->e, row = task * l->queries;
    const struct head_grad own = {.y = g->y + at_y,
                                  .dy = g->dy + at_y,
                                  .sum = g->sum + row,
                                  .top = g->top + row,
                                  .dq = g->dq ? g->dq + at_q : NULL,
                                  .dk = g->dk ? g->dk + at_k : NULL,
                                  .dv = g->dv ? g->dv + at_v : NULL,
                                  .add_q = g->add_q,
                                  .add_k = g->add_k,
                                  .add_v = g->add_v};
    clear_state(&h, &r);
    if (!l->causal) {
        run_all(&h, &own, &r);
        return;
    }
    if (own.dq) run_dq(&h, &own, &r);
    clear_state(&h, &r);
    if (own.dk || own.dv) run_dk_dv(&h, &own, &r);
}

void kernel_linear_grad(struct pool *pool, const struct linear *l, const struct linear_grad *g) {
    pool_run(pool, l->batch * l->heads, run_head, &(struct job){l, g});
}
