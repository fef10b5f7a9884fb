/* The inner loops of attention: a block of keys against a strip of queries, one query a lane.
 *
 * Scores stand transposed, (keys, lanes): keys are rows of the left operand, read where they lie, queries the packed
 * right one. So maximum and sum run down the lanes, without a step across a vector, and the weights are the right
 * operand of yt = V' p, whose left one, V', is again read where it lies. Nothing of the keys or values is packed. */
#include "kernel/attention_blocks.h"
#include "kernel/isa/tiles.h"
#include "kernel/isa/vmath.h"

int64_t ISA_NAME(attention_lanes)(void) { return NR; }

/* C (m, NR) = or += A B, the k of A's rows, or columns where it is stored transposed. */
struct product {
    int64_t k;
    const float *a, *b;
    int64_t lda, ldb;
    float *c;
    int64_t ldc, n; /* n: columns of C up to its edge */
    float *top;     /* (NR) or NULL: raised to the largest of each column */
};

INLINE void put_tile(const struct product *t, const int rows) {
    vf acc[MR][NV];
    tile_sums(acc, rows, false, t->k, t->a, t->lda, t->b, t->ldb);
    UNROLL for (int i = 0; i < rows; i++) UNROLL for (int v = 0; v < NV; v++)
        v_store(t->c + i * t->ldc + v * VW, acc[i][v]);
    if (!t->top) return;
    UNROLL for (int v = 0; v < NV; v++) {
        vf top = v_load(t->top + v * VW);
        UNROLL for (int i = 0; i < rows; i++) top = v_max(acc[i][v], top);
        v_store(t->top + v * VW, top);
    }
}

INLINE void gain_tile(const struct product *t, const int rows, const bool transposed) {
    vf acc[MR][NV];
    UNROLL for (int i = 0; i < rows; i++) __builtin_prefetch(t->c + i * t->ldc, 1);
    tile_sums(acc, rows, transposed, t->k, t->a, t->lda, t->b, t->ldb);
    if (t->n >= NR) {
        UNROLL for (int i = 0; i < rows; i++) UNROLL for (int v = 0; v < NV; v++) {
            float *const c = t->c + i * t->ldc + v * VW;
            v_store(c, v_load(c) + acc[i][v]);
        }
        return;
    }
    float cut[MR * NR];
    UNROLL for (int i = 0; i < rows; i++) UNROLL for (int v = 0; v < NV; v++) v_store(cut + i * NR + v * VW, acc[i][v]);
    for (int i = 0; i < rows; i++)
        for (int64_t j = 0; j < t->n; j++) t->c[i * t->ldc + j] += cut[i * NR + j];
}

#define ROWS(rows)                                                                                                     \
    static void put_##rows(const struct product *t) { put_tile(t, rows); }                                             \
    static void gain_##rows(const struct product *t) { gain_tile(t, rows, false); }                                    \
    static void gain_transposed_##rows(const struct product *t) { gain_tile(t, rows, true); }
EACH_ROWS(ROWS)

typedef void (*tile_of)(const struct product *t);
static const tile_of put[MR + 1] = TILE_TABLE(put);
static const tile_of gain[MR + 1] = TILE_TABLE(gain);
static const tile_of gain_transposed[MR + 1] = TILE_TABLE(gain_transposed);

/* m rows of C, shared out evenly among the tiles. */
static void run(const tile_of *tiles, int64_t m, struct product t) {
    const int64_t count = (m + MR - 1) / MR, step = tiles == gain_transposed ? 1 : t.lda;
    for (int64_t i = 0; i < count; i++) {
        const int64_t rows = m / count + (i < m % count);
        tiles[rows](&t);
        t.a += rows * step, t.c += rows * t.ldc;
    }
}

/* Row-major C (m,n) += A B, strip by strip. */
static void run_wide(int64_t m, struct product t) {
    const int64_t n = t.n;
    for (int64_t j = 0; j < n; j += NR, t.b += NR, t.c += NR) {
        t.n = n - j;
        run(gain, m, t);
    }
}

