/* Classes of a table's column: whole numbers from 0, or words, which are sorted and numbered. */
#include "data/tables/table_columns.h"
#include "io/csv.h"
#include "io/text.h"

#include <math.h>

/* ---- numbers ---- */

static bool all_numbers(const struct sheet *s, int64_t column) {
    for (int64_t i = 0; i < s->rows; i++)
        if (!heed_table_number(s->table, s->row[i], column, NULL)) return false;
    return true;
}

static bool read_numbers(const struct sheet *s, int64_t column, const heed_data *like, heed_data *out) {
    const int64_t classes = like ? like->classes : DATA_MOST_CLASSES;
    int32_t most = 0;
    for (int64_t i = 0; i < s->rows; i++) {
        const char *text = sheet_cell(s, i, column);
        double number;
        if (!heed_table_number(s->table, s->row[i], column, &number) || !(number == floor(number)))
            return sheet_fail(s, HEED_ERR_FORMAT, i, column, "'%s' is not a class: classes are whole numbers here",
                              escaped(text).s);
        if (number < 0.0 || number >= (double)classes)
            return sheet_fail(s, HEED_ERR_RANGE, i, column, "class %s is out of range, 0 to %lld", escaped(text).s,
                              (long long)classes - 1);
        out->label[i] = (int32_t)number;
        if (out->label[i] > most) most = out->label[i];
    }
    out->classes = like ? classes : most + 1;
    return true;
}

/* ---- words ---- */

static bool number_words(const struct sheet *s, int64_t column, const struct vocabulary *v, heed_data *out) {
    for (int64_t i = 0; i < s->rows; i++) {
        const int64_t number = vocabulary_find(v, sheet_cell(s, i, column));
        if (number < 0)
            return sheet_fail(s, HEED_ERR_RANGE, i, column, "class '%s' is not one of the %lld known",
                              escaped(sheet_cell(s, i, column)).s, (long long)v->n);
        out->label[i] = (int32_t)number;
    }
    return true;
}

static bool read_words(const struct sheet *s, int64_t column, const heed_data *like, heed_data *out) {
    struct vocabulary v;
    bool ok = like ? vocabulary_like(s->cx, like->class_names, like->classes, &v) : vocabulary_of(s, column, &v);
    if (ok && v.n > DATA_MOST_CLASSES)
        ok = heed_fail(s->cx, HEED_ERR_RANGE, "%s: %lld classes, at most %d are allowed", s->path, (long long)v.n,
                       DATA_MOST_CLASSES);
    if (ok && !like && v.n > 2 && v.n * 2 > s->rows && table_is_prose(s->table, column))
        ok = heed_fail(s->cx, HEED_ERR_RANGE,
                       "%s: column '%s' holds texts, not classes; --target names the column of the classes", s->path,
                       escaped(heed_table_name(s->cx, s->table, column)).s);
    out->classes = v.n;
    ok = ok && number_words(s, column, &v, out) && (out->class_names = vocabulary_names(s->cx, &v));
    heed_mem_free(s->cx, v.list);
    return ok;
}

bool sheet_classes(const struct sheet *s, int64_t column, const heed_data *like, heed_data *out) {
    out->label = data_room(s->cx, s->rows, 1, sizeof *out->label);
    if (!out->label) return false;
    const bool numbers = like ? !like->class_names : all_numbers(s, column);
    return (numbers ? read_numbers : read_words)(s, column, like, out);
}

bool data_keep_class_names(heed_ctx *cx, const heed_data *like, heed_data *out) {
    struct vocabulary v;
    if (!like || !like->class_names || !out->label) return true;
    out->class_names = vocabulary_like(cx, like->class_names, like->classes, &v) ? vocabulary_names(cx, &v) : NULL;
    heed_mem_free(cx, v.list);
    return out->class_names;
}
