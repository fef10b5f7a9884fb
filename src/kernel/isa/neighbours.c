/* Sums, products and maxima over rows of neighbours. Columns are taken by blocks of a few vectors, which stay in
 * registers while the neighbours go by. */
#include "kernel/neighbours.h"
#include "kernel/ints.h"
#include "kernel/isa/heads.h"

enum { VECTORS = 8, AHEAD = 12, PIECE = 256 }; /* of a block; neighbours that are fetched ahead; weights at once */

/* The weights of positions from to end, those as they lie where nothing is to be worked out; NULL: 1. */
INLINE const float *weights_of(const struct neighbours *n, int64_t head, int32_t from, int32_t end, float *room) {
    const float *const w = n->weight ? n->weight + head : NULL;
    const int64_t step = n->heads ? n->heads : 1;
    if (!w && !n->scale) return NULL;
    if (w && !n->place && !n->scale && step == 1) return w + from;
    for (int32_t k = from; k < end; k++) {
        float v = !w ? 1 : w[(n->place ? n->place[k] : k) * step];
        if (n->scale) v *= n->scale[n->index[k]];
        room[k - from] = v;
    }
    return room;
}

/* A vector of a row, of which `count` numbers belong to it: what lies behind it is read too, unless x ends there. */
INLINE vf row_get(const float *p, int64_t count, const float *end) {
    return count >= VW || p + VW <= end ? v_load(p) : v_load_part(p, count, 0.0f);
}

/* `vectors` vectors of a block from column c on, of which the last has `count` numbers: chains of positions from to end
 * go on from what acc holds. */
INLINE void chains(vf *acc, const struct neighbours *n, const float *x, int64_t cols, int64_t c, const int vectors,
                   int64_t count, const float *w, int32_t from, int32_t end) {
    const float *const past = x + n->others * cols;
    const int32_t *const index = n->index;
    for (int32_t k = from; k < end; k++) {
        const float *const row = x + (int64_t)index[k] * cols + c;
        if (k + AHEAD < end) {
            const float *const next = x + (int64_t)index[k + AHEAD] * cols + c;
            UNROLL
            for (int v = 0; v < vectors; v += 16 / VW) __builtin_prefetch(next + v * VW);
        }
        const vf weight = v_set(w ? w[k - from] : 1.0f);
        UNROLL
        for (int v = 0; v < vectors; v++) {
            const vf from_x = v + 1 < vectors ? v_load(row + v * VW) : row_get(row + v * VW, count, past);
            acc[v] = w ? v_fma(weight, from_x, acc[v]) : acc[v] + from_x;
        }
    }
}

INLINE void block(const struct neighbours *n, float *y, const float *x, int64_t cols, int64_t head, int64_t c,
                  const int vectors, int64_t count, int32_t from, int32_t end, float times, bool add) {
    vf acc[VECTORS];
    float room[PIECE];
    UNROLL
    for (int v = 0; v < vectors; v++) acc[v] = (vf){0};
    for (int32_t at = from; at < end; at += PIECE) {
        const int32_t to = at + PIECE < end ? at + PIECE : end;
        chains(acc, n, x, cols, c, vectors, count, weights_of(n, head, at, to, room), at, to);
    }
    UNROLL
    for (int v = 0; v < vectors; v++) {
        const int64_t here = v + 1 < vectors ? VW : count;
        const vf sum = times == 1 ? acc[v] : acc[v] / times;
        v_put(y + c + v * VW, add ? v_get(y + c + v * VW, here, 0.0f) + sum : sum, here);
    }
}

/* Columns c to past of one row of y, which have the weights of a head: y = or += the chain, divided by `times`. */
INLINE void part_sum(const struct neighbours *n, float *y, const float *x, int64_t cols, int64_t head, int64_t c,
                     int64_t past, int32_t from, int32_t end, float times, bool add) {
    for (; c + VECTORS * VW <= past; c += VECTORS * VW)
        block(n, y, x, cols, head, c, VECTORS, VW, from, end, times, add);
    if (c + 4 * VW <= past) {
        block(n, y, x, cols, head, c, 4, VW, from, end, times, add);
        c += 4 * VW;
    }
    if (c + 2 * VW <= past) {
        block(n, y, x, cols, head, c, 2, VW, from, end, times, add);
        c += 2 * VW;
    }
    if (past - c > VW)
        block(n, y, x, cols, head, c, 2, past - c - VW, from, end, times, add);
    else if (past > c)
        block(n, y, x, cols, head, c, 1, past - c, from, end, times, add);
}