void ISA_NAME(attention_pack)(float *strip, const float *x, int64_t ldx, int64_t rows, int64_t cols, float scale) {
    if (rows < NR) memset(strip, 0, (size_t)(cols * NR) * sizeof(float));
    ISA_NAME(gemm_transpose)(strip, NR, x, ldx, rows, cols);
    if (scale != 1)
        for (int64_t i = 0; i < cols * NR; i += VW) v_store(strip + i, v_load(strip + i) * scale);
}

void ISA_NAME(attention_unpack)(float *x, int64_t ldx, float *strip, int64_t rows, int64_t cols, const float *factor,
                                bool add) {
    for (int64_t c = 0; factor && c < cols; c++)
        UNROLL for (int v = 0; v < NR; v += VW)
            v_store(strip + c * NR + v, v_load(strip + c * NR + v) * v_load(factor + v));
    if (!add) {
        ISA_NAME(gemm_transpose)(x, ldx, strip, NR, cols, rows);
        return;
    }
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < cols; c++) x[r * ldx + c] += strip[c * NR + r];
}

INLINE vf with_bias(vf score, vf add) { return v_where(add == -INFINITY, add, score + add); }

/* cap tanh(score / cap): below cap, and for small scores the score (Bello et al. 2017) */
INLINE vf capped(vf score, float cap) { return v_tanh(score * (1 / cap)) * cap; }

/* Caps, adds the bias and hides what is not seen; top, where not NULL, is raised to each lane's largest. */
INLINE void mask_scores(float *scores, int64_t ld, const struct attention_block *b, float *top) {
    vi from[NV] = {{0}}, to[NV] = {{0}};
    vf most[NV];
    UNROLL for (int v = 0; v < NV; v++) {
        if (b->from) {
            memcpy(from + v, b->from + v * VW, sizeof *from);
            memcpy(to + v, b->to + v * VW, sizeof *to);
        }
        most[v] = top ? v_load(top + v * VW) : v_set(-INFINITY);
    }
    for (int64_t j = 0; j < b->keys; j++) UNROLL for (int v = 0; v < NV; v++) {
            float *const at = scores + j * ld + v * VW;
            vf x = v_load(at);
            if (b->cap != 0) x = capped(x, b->cap);
            if (b->add) x = with_bias(x, v_load(b->add + j * NR + v * VW));
            if (b->from) {
                const vi here = (vi){0} + (int32_t)j;
                x = v_where((here >= from[v]) & (here < to[v]), x, v_set(-INFINITY));
            }
            v_store(at, x);
            most[v] = v_max(x, most[v]);
        }
    UNROLL for (int v = 0; top && v < NV; v++) v_store(top + v * VW, most[v]);
}

static void strip_scores(const struct attention_strip *s, float *top) {
    const struct attention_block *const b = &s->block;
    const bool masked = b->add || b->from || b->cap != 0;
    struct product t = {b->d, b->k, s->qt, b->ldk, NR, s->scores, NR, NR, masked ? NULL : top};
    run(put, b->keys, t);
    if (masked) mask_scores(s->scores, NR, b, top);
}

void ISA_NAME(attention_scores)(const struct attention_strip *s) { strip_scores(s, NULL); }

/* What is taken from scores before exp: the largest, or 0 where nothing was seen yet, whose exp is 0 then. */
INLINE vf shift_of(vf top) { return v_where(top == -INFINITY, v_set(0), top); }

/* One or two keys: scores become weights, in units of exp(shift). */
INLINE void exp_scores(float *scores, const vf shift[NV], vf sum[NV], const int keys) {
    vf x[2 * NV];
    UNROLL for (int i = 0; i < keys * NV; i++) x[i] = v_load(scores + i * VW) - shift[i % NV];
    v_exp_below_each(x, keys * NV);
    UNROLL for (int i = 0; i < keys * NV; i++) {
        sum[i % NV] += x[i];
        v_store(scores + i * VW, x[i]);
    }
}

