/* Attention along edges. The numbers of a target's edges and heads lie in a row, (edges,heads), so they are worked on
 * as they lie, beside rows of heads that are written out often enough for a vector to begin at any of them. */
#include "kernel/edge_attention.h"
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

INLINE float dot(const float *a, const float *b, int64_t n) {
    vf sum = {0};
    V_EACH(c, count, n, { sum = v_fma(v_get(a + c, count, 0.0f), v_get(b + c, count, 0.0f), sum); });
    return v_sum(sum);
}

void ISA_NAME(node_scores)(float *s, const float *x, const float *a, int64_t heads, int64_t size, int64_t rows) {
    for (int64_t i = 0; i < rows; i++, s += heads, x += heads * size)
        for (int64_t h = 0; h < heads; h++) s[h] = dot(x + h * size, a + h * size, size);
}

/* dx (or NULL) = or += ds a;   da (or NULL) += ds x */
void ISA_NAME(node_scores_grad)(float *dx, bool add, float *da, const float *ds, const float *x, const float *a,
                                int64_t heads, int64_t size, int64_t rows) {
    for (int64_t i = 0; i < rows * heads; i++) {
        const int64_t h = i % heads * size, at = i * size;
        const vf d = v_set(ds[i]);
        if (dx)
            V_EACH(c, n, size, {
                const vf before = add ? v_get(dx + at + c, n, 0.0f) : v_set(0.0f);
                v_put(dx + at + c, v_fma(d, v_get(a + h + c, n, 0.0f), before), n);
            });
        if (da)
            V_EACH(c, n, size,
                   { v_put(da + h + c, v_fma(d, v_get(x + at + c, n, 0.0f), v_get(da + h + c, n, 0.0f)), n); });
    }
}

/* ---- the dynamic kind ---- */

void ISA_NAME(edge_dynamic)(const struct edge_attention *e, float *alpha, const float *l, const float *r,
                            const float *a, int64_t first, int64_t rows) {
    const int64_t heads = e->heads, size = e->size;
    for (int64_t i = first; i < first + rows; i++) {
        const int32_t from = e->edges.in[i], end = e->edges.in[i + 1];
        const float *const own = r + i * heads * size;
        if (end == from) continue;
        for (int32_t k = from; k < end; k++)
            for (int64_t h = 0; h < heads; h++) {
                const float *const other = l + (e->edges.from[k] * heads + h) * size;
                vf sum = {0};
                V_EACH(c, n, size, {
                    const vf x = v_get(other + c, n, 0.0f) + v_get(own + h * size + c, n, 0.0f);
                    sum = v_fma(v_get(a + h * size + c, n, 0.0f), leaky(x, e->slope), sum);
                });
                alpha[k * heads + h] = v_sum(sum);
            }
        row_softmax(alpha + from * heads, end - from, heads);
    }
}

/* dx_i = or += sum over its edges of de a leaky'(x),  x = l_j + r_i: of targets r_i, of sources l_i. da (or NULL) += de
 * leaky(x). */
void ISA_NAME(edge_dynamic_grad)(const struct edge_attention *e, float *dx, bool add, float *da, const float *de,
                                 const float *l, const float *r, const float *a, bool sources, int64_t first,
                                 int64_t rows) {
    const int64_t heads = e->heads, size = e->size;
    const int32_t *const start = sources ? e->edges.out : e->edges.in;
    const int32_t *const index = sources ? e->edges.to : e->edges.from;
    const float *const mine = sources ? l : r, *const theirs = sources ? r : l;
    for (int64_t i = first; i < first + rows; i++)
        for (int64_t h = 0; h < heads; h++) {
            const int64_t at = (i * heads + h) * size;
            V_EACH(c, n, size, {
                const vf own = v_get(mine + at + c, n, 0.0f);
                const vf weight = v_get(a + h * size + c, n, 0.0f);
                vf sum = {0};
                vf sum_a = {0};
                for (int32_t k = start[i]; k < start[i + 1]; k++) {
                    const vf x = own + v_get(theirs + (index[k] * heads + h) * size + c, n, 0.0f);
                    const vf d = v_set(de[(sources ? e->edges.place[k] : k) * heads + h]);
                    sum += v_where(x > 0, d, d * e->slope);
                    sum_a = v_fma(d, leaky(x, e->slope), sum_a);
                }
                if (dx) v_put(dx + at + c, v_fma(weight, sum, add ? v_get(dx + at + c, n, 0.0f) : v_set(0.0f)), n);
                if (da) v_put(da + h * size + c, v_get(da + h * size + c, n, 0.0f) + sum_a, n);
            });
        }
}
