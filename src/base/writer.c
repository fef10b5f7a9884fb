/* Files that are written: into a hidden file beside the target, synced, and renamed over it, so that a reader, and a
 * crash at any moment, sees the old file or the new one. Devices and pipes are written as they are. */
#include "base/ctx.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define BUFFER ((size_t)64 << 10)

struct file_writer {
    heed_ctx *cx;
    int fd;
    bool beside; /* written to temp, to be renamed to path */
    bool broken; /* something failed; nothing more is written */
    size_t have; /* bytes waiting in the buffer */
    char path[PATH_MAX], temp[PATH_MAX];
    unsigned char buffer[BUFFER];
};

static bool refused(struct file_writer *w) {
    w->broken = true;
    return heed_fail(w->cx, HEED_ERR_FILE, "%s: %s", w->path, strerror(errno));
}

/* Opens a new file in the target's directory; 0666 so that the umask decides, as for any file. */
static bool open_beside(struct file_writer *w) {
    const char *slash = strrchr(w->path, '/');
    const int folder = slash ? (int)(slash + 1 - w->path) : 0;
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    for (unsigned try = 0; try < 100; try++) {
        const int length = snprintf(w->temp, sizeof w->temp, "%.*s.heed-%ld-%lx-%u.tmp", folder, w->path,
                                    (long)getpid(), (unsigned long)t.tv_nsec, try);
        if (length < 0 || (size_t)length >= sizeof w->temp) {
            errno = ENAMETOOLONG;
            return refused(w);
        }
        w->fd = open(w->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (w->fd >= 0) return w->beside = true;
        if (errno != EEXIST && errno != EINTR) break;
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
    w->beside = w->broken = false;
    w->have = 0;
    const bool standard = strcmp(path, "-") == 0;
    strcpy(w->path, standard ? "standard output" : path);
    if (standard)
        w->fd = STDOUT_FILENO;
    else if (!open_target(w)) {
        heed_mem_free(cx, w);
        return NULL;
    }
    return w;
}

static bool write_through(struct file_writer *w, const unsigned char *data, size_t size) {
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

static bool flush(struct file_writer *w) {
    const size_t have = w->have;
    w->have = 0;
    return write_through(w, w->buffer, have);
}

bool file_write(struct file_writer *w, const void *data, size_t size) {
    if (!w || w->broken) return false;
    if (!data && size > 0) {
        w->broken = true;
        return heed_fail(w->cx, HEED_ERR_USAGE, "%s: %zu bytes of nothing to write", w->path, size);
    }
    if (size > BUFFER - w->have && !flush(w)) return false;
    if (size > BUFFER) return write_through(w, data, size);
    if (size > 0) memcpy(w->buffer + w->have, data, size);
    w->have += size;
    return true;
}

/* So that the new name survives a power cut. The file is whole and in place by now: trouble is only worth a warning. */
static void sync_folder(struct file_writer *w) {
    char *slash = strrchr(w->temp, '/');
    if (slash) slash[slash == w->temp] = '\0';
    const int fd = open(slash ? w->temp : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fsync(fd) != 0)
        heed_note(w->cx, HEED_LOG_WARN, "%s: written, but its directory could not be synced: %s", w->path,
                  strerror(errno));
    if (fd >= 0) close(fd);
}

static bool close_target(struct file_writer *w) {
    const int fd = w->fd;
    w->fd = -1;
    return fd == STDOUT_FILENO || close(fd) == 0 || errno == EINTR || refused(w);
}

static bool sync_target(struct file_writer *w) {
    int result;
    do result = fsync(w->fd);
    while (result != 0 && errno == EINTR);
    return result == 0 || refused(w);
}

bool file_write_commit(struct file_writer *w) {
    if (!w) return false;
    if (w->broken || heed_failed(w->cx) || !flush(w) || (w->beside && !sync_target(w)) || !close_target(w) ||
        (w->beside && rename(w->temp, w->path) != 0 && !refused(w))) {
        file_write_abort(w);
        return false;
    }
    if (w->beside) sync_folder(w);
    heed_mem_free(w->cx, w);
    return true;
}

void file_write_abort(struct file_writer *w) {
    if (!w) return;
    if (w->fd >= 0 && w->fd != STDOUT_FILENO) close(w->fd);
    if (w->beside) unlink(w->temp);
    heed_mem_free(w->cx, w);
}