void ISA_NAME(attention_strip)(const struct attention_strip *s) {
    const struct attention_block *const b = &s->block;
    vf shift[NV], fade[NV], sum[NV];
    float top[NR];
    bool moved = false;
    memcpy(top, s->top, sizeof top);
    strip_scores(s, top);
    UNROLL for (int v = 0; v < NV; v++) {
        const vf old = v_load(s->top + v * VW), now = v_load(top + v * VW);
        shift[v] = shift_of(now);
        fade[v] = v_exp_below(old - shift[v]);
        moved |= v_any(old != now);
        sum[v] = (vf){0};
    }
    int64_t j = 0;
    for (; j + 2 <= b->keys; j += 2) exp_scores(s->scores + j * NR, shift, sum, 2);
    if (j < b->keys) exp_scores(s->scores + j * NR, shift, sum, 1);
    if (b->factor)
        for (int64_t i = 0; i < b->keys * NR; i += VW)
            v_store(s->scores + i, v_load(s->scores + i) * v_load(b->factor + i));
    UNROLL for (int v = 0; v < NV; v++) v_store(s->sum + v * VW, v_fma(v_load(s->sum + v * VW), fade[v], sum[v]));
    memcpy(s->top, top, sizeof top);
    for (int64_t i = 0; moved && i < b->e; i++)
        UNROLL for (int v = 0; v < NV; v++) v_store(s->yt + i * NR + v * VW, v_load(s->yt + i * NR + v * VW) * fade[v]);
    run(gain_transposed, b->e, (struct product){b->keys, b->v, s->scores, b->ldv, NR, s->yt, NR, NR, NULL});
}

/* ---- one query ----
 *
 * The sums of a strip's lane, in the same order, so that the bits of a row do not tell with how many others it came: a
 * score is one chain over d, a sum of weights one over the keys of a block, and so is each number of y. The lanes are
 * keys here, whose rows are read where they lie and transposed in registers. */

/* Columns c .. c + TW of VW keys from key j on; of fewer, the last is taken again. */
INLINE void load_keys(vf out[TW], const struct attention_block *b, int64_t j, int64_t keys, int64_t c) {
    const float *const k = b->k + j * b->ldk + c;
    vt row[VW];
    UNROLL for (int i = 0; i < VW; i++) row[i] = t_read(k, (i < keys ? i : keys - 1) * b->ldk, STORED_F32);
#if VW == TW
    transpose_rows((vt *)out, row);
#else
    vf pair[TW];
    UNROLL for (int i = 0; i < TW; i++) pair[i] = v_join(row[i], row[i + TW]);
    transpose_tall(out, pair);
#endif
}

/* Scores of keys j .. j + keys, which `groups` vectors hold. */
INLINE void dot_group(const struct attention_row *r, int64_t j, int64_t keys, const int groups) {
    const struct attention_block *const b = &r->block;
    vf acc[2] = {{0}, {0}}, column[TW];
    int64_t c = 0;
    ROLLED for (; c + TW <= b->d; c += TW) UNROLL for (int g = 0; g < groups; g++) {
        load_keys(column, b, j + g * VW, keys - g * VW < VW ? keys - g * VW : VW, c);
        UNROLL for (int u = 0; u < TW; u++) acc[g] = v_fma(column[u], v_set(r->q[c + u]), acc[g]);
    }
    for (; c < b->d; c++) UNROLL for (int g = 0; g < groups; g++) {
            float one[VW] = {0};
            for (int64_t i = 0; i < VW && g * VW + i < keys; i++) one[i] = b->k[(j + g * VW + i) * b->ldk + c];
            acc[g] = v_fma(v_load(one), v_set(r->q[c]), acc[g]);
        }
    UNROLL for (int g = 0; g < groups; g++) v_put(r->scores + j + g * VW, acc[g], keys - g * VW);
}

static void dot_keys(const struct attention_row *r) {
    const int64_t keys = r->block.keys;
    int64_t j = 0;
    for (; j + 2 * VW <= keys; j += 2 * VW) dot_group(r, j, 2 * VW, 2);
    if (j + VW <= keys) dot_group(r, j, VW, 1), j += VW;
    if (j < keys) dot_group(r, j, keys - j, 1);
}

