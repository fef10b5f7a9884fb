/* Data sets from csv and tsv: which columns are inputs and targets. */
#include "data/tables/table_columns.h"
#include "io/text.h"

#include <stdio.h>
#include <string.h>

/* ---- sentences ---- */

/* Without a header, what `like` calls an input. */
static const char *name_of(const struct sheet *s, int64_t column) {
    if (!heed_table_has_header(s->table) && s->like && s->like->x_names && s->inputs == s->like->columns)
        for (int64_t k = 0; k < s->inputs; k++)
            if (s->input[k] == column) return s->like->x_names[k];
    return heed_table_name(s->cx, s->table, column);
}

bool sheet_fail(const struct sheet *s, heed_status status, int64_t i, int64_t column, const char *format, ...) {
    char why[512];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    const long long line = heed_table_line(s->table, s->row[i]);
    return heed_fail(s->cx, status, "%s: line %lld, column '%s': %s", s->path, line, escaped(name_of(s, column)).s,
                     why);
}

#define NAMES_SHOWN 8

static bool no_column(const struct sheet *s, const char *name, size_t length) {
    char names[NAMES_SHOWN * 100] = "";
    size_t used = 0;
    for (int64_t i = 0; i < s->columns && i < NAMES_SHOWN; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "",
                                 escaped(heed_table_name(s->cx, s->table, i)).s);
    const char *more = s->columns > NAMES_SHOWN ? ", ..." : "";
    return heed_fail(s->cx, HEED_ERR_USAGE, "%s: no column '%s' among its %lld: %s%s", s->path,
                     escaped_bytes(name, length).s, (long long)s->columns, names, more);
}

/* ---- which columns ---- */

static int64_t find_name(const struct sheet *s, const char *name, size_t length) {
    for (int64_t i = 0; i < s->columns; i++) {
        const char *other = heed_table_name(s->cx, s->table, i);
        if (strlen(other) == length && memcmp(other, name, length) == 0) return i;
    }
    return -1;
}

int64_t sheet_find_column(const struct sheet *s, const char *name, size_t length) {
    const int64_t found = find_name(s, name, length);
    if (found >= 0 || length == 0 || length > 18) return found;
    int64_t number = 0;
    for (size_t i = 0; i < length; i++) {
        if (name[i] < '0' || name[i] > '9') return -1;
        number = number * 10 + (name[i] - '0');
    }
    return number <= s->columns ? number - 1 : -1;
}

/* list NULL: the column is dropped. */
static bool claim(struct sheet *s, int64_t column, int64_t *list, int64_t *count) {
    if (s->taken[column])
        return heed_fail(s->cx, HEED_ERR_USAGE, "%s: column '%s' is %s", s->path,
                         escaped(heed_table_name(s->cx, s->table, column)).s,
                         s->taken[column] == SHEET_CHOSEN ? "chosen twice"
                         : list                           ? "dropped, but needed"
                                                          : "dropped twice");
    s->taken[column] = list ? SHEET_CHOSEN : SHEET_DROPPED;
    if (list) list[(*count)++] = column;
    return true;
}

static bool claim_named(struct sheet *s, const char *name, size_t length, int64_t *list, int64_t *count) {
    const int64_t column = sheet_find_column(s, name, length);
    if (column < 0 && !list && s->like) return true; /* what `like` has left out need not be here */
    return column >= 0 ? claim(s, column, list, count) : no_column(s, name, length);
}

bool sheet_claim_each(struct sheet *s, const char *const *names, int64_t *list, int64_t *count) {
    for (; *names; names++)
        if (!claim_named(s, *names, strlen(*names), list, count)) return false;
    return true;
}

bool sheet_claim(struct sheet *s, const char *names, int64_t *list, int64_t *count) {
    if (sheet_find_column(s, names, strlen(names)) >= 0) return claim_named(s, names, strlen(names), list, count);
    while (true) {
        const size_t length = strcspn(names, ",");
        if (!claim_named(s, names, length, list, count)) return false;
        if (!names[length]) return true;
        names += length + 1;
    }
}

