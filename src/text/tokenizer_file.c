/* Tokenizers from files and into them. */
#include "base/file.h"
#include "io/limits.h"
#include "text/tokenizer.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* path, or tokenizer.json in it when it is a directory. */
static const char *file_of(const char *path, char *out, size_t size) {
    struct stat what;
    if (strcmp(path, "-") == 0 || stat(path, &what) != 0 || !S_ISDIR(what.st_mode)) return path;
    return (size_t)snprintf(out, size, "%s/tokenizer.json", path) < size ? out : path;
}

heed_tokenizer *heed_tokenizer_load(heed_ctx *cx, const char *path) {
    char joined[4096];
    size_t size;
    if (heed_failed(cx)) return NULL;
    if (!path) return heed_fail(cx, HEED_ERR_USAGE, "tokenizer_load: path is NULL"), NULL;
    const char *file = file_of(path, joined, sizeof joined);
    unsigned char *text = file_read_regular(cx, file, IO_TOKENIZER_LIMIT, &size);
    heed_tokenizer *t = text ? tokenizer_parse(cx, file, (const char *)text, size) : NULL;
    heed_mem_free(cx, text);
    return t;
}

bool heed_tokenizer_save(heed_ctx *cx, const heed_tokenizer *t, const char *path) {
    char joined[4096];
    if (heed_failed(cx)) return false;
    if (!t || !path) return heed_fail(cx, HEED_ERR_USAGE, "tokenizer_save: the tokenizer or path is NULL");
    struct file_writer *w = file_write_open(cx, file_of(path, joined, sizeof joined));
    if (!w) return false;
    file_write(w, t->json, t->json_size);
    return file_write_commit(w);
}
