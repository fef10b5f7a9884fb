/* The inner loops of Fourier transforms: butterflies of FFT_LANES sequences at a time, and what brings columns and rows
 * of a matrix there and back. See kernel/fft.h for the layout and the algebra. */
#include "kernel/fft.h"
#include "kernel/isa/tiles.h"

#define RE(z, i) ((z) + (i)*2 * FFT_LANES)
#define IM(z, i) (RE(z, i) + FFT_LANES)

struct complex_vector {
    vf re, im;
};

INLINE struct complex_vector plus(struct complex_vector a, struct complex_vector b) {
    return (struct complex_vector){a.re + b.re, a.im + b.im};
}
INLINE struct complex_vector minus(struct complex_vector a, struct complex_vector b) {
    return (struct complex_vector){a.re - b.re, a.im - b.im};
}
INLINE struct complex_vector turn(struct complex_vector a) { /* -i a */
    return (struct complex_vector){a.im, -a.re};
}
INLINE struct complex_vector times(struct complex_vector a, vf re, vf im) {
    return (struct complex_vector){v_fma(a.im, -im, a.re * re), v_fma(a.im, re, a.re * im)};
}

/* ---- transforms of a few numbers, in place ---- */

INLINE void dft2(struct complex_vector x[2]) {
    const struct complex_vector a = x[0];
    x[0] = plus(a, x[1]);
    x[1] = minus(a, x[1]);
}

INLINE void dft3(struct complex_vector x[3]) {
    const vf half = v_set(-0.5f), root = v_set(0.86602540378443864676f);
    const struct complex_vector sum = plus(x[1], x[2]), apart = turn(minus(x[1], x[2]));
    const struct complex_vector mid = {v_fma(half, sum.re, x[0].re), v_fma(half, sum.im, x[0].im)};
    x[0] = plus(x[0], sum);
    x[1] = (struct complex_vector){v_fma(root, apart.re, mid.re), v_fma(root, apart.im, mid.im)};
    x[2] = (struct complex_vector){v_fma(-root, apart.re, mid.re), v_fma(-root, apart.im, mid.im)};
}

INLINE void dft4(struct complex_vector x[4]) {
    const struct complex_vector a = plus(x[0], x[2]), b = minus(x[0], x[2]), c = plus(x[1], x[3]),
                                d = turn(minus(x[1], x[3]));
    x[0] = plus(a, c);
    x[1] = plus(b, d);
    x[2] = minus(a, c);
    x[3] = minus(b, d);
}

INLINE void dft8(struct complex_vector x[8]) {
    const vf root = v_set(0.70710678118654752440f);
    struct complex_vector even[4] = {x[0], x[2], x[4], x[6]}, odd[4] = {x[1], x[3], x[5], x[7]};
    dft4(even);
    dft4(odd);
    odd[1] = (struct complex_vector){root * (odd[1].re + odd[1].im), root * (odd[1].im - odd[1].re)};
    odd[2] = turn(odd[2]);
    odd[3] = (struct complex_vector){root * (odd[3].im - odd[3].re), -root * (odd[3].re + odd[3].im)};
    UNROLL for (int i = 0; i < 4; i++) {
        x[i] = plus(even[i], odd[i]);
        x[i + 4] = minus(even[i], odd[i]);
    }
}

INLINE void dft5(struct complex_vector x[5]) {
    const vf c1 = v_set(0.30901699437494742410f), c2 = v_set(-0.80901699437494742410f);
    const vf s1 = v_set(0.95105651629515357212f), s2 = v_set(0.58778525229247312917f);
    const struct complex_vector a = plus(x[1], x[4]), b = plus(x[2], x[3]);
    const struct complex_vector d = turn(minus(x[1], x[4])), e = turn(minus(x[2], x[3]));
    const struct complex_vector m1 = {v_fma(c1, a.re, v_fma(c2, b.re, x[0].re)),
                                      v_fma(c1, a.im, v_fma(c2, b.im, x[0].im))};
    const struct complex_vector m2 = {v_fma(c2, a.re, v_fma(c1, b.re, x[0].re)),
                                      v_fma(c2, a.im, v_fma(c1, b.im, x[0].im))};
    const struct complex_vector n1 = {v_fma(s1, d.re, s2 * e.re), v_fma(s1, d.im, s2 * e.im)};
    const struct complex_vector n2 = {v_fma(s2, d.re, -s1 * e.re), v_fma(s2, d.im, -s1 * e.im)};
    x[0] = plus(x[0], plus(a, b));
    x[1] = plus(m1, n1);
    x[2] = plus(m2, n2);
    x[3] = minus(m2, n2);
    x[4] = minus(m1, n1);
}