static bool claim_all_listed(struct sheet *s, const char *const *names, int64_t *list, int64_t *count) {
    for (; *names; names++)
        if (!sheet_claim(s, *names, list, count)) return false;
    return true;
}

/* The last columns that are not dropped, `n` of them. */
static bool claim_last(struct sheet *s, int64_t n) {
    int64_t first = s->columns;
    for (int64_t left = n; left > 0 && first > 0; left -= s->taken[first] == SHEET_FREE) first--;
    for (int64_t i = first; i < s->columns; i++)
        if (s->taken[i] == SHEET_FREE && !claim(s, i, s->target, &s->targets)) return false;
    return true;
}

static bool choose_targets(struct sheet *s, const heed_data_opts *o) {
    const char *const *known =
        o->like && heed_table_has_header(s->table) ? (const char *const *)o->like->y_names : NULL;
    if (o->task == HEED_DATA_INPUTS) return true;
    if (o->target) {
        if (!sheet_claim(s, o->target, s->target, &s->targets)) return false;
    } else if (known) {
        if (!sheet_claim_each(s, known, s->target, &s->targets)) return false;
    } else {
        /* Without names, as many of the last columns as `like` has outputs. */
        if (!claim_last(s, o->like && o->task == HEED_DATA_REGRESS ? o->like->outputs : 1)) return false;
    }
    return o->task != HEED_DATA_CLASSIFY || s->targets == 1 ||
           heed_fail(s->cx, HEED_ERR_USAGE, "%s: classes are in one column, not in %lld", s->path,
                     (long long)s->targets);
}

/* Names are how a model finds its columns again. */
static bool check_unnamed(const struct sheet *s) {
    int64_t unnamed = -1;
    for (int64_t k = 0; k < s->inputs; k++) {
        if (*heed_table_name(s->cx, s->table, s->input[k])) continue;
        if (unnamed >= 0)
            return heed_fail(s->cx, HEED_ERR_FORMAT, "%s: columns %lld and %lld have no name; --drop leaves them out",
                             s->path, (long long)unnamed + 1, (long long)s->input[k] + 1);
        unnamed = s->input[k];
    }
    return true;
}

static bool choose_inputs(struct sheet *s, const heed_data_opts *o) {
    const char *const *known =
        o->like && heed_table_has_header(s->table) ? (const char *const *)o->like->x_names : NULL;
    if (o->use ? !claim_all_listed(s, o->use, s->input, &s->inputs)
               : known && !sheet_claim_each(s, known, s->input, &s->inputs))
        return false;
    for (int64_t i = 0; !o->use && !known && i < s->columns; i++)
        if (!s->taken[i]) claim(s, i, s->input, &s->inputs);
    if (s->inputs == 0)
        return heed_fail(s->cx, HEED_ERR_USAGE, "%s: no column is left for the inputs%s", s->path,
                         s->columns == 1 ? ": there is only one; --separator says what parts columns" : "");
    if (o->like && o->like->columns > 0 && s->inputs != o->like->columns)
        return heed_fail(s->cx, HEED_ERR_SHAPE, "%s: line %lld: %lld columns of inputs, should be %lld", s->path,
                         (long long)heed_table_line(s->table, 0), (long long)s->inputs, (long long)o->like->columns);
    return check_unnamed(s);
}

char **sheet_names(const struct sheet *s, const int64_t *columns, int64_t count) {
    struct word *words = data_room(s->cx, count, 1, sizeof *words);
    for (int64_t i = 0; words && i < count; i++) {
        words[i].text = heed_table_name(s->cx, s->table, columns[i]);
        words[i].length = strlen(words[i].text);
    }
    char **names = words ? data_names(s->cx, words, count) : NULL;
    heed_mem_free(s->cx, words);
    return names;
}

