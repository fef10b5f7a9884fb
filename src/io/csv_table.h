/* A table as csv.c cuts it and csv_looks.c looks at it. */
#ifndef IO_CSV_TABLE_H
#define IO_CSV_TABLE_H

#include "heed/io.h"

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
    char delimiter, decimal, thousands; /* thousands 0: numbers are not grouped */
    char (*numbers)[24];                /* names of columns without a header */
};

static inline const char *csv_cell(const heed_table *t, size_t row, size_t column) { /* row 0: the header, if any */
    return t->text + t->cells[row * t->columns + column];
}
/* A number with the table's decimal mark and thousands separator; *range as number_read has it. */
bool csv_number(const heed_table *t, const char *text, double *out, bool *range);

/* The decimal mark and the thousands separator: those asked for, or what the first rows show. */
void csv_find_marks(heed_table *t, const heed_table_options *asked);
/* Whether the first row names the columns. */
bool csv_finds_header(const heed_table *t);

#endif
