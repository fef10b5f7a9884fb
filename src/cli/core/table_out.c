#include "cli/core/table_out.h"
#include "base/file.h"
#include "io/text.h"
#include <stdio.h>
#include <string.h>

enum { MAX_ADDED = 1024 };

struct table_out {
    heed_ctx *cx;
    heed_table *table; /* NULL: none */
    struct file_writer *file;
    char path[4096];
    char delimiter, decimal;
    int added;
    int64_t row, empty; /* the next one; those without a prediction */
};

static void write_cell(struct table_out *t, const char *cell, bool first) {
    if (!first) file_write(t->file, &t->delimiter, 1);
    const char marks[] = {t->delimiter, '"', '\n', '\r', 0};
    const size_t n = strlen(cell);
    const bool blanks = n > 0 && (strchr(" \t", cell[0]) || strchr(" \t", cell[n - 1]));
    if (!blanks && !cell[strcspn(cell, marks)]) {
        file_write(t->file, cell, n);
        return;
    }
    file_write(t->file, "\"", 1);
    for (const char *c = cell; *c; c++) file_write(t->file, *c == '"' ? "\"\"" : c, *c == '"' ? 2 : 1);
    file_write(t->file, "\"", 1);
}

static void write_added(struct table_out *t, const char *const *cells) {
    const int64_t before = heed_table_columns(t->table);
    for (int i = 0; i < t->added; i++) {
        char text[NUMBER_LONGEST];
        const char *cell = cells ? cells[i] : "";
        if (t->decimal == ',' && number_is(cell, '.') && strlen(cell) < sizeof text) {
            strcpy(text, cell);
            char *mark = strchr(text, '.');
            if (mark) *mark = ',';
            cell = text;
        }
        write_cell(t, cell, before == 0 && i == 0);
    }
    file_write(t->file, "\n", 1);
}

/* The next row, with these cells added; NULL: empty ones. */
static void write_row(struct table_out *t, const char *const *cells) {
    for (int64_t i = 0; i < heed_table_columns(t->table); i++)
        write_cell(t, heed_table_cell(t->cx, t->table, t->row, i), i == 0);
    write_added(t, cells);
    t->empty += !cells;
    t->row++;
}

/* A name that no column of the table has. */
static const char *free_name(const struct table_out *t, const char *name, char out[256]) {
    snprintf(out, 256, "%s", name);
    for (int k = 2; t->table && heed_table_find(t->cx, t->table, out) >= 0 && k < 1000; k++)
        snprintf(out, 256, "%.200s_%d", name, k);
    return out;
}

static void write_names(struct table_out *t, const char *const *names) {
    for (int64_t i = 0; i < heed_table_columns(t->table); i++)
        write_cell(t, heed_table_name(t->cx, t->table, i), i == 0);
    for (int i = 0; i < t->added; i++) write_cell(t, free_name(t, names[i], (char[256]){0}), !t->table && i == 0);
    file_write(t->file, "\n", 1);
}

struct table_out *table_out_open(heed_ctx *cx, const char *path, heed_table *table, const char *const *names) {
    struct table_out *t = heed_mem_new(cx, sizeof *t);
    const char delimiter = table ? heed_table_delimiter(table) : ',';
    if (!t) {
        heed_table_close(table);
        return NULL;
    }
    *t = (struct table_out){.cx = cx,
                            .table = table,
                            .delimiter = delimiter == ' ' ? ',' : delimiter,
                            .decimal = table ? heed_table_decimal(table) : '.'};
    snprintf(t->path, sizeof t->path, "%s", path);
    while (names[t->added] && t->added < MAX_ADDED) t->added++;
    t->file = file_write_open(cx, path);
    if (t->file && (!table || heed_table_has_header(table))) write_names(t, names);
    return t;
}

bool table_out_put(struct table_out *t, int64_t line, const char *const *cells) {
    if (heed_failed(t->cx)) return false;
    if (!t->table) {
        write_added(t, cells);
        t->row++;
        return !heed_failed(t->cx);
    }
    while (t->row < heed_table_rows(t->table) && line > 0 && heed_table_line(t->table, t->row) < line)
        write_row(t, NULL);
    if (t->row < heed_table_rows(t->table)) write_row(t, cells);
    return !heed_failed(t->cx);
}

bool table_out_close(struct table_out *t, const struct options *o, bool good) {
    if (!t) return false;
    while (good && t->row < heed_table_rows(t->table) && !heed_failed(t->cx)) write_row(t, NULL);
    good = good && !heed_failed(t->cx);
    if (good)
        good = file_write_commit(t->file);
    else
        file_write_abort(t->file);
    if (good && !option_flag(o, "quiet")) {
        char rows[48];
        fprintf(stderr, "%s: %s, %lld without a prediction\n", strcmp(t->path, "-") == 0 ? "standard output" : t->path,
                text_count(t->row, "row", "rows", rows), (long long)t->empty);
    }
    heed_table_close(t->table);
    heed_mem_free(t->cx, t);
    return good;
}
