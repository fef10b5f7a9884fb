/* The hash of a string, for tables whose room is a power of two. Files are hostile: each table draws a secret of its
 * own, so that nobody can choose keys that collide. Nothing depends on the order in a table. */
#ifndef TEXT_STRINGS_HASH_H
#define TEXT_STRINGS_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

uint64_t hash_secret(void); /* never 0 */

/* The 128 bits of a product, folded. */
static inline uint64_t hash_mix(uint64_t a, uint64_t b) {
    const unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* The 1 to 8 bytes at s as one number, by loads that overlap: bytes gathered one by one would wait for each other. */
static inline uint64_t hash_word(const char *s, size_t n) {
    uint32_t first, last;
    if (n < 4)
        return (uint64_t)(unsigned char)s[0] << 16 | (unsigned)(unsigned char)s[n / 2] << 8 | (unsigned char)s[n - 1];
    memcpy(&first, s, 4);
    memcpy(&last, s + n - 4, 4);
    return (uint64_t)last << 32 | first;
}

static inline uint32_t hash_bytes(uint64_t secret, const char *key, size_t size) {
    uint64_t h = secret ^ size;
    while (size > 0) {
        const size_t n = size < 8 ? size : 8;
        h = hash_mix(h ^ hash_word(key, n), secret ^ 0x9E3779B97F4A7C15u);
        key += n;
        size -= n;
    }
    return (uint32_t)(h ^ h >> 32);
}

static inline uint32_t hash_number(uint64_t secret, uint64_t key) {
    const uint64_t h = hash_mix(key ^ secret, secret ^ 0x9E3779B97F4A7C15u);
    return (uint32_t)(h ^ h >> 32);
}

#endif
