/* Words and their vectors, and the directories that hold them. */
#include "classical/words/words.h"
#include "base/checked.h"
#include "base/file.h"
#include "io/limits.h"
#include "io/text.h"
#include "model/core/directory.h"
#include "text/strings/split.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define TABLE "embedding.weight"
#define LIMIT ((size_t)1 << 36) /* of words.txt */

/* ---- the handle ---- */

heed_words *words_new(heed_ctx *cx, int64_t width) {
    heed_words *w = heed_mem_new(cx, sizeof *w);
    if (w) *w = (heed_words){.width = width};
    return w;
}

bool words_room(heed_ctx *cx, heed_words *w, int64_t count) {
    size_t bytes;
    if (heed_failed(cx)) return false;
    if (!size_mul((size_t)count, (size_t)w->width, &bytes) || !size_mul(bytes, sizeof *w->own, &bytes))
        return heed_fail(cx, HEED_ERR_MEMORY, "words: %lld vectors of %lld numbers are too many", (long long)count,
                         (long long)w->width);
    w->vector = w->own = heed_mem_new(cx, bytes);
    return w->own;
}

heed_words *words_finish(heed_ctx *cx, heed_words *w, const char *name) {
    const int64_t n = w->words.count;
    w->scale = heed_failed(cx) ? NULL : heed_mem_new(cx, (size_t)n * sizeof *w->scale + 1);
    for (int64_t i = 0; w->scale && i < n; i++) {
        double square = 0;
        for (int64_t k = 0; k < w->width; k++)
            square += (double)w->vector[i * w->width + k] * (double)w->vector[i * w->width + k];
        w->scale[i] = square > 0 ? (float)(1 / sqrt(square)) : 0;
        if (isfinite(square)) continue;
        heed_fail(cx, HEED_ERR_FORMAT, "%s: the vector of '%s' holds what is not a finite number", name,
                  escaped_bytes(map_key(&w->words, i), map_size(&w->words, i)).s);
        break;
    }
    if (!heed_failed(cx)) return w;
    heed_words_close(cx, w);
    return NULL;
}

void heed_words_close(heed_ctx *cx, heed_words *w) {
    if (!w) return;
    map_free(cx, &w->words);
    heed_safetensors_close(w->file);
    heed_mem_free(cx, w->own);
    heed_mem_free(cx, w->scale);
    heed_mem_free(cx, w->seen);
    heed_mem_free(cx, w);
}

static bool has(const heed_words *w, int64_t i) { return w && i >= 0 && i < w->words.count; }
int64_t heed_words_count(const heed_words *w) { return w ? w->words.count : 0; }
int64_t heed_words_width(const heed_words *w) { return w ? w->width : 0; }
bool heed_words_lower(const heed_words *w) { return w && w->lower; }
bool heed_words_punctuation(const heed_words *w) { return w && w->punctuation; }
const char *heed_words_text(const heed_words *w, int64_t word) {
    return has(w, word) ? map_key(&w->words, word) : NULL;
}
const float *heed_words_vector(const heed_words *w, int64_t word) {
    return has(w, word) ? w->vector + word * w->width : NULL;
}
int64_t heed_words_seen(const heed_words *w, int64_t word) { return has(w, word) && w->seen ? w->seen[word] : 0; }
int64_t heed_words_find(const heed_words *w, const char *text, size_t size) {
    return w && text ? map_find(&w->words, text, size) : -1;
}

/* ---- directories ---- */

static bool write_words(heed_ctx *cx, const heed_words *w, const char *path) {
    struct file_writer *f = file_write_open(cx, path);
    for (int64_t i = 0; f && i < w->words.count; i++) {
        char count[32];
        const int n = snprintf(count, sizeof count, " %" PRId64 "\n", w->seen ? w->seen[i] : 0);
        file_write(f, map_key(&w->words, i), map_size(&w->words, i));
        if (!file_write(f, count, (size_t)n)) break;
    }
    return f && file_write_commit(f);
}

static bool write_config(heed_ctx *cx, const heed_words *w, const char *path) {
    const heed_json at = heed_json_new(cx, "config");
    heed_json_put_text(cx, at, "model_type", WORDS_TYPE);
    heed_json_put_int(cx, at, "vocab_size", w->words.count);
    heed_json_put_int(cx, at, "hidden_size", w->width);
    heed_json_put_bool(cx, at, "lower", w->lower);
    split_save(cx, at, w->punctuation);
    const bool ok = heed_json_write(cx, path, at);
    heed_json_free(at);
    return ok;
}

/* config.json comes last: with it the directory holds a model. */
bool heed_words_save(heed_ctx *cx, const heed_words *w, const char *dir) {
    char path[PATH_ROOM];
    if (heed_failed(cx)) return false;
    if (!w || !dir) return heed_fail(cx, HEED_ERR_USAGE, "words: vectors and a directory are needed");
    const heed_array table = {
        .name = TABLE, .dtype = HEED_F32, .rank = 2, .shape = {w->words.count, w->width}, .data = (void *)w->vector};
    return directory_make(cx, dir) && directory_remove(cx, dir, CONFIG_FILE) &&
           directory_path(cx, dir, WORDS_FILE, path) && write_words(cx, w, path) &&
           directory_path(cx, dir, WEIGHTS_FILE, path) && heed_safetensors_write(cx, path, &table, 1, NULL, 0) &&
           directory_path(cx, dir, CONFIG_FILE, path) && write_config(cx, w, path);
}

