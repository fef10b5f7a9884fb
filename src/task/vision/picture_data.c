#include "task/vision/picture_data.h"
#include "task/tables/table_data.h"
#include <string.h>

heed_picture_set *picture_data_load(heed_ctx *cx, const char *path, const char *part,
                                    const heed_picture_set_opts *opts) {
    if (heed_picture_set_is(path)) return heed_picture_set_open(cx, path, part, opts);
    const bool optional = opts && opts->optional, parts = table_data_has_parts(path);
    if (optional && (!parts || strcmp(part, "val") == 0)) return NULL;
    const heed_data_opts ask = {
        .task = HEED_DATA_CLASSIFY, .part = parts ? part : NULL, .like = opts ? opts->like : NULL};
    heed_data *data = table_data_load(cx, path, &ask);
    heed_picture_set *set = data ? heed_picture_set_of(cx, data) : NULL;
    if (!set && data) heed_fail_in(cx, "%s", path);
    return set;
}
