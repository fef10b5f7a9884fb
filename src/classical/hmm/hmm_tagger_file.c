/* Directories of taggers. */
#include "base/file.h"
#include "classical/hmm/hmm_tagger.h"
#include "io/limits.h"
#include "model/core/directory.h"
#include "text/strings/split.h"
#include <string.h>

#define VOCABULARY_FILE "vocab.txt"

/* ---- writing ---- */

static bool write_vocabulary(const struct hmm_tagger *g, const char *path) {
    struct file_writer *w = file_write_open(g->cx, path);
    for (int64_t i = 0; w && i < g->symbols.count; i++) {
        file_write(w, map_key(&g->symbols, i), map_size(&g->symbols, i));
        file_write(w, "\n", 1);
    }
    return w && file_write_commit(w);
}

static bool write_config(const struct hmm_tagger *g, const char *path) {
    heed_ctx *const cx = g->cx;
    const heed_json at = heed_json_new(cx, "config");
    heed_json_put_text(cx, at, "model_type", HMM_TYPE);
    heed_json_put_int(cx, at, "vocab_size", g->h->symbols);
    split_save(cx, at, g->marks);
    const heed_json tags = heed_json_put_array(cx, at, "tags");
    for (int64_t i = 0; i < g->h->states; i++) heed_json_put_text(cx, tags, NULL, g->tag[i]);
    const bool ok = heed_json_write(cx, path, at);
    heed_json_free(at);
    return ok;
}

/* config.json comes last: with it the directory holds a model. */
bool hmm_tagger_save(const struct hmm_tagger *g, const char *dir) {
    char path[PATH_ROOM];
    heed_ctx *const cx = g->cx;
    const heed_hmm *const h = g->h;
    const heed_array arrays[] = {
        {.name = "initial", .dtype = HEED_F64, .rank = 1, .shape = {h->states}, .data = h->initial},
        {.name = "transition", .dtype = HEED_F64, .rank = 2, .shape = {h->states, h->states}, .data = h->transition},
        {.name = "emission", .dtype = HEED_F64, .rank = 2, .shape = {h->states, h->symbols}, .data = h->emission}};
    return directory_clear(cx, dir) && directory_path(cx, dir, VOCABULARY_FILE, path) && write_vocabulary(g, path) &&
           directory_path(cx, dir, WEIGHTS_FILE, path) && heed_safetensors_write(cx, path, arrays, 3, NULL, 0) &&
           directory_path(cx, dir, CONFIG_FILE, path) && write_config(g, path);
}

/* ---- reading ---- */

static bool read_array(heed_ctx *cx, heed_safetensors *st, const char *name, double *to, int64_t n) {
    const int64_t i = heed_safetensors_find(cx, st, name);
    const heed_array *a = i >= 0 ? heed_safetensors_get(cx, st, i) : NULL;
    if (heed_failed(cx)) return false;
    if (!a || a->dtype != HEED_F64 || heed_array_count(a) != n)
        return heed_fail(cx, HEED_ERR_FORMAT, "%s: should be %lld numbers in double", name, (long long)n);
    memcpy(to, a->data, (size_t)n * sizeof *to);
    for (int64_t k = 0; k < n; k++)
        if (!(to[k] >= 0 && to[k] <= 1))
            return heed_fail(cx, HEED_ERR_FORMAT, "%s: holds what is no probability", name);
    return true;
}

static bool read_config(struct hmm_tagger *g, const char *dir) {
    char path[PATH_ROOM];
    if (!directory_path(g->cx, dir, CONFIG_FILE, path)) return false;
    const heed_json config = json_open_within(g->cx, path, IO_CONFIG_LIMIT),
                    tags = heed_json_array(g->cx, config, "tags");
    const int64_t n = heed_json_count(tags);
    g->marks = split_saved_marks(g->cx, config);
    const char **name = heed_mem_new(g->cx, ((size_t)n + 1) * sizeof *name);
    for (int64_t i = 0; name && i < n; i++) name[i] = heed_json_text(g->cx, heed_json_item(g->cx, tags, i), NULL);
    if (!heed_failed(g->cx) && n < 1) heed_fail(g->cx, HEED_ERR_FORMAT, "%s: there are no tags", path);
    if (!heed_failed(g->cx) && hmm_set_tags(g, name, n))
        g->h = heed_hmm_new(g->cx, n, heed_json_int(g->cx, config, "vocab_size"));
    heed_mem_free(g->cx, name);
    heed_json_free(config);
    return g->h && !heed_failed(g->cx);
}

static bool read_vocabulary(struct hmm_tagger *g, const char *dir) {
    char path[PATH_ROOM];
    heed_lines words = {0};
    bool ok = directory_path(g->cx, dir, VOCABULARY_FILE, path) && heed_lines_read(g->cx, path, &words);
    for (int64_t i = 0; ok && i < words.count; i++)
        ok = map_add(g->cx, &g->symbols, heed_line_text(&words, i), heed_line_size(&words, i)) >= 0;
    if (ok && (g->symbols.count != g->h->symbols || map_find(&g->symbols, HMM_UNKNOWN, strlen(HMM_UNKNOWN)) < 0))
        ok = heed_fail(g->cx, HEED_ERR_FORMAT, "%s: should hold %lld different symbols, one of them " HMM_UNKNOWN, path,
                       (long long)g->h->symbols);
    heed_lines_free(g->cx, &words);
    return ok;
}

bool hmm_tagger_open(heed_ctx *cx, const char *dir, struct hmm_tagger *g) {
    *g = (struct hmm_tagger){.cx = cx};
    heed_safetensors *st = read_config(g, dir) && read_vocabulary(g, dir) ? heed_safetensors_open(cx, dir) : NULL;
    if (!st) return false;
    const int64_t s = g->h->states;
    const bool ok = read_array(cx, st, "initial", g->h->initial, s) &&
                    read_array(cx, st, "transition", g->h->transition, s * s) &&
                    read_array(cx, st, "emission", g->h->emission, s * g->h->symbols);
    if (!ok) heed_fail_in(cx, "%s", dir);
    heed_safetensors_close(st);
    return ok;
}
