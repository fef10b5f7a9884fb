/* csv and tsv (RFC 4180): a table of text cells.
 *
 * The text is kept once and cut up in place: a cell is unquoted where it stands, and the delimiter behind it becomes
 * the 0 that ends it. Text only ever moves left, so nothing is read after it has been overwritten. */
#include "base/checked.h"
#include "base/file.h"
#include "io/array.h"
#include "io/text.h"

#include <stdio.h>
#include <string.h>

struct heed_table {
    heed_ctx *cx;
    char *name; /* of the file */
    char *text;
    size_t *cells; /* where in text each begins, row after row, the header too */
    size_t cell_count, cell_room;
    size_t *lines; /* the line on which each row begins, from 1 */
    size_t row_count, row_room;
    size_t columns;
    bool header;
    char (*numbers)[24]; /* names of columns without a header */
};

struct cutter {
    heed_table *t;
    size_t at, size, line;
    char delimiter;
    bool plain_quotes;
};

/* ---- cutting ---- */

static bool bad_line(const struct cutter *c, size_t line, const char *why) {
    return heed_fail(c->t->cx, HEED_ERR_FORMAT, "%s: line %zu: %s", c->t->name, line, why);
}

static bool push(heed_ctx *cx, size_t **list, size_t *count, size_t *room, size_t value) {
    if (*count == *room) {
        const size_t more = *room ? *room * 2 : 64; /* never overflows: a cell takes a byte of text */
        size_t bytes, *larger = size_mul(more, sizeof **list, &bytes) ? heed_mem_resize(cx, *list, bytes) : NULL;
        if (!larger) return heed_fail(cx, HEED_ERR_MEMORY, "csv: too many cells");
        *list = larger;
        *room = more;
    }
    (*list)[(*count)++] = value;
    return true;
}

/* A quoted cell, the opening quote at c->at; leaves c->at behind the closing one. *end: where its text ends. */
static bool cut_quoted(struct cutter *c, size_t *end) {
    char *s = c->t->text;
    const size_t first_line = c->line;
    size_t out = c->at + 1;
    for (c->at++; c->at < c->size; c->at++) {
        if (s[c->at] == '"' && s[++c->at] != '"') { /* a 0 follows the text, so looking one further is safe */
            *end = out;
            return true;
        }
        c->line += s[c->at] == '\n';
        s[out++] = s[c->at];
    }
    return bad_line(c, first_line, "a quoted cell is never closed");
}

static bool cut_plain(struct cutter *c, size_t *end) {
    const char *s = c->t->text;
    for (; c->at < c->size && s[c->at] != c->delimiter && s[c->at] != '\n' && s[c->at] != '\r'; c->at++)
        if (s[c->at] == '"' && !c->plain_quotes)
            return bad_line(c, c->line, "a quote within a cell that does not begin with one");
    *end = c->at;
    return true;
}

/* One cell and what ends it; *last when it is the last of its row. */
static bool cut_cell(struct cutter *c, bool *last) {
    heed_table *t = c->t;
    char *s = t->text;
    const bool quoted = s[c->at] == '"' && !c->plain_quotes;
    size_t end;
    if (!push(t->cx, &t->cells, &t->cell_count, &t->cell_room, c->at + quoted)) return false;
    if (!(quoted ? cut_quoted : cut_plain)(c, &end)) return false;
    *last = c->at == c->size || s[c->at] != c->delimiter;
    if (s[c->at] == '\r') {
        if (s[c->at + 1] != '\n') return bad_line(c, c->line, "a carriage return without a line feed");
        c->at++;
    }
    if (c->at < c->size && *last && s[c->at] != '\n') return bad_line(c, c->line, "text after a closing quote");
    c->line += s[c->at] == '\n';
    c->at += c->at < c->size;
    s[end] = 0;
    return true;
}

/* Whether only blank lines are left. */
static bool only_blank(const struct cutter *c) {
    size_t i = c->at;
    while (i < c->size && (c->t->text[i] == '\n' || c->t->text[i] == '\r')) i++;
    return i == c->size;
}

