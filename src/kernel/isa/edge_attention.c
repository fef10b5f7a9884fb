/* Attention along edges. The numbers of a target's edges and heads lie in a row, (edges,heads), so they are worked on
 * as they lie, beside rows of heads that are written out often enough for a vector to begin at any of them. */
#include "kernel/edge_attention.h"
#include "kernel/isa/heads.h"
#include "kernel/isa/vmath.h"

/* heads numbers, over and over */
struct pattern {
    float at[EDGE_HEADS + VW];
};

INLINE void repeat(struct pattern *p, const float *x, int64_t heads) {
    for (int64_t i = 0; i < heads + VW; i++) p->at[i] = x[i % heads];
}

/* Runs the body for vectors of n numbers from place i on of `count` numbers, of which number i is of head i % heads;
 * `head` is that of the first. */
#define HEADS_EACH(i, n, head, count, heads, ...)                                                                      \
    do {                                                                                                               \
        const int64_t head##_step = VW % (heads);                                                                      \
        int64_t head = 0;                                                                                              \
        V_EACH(i, n, count, {                                                                                          \
            __VA_ARGS__                                                                                                \
            head += head##_step;                                                                                       \
            if (head >= (heads)) head -= (heads);                                                                      \
        });                                                                                                            \
    } while (0)

/* What many edges have of each head, in to (heads): the largest, or the sum of x, times y where there is a y. */
INLINE void fold(float *to, const float *x, const float *y, int64_t edges, int64_t heads, const bool largest) {
    if (VW % heads == 0) {
        vf all = v_set(largest ? -INFINITY : 0.0f);
        V_EACH(i, n, edges * heads, {
            vf v = v_get(x + i, n, largest ? -INFINITY : 0.0f);
            if (y) v *= v_get(y + i, n, 0.0f);
            all = largest ? v_max(v, all) : all + v;
        });
        for (int64_t h = 0; h < heads; h++) to[h] = all[h];
        for (int64_t i = heads; i < VW; i++)
            to[i % heads] = largest ? (all[i] > to[i % heads] ? all[i] : to[i % heads]) : to[i % heads] + all[i];
        return;
    }
    for (int64_t h = 0; h < heads; h++) to[h] = largest ? -INFINITY : 0;
    for (int64_t i = 0; i < edges; i++)
        for (int64_t h = 0; h < heads; h++) {
            const float v = y ? x[i * heads + h] * y[i * heads + h] : x[i * heads + h];
            to[h] = largest ? (v > to[h] ? v : to[h]) : to[h] + v;
        }
}

/* The softmax over the edges of a row, of each head, in place. */
INLINE void row_softmax(float *e, int64_t edges, int64_t heads) {
    float by_head[EDGE_HEADS];
    struct pattern p;
    fold(by_head, e, NULL, edges, heads, true);
    repeat(&p, by_head, heads);
    HEADS_EACH(i, n, head, edges * heads, heads,
               { v_put(e + i, v_exp(v_get(e + i, n, -INFINITY) - v_load(p.at + head)), n); });
    fold(by_head, e, NULL, edges, heads, false);
    for (int64_t h = 0; h < heads; h++) by_head[h] = 1 / by_head[h];
    repeat(&p, by_head, heads);
    HEADS_EACH(i, n, head, edges * heads, heads, { v_put(e + i, v_get(e + i, n, 0.0f) * v_load(p.at + head), n); });
}

INLINE vf leaky(vf x, float slope) { return v_where(x > 0, x, x * slope); }

/* s of the sources of edges from to end, one after the other */
INLINE void collect(float *to, const struct edge_attention *e, const float *s, int32_t from, int32_t end) {
    const int64_t heads = e->heads;
    if (heads == 1)
        for (int32_t k = from; k < end; k++) *to++ = s[e->edges.from[k]];
    else
        for (int32_t k = from; k < end; k++, to += heads)
            for (int64_t h = 0; h < heads; h++) to[h] = s[e->edges.from[k] * heads + h];
}

