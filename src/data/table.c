/* Data sets from csv and tsv: which columns are inputs and targets, and their numbers. */
#include "data/sheet.h"
#include "io/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- sentences ---- */

static int64_t new_lines(const char *text) {
    int64_t n = 0;
    for (; (text = strchr(text, '\n')); text++) n++;
    return n;
}

/* The line on which a row begins: one for each row before it, and those within quoted cells. */
static int64_t line_of(const struct sheet *s, int64_t row) {
    int64_t line = 1 + row;
    if (heed_table_has_header(s->table)) {
        line++;
        for (int64_t j = 0; j < s->columns; j++) line += new_lines(heed_table_name(s->cx, s->table, j));
    }
    for (int64_t i = 0; i < row; i++)
        for (int64_t j = 0; j < s->columns; j++) line += new_lines(heed_table_cell(s->cx, s->table, i, j));
    return line;
}

bool sheet_fail(const struct sheet *s, heed_status status, int64_t row, int64_t column, const char *format, ...) {
    char why[512];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    const long long line = line_of(s, row);
    return heed_fail(s->cx, status, "%s: line %lld, column '%s': %s", s->path, line,
                     shown(heed_table_name(s->cx, s->table, column)).text, why);
}

#define NAMES_SHOWN 8

static bool no_column(const struct sheet *s, const char *name, size_t length) {
    char names[NAMES_SHOWN * 100] = "";
    size_t used = 0;
    for (int64_t i = 0; i < s->columns && i < NAMES_SHOWN; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "",
                                 shown(heed_table_name(s->cx, s->table, i)).text);
    const char *more = s->columns > NAMES_SHOWN ? ", ..." : "";
    return heed_fail(s->cx, HEED_ERR_USAGE, "%s: no column '%s' among its %lld: %s%s", s->path,
                     shown_bytes(name, length).text, (long long)s->columns, names, more);
}

/* ---- which columns ---- */

static int64_t find_name(const struct sheet *s, const char *name, size_t length) {
    for (int64_t i = 0; i < s->columns; i++) {
        const char *other = heed_table_name(s->cx, s->table, i);
        if (strlen(other) == length && memcmp(other, name, length) == 0) return i;
    }
    return -1;
}

/* A column by its name, or else by its number from 1; -1 when there is none. */
static int64_t find_column(const struct sheet *s, const char *name, size_t length) {
    const int64_t found = find_name(s, name, length);
    if (found >= 0 || length == 0 || length > 18) return found;
    int64_t number = 0;
    for (size_t i = 0; i < length; i++) {
        if (name[i] < '0' || name[i] > '9') return -1;
        number = number * 10 + (name[i] - '0');
    }
    return number <= s->columns ? number - 1 : -1;
}

static bool claim(struct sheet *s, int64_t column, int64_t *list, int64_t *count) {
    if (s->taken[column])
        return heed_fail(s->cx, HEED_ERR_USAGE, "%s: column '%s' is chosen twice", s->path,
                         shown(heed_table_name(s->cx, s->table, column)).text);
    s->taken[column] = 1;
    list[(*count)++] = column;
    return true;
}

static bool claim_named(struct sheet *s, const char *name, size_t length, int64_t *list, int64_t *count) {
    const int64_t column = find_column(s, name, length);
    return column >= 0 ? claim(s, column, list, count) : no_column(s, name, length);
}

static bool claim_each(struct sheet *s, const char *const *names, int64_t *list, int64_t *count) {
    for (; *names; names++)
        if (!claim_named(s, *names, strlen(*names), list, count)) return false;
    return true;
}

/* "a,b": unless a column has that very name. */
static bool claim_listed(struct sheet *s, const char *names, int64_t *list, int64_t *count) {
    if (find_column(s, names, strlen(names)) >= 0) return claim_named(s, names, strlen(names), list, count);
    while (true) {
        const size_t length = strcspn(names, ",");
        if (!claim_named(s, names, length, list, count)) return false;
        if (!names[length]) return true;
        names += length + 1;
    }
}

static bool choose_targets(struct sheet *s, const heed_data_opts *o) {
    const char *const *known =
        o->like && heed_table_has_header(s->table) ? (const char *const *)o->like->y_names : NULL;
    if (o->task == HEED_DATA_INPUTS) return true;
    if (o->target) {
        if (!claim_listed(s, o->target, s->target, &s->targets)) return false;
    } else if (known) {
        if (!claim_each(s, known, s->target, &s->targets)) return false;
    } else {
        /* Without names, as many of the last columns as `like` has outputs. */
        const int64_t last = o->like && o->task == HEED_DATA_REGRESS ? o->like->outputs : 1;
        for (int64_t i = last < s->columns ? s->columns - last : 0; i < s->columns; i++)
            if (!claim(s, i, s->target, &s->targets)) return false;
    }
    return o->task != HEED_DATA_CLASSIFY || s->targets == 1 ||
           heed_fail(s->cx, HEED_ERR_USAGE, "%s: classes are in one column, not in %lld", s->path,
                     (long long)s->targets);
}

