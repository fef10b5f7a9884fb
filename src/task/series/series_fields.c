#include "task/series/series_fields.h"
#include "base/text.h"
#include "task/tables/table_fields.h"
#include <stdio.h>
#include <string.h>

heed_history *series_load(heed_ctx *cx, const struct values *v, const char *path, const heed_history *like,
                          bool future) {
    const char *fill = value_text(v, "fill");
    const heed_history_opts opts = {.time = value_text(v, "time"),
                                    .target = value_text(v, "target"),
                                    .series = value_text(v, "series"),
                                    .covariates = value_text(v, "covariates"),
                                    .known = value_text(v, "known"),
                                    .calendar = value_text(v, "calendar"),
                                    .fill = strcmp(fill, "forward") == 0  ? HEED_FILL_FORWARD
                                            : strcmp(fill, "linear") == 0 ? HEED_FILL_LINEAR
                                                                          : HEED_FILL_NONE,
                                    .future = future,
                                    .like = like,
                                    .table = table_format(v)};
    heed_history *h = heed_history_load(cx, path, &opts);
    char rows[48], values[48];
    if (h && h->filled > 0)
        heed_note(cx, HEED_LOG_INFO, "%s: %s added and %s filled (%s)",
                  strcmp(path, "-") == 0 ? "standard input" : path, text_count(h->rows_added, "row", "rows", rows),
                  text_count(h->filled, "value", "values", values), fill);
    return h;
}

void series_name(const heed_history *h, int64_t series, int64_t target, char out[SERIES_NAME]) {
    const char *name = h->series_names ? h->series_names[series] : NULL, *of = h->target_names[target];
    const bool both = name && h->targets > 1;
    char text[2 * SERIES_NAME];
    snprintf(text, sizeof text, "%.*s%s%.*s", name ? SERIES_NAME - 1 : 0, name ? name : "", both ? ":" : "",
             !name || both ? SERIES_NAME - 1 : 0, of);
    text_printable(out, SERIES_NAME, text, strlen(text));
}
