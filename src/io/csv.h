/* What the readers of tables share. */
#ifndef IO_CSV_H
#define IO_CSV_H

#include "heed/io.h"

/* The delimiter of a table's text, which ends with a 0, by its first lines; a comma where none fits. */
char csv_sniff(const char *text, bool quotes);

/* Fails the context with "path: line 7, column 'age': 'x' is not a number", or what else the cell is. */
bool table_not_number(heed_ctx *cx, const heed_table *t, int64_t row, int64_t column);

#endif
