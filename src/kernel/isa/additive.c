/* Inner loops of additive scores: vectors run along the channels of a block. See kernel/additive.h. */
#include "kernel/additive.h"
#include "kernel/isa/vmath.h"

#define BLOCK   ADDITIVE_BLOCK
#define VECTORS (BLOCK / VW)
#define KEYS    64 /* whose sums are held at a time */

void ISA_NAME(additive_pack)(float *e, uint8_t *calm, const float *x, int64_t ld, int64_t rows, int64_t n) {
    for (int64_t row = 0; row < rows; row++, x += ld, e += BLOCK) {
        vi wild = {0};
        for (int64_t c = 0; c < BLOCK; c += VW) {
            const vf v = c < n ? v_get(x + c, n - c, 0.0f) : v_set(0.0f);
            wild |= ~(v_abs(v) <= ADDITIVE_CALM);
            v_store(e + c, v_exp(2.0f * v));
        }
        calm[row] = !v_any(wild);
    }
}

/* tanh(q + k) from x = e^2q and y = e^2k */
INLINE vf tanh_of(vf x, vf y) { return 1.0f - 2.0f / (1.0f + x * y); }

/* sums[j] += w tanh(q + k_j) over one block, for n keys from `first` on. */
INLINE void add_block(vf *sums, const struct additive_rows *r, int64_t row, int64_t first, int64_t n, int64_t block) {
    const float *w = r->w + block * BLOCK, *e = r->k.e + (block * r->k.rows + first) * BLOCK;
    const float *q = r->q.x + row * r->width + block * BLOCK, *k = r->k.x + first * r->width + block * BLOCK;
    const uint8_t *calm = r->k.calm + block * r->k.rows + first;
    const bool calm_q = r->q.calm[block * r->q.rows + row];
    const int64_t left = r->width - block * BLOCK, some = left < BLOCK ? left : BLOCK;
    vf eq[VECTORS];
    for (int v = 0; v < VECTORS; v++) eq[v] = v_load(r->q.e + (block * r->q.rows + row) * BLOCK + v * VW);
    for (int64_t j = 0; j < n; j++, e += BLOCK, k += r->width) {
        vf sum = sums[j];
        if (calm_q && calm[j])
            for (int v = 0; v < VECTORS; v++) sum += v_load(w + v * VW) * tanh_of(eq[v], v_load(e + v * VW));
        else
            V_EACH(c, m, some, { sum += v_load(w + c) * v_tanh(v_get(q + c, m, 0.0f) + v_get(k + c, m, 0.0f)); });
        sums[j] = sum;
    }
}

void ISA_NAME(additive_scores)(const struct additive_rows *r) {
    const int64_t blocks = (r->width + BLOCK - 1) / BLOCK, keys = r->k.rows;
    for (int64_t first = 0; first < keys; first += KEYS) {
        const int64_t n = keys - first < KEYS ? keys - first : KEYS;
        for (int64_t row = r->from; row < r->to; row++) {
            vf sums[KEYS];
            for (int64_t j = 0; j < n; j++) sums[j] = v_set(0.0f);
            for (int64_t block = 0; block < blocks; block++) add_block(sums, r, row, first, n, block);
            for (int64_t j = 0; j < n; j++) r->scores[row * keys + first + j] = v_sum(sums[j]);
        }
    }
}

/* Two vectors of channels, which fit the registers: sums over all pairs, without the factor 4 w. */
#define PAIR 2
struct sums {
    vf q[PAIR], w[PAIR];
};

INLINE void grad_row(struct sums *s, const struct additive_block *b, int64_t row, int64_t c) {
    const float *ds = b->ds + row * b->k.rows, *eq = b->q.e + row * BLOCK + c, *q = b->q.x + row * b->width + c;
    const int64_t left = b->n - c;
    for (int64_t j = 0; j < b->k.rows; j++) {
        if (ds[j] == 0.0f) continue;
        const vf g = v_set(ds[j]);
        const bool calm = b->q.calm[row] && b->k.calm[j];
        for (int v = 0; v < PAIR && v * VW < left; v++) {
            vf t, quarter;
            if (calm) {
                const vf m = v_load(eq + v * VW) * v_load(b->k.e + j * BLOCK + c + v * VW), r = 1.0f / (1.0f + m);
                t = 1.0f - 2.0f * r, quarter = (m * r) * r;
            } else {
                const float *k = b->k.x + j * b->width + c;
                t = v_tanh(v_get(q + v * VW, left - v * VW, 0.0f) + v_get(k + v * VW, left - v * VW, 0.0f));
                quarter = 0.25f * (1.0f - t * t);
            }
            const vf part = g * quarter;
            float *sum_k = b->sum_k + j * BLOCK + c + v * VW;
            s->q[v] += part;
            s->w[v] += g * t;
            v_store(sum_k, v_load(sum_k) + part);
        }
    }
}

INLINE void put(float *to, vf v, int64_t n, bool add) { v_put(to, add ? v_get(to, n, 0.0f) + v : v, n); }

void ISA_NAME(additive_grads)(const struct additive_block *b) {
    memset(b->sum_k, 0, (size_t)(b->k.rows * BLOCK) * sizeof(float));
    memset(b->dw, 0, BLOCK * sizeof(float));
    for (int64_t c = 0; c < b->n; c += PAIR * VW)
        for (int64_t row = 0; row < b->q.rows; row++) {
            struct sums s = {{{0}}, {{0}}};
            grad_row(&s, b, row, c);
            for (int64_t v = 0, at = c; v < PAIR && at < b->n; v++, at += VW) {
                if (b->dq) put(b->dq + row * b->width + at, 4.0f * v_load(b->w + at) * s.q[v], b->n - at, b->add_q);
                v_store(b->dw + at, v_load(b->dw + at) + s.w[v]);
            }
        }
    for (int64_t j = 0; b->dk && j < b->k.rows; j++)
        for (int64_t c = 0; c < b->n; c += VW)
            put(b->dk + j * b->width + c, 4.0f * v_load(b->w + c) * v_load(b->sum_k + j * BLOCK + c), b->n - c,
                b->add_k);
}