INLINE void row_sum(const struct neighbours *n, float *y, const float *x, int64_t cols, int32_t from, int32_t end,
                    float times, bool add) {
    const int64_t heads = n->heads ? n->heads : 1, width = cols / heads;
    for (int64_t h = 0; h < heads; h++) part_sum(n, y, x, cols, h, h * width, (h + 1) * width, from, end, times, add);
}

void ISA_NAME(neighbours_sum)(const struct neighbours *n, float *y, const float *x, int64_t cols, int64_t first,
                              int64_t rows, bool mean, bool add) {
    for (int64_t i = first; i < first + rows; i++) {
        const int32_t from = n->start[i], end = n->start[i + 1];
        if (end - from > NEIGHBOURS_RUN) continue;
        row_sum(n, y + i * cols, x, cols, from, end, mean && end > from ? (float)(end - from) : 1, add);
    }
}

void ISA_NAME(neighbours_run)(const struct neighbours *n, float *y, const float *x, int64_t cols, int32_t from,
                              int32_t end) {
    row_sum(n, y, x, cols, from, end, 1, false);
}

void ISA_NAME(neighbours_dots)(const struct neighbours *n, float *dw, const float *dy, const float *x, int64_t cols,
                               const float *rows_scale, int32_t from, int32_t end, bool add) {
    int64_t i = 0, high = n->rows; /* the row of position `from`: the last that begins there or before */
    while (high - i > 1) {
        const int64_t middle = i + (high - i) / 2;
        if (n->start[middle] <= from)
            i = middle;
        else
            high = middle;
    }
    const int64_t heads = n->heads ? n->heads : 1, width = cols / heads;
    for (int32_t k = from; k < end; k++) {
        while (n->start[i + 1] <= k) i++;
        const float *const a = dy + i * cols, *const b = x + (int64_t)n->index[k] * cols;
        float *const to = dw + k * heads;
        if (!rows_scale && !add) {
            heads_dot(to, a, b, heads, width);
            continue;
        }
        for (int64_t h = 0; h < heads; h++) {
            const float d = head_dot(a + h * width, b + h * width, width) * (rows_scale ? rows_scale[i] : 1);
            to[h] = add ? to[h] + d : d;
        }
    }
}

void ISA_NAME(neighbours_max)(const struct neighbours *n, float *y, float *ties, const float *x, int64_t cols,
                              int64_t first, int64_t rows) {
    for (int64_t i = first; i < first + rows; i++) {
        const int32_t from = n->start[i], end = n->start[i + 1];
        V_EACH(c, count, cols, {
            vf top = {0}, many = {0};
            for (int32_t k = from; k < end; k++) {
                const float w = n->weight ? n->weight[k] : 1;
                const vf v = v_set(w) * v_get(x + (int64_t)n->index[k] * cols + c, count, 0.0f);
                const vi new = k == from ? ~(vi){0} : (v > top) | (v != v);
                many = v_where(new, v_set(1.0f), many + v_where(v == top, v_set(1.0f), v_set(0.0f)));
                top = v_where(new, v, top);
            }
            v_put(y + i * cols + c, top, count);
            v_put(ties + i * cols + c, many, count);
        });
    }
}

void ISA_NAME(neighbours_max_grad)(const struct neighbours *n, float *dx, const float *x, const float *y,
                                   const float *ties, const float *dy, int64_t cols, int64_t first, int64_t rows,
                                   bool add) {
    for (int64_t i = first; i < first + rows; i++)
        V_EACH(c, count, cols, {
            const vf own = v_get(x + i * cols + c, count, 0.0f);
            vf sum = {0};
            for (int32_t k = n->start[i]; k < n->start[i + 1]; k++) {
                const int64_t at = (int64_t)n->index[k] * cols + c;
                const vf w = v_set(n->weight ? n->weight[k] : 1);
                const vf share = w * v_get(dy + at, count, 0.0f) / v_get(ties + at, count, 1.0f);
                sum += v_where(w * own == v_get(y + at, count, 0.0f), share, v_set(0.0f));
            }
            v_put(dx + i * cols + c, add ? v_get(dx + i * cols + c, count, 0.0f) + sum : sum, count);
        });
}
