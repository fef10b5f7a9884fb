/* Functions of vectors. Each is a short polynomial, fitted for the least largest relative error and then rounded, on a
 * reduced range: at most 4 units in the last place, but for the tails below -1 of the two gelus (2e-7) and for the
 * derivatives where they cross zero (4e-7). NaN gives NaN; infinities give the limits; results below 1.2e-38 (silu and
 * gelu: 1e-35) may be flushed to 0. Clamps name the constant first, for v_min and v_max give their second argument when
 * one is NaN. */
#ifndef KERNEL_ISA_VMATH_H
#define KERNEL_ISA_VMATH_H

#include "kernel/isa/simd.h"
#include <math.h>

/* The nearest whole number of |x| < 2^22: adding 1.5 * 2^23 leaves it in the low bits. */
#define V_ROUND 0x1.8p23f
/* ln 2 = high + low; times a whole number below 2^9 the high part is exact. */
#define V_LN2_HIGH 0x1.62e4p-1f
#define V_LN2_LOW  0x1.7f7d1cp-20f

INLINE vf v_abs(vf x) { return (vf)((vu)x & 0x7fffffffu); }
INLINE vf v_sign_of(vf sign, vf x) { return (vf)(((vu)sign & 0x80000000u) | ((vu)x & 0x7fffffffu)); }
INLINE vf v_sign(vf x) {
    const vf one = v_set(1.0f);
    return (vf)((vi)one & (x > 0.0f)) - (vf)((vi)one & (x < 0.0f));
}
INLINE vf v_clamp(vf x, float low, float high) { return v_min(v_set(high), v_max(v_set(low), x)); }
INLINE vf v_sqrt(vf x) {
    vf y;
    for (int i = 0; i < VW; i++) y[i] = __builtin_sqrtf(x[i]);
    return y;
}

/* x = n ln 2 + r, |r| <= ln 2 / 2: the low bits of *n hold n, and exp(r) - 1 is returned. */
INLINE vf v_exp_reduced(vf x, vf *n) {
    *n = x * 0x1.715476p0f + V_ROUND;
    const vf whole = *n - V_ROUND;
    const vf r = (x - whole * V_LN2_HIGH) - whole * V_LN2_LOW;
    vf q = r * 0.00138213055f + 0.00836866815f;
    q = q * r + 0.0416682586f;
    q = q * r + 0.166665211f;
    q = q * r + 0.49999994f;
    return (q * r) * r + r;
}

/* e^x. Beyond either end whatever the bits of n did is replaced: by 0, or by x + inf, which also carries NaN. */
INLINE vf v_exp(vf x) {
    vf n;
    const vf p = v_exp_reduced(x, &n) + 1.0f;
    const vf y = (vf)(((vu)p + ((vu)n << 23)) & (vu)(x >= -87.3365f));
    return v_where(x < 88.72284f, y, x + INFINITY);
}

/* e^x - 1 = 2^n (e^r - 1) + (2^n - 1): no digits are lost near 0. */
INLINE vf v_expm1(vf x) {
    vf n;
    const vf q = v_exp_reduced(v_clamp(x, -80.0f, 80.0f), &n);
    const vf scale = (vf)(((vu)n << 23) + 0x3f800000u);
    return v_where(x > 80.0f, v_exp(x), v_sign_of(x, q * scale + (scale - 1.0f)));
}

/* x[i] = e^x[i] for x < 88, or NaN, of `count` vectors in step: one after the other, each would wait for itself. The
 * argument of what comes out below 1.2e-38, which is 0, shows in n. */
INLINE void v_exp_below_each(vf *x, const int count) {
    vf n[4], q[4];
    UNROLL for (int i = 0; i < count; i++) n[i] = v_fma(x[i], v_set(0x1.715476p0f), v_set(V_ROUND));
    UNROLL for (int i = 0; i < count; i++) q[i] = n[i] - V_ROUND;
    UNROLL for (int i = 0; i < count; i++) x[i] = v_fma(q[i], v_set(-V_LN2_HIGH), x[i]);
    UNROLL for (int i = 0; i < count; i++) x[i] = v_fma(q[i], v_set(-V_LN2_LOW), x[i]);
    UNROLL for (int i = 0; i < count; i++) q[i] = v_fma(x[i], v_set(0.00138213055f), v_set(0.00836866815f));
    UNROLL for (int i = 0; i < count; i++) q[i] = v_fma(q[i], x[i], v_set(0.0416682586f));
    UNROLL for (int i = 0; i < count; i++) q[i] = v_fma(q[i], x[i], v_set(0.166665211f));
    UNROLL for (int i = 0; i < count; i++) q[i] = v_fma(q[i], x[i], v_set(0.49999994f));
    UNROLL for (int i = 0; i < count; i++) q[i] = v_fma(q[i], x[i], v_set(1.0f));
    UNROLL for (int i = 0; i < count; i++) q[i] = v_fma(q[i], x[i], v_set(1.0f));
    UNROLL for (int i = 0; i < count; i++) x[i] = (vf)(((vu)q[i] + ((vu)n[i] << 23)) & ~(vu)(n[i] < V_ROUND - 126));
}