/* Any odd number of them, directly: k and radix - k together. roots: `step` apart. */
INLINE void dft_odd(struct complex_vector *x, int64_t radix, const float *roots, int64_t step) {
    struct complex_vector sum[FFT_PRIME / 2 + 1], apart[FFT_PRIME / 2 + 1], first = x[0];
    const struct complex_vector start = x[0];
    const int64_t half = radix / 2;
    for (int64_t k = 1; k <= half; k++) {
        sum[k] = plus(x[k], x[radix - k]);
        apart[k] = turn(minus(x[k], x[radix - k]));
        first = plus(first, sum[k]);
    }
    x[0] = first;
    for (int64_t j = 1; j <= half; j++) {
        struct complex_vector m = start, n = {{0}, {0}};
        for (int64_t k = 1; k <= half; k++) {
            const float *const root = roots + 2 * step * (j * k % radix);
            const vf c = v_set(root[0]), s = v_set(-root[1]);
            m = (struct complex_vector){v_fma(c, sum[k].re, m.re), v_fma(c, sum[k].im, m.im)};
            n = (struct complex_vector){v_fma(s, apart[k].re, n.re), v_fma(s, apart[k].im, n.im)};
        }
        x[j] = plus(m, n);
        x[radix - j] = minus(m, n);
    }
}

/* ---- a pass ---- */

struct pass {
    float *to;
    const float *from, *roots;
    int64_t n, s, step, lanes;
};

/* The butterflies of one p, whose roots are 1 where p is 0. */
INLINE void pass_at(const struct pass *a, const int radix, int64_t p, const bool turned) {
    const int64_t m = a->n / radix;
    vf re[8], im[8];
    UNROLL for (int j = 1; j < radix; j++) {
        const float *const root = a->roots + 2 * a->step * p * j;
        re[j] = v_set(root[0]);
        im[j] = v_set(root[1]);
    }
    for (int64_t q = 0; q < a->s; q++)
        for (int64_t v = 0; v < a->lanes; v += VW) {
            struct complex_vector x[8];
            UNROLL for (int k = 0; k < radix; k++) {
                const float *const from = RE(a->from, q + a->s * (p + m * k)) + v;
                x[k] = (struct complex_vector){v_load(from), v_load(from + FFT_LANES)};
            }
            if (radix == 2) dft2(x);
            if (radix == 3) dft3(x);
            if (radix == 4) dft4(x);
            if (radix == 5) dft5(x);
            if (radix == 8) dft8(x);
            UNROLL for (int j = 0; j < radix; j++) {
                float *const to = RE(a->to, q + a->s * (radix * p + j)) + v;
                if (turned && j > 0) x[j] = times(x[j], re[j], im[j]);
                v_store(to, x[j].re);
                v_store(to + FFT_LANES, x[j].im);
            }
        }
}

INLINE void pass_all(const struct pass *a, const int radix) {
    pass_at(a, radix, 0, false);
    for (int64_t p = 1; p < a->n / radix; p++) pass_at(a, radix, p, true);
}

