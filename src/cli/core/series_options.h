/* Series over time: options of tables that hold them, which train, eval and forecast share. */
#ifndef CLI_CORE_SERIES_OPTIONS_H
#define CLI_CORE_SERIES_OPTIONS_H

#include "cli/core/options.h"
#include "heed/forecast.h"

/* clang-format off */
#define FILL_OPTION                                                                                                    \
    {.name = "fill", .kind = HEED_FIELD_CHOICE, .standard = "none", .value = "HOW", .choices = "none forward linear",      \
     .help = "missing values and gaps of series: repeat the value before, draw a line to the next, or refuse them "    \
             "(none), one of"}
/* clang-format on */

/* Reads a table as the options say; like NULL: what they do not say is found. Fills what was filled on standard error.
 */
heed_history *series_load(const struct options *o, heed_ctx *cx, const char *path, const heed_history *like,
                          bool future);

/* "OT", "store 1" or "store 1:sales": what target k of a series is called. */
#define SERIES_NAME 160
void series_name(const heed_history *h, int64_t series, int64_t target, char out[SERIES_NAME]);

#endif
