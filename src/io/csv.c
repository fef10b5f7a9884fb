/* csv and tsv (RFC 4180): a table of text cells.
 *
 * The text is kept once and cut up in place: a cell is unquoted where it stands, and the delimiter behind it becomes
 * the 0 that ends it. Text only ever moves left, so nothing is read after it has been overwritten. */
#include "io/csv.h"
#include "base/checked.h"
#include "base/file.h"
#include "io/array.h"
#include "io/csv_table.h"
#include "io/magic.h"
#include "io/text.h"
#include "io/utf16.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CELLS_AT_ONCE 65536 /* between questions whether to stop */

struct cutter {
    heed_table *t;
    size_t at, size, line;
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

static bool is_delimiter(const heed_table *t, char c) {
    return c == t->delimiter || (t->delimiter == ' ' && c == '\t');
}

static bool cut_plain(struct cutter *c, size_t *end) {
    const char *s = c->t->text;
    for (; c->at < c->size && !is_delimiter(c->t, s[c->at]) && s[c->at] != '\n' && s[c->at] != '\r'; c->at++)
        if (s[c->at] == '"' && !c->plain_quotes)
            return bad_line(c, c->line,
                            c->t->delimiter == '\t'
                                ? "a quote within a cell that does not begin with one; --text COLUMN reads texts with "
                                  "quotes as they are"
                                : "a quote within a cell that does not begin with one");
    *end = c->at;
    return true;
}

/* Blanks that part cells are one delimiter however many they are; those around a row are none. */
static void skip_blanks(struct cutter *c) {
    while (c->t->delimiter == ' ' && c->at < c->size && is_delimiter(c->t, c->t->text[c->at])) c->at++;
}

/* Whether a row ends here; blanks were skipped. */
static bool at_row_end(const struct cutter *c, bool after_blanks) {
    const char here = c->t->text[c->at];
    if (c->at == c->size) return true;
    return c->t->delimiter == ' ' ? !after_blanks || here == '\n' || here == '\r' : !is_delimiter(c->t, here);
}

/* One cell and what ends it; *last when it is the last of its row. */
static bool cut_cell(struct cutter *c, bool *last) {
    heed_table *t = c->t;
    char *s = t->text;
    const bool quoted = s[c->at] == '"' && !c->plain_quotes;
    size_t end;
    if (t->cell_count % CELLS_AT_ONCE == 0 && heed_cancelled(t->cx)) return false;
    if (!push(t->cx, &t->cells, &t->cell_count, &t->cell_room, c->at + quoted)) return false;
    if (!(quoted ? cut_quoted : cut_plain)(c, &end)) return false;
    const size_t behind = c->at;
    skip_blanks(c);
    *last = at_row_end(c, c->at > behind);
    if (s[c->at] == '\r') {
        if (s[c->at + 1] != '\n') return bad_line(c, c->line, "a carriage return without a line feed");
        c->at++;
    }
    if (c->at < c->size && *last && s[c->at] != '\n') return bad_line(c, c->line, "text after a closing quote");
    c->line += s[c->at] == '\n';
    c->at += c->at < c->size && (*last || t->delimiter != ' ');
    s[end] = 0;
    return true;
}

/* Whether only blank lines are left. */
static bool only_blank(const struct cutter *c) {
    size_t i = c->at;
    while (i < c->size && strchr(c->t->delimiter == ' ' ? "\n\r \t" : "\n\r", c->t->text[i])) i++;
    return i == c->size;
}

/* What has rows of other lengths may be no table at all. */
static bool bad_row(const heed_table *t, size_t line, size_t cells) {
    const char *const first = t->text + t->cells[t->cell_count - cells];
    const char *hint = "";
    if (t->columns > 1 && cells == 1 && !*first)
        hint = ": an empty line; 'heed train tag' reads sentences of tagged words";
    else if (t->columns == 1)
        hint = "; if this is a table, --separator says what separates its columns";
    return heed_fail(t->cx, HEED_ERR_FORMAT, "%s: line %zu: %zu cells, the first row has %zu%s", t->name, line, cells,
                     t->columns, hint);
}

static bool cut_rows(struct cutter *c) {
    heed_table *t = c->t;
    while (c->at < c->size && !(t->columns > 1 && only_blank(c))) {
        const size_t before = t->cell_count, line = c->line;
        bool last = false;
        skip_blanks(c);
        if (!push(t->cx, &t->lines, &t->row_count, &t->row_room, line)) return false;
        while (!last) /* a delimiter at the very end of the text has an empty cell behind it */
            if (!cut_cell(c, &last)) return false;
        const size_t cells = t->cell_count - before;
        if (t->row_count == 1) t->columns = cells;
        if (cells != t->columns) return bad_row(t, line, cells);
    }
    return true;
}

/* ---- checks and header ---- */

#define BYTES_AT_ONCE ((size_t)16 << 20) /* between questions whether to stop */

/* utf8_bad in pieces; at the end of a piece, what may only be cut is looked at again with the next. */
static size_t find_bad(heed_ctx *cx, const char *s, size_t size) {
    size_t at = 0;
    while (at < size && !heed_cancelled(cx)) {
        const size_t piece = size - at < BYTES_AT_ONCE ? size - at : BYTES_AT_ONCE, good = utf8_bad(s + at, piece);
        at += good;
        if (good < piece && (piece - good > 3 || at + piece - good == size)) break;
    }
    return at;
}

static bool is_json(const char *name, const char *text) {
    size_t n = strlen(name);
    if (text_ends(name, n, ".gz")) n -= 3;
    return (*text == '{' || *text == '[') && (text_ends(name, n, ".json") || text_ends(name, n, ".jsonl"));
}
static bool bad_json(const heed_table *t) {
    return heed_fail(t->cx, HEED_ERR_FORMAT, "%s: JSON, not a table: write it as CSV", t->name);
}

static bool check_text(struct cutter *c) {
    const char *s = c->t->text + c->at;
    const size_t size = c->size - c->at, bad = find_bad(c->t->cx, s, size);
    if (heed_failed(c->t->cx)) return false;
    const char *nul = memchr(s, 0, bad);
    if (size == 0) return heed_fail(c->t->cx, HEED_ERR_FORMAT, "%s: the table is empty", c->t->name);
    if (!nul && bad == size) return !is_json(c->t->name, s) || bad_json(c->t);
    const struct magic *other = magic_find(c->t->name, s, size);
    if (other)
        return heed_fail(c->t->cx, HEED_ERR_FORMAT, "%s: %s, not a table: %s", c->t->name, other->name, other->remedy);
    const char *where = nul ? nul : s + bad;
    size_t line = c->line;
    for (const char *p = s; p < where; p++) line += *p == '\n';
    return bad_line(c, line, nul ? "a NUL byte" : "not valid UTF-8");
}

struct name {
    const char *text;
    size_t column;
};

static int by_text(const void *a, const void *b) {
    const struct name *x = a, *y = b;
    const int order = strcmp(x->text, y->text);
    return order ? order : (x->column > y->column) - (x->column < y->column);
}

/* Columns without a name may be several: they still have numbers. */
static bool check_names(heed_table *t) {
    size_t bytes;
    struct name *names = size_mul(t->columns, sizeof *names, &bytes) ? heed_mem_new(t->cx, bytes) : NULL;
    if (!names) return heed_fail(t->cx, HEED_ERR_MEMORY, "csv: too many columns");
    for (size_t i = 0; i < t->columns; i++) names[i] = (struct name){csv_cell(t, 0, i), i};
    qsort(names, t->columns, sizeof *names, by_text);
    for (size_t i = 1; i < t->columns; i++)
        if (*names[i].text && strcmp(names[i].text, names[i - 1].text) == 0) {
            heed_fail(t->cx, HEED_ERR_FORMAT, "%s: line %zu: columns %zu and %zu are both named '%s'", t->name,
                      t->lines[0], names[i - 1].column + 1, names[i].column + 1, escaped(names[i].text).s);
            break;
        }
    heed_mem_free(t->cx, names);
    return !heed_failed(t->cx);
}

static bool name_columns(heed_table *t, heed_header header) {
    t->header = header == HEED_HEADER_YES || (header == HEED_HEADER_AUTO && csv_finds_header(t));
    if (t->header) return check_names(t);
    size_t bytes;
    if (!size_mul(t->columns, sizeof *t->numbers, &bytes))
        return heed_fail(t->cx, HEED_ERR_MEMORY, "csv: too many columns");
    if (!(t->numbers = heed_mem_new(t->cx, bytes))) return false;
    for (size_t i = 0; i < t->columns; i++) snprintf(t->numbers[i], sizeof *t->numbers, "%zu", i + 1);
    return true;
}

/* ---- opening ---- */

static bool is_tsv(const char *name) {
    size_t n = strlen(name);
    if (text_ends(name, n, ".gz")) n -= 3;
    return text_ends(name, n, ".tsv") || text_ends(name, n, ".tab");
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

/* UTF-8 of what may be UTF-16; takes over text. NULL when it is neither. */
static char *decoded(heed_ctx *cx, const char *name, char *text, size_t *size) {
    if (!utf16_is(text, *size)) return text;
    char *plain = utf16_decode(cx, name, text, *size, size);
    heed_mem_free(cx, text);
    return plain;
}

/* Takes over text, which ends with a 0 that is not counted. */
static heed_table *make_table(heed_ctx *cx, const char *name, char *text, size_t size, const heed_table_options *o) {
    if (!(text = decoded(cx, name, text, &size))) return NULL;
    heed_table *t = heed_mem_new(cx, sizeof *t);
    if (!t) {
        heed_mem_free(cx, text);
        return NULL;
    }
    *t = (heed_table){.cx = cx, .text = text, .name = heed_mem_new(cx, strlen(name) + 1)};
    const heed_table_options defaults = {0};
    if (!o) o = &defaults;
    struct cutter c = {.t = t, .size = size, .line = o->line ? (size_t)o->line : 1, .plain_quotes = o->plain_quotes};
    if (size >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) c.at = 3;
    if (t->name) memcpy(t->name, name, strlen(name) + 1);
    bool ok = t->name && check_text(&c);
    if (ok) t->delimiter = o->delimiter ? o->delimiter : is_tsv(name) ? '\t' : csv_sniff(text + c.at, !c.plain_quotes);
    ok = ok && cut_rows(&c);
    if (ok) csv_find_marks(t, o);
    if (ok && name_columns(t, o->header)) return t;
    heed_table_close(t);
    return NULL;
}

static bool check_options(heed_ctx *cx, const char *op, const heed_table_options *o) {
    if (!o) return true;
    const unsigned char d = (unsigned char)o->delimiter;
    if (d == '"' || d == '\n' || d == '\r' || d >= 0x80)
        return heed_fail(cx, HEED_ERR_USAGE, "%s: a delimiter must be an ASCII character, not a quote or new line", op);
    if (o->decimal && o->decimal != '.' && o->decimal != ',')
        return heed_fail(cx, HEED_ERR_USAGE, "%s: a decimal mark is a point or a comma", op);
    if (o->decimal && o->decimal == o->delimiter)
        return heed_fail(cx, HEED_ERR_USAGE, "%s: '%c' cannot be both the delimiter and the decimal mark", op,
                         o->decimal);
    if (o->thousands && !strchr(",.' ", o->thousands))
        return heed_fail(cx, HEED_ERR_USAGE, "%s: a thousands separator is a comma, point, apostrophe or space", op);
    if (o->thousands && (o->thousands == o->decimal || o->thousands == o->delimiter))
        return heed_fail(cx, HEED_ERR_USAGE, "%s: '%c' cannot be the thousands separator and another mark", op,
                         o->thousands);
    if (o->line < 0) return heed_fail(cx, HEED_ERR_USAGE, "%s: no line %lld", op, (long long)o->line);
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
char heed_table_delimiter(const heed_table *t) { return t ? t->delimiter : 0; }
char heed_table_decimal(const heed_table *t) { return t ? t->decimal : 0; }

int64_t heed_table_line(const heed_table *t, int64_t row) {
    return row >= 0 && row < heed_table_rows(t) ? (int64_t)t->lines[(size_t)row + t->header] : 0;
}

static const char *cell(const heed_table *t, size_t row, size_t column) { return csv_cell(t, row + t->header, column); }

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

static bool within(const heed_table *t, int64_t row, int64_t column) {
    return row >= 0 && row < heed_table_rows(t) && column >= 0 && column < heed_table_columns(t);
}

bool heed_table_number(const heed_table *t, int64_t row, int64_t column, double *out) {
    double value;
    bool range;
    if (!within(t, row, column)) return false;
    return csv_number(t, cell(t, (size_t)row, (size_t)column), out ? out : &value, &range);
}

bool heed_table_missing(const heed_table *t, int64_t row, int64_t column) {
    return within(t, row, column) && text_is_missing(cell(t, (size_t)row, (size_t)column));
}

const char *table_instead(const heed_table *t, int64_t row, int64_t column) {
    const char *text = cell(t, (size_t)row, (size_t)column);
    double value;
    bool range;
    if (text_is_missing(text)) return "missing";
    char plain[NUMBER_LONGEST];
    if (!csv_number(t, text, &value, &range) && range) return "too large a number";
    if (t->decimal == '.' && number_ungrouped(text, ',', plain) > 0)
        return "not a number with a decimal point; --decimal , takes commas for decimal marks, --thousands , for "
               "thousands separators";
    if (t->decimal == '.' && number_is(text, ',')) return "not a number with a decimal point; --decimal , takes commas";
    if (t->decimal == ',' && number_is(text, '.')) return "not a number with a decimal comma; --decimal . takes points";
    return "not a number";
}

bool heed_table_numbers(heed_ctx *cx, const heed_table *t, int64_t column, double *out, int64_t n) {
    if (!usable(cx, "table_numbers", t, column)) return false;
    if (n != heed_table_rows(t) || (n > 0 && !out))
        return heed_fail(cx, HEED_ERR_USAGE, "table_numbers: %s has %lld rows, room is for %lld", t->name,
                         (long long)heed_table_rows(t), (long long)(out ? n : 0));
    for (int64_t i = 0; i < n; i++) {
        if (i % CELLS_AT_ONCE == 0 && heed_cancelled(cx)) return false;
        if (!heed_table_number(t, i, column, &out[i]))
            return heed_fail(cx, HEED_ERR_FORMAT, "%s: line %lld, column '%s': '%s' is %s", t->name,
                             (long long)heed_table_line(t, i), escaped(column_name(t, (size_t)column)).s,
                             escaped(cell(t, (size_t)i, (size_t)column)).s, table_instead(t, i, column));
    }
    return true;
}
