/* Options for tables, which train, eval, predict and lesson share: an HEED_FIELD_TABLE inserts them into a command's
 * own.
 */
#ifndef CLI_CORE_TABLE_OPTIONS_H
#define CLI_CORE_TABLE_OPTIONS_H

#include "cli/core/options.h"
#include "heed/data.h"

/* clang-format off */
#define TABLE_FORMAT_OPTIONS                                                                                           \
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
extern const heed_field table_options[];

/* False after saying what is wrong with them (exit status EXIT_USAGE). */
bool table_usage(const struct options *o);

/* Of --separator; 0: none was asked for, or what was asked for is none. */
char table_separator(const struct options *o);
bool table_separator_ok(const struct options *o); /* false after saying what is wrong with it */

heed_table_options table_format(const struct options *o); /* what both say */

/* Lists of columns, for heed_data_opts. */
struct table_columns {
    const char **use, **drop;
};
/* Puts what was asked for into opts. The lists stay until they are freed. */
bool table_ask(const struct options *o, heed_ctx *cx, struct table_columns *columns, heed_data_opts *opts);
void table_columns_free(heed_ctx *cx, struct table_columns *columns);

/* On standard error, where rows were skipped, unless --quiet. */
void table_say_skipped(const struct options *o, const char *path, int64_t skipped, int64_t left);

#endif
