#include "classical/ngram/ngram_model.h"
#include "base/file.h"
#include "io/array.h"
#include "io/limits.h"
#include "io/text.h"
#include "model/core/directory.h"
#include "text/strings/split.h"
#include "text/unicode/unicode.h"
#include <string.h>
#include <sys/stat.h>

static bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* ---- opening ---- */

/* What config.json says, where it is that of an n-gram model: how sequences and tokens are. */
static bool read_config(heed_ctx *cx, const char *dir, struct ngram_model *to) {
    char path[PATH_ROOM];
    if (!directory_path(cx, dir, CONFIG_FILE, path)) return false;
    const heed_json config = json_open_within(cx, path, IO_CONFIG_LIMIT);
    const char *type = heed_json_text_or(cx, config, "model_type", "");
    const char *sequences = heed_json_text_or(cx, config, "sequences", "lines");
    const char *tokens = heed_json_text_or(cx, config, "tokens", "word");
    const bool is = type && sequences && tokens && strcmp(type, NGRAM_TYPE) == 0;
    if (is) to->text = strcmp(sequences, "text") == 0;
    if (is) to->music = strcmp(sequences, "chorales") == 0;
    if (is) to->pieces = strcmp(tokens, "word") != 0;
    if (is) to->marks = split_saved_marks(cx, config);
    heed_json_free(config);
    return is && !heed_failed(cx);
}

static bool is_file(const char *path) {
    struct stat s;
    return stat(path, &s) == 0 && S_ISREG(s.st_mode);
}

bool ngram_is(const char *path, size_t budget) {
    const size_t n = strlen(path);
    char type[TYPE_ROOM];
    if (is_file(path))
        return text_ends(path, n, ".arpa") || text_ends(path, n, ".arpa.gz") || text_ends(path, n, ".ngram");
    return strcmp(directory_type(path, budget, type), NGRAM_TYPE) == 0;
}

bool ngram_model_join(heed_ctx *cx, heed_ngram *m, heed_tokenizer *tokens, bool text, struct ngram_model *to) {
    *to = (struct ngram_model){.cx = cx, .m = m, .tokens = tokens, .text = text};
    if (heed_failed(cx)) return ngram_model_close(to), false;
    if (!tokens) return true;
    const int64_t size = heed_tokenizer_size(tokens), words = heed_ngram_words(m);
    to->word = heed_mem_new(cx, (size_t)size * sizeof *to->word);
    to->id = heed_mem_new(cx, (size_t)words * sizeof *to->id);
    if (!to->word || !to->id) return ngram_model_close(to), false;
    for (int64_t w = 0; w < words; w++) to->id[w] = -1;
    for (int64_t t = 0; t < size; t++) {
        const char *name = heed_tokenizer_token(tokens, (int32_t)t);
        const int32_t w = name ? heed_ngram_id(m, name, strlen(name)) : HEED_NGRAM_UNKNOWN;
        to->word[t] = w == HEED_NGRAM_BEGIN || w == HEED_NGRAM_END ? HEED_NGRAM_UNKNOWN : w;
        if (to->word[t] != HEED_NGRAM_UNKNOWN) to->id[w] = (int32_t)t;
    }
    return true;
}

bool ngram_model_open(heed_ctx *cx, const char *path, struct ngram_model *to) {
    char file[PATH_ROOM];
    *to = (struct ngram_model){.cx = cx};
    if (is_file(path)) return ngram_model_join(cx, heed_ngram_open(cx, path), NULL, false, to);
    struct ngram_model said = {0};
    if (!read_config(cx, path, &said)) return heed_fail(cx, HEED_ERR_FORMAT, "%s: holds no n-gram model", path);
    if (!directory_path(cx, path, NGRAM_FILE, file)) return false;
    heed_ngram *m = heed_ngram_open(cx, file);
    heed_tokenizer *tokens = directory_has(path, TOKENIZER_FILE) ? heed_tokenizer_load(cx, path) : NULL;
    const bool ok = ngram_model_join(cx, m, tokens, said.text, to);
    to->pieces = said.pieces;
    to->marks = said.marks;
    to->music = said.music;
    return ok;
}

void ngram_model_close(struct ngram_model *m) {
    if (!m->cx) return;
    heed_ngram_free(m->cx, m->m);
    heed_tokenizer_free(m->cx, m->tokens);
    heed_mem_free(m->cx, m->word);
    heed_mem_free(m->cx, m->id);
    *m = (struct ngram_model){0};
}

/* ---- text ---- */

bool ngram_encode(const struct ngram_model *m, const char *text, size_t size, heed_ids *to) {
    const int64_t before = to->count;
    if (m->tokens) {
        if (!heed_encode(m->cx, m->tokens, text, size, false, to)) return false;
        for (int64_t i = before; i < to->count; i++) to->id[i] = to->id[i] < 0 ? 0 : m->word[to->id[i]];
        return true;
    }
    for (const char *end = text + size; text < end;) {
        while (text < end && is_blank(*text)) text++;
        const char *word = text;
        while (text < end && !is_blank(*text)) text++;
        if (text == word) break;
        const int32_t w = heed_ngram_id(m->m, word, (size_t)(text - word));
        if (!heed_ids_put(m->cx, to, w == HEED_NGRAM_BEGIN || w == HEED_NGRAM_END ? HEED_NGRAM_UNKNOWN : w))
            return false;
    }
    return true;
}

bool ngram_decode(const struct ngram_model *m, const int32_t *word, int64_t n, heed_string *to) {
    if (!m->tokens) {
        for (int64_t i = 0; i < n; i++) {
            const char *name = heed_ngram_word(m->m, word[i]);
            if (i > 0 && !heed_string_put(m->cx, to, " ", 1)) return false;
            if (!heed_string_put(m->cx, to, name, strlen(name))) return false;
        }
        return heed_string_put(m->cx, to, "", 0);
    }
    heed_ids ids = {0};
    bool ok = true;
    for (int64_t i = 0; ok && i < n; i++) {
        const int32_t id = word[i] == HEED_NGRAM_UNKNOWN ? heed_tokenizer_unknown(m->tokens) : m->id[word[i]];
        if (id >= 0) ok = heed_ids_put(m->cx, &ids, id);
    }
    ok = ok && heed_decode(m->cx, m->tokens, ids.id, ids.count, true, to) && heed_string_put(m->cx, to, "", 0);
    heed_ids_free(m->cx, &ids);
    return ok;
}

bool ngram_read_lines(heed_ctx *cx, const char *path, bool text, heed_lines *to) {
    if (!text) return heed_lines_read(cx, path, to);
    size_t size;
    *to = (heed_lines){0};
    char *all = (char *)file_read(cx, path, IO_READ_LIMIT, &size);
    int64_t *start = all ? heed_mem_new(cx, 2 * sizeof *start) : NULL;
    if (!start || !utf8_check(cx, path, all, size)) {
        heed_mem_free(cx, all);
        heed_mem_free(cx, start);
        return false;
    }
    start[0] = 0;
    start[1] = (int64_t)size + 1;
    *to = (heed_lines){.text = all, .start = start, .count = size > 0};
    return true;
}
