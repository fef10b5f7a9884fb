#include "task/vision/picture_data.h"
#include "data/data.h"
#include "data/recognise.h"
#include "task/tables/table_data.h"
#include <string.h>

/* Whether there are classes that go with pictures: in a file of MNIST's, or in the second of two arrays. */
static bool has_labels(const char *path) {
    return data_is_folder(path) ? data_has_labels(path) : table_data_has_parts(path) || strchr(path, ',');
}

/* Pictures without classes are all of one. */
static bool label(heed_ctx *cx, heed_data *data) {
    if (data->label) return true;
    data->label = data_room(cx, data->n, 1, sizeof *data->label);
    if (!data->label) return false;
    memset(data->label, 0, (size_t)data->n * sizeof *data->label);
    data->classes = 1;
    return true;
}

heed_picture_set *picture_data_load(heed_ctx *cx, const char *path, const char *part,
                                    const heed_picture_set_opts *opts) {
    const bool loose = opts && opts->loose;
    if (heed_picture_set_is(path) || (loose && data_is_folder(path) && data_has_pictures(path)))
        return heed_picture_set_open(cx, path, part, opts);
    const bool optional = opts && opts->optional, parts = table_data_has_parts(path);
    if (optional && (!parts || strcmp(part, "val") == 0)) return NULL;
    const heed_data_opts ask = {.task = loose && !has_labels(path) ? HEED_DATA_INPUTS : HEED_DATA_CLASSIFY,
                                .part = parts ? part : NULL,
                                .like = opts ? opts->like : NULL};
    heed_data *data = table_data_load(cx, path, &ask);
    if (data && !label(cx, data)) {
        heed_data_free(cx, data);
        return NULL;
    }
    heed_picture_set *set = data ? heed_picture_set_of(cx, data) : NULL;
    if (!set && data) heed_fail_in(cx, "%s", path);
    return set;
}