static void row_scores(const struct attention_row *r) {
    const struct attention_block *const b = &r->block;
    dot_keys(r);
    if (b->cap != 0) V_EACH(i, n, b->keys, { v_put(r->scores + i, capped(v_get(r->scores + i, n, 0), b->cap), n); });
    if (!b->add) return;
    V_EACH(i, n, b->keys, { v_put(r->scores + i, with_bias(v_get(r->scores + i, n, 0), v_get(b->add + i, n, 0)), n); });
}
void ISA_NAME(attention_row_scores)(const struct attention_row *r) { row_scores(r); }

INLINE vf value_factor(const struct attention_row *r, int64_t j) {
    return v_set(r->block.factor ? r->scores[j] * r->block.factor[j] : r->scores[j]);
}

/* y += sum of p_j v_j over `count` vectors of columns, which stay in registers. Returns the sum of p_j, before dropout,
 * which runs along for nothing. */
INLINE vf gather_values(const struct attention_row *r, int64_t from, const int count) {
    const struct attention_block *const b = &r->block;
    vf acc[8], sum = {0};
    UNROLL for (int i = 0; i < count; i++) acc[i] = (vf){0};
    for (int64_t j = 0; j < b->keys; j++) {
        const vf p = value_factor(r, j);
        const float *const v = b->v + j * b->ldv + from;
        sum += v_set(r->scores[j]);
        UNROLL for (int i = 0; i < count; i++) acc[i] = v_fma(p, v_load(v + i * VW), acc[i]);
    }
    UNROLL for (int i = 0; i < count; i++) {
        float *const y = r->y + from + i * VW;
        v_store(y, v_load(y) + acc[i]);
    }
    return sum;
}

/* The columns that do not fill a vector: in vectors too, since a compiler may round a plain loop one way or another
 * depending on where its arrays lie. */
INLINE vf gather_last(const struct attention_row *r, int64_t from) {
    const struct attention_block *const b = &r->block;
    const int64_t n = b->e - from;
    vf acc = {0}, sum = {0};
    for (int64_t j = 0; j < b->keys; j++) {
        sum += v_set(r->scores[j]);
        acc = v_fma(value_factor(r, j), v_load_part(b->v + j * b->ldv + from, n, 0), acc);
    }
    v_store_part(r->y + from, v_load_part(r->y + from, n, 0) + acc, n);
    return sum;
}

void ISA_NAME(attention_row)(const struct attention_row *r) {
    const struct attention_block *const b = &r->block;
    row_scores(r);
    vf most = v_set(-INFINITY), sum = {0};
    V_EACH(i, n, b->keys, { most = v_max(v_get(r->scores + i, n, -INFINITY), most); });
    const float block_top = v_top(most), top = block_top > *r->top ? block_top : *r->top;
    const float shift = top == -INFINITY ? 0 : top;
    const vf fade = v_exp_below(v_set(*r->top - shift));
    V_EACH(i, n, b->keys, { v_put(r->scores + i, v_exp_below(v_get(r->scores + i, n, -INFINITY) - shift), n); });
    V_EACH(i, n, b->e, { v_put(r->y + i, v_get(r->y + i, n, 0) * fade, n); });
    int64_t i = 0;
    for (; i + 8 * VW <= b->e; i += 8 * VW) sum = gather_values(r, i, 8);
    for (; i + 4 * VW <= b->e; i += 4 * VW) sum = gather_values(r, i, 4);
    for (; i + VW <= b->e; i += VW) sum = gather_values(r, i, 1);
    if (i < b->e) sum = gather_last(r, i);
    *r->top = top;
    *r->sum = v_fma(v_set(*r->sum), fade, sum)[0];
    if (b->factor)
        V_EACH(at, n, b->keys,
               { v_put(r->scores + at, v_get(r->scores + at, n, 0) * v_get(b->factor + at, n, 0), n); });
}

/* Of what is hidden, 0: not 0 times a sum that may be NaN. */
INLINE vf weight_of(vf score, vf top, vf inv) {
    return (vf)((vi)(v_exp_below(score - shift_of(top)) * inv) & (vi)(score != -INFINITY));
}

struct back_lanes {
    vf shift[NV], inv[NV], delta[NV];
    float cap; /* that ds goes back through; 0: none */
};