INLINE vf v_exp_below(vf x) {
    v_exp_below_each(&x, 1);
    return x;
}

/* log(1 + f) for 1 + f between sqrt(1/2) and sqrt(2). */
INLINE vf v_log1p_reduced(vf f, vf add) {
    vf p = f * -0.0763639957f + 0.127621993f;
    p = p * f - 0.131596133f;
    p = p * f + 0.142015815f;
    p = p * f - 0.166234091f;
    p = p * f + 0.200012416f;
    p = p * f - 0.250008196f;
    p = p * f + 0.333333313f;
    const vf ff = f * f;
    return f + (ff * (p * f - 0.5f) + add);
}

/* log x: -inf at 0, NaN below. Subnormal numbers are scaled up first. */
INLINE vf v_log(vf x) {
    const vi tiny = x < 0x1p-126f;
    const vu bits = (vu)v_where(tiny, x * 0x1p23f, x);
    const vu shifted = bits - 0x3f3504f3u; /* sqrt(1/2): the exponent then counts from there */
    const vf e = __builtin_convertvector((vi)shifted >> 23, vf) - (vf)((vu)v_set(23.0f) & (vu)tiny);
    const vf f = (vf)((shifted & 0x007fffffu) + 0x3f3504f3u) - 1.0f;
    const vf y = v_log1p_reduced(f, e * V_LN2_LOW) + e * V_LN2_HIGH;
    const vf edge = v_where(x == 0.0f, v_set(-INFINITY), v_where(x > 0.0f, x, v_set(NAN)));
    return v_where((x > 0.0f) & (x < INFINITY), y, edge);
}

/* log u with u = 1 + x rounded, times x / (u - 1), which undoes the rounding (Kahan). */
INLINE vf v_log1p(vf x) {
    const vf u = 1.0f + x, d = u - 1.0f;
    return v_where(d == 0.0f, x, v_where(x < INFINITY, v_log(u) * (x / d), v_log(u)));
}

/* m / (m + 2) with m = e^2|x| - 1 = 2^n (e^r - 1) + (2^n - 1): no digits are lost near 0. */
INLINE vf v_tanh(vf x) {
    vf n;
    const vf q = v_exp_reduced(2.0f * v_min(v_set(10.0f), v_abs(x)), &n);
    const vf scale = (vf)(((vu)n << 23) + 0x3f800000u);
    const vf m = q * scale + (scale - 1.0f);
    return v_sign_of(x, m / (m + 2.0f));
}

INLINE vf v_sigmoid(vf x) { return 1.0f / (1.0f + v_exp(-x)); }

/* The normal distribution's tail P(X < -a), 0 <= a <= 13, with *density = e^(-a^2 / 2): their ratio is a polynomial in
 * s = 0.29 a / (1 + 0.29 a) that begins with 1/2. From 13 on, where it is below 1e-38, the tail is 0. */
#define V_TAIL 13.0f
INLINE vf v_normal_tail(vf a, vf *density) {
    vf n;
    const vf e = v_exp_reduced(a * a * -0.5f, &n) + 1.0f;
    *density = (vf)(((vu)e + ((vu)n << 23)) & (vu)(a < V_TAIL));
    const vf b = a * 0.29f, s = b / (b + 1.0f);
    vf p = s * 0.0389632396f - 0.120294087f;
    p = p * s + 0.0551332124f;
    p = p * s + 0.163430378f;
    p = p * s + 0.0245549046f;
    p = p * s - 0.883086681f;
    p = p * s + 1.59698582f;
    p = p * s - 1.37566221f;
    p = p * s + 0.5f;
    return *density * p;
}

/* P(X < x), X normal, and its density. */
INLINE vf v_normal(vf x) {
    vf density;
    const vf tail = v_normal_tail(v_min(v_set(V_TAIL), v_abs(x)), &density);
    return v_where(x < 0.0f, tail, 1.0f - tail);
}
INLINE vf v_normal_density(vf x) { return v_exp(x * x * -0.5f) * 0.398942280f; }

