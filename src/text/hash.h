/* The hash of a string, for tables whose room is a power of two. */
#ifndef TEXT_HASH_H
#define TEXT_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The 1 to 8 bytes at s as one number, by loads that overlap: bytes gathered one by one would wait for each other. */
static inline uint64_t hash_word(const char *s, size_t n) {
    uint32_t first, last;
    if (n < 4)
        return (uint64_t)(unsigned char)s[0] << 16 | (unsigned)(unsigned char)s[n / 2] << 8 | (unsigned char)s[n - 1];
    memcpy(&first, s, 4);
    memcpy(&last, s + n - 4, 4);
    return (uint64_t)last << 32 | first;
}

static inline uint32_t hash_bytes(const char *key, size_t size) {
    uint64_t h = 0x9E3779B97F4A7C15u ^ size;
    while (size > 0) {
        const size_t n = size < 8 ? size : 8;
        h = (h ^ hash_word(key, n)) * 0xD6E8FEB86659FD93u;
        h ^= h >> 32;
        key += n;
        size -= n;
    }
    return (uint32_t)(h ^ h >> 29);
}

#endif