/* d (1 - (s / cap)^2), s the capped score before the bias */
INLINE vf before_cap(vf d, vf score, const float *add, float cap) {
    const vf s = (add ? score - v_load(add) : score) * (1 / cap);
    return d * (1.0f - s * s);
}

/* Keys j and, where there are two, j + 1 of a strip: scores in p and dp in ds become weights times factor, as dv wants
 * them, and ds = p (dp factor - delta). Of what is hidden, 0: not 0 times a sum or a dp that may be NaN. */
INLINE void back_keys(float *p, float *ds, int64_t ld, const struct attention_block *m, int64_t j,
                      const struct back_lanes *l, const int keys) {
    vf x[2 * NV];
    p += j * ld, ds += j * ld;
    UNROLL for (int i = 0; i < keys * NV; i++) x[i] = v_load(p + i / NV * ld + i % NV * VW) - l->shift[i % NV];
    v_exp_below_each(x, keys * NV);
    UNROLL for (int i = 0; i < keys * NV; i++) {
        const int64_t at = i / NV * ld + i % NV * VW;
        const vf score = v_load(p + at);
        const vi seen = score != -INFINITY;
        const vf weight = (vf)((vi)(x[i] * l->inv[i % NV]) & seen), dp = v_load(ds + at);
        const vf keep = m->factor ? v_load(m->factor + j * NR + i * VW) : v_set(1);
        vf d = weight * (dp * keep - l->delta[i % NV]);
        if (l->cap != 0) d = before_cap(d, score, m->add ? m->add + j * NR + i * VW : NULL, l->cap);
        v_store(p + at, weight * keep);
        v_store(ds + at, (vf)((vi)d & seen));
    }
}

/* The same where the block holds all keys that the strip sees: sum and delta, which is the sum of p dp, are those of
 * these very numbers, so that ds of a query that looks at one key alone is 0, as that of a softmax kept whole, and not
 * a difference of roundings. */
struct back_sums {
    vf sum[NV], delta[NV];
};
INLINE void sum_key(float *p, float *ds, const float *factor, const struct back_lanes *l, struct back_sums *to) {
    vf x[NV];
    UNROLL for (int v = 0; v < NV; v++) x[v] = v_load(p + v * VW) - l->shift[v];
    v_exp_below_each(x, NV);
    UNROLL for (int v = 0; v < NV; v++) {
        const vi seen = v_load(p + v * VW) != -INFINITY;
        const vf weight = (vf)((vi)x[v] & seen), dp = v_load(ds + v * VW);
        const vf kept = (vf)((vi)(factor ? dp * v_load(factor + v * VW) : dp) & seen);
        to->sum[v] += weight;
        to->delta[v] = v_fma(weight, kept, to->delta[v]);
        v_store(p + v * VW, weight);
        v_store(ds + v * VW, kept);
    }
}
INLINE void back_alone(float *p, float *ds, int64_t ld, const struct attention_block *m, const struct back_lanes *l) {
    struct back_sums s;
    UNROLL for (int v = 0; v < NV; v++) s.sum[v] = s.delta[v] = (vf){0};
    for (int64_t j = 0; j < m->keys; j++)
        sum_key(p + j * ld, ds + j * ld, m->factor ? m->factor + j * NR : NULL, l, &s);
    UNROLL for (int v = 0; v < NV; v++) {
        s.sum[v] = (vf)((vi)(1.0f / s.sum[v]) & (vi)(s.sum[v] != 0));
        s.delta[v] *= s.sum[v];
    }
    for (int64_t j = 0; j < m->keys; j++) UNROLL for (int v = 0; v < NV; v++) {
            const int64_t at = j * ld + v * VW;
            const vi seen = v_load(p + at) != 0; /* a sum may be NaN */
            const vf weight = (vf)((vi)(v_load(p + at) * s.sum[v]) & seen), d = weight * (v_load(ds + at) - s.delta[v]);
            v_store(p + at, m->factor ? weight * v_load(m->factor + j * NR + v * VW) : weight);
            v_store(ds + at, (vf)((vi)d & seen));
        }
}

