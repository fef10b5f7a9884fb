#include "cli/core/series_options.h"
#include "base/text.h"
#include "cli/core/table_options.h"
#include <stdio.h>
#include <string.h>

static const char *text_of(const struct options *o, const char *name) {
    return option_known(o, name) ? option_text(o, name) : NULL;
}

heed_history *series_load(const struct options *o, heed_ctx *cx, const char *path, const heed_history *like,
                          bool future) {
    const char *fill = option_text(o, "fill");
    const heed_history_opts opts = {.time = text_of(o, "time"),
                                    .target = text_of(o, "target"),
                                    .series = text_of(o, "series"),
                                    .covariates = text_of(o, "covariates"),
                                    .known = text_of(o, "known"),
                                    .calendar = text_of(o, "calendar"),
                                    .fill = strcmp(fill, "forward") == 0  ? HEED_FILL_FORWARD
                                            : strcmp(fill, "linear") == 0 ? HEED_FILL_LINEAR
                                                                          : HEED_FILL_NONE,
                                    .future = future,
                                    .like = like,
                                    .table = table_format(o)};
    heed_history *h = heed_history_load(cx, path, &opts);
    char rows[48], values[48];
    if (h && h->filled > 0 && !option_flag(o, "quiet"))
        fprintf(stderr, "%s: %s added and %s filled (%s)\n", strcmp(path, "-") == 0 ? "standard input" : path,
                cli_count(h->rows_added, "row", "rows", rows), cli_count(h->filled, "value", "values", values), fill);
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
