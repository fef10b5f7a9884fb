/* The formats of word2vec's program. Both begin with a line of two numbers, of words and of numbers in a vector. Text:
 * a line for each word, with its numbers behind it. Binary: the word, a space, its numbers as 32-bit floats, and most
 * often a new line. Files are hostile: what they say of their sizes is held against what they hold before memory is
 * taken for it. */
#include "base/file.h"
#include "classical/words/words.h"
#include "io/text.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define AT_ONCE    65536 /* numbers, or characters of them, between two looks at whether it was cancelled */
#define TEXT_LEAST 2     /* bytes of a number in a text: a blank and a digit */

struct reader {
    heed_ctx *cx;
    const char *name;
    const char *at, *end;
    int64_t count, width; /* as it says; count -1: it does not say */
    int64_t line;
};

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

/* ---- which it is ---- */

static bool read_size(const char **at, const char *end, int64_t *out) {
    const char *s = *at;
    int64_t value = 0;
    while (s < end && is_blank(*s)) s++;
    const char *const first = s;
    for (; s < end && *s >= '0' && *s <= '9' && s - first < 18; s++) value = 10 * value + (*s - '0');
    *at = s;
    *out = value;
    return s > first && (s == end || is_blank(*s));
}

/* The first line, when it holds two whole numbers and nothing else. */
static bool read_header(struct reader *r) {
    const char *const end = memchr(r->at, '\n', (size_t)(r->end - r->at)), *s = r->at;
    int64_t count, width;
    if (!end || !read_size(&s, end, &count) || !read_size(&s, end, &width)) return false;
    while (s < end && is_blank(*s)) s++;
    if (s < end) return false;
    r->count = count;
    r->width = width;
    r->at = end + 1;
    r->line = 1;
    return true;
}

/* Whether a file may hold what it says, when a number takes `least` bytes at least. */
static bool sizes_fit(const struct reader *r, int64_t least) {
    const int64_t left = r->end - r->at;
    return r->count >= 1 && r->width >= 1 && r->count <= INT32_MAX && r->width <= left / least &&
           r->count <= (left + 1) / (least * r->width + 1);
}

/* Whether what follows the first word is written in digits. */
static bool is_text(const struct reader *r) {
    const char *s = r->at;
    while (s < r->end && !is_blank(*s)) s++;
    int64_t n = 0;
    for (; s < r->end && *s != '\n' && n < 32 * r->width && !(n % AT_ONCE == 0 && heed_cancelled(r->cx)); s++, n++)
        if (!is_blank(*s) && (*s == 0 || !strchr("0123456789+-.eEnaifNAIF", *s))) return false;
    return s == r->end || *s == '\n';
}

/* ---- text ---- */

/* Where the n-th field from the end of [from, end) begins; NULL: there are fewer. */
static const char *fields_back(const char *from, const char *end, int64_t n) {
    while (n-- > 0) {
        while (end > from && is_blank(end[-1])) end--;
        if (end == from) return NULL;
        while (end > from && !is_blank(end[-1])) end--;
    }
    return end;
}

static bool read_number(const struct reader *r, const char **at, const char *end, float *to) {
    char text[64];
    double value;
    bool range = false;
    while (*at < end && is_blank(**at)) ++*at;
    const char *const from = *at;
    while (*at < end && !is_blank(**at)) ++*at;
    const size_t size = (size_t)(*at - from);
    if (size < sizeof text) {
        memcpy(text, from, size);
        text[size] = 0;
        if (number_read(text, &value, &range)) {
            *to = (float)value;
            return true;
        }
    }
    return heed_fail(r->cx, HEED_ERR_FORMAT, "%s: line %lld: '%s' is not a number", r->name, (long long)r->line,
                     escaped_bytes(from, size).s);
}

/* A word; of one that comes twice the first vector counts. Its row, or -1. */
static int64_t add_word(const struct reader *r, heed_words *w, const char *word, size_t size) {
    if (size == 0 || utf8_bad(word, size) < size || memchr(word, 0, size) || memchr(word, '\n', size)) {
        heed_fail(r->cx, HEED_ERR_FORMAT, "%s: word %lld, '%s', is %s", r->name, (long long)w->words.count + 1,
                  escaped_bytes(word, size).s, size == 0 ? "empty" : "not text in UTF-8");
        return -1;
    }
    const int64_t before = w->words.count, row = map_add(r->cx, &w->words, word, size);
    return row < 0 || row == before ? row : before;
}

static bool read_text(struct reader *r, heed_words *w) {
    int64_t lines = 0;
    for (; r->at < r->end; lines++) {
        const char *end = memchr(r->at, '\n', (size_t)(r->end - r->at));
        if (!end) end = r->end;
        r->line++;
        if (lines == r->count)
            return heed_fail(r->cx, HEED_ERR_FORMAT, "%s: line %lld: more words than the %lld that it says", r->name,
                             (long long)r->line, (long long)r->count);
        const char *at = fields_back(r->at, end, r->width), *stop = at;
        while (stop && stop > r->at && is_blank(stop[-1])) stop--;
        if (!at || stop == r->at)
            return heed_fail(r->cx, HEED_ERR_FORMAT, "%s: line %lld: expected a word and %lld numbers", r->name,
                             (long long)r->line, (long long)r->width);
        const int64_t before = w->words.count, row = add_word(r, w, r->at, (size_t)(stop - r->at));
        if (row < 0) return false;
        float ignored, *to = w->words.count > before ? w->own + row * r->width : NULL;
        for (int64_t k = 0; k < r->width; k++)
            if ((k % AT_ONCE == 0 && heed_cancelled(r->cx)) || !read_number(r, &at, end, to ? to + k : &ignored))
                return false;
        r->at = end < r->end ? end + 1 : end;
    }
    return lines == r->count ||
           heed_fail(r->cx, HEED_ERR_FORMAT, "%s: %lld words, where it says %lld: is it cut short?", r->name,
                     (long long)lines, (long long)r->count);
}