/* One strip. Keys beyond those that some lane sees are zero. */
INLINE void strip_back(const struct attention_back *b, int64_t strip) {
    const struct attention_block *const m = &b->mask[strip];
    const int64_t at = strip * NR, ld = b->ld;
    float *const p = b->p + at, *const ds = b->ds + at;
    struct back_lanes l = {.cap = b->dqt || b->dk ? m->cap : 0}; /* biases are added after the cap */
    UNROLL for (int v = 0; v < NV; v++) {
        l.shift[v] = shift_of(v_load(b->top + at + v * VW));
        l.inv[v] = v_load(b->inv + at + v * VW);
        l.delta[v] = v_load(b->delta + at + v * VW);
    }
    if (m->from || m->add || m->cap != 0) mask_scores(p, ld, m, NULL);
    int64_t j = 0;
    if (b->alone) {
        back_alone(p, ds, ld, m, &l);
        j = m->keys;
    }
    for (; j + 2 <= m->keys; j += 2) back_keys(p, ds, ld, m, j, &l, 2);
    if (j < m->keys) back_keys(p, ds, ld, m, j, &l, 1);
    for (j = m->keys; j < b->keys; j++) UNROLL for (int v = 0; v < NV; v++) {
            v_store(p + j * ld + v * VW, (vf){0});
            v_store(ds + j * ld + v * VW, (vf){0});
        }
}

void ISA_NAME(attention_back)(const struct attention_back *b) {
    for (int64_t s = 0; s < b->strips; s++) {
        const int64_t keys = b->mask[s].keys, at = s * NR;
        float *const p = b->p + at, *const ds = b->ds + at;
        run(put, keys, (struct product){b->d, b->k, b->qt + at * b->d, b->ldk, NR, p, b->ld, NR, NULL});
        run(put, keys, (struct product){b->e, b->v, b->dyt + at * b->e, b->ldv, NR, ds, b->ld, NR, NULL});
        strip_back(b, s);
        if (b->dqt)
            run(gain_transposed, b->d,
                (struct product){keys, b->safe_k, ds, b->ld_safe, b->ld, b->dqt + at * b->d, NR, NR, NULL});
    }
    const int64_t queries = b->strips * NR;
    if (b->dv) run_wide(b->keys, (struct product){queries, b->p, b->dy, b->ld, b->ldy, b->dv, b->lddv, b->e, NULL});
    if (b->dk) run_wide(b->keys, (struct product){queries, b->ds, b->q, b->ld, b->ldq, b->dk, b->lddk, b->d, NULL});
}

void ISA_NAME(attention_weights)(float *strip, int64_t rows, const float *top, const float *inv) {
    for (int64_t i = 0; i < rows * NR; i += NR)
        UNROLL for (int v = 0; v < NR; v += VW)
            v_store(strip + i + v, weight_of(v_load(strip + i + v), v_load(top + v), v_load(inv + v)));
}

void ISA_NAME(attention_row_weights)(float *x, int64_t n, float top, float inv) {
    V_EACH(i, count, n, { v_put(x + i, weight_of(v_get(x + i, count, -INFINITY), v_set(top), v_set(inv)), count); });
}

/* x - x is 0 for numbers, NaN for NaN and infinities. */
bool ISA_NAME(attention_finite)(const float *x, int64_t ldx, int64_t rows, int64_t cols) {
    vf bad = {0};
    for (int64_t r = 0; r < rows; r++, x += ldx)
        V_EACH(i, n, cols, {
            const vf y = v_get(x + i, n, 0);
            bad += y - y;
        });
    return !v_any(bad != 0);
}

void ISA_NAME(attention_dots)(float *out, const float *a, int64_t lda, const float *b, int64_t ldb, int64_t rows,
                              int64_t cols) {
    for (int64_t r = 0; r < rows; r++) {
        vf sum = {0};
        V_EACH(i, n, cols, { sum = v_fma(v_get(a + r * lda + i, n, 0), v_get(b + r * ldb + i, n, 0), sum); });
        out[r] = v_sum(sum);
    }
}
