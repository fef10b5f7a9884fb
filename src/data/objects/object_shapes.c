/* Drawn pictures as a set: their classes are the shapes. */
#include "data/objects/object_set.h"
#include "io/text.h"

#include <string.h>

enum { DEFAULT_COUNT = 10000 };

bool object_set_shapes(heed_ctx *cx, const char *part, const heed_object_set_opts *opts, heed_object_set *set) {
    set->drawn = true;
    set->seed = opts ? opts->seed : 0;
    set->n = opts && opts->count > 0 ? opts->count : DEFAULT_COUNT;
    set->part = object_part(part);
    if (set->part == SCENE_PARTS)
        return heed_fail(cx, HEED_ERR_USAGE, "shapes: no part '%s': train, val or test", escaped(part).s);
    struct object_class shape[SCENE_SHAPES];
    for (int k = 0; k < SCENE_SHAPES; k++)
        shape[k] = (struct object_class){
            {scene_shape_names[k], strlen(scene_shape_names[k])}, .category = k + 1, .used = true};
    if (!object_set_classes(cx, set, "shapes", shape, SCENE_SHAPES, opts ? opts->classes : NULL)) return false;
    for (int k = 0; k < SCENE_SHAPES; k++) set->label[k] = shape[k].label;
    const uint64_t what[] = {set->seed, (uint64_t)set->part, (uint64_t)set->n};
    set->hash = data_hash(set->hash, what, sizeof what);
    set->hash = data_hash(set->hash, set->label, sizeof set->label);
    return true;
}
