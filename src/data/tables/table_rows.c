/* The rows of a table as numbers: which are taken, and what their cells become. */
#include "data/tables/table_columns.h"
#include "data/tables/times.h"
#include "io/csv.h"
#include "io/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ROWS_AT_ONCE = 1 << 16 }; /* between looks at whether to stop */

const char *sheet_cell(const struct sheet *s, int64_t i, int64_t column) {
    return heed_table_cell(s->cx, s->table, s->row[i], column);
}

/* ---- missing values ---- */

/* The first chosen column whose value is missing, or -1. */
static int64_t missing_in(const struct sheet *s, int64_t row) {
    for (int64_t k = 0; k < s->inputs + s->targets; k++) {
        const int64_t column = k < s->inputs ? s->input[k] : s->target[k - s->inputs];
        if (heed_table_missing(s->table, row, column)) return column;
    }
    return -1;
}

bool sheet_take_rows(struct sheet *s, const heed_data_opts *opts, int64_t *skipped) {
    const int64_t all = heed_table_rows(s->table);
    s->row = data_room(s->cx, all, 1, sizeof *s->row);
    if (!s->row) return false;
    for (int64_t i = 0; i < all; i++) {
        if (i % ROWS_AT_ONCE == 0 && heed_cancelled(s->cx)) return false;
        const int64_t column = missing_in(s, i);
        s->row[s->rows] = i;
        if (column < 0)
            s->rows++;
        else if (!opts->skip_missing)
            return sheet_fail(s, HEED_ERR_FORMAT, s->rows, column,
                              "a missing value ('%s'); --skip-missing drops such rows, --drop the column",
                              escaped(heed_table_cell(s->cx, s->table, i, column)).s);
    }
    *skipped = all - s->rows;
    return s->rows > 0 || opts->task == HEED_DATA_INPUTS ||
           heed_fail(s->cx, HEED_ERR_FORMAT, "%s: each of the %lld rows has a missing value", s->path, (long long)all);
}

/* ---- numbers ---- */

bool sheet_numbers(const struct sheet *s, int64_t column, float *out, int64_t stride) {
    for (int64_t i = 0; i < s->rows; i++) {
        double number;
        if (i % ROWS_AT_ONCE == 0 && heed_cancelled(s->cx)) return false;
        if (!heed_table_number(s->table, s->row[i], column, &number))
            return sheet_fail(s, HEED_ERR_FORMAT, i, column, "'%s' is %s", escaped(sheet_cell(s, i, column)).s,
                              table_instead(s->table, s->row[i], column));
        out[i * stride] = (float)number;
        if (!isfinite(out[i * stride]))
            return sheet_fail(s, HEED_ERR_FORMAT, i, column, "'%s' is %s", escaped(sheet_cell(s, i, column)).s,
                              isfinite(number) ? "too large a number" : "not a finite number");
    }
    return true;
}

/* ---- categories ---- */

enum { MAX_CATEGORIES = 1000, FEW = 40 };

/* A column is text when most of its cells are no numbers: where most are, the others are taken for mistakes. *other:
 * the cells would be numbers with the other decimal mark. */
static bool is_text(const struct sheet *s, int64_t column, bool *other) {
    const char decimal = heed_table_decimal(s->table);
    int64_t numbers = 0, others = 0;
    for (int64_t i = 0; i < s->rows; i++) {
        const char *text = sheet_cell(s, i, column);
        if (table_is_number(s->table, text))
            numbers++;
        else
            others += number_is(text, decimal == '.' ? ',' : '.');
    }
    *other = others > 0 && numbers + others == s->rows;
    return numbers * 2 < s->rows;
}

static bool are_dates(const struct sheet *s, int64_t column) {
    heed_clock clock;
    double time;
    for (int64_t i = 0; i < s->rows; i++) {
        const char *text = sheet_cell(s, i, column);
        if (!times_order(text) && !(heed_time_read(text, &clock, &time) && clock.dates)) return false;
    }
    return true;
}

