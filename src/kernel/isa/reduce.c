/* Folding loops of one instruction set: sums of functions of x, and extremes, over rows or columns; and the gradients
 * of reductions.
 *
 * A row is folded in blocks of ROW_BLOCK by four vectors of partial results, a column in blocks of COLUMN_BLOCK rows;
 * blocks are added up in double, in order. */
#include "kernel/reduce.h"
#include "kernel/isa/vmath.h"

#define ROW_BLOCK    ((int64_t)128 * VW) /* 32 additions one after the other */
#define COLUMN_BLOCK ((int64_t)64)

/* What an element contributes. `fold` is a constant wherever this is inlined. */
INLINE vf term(int fold, vf x, vf shift, float p) {
    const vf one = v_set(1.0f), d = x - shift;
    switch (fold) {
    case FOLD_ABS:
    case FOLD_MAX_ABS:
        return v_abs(x);
    case FOLD_SQUARE:
        return x * x;
    case FOLD_POWER:
        return v_exp(p * v_log(v_abs(x)));
    case FOLD_DEVIATION:
        return d * d;
    case FOLD_EXP:
        return v_exp(d);
    case FOLD_TIES:
        return (vf)((vi)one & (x == shift));
    case FOLD_TIES_ABS:
        return (vf)((vi)one & (v_abs(x) == shift));
    default:
        return x;
    }
}

INLINE bool is_extreme(int fold) { return fold >= FOLD_MAX; }
INLINE float identity(int fold) {
    return fold == FOLD_MIN ? INFINITY : fold == FOLD_MAX ? -INFINITY : 0.0f; /* 0 for |x| too */
}
/* NaN if any is NaN, and stays. */
INLINE vf join(int fold, vf acc, vf t) {
    if (!is_extreme(fold)) return acc + t;
    return v_where((fold == FOLD_MIN ? t < acc : t > acc) | (t != t), t, acc);
}
INLINE double join_scalar(int fold, double acc, double t) {
    if (!is_extreme(fold)) return acc + t;
    return (fold == FOLD_MIN ? t < acc : t > acc) || t != t ? t : acc;
}

INLINE void join_double(int fold, double *acc, vf t, int64_t n) {
    if (n == VW && !is_extreme(fold)) {
        vd sum;
        memcpy(&sum, acc, sizeof sum);
        sum += __builtin_convertvector(t, vd);
        memcpy(acc, &sum, sizeof sum);
    } else
        for (int64_t i = 0; i < n; i++) acc[i] = join_scalar(fold, acc[i], (double)t[i]);
}

/* The first n < VW elements as terms; the rest contribute nothing. */
INLINE vf term_part(int fold, const float *x, int64_t n, vf shift, float p) {
    const vf t = term(fold, v_load_part(x, n, 0.0f), shift, p);
    float lane[VW];
    memcpy(lane, &t, sizeof lane);
    for (int64_t i = n; i < VW; i++) lane[i] = identity(fold);
    return v_load(lane);
}

INLINE double fold_block(int fold, const float *x, int64_t n, vf shift, float p) {
    vf acc[4];
    for (int k = 0; k < 4; k++) acc[k] = v_set(identity(fold));
    int64_t i = 0;
    for (; i + 4 * VW <= n; i += 4 * VW)
        for (int k = 0; k < 4; k++) acc[k] = join(fold, acc[k], term(fold, v_load(x + i + k * VW), shift, p));
    for (; i + VW <= n; i += VW) acc[0] = join(fold, acc[0], term(fold, v_load(x + i), shift, p));
    if (i < n) acc[1] = join(fold, acc[1], term_part(fold, x + i, n - i, shift, p));
    const vf all = join(fold, join(fold, acc[0], acc[1]), join(fold, acc[2], acc[3]));
    if (!is_extreme(fold)) return (double)v_sum(all);
    double top = (double)all[0];
    for (int k = 1; k < VW; k++) top = join_scalar(fold, top, (double)all[k]);
    return top;
}

INLINE void rows_of(int fold, double *acc, const float *x, int64_t ld, int64_t rows, int64_t n, const float *shift,
                    float p) {
    for (int64_t r = 0; r < rows; r++, x += ld) {
        const vf s = v_set(shift ? shift[r] : 0.0f);
        for (int64_t i = 0; i < n; i += ROW_BLOCK)
            acc[r] = join_scalar(fold, acc[r], fold_block(fold, x + i, n - i < ROW_BLOCK ? n - i : ROW_BLOCK, s, p));
    }
}

