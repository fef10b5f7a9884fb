/* Files that are read: mapped, or whole, gunzipped on the way when they are gzip. What is in a file, its size and what
 * it unpacks to are all somebody else's word: nothing larger than the caller's limit is ever allocated for it. */
#include "base/file.h"
#include "base/ctx.h"
#include "base/profile.h"
#include "base/zlib_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUFFER ((size_t)64 << 10)

static bool refused(heed_ctx *cx, const char *path) {
    return heed_fail(cx, HEED_ERR_FILE, "%s: %s", path, strerror(errno));
}

/* Opens for reading; what kind of file it may be is the caller's to say, with what. */
static int open_to_read(heed_ctx *cx, const char *path, int flags, struct stat *what) {
    int fd;
    do fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | flags);
    while (fd < 0 && errno == EINTR && !heed_cancelled(cx));
    if (fd < 0) {
        refused(cx, path);
        return -1;
    }
    if (fstat(fd, what) == 0) {
        if (!S_ISDIR(what->st_mode)) return fd;
        errno = EISDIR;
    }
    refused(cx, path);
    close(fd);
    return -1;
}

bool file_map_open(heed_ctx *cx, const char *path, struct file_map *map) {
    if (heed_failed(cx)) return false;
    if (!path || !map) return heed_fail(cx, HEED_ERR_USAGE, "map: no %s is given", path ? "map" : "path");
    *map = (struct file_map){0};
    struct stat what;
    /* Without O_NONBLOCK opening a pipe would wait for somebody to write, only to be refused. */
    const int fd = open_to_read(cx, path, O_NONBLOCK, &what);
    if (fd < 0) return false;
    void *data = NULL;
    if (!S_ISREG(what.st_mode))
        heed_fail(cx, HEED_ERR_FILE, "%s: not a regular file, so it cannot be mapped", path);
    else if ((uint64_t)what.st_size > SIZE_MAX)
        heed_fail(cx, HEED_ERR_FILE, "%s: too large for this machine", path);
    else if (what.st_size > 0 && (data = mmap(NULL, (size_t)what.st_size, PROT_READ, MAP_PRIVATE, fd, 0)) == MAP_FAILED)
        refused(cx, path);
    close(fd);
    if (heed_failed(cx)) return false;
    *map = (struct file_map){data, (size_t)what.st_size};
    return true;
}

void file_map_close(struct file_map *map) {
    if (!map) return;
    if (map->data) munmap((void *)(uintptr_t)map->data, map->size);
    *map = (struct file_map){0};
}

/* ---- read whole ---- */

struct source {
    heed_ctx *cx;
    const char *name;
    int fd;
    bool ended; /* the system has no more */
    bool gzip;
    bool in_member;                     /* a gzip member has begun and not ended */
    uint64_t taken;                     /* bytes read from the system */
    unsigned char *next, bytes[BUFFER]; /* read and not yet used: `have` bytes at next */
    size_t have;
    z_stream z;
};

/* Reads once from the system; false on trouble. At the end *got is 0. */
static bool read_some(struct source *s, void *out, size_t size, size_t *got) {
    ssize_t n;
    const size_t most = size < ((size_t)1 << 30) ? size : (size_t)1 << 30;
    const struct profile_mark mark = profile_begin(s->cx);
    do n = read(s->fd, out, most);
    while (n < 0 && errno == EINTR && !heed_cancelled(s->cx));
    profile_end(s->cx, mark, "read files", PROFILE_FORWARD);
    if (n < 0) return refused(s->cx, s->name);
    *got = (size_t)n;
    s->taken += (uint64_t)n;
    s->ended = n == 0;
    return !heed_cancelled(s->cx);
}

static bool refill(struct source *s) {
    s->next = s->bytes;
    return read_some(s, s->bytes, sizeof s->bytes, &s->have);
}

/* Reads the beginning and sees by it whether the file is gzip. */
static bool source_start(struct source *s) {
    s->next = s->bytes;
    while (s->have < 2 && !s->ended) {
        size_t got;
        if (!read_some(s, s->bytes + s->have, sizeof s->bytes - s->have, &got)) return false;
        s->have += got;
    }
    s->gzip = s->have >= 2 && s->bytes[0] == 0x1F && s->bytes[1] == 0x8B;
    if (!s->gzip) return true;
    s->in_member = true;
    s->z = zlib_stream(s->cx);
    if (inflateInit2(&s->z, 16 + MAX_WBITS) == Z_OK) return true;
    s->gzip = false;
    return heed_fail(s->cx, HEED_ERR_MEMORY, "%s: no memory to gunzip", s->name);
}

static bool read_plain(struct source *s, unsigned char *out, size_t size, size_t *got) {
    if (s->have == 0) return s->ended ? (*got = 0, true) : read_some(s, out, size, got);
    *got = s->have < size ? s->have : size;
    memcpy(out, s->next, *got);
    s->next += *got;
    s->have -= *got;
    return true;
}

