/* Where the objects of a part are written: a file, or a directory in one of the usual layouts. */
#include "data/objects/object_set.h"
#include "data/recognise.h"
#include "io/text.h"

#include <stdio.h>
#include <string.h>

/* Around the name of a part. */
static const char *const layouts[][2] = {
    {"annotations/instances_", "2017.json"},
    {"annotations/instances_", "2014.json"},
    {"annotations/instances_", ".json"},
    {"annotations/", ".json"},
    {"instances_", "2017.json"},
    {"instances_", ".json"},
    {"", ".json"},
    {"", "/_annotations.coco.json"},
    {"", "/annotations.json"},
    {"annotations/", ".csv"},
    {"", ".csv"},
    {"", ".tsv"},
    {"", "/_annotations.csv"},
    {"", "/annotations.csv"},
};

static const char *const part_names[SCENE_PARTS + 1][5] = {
    [SCENE_TRAIN] = {"train"}, [SCENE_VAL] = {"val", "valid", "validation", "dev"}, [SCENE_TEST] = {"test"}};

const char *const *object_part_names(enum scene_part part) { return part_names[part]; }

enum scene_part object_part(const char *part) {
    for (int which = 0; which < SCENE_PARTS; which++)
        for (int k = 0; part_names[which][k]; k++)
            if (strcmp(part, part_names[which][k]) == 0) return (enum scene_part)which;
    return SCENE_PARTS;
}

/* The file of a directory that lists a part. */
static bool part_file(const char *folder, enum scene_part part, char out[FOUND_PATH]) {
    for (int k = 0; part_names[part][k]; k++)
        for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
            const int n =
                snprintf(out, FOUND_PATH, "%s/%s%s%s", folder, layouts[i][0], part_names[part][k], layouts[i][1]);
            if (n < FOUND_PATH && data_is_file(out)) return true;
        }
    return false;
}

static bool is_json(const char *path) {
    const size_t n = strlen(path);
    return text_ends(path, n, ".json") || text_ends(path, n, ".json.gz");
}

static bool fill(heed_ctx *cx, const char *path, const char *part, const heed_object_set_opts *opts,
                 heed_object_set *set) {
    if (strcmp(path, "shapes") == 0) return object_set_shapes(cx, part, opts, set);
    return (is_json(path) ? coco_read : object_table_read)(cx, path, opts, set);
}

heed_object_set *heed_object_set_open(heed_ctx *cx, const char *path, const char *part,
                                      const heed_object_set_opts *opts) {
    char found[FOUND_PATH];
    if (heed_failed(cx)) return NULL;
    if (!path || !part) return heed_fail(cx, HEED_ERR_USAGE, "object_set: path or part is NULL"), NULL;
    const bool folder = data_is_folder(path) && strcmp(path, "shapes") != 0, optional = opts && opts->optional;
    if (optional && data_is_file(path) && strcmp(part, "train") != 0) return NULL;
    if (folder && !part_file(path, object_part(part), found)) {
        if (!optional)
            heed_fail(cx, HEED_ERR_FILE,
                      "%s: no annotations of part '%s': annotations/instances_train2017.json, train.json, train.csv or "
                      "train/_annotations.coco.json, and such names with val or test",
                      path, escaped(part).s);
        return NULL;
    }
    heed_object_set *set = heed_mem_new(cx, sizeof *set);
    if (!set) return NULL;
    *set = (heed_object_set){.hash = DATA_HASH};
    if (fill(cx, folder ? found : path, part, opts, set)) return set;
    heed_object_set_free(cx, set);
    return NULL;
}
