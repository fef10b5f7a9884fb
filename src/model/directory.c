/* Making a directory, with those above it, filling and dropping it. */
#include "model/directory.h"
#include "base/file.h"
#include <errno.h>
#include <stdio.h>
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

bool directory_holds_model(const char *dir) {
    char path[4096];
    return snprintf(path, sizeof path, "%s/model.safetensors", dir) < (int)sizeof path && access(path, F_OK) == 0;
}

static const char *const tokenizers[] = {"tokenizer.json", "target_tokenizer.json"};
#define MOST_TOKENIZER ((size_t)1 << 30) /* bytes */

bool directory_copy_tokenizers(heed_ctx *cx, const char *from, const char *to) {
    char source[4096], target[4096];
    for (int i = 0; i < 2 && !heed_failed(cx); i++) {
        size_t size = 0;
        if (snprintf(source, sizeof source, "%s/%s", from, tokenizers[i]) >= (int)sizeof source ||
            snprintf(target, sizeof target, "%s/%s", to, tokenizers[i]) >= (int)sizeof target)
            return heed_fail(cx, HEED_ERR_FILE, "%s: the path is too long", from);
        if (access(source, F_OK) != 0) continue;
        void *text = file_read(cx, source, MOST_TOKENIZER, &size);
        struct file_writer *w = text ? file_write_open(cx, target) : NULL;
        if (w) file_write(w, text, size);
        if (w) file_write_commit(w);
        heed_mem_free(cx, text);
    }
    return !heed_failed(cx);
}

void directory_drop(const char *dir) {
    static const char *const files[] = {"model.safetensors", "config.json", "tokenizer.json", "target_tokenizer.json"};
    char path[4096];
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (snprintf(path, sizeof path, "%s/%s", dir, files[i]) < (int)sizeof path) unlink(path);
    rmdir(dir);
}