static bool keep_names(const struct sheet *s, const int64_t *columns, int64_t count, char ***out) {
    return !heed_table_has_header(s->table) || (*out = sheet_names(s, columns, count));
}

/* ---- all of it ---- */

/* A single row of words alone is a header without rows. */
static bool check_rows(const struct sheet *s, const heed_data_opts *opts) {
    const int64_t rows = heed_table_rows(s->table);
    bool enough = rows > 1 || (rows == 1 && (opts->like || heed_table_has_header(s->table)));
    for (int64_t i = 0; rows == 1 && i < s->columns; i++) enough |= heed_table_number(s->table, 0, i, NULL);
    return enough || heed_fail(s->cx, HEED_ERR_FORMAT, "%s: the data set is empty: no row holds a number", s->path);
}

/* Takes over the table. */
static bool open_sheet(struct sheet *s, heed_table *table, const heed_data_opts *opts) {
    s->table = table;
    s->like = opts->like;
    if (!s->table) return false;
    s->columns = heed_table_columns(s->table);
    s->input = data_room(s->cx, s->columns, 1, sizeof *s->input);
    s->target = data_room(s->cx, s->columns, 1, sizeof *s->target);
    s->taken = data_room(s->cx, s->columns, 1, 1);
    if (!s->taken) return false;
    memset(s->taken, SHEET_FREE, (size_t)s->columns);
    return check_rows(s, opts);
}

static void close_sheet(struct sheet *s) {
    heed_mem_free(s->cx, s->row);
    heed_mem_free(s->cx, s->taken);
    heed_mem_free(s->cx, s->target);
    heed_mem_free(s->cx, s->input);
    heed_table_close(s->table);
}

static bool choose(struct sheet *s, const heed_data_opts *opts, heed_data *out) {
    if (opts->drop && !claim_all_listed(s, opts->drop, NULL, NULL)) return false;
    return choose_targets(s, opts) && choose_inputs(s, opts) && sheet_take_rows(s, opts, &out->skipped);
}

static bool read_targets(const struct sheet *s, const heed_data_opts *opts, heed_data *out) {
    if (s->targets == 0) return true;
    if (!keep_names(s, s->target, s->targets, &out->y_names)) return false;
    if (opts->task == HEED_DATA_CLASSIFY) return sheet_classes(s, s->target[0], opts->like, out);
    out->outputs = s->targets;
    out->y = data_room(s->cx, s->rows, s->targets, sizeof *out->y);
    for (int64_t k = 0; out->y && k < s->targets; k++)
        if (!sheet_numbers(s, s->target[k], out->y + k, s->targets)) return false;
    return out->y;
}

static bool keep_lines(const struct sheet *s, heed_data *out) {
    out->line = data_room(s->cx, s->rows, 1, sizeof *out->line);
    for (int64_t i = 0; out->line && i < s->rows; i++) out->line[i] = heed_table_line(s->table, s->row[i]);
    return out->line;
}

static bool read_sheet(struct sheet *s, heed_table *table, const heed_data_opts *opts, heed_data *out) {
    const bool ok = open_sheet(s, table, opts) && choose(s, opts, out) && sheet_inputs(s, opts->like, out) &&
                    keep_names(s, s->input, s->inputs, &out->x_names) && read_targets(s, opts, out) &&
                    keep_lines(s, out);
    out->n = s->rows;
    close_sheet(s);
    return ok;
}

bool data_read_table(heed_ctx *cx, const char *path, const heed_data_opts *opts, heed_data *out) {
    return read_sheet(&(struct sheet){.cx = cx, .path = path}, heed_table_open(cx, path, &opts->table), opts, out);
}

bool data_parse_table(heed_ctx *cx, const char *name, const char *text, size_t size, const heed_data_opts *opts,
                      heed_data *out) {
    return read_sheet(&(struct sheet){.cx = cx, .path = name}, heed_table_parse(cx, name, text, size, &opts->table),
                      opts, out);
}
