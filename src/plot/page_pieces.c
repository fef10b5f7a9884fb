/* Pieces of pages: see the header. */
#define _GNU_SOURCE /* memmem */
#include "plot/page_pieces.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void page_text(struct buffer *b, const char *text) {
    buffer_put(b, "\"", 1);
    for (const char *s = text; *s; s++) {
        const unsigned char c = (unsigned char)*s;
        if (c < 0x20 || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' || c == 0x7F)
            buffer_format(b, "\\u%04x", c);
        else
            buffer_put(b, s, 1);
    }
    buffer_put(b, "\"", 1);
}

void page_escaped(struct buffer *b, const char *text) {
    for (const char *s = text; *s; s++) {
        const unsigned char c = (unsigned char)*s;
        if (c == '<' || c == '>' || c == '&')
            buffer_format(b, "&#%d;", c);
        else
            buffer_put(b, c < 0x20 || c == 0x7F ? " " : s, 1);
    }
}

bool page_base64(struct file_writer *file, const unsigned char *bytes, size_t n) {
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char out[4096];
    size_t used = 0;
    for (size_t i = 0; i < n; i += 3) {
        const unsigned have = n - i < 3 ? (unsigned)(n - i) : 3;
        const unsigned v = (unsigned)bytes[i] << 16 | (have > 1 ? (unsigned)bytes[i + 1] << 8 : 0) |
                           (have > 2 ? (unsigned)bytes[i + 2] : 0);
        for (unsigned k = 0; k < 4; k++) out[used++] = k <= have ? letters[v >> (18 - 6 * k) & 63] : '=';
        if (used == sizeof out) {
            if (!file_write(file, out, used)) return false;
            used = 0;
        }
    }
    return file_write(file, out, used);
}

bool page_weights(struct file_writer *file, const float *w, int64_t n, unsigned scale, float most) {
    enum { AT_ONCE = 3 * 4096 }; /* whole groups of three bytes */
    unsigned char bytes[2 * AT_ONCE];
    const size_t wide = scale > 255 ? 2 : 1;
    for (int64_t i = 0; i < n; i += AT_ONCE) {
        const int64_t count = n - i < AT_ONCE ? n - i : AT_ONCE;
        for (int64_t j = 0; j < count; j++) {
            const float v = w[i + j] > 0 ? fminf(w[i + j] / most, 1) : 0; /* NaN too is 0 */
            const unsigned q = (unsigned)lrint((double)v * scale);
            bytes[(size_t)j * wide] = (unsigned char)(q & 255);
            if (wide == 2) bytes[2 * j + 1] = (unsigned char)(q >> 8);
        }
        if (!page_base64(file, bytes, (size_t)count * wide)) return false;
    }
    return true;
}

void page_member(struct buffer *b, const char *name, const char *text) {
    if (!text) return;
    buffer_format(b, "\"%s\":", name);
    page_text(b, text);
    buffer_text(b, ",");
}

bool page_tag(struct file_writer *file, const char *id, int site, int layer) {
    char text[80];
    const int n = snprintf(text, sizeof text, "<script type=\"text/plain\" id=\"%s%d-%d\">", id, site, layer);
    return file_write(file, text, (size_t)n);
}
bool page_tag_end(struct file_writer *file) { return file_write(file, "</script>\n", 10); }

static bool write_title(heed_ctx *cx, struct file_writer *file, const struct page_source *page) {
    struct buffer b = {.cx = cx};
    buffer_text(&b, "<title>");
    page_escaped(&b, page->title ? page->title : "Attention");
    if (page->line) buffer_text(&b, ": "), page_escaped(&b, page->line);
    const bool ok = buffer_text(&b, "</title>") && file_write(file, b.data, b.size);
    buffer_free(&b);
    return ok;
}

bool page_write(heed_ctx *cx, const char *path, const struct page_source *page) {
    static const char title_mark[] = "<title>Attention</title>", data_mark[] = "<!-- data -->\n";
    const unsigned char *const html = page->html, *const end = html + page->html_size;
    const unsigned char *const title = memmem(html, page->html_size, title_mark, strlen(title_mark));
    const unsigned char *const data = memmem(html, page->html_size, data_mark, strlen(data_mark));
    if (!title || !data || title > data)
        return heed_fail(cx, HEED_ERR_FORMAT, "%s: the page has no place for its data", page->op);
    const unsigned char *const rest = title + strlen(title_mark), *const foot = data + strlen(data_mark);
    struct file_writer *const file = file_write_open(cx, path);
    if (!file) return false;
    const bool ok = file_write(file, html, (size_t)(title - html)) && write_title(cx, file, page) &&
                    file_write(file, rest, (size_t)(data - rest)) && page->data(file, page->arg) &&
                    file_write(file, "<script>\n", 9) && file_write(file, page->script, page->script_size) &&
                    page_tag_end(file) && file_write(file, foot, (size_t)(end - foot));
    if (ok && !heed_failed(cx)) return file_write_commit(file);
    file_write_abort(file);
    return false;
}