static bool choose_inputs(struct sheet *s, const heed_data_opts *o) {
    const char *const *known =
        o->like && heed_table_has_header(s->table) ? (const char *const *)o->like->x_names : NULL;
    if (o->use) known = o->use;
    if (known && !claim_each(s, known, s->input, &s->inputs)) return false;
    for (int64_t i = 0; !known && i < s->columns; i++)
        if (!s->taken[i]) claim(s, i, s->input, &s->inputs);
    return s->inputs > 0 ||
           heed_fail(s->cx, HEED_ERR_USAGE, "%s: no column is left for the inputs%s", s->path,
                     s->columns == 1 ? ": there is only one; columns are parted by commas, in a .tsv by tabs" : "");
}

/* ---- numbers ---- */

/* A column into out[0], out[stride], ...; `numbers` is room for a column of doubles. */
static bool read_column(const struct sheet *s, int64_t column, double *numbers, float *out, int64_t stride) {
    if (!heed_table_numbers(s->cx, s->table, column, numbers, s->rows)) return false;
    for (int64_t i = 0; i < s->rows; i++) {
        out[i * stride] = (float)numbers[i];
        if (!isfinite(out[i * stride]))
            return sheet_fail(s, HEED_ERR_FORMAT, i, column, "'%s' is %s",
                              shown(heed_table_cell(s->cx, s->table, i, column)).text,
                              isfinite(numbers[i]) ? "too large a number" : "not a finite number");
    }
    return true;
}

static float *read_columns(const struct sheet *s, const int64_t *columns, int64_t count) {
    float *out = data_room(s->cx, s->rows, count, sizeof *out);
    double *numbers = data_room(s->cx, s->rows, 1, sizeof *numbers);
    bool ok = numbers;
    for (int64_t i = 0; ok && i < count; i++) ok = read_column(s, columns[i], numbers, out + i, count);
    heed_mem_free(s->cx, numbers);
    if (ok) return out;
    heed_mem_free(s->cx, out);
    return NULL;
}

static bool keep_names(const struct sheet *s, const int64_t *columns, int64_t count, char ***out) {
    if (!heed_table_has_header(s->table)) return true;
    struct word *words = data_room(s->cx, count, 1, sizeof *words);
    for (int64_t i = 0; words && i < count; i++) {
        words[i].text = heed_table_name(s->cx, s->table, columns[i]);
        words[i].length = strlen(words[i].text);
    }
    *out = words ? data_names(s->cx, words, count) : NULL;
    heed_mem_free(s->cx, words);
    return *out;
}

/* ---- all of it ---- */

/* A single row of words alone is a header without rows. */
static bool check_rows(const struct sheet *s) {
    bool numbers = s->rows > 1, range;
    double number;
    for (int64_t i = 0; s->rows == 1 && i < s->columns; i++)
        numbers |= number_read(heed_table_cell(s->cx, s->table, 0, i), &number, &range);
    return numbers || heed_fail(s->cx, HEED_ERR_FORMAT, "%s: the data set is empty: no row holds a number", s->path);
}

static bool open_sheet(struct sheet *s) {
    s->table = heed_table_open(s->cx, s->path, NULL);
    if (!s->table) return false;
    s->rows = heed_table_rows(s->table);
    s->columns = heed_table_columns(s->table);
    s->input = data_room(s->cx, s->columns, 1, sizeof *s->input);
    s->target = data_room(s->cx, s->columns, 1, sizeof *s->target);
    s->taken = data_room(s->cx, s->columns, 1, 1);
    if (!s->taken) return false;
    memset(s->taken, 0, (size_t)s->columns);
    return check_rows(s);
}

static void close_sheet(struct sheet *s) {
    heed_mem_free(s->cx, s->taken);
    heed_mem_free(s->cx, s->target);
    heed_mem_free(s->cx, s->input);
    heed_table_close(s->table);
}

static bool read_targets(const struct sheet *s, const heed_data_opts *opts, heed_data *out) {
    if (s->targets == 0) return true;
    if (!keep_names(s, s->target, s->targets, &out->y_names)) return false;
    if (opts->task == HEED_DATA_CLASSIFY) return sheet_classes(s, s->target[0], opts->like, out);
    out->outputs = s->targets;
    return (out->y = read_columns(s, s->target, s->targets));
}

bool data_read_table(heed_ctx *cx, const char *path, const heed_data_opts *opts, heed_data *out) {
    struct sheet s = {.cx = cx, .path = path};
    bool ok = open_sheet(&s) && choose_targets(&s, opts) && choose_inputs(&s, opts);
    out->n = s.rows;
    out->width = s.inputs;
    ok = ok && (out->x = read_columns(&s, s.input, s.inputs)) && keep_names(&s, s.input, s.inputs, &out->x_names) &&
         read_targets(&s, opts, out);
    close_sheet(&s);
    return ok;
}
