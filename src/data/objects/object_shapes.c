/* Drawn pictures as a set: their classes are the shapes. */
#include "data/objects/object_set.h"
#include "io/text.h"

#include <string.h>

enum { DEFAULT_COUNT = 10000 };

/* The number of a part; SCENE_PARTS: there is none of this name. */
static enum scene_part part_of(const char *part) {
    static const char *const names[] = {"train", "val", "valid", "validation", "dev", "test"};
    static const enum scene_part parts[] = {SCENE_TRAIN, SCENE_VAL, SCENE_VAL, SCENE_VAL, SCENE_VAL, SCENE_TEST};
    for (int i = 0; i < 6; i++)
        if (strcmp(part, names[i]) == 0) return parts[i];
    return SCENE_PARTS;
}

bool object_set_shapes(heed_ctx *cx, const char *part, const heed_object_set_opts *opts, heed_object_set *set) {
    const char *const *classes = opts && opts->classes ? opts->classes : scene_shape_names;
    struct word *words = NULL;
    int64_t n = 0;
    while (classes[n]) n++;
    set->drawn = true;
    set->seed = opts ? opts->seed : 0;
    set->n = opts && opts->count > 0 ? opts->count : DEFAULT_COUNT;
    set->part = part_of(part);
    if (set->part == SCENE_PARTS)
        return heed_fail(cx, HEED_ERR_USAGE, "shapes: no part '%s': train, val or test", escaped(part).s);
    words = data_room(cx, n, 1, sizeof *words);
    set->category = data_room(cx, n, 1, sizeof *set->category);
    for (int64_t k = 0; words && k < n; k++) words[k] = (struct word){classes[k], strlen(classes[k])};
    if (words && set->category) set->names = data_names(cx, words, n);
    heed_mem_free(cx, words);
    if (!set->names) return false;
    set->classes = n;
    for (int64_t k = 0; k < n; k++) set->category[k] = -1;
    for (int k = 0; k < SCENE_SHAPES; k++) {
        set->label[k] = object_label(set->names, n, scene_shape_names[k]);
        if (set->label[k] < 0)
            return heed_fail(cx, HEED_ERR_RANGE, "shapes: class '%s' is not one of the %lld known",
                             scene_shape_names[k], (long long)n);
        set->category[set->label[k]] = k + 1;
    }
    const uint64_t what[] = {set->seed, (uint64_t)set->part, (uint64_t)set->n};
    set->hash = data_hash(DATA_HASH, what, sizeof what);
    set->hash = data_hash(set->hash, set->label, sizeof set->label);
    return true;
}