/* The same for a prime that has no butterfly of its own. */
static void pass_odd(const struct pass *a, int64_t radix) {
    const int64_t m = a->n / radix;
    struct complex_vector x[FFT_PRIME];
    for (int64_t p = 0; p < m; p++)
        for (int64_t q = 0; q < a->s; q++)
            for (int64_t v = 0; v < a->lanes; v += VW) {
                for (int64_t k = 0; k < radix; k++) {
                    const float *const from = RE(a->from, q + a->s * (p + m * k)) + v;
                    x[k] = (struct complex_vector){v_load(from), v_load(from + FFT_LANES)};
                }
                dft_odd(x, radix, a->roots, a->step * m);
                for (int64_t j = 0; j < radix; j++) {
                    const float *const root = a->roots + 2 * a->step * p * j;
                    const struct complex_vector y = times(x[j], v_set(root[0]), v_set(root[1]));
                    float *const to = RE(a->to, q + a->s * (radix * p + j)) + v;
                    v_store(to, y.re);
                    v_store(to + FFT_LANES, y.im);
                }
            }
}

void ISA_NAME(fft_pass)(float *to, const float *from, int64_t radix, int64_t n, int64_t s, const float *roots,
                        int64_t step, int64_t lanes) {
    const struct pass a = {.to = to, .from = from, .roots = roots, .n = n, .s = s, .step = step, .lanes = lanes};
    switch (radix) {
    case 2:
        pass_all(&a, 2);
        break;
    case 3:
        pass_all(&a, 3);
        break;
    case 4:
        pass_all(&a, 4);
        break;
    case 5:
        pass_all(&a, 5);
        break;
    case 8:
        pass_all(&a, 8);
        break;
    default:
        pass_odd(&a, radix);
    }
}

void ISA_NAME(fft_times)(float *to, const float *from, const float *factor, int64_t n, bool swap, int64_t lanes) {
    for (int64_t i = 0; i < n; i++) {
        const vf re = v_set(factor[2 * i]), im = v_set(factor[2 * i + 1]);
        for (int64_t v = 0; v < lanes; v += VW) {
            const struct complex_vector x = {v_load(RE(from, i) + v), v_load(IM(from, i) + v)}, y = times(x, re, im);
            v_store(RE(to, i) + v, swap ? y.im : y.re);
            v_store(IM(to, i) + v, swap ? y.re : y.im);
        }
    }
}

/* ---- columns ---- */

INLINE vt t_load(const float *p) {
    vt v;
    memcpy(&v, p, sizeof v);
    return v;
}
INLINE void t_store(float *p, vt v) { memcpy(p, &v, sizeof v); }
INLINE vt t_reverse(vt v) {
#if TW == 4
    return __builtin_shufflevector(v, v, 3, 2, 1, 0);
#else
    return __builtin_shufflevector(v, v, 7, 6, 5, 4, 3, 2, 1, 0);
#endif
}

void ISA_NAME(fft_columns_in)(float *z, const float *x, int64_t rows, int64_t cols, int64_t first, int64_t count) {
    const int64_t middle = cols % 2 == 0 ? cols / 2 : -1;
    for (int64_t t = 0; t < rows; t++, x += cols) {
        float *const re = RE(z, t), *const im = IM(z, t);
        if (first > 0 && count == FFT_LANES) {
            for (int64_t i = 0; i < FFT_LANES; i += TW) {
                t_store(re + i, t_load(x + first + i));
                t_store(im + i, t_reverse(t_load(x + cols - first - i - (TW - 1))));
            }
            continue;
        }
        for (int64_t i = 0; i < FFT_LANES; i++) {
            const int64_t c = first + i;
            re[i] = i < count ? x[c] : 0;
            im[i] = i >= count ? 0 : c > 0 ? x[cols - c] : middle > 0 ? x[middle] : 0;
        }
    }
}

void ISA_NAME(fft_columns_out)(float *w, const float *z, int64_t rows, int64_t cols, int64_t first, int64_t count) {
    for (int64_t u = 0; u <= rows / 2; u++, w += cols) {
        const int64_t back = u > 0 ? rows - u : 0;
        const float *const re = RE(z, u), *const im = IM(z, u), *const re_back = RE(z, back),
                           *const im_back = IM(z, back);
        if (first > 0 && count == FFT_LANES) {
            for (int64_t i = 0; i < FFT_LANES; i += TW) {
                t_store(w + first + i, t_load(re + i) + t_load(im + i));
                t_store(w + cols - first - i - (TW - 1), t_reverse(t_load(re_back + i) + t_load(im_back + i)));
            }
            continue;
        }
        for (int64_t i = 0; i < count; i++) {
            const int64_t c = first + i;
            if (c > 0) {
                w[c] = re[i] + im[i];
                w[cols - c] = re_back[i] + im_back[i];
                continue;
            }
            w[0] = re[i] + re_back[i];
            if (cols % 2 == 0) w[cols / 2] = im[i] + im_back[i];
        }
    }
}

