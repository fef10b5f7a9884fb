/* Files that are written: into a hidden file beside the target, synced, and renamed over it, so that a reader, and a
 * crash at any moment, sees the old file or the new one. Devices and pipes are written as they are. What is called
 * something.gz is gzip.
 *
 * The hidden file is locked (flock) as long as it is written. A process that is killed leaves it behind, without the
 * lock: whoever writes into that directory next removes it. */
#include "base/ctx.h"
#include "base/file.h"
#include "base/zlib_memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define BUFFER ((size_t)64 << 10)

struct file_writer {
    heed_ctx *cx;
    int fd;
    bool standard; /* the process's standard output, which is not ours to close */
    bool beside;   /* written to temp, to be renamed to path */
    bool broken;   /* something failed; nothing more is written */
    bool gzip;     /* z is open */
    size_t have;   /* bytes waiting in the buffer */
    char path[PATH_MAX], temp[PATH_MAX];
    unsigned char buffer[BUFFER];
    z_stream z;
    unsigned char packed[BUFFER];
};

bool file_folder_writable(const char *path) {
    char folder[PATH_MAX];
    const char *const end = strrchr(path, '/');
    if (!end || end == path || (size_t)(end - path) >= sizeof folder) return true;
    memcpy(folder, path, (size_t)(end - path));
    folder[end - path] = 0;
    return access(folder, W_OK | X_OK) == 0;
}

static bool refused(struct file_writer *w) {
    w->broken = true;
    return heed_fail(w->cx, HEED_ERR_FILE, "%s: %s", w->path, strerror(errno));
}

/* ---- gzip ---- */

static bool gzip_begin(struct file_writer *w, const char *path) {
    const size_t n = strlen(path);
    if (n < 3 || strcmp(path + n - 3, ".gz") != 0) return true;
    w->z = zlib_stream(w->cx);
    const int window = 16 + MAX_WBITS, memory = 8; /* gzip's header; zlib's standard */
    w->gzip = deflateInit2(&w->z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, window, memory, Z_DEFAULT_STRATEGY) == Z_OK;
    return w->gzip || heed_fail(w->cx, HEED_ERR_MEMORY, "%s: no memory to gzip", w->path);
}

static void gzip_end(struct file_writer *w) {
    if (w->gzip) deflateEnd(&w->z);
    w->gzip = false;
}

/* ---- the hidden file ---- */

#define HIDDEN_HEAD ".heed-"
#define HIDDEN_TAIL ".tmp"

static bool is_hidden_name(const char *name) {
    const size_t n = strlen(name), head = sizeof HIDDEN_HEAD - 1, tail = sizeof HIDDEN_TAIL - 1;
    return n > head + tail && memcmp(name, HIDDEN_HEAD, head) == 0 && memcmp(name + n - tail, HIDDEN_TAIL, tail) == 0;
}

