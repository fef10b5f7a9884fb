/* What the readers of tables share. */
#ifndef IO_CSV_H
#define IO_CSV_H

#include "heed/io.h"

/* The delimiter of a table's text, which ends with a 0, by its first lines; a comma where none fits. */
char csv_sniff(const char *text, bool quotes);

/* Whether a text is a number as this table writes them, which is quick; its range is not looked at. */
bool table_is_number(const heed_table *t, const char *text);
/* Whether a column holds texts of several words, rather than names or categories. */
bool table_is_prose(const heed_table *t, int64_t column);

/* What a cell is that is not a number, to follow "'x' is": "not a number", "missing", ... */
const char *table_instead(const heed_table *t, int64_t row, int64_t column);

#endif