void ISA_NAME(edge_static)(const struct edge_attention *e, float *alpha, const float *s, const float *t, int64_t first,
                           int64_t rows) {
    const int64_t heads = e->heads;
    struct pattern own;
    for (int64_t i = first; i < first + rows; i++) {
        const int32_t from = e->edges.in[i], end = e->edges.in[i + 1];
        float *const row = alpha + from * heads;
        if (end == from) continue;
        repeat(&own, t + i * heads, heads);
        collect(row, e, s, from, end);
        HEADS_EACH(k, n, head, (end - from) * heads, heads,
                   { v_put(row + k, leaky(v_get(row + k, n, 0.0f) + v_load(own.at + head), e->slope), n); });
        row_softmax(row, end - from, heads);
    }
}

/* de = alpha (dalpha - sum of alpha dalpha) */
void ISA_NAME(edge_softmax_grad)(const struct edge_attention *e, float *dalpha, const float *alpha, int64_t first,
                                 int64_t rows) {
    const int64_t heads = e->heads;
    float sums[EDGE_HEADS];
    struct pattern sum;
    for (int64_t i = first; i < first + rows; i++) {
        const int64_t from = e->edges.in[i], edges = e->edges.in[i + 1] - from;
        float *const d = dalpha + from * heads;
        const float *const a = alpha + from * heads;
        if (edges == 0) continue;
        fold(sums, d, a, edges, heads, false);
        repeat(&sum, sums, heads);
        HEADS_EACH(k, n, head, edges * heads, heads,
                   { v_put(d + k, v_get(a + k, n, 0.0f) * (v_get(d + k, n, 0.0f) - v_load(sum.at + head)), n); });
    }
}

void ISA_NAME(edge_static_grad)(const struct edge_attention *e, float *de, const float *s, const float *t, float *dt,
                                int64_t first, int64_t rows) {
    const int64_t heads = e->heads;
    for (int64_t i = first; i < first + rows; i++) {
        const int32_t from = e->edges.in[i], end = e->edges.in[i + 1];
        for (int32_t k = from; k < end; k++)
            for (int64_t h = 0; h < heads; h++)
                if (s[e->edges.from[k] * heads + h] + t[i * heads + h] <= 0) de[k * heads + h] *= e->slope;
        fold(dt + i * heads, de + from * heads, NULL, end - from, heads, false);
    }
}

/* ---- scores of nodes ---- */

void ISA_NAME(node_scores)(float *s, const float *x, const float *a, int64_t heads, int64_t size, int64_t rows) {
    for (int64_t i = 0; i < rows; i++) heads_dot(s + i * heads, x + i * heads * size, a, heads, size);
}

/* n numbers of dx (or NULL) = or += d a;   of da (or NULL) += d x */
INLINE void scores_grad_part(float *dx, bool add, float *da, vf d, const float *x, const float *a, int64_t n) {
    if (dx) v_put(dx, v_fma(d, v_get(a, n, 0.0f), add ? v_get(dx, n, 0.0f) : v_set(0.0f)), n);
    if (da) v_put(da, v_fma(d, v_get(x, n, 0.0f), v_get(da, n, 0.0f)), n);
}

void ISA_NAME(node_scores_grad)(float *dx, bool add, float *da, const float *ds, const float *x, const float *a,
                                int64_t heads, int64_t size, int64_t rows) {
    const int64_t width = heads * size;
    const bool share = heads_share(heads, size);
    for (int64_t i = 0; i < rows; i++, ds += heads) {
        const int64_t at = i * width;
        if (share)
            for (int64_t c = 0; c < width; c += VW)
                scores_grad_part(dx ? dx + at + c : NULL, add, da ? da + c : NULL, heads_spread(ds + c / size, size),
                                 x + at + c, a + c, VW);
        else
            for (int64_t h = 0; h < heads; h++)
                V_EACH(k, n, size, {
                    const int64_t c = h * size + k;
                    scores_grad_part(dx ? dx + at + c : NULL, add, da ? da + c : NULL, v_set(ds[h]), x + at + c, a + c,
                                     n);
                });
    }
}

/* ---- the dynamic kind ---- */

