#include "io/utf16.h"
#include "base/checked.h"

#include <string.h>

bool utf16_is(const void *bytes, size_t size) {
    return size >= 2 && (memcmp(bytes, "\xFF\xFE", 2) == 0 || memcmp(bytes, "\xFE\xFF", 2) == 0);
}

static size_t put(char *to, uint32_t c) {
    const int more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const unsigned char first[] = {0, 0xC0, 0xE0, 0xF0};
    to[0] = (char)(first[more] | c >> (6 * more));
    for (int i = 1; i <= more; i++) to[i] = (char)(0x80 | (c >> (6 * (more - i)) & 0x3F));
    return (size_t)more + 1;
}

static uint32_t unit(const unsigned char *s, bool little) {
    return little ? s[0] | (uint32_t)s[1] << 8 : s[1] | (uint32_t)s[0] << 8;
}

/* Writes UTF-8 to `out`; gives its length, or SIZE_MAX where *at is not well-formed. */
static size_t decode(const unsigned char *s, size_t size, size_t *at, char *out) {
    const bool little = s[0] == 0xFF;
    size_t n = 0;
    for (*at = 2; *at < size; *at += 2) {
        if (*at + 1 == size) return SIZE_MAX;
        uint32_t c = unit(s + *at, little);
        const uint32_t next = c >= 0xD800 && c < 0xDC00 && *at + 3 < size ? unit(s + *at + 2, little) : 0;
        if (next >= 0xDC00 && next < 0xE000) c = 0x10000 + ((c - 0xD800) << 10) + (next - 0xDC00);
        if (c >= 0xD800 && c < 0xE000) return SIZE_MAX;
        *at += c >= 0x10000 ? 2 : 0;
        n += put(out + n, c);
    }
    return n;
}

char *utf16_decode(heed_ctx *cx, const char *name, const void *bytes, size_t size, size_t *length) {
    size_t room, at;
    char *out = size_mul(size / 2, 3, &room) ? heed_mem_new(cx, room + 1) : NULL;
    if (!out) return heed_fail(cx, HEED_ERR_MEMORY, "%s: too large", name), NULL;
    *length = decode(bytes, size, &at, out);
    if (*length == SIZE_MAX) {
        heed_mem_free(cx, out);
        return heed_fail(cx, HEED_ERR_FORMAT, "%s: byte %zu: not valid UTF-16", name, at + 1), NULL;
    }
    out[*length] = 0;
    return out;
}
