/* zip archives for tests, made in memory. */
#ifndef TESTS_IO_ZIP_TEST_H
#define TESTS_IO_ZIP_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

enum { ZIP_ROOM = 1 << 14, ZIP_PACKED = 1 << 12 };

struct zip_made {
    unsigned char bytes[ZIP_ROOM], directory[ZIP_ROOM / 4];
    size_t n, in_directory;
    unsigned members;
};

static inline size_t zip_put(unsigned char *to, size_t at, const void *bytes, size_t n) {
    memcpy(to + at, bytes, n);
    return at + n;
}
static inline size_t zip_put16(unsigned char *to, size_t at, size_t v) {
    return zip_put(to, at, (unsigned char[]){(unsigned char)v, (unsigned char)(v >> 8)}, 2);
}
static inline size_t zip_put32(unsigned char *to, size_t at, size_t v) {
    return zip_put16(to, zip_put16(to, at, v & 0xFFFF), v >> 16 & 0xFFFF);
}

static inline void zip_add(struct zip_made *z, const char *name, const void *bytes, size_t n, bool deflated) {
    unsigned char packed[ZIP_PACKED], sizes[26];
    size_t size = n, at = z->n;
    assert_true(n <= sizeof packed);
    memcpy(packed, bytes, n);
    if (deflated) {
        z_stream s = {.next_in = (unsigned char *)(uintptr_t)bytes,
                      .avail_in = (uInt)n,
                      .next_out = packed,
                      .avail_out = sizeof packed};
        assert_int_equal(deflateInit2(&s, 9, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY), Z_OK);
        assert_int_equal(deflate(&s, Z_FINISH), Z_STREAM_END);
        size = s.total_out;
        deflateEnd(&s);
    }
    /* version, flags, method, time, checksum, both sizes, lengths of the name and of what is extra */
    size_t k = zip_put32(sizes, zip_put16(sizes, zip_put32(sizes, 0, 20), deflated ? 8 : 0), 0);
    k = zip_put32(sizes, zip_put32(sizes, zip_put32(sizes, k, crc32(crc32(0, NULL, 0), bytes, (uInt)n)), size), n);
    zip_put16(sizes, zip_put16(sizes, k, strlen(name)), 0);
    z->n = zip_put(z->bytes, zip_put(z->bytes, z->n, "PK\3\4", 4), sizes, sizeof sizes);
    z->n = zip_put(z->bytes, zip_put(z->bytes, z->n, name, strlen(name)), packed, size);
    k = zip_put16(z->directory, zip_put(z->directory, z->in_directory, "PK\1\2", 4), 20);
    k = zip_put16(z->directory, zip_put(z->directory, k, sizes, sizeof sizes), 0);
    k = zip_put32(z->directory, zip_put32(z->directory, zip_put32(z->directory, k, 0), 0), at);
    z->in_directory = zip_put(z->directory, k, name, strlen(name));
    z->members++;
}

static inline void zip_end(struct zip_made *z) {
    const size_t at = z->n;
    z->n = zip_put(z->bytes, at, z->directory, z->in_directory);
    z->n = zip_put32(z->bytes, zip_put(z->bytes, z->n, "PK\5\6", 4), 0);
    z->n = zip_put16(z->bytes, zip_put16(z->bytes, z->n, z->members), z->members);
    z->n = zip_put16(z->bytes, zip_put32(z->bytes, zip_put32(z->bytes, z->n, z->in_directory), at), 0);
}

#endif