/* Between members: zeros may pad (tapes do); anything else must be another member, or inflate says what it is not. */
static bool next_member(struct source *s, bool *more) {
    while (true) {
        while (s->have > 0 && *s->next == 0) s->next++, s->have--;
        if (s->have > 0 || s->ended) break;
        if (!refill(s)) return false;
    }
    *more = s->have > 0;
    if (*more) {
        inflateReset(&s->z);
        s->in_member = true;
    }
    return true;
}

static bool read_gzip(struct source *s, unsigned char *out, size_t size, size_t *got) {
    s->z.next_out = out;
    s->z.avail_out = size < ((size_t)1 << 30) ? (uInt)size : (uInt)1 << 30;
    const uInt room = s->z.avail_out;
    while (s->z.avail_out == room) {
        bool more = true;
        if (!s->in_member && !next_member(s, &more)) return false;
        if (!more) break;
        if (s->have == 0 && !s->ended && !refill(s)) return false;
        if (s->have == 0)
            return heed_fail(s->cx, HEED_ERR_FORMAT, "%s: the gzip data ends too early, at byte %llu", s->name,
                             (unsigned long long)s->taken);
        s->z.next_in = s->next;
        s->z.avail_in = (uInt)s->have;
        const struct profile_mark mark = profile_begin(s->cx);
        const int result = inflate(&s->z, Z_NO_FLUSH);
        profile_end(s->cx, mark, "gunzip", PROFILE_FORWARD);
        s->next = s->z.next_in;
        s->have = s->z.avail_in;
        if (result == Z_STREAM_END)
            s->in_member = false;
        else if (result == Z_MEM_ERROR)
            return heed_fail(s->cx, HEED_ERR_MEMORY, "%s: no memory to gunzip", s->name);
        else if (result != Z_OK && result != Z_BUF_ERROR)
            return heed_fail(s->cx, HEED_ERR_FORMAT, "%s: corrupt gzip data near byte %llu: %s", s->name,
                             (unsigned long long)(s->taken - s->have), s->z.msg ? s->z.msg : "no stream");
    }
    *got = room - s->z.avail_out;
    return true;
}

/* Reads to the end into memory that doubles; `expected` bytes are a first guess. There is always room for one byte more
 * than the contents (the 0), and for one more than the limit, to see that it is passed. */
static unsigned char *read_all(struct source *s, size_t expected, size_t limit, size_t *size) {
    const size_t most = limit < SIZE_MAX / 4 ? limit + 2 : SIZE_MAX / 4;
    size_t room = expected < most - 2 ? expected + 2 : most, have = 0;
    unsigned char *data = heed_mem_new(s->cx, room);
    while (data) {
        if (have + 1 == room) {
            room = room < most / 2 ? room * 2 : most;
            unsigned char *larger = heed_mem_resize(s->cx, data, room);
            if (!larger) break;
            data = larger;
        }
        size_t got = 0;
        const bool fine = (s->gzip ? read_gzip : read_plain)(s, data + have, room - have - 1, &got);
        have += got;
        if (!fine) break;
        if (have > limit) {
            heed_fail(s->cx, HEED_ERR_RANGE, "%s: holds more than the %zu bytes allowed", s->name, limit);
            break;
        }
        if (got == 0) {
            data[have] = 0;
            *size = have;
            return data;
        }
    }
    heed_mem_free(s->cx, data);
    return NULL;
}

static unsigned char *read_file(heed_ctx *cx, const char *path, bool regular, size_t limit, size_t *size) {
    if (heed_failed(cx)) return NULL;
    if (!path || !size) {
        heed_fail(cx, HEED_ERR_USAGE, "read: no %s is given", path ? "size" : "path");
        return NULL;
    }
    struct source *s = heed_mem_new(cx, sizeof *s);
    if (!s) return NULL;
    const bool standard = strcmp(path, "-") == 0;
    struct stat what = {0};
    *s = (struct source){.cx = cx, .name = standard ? "standard input" : path};
    /* With O_NONBLOCK, for a pipe that would be refused nobody is waited for. */
    s->fd = standard ? STDIN_FILENO : open_to_read(cx, path, regular ? O_NONBLOCK : 0, &what);
    unsigned char *data = NULL;
    if (s->fd >= 0 && regular && !standard && !S_ISREG(what.st_mode))
        heed_fail(cx, HEED_ERR_FILE, "%s: not a regular file", path);
    if (s->fd >= 0 && !heed_failed(cx) && source_start(s)) {
        /* Files that the system makes up as they are read say 0. */
        const bool known = S_ISREG(what.st_mode) && what.st_size > 0 && (uint64_t)what.st_size < SIZE_MAX / 4;
        data = read_all(s, known ? (size_t)what.st_size : BUFFER, limit, size);
    }
    if (s->gzip) inflateEnd(&s->z);
    if (s->fd >= 0 && !standard) close(s->fd);
    heed_mem_free(cx, s);
    return data;
}

unsigned char *file_read(heed_ctx *cx, const char *path, size_t limit, size_t *size) {
    return read_file(cx, path, false, limit, size);
}

unsigned char *file_read_regular(heed_ctx *cx, const char *path, size_t limit, size_t *size) {
    return read_file(cx, path, true, limit, size);
}