/* `vectors` vectors of columns side by side; in the last only `part` lanes count. */
INLINE void columns_of(int fold, double *acc, const float *x, int64_t ld, int64_t rows, int vectors, int64_t part,
                       const float *shift, float p) {
    const int last = vectors - 1;
    vf s[4], sum[4];
    for (int k = 0; k < vectors; k++)
        s[k] = !shift                   ? v_set(0.0f)
               : k < last || part == VW ? v_load(shift + k * VW)
                                        : v_load_part(shift + k * VW, part, 0.0f);
    for (int64_t r = 0; r < rows;) {
        for (int k = 0; k < vectors; k++) sum[k] = v_set(identity(fold));
        for (const int64_t end = r + COLUMN_BLOCK < rows ? r + COLUMN_BLOCK : rows; r < end; r++, x += ld)
            for (int k = 0; k < vectors; k++) {
                const vf v = k < last || part == VW ? v_load(x + k * VW) : v_load_part(x + k * VW, part, 0.0f);
                sum[k] = join(fold, sum[k], term(fold, v, s[k], p));
            }
        for (int k = 0; k < vectors; k++) join_double(fold, acc + k * VW, sum[k], k < last ? VW : part);
    }
}

INLINE void cols_of(int fold, double *acc, const float *x, int64_t ld, int64_t rows, int64_t n, const float *shift,
                    float p) {
    int64_t i = 0;
    for (; i + 4 * VW <= n; i += 4 * VW) columns_of(fold, acc + i, x + i, ld, rows, 4, VW, shift ? shift + i : NULL, p);
    for (; i < n; i += VW)
        columns_of(fold, acc + i, x + i, ld, rows, 1, n - i < VW ? n - i : VW, shift ? shift + i : NULL, p);
}

#define FOLD_SWITCH(LOOP)                                                                                              \
    switch (fold) {                                                                                                    \
    case FOLD_SUM:                                                                                                     \
        LOOP(FOLD_SUM, acc, x, ld, rows, n, shift, p);                                                                 \
        break;                                                                                                         \
    case FOLD_ABS:                                                                                                     \
        LOOP(FOLD_ABS, acc, x, ld, rows, n, shift, p);                                                                 \
        break;                                                                                                         \
    case FOLD_SQUARE:                                                                                                  \
        LOOP(FOLD_SQUARE, acc, x, ld, rows, n, shift, p);                                                              \
        break;                                                                                                         \
    case FOLD_POWER:                                                                                                   \
        LOOP(FOLD_POWER, acc, x, ld, rows, n, shift, p);                                                               \
        break;                                                                                                         \
    case FOLD_DEVIATION:                                                                                               \
        LOOP(FOLD_DEVIATION, acc, x, ld, rows, n, shift, p);                                                           \
        break;                                                                                                         \
    case FOLD_EXP:                                                                                                     \
        LOOP(FOLD_EXP, acc, x, ld, rows, n, shift, p);                                                                 \
        break;                                                                                                         \
    case FOLD_TIES:                                                                                                    \
        LOOP(FOLD_TIES, acc, x, ld, rows, n, shift, p);                                                                \
        break;                                                                                                         \
    case FOLD_TIES_ABS:                                                                                                \
        LOOP(FOLD_TIES_ABS, acc, x, ld, rows, n, shift, p);                                                            \
        break;                                                                                                         \
    case FOLD_MAX:                                                                                                     \
        LOOP(FOLD_MAX, acc, x, ld, rows, n, shift, p);                                                                 \
        break;                                                                                                         \
    case FOLD_MIN:                                                                                                     \
        LOOP(FOLD_MIN, acc, x, ld, rows, n, shift, p);                                                                 \
        break;                                                                                                         \
    case FOLD_MAX_ABS:                                                                                                 \
        LOOP(FOLD_MAX_ABS, acc, x, ld, rows, n, shift, p);                                                             \
        break;                                                                                                         \
    }

void ISA_NAME(fold_rows)(int fold, double *acc, const float *x, int64_t ld, int64_t rows, int64_t n, const float *shift,
                         float p) {
    FOLD_SWITCH(rows_of)
}

void ISA_NAME(fold_cols)(int fold, double *acc, const float *x, int64_t ld, int64_t rows, int64_t n, const float *shift,
                         float p) {
    FOLD_SWITCH(cols_of)
}

/* ---- Gradients: of an element x whose reduction gave y. factor: 1 / N, 2 / (N - correction) or the norm's p. ---- */

/* Which formula; the norms of 1, 2, infinity and any other p have their own. */
enum formula {
    FORMULA_SUM,
    FORMULA_VAR,
    FORMULA_EXP,
    FORMULA_TIES,
    FORMULA_NORM_1,
    FORMULA_NORM_2,
    FORMULA_NORM_INF,
    FORMULA_NORM_P
};

