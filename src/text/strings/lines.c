/* The lines of a file as one block: the text, its new lines replaced by the 0 that ends each line, and where each line
 * starts. A last line without a new line is a line; an empty file has none. */
#include "base/checked.h"
#include "base/file.h"
#include "io/array.h"
#include "text/unicode/unicode.h"

#include <string.h>

static int64_t count_lines(const char *text, size_t size) {
    int64_t n = size > 0 && text[size - 1] != '\n';
    for (const char *s = text, *end = text + size; (s = memchr(s, '\n', (size_t)(end - s))); s++) n++;
    return n;
}

static bool check_text(heed_ctx *cx, const char *name, const char *text, size_t size) {
    size_t at;
    const char *flaw = utf8_flaw(text, size, &at), *line = text;
    if (!flaw) return true;
    int64_t number = 1;
    for (const char *s; (s = memchr(line, '\n', (size_t)(text + at - line))); line = s + 1) number++;
    return heed_fail(cx, HEED_ERR_FORMAT, "%s: line %lld: byte %lld is %s", name, (long long)number,
                     (long long)(text + at - line + 1), flaw);
}

static bool cut(heed_ctx *cx, char *text, size_t size, heed_lines *lines) {
    const int64_t count = count_lines(text, size);
    size_t bytes;
    if (!size_mul((size_t)count + 1, sizeof(int64_t), &bytes))
        return heed_fail(cx, HEED_ERR_MEMORY, "lines_read: too many lines");
    int64_t *start = heed_mem_new(cx, bytes);
    if (!start) return false;
    char *line = text, *end = text + size;
    for (int64_t i = 0; i < count; i++) {
        char *stop = memchr(line, '\n', (size_t)(end - line));
        start[i] = line - text;
        if (!stop) stop = end;
        *stop = 0; /* the file is followed by a 0 of its own */
        line = stop + 1;
    }
    start[count] = line - text;
    *lines = (heed_lines){text, start, count};
    return true;
}

/* A file that is UTF-8, followed by a 0; NULL when it cannot be read. */
static char *read_text(heed_ctx *cx, const char *path, size_t *size) {
    char *text = (char *)file_read(cx, path, IO_READ_LIMIT, size);
    if (!text || check_text(cx, strcmp(path, "-") == 0 ? "standard input" : path, text, *size)) return text;
    heed_mem_free(cx, text);
    return NULL;
}

bool heed_lines_read(heed_ctx *cx, const char *path, heed_lines *lines) {
    size_t size;
    if (heed_failed(cx)) return false;
    if (!path || !lines) return heed_fail(cx, HEED_ERR_USAGE, "lines_read: path or lines is NULL");
    char *text = read_text(cx, path, &size);
    if (!text) return false;
    if (cut(cx, text, size, lines)) return true;
    heed_mem_free(cx, text);
    return false;
}

bool heed_text_read(heed_ctx *cx, const char *path, heed_string *to) {
    size_t size;
    if (heed_failed(cx)) return false;
    if (!path || !to) return heed_fail(cx, HEED_ERR_USAGE, "text_read: path or string is NULL");
    char *text = read_text(cx, path, &size);
    const bool ok = text && heed_string_put(cx, to, text, size);
    heed_mem_free(cx, text);
    return ok;
}

bool heed_lines_cut(heed_ctx *cx, heed_string *text, heed_lines *lines) {
    if (heed_failed(cx)) return false;
    if (!text || !lines) return heed_fail(cx, HEED_ERR_USAGE, "lines_cut: text or lines is NULL");
    if (!text->s && !heed_string_put(cx, text, "", 0)) return false;
    if (!check_text(cx, "lines_cut", text->s, text->size) || !cut(cx, text->s, text->size, lines)) return false;
    *text = (heed_string){0};
    return true;
}

void heed_lines_free(heed_ctx *cx, heed_lines *lines) {
    if (!lines) return;
    heed_mem_free(cx, lines->text);
    heed_mem_free(cx, lines->start);
    *lines = (heed_lines){0};
}

static bool has_line(const heed_lines *lines, int64_t i) { return lines && i >= 0 && i < lines->count; }

const char *heed_line_text(const heed_lines *lines, int64_t i) {
    return has_line(lines, i) ? lines->text + lines->start[i] : NULL;
}

size_t heed_line_size(const heed_lines *lines, int64_t i) {
    return has_line(lines, i) ? (size_t)(lines->start[i + 1] - lines->start[i] - 1) : 0;
}
