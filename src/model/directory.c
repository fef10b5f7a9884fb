/* Making a directory, with those above it. */
#include "model/directory.h"
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool directory_make(heed_ctx *cx, const char *dir) {
    if (!*dir) return heed_fail(cx, HEED_ERR_USAGE, "directory: the name is empty");
    const size_t size = strlen(dir) + 1;
    char *path = heed_mem_new(cx, size);
    if (!path) return false;
    memcpy(path, dir, size);
    for (char *end = path + 1; end < path + size && !heed_failed(cx); end++) {
        if (*end && *end != '/') continue;
        const char was = *end;
        *end = 0;
        if (mkdir(path, 0777) != 0 && errno != EEXIST) heed_fail(cx, HEED_ERR_FILE, "%s: %s", path, strerror(errno));
        *end = was;
    }
    heed_mem_free(cx, path);
    struct stat what;
    if (heed_failed(cx)) return false;
    if (stat(dir, &what) == 0 && !S_ISDIR(what.st_mode))
        errno = ENOTDIR;
    else if (access(dir, W_OK | X_OK) == 0)
        return true;
    return heed_fail(cx, HEED_ERR_FILE, "%s: %s", dir, strerror(errno));
}