INLINE vf sign_of(vf x) {
    const vf one = v_set(1.0f);
    return (vf)((vi)one & (x > 0.0f)) - (vf)((vi)one & (x < 0.0f));
}

INLINE vf reduce_grad(int formula, vf x, vf dy, vf y, vf count, float factor) {
    const vf one = v_set(1.0f), zero = v_set(0.0f);
    switch (formula) {
    case FORMULA_SUM:
        return dy * factor;
    case FORMULA_VAR:
        return (dy * factor) * (x - y);
    case FORMULA_EXP:
        return v_where(y == -INFINITY, zero, dy * v_exp(x - y));
    case FORMULA_TIES:
        return (vf)((vi)one & (x == y)) * (dy / count);
    case FORMULA_NORM_1:
        return dy * sign_of(x);
    case FORMULA_NORM_2:
        return v_where(y == 0.0f, zero, x * (dy / y));
    case FORMULA_NORM_INF:
        return (vf)((vi)sign_of(x) & (v_abs(x) == y)) * (dy / count);
    default:
        /* dy sign(x) (|x| / y)^(p - 1) */
        return v_where((x == 0.0f) | (y == 0.0f), zero, dy * sign_of(x) * v_exp((factor - 1.0f) * v_log(v_abs(x) / y)));
    }
}

/* The arrays that a formula does not read are given as dx or dy, so that loads need no condition. */
INLINE void reduce_grad_row(int formula, float *dx, const float *x, const float *dy, const float *y, const float *count,
                            bool o0, int64_t n, float factor, bool add) {
    const vf fixed_dy = v_set(*dy), fixed_y = v_set(*y), fixed_count = v_set(*count);
    int64_t i = 0;
    for (; i + VW <= n; i += VW) {
        const vf g = o0 ? reduce_grad(formula, v_load(x + i), v_load(dy + i), v_load(y + i), v_load(count + i), factor)
                        : reduce_grad(formula, v_load(x + i), fixed_dy, fixed_y, fixed_count, factor);
        v_store(dx + i, add ? v_load(dx + i) + g : g);
    }
    if (i < n) {
        const int64_t part = n - i;
        const vf vx = v_load_part(x + i, part, 0.0f);
        const vf g = o0 ? reduce_grad(formula, vx, v_load_part(dy + i, part, 0.0f), v_load_part(y + i, part, 1.0f),
                                      v_load_part(count + i, part, 1.0f), factor)
                        : reduce_grad(formula, vx, fixed_dy, fixed_y, fixed_count, factor);
        v_store_part(dx + i, add ? v_load_part(dx + i, part, 0.0f) + g : g, part);
    }
}

static enum formula formula_of(int kind, float factor) {
    switch (kind) {
    case REDUCE_VAR:
        return FORMULA_VAR;
    case REDUCE_LOGSUMEXP:
        return FORMULA_EXP;
    case REDUCE_MAX:
    case REDUCE_MIN:
        return FORMULA_TIES;
    case REDUCE_NORM:
        return factor == 1.0f       ? FORMULA_NORM_1
               : factor == 2.0f     ? FORMULA_NORM_2
               : factor == INFINITY ? FORMULA_NORM_INF
                                    : FORMULA_NORM_P;
    default:
        return FORMULA_SUM;
    }
}

void ISA_NAME(reduce_grad_tile)(int kind, float *dx, const float *x, const float *dy, const float *y,
                                const float *count, int64_t o1, bool o0, int64_t rows, int64_t n, float factor,
                                bool add) {
    if (n == 0) return;
    const enum formula formula = formula_of(kind, factor);
    const float *px = formula == FORMULA_SUM ? dx : x, *py = y ? y : dy, *pc = count ? count : dy;
    for (int64_t r = 0; r < rows; r++, dx += n, px += n, dy += o1, py += o1, pc += o1) {
#define CASE(formula)                                                                                                  \
    case formula:                                                                                                      \
        if (o0)                                                                                                        \
            reduce_grad_row(formula, dx, px, dy, py, pc, true, n, factor, add);                                        \
        else                                                                                                           \
            reduce_grad_row(formula, dx, px, dy, py, pc, false, n, factor, add);                                       \
        break;
        switch (formula) {
            CASE(FORMULA_SUM)
            CASE(FORMULA_VAR)
            CASE(FORMULA_EXP)
            CASE(FORMULA_TIES)
            CASE(FORMULA_NORM_1)
            CASE(FORMULA_NORM_2)
            CASE(FORMULA_NORM_INF)
            CASE(FORMULA_NORM_P)
        }
#undef CASE
    }
}