/* ---- binary ---- */

static bool read_binary(struct reader *r, heed_words *w) {
    const size_t bytes = (size_t)r->width * sizeof *w->own;
    for (int64_t i = 0; i < r->count; i++) {
        while (r->at < r->end && *r->at == '\n') r->at++;
        const char *const gap = r->at < r->end ? memchr(r->at, ' ', (size_t)(r->end - r->at)) : NULL;
        if (!gap || (size_t)(r->end - gap - 1) < bytes)
            return heed_fail(r->cx, HEED_ERR_FORMAT, "%s: ends at word %lld of %lld: is it cut short?", r->name,
                             (long long)i + 1, (long long)r->count);
        const int64_t before = w->words.count, row = add_word(r, w, r->at, (size_t)(gap - r->at));
        if (row < 0 || heed_cancelled(r->cx)) return false;
        if (w->words.count > before) memcpy(w->own + row * r->width, gap + 1, bytes);
        r->at = gap + 1 + bytes;
    }
    while (r->at < r->end && (*r->at == '\n' || is_blank(*r->at))) r->at++;
    return r->at == r->end || heed_fail(r->cx, HEED_ERR_FORMAT, "%s: goes on after the %lld words that it says",
                                        r->name, (long long)r->count);
}

/* ---- both ---- */

/* Without a first line of sizes: a word a line, as many numbers as the first has. */
static bool find_sizes(struct reader *r) {
    const char *s = r->at;
    bool gap = true;
    r->width = -1; /* the word */
    for (int64_t n = 0; s < r->end && *s != '\n' && !(n % AT_ONCE == 0 && heed_cancelled(r->cx)); s++, n++) {
        r->width += gap && !is_blank(*s);
        gap = is_blank(*s);
    }
    r->count = 0;
    for (s = r->at; s && s < r->end && !heed_cancelled(r->cx); r->count++) {
        s = memchr(s, '\n', (size_t)(r->end - s));
        if (s) s++;
    }
    return r->width > 0;
}

static void trim(struct reader *r) {
    while (r->end > r->at && (r->end[-1] == '\n' || is_blank(r->end[-1]))) r->end--;
}

heed_words *heed_words_parse(heed_ctx *cx, const char *name, const void *bytes, size_t size) {
    struct reader r = {.cx = cx, .name = name, .at = bytes, .end = (const char *)bytes + size};
    if (heed_failed(cx)) return NULL;
    if (!name || (!bytes && size > 0)) return heed_fail(cx, HEED_ERR_USAGE, "words: bytes and a name are needed"), NULL;
    const bool header = size > 0 && read_header(&r), text = !header || (sizes_fit(&r, TEXT_LEAST) && is_text(&r));
    if (text) trim(&r);
    if (r.at >= r.end || (!header && !find_sizes(&r)))
        return heed_fail(cx, HEED_ERR_FORMAT, "%s: there are no word vectors", name), NULL;
    if (!sizes_fit(&r, text ? TEXT_LEAST : (int64_t)sizeof(float)))
        return heed_fail(cx, HEED_ERR_FORMAT, "%s: %lld words with vectors of %lld numbers do not fit its %zu bytes",
                         name, (long long)r.count, (long long)r.width, size),
               NULL;
    heed_words *w = words_new(cx, r.width);
    if (!w) return NULL;
    if (words_room(cx, w, r.count)) text ? read_text(&r, w) : read_binary(&r, w);
    return words_finish(cx, w, name);
}

/* ---- writing ---- */

static bool write_row(struct file_writer *f, const float *v, int64_t width) {
    char text[NUMBER_ROOM + 1];
    for (int64_t k = 0; k < width; k++) {
        text[0] = ' ';
        number_shortest(text + 1, (double)v[k], true);
        if (!file_write(f, text, strlen(text))) return false;
    }
    return true;
}

bool heed_words_write(heed_ctx *cx, const heed_words *w, const char *path) {
    if (heed_failed(cx)) return false;
    if (!w || !path) return heed_fail(cx, HEED_ERR_USAGE, "words: vectors and the name of a file are needed");
    const bool binary = text_ends(path, strlen(path), ".bin") || text_ends(path, strlen(path), ".bin.gz");
    for (int64_t i = 0; i < w->words.count; i++)
        if (memchr(map_key(&w->words, i), ' ', map_size(&w->words, i)))
            return heed_fail(cx, HEED_ERR_FORMAT, "%s: the word '%s' holds a space, which ends a word in this format",
                             path, escaped(map_key(&w->words, i)).s);
    struct file_writer *f = file_write_open(cx, path);
    char sizes[64];
    const int n = snprintf(sizes, sizeof sizes, "%" PRId64 " %" PRId64 "\n", w->words.count, w->width);
    bool ok = f && file_write(f, sizes, (size_t)n);
    for (int64_t i = 0; ok && i < w->words.count; i++) {
        const float *v = w->vector + i * w->width;
        ok = file_write(f, map_key(&w->words, i), map_size(&w->words, i)) &&
             (binary ? file_write(f, " ", 1) && file_write(f, v, (size_t)w->width * sizeof *v)
                     : write_row(f, v, w->width)) &&
             file_write(f, "\n", 1) && !heed_cancelled(cx);
    }
    if (ok) return file_write_commit(f);
    file_write_abort(f);
    return false;
}
