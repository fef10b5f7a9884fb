/* n-gram models as the commands use them: see the header. */
#include "cli/classical/ngram.h"
#include "base/file.h"
#include "cli/classical/plain_models.h"
#include "cli/train/text_data.h"
#include "heed/music.h"
#include "io/array.h"
#include "io/limits.h"
#include "io/text.h"
#include "model/core/directory.h"
#include "text/unicode/unicode.h"
#include <math.h>
#include <stdio.h>
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
    const char *split = heed_json_text_or(cx, config, SPLIT_KEY, "blanks");
    const bool is = type && sequences && tokens && strcmp(type, NGRAM_TYPE) == 0;
    if (is) to->text = strcmp(sequences, "text") == 0;
    if (is) to->music = strcmp(sequences, "chorales") == 0;
    if (is) to->pieces = strcmp(tokens, "word") != 0;
    if (is) to->marks = split && strcmp(split, SPLIT_MARKS) == 0;
    heed_json_free(config);
    return is && !heed_failed(cx);
}

static bool is_file(const char *path) {
    struct stat s;
    return stat(path, &s) == 0 && S_ISREG(s.st_mode);
}

bool ngram_is(const char *path) {
    const size_t n = strlen(path);
    if (is_file(path))
        return text_ends(path, n, ".arpa") || text_ends(path, n, ".arpa.gz") || text_ends(path, n, ".ngram");
    return plain_model_is(path, NGRAM_TYPE);
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

bool ngram_read_music(heed_ctx *cx, const char *path, const char *part, int transpose, heed_lines *to) {
    return heed_music_lines(cx, path, texts_chorales(cx, path, part) ? part : NULL, transpose, to);
}

/* ---- sums ---- */

void ngram_add(const struct ngram_model *m, const int32_t *word, int64_t n, size_t bytes, struct ngram_sum *to) {
    heed_ngram_state s = heed_ngram_begin(m->m);
    const int order = heed_ngram_order(m->m);
    double sum = 0;
    for (int64_t i = 0; i < n + !m->text; i++) {
        const int32_t w = i < n ? word[i] : HEED_NGRAM_END;
        int matched;
        sum += heed_ngram_step(m->m, &s, w, &matched);
        to->unknown += w == HEED_NGRAM_UNKNOWN;
        to->unseen += matched < order && matched <= i + 1; /* near the beginning contexts are short */
    }
    to->log_probability += sum * log(10);
    to->tokens += n + !m->text;
    to->bytes += (int64_t)bytes + !m->text;
    to->notes += m->music ? n : 0;
}

double ngram_perplexity(const struct ngram_sum *s) {
    return s->tokens > 0 ? exp(-s->log_probability / (double)s->tokens) : 0;
}

bool ngram_measure(const struct ngram_model *m, const heed_lines *lines, struct ngram_sum *to) {
    heed_ids ids = {0};
    for (int64_t i = 0; i < lines->count && !heed_cancelled(m->cx); i++) {
        const size_t size = heed_line_size(lines, i);
        ids.count = 0;
        if (!ngram_encode(m, heed_line_text(lines, i), size, &ids)) break;
        ngram_add(m, ids.id, ids.count, size, to);
    }
    heed_ids_free(m->cx, &ids);
    return !heed_failed(m->cx);
}

static double nats(const struct ngram_sum *s) { return -s->log_probability / (double)(s->tokens ? s->tokens : 1); }
static double bits(const struct ngram_sum *s) {
    return -s->log_probability / log(2) / (double)(s->bytes ? s->bytes : 1);
}

static double nats_per_note(const struct ngram_sum *s) { return -s->log_probability / (double)s->notes; }

void ngram_print_sum(FILE *to, const char *what, const struct ngram_sum *s) {
    char tokens[48], unknown[48];
    fputs(what, to);
    if (s->notes > 0) fprintf(to, "%.4f nats per note, ", nats_per_note(s));
    fprintf(to, "perplexity %.6g, %.4f nats per token, %.4f bits per byte over %s, %s\n", ngram_perplexity(s), nats(s),
            bits(s), cli_count(s->tokens, "token", "tokens", tokens),
            cli_count(s->unknown, "unknown", "unknown", unknown));
}

void ngram_put_number(heed_ctx *cx, heed_json at, const char *key, double value) {
    isfinite(value) ? heed_json_put_number(cx, at, key, value) : heed_json_put_null(cx, at, key);
}

void ngram_put_sum(heed_ctx *cx, heed_json at, const struct ngram_sum *s) {
    ngram_put_number(cx, at, "log_probability", s->log_probability);
    heed_json_put_int(cx, at, "tokens", s->tokens);
    heed_json_put_int(cx, at, "unknown", s->unknown);
    ngram_put_number(cx, at, "perplexity", ngram_perplexity(s));
    if (s->notes > 0) ngram_put_number(cx, at, "nats_per_note", nats_per_note(s));
    ngram_put_number(cx, at, "nats_per_token", nats(s));
    ngram_put_number(cx, at, "bits_per_byte", bits(s));
}