/* ---- rows ---- */

/* Transposes rows of w into one half, real or imaginary, of z; lanes without a row become 0. */
static void rows_in(float *z, const float *w, int64_t rows, int64_t cols) {
    int64_t r = 0;
    for (; r + TW <= rows; r += TW) {
        const float *const from = w + r * cols;
        int64_t c = 0;
        for (; c + TW <= cols; c += TW) {
            vt v[TW];
            load_transposed(v, from, c, cols, STORED_F32);
            UNROLL for (int i = 0; i < TW; i++) t_store(RE(z, c + i) + r, v[i]);
        }
        for (; c < cols; c++)
            for (int64_t i = 0; i < TW; i++) RE(z, c)[r + i] = from[i * cols + c];
    }
    for (; r < FFT_LANES; r++)
        for (int64_t c = 0; c < cols; c++) RE(z, c)[r] = r < rows ? w[r * cols + c] : 0;
}

void ISA_NAME(fft_rows_in)(float *z, const float *w, int64_t rows, int64_t half, int64_t cols) {
    rows_in(z, w, half, cols);
    rows_in(z + FFT_LANES, w + half * cols, rows - half, cols);
}

/* Z -> the Hartley transforms, in place: cas sums of the real and of the imaginary sequence. */
static void hartley(float *z, int64_t n, int64_t lanes) {
    const vf quarter = v_set(0.25f);
    for (int64_t k = 0; k <= n / 2; k++) {
        const int64_t back = k > 0 ? n - k : 0;
        for (int64_t v = 0; v < lanes; v += VW) {
            const struct complex_vector a = {v_load(RE(z, k) + v), v_load(IM(z, k) + v)},
                                        b = {v_load(RE(z, back) + v), v_load(IM(z, back) + v)}, sum = plus(a, b),
                                        apart = minus(a, b);
            v_store(RE(z, k) + v, quarter * (sum.re - apart.im));
            v_store(IM(z, k) + v, quarter * (sum.im + apart.re));
            v_store(RE(z, back) + v, quarter * (sum.re + apart.im));
            v_store(IM(z, back) + v, quarter * (sum.im - apart.re));
        }
    }
}

/* Rows of y from one half of z, and the same mirrored: y[all - u, cols - v] = y[u, v]. */
static void rows_out(float *y, const float *z, int64_t rows, int64_t cols, int64_t first, int64_t all) {
    for (int64_t r = 0; r < rows; r += TW) {
        int64_t c = 0;
        for (; r + TW <= rows && c + TW <= cols; c += TW) {
            vt v[TW];
            load_transposed(v, RE(z, c) + r, 0, 2 * FFT_LANES, STORED_F32);
            UNROLL for (int i = 0; i < TW; i++) t_store(y + (first + r + i) * cols + c, v[i]);
        }
        for (; c < cols; c++)
            for (int64_t i = 0; i < TW && r + i < rows; i++) y[(first + r + i) * cols + c] = RE(z, c)[r + i];
    }
    for (int64_t u = first; u < first + rows; u++) {
        const float *const from = y + u * cols;
        float *const to = y + (all - u) * cols;
        if (u == 0 || 2 * u >= all) continue;
        to[0] = from[0];
        int64_t c = 1;
        for (; c + TW <= cols; c += TW) t_store(to + cols - c - (TW - 1), t_reverse(t_load(from + c)));
        for (; c < cols; c++) to[cols - c] = from[c];
    }
}

void ISA_NAME(fft_rows_out)(float *y, float *z, int64_t rows, int64_t half, int64_t cols, int64_t first, int64_t all) {
    hartley(z, cols, half);
    rows_out(y, z, half, cols, first, all);
    rows_out(y, z + FFT_LANES, rows - half, cols, first + half, all);
}
