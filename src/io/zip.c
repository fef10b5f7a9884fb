/* zip: local headers with data, then the central directory, whose entries say where they are, then its end record.
 * Only the directory is believed, and that after it was checked against the bytes that there are. */
#include "io/zip.h"
#include "base/zlib_memory.h"
#include "io/text.h"

#include <stdio.h>
#include <string.h>

enum { END = 22, ENTRY = 46, LOCAL = 30, LONGEST_COMMENT = 65535, STORED = 0, DEFLATED = 8, ENCRYPTED = 1 };
#define ZIP64 0xFFFFFFFFu /* in place of a size that a record of zip64 holds */

static bool broken(const struct zip *z, const char *why, size_t at) {
    return heed_fail(z->cx, HEED_ERR_FORMAT, "%s: not a sound zip archive: %s, at byte %zu", z->name, why, at);
}

static unsigned u16_at(const unsigned char *p) { return p[0] | (unsigned)p[1] << 8; }
static uint32_t u32_at(const unsigned char *p) { return (uint32_t)u16_at(p) | (uint32_t)u16_at(p + 2) << 16; }
static bool is(const unsigned char *p, const char *mark) { return memcmp(p, mark, 4) == 0; }

/* The end record is the last thing but for a comment. */
static bool find_directory(struct zip *z) {
    const size_t farthest = z->size < END + LONGEST_COMMENT ? z->size : END + LONGEST_COMMENT;
    for (size_t back = END; back <= farthest; back++) {
        const unsigned char *const p = z->data + z->size - back;
        if (!is(p, "PK\5\6") || u16_at(p + 20) != back - END) continue;
        const size_t length = u32_at(p + 12), at = u32_at(p + 16), end = z->size - back;
        if (u16_at(p + 4) != 0 || at == ZIP64) return broken(z, "archives in parts or beyond 4 GiB are not read", end);
        if (at > end || length > end - at) return broken(z, "the directory lies outside of the file", end);
        z->left = u16_at(p + 10);
        z->at = at;
        return z->opened = true;
    }
    return broken(z, "it has no directory: it is cut short, or something else", z->size);
}

/* The entry at z->at; its name may be cut, as no name that is looked for is so long. */
static bool read_entry(struct zip *z) {
    const unsigned char *const p = z->data + z->at;
    if (z->size - z->at < ENTRY || !is(p, "PK\1\2")) return broken(z, "an entry of the directory is missing", z->at);
    const size_t name = u16_at(p + 28), rest = u16_at(p + 30) + (size_t)u16_at(p + 32);
    if (z->size - z->at - ENTRY < name + rest) return broken(z, "an entry of the directory is cut short", z->at);
    snprintf(z->member, sizeof z->member, "%.*s", (int)name, (const char *)p + ENTRY);
    z->method = u16_at(p + 8) & ENCRYPTED ? -1 : (int)u16_at(p + 10);
    z->crc = u32_at(p + 16);
    z->packed = u32_at(p + 20);
    z->unpacked = u32_at(p + 24);
    z->header = u32_at(p + 42);
    z->at += ENTRY + name + rest;
    z->left--;
    return true;
}

bool zip_next(struct zip *z) {
    if (heed_failed(z->cx) || (!z->opened && !find_directory(z))) return false;
    while (z->left > 0) {
        if (!read_entry(z)) return false;
        const size_t n = strlen(z->member);
        if (n > 0 && z->member[n - 1] != '/') return true;
    }
    return false;
}

/* ---- the bytes of a member ---- */

static const unsigned char *packed_bytes(const struct zip *z) {
    const size_t at = z->header;
    if (z->packed == ZIP64 || z->unpacked == ZIP64 || at == ZIP64)
        return broken(z, "members beyond 4 GiB are not read", at), NULL;
    if (at > z->size || z->size - at < LOCAL || !is(z->data + at, "PK\3\4"))
        return broken(z, "a member is not where the directory says", at), NULL;
    const size_t skip = LOCAL + u16_at(z->data + at + 26) + (size_t)u16_at(z->data + at + 28);
    if (skip > z->size - at || z->packed > z->size - at - skip) return broken(z, "a member is cut short", at), NULL;
    return z->data + at + skip;
}

static bool inflate_all(const struct zip *z, const unsigned char *from, unsigned char *to) {
    z_stream s = zlib_stream(z->cx);
    s.next_in = (unsigned char *)(uintptr_t)from; /* which zlib only reads */
    s.avail_in = (uInt)z->packed;
    s.next_out = to;
    s.avail_out = (uInt)z->unpacked;
    if (inflateInit2(&s, -MAX_WBITS) != Z_OK)
        return heed_fail(z->cx, HEED_ERR_MEMORY, "%s: no memory to unpack it", z->name);
    const int result = inflate(&s, Z_FINISH);
    const bool whole = result == Z_STREAM_END && s.avail_out == 0;
    inflateEnd(&s);
    if (result == Z_MEM_ERROR) return heed_fail(z->cx, HEED_ERR_MEMORY, "%s: no memory to unpack it", z->name);
    return whole || heed_fail(z->cx, HEED_ERR_FORMAT, "%s: %s: corrupt deflated data", z->name, escaped(z->member).s);
}

unsigned char *zip_read(struct zip *z, size_t limit) {
    const unsigned char *const from = heed_failed(z->cx) ? NULL : packed_bytes(z);
    if (!from) return NULL;
    if (z->unpacked > limit)
        return heed_fail(z->cx, HEED_ERR_RANGE, "%s: %s: holds %zu bytes, more than the %zu allowed", z->name,
                         escaped(z->member).s, z->unpacked, limit),
               NULL;
    if ((z->method != STORED && z->method != DEFLATED) || (z->method == STORED && z->packed != z->unpacked))
        return heed_fail(z->cx, HEED_ERR_FORMAT, "%s: %s: neither stored nor deflated", z->name, escaped(z->member).s),
               NULL;
    /* deflate makes at most 1032 bytes of one: what claims more is refused before memory is taken for it */
    if (z->unpacked / 1032 > z->packed) return broken(z, "a size makes no sense", z->header), NULL;
    unsigned char *const to = heed_mem_new(z->cx, z->unpacked);
    bool ok = to;
    if (ok && z->method == STORED)
        memcpy(to, from, z->unpacked);
    else if (ok)
        ok = inflate_all(z, from, to);
    if (ok && crc32(crc32(0, NULL, 0), to, (uInt)z->unpacked) != z->crc)
        ok = heed_fail(z->cx, HEED_ERR_FORMAT, "%s: %s: its checksum is wrong", z->name, escaped(z->member).s);
    if (ok) return to;
    heed_mem_free(z->cx, to);
    return NULL;
}
