#include "base/mersenne.h"
#include <math.h>

#define WORDS  624
#define MIDDLE 397
#define BLOCK  16
#define TWO_PI 6.283185307179586

struct mersenne {
    uint32_t word[WORDS];
    int next;
};

static void seed_words(struct mersenne *m, uint32_t seed) {
    m->word[0] = seed;
    for (uint32_t i = 1; i < WORDS; i++) m->word[i] = 1812433253u * (m->word[i - 1] ^ (m->word[i - 1] >> 30)) + i;
    m->next = WORDS;
}

static void draw_words(struct mersenne *m) {
    for (int i = 0; i < WORDS; i++) {
        const uint32_t y = (m->word[i] & 0x80000000u) | (m->word[(i + 1) % WORDS] & 0x7fffffffu);
        m->word[i] = m->word[(i + MIDDLE) % WORDS] ^ (y >> 1) ^ (y & 1 ? 0x9908b0dfu : 0);
    }
    m->next = 0;
}

static uint32_t bits(struct mersenne *m) {
    if (m->next == WORDS) draw_words(m);
    uint32_t y = m->word[m->next++];
    y ^= y >> 11;
    y ^= y << 7 & 0x9d2c5680u;
    y ^= y << 15 & 0xefc60000u;
    return y ^ y >> 18;
}

static float uniform24(struct mersenne *m) { return (float)(bits(m) & 0xffffff) * 0x1p-24f; }

static double uniform53(struct mersenne *m) {
    const uint64_t high = bits(m), low = bits(m);
    return (double)((high << 32 | low) & (((uint64_t)1 << 53) - 1)) * 0x1p-53;
}

/* 16 uniform numbers become normal. */
static void box_muller(float *x) {
    for (int i = 0; i < BLOCK / 2; i++) {
        const double radius = sqrt(-2 * log(1 - (double)x[i])), angle = TWO_PI * (double)x[i + BLOCK / 2];
        x[i] = (float)(radius * cos(angle));
        x[i + BLOCK / 2] = (float)(radius * sin(angle));
    }
}

void mersenne_normal(uint64_t seed, float *out, int64_t n) {
    struct mersenne m;
    seed_words(&m, (uint32_t)seed);
    for (int64_t i = 0; n < BLOCK && i < n; i += 2) {
        const double angle = TWO_PI * uniform53(&m), radius = sqrt(-2 * log1p(-uniform53(&m)));
        out[i] = (float)(radius * cos(angle));
        if (i + 1 < n) out[i + 1] = (float)(radius * sin(angle));
    }
    if (n < BLOCK) return;
    for (int64_t i = 0; i < n; i++) out[i] = uniform24(&m);
    for (int64_t i = 0; i + BLOCK <= n; i += BLOCK) box_muller(out + i);
    if (n % BLOCK == 0) return;
    for (int i = 0; i < BLOCK; i++) out[n - BLOCK + i] = uniform24(&m); /* the last 16 are drawn anew */
    box_muller(out + n - BLOCK);
}
