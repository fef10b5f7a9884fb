/* Fields for tables, which train, eval, predict and lesson share: a HEED_FIELD_TABLE inserts them into others. */
#ifndef TASK_TABLES_TABLE_FIELDS_H
#define TASK_TABLES_TABLE_FIELDS_H

#include "heed/data.h"
#include "io/fields.h"

/* clang-format off */
#define TABLE_FORMAT_FIELDS                                                                                           \
    {.name = "separator", .kind = HEED_FIELD_TEXT, .value = "CHARACTER",                                                   \
     .help = "what separates the columns of a table: a character, or the word tab or space; by default found in the "  \
             "first lines"},                                                                                           \
    {.name = "decimal", .kind = HEED_FIELD_TEXT, .value = "MARK",                                                          \
     .help = "decimal mark of a table's numbers, point or comma; by default a point, or a comma where the separator "  \
             "is a semicolon and numbers have commas"},                                                                  \
    {.name = "thousands", .kind = HEED_FIELD_TEXT, .value = "MARK",                                                        \
     .help = "what groups the digits of a table's numbers: point, comma, apostrophe or space; by default what "        \
             "numbers such as 1,234,567 and 1,234.5 show"}
/* clang-format on */

/* --use, --drop, --separator, --decimal, --thousands, --skip-missing. */
extern const heed_field table_fields[];

/* False with a sentence when a value is none or two contradict each other; the second looks at the separator alone. */
bool table_fields_fit(const struct values *v, char why[FIELD_WHY]);
bool table_separator_fits(const struct values *v, char why[FIELD_WHY]);
/* The character of --separator; 0: not given, or no separator. */
char table_separator(const struct values *v);

heed_table_options table_format(const struct values *v); /* separator, decimal mark and thousands */

/* Lists of columns, for heed_data_opts. */
struct table_columns {
    const char **use, **drop;
};
/* Puts the values of table_fields into opts. The lists stay until they are freed. */
bool table_ask(const struct values *v, heed_ctx *cx, struct table_columns *columns, heed_data_opts *opts);
void table_columns_free(heed_ctx *cx, struct table_columns *columns);

/* Notes how many rows were skipped; nothing where none were. */
void table_say_skipped(heed_ctx *cx, const char *path, int64_t skipped, int64_t left);

#endif