INLINE vf v_erf(vf x) {
    const vf a = v_abs(x), z = x * x;
    vf p = z * -0.000556185259f + 0.00489964383f;
    p = p * z - 0.0266950838f;
    p = p * z + 0.112795763f;
    p = p * z - 0.376122475f;
    p = p * z + 1.12837911f;
    vf density;
    const vf tail = v_normal_tail(v_min(v_set(V_TAIL), a * 1.41421356f), &density);
    return v_where(a < 1.0f, x * p, v_sign_of(x, 1.0f - 2.0f * tail));
}

/* x P(X < x), X normal; the exact gelu: max(x, 0) - |x| P(X < -|x|) */
INLINE vf v_gelu(vf x) {
    vf density;
    const vf a = v_min(v_set(V_TAIL), v_abs(x)), tail = v_normal_tail(a, &density);
    return v_max(v_set(0.0f), x) - a * tail;
}

/* P(X < x) + x density(x) */
INLINE vf v_gelu_grad(vf x) {
    vf density;
    const vf a = v_min(v_set(V_TAIL), v_abs(x)), tail = v_normal_tail(a, &density);
    return v_where(x < 0.0f, tail, 1.0f - tail) + v_sign_of(x, a) * density * 0.398942280f;
}

/* x / 2 (1 + tanh u) = x sigmoid(2 u), u = sqrt(2 / pi) (x + 0.044715 x^3). Below -15 it is 0. */
INLINE vf v_gelu_tanh(vf x) {
    const vf b = v_max(v_set(-15.0f), x);
    const vf minus_2u = b * (b * b * -0.0713548163f - 1.59576912f);
    return b / (1.0f + v_exp(minus_2u));
}

/* s + x s (1 - s) 2 u', s = sigmoid(2 u); s and 1 - s are taken from |x| so that neither loses digits. */
INLINE vf v_gelu_tanh_grad(vf x) {
    const vf b = v_clamp(x, -15.0f, 15.0f), a = v_abs(b), bb = b * b;
    const vf e = v_exp(a * (bb * -0.0713548163f - 1.59576912f));
    const vf high = 1.0f / (1.0f + e), low = e * high;
    return v_where(b < 0.0f, low, high) + b * (high * low) * (bb * 0.214064449f + 1.59576912f);
}

/* x sigmoid(x). Below -104 it is 0. */
INLINE vf v_silu(vf x) {
    const vf b = v_max(v_set(-104.0f), x);
    return b / (1.0f + v_exp(-b));
}

/* s + x s (1 - s) */
INLINE vf v_silu_grad(vf x) {
    const vf b = v_clamp(x, -104.0f, 104.0f);
    const vf e = v_exp(-v_abs(b));
    const vf high = 1.0f / (1.0f + e), low = e * high;
    return v_where(b < 0.0f, low, high) + b * (high * low);
}

/* log(1 + e^-|x|) */
INLINE vf v_log1p_exp(vf x) {
    const vf e = v_exp(-v_abs(x));
    const vi large = e > 0.41421356f;
    const vf f = v_where(large, (e - 1.0f) * 0.5f, e);
    const vf y = v_log1p_reduced(f, (vf)((vu)v_set(V_LN2_LOW) & (vu)large));
    return y + (vf)((vu)v_set(V_LN2_HIGH) & (vu)large);
}

/* log(1 + e^x) = max(x, 0) + log(1 + e^-|x|); above 20 it is x in any case, PyTorch's threshold needs no branch. */
INLINE vf v_softplus(vf x) { return v_max(v_set(0.0f), x) + v_log1p_exp(x); }

/* sqrt(log(1 + e^x)), which is e^(x / 2) where e^x is lost beside 1 */
INLINE vf v_sqrtsoftplus(vf x) { return v_where(x < -40.0f, v_exp(0.5f * x), v_sqrt(v_softplus(x))); }
INLINE vf v_sqrtsoftplus_grad(vf x) {
    return v_where(x < -40.0f, 0.5f * v_exp(0.5f * x), 0.5f * v_sigmoid(x) / v_sqrt(v_softplus(x)));
}

/* x sigmoid(1.702 x). Below -62 it is 0. */
INLINE vf v_quick_gelu(vf x) {
    const vf b = v_max(v_set(-62.0f), x);
    return b / (1.0f + v_exp(b * -1.702f));
}

/* s + 1.702 x s (1 - s) */
INLINE vf v_quick_gelu_grad(vf x) {
    const vf b = 1.702f * v_clamp(x, -62.0f, 62.0f);
    const vf e = v_exp(-v_abs(b));
    const vf high = 1.0f / (1.0f + e), low = e * high;
    return v_where(b < 0.0f, low, high) + b * (high * low);
}

/* x tanh(log(1 + e^x)) = x / (1 + q), q = e^-x / (1 + e^x / 2). Below -104 it is 0. */
INLINE vf v_mish(vf x) {
    const vf b = v_max(v_set(-104.0f), x), e = v_exp(-b);
    return b / (1.0f + e / (1.0f + 0.5f / e));
}

