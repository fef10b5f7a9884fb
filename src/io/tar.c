/* tar: blocks of 512 bytes, a header before each file. Sizes are octal; what a header says is checked against the bytes
 * that there are. */
#include "io/tar.h"
#include "io/text.h"

#include <stdio.h>
#include <string.h>

enum { BLOCK = 512, NAME = 0, SIZE = 124, CHECKSUM = 148, KIND = 156, MAGIC = 257, PREFIX = 345 };

static bool broken(const struct tar *t, const char *why) {
    return heed_fail(t->cx, HEED_ERR_FORMAT, "%s: not a sound tar archive: %s, at byte %zu", t->name, why, t->at);
}

static bool octal(const unsigned char *p, int n, size_t *out) {
    size_t v = 0;
    int i = 0;
    while (i < n && p[i] == ' ') i++;
    for (; i < n && p[i] >= '0' && p[i] <= '7'; i++) v = v * 8 + (size_t)(p[i] - '0');
    *out = v;
    return i == n || p[i] == 0 || p[i] == ' ';
}

static bool is_empty(const unsigned char *p) {
    for (int i = 0; i < BLOCK; i++)
        if (p[i]) return false;
    return true;
}

/* The sum of all bytes, those of the sum itself counted as blanks. */
static bool check(const struct tar *t, const unsigned char *p) {
    size_t sum = 0, said;
    for (int i = 0; i < BLOCK; i++) sum += i >= CHECKSUM && i < CHECKSUM + 8 ? ' ' : p[i];
    return (octal(p + CHECKSUM, 8, &said) && said == sum) || broken(t, "the checksum of a header is wrong");
}

static void plain_path(struct tar *t, const unsigned char *p) {
    const int prefix = memcmp(p + MAGIC, "ustar", 6) == 0 ? (int)strnlen((const char *)p + PREFIX, 155) : 0;
    snprintf(t->path, sizeof t->path, "%.*s%s%.*s", prefix, (const char *)p + PREFIX, prefix ? "/" : "",
             (int)strnlen((const char *)p, 100), (const char *)p + NAME);
}

/* Records "LENGTH path=VALUE\n" of a pax header. */
static bool pax_path(struct tar *t, const unsigned char *p, size_t n, bool *found) {
    while (n > 0) {
        size_t length = 0, i = 0;
        for (; i < n && i < 8 && p[i] >= '0' && p[i] <= '9'; i++) length = length * 10 + (size_t)(p[i] - '0');
        if (i == 0 || i >= n || p[i] != ' ' || length < i + 2 || length > n)
            return broken(t, "a pax header makes no sense");
        if (length > i + 7 && memcmp(p + i + 1, "path=", 5) == 0) {
            *found = length - i - 7 < TAR_PATH;
            if (!*found) return broken(t, "a path is too long");
            snprintf(t->path, sizeof t->path, "%.*s", (int)(length - i - 7), (const char *)p + i + 6);
        }
        p += length;
        n -= length;
    }
    return true;
}

bool tar_next(struct tar *t) {
    bool named = false;
    while (!heed_failed(t->cx)) {
        const unsigned char *p = t->data + t->at;
        size_t size;
        if (t->at == t->size) return false;
        if (t->size - t->at < BLOCK) return broken(t, "it is cut short");
        if (is_empty(p)) return false;
        if (!check(t, p)) return false;
        if (!octal(p + SIZE, 12, &size)) return broken(t, "a size makes no sense");
        if (size > t->size - t->at - BLOCK) return broken(t, "it is cut short");
        const unsigned char *file = p + BLOCK;
        const size_t blocks = (size + BLOCK - 1) / BLOCK * BLOCK, left = t->size - t->at - BLOCK;
        const char kind = (char)p[KIND];
        if (kind == 'L') {
            if (size >= TAR_PATH) return broken(t, "a path is too long");
            snprintf(t->path, sizeof t->path, "%.*s", (int)size, (const char *)file);
            named = true;
        } else if (kind == 'x') {
            if (!pax_path(t, file, size, &named)) return false;
        } else if (!named) {
            plain_path(t, p);
        }
        t->at += BLOCK + (blocks < left ? blocks : left);
        if (kind == 'L' || kind == 'x') continue;
        named = false;
        if (kind != '0' && kind != 0) continue;
        t->file = file;
        t->file_size = size;
        return true;
    }
    return false;
}
