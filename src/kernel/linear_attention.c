/* Linear attention, forward: a task is a head of a sequence. */
#include "kernel/linear_attention.h"
#include "kernel/linear_parts.h"
#include <math.h>
#include <string.h>

struct job {
    const struct linear *l;
    float *y, *sum, *top;
};

struct room {
    float *state, *z, *q, *k; /* S (E,M), z (M); rows of a chunk where some are hidden */
    float *v, *x, *xt;        /* (C,E), (C,E), (E,C) */
    float *w, *a;             /* (C,C) */
};
_Static_assert((256 * 32 + LINEAR_STATE + 2 * LINEAR_FEATURES + 2 * CHUNKS + 3 * CHUNK * LINEAR_VALUES +
                2 * CHUNK * CHUNK + 1024) *
                       sizeof(float) <=
                   HEED_SCRATCH,
               "a task's room fits the scratch");

static struct room room_of(const struct linear_head *h, float *scratch) {
    const int64_t m = h->l->m, e = h->l->e, n = h->size;
    return (struct room){linear_take(&scratch, m * e), linear_take(&scratch, m),     linear_take(&scratch, n * m),
                         linear_take(&scratch, n * m), linear_take(&scratch, n * e), linear_take(&scratch, n * e),
                         linear_take(&scratch, n * e), linear_take(&scratch, n * n), linear_take(&scratch, n * n)};
}

/* What the state gives the queries of a chunk: y = factor (Q S), sum = factor (Q z), where queries are at `first`. */
static void read_state(const struct linear_head *h, const struct room *r, int64_t n, const float *q, int64_t ldq,
                       const float *factor, float *y, float *sum) {
    const int64_t m = h->l->m, e = h->l->e;
    linear_multiply(h, &(struct linear_product){n, e, m, q, ldq, r->state, m, true, y, h->ldv, false});
    h->isa->linear_scale(y, h->ldv, factor, y, h->ldv, n, e, false);
    h->isa->attention_dots(sum, q, ldq, r->z, 0, n, m);
    for (int64_t i = 0; i < n; i++) sum[i] = factor[i] == 0 ? 0 : sum[i] * factor[i];
}

/* y /= sum; padding and what saw nothing gives zeros, and says so with a sum of 0. */
static void divide(const struct linear_head *h, const struct linear_chunk *queries, float *y, float *sum) {
    float inverse[CHUNK];
    for (int64_t i = 0; i < queries->n; i++) {
        if (queries->s[i] == -INFINITY) sum[i] = 0;
        inverse[i] = sum[i] == 0 ? 0 : 1 / sum[i];
    }
    h->isa->linear_scale(y, h->ldv, inverse, y, h->ldv, queries->n, h->l->e, false);
}

/* y += A V. Row i may not read values beyond i, not even times 0, where some are not finite. */
static void add_values(const struct linear_head *h, int64_t n, const float *a, const float *v, int64_t ldv, float *y) {
    const int64_t e = h->l->e, rows = h->isa->attention_finite(v, ldv, n, e) ? n : 1;
    for (int64_t i = 0; i < n; i += rows)
        linear_multiply(h, &(struct linear_product){rows, e, rows > 1 ? n : i + 1, a + i * h->size, h->size, v, ldv,
                                                    false, y + i * h->ldv, h->ldv, true});
}

