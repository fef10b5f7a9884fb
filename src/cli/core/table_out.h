/* --out FILE.csv: the rows of a table with what a model says of each. */
#ifndef CLI_CORE_TABLE_OUT_H
#define CLI_CORE_TABLE_OUT_H

#include "cli/core/options.h"
#include "heed/data.h"

#define TABLE_OUT_OPTION                                                                                               \
    {                                                                                                                  \
        .name = "out", .letter = 'o', .kind = HEED_FIELD_FILE, .value = "FILE.csv",                                    \
        .help =                                                                                                        \
            "write the table with columns for the predictions instead of lines on standard output; rows that were "    \
            "skipped have empty ones"                                                                                  \
    }

struct table_out;

/* Written beside `path` and renamed by table_out_close. The separator and decimal mark are the table's; of NULL, of
 * what is no table, there are the added columns alone. `names`, which end in NULL: those columns. */
struct table_out *table_out_open(heed_ctx *cx, const char *path, heed_table *table, const char *const *names);
/* What is added to the row that begins on `line` of the table (0: to the next one); cells that are numbers have a
 * decimal point. Rows before it that nothing was said of get empty cells. */
bool table_out_put(struct table_out *t, int64_t line, const char *const *cells);
/* The rest of the rows; with `good` the file gets its name. Frees t and closes the table. */
bool table_out_close(struct table_out *t, const struct options *o, bool good);

#endif