/* "word count" a line. */
static bool read_words(heed_ctx *cx, heed_words *w, const char *path, int64_t count) {
    size_t size;
    char *text = (char *)file_read_regular(cx, path, LIMIT, &size);
    if (!text) return false;
    char *at = text;
    int64_t i = 0;
    if (count > (int64_t)size) /* before room is made for them: each has a line */
        heed_fail(cx, HEED_ERR_FORMAT, "%s: fewer words than %s has rows, %lld", path, TABLE, (long long)count);
    else
        w->seen = heed_mem_new(cx, (size_t)count * sizeof *w->seen + 1);
    for (; !heed_failed(cx) && at < text + size; i++) {
        char *const end = memchr(at, '\n', (size_t)(text + size - at)), *const stop = end ? end : text + size;
        char *gap = memchr(at, ' ', (size_t)(stop - at)), *after;
        if (!gap) gap = stop;
        *stop = 0;
        const long long seen = gap < stop ? strtoll(gap + 1, &after, 10) : (after = stop, 0);
        if (gap == at || after != stop || seen < 0 || i == count ||
            utf8_bad(at, (size_t)(gap - at)) < (size_t)(gap - at))
            heed_fail(cx, HEED_ERR_FORMAT,
                      i == count ? "%s: line %lld: more words than %s has rows"
                                 : "%s: line %lld: expected a word, a space and how often it was seen",
                      path, (long long)i + 1, TABLE);
        else if (map_add(cx, &w->words, at, (size_t)(gap - at)) < i)
            heed_fail(cx, HEED_ERR_FORMAT, "%s: line %lld: '%s' comes twice", path, (long long)i + 1,
                      escaped_bytes(at, (size_t)(gap - at)).s);
        else
            w->seen[i] = seen;
        at = stop + 1;
    }
    if (!heed_failed(cx) && i < count)
        heed_fail(cx, HEED_ERR_FORMAT, "%s: %lld words where %s has %lld rows", path, (long long)i, TABLE,
                  (long long)count);
    heed_mem_free(cx, text);
    return !heed_failed(cx);
}

static bool read_config(heed_ctx *cx, heed_words *w, const char *path) {
    const heed_json at = json_open_within(cx, path, IO_CONFIG_LIMIT);
    const char *type = heed_json_text_or(cx, at, "model_type", "");
    if (!heed_failed(cx) && strcmp(type, WORDS_TYPE) != 0)
        heed_fail(cx, HEED_ERR_FORMAT, "%s: '%s' where word vectors are \"model_type\": \"%s\"", path, escaped(type).s,
                  WORDS_TYPE);
    w->lower = !heed_failed(cx) && heed_json_bool_or(cx, at, "lower", false);
    w->punctuation = !heed_failed(cx) && split_saved_marks(cx, at);
    heed_json_free(at);
    return !heed_failed(cx);
}

static heed_words *open_directory(heed_ctx *cx, const char *dir) {
    char path[PATH_ROOM];
    heed_words *w = words_new(cx, 0);
    if (!w) return NULL;
    if (directory_path(cx, dir, CONFIG_FILE, path) && read_config(cx, w, path) &&
        directory_path(cx, dir, WEIGHTS_FILE, path) && (w->file = heed_safetensors_open(cx, path))) {
        const int64_t at = heed_safetensors_find(cx, w->file, TABLE);
        const heed_array *a = at < 0 ? NULL : heed_safetensors_get(cx, w->file, at);
        if (!a || a->dtype != HEED_F32 || a->rank != 2 || a->shape[1] < 1 || a->shape[0] > INT32_MAX)
            heed_fail(cx, HEED_ERR_FORMAT, "%s: there is no %s of 32-bit numbers, a row for each word", path, TABLE);
        else if (directory_path(cx, dir, WORDS_FILE, path) && read_words(cx, w, path, a->shape[0])) {
            w->width = a->shape[1];
            w->vector = a->data;
        }
    }
    return words_finish(cx, w, dir);
}

heed_words *heed_words_open(heed_ctx *cx, const char *path) {
    struct stat what;
    size_t size;
    if (heed_failed(cx)) return NULL;
    if (!path) return heed_fail(cx, HEED_ERR_USAGE, "words: the path is NULL"), NULL;
    if (stat(path, &what) == 0 && S_ISDIR(what.st_mode)) return open_directory(cx, path);
    void *bytes = file_read(cx, path, LIMIT, &size);
    heed_words *w = bytes ? heed_words_parse(cx, path, bytes, size) : NULL;
    heed_mem_free(cx, bytes);
    return w;
}