/* t + x sigmoid(x) (1 - t) (1 + t), t = 1 / (1 + q) */
INLINE vf v_mish_grad(vf x) {
    const vf b = v_clamp(x, -88.0f, 88.0f), e = v_exp(-b), q = e / (1.0f + 0.5f / e);
    const vf t = 1.0f / (1.0f + q);
    return t + b / (1.0f + e) * (q * t) * (1.0f + t);
}

/* As double: vd has as many lanes as vf; in loops two vf64 are better, for gcc keeps what is wider than a register in
 * memory. */
typedef double vd __attribute__((vector_size(VW * 8)));
typedef double vf64 __attribute__((vector_size(VW * 4)));
typedef float vf_half __attribute__((vector_size(VW * 2)));
INLINE void v_widen(vf x, vf64 wide[2]) {
    vf_half half[2];
    memcpy(half, &x, sizeof x);
    for (int i = 0; i < 2; i++) wide[i] = __builtin_convertvector(half[i], vf64);
}
INLINE vf v_narrow(const vf64 wide[2]) {
    vf_half half[2];
    for (int i = 0; i < 2; i++) half[i] = __builtin_convertvector(wide[i], vf_half);
    vf x;
    memcpy(&x, half, sizeof x);
    return x;
}

/* sin (quarter = 0) or cos (quarter = 1): x = n pi/2 + r, reduced in double, in two parts of pi/2 of which the first
 * times n is exact up to |n| = 2^20. Larger arguments, where a float is coarser than 0.1, go to the C library. */
INLINE vf v_sin_shifted(vf x, uint32_t quarter) {
    const vf n = x * 0.636619772f + V_ROUND;
    vf64 rest[2], whole[2];
    v_widen(x, rest);
    v_widen(n - V_ROUND, whole);
    for (int i = 0; i < 2; i++) rest[i] = (rest[i] - whole[i] * 0x1.921fb544p0) - whole[i] * 0x1.0b4611a626331p-34;
    const vf r = v_narrow(rest), z = r * r;
    const vf s = r + r * z * ((z * -0.000195187909f + 0.00833219197f) * z - 0.166666552f);
    const vf c = 1.0f + z * (z * ((z * 2.44306684e-05f - 0.00138873013f) * z + 0.0416666456f) - 0.5f);
    const vu quadrant = (vu)n + quarter;
    const vf y = v_where((vi)(quadrant << 31) < 0, c, s);
    return (vf)((vu)y ^ ((quadrant & 2u) << 30));
}
INLINE bool v_any(vi mask) {
    int32_t any = 0;
    for (int i = 0; i < VW; i++) any |= mask[i];
    return any != 0;
}
INLINE vf v_sin(vf x) {
    vf y = v_sin_shifted(x, 0);
    const vi far = ~(v_abs(x) < 0x1p20f);
    for (int i = 0; v_any(far) && i < VW; i++)
        if (far[i]) y[i] = sinf(x[i]);
    return y;
}
INLINE vf v_cos(vf x) {
    vf y = v_sin_shifted(x, 1);
    const vi far = ~(v_abs(x) < 0x1p20f);
    for (int i = 0; v_any(far) && i < VW; i++)
        if (far[i]) y[i] = cosf(x[i]);
    return y;
}

/* Below 2^23 adding and taking away 2^23 rounds to the nearest whole number, halves to even; above, all are whole. */
INLINE vf v_round(vf x) {
    const vf a = v_abs(x), r = (a + 0x1p23f) - 0x1p23f;
    return v_where(a < 0x1p23f, v_sign_of(x, r), x);
}
INLINE vf v_floor(vf x) {
    const vf r = v_round(x);
    return v_where(r > x, r - 1.0f, r);
}
INLINE vf v_ceil(vf x) { return -v_floor(-x); }

/* Powers come from the C library, which is exact to the last place or so; the usual ones are products and roots. */
INLINE vf v_pow(vf x, vf p) {
    vf y;
    for (int i = 0; i < VW; i++) y[i] = powf(x[i], p[i]);
    return y;
}
INLINE vf v_pow_by(vf x, float p) {
    if (p == 0.0f) return v_set(1.0f);
    if (p == 1.0f) return x;
    if (p == 2.0f) return x * x;
    if (p == 3.0f) return x * x * x;
    if (p == 0.5f) return v_sqrt(x);
    if (p == -0.5f) return 1.0f / v_sqrt(x);
    if (p == -1.0f) return 1.0f / x;
    if (p == -2.0f) return 1.0f / (x * x);
    return v_pow(x, v_set(p));
}

#endif
