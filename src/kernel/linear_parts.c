/* Chunks of linear attention, and their products. */
#include "kernel/linear_parts.h"
#include <math.h>
#include <string.h>

#define MAX_K 256 /* of a block of k: kernel/gemm.c */

int64_t linear_state_size(int64_t m, int64_t e) { return round_up(m * (e + 1) + 1, 16); }

void linear_state_clear(float *state, int64_t m, int64_t e) {
    memset(state, 0, (size_t)linear_state_size(m, e) * sizeof(float));
    state[m * (e + 1)] = -INFINITY;
}

struct linear_head linear_head_of(const struct isa *isa, const struct linear *l, int64_t task, float **scratch) {
    const int64_t b = task / l->heads, h = task % l->heads;
    struct linear_head a = {.isa = isa, .l = l, .b = b, .h = h, .queries = l->queries, .keys = l->keys};
    a.ldq = l->heads * l->m, a.ldv = l->heads * l->e, a.lds = l->heads;
    a.q = l->q + b * l->queries * a.ldq + h * l->m;
    a.k = l->k + b * l->keys * a.ldq + h * l->m;
    a.v = l->v + b * l->keys * a.ldv + h * l->e;
    a.s = l->s ? l->s + b * l->keys * a.lds + h : NULL;
    if (l->key_lengths) a.keys = min64(a.keys, max64(0, l->key_lengths[b]));
    if (l->query_lengths) a.queries = min64(a.queries, max64(0, l->query_lengths[b]));
    a.size = min64(CHUNK, max64(16, CHUNKS / max64(1, l->m) / 16 * 16));
    a.strips = linear_take(scratch, MAX_K * 32);
    return a;
}

void linear_keys(const struct linear_head *a, int64_t first, struct linear_chunk *c) {
    const struct linear *const l = a->l;
    *c = (struct linear_chunk){.first = first, .n = min64(a->size, l->keys - first)};
    for (int64_t j = 0; j < c->n; j++) {
        const bool seen = first + j < a->keys && (!l->keep || l->keep[a->b * l->keep_batch + first + j]);
        c->s[j] = !seen ? -INFINITY : a->s ? a->s[(first + j) * a->lds] : 0;
        c->hides |= !seen;
    }
}

void linear_queries(const struct linear_head *a, int64_t first, struct linear_chunk *c) {
    *c = (struct linear_chunk){.first = first, .n = min64(a->size, a->l->queries - first)};
    for (int64_t i = 0; i < c->n; i++) c->s[i] = first + i < a->queries ? 0 : -INFINITY;
    c->hides = first + c->n > a->queries;
}

const float *linear_rows(const struct linear_chunk *c, const float *x, int64_t *ld, int64_t cols, float *room) {
    x += c->first * *ld;
    if (!c->hides) return x;
    for (int64_t i = 0; i < c->n; i++)
        if (c->s[i] == -INFINITY)
            memset(room + i * cols, 0, (size_t)cols * sizeof(float));
        else
            memcpy(room + i * cols, x + i * *ld, (size_t)cols * sizeof(float));
    *ld = cols;
    return room;
}

float linear_factor(float s, float top) { return s == -INFINITY ? 0 : expf(s - top); }

void linear_factors_to(const struct linear_chunk *c, float top, float *of) {
    for (int64_t i = 0; i < c->n; i++) of[i] = linear_factor(c->s[i], top);
}

float linear_top(const struct linear_head *a) {
    float top = -INFINITY;
    struct linear_chunk c;
    for (int64_t first = 0; first < a->l->keys; first += a->size) {
        linear_keys(a, first, &c);
        for (int64_t j = 0; j < c.n; j++) top = c.s[j] > top ? c.s[j] : top;
    }
    return top;
}

void linear_multiply(const struct linear_head *a, const struct linear_product *p) {
    const int64_t block = p->k > 0 ? kernel_gemm_block(p->k) : 1;
    for (int64_t k0 = 0; k0 < p->k; k0 += block)
        a->isa->gemm_panel(p->m, p->n, min64(block, p->k - k0), 1, p->a + k0, p->lda,
                           p->b + (p->trans_b ? k0 : k0 * p->ldb), p->ldb, STORED_F32, p->trans_b, p->c, p->ldc,
                           p->add || k0 > 0, NULL, a->strips, STRIPS_PASS);
}

void linear_gather_rows(const struct linear_head *a, int64_t n, float keep, const float *x, const float *factor,
                        const float *k, int64_t ldk, float *state, float *z, float *xt) {
    const int64_t m = a->l->m, e = a->l->e;
    a->isa->gemm_transpose(xt, n, x, e, n, e);
    if (keep != 1) a->isa->scale_part(state, keep, state, m * e);
    linear_multiply(a, &(struct linear_product){e, m, n, xt, n, k, ldk, false, state, m, true});
    a->isa->linear_gather(z, keep, factor, k, ldk, n, m);
}
