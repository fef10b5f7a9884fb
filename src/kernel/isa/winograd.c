/* The transforms of minimal filtering F(4 x 4, 3 x 3); kernel/winograd.c says what they are for. Polynomials meet at 0,
 * +-A, +-B and infinity. With A = 2/3 and B = 3/2 sums lose about half the bits of the usual 1 and 2. */
#include "kernel/isa/simd.h"

#define A  (2.0f / 3)
#define B  (3.0f / 2)
#define A2 (A * A)
#define B2 (B * B)
#define S  (A2 + B2) /* and A2 B2 = 1 */

enum { TAPS = 9, SIDE = 6, POINTS = 36, KERNELS = 64 };

/* G g: three numbers become six. */
INLINE void of_weights(vf to[SIDE], vf g0, vf g1, vf g2) {
    const float by_a = 1 / (2 * A2 * (A2 - B2)), by_b = 1 / (2 * B2 * (B2 - A2));
    const vf even_a = by_a * v_fma(v_set(A2), g2, g0), odd_a = (by_a * A) * g1;
    const vf even_b = by_b * v_fma(v_set(B2), g2, g0), odd_b = (by_b * B) * g1;
    to[0] = g0;
    to[1] = even_a + odd_a;
    to[2] = even_a - odd_a;
    to[3] = even_b + odd_b;
    to[4] = even_b - odd_b;
    to[5] = g2;
}

void ISA_NAME(winograd_weights)(float *u, int64_t apart, const float *w, int64_t n) {
    float g[TAPS * KERNELS];
    for (; n > 0; n -= KERNELS, w += TAPS * KERNELS, u += KERNELS) {
        const int64_t here = n < KERNELS ? n : KERNELS;
        ISA_NAME(gemm_transpose)(g, KERNELS, w, TAPS, here, TAPS);
        V_EACH(i, count, here, {
            vf half[SIDE][3];
            for (int c = 0; c < 3; c++) {
                vf column[SIDE];
                of_weights(column, v_get(g + c * KERNELS + i, count, 0.0f),
                           v_get(g + (3 + c) * KERNELS + i, count, 0.0f),
                           v_get(g + (6 + c) * KERNELS + i, count, 0.0f));
                UNROLL for (int r = 0; r < SIDE; r++) half[r][c] = column[r];
            }
            UNROLL for (int r = 0; r < SIDE; r++) {
                vf row[SIDE];
                of_weights(row, half[r][0], half[r][1], half[r][2]);
                UNROLL for (int c = 0; c < SIDE; c++) v_put(u + (r * SIDE + c) * apart + i, row[c], count);
            }
        });
    }
}

/* B' d: six numbers of a picture. */
INLINE void of_places(vf to[SIDE], const vf d[SIDE]) {
    const vf even_a = v_fma(v_set(-B2), d[2], d[4]), odd_a = v_set(A) * v_fma(v_set(-B2), d[1], d[3]);
    const vf even_b = v_fma(v_set(-A2), d[2], d[4]), odd_b = v_set(B) * v_fma(v_set(-A2), d[1], d[3]);
    to[0] = v_fma(v_set(-S), d[2], d[0] + d[4]);
    to[1] = even_a + odd_a;
    to[2] = even_a - odd_a;
    to[3] = even_b + odd_b;
    to[4] = even_b - odd_b;
    to[5] = v_fma(v_set(-S), d[3], d[1] + d[5]);
}

void ISA_NAME(winograd_input)(float *v, int64_t apart, const float *staged, int64_t plane, int64_t columns, int64_t n) {
    for (int64_t t = 0; t < n; t += VW) {
        vf half[SIDE][SIDE]; /* columns done: half[c][r] */
        UNROLL for (int c = 0; c < SIDE; c++) {
            vf d[SIDE];
            UNROLL for (int r = 0; r < SIDE; r++) d[r] =
                v_load(staged + (r % 4 * SIDE + c) * plane + r / 4 * columns + t);
            of_places(half[c], d);
        }
        UNROLL for (int r = 0; r < SIDE; r++) {
            vf d[SIDE], row[SIDE];
            UNROLL for (int c = 0; c < SIDE; c++) d[c] = half[c][r];
            of_places(row, d);
            UNROLL for (int c = 0; c < SIDE; c++) v_store(v + (r * SIDE + c) * apart + t, row[c]);
        }
    }
}

/* A' m: six sums become four numbers. */
INLINE void of_sums(vf to[4], const vf m[SIDE]) {
    const vf p = m[1] + m[2], q = m[1] - m[2], r = m[3] + m[4], s = m[3] - m[4];
    to[0] = m[0] + p + r;
    to[1] = v_fma(v_set(A), q, v_set(B) * s);
    to[2] = v_fma(v_set(A2), p, v_set(B2) * r);
    to[3] = v_fma(v_set(A2 * A), q, v_fma(v_set(B2 * B), s, m[5]));
}

void ISA_NAME(winograd_output)(float *y, int64_t room, const float *m, int64_t apart, int64_t n) {
    for (int64_t t = 0; t < n; t += VW) {
        vf half[SIDE][4];
        UNROLL for (int c = 0; c < SIDE; c++) {
            vf d[SIDE];
            UNROLL for (int r = 0; r < SIDE; r++) d[r] = v_load(m + (r * SIDE + c) * apart + t);
            of_sums(half[c], d);
        }
        UNROLL for (int r = 0; r < 4; r++) {
            vf d[SIDE], row[4];
            UNROLL for (int c = 0; c < SIDE; c++) d[c] = half[c][r];
            of_sums(row, d);
            UNROLL for (int c = 0; c < 4; c++) v_store(y + (r * 4 + c) * room + t, row[c]);
        }
    }
}
