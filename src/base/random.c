/* Counter-based random numbers: every number is a function of (seed, stream, position) alone. philox.h has the bits;
 * here they become uniform, normal and truncated normal numbers, and permutations. Number `position` comes from block
 * position / 4, so a fill may begin and end anywhere. */
#include "base/philox.h"
#include "heed/base.h"

#include <math.h>

#define TWO_PI 6.28318530717958647693f
#define ROOT_2 1.41421356237309504880

uint32_t heed_random_bits(uint64_t seed, uint64_t stream, uint64_t position) {
    uint32_t words[4];
    philox_block(seed, stream, position / 4, words);
    return words[position % 4];
}

/* Turns the four words of a block into four numbers. */
typedef void (*convert_fn)(const uint32_t words[4], const void *arg, float out[4]);

static inline void fill(uint64_t seed, uint64_t stream, uint64_t position, float *out, int64_t n, convert_fn convert,
                        const void *arg) {
    if (!out) return;
    for (int64_t i = 0; i < n;) {
        uint32_t words[4];
        float numbers[4];
        philox_block(seed, stream, position / 4, words);
        convert(words, arg, numbers);
        do out[i++] = numbers[position++ % 4];
        while (i < n && position % 4 != 0);
    }
}

static void to_uniform(const uint32_t words[4], const void *arg, float out[4]) {
    (void)arg;
    for (int k = 0; k < 4; k++) out[k] = philox_uniform(words[k]);
}

void heed_random_uniform(uint64_t seed, uint64_t stream, uint64_t position, float *out, int64_t n) {
    fill(seed, stream, position, out, n, to_uniform, NULL);
}

/* Box-Muller: r = sqrt(-2 ln u), u in (0, 1] with 32 bits for the tails' sake (|x| reaches 6.66); the angle from the
 * second word; r cos is the even number of the pair, r sin the odd one. */
static void to_normal(const uint32_t words[4], const void *arg, float out[4]) {
    (void)arg;
    for (int k = 0; k < 4; k += 2) {
        const float u = (float)(((double)words[k] + 1.0) * 0x1p-32);
        const float r = sqrtf(-2.0f * logf(u)), angle = TWO_PI * philox_uniform(words[k + 1]);
        out[k] = r * cosf(angle);
        out[k + 1] = r * sinf(angle);
    }
}

void heed_random_normal(uint64_t seed, uint64_t stream, uint64_t position, float *out, int64_t n) {
    fill(seed, stream, position, out, n, to_normal, NULL);
}

static double cdf(double x) { return 0.5 * erfc(-x / ROOT_2); }

/* (n0 + n1 x + ... + n7 x^7) / (1 + d1 x + ... + d7 x^7) */
static double ratio(const double num[8], const double den[7], double x) {
    double n = num[7], d = den[6];
    for (int k = 6; k >= 0; k--) n = n * x + num[k];
    for (int k = 5; k >= 0; k--) d = d * x + den[k];
    return n / (d * x + 1.0);
}

/* The inverse of the normal distribution function (Wichura 1988, AS 241): relative error about 1e-16. */
static double inverse_cdf(double p) {
    static const double mid_num[8] = {3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3,
                                      1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4,
                                      3.3430575583588128105e4, 2.5090809287301226727e3};
    static const double mid_den[7] = {4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3,
                                      2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4,
                                      5.2264952788528545610e3};
    static const double near_num[8] = {1.42343711074968357734e0,  4.63033784615654529590e0, 5.76949722146069140550e0,
                                       3.64784832476320460504e0,  1.27045825245236838258e0, 2.41780725177450611770e-1,
                                       2.27238449892691845833e-2, 7.74545014278341407640e-4};
    static const double near_den[7] = {2.05319162663775882187e0,  1.67638483018380384940e0,  6.89767334985100004550e-1,
                                       1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4,
                                       1.05075007164441684324e-9};
    static const double far_num[8] = {6.65790464350110377720e0,  5.46378491116411436990e0,  1.78482653991729133580e0,
                                      2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
                                      2.71155556874348757815e-5, 2.01033439929228813265e-7};
    static const double far_den[7] = {5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
                                      7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7,
                                      2.04426310338993978564e-15};
    const double q = p - 0.5;
    if (fabs(q) <= 0.425) return q * ratio(mid_num, mid_den, 0.180625 - q * q);
    const double r = sqrt(-log(q < 0.0 ? p : 1.0 - p));
    const double x = r <= 5.0 ? ratio(near_num, near_den, r - 1.6) : ratio(far_num, far_den, r - 5.0);
    return q < 0.0 ? -x : x;
}

struct truncation {
    float low, high;
    bool mirrored;     /* all of it lies above 0, where the distribution function has no digits left for the tail */
    double from, span; /* of the distribution function over [low, high], or over its mirror image */
};

static void to_truncated(const uint32_t words[4], const void *arg, float out[4]) {
    const struct truncation *const t = arg;
    for (int k = 0; k < 4; k++) {
        const double x = inverse_cdf(t->from + t->span * ((double)words[k] + 0.5) * 0x1p-32);
        const float y = (float)(t->mirrored ? -x : x);
        out[k] = y < t->low ? t->low : y > t->high ? t->high : y;
    }
}

void heed_random_truncated(uint64_t seed, uint64_t stream, uint64_t position, float low, float high, float *out,
                           int64_t n) {
    if (!out) return;
    if (!(low < high)) {
        for (int64_t i = 0; i < n; i++) out[i] = low == high ? low : NAN;
        return;
    }
    const bool mirrored = low > 0.0f;
    const double from = cdf(mirrored ? -(double)high : (double)low), to = cdf(mirrored ? -(double)low : (double)high);
    const struct truncation t = {low, high, mirrored, from, to - from};
    fill(seed, stream, position, out, n, to_truncated, &t);
}

/* Fisher-Yates. Draw k has 64 bits, words 2k and 2k + 1 of the stream; their product with the number of places, shifted
 * down by 64, is a place: off from even by less than n / 2^64. */
void heed_random_permutation(uint64_t seed, uint64_t stream, int64_t *out, int64_t n) {
    if (!out) return;
    for (int64_t i = 0; i < n; i++) out[i] = i;
    uint32_t words[4];
    for (int64_t i = n - 1, draw = 0; i > 0; i--, draw++) {
        if (draw % 2 == 0) philox_block(seed, stream, (uint64_t)draw / 2, words);
        const uint32_t *const half = words + draw % 2 * 2;
        const uint64_t bits = (uint64_t)half[1] << 32 | half[0];
        const int64_t j = (int64_t)((unsigned __int128)bits * (uint64_t)(i + 1) >> 64);
        const int64_t swap = out[i];
        out[i] = out[j];
        out[j] = swap;
    }
}
