/* The data beside a picture, as CSV (RFC 4180). Numbers are written with the fewest digits that read back as the same
 * number, with a point whatever the locale. */
#include "base/file.h"
#include "io/text.h"
#include "plot/figure.h"

#include <string.h>

static bool write_text(struct file_writer *w, const char *text) { return file_write(w, text, strlen(text)); }

/* Quoted where a reader would otherwise see a delimiter, the end of the line, or spaces to take off. */
static bool write_cell(struct file_writer *w, const char *text) {
    const size_t n = strlen(text);
    const bool spaced = n > 0 && (text[0] == ' ' || text[0] == '\t' || text[n - 1] == ' ' || text[n - 1] == '\t');
    if (n > 0 && !spaced && !strpbrk(text, ",\"\r\n")) return write_text(w, text);
    bool ok = write_text(w, "\"");
    for (const char *quote; ok && (quote = strchr(text, '"')); text = quote + 1)
        ok = file_write(w, text, (size_t)(quote - text)) && write_text(w, "\"\"");
    return ok && write_text(w, text) && write_text(w, "\"");
}

static bool write_number(struct file_writer *w, double value, bool single) {
    char text[NUMBER_ROOM];
    number_shortest(text, value, single);
    return write_text(w, text);
}

static bool check_columns(heed_ctx *cx, const heed_table_column *columns, int n, int64_t rows) {
    if (!columns || n < 1 || rows < 0)
        return heed_fail(cx, HEED_ERR_USAGE, "table_write: %d columns of %lld rows: there must be one at least", n,
                         (long long)rows);
    for (int i = 0; i < n; i++) {
        const heed_table_column *c = &columns[i];
        const int given = !!c->f32 + !!c->f64 + !!c->text;
        if (!c->name) return heed_fail(cx, HEED_ERR_USAGE, "table_write: column %d has no name", i);
        if (given > 1 || (given == 0 && rows > 0))
            return heed_fail(cx, HEED_ERR_USAGE, "table_write: column '%s' has %d arrays, not one", escaped(c->name).s,
                             given);
    }
    return true;
}

/* Text must be UTF-8, for the reader refuses what is not. */
static bool write_checked(heed_ctx *cx, struct file_writer *w, const char *column, const char *text) {
    const size_t n = strlen(text), bad = utf8_bad(text, n);
    if (bad == n) return write_cell(w, text);
    return heed_fail(cx, HEED_ERR_USAGE, "table_write: column '%s': '%s' is not UTF-8 at byte %zu", escaped(column).s,
                     escaped(text).s, bad);
}

static bool write_value(heed_ctx *cx, struct file_writer *w, const heed_table_column *c, int64_t row) {
    if (c->f32) return write_number(w, (double)c->f32[row], true);
    if (c->f64) return write_number(w, c->f64[row], false);
    return write_checked(cx, w, c->name, c->text[row] ? c->text[row] : "");
}

bool heed_table_write(heed_ctx *cx, const char *path, const heed_table_column *columns, int n, int64_t rows) {
    if (heed_failed(cx) || !check_columns(cx, columns, n, rows)) return false;
    struct file_writer *w = file_write_open(cx, path);
    bool ok = w != NULL;
    for (int64_t row = -1; ok && row < rows; row++) {
        for (int i = 0; ok && i < n; i++) {
            ok = i == 0 || write_text(w, ",");
            if (ok)
                ok = row < 0 ? write_checked(cx, w, columns[i].name, columns[i].name)
                             : write_value(cx, w, &columns[i], row);
        }
        ok = ok && write_text(w, "\n");
    }
    if (ok) return file_write_commit(w);
    file_write_abort(w);
    return false;
}