static bool cut_rows(struct cutter *c) {
    heed_table *t = c->t;
    while (c->at < c->size && !(t->columns > 1 && only_blank(c))) {
        const size_t before = t->cell_count, line = c->line;
        bool last = false;
        if (!push(t->cx, &t->lines, &t->row_count, &t->row_room, line)) return false;
        while (!last) /* a delimiter at the very end of the text has an empty cell behind it */
            if (!cut_cell(c, &last)) return false;
        const size_t cells = t->cell_count - before;
        if (t->row_count == 1) t->columns = cells;
        if (cells != t->columns)
            return heed_fail(t->cx, HEED_ERR_FORMAT, "%s: line %zu: %zu cells, the first row has %zu", t->name, line,
                             cells, t->columns);
    }
    return true;
}

/* ---- checks and header ---- */

static bool check_text(struct cutter *c) {
    const char *s = c->t->text + c->at;
    const size_t size = c->size - c->at, bad = utf8_bad(s, size);
    const char *nul = memchr(s, 0, bad);
    if (size == 0) return heed_fail(c->t->cx, HEED_ERR_FORMAT, "%s: the table is empty", c->t->name);
    if (!nul && bad == size) return true;
    const char *where = nul ? nul : s + bad;
    size_t line = 1;
    for (const char *p = s; p < where; p++) line += *p == '\n';
    return bad_line(c, line, nul ? "a NUL byte" : "not valid UTF-8");
}

static bool any_number(const heed_table *t, size_t row) {
    double value;
    bool range;
    for (size_t i = 0; i < t->columns; i++)
        if (number_read(t->text + t->cells[row * t->columns + i], &value, &range)) return true;
    return false;
}

static bool name_columns(heed_table *t, heed_header header) {
    t->header = header == HEED_HEADER_YES ||
                (header == HEED_HEADER_AUTO && t->row_count > 1 && !any_number(t, 0) && any_number(t, 1));
    if (t->header) return true;
    size_t bytes;
    if (!size_mul(t->columns, sizeof *t->numbers, &bytes))
        return heed_fail(t->cx, HEED_ERR_MEMORY, "csv: too many columns");
    if (!(t->numbers = heed_mem_new(t->cx, bytes))) return false;
    for (size_t i = 0; i < t->columns; i++) snprintf(t->numbers[i], sizeof *t->numbers, "%zu", i + 1);
    return true;
}

/* ---- opening ---- */

static char delimiter_of(const char *name) {
    size_t n = strlen(name);
    if (text_ends(name, n, ".gz")) n -= 3;
    return text_ends(name, n, ".tsv") || text_ends(name, n, ".tab") ? '\t' : ',';
}

void heed_table_close(heed_table *t) {
    if (!t) return;
    heed_mem_free(t->cx, t->name);
    heed_mem_free(t->cx, t->text);
    heed_mem_free(t->cx, t->cells);
    heed_mem_free(t->cx, t->lines);
    heed_mem_free(t->cx, t->numbers);
    heed_mem_free(t->cx, t);
}

/* Takes over text, which ends with a 0 that is not counted. */
static heed_table *make_table(heed_ctx *cx, const char *name, char *text, size_t size, const heed_table_options *o) {
    heed_table *t = heed_mem_new(cx, sizeof *t);
    if (!t) {
        heed_mem_free(cx, text);
        return NULL;
    }
    *t = (heed_table){.cx = cx, .text = text, .name = heed_mem_new(cx, strlen(name) + 1)};
    struct cutter c = {.t = t, .size = size, .line = 1};
    c.delimiter = o && o->delimiter ? o->delimiter : delimiter_of(name);
    c.plain_quotes = o && o->plain_quotes;
    if (size >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) c.at = 3;
    if (t->name) memcpy(t->name, name, strlen(name) + 1);
    if (t->name && check_text(&c) && cut_rows(&c) && name_columns(t, o ? o->header : HEED_HEADER_AUTO)) return t;
    heed_table_close(t);
    return NULL;
}

static bool check_options(heed_ctx *cx, const char *op, const heed_table_options *o) {
    if (!o) return true;
    const unsigned char d = (unsigned char)o->delimiter;
    if (d == '"' || d == '\n' || d == '\r' || d >= 0x80)
        return heed_fail(cx, HEED_ERR_USAGE, "%s: a delimiter must be an ASCII character, not a quote or new line", op);
    return (unsigned)o->header <= HEED_HEADER_NO ||
           heed_fail(cx, HEED_ERR_USAGE, "%s: no header option %d", op, (int)o->header);
}