/* Is the file behind fd the one of this name? */
static bool is_same_file(int fd, int folder, const char *name) {
    struct stat a, b;
    return fstat(fd, &a) == 0 && fstatat(folder, name, &b, AT_SYMLINK_NOFOLLOW) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

/* Removes the file, when it is one of ours that nobody writes any more: then its lock can be had. */
static void remove_abandoned(int folder, const char *name) {
    struct stat what;
    if (fstatat(folder, name, &what, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(what.st_mode)) return;
    const int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 && is_same_file(fd, folder, name)) unlinkat(folder, name, 0);
    close(fd);
}

#define MAX_ENTRIES 10000 /* to look at, so that a large directory does not slow down every write */

static void sweep(const char *folder) {
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    for (int i = 0; dir && i < MAX_ENTRIES && (entry = readdir(dir)); i++)
        if (is_hidden_name(entry->d_name)) remove_abandoned(dirfd(dir), entry->d_name);
    if (dir) closedir(dir);
}

/* The directory of a path, in place: "." without one. */
static const char *folder_of(char *path) {
    char *slash = strrchr(path, '/');
    if (!slash) return ".";
    slash[slash == path] = '\0';
    return path;
}

/* False when somebody who sweeps was quicker, and removes the file or has done so. Where the file system has no locks,
 * nobody gets one and nothing is removed. */
static bool lock_new(struct file_writer *w) {
    if (flock(w->fd, LOCK_EX | LOCK_NB) == 0) return is_same_file(w->fd, AT_FDCWD, w->temp);
    return errno != EWOULDBLOCK;
}

/* Opens a new file in the target's directory; 0666 so that the umask decides, as for any file. */
static bool open_beside(struct file_writer *w) {
    const char *slash = strrchr(w->path, '/');
    const int folder = slash ? (int)(slash + 1 - w->path) : 0;
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    strcpy(w->temp, w->path);
    sweep(folder_of(w->temp));
    for (unsigned try = 0; try < 100; try++) {
        const int length = snprintf(w->temp, sizeof w->temp, "%.*s" HIDDEN_HEAD "%ld-%lx-%u" HIDDEN_TAIL, folder,
                                    w->path, (long)getpid(), (unsigned long)t.tv_nsec, try);
        if (length < 0 || (size_t)length >= sizeof w->temp) {
            errno = ENAMETOOLONG;
            return refused(w);
        }
        w->fd = open(w->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (w->fd >= 0 && lock_new(w)) return w->beside = true;
        if (w->fd >= 0)
            close(w->fd);
        else if (errno != EEXIST && errno != EINTR)
            break;
        w->fd = -1;
    }
    return refused(w);
}

static bool open_target(struct file_writer *w) {
    struct stat what;
    if (stat(w->path, &what) == 0 && !S_ISREG(what.st_mode)) {
        /* Renaming over a device would remove it. A directory is refused here by the system. */
        do w->fd = open(w->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
        while (w->fd < 0 && errno == EINTR && !heed_cancelled(w->cx));
        return w->fd >= 0 || refused(w);
    }
    /* A link stays a link: what it leads to is replaced. */
    char real[PATH_MAX];
    if (lstat(w->path, &what) == 0 && S_ISLNK(what.st_mode) && realpath(w->path, real)) strcpy(w->path, real);
    return open_beside(w);
}

struct file_writer *file_write_open(heed_ctx *cx, const char *path) {
    if (heed_failed(cx)) return NULL;
    if (!path || strlen(path) >= PATH_MAX) {
        heed_fail(cx, HEED_ERR_USAGE, "write: %s", path ? "the path is too long" : "no path is given");
        return NULL;
    }
    struct file_writer *w = heed_mem_new(cx, sizeof *w);
    if (!w) return NULL;
    w->cx = cx;
    w->fd = -1;
    w->beside = w->broken = w->gzip = false;
    w->have = 0;
    w->standard = strcmp(path, "-") == 0;
    strcpy(w->path, w->standard ? "standard output" : path);
    if (w->standard)
        w->fd = STDOUT_FILENO;
    else if (!open_target(w)) {
        heed_mem_free(cx, w);
        return NULL;
    }
    if (gzip_begin(w, path)) return w;
    file_write_abort(w);
    return NULL;
}

static bool write_bytes(struct file_writer *w, const unsigned char *data, size_t size) {
    while (size > 0) {
        const ssize_t n = write(w->fd, data, size < ((size_t)1 << 30) ? size : (size_t)1 << 30);
        if (n < 0 && errno != EINTR) return refused(w);
        if (n < 0 && heed_cancelled(w->cx)) return !(w->broken = true);
        if (n > 0) {
            data += n;
            size -= (size_t)n;
        }
    }
    return true;
}

/* Some of the bytes as gzip; mode Z_FINISH: they are the last. */
static bool write_packed(struct file_writer *w, const unsigned char *data, size_t size, int mode) {
    w->z.next_in = (unsigned char *)(uintptr_t)data; /* zlib only reads it */
    w->z.avail_in = (uInt)size;
    do {
        w->z.next_out = w->packed;
        w->z.avail_out = BUFFER;
        deflate(&w->z, mode); /* cannot fail with a sound stream: there is room */
        if (!write_bytes(w, w->packed, BUFFER - w->z.avail_out)) return false;
    } while (w->z.avail_out == 0);
    return true;
}

static bool write_through(struct file_writer *w, const unsigned char *data, size_t size) {
    if (!w->gzip) return write_bytes(w, data, size);
    for (const size_t most = (size_t)1 << 30; size > 0;) {
        const size_t n = size < most ? size : most;
        if (!write_packed(w, data, n, Z_NO_FLUSH)) return false;
        data += n;
        size -= n;
    }
    return true;
}

static bool flush(struct file_writer *w) {
    const size_t have = w->have;
    w->have = 0;
    return write_through(w, w->buffer, have);
}

bool file_write(struct file_writer *w, const void *data, size_t size) {
    if (!w || w->broken) return false;
    if (!data && size > 0) {
        w->broken = true;
        return heed_fail(w->cx, HEED_ERR_USAGE, "%s: %zu bytes to write, but the data is NULL", w->path, size);
    }
    if (size > BUFFER - w->have && !flush(w)) return false;
    if (size > BUFFER) return write_through(w, data, size);
    if (size > 0) memcpy(w->buffer + w->have, data, size);
    w->have += size;
    return true;
}

/* So that the new name survives a power cut. The file is whole and in place by now: trouble is only worth a warning. */
static void sync_folder(struct file_writer *w) {
    const int fd = open(folder_of(w->temp), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fsync(fd) != 0)
        heed_note(w->cx, HEED_LOG_WARN, "%s: written, but its directory could not be synced: %s", w->path,
                  strerror(errno));
    if (fd >= 0) close(fd);
}

static bool close_target(struct file_writer *w) {
    const int fd = w->fd;
    w->fd = -1;
    return w->standard || close(fd) == 0 || errno == EINTR || refused(w);
}

static bool sync_target(struct file_writer *w) {
    int result;
    do result = fsync(w->fd);
    while (result != 0 && errno == EINTR);
    return result == 0 || refused(w);
}

bool file_write_commit(struct file_writer *w) {
    if (!w) return false;
    bool ok = !w->broken && !heed_failed(w->cx) && flush(w);
    ok = ok && (!w->gzip || write_packed(w, w->buffer, 0, Z_FINISH));
    if (w->beside)
        ok = ok && sync_target(w) && (rename(w->temp, w->path) == 0 || refused(w));
    else
        ok = ok && close_target(w);
    if (!ok) {
        file_write_abort(w);
        return false;
    }
    if (w->beside) {
        sync_folder(w);
        close(w->fd); /* only now, as the lock goes with it */
    }
    gzip_end(w);
    heed_mem_free(w->cx, w);
    return true;
}

void file_write_abort(struct file_writer *w) {
    if (!w) return;
    if (w->fd >= 0 && !w->standard) close(w->fd);
    if (w->beside) unlink(w->temp);
    gzip_end(w);
    heed_mem_free(w->cx, w);
}