/* a . leaky(l + r) of each head */
INLINE void dynamic_scores(float *to, const struct edge_attention *e, const float *l, const float *r, const float *a) {
    const int64_t heads = e->heads, size = e->size;
    if (heads_share(heads, size))
        for (int64_t c = 0; c < heads * size; c += VW)
            heads_sum(to + c / size, v_load(a + c) * leaky(v_load(l + c) + v_load(r + c), e->slope), size);
    else
        for (int64_t h = 0; h < heads; h++, l += size, r += size, a += size) {
            vf sum = {0};
            V_EACH(c, n, size, {
                const vf x = v_get(l + c, n, 0.0f) + v_get(r + c, n, 0.0f);
                sum = v_fma(v_get(a + c, n, 0.0f), leaky(x, e->slope), sum);
            });
            to[h] = v_sum(sum);
        }
}

void ISA_NAME(edge_dynamic)(const struct edge_attention *e, float *alpha, const float *l, const float *r,
                            const float *a, int64_t first, int64_t rows) {
    const int64_t heads = e->heads, width = heads * e->size;
    for (int64_t i = first; i < first + rows; i++) {
        const int32_t from = e->edges.in[i], end = e->edges.in[i + 1];
        const float *const own = r + i * width;
        if (end == from) continue;
        for (int32_t k = from; k < end; k++) dynamic_scores(alpha + k * heads, e, l + e->edges.from[k] * width, own, a);
        row_softmax(alpha + from * heads, end - from, heads);
    }
}

/* Rows of the gradient of l or r: those of nodes whose edges are positions start to past, to nodes `index`. */
struct dynamic_rows {
    const struct edge_attention *e;
    const int32_t *start, *index, *place; /* place of de's edges; NULL: as they lie */
    const float *mine, *theirs, *a, *de;
    float *dx, *da;
    bool add;
};

/* n numbers of node i from column c on, which is of head h, or with `share` of h and those behind it. */
INLINE void dynamic_grad_part(const struct dynamic_rows *j, int64_t i, int64_t c, int64_t h, int64_t n,
                              const bool share) {
    const int64_t heads = j->e->heads, size = j->e->size, width = heads * size, at = i * width + c;
    const float slope = j->e->slope;
    const vf own = v_get(j->mine + at, n, 0.0f);
    vf sum = {0}, sum_a = {0};
    for (int32_t k = j->start[i]; k < j->start[i + 1]; k++) {
        const float *const de = j->de + (j->place ? j->place[k] : k) * heads + h;
        const vf x = own + v_get(j->theirs + j->index[k] * width + c, n, 0.0f);
        const vf d = share ? heads_spread(de, size) : v_set(*de);
        sum += v_where(x > 0, d, d * slope);
        sum_a = v_fma(d, leaky(x, slope), sum_a);
    }
    if (j->dx)
        v_put(j->dx + at, v_fma(v_get(j->a + c, n, 0.0f), sum, j->add ? v_get(j->dx + at, n, 0.0f) : v_set(0.0f)), n);
    if (j->da) v_put(j->da + c, v_get(j->da + c, n, 0.0f) + sum_a, n);
}

/* dx_i = or += sum over its edges of de a leaky'(x),  x = l_j + r_i: of targets r_i, of sources l_i. da (or NULL) += de
 * leaky(x). */
void ISA_NAME(edge_dynamic_grad)(const struct edge_attention *e, float *dx, bool add, float *da, const float *de,
                                 const float *l, const float *r, const float *a, bool sources, int64_t first,
                                 int64_t rows) {
    const struct dynamic_rows j = {.e = e,
                                   .start = sources ? e->edges.out : e->edges.in,
                                   .index = sources ? e->edges.to : e->edges.from,
                                   .place = sources ? e->edges.place : NULL,
                                   .mine = sources ? l : r,
                                   .theirs = sources ? r : l,
                                   .a = a,
                                   .de = de,
                                   .dx = dx,
                                   .da = da,
                                   .add = add};
    const int64_t heads = e->heads, size = e->size;
    const bool share = heads_share(heads, size);
    for (int64_t i = first; i < first + rows; i++)
        if (share)
            for (int64_t c = 0; c < heads * size; c += VW) dynamic_grad_part(&j, i, c, c / size, VW, true);
        else
            for (int64_t h = 0; h < heads; h++)
                V_EACH(c, n, size, { dynamic_grad_part(&j, i, h * size + c, h, n, false); });
}
