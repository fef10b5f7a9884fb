/* heed classify --data: the texts of a table. */
#ifndef CLI_USE_CLASSIFY_TABLE_H
#define CLI_USE_CLASSIFY_TABLE_H

#include "cli/core/options.h"

/* --data, --text, --pair and --out. */
extern const heed_field classify_table_options[];
/* False after saying which options or words do not go together. */
bool classify_table_fits(struct options *o);
/* The exit status. */
int classify_table(const struct options *o);

#endif
