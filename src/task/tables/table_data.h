/* Data sets by path or word, as regress and classify take them. */
#ifndef TASK_TABLES_TABLE_DATA_H
#define TASK_TABLES_TABLE_DATA_H

#include "heed/data.h"

/* heed_data_load, and words for pictures that are drawn, of which 2,000 others are part "test": "digits", 10,000 to
 * train on, and "same-shapes", 20,000. */
heed_data *table_data_load(heed_ctx *cx, const char *path, const heed_data_opts *opts);
bool table_data_has_parts(const char *path);     /* a directory, or digits */
bool table_data_has_test_part(const char *path); /* one of them that has a test part */

#endif