static void run_causal(const struct linear_head *h, const struct room *r, float *y, float *sum, float *top) {
    const struct linear *const l = h->l;
    float before = l->state ? r->z[l->m] : -INFINITY;
    for (int64_t first = 0; first < l->queries; first += h->size) {
        struct linear_chunk keys, queries;
        float factor[CHUNK], more[CHUNK];
        linear_keys(h, first, &keys);
        linear_queries(h, first, &queries);
        const int64_t n = keys.n;
        int64_t ldq = h->ldq, ldk = h->ldq, ldv = h->ldv;
        const float *const q = linear_rows(&queries, h->q, &ldq, l->m, r->q);
        const float *const k = linear_rows(&keys, h->k, &ldk, l->m, r->k);
        const float *const v = linear_rows(&keys, h->v, &ldv, l->e, r->v);
        float most = before, *const out = y + first * h->ldv;
        for (int64_t i = 0; i < n; i++) {
            most = keys.s[i] > most ? keys.s[i] : most;
            top[first + i] = most;
            factor[i] = linear_factor(before, most);
        }
        if (before > -INFINITY)
            read_state(h, r, n, q, ldq, factor, out, sum + first);
        else
            for (int64_t i = 0; i < n; i++) {
                memset(out + i * h->ldv, 0, (size_t)l->e * sizeof(float));
                sum[first + i] = 0;
            }
        h->isa->linear_factors(r->w, h->size, keys.s, top + first, n);
        linear_multiply(h, &(struct linear_product){n, n, l->m, q, ldq, k, ldk, true, r->a, h->size, false});
        h->isa->linear_weigh(r->a, r->w, h->size, NULL, NULL, more, n);
        for (int64_t i = 0; i < n; i++) sum[first + i] += more[i];
        add_values(h, n, r->a, v, ldv, out);
        divide(h, &queries, out, sum + first);
        if (first + n < l->queries || l->state) {
            linear_factors_to(&keys, most, factor);
            h->isa->linear_scale(r->x, l->e, factor, v, ldv, n, l->e, false);
            linear_gather_rows(h, n, linear_factor(before, most), r->x, factor, k, ldk, r->state, r->z, r->xt);
        }
        before = most;
    }
    if (l->state) r->z[l->m] = before;
}

static void run_all(const struct linear_head *h, const struct room *r, float *y, float *sum, float *top) {
    const struct linear *const l = h->l;
    const float most = linear_top(h);
    float factor[CHUNK];
    for (int64_t first = 0; first < l->keys; first += h->size) {
        struct linear_chunk keys;
        linear_keys(h, first, &keys);
        int64_t ldk = h->ldq;
        const float *const k = linear_rows(&keys, h->k, &ldk, l->m, r->k);
        linear_factors_to(&keys, most, factor);
        h->isa->linear_scale(r->x, l->e, factor, h->v + first * h->ldv, h->ldv, keys.n, l->e, false);
        linear_gather_rows(h, keys.n, 1, r->x, factor, k, ldk, r->state, r->z, r->xt);
    }
    for (int64_t i = 0; i < CHUNK; i++) factor[i] = 1;
    for (int64_t first = 0; first < l->queries; first += h->size) {
        struct linear_chunk queries;
        linear_queries(h, first, &queries);
        int64_t ldq = h->ldq;
        const float *const q = linear_rows(&queries, h->q, &ldq, l->m, r->q);
        for (int64_t i = 0; i < queries.n; i++) top[first + i] = most;
        read_state(h, r, queries.n, q, ldq, factor, y + first * h->ldv, sum + first);
        divide(h, &queries, y + first * h->ldv, sum + first);
    }
}

static void run_head(void *arg, int64_t task, void *scratch) {
    const struct job *const j = arg;
    const struct linear *const l = j->l;
    float *rest = scratch;
    const struct linear_head h = linear_head_of(isa_get(), l, task, &rest);
    struct room r = room_of(&h, rest);
    if (l->state) {
        r.state = l->state + task * linear_state_size(l->m, l->e);
        r.z = r.state + l->m * l->e;
    } else {
        memset(r.state, 0, (size_t)(l->m * l->e) * sizeof(float));
        memset(r.z, 0, (size_t)l->m * sizeof(float));
    }
    (l->causal ? run_causal : run_all)(&h, &r, j->y + h.b * l->queries * h.ldv + h.h * l->e, j->sum + task * l->queries,
                                       j->top + task * l->queries);
}

void kernel_linear(struct pool *pool, const struct linear *l, float *y, float *sum, float *top) {
    pool_run(pool, l->batch * l->heads, run_head, &(struct job){l, y, sum, top});
}