/* Whether n different texts are no categories; true after saying what they are instead. */
static bool no_categories(const struct sheet *s, int64_t column, int64_t n) {
    const bool different = n > 2 && n * 2 > s->rows; /* nearly every row has a text of its own */
    const bool dates = different && are_dates(s, column), prose = different && table_is_prose(s->table, column);
    const struct escaped name = escaped(heed_table_name(s->cx, s->table, column));
    if (dates)
        heed_fail(s->cx, HEED_ERR_RANGE,
                  "%s: column '%s' holds dates; --drop leaves it out, 'heed train forecast' predicts series over time",
                  s->path, name.s);
    else if (prose)
        heed_fail(s->cx, HEED_ERR_RANGE,
                  "%s: column '%s' holds texts, not categories; --text %s trains a model of text on it, --drop leaves "
                  "it out",
                  s->path, name.s, name.s);
    else if (n > MAX_CATEGORIES || (n > FEW && different))
        heed_fail(s->cx, HEED_ERR_RANGE,
                  "%s: column '%s': %lld different texts in %lld rows are too many for categories; --drop leaves the "
                  "column out",
                  s->path, name.s, (long long)n, (long long)s->rows);
    return heed_failed(s->cx);
}

/* The categories of a column, or NULL without a failure when it holds numbers. */
static char **find_categories(const struct sheet *s, int64_t column) {
    bool other;
    if (!is_text(s, column, &other) || other) return NULL; /* sheet_numbers says what is wrong with others */
    struct vocabulary v;
    char **names = NULL;
    if (vocabulary_of(s, column, &v) && !no_categories(s, column, v.n)) names = vocabulary_names(s->cx, &v);
    heed_mem_free(s->cx, v.list);
    return names;
}

static char **copy_categories(heed_ctx *cx, char **names) {
    struct vocabulary v;
    char **copy = vocabulary_like(cx, names, data_names_count(names), &v) ? vocabulary_names(cx, &v) : NULL;
    heed_mem_free(cx, v.list);
    return copy;
}

/* out->categories, columns and width. */
static bool choose_categories(const struct sheet *s, const heed_data *like, heed_data *out) {
    char ***list = data_room(s->cx, s->inputs, 1, sizeof *list);
    if (!list) return false;
    memset(list, 0, (size_t)s->inputs * sizeof *list);
    out->categories = list;
    out->columns = s->inputs;
    bool any = false;
    for (int64_t k = 0; k < s->inputs && !heed_failed(s->cx); k++) {
        if (!like)
            list[k] = find_categories(s, s->input[k]);
        else if (like->categories && k < like->columns && like->categories[k])
            list[k] = copy_categories(s->cx, like->categories[k]);
        any |= list[k] != NULL;
        out->width += list[k] ? data_names_count(list[k]) : 1;
    }
    if (!any) {
        heed_mem_free(s->cx, list);
        out->categories = NULL;
    }
    return !heed_failed(s->cx);
}

#define NAMES_SHOWN 5

static bool unknown_category(const struct sheet *s, int64_t i, int64_t column, char **names) {
    char list[NAMES_SHOWN * 100] = "";
    size_t used = 0;
    for (int k = 0; k < NAMES_SHOWN && names[k]; k++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", k ? ", " : "", escaped(names[k]).s);
    const int64_t n = data_names_count(names);
    return sheet_fail(s, HEED_ERR_RANGE, i, column, "category '%s' is not one of the %lld known: %s%s",
                      escaped(sheet_cell(s, i, column)).s, (long long)n, list, n > NAMES_SHOWN ? ", ..." : "");
}

/* One-hot, into out[0], out[stride], ... */
static bool read_categories(const struct sheet *s, int64_t column, char **names, float *out, int64_t stride) {
    struct vocabulary v;
    bool ok = vocabulary_like(s->cx, names, data_names_count(names), &v);
    for (int64_t i = 0; ok && i < s->rows; i++) {
        const int64_t number = vocabulary_find(&v, sheet_cell(s, i, column));
        for (int64_t k = 0; k < v.n; k++) out[i * stride + k] = k == number;
        if (number < 0) ok = unknown_category(s, i, column, names);
    }
    heed_mem_free(s->cx, v.list);
    return ok;
}

bool sheet_inputs(const struct sheet *s, const heed_data *like, heed_data *out) {
    if (!choose_categories(s, like, out)) return false;
    float *x = out->x = data_room(s->cx, s->rows, out->width, sizeof *out->x);
    for (int64_t k = 0; x && k < s->inputs; k++) {
        char **names = out->categories ? out->categories[k] : NULL;
        if (names ? !read_categories(s, s->input[k], names, x, out->width)
                  : !sheet_numbers(s, s->input[k], x, out->width))
            return false;
        x += names ? data_names_count(names) : 1;
    }
    return x;
}
