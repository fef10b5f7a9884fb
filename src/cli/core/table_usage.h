/* Whether the options for tables go together; false after saying what is wrong (exit status EXIT_USAGE). */
#ifndef CLI_CORE_TABLE_USAGE_H
#define CLI_CORE_TABLE_USAGE_H

#include "cli/core/options.h"
#include "task/tables/table_fields.h"

static inline bool table_usage(const struct options *o) {
    char why[FIELD_WHY];
    return table_fields_fit(options_values(o), why) ||
           (cli_error(EXIT_USAGE, "%s: %s", options_command(o), why), false);
}

#endif