heed_table *heed_table_parse(heed_ctx *cx, const char *name, const char *text, size_t size,
                             const heed_table_options *options) {
    size_t room;
    if (heed_failed(cx)) return NULL;
    if (!name || !text) return heed_fail(cx, HEED_ERR_USAGE, "table_parse: name or text is NULL"), NULL;
    if (!check_options(cx, "table_parse", options)) return NULL;
    char *copy = size_add(size, 1, &room) ? heed_mem_new(cx, room) : NULL;
    if (!copy) return heed_fail(cx, HEED_ERR_MEMORY, "%s: too large", name), NULL;
    memcpy(copy, text, size);
    copy[size] = 0;
    return make_table(cx, name, copy, size, options);
}

heed_table *heed_table_open(heed_ctx *cx, const char *path, const heed_table_options *options) {
    size_t size;
    if (heed_failed(cx)) return NULL;
    if (!path) return heed_fail(cx, HEED_ERR_USAGE, "table_open: path is NULL"), NULL;
    if (!check_options(cx, "table_open", options)) return NULL;
    unsigned char *text = file_read(cx, path, IO_READ_LIMIT, &size);
    return text ? make_table(cx, path, (char *)text, size, options) : NULL;
}

/* ---- looking ---- */

int64_t heed_table_rows(const heed_table *t) { return t ? (int64_t)(t->row_count - t->header) : 0; }
int64_t heed_table_columns(const heed_table *t) { return t ? (int64_t)t->columns : 0; }
bool heed_table_has_header(const heed_table *t) { return t && t->header; }

static const char *cell(const heed_table *t, size_t row, size_t column) {
    return t->text + t->cells[(row + t->header) * t->columns + column];
}

static const char *column_name(const heed_table *t, size_t column) {
    return t->header ? t->text + t->cells[column] : t->numbers[column];
}

static bool usable(heed_ctx *cx, const char *op, const heed_table *t, int64_t column) {
    if (heed_failed(cx)) return false;
    if (!t) return heed_fail(cx, HEED_ERR_USAGE, "%s: the table is NULL", op);
    return (column >= 0 && column < heed_table_columns(t)) ||
           heed_fail(cx, HEED_ERR_RANGE, "%s: %s: no column %lld among %zu", op, t->name, (long long)column,
                     t->columns);
}

const char *heed_table_name(heed_ctx *cx, const heed_table *t, int64_t column) {
    return usable(cx, "table_name", t, column) ? column_name(t, (size_t)column) : NULL;
}

int64_t heed_table_find(heed_ctx *cx, const heed_table *t, const char *name) {
    if (!usable(cx, "table_find", t, 0)) return -1;
    if (!name) return heed_fail(cx, HEED_ERR_USAGE, "table_find: name is NULL"), -1;
    for (size_t i = 0; i < t->columns; i++)
        if (strcmp(column_name(t, i), name) == 0) return (int64_t)i;
    return -1;
}

const char *heed_table_cell(heed_ctx *cx, const heed_table *t, int64_t row, int64_t column) {
    if (!usable(cx, "table_cell", t, column)) return NULL;
    if (row < 0 || row >= heed_table_rows(t))
        return heed_fail(cx, HEED_ERR_RANGE, "table_cell: %s: no row %lld among %lld", t->name, (long long)row,
                         (long long)heed_table_rows(t)),
               NULL;
    return cell(t, (size_t)row, (size_t)column);
}

bool heed_table_numbers(heed_ctx *cx, const heed_table *t, int64_t column, double *out, int64_t n) {
    if (!usable(cx, "table_numbers", t, column)) return false;
    if (n != heed_table_rows(t) || (n > 0 && !out))
        return heed_fail(cx, HEED_ERR_USAGE, "table_numbers: %s has %lld rows, room is for %lld", t->name,
                         (long long)heed_table_rows(t), (long long)(out ? n : 0));
    for (size_t i = 0; i < (size_t)n; i++) {
        bool range;
        const char *text = cell(t, i, (size_t)column);
        if (!number_read(text, &out[i], &range))
            return heed_fail(cx, HEED_ERR_FORMAT, "%s: line %zu, column '%s': '%s' is %s", t->name,
                             t->lines[i + t->header], shown(column_name(t, (size_t)column)).text, shown(text).text,
                             range ? "too large a number" : "not a number");
    }
    return true;
}
