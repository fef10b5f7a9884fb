/* Series over time: fields of tables that hold them, which train, eval and forecast share. */
#ifndef TASK_SERIES_SERIES_FIELDS_H
#define TASK_SERIES_SERIES_FIELDS_H

#include "heed/forecast.h"
#include "io/fields.h"

/* clang-format off */
#define FILL_FIELD                                                                                                    \
    {.name = "fill", .kind = HEED_FIELD_CHOICE, .standard = "none", .value = "HOW", .choices = "none forward linear",      \
     .help = "missing values and gaps of series: repeat the value before, draw a line to the next, or refuse them "    \
             "(none), one of"}
/* clang-format on */

/* Reads a table as the fields say; like NULL: what they do not say is found. Notes what was filled. */
heed_history *series_load(heed_ctx *cx, const struct values *v, const char *path, const heed_history *like,
                          bool future);

/* "OT", "store 1" or "store 1:sales": what target k of a series is called. */
#define SERIES_NAME 160
void series_name(const heed_history *h, int64_t series, int64_t target, char out[SERIES_NAME]);

#endif
