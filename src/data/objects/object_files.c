/* Where the pictures of a part and their objects are written. */
#include "data/objects/object_set.h"

#include <string.h>

heed_object_set *heed_object_set_open(heed_ctx *cx, const char *path, const char *part,
                                      const heed_object_set_opts *opts) {
    if (heed_failed(cx)) return NULL;
    if (!path || !part) return heed_fail(cx, HEED_ERR_USAGE, "object_set: path or part is NULL"), NULL;
    heed_object_set *set = heed_mem_new(cx, sizeof *set);
    if (!set) return NULL;
    *set = (heed_object_set){.hash = DATA_HASH};
    if (strcmp(path, "shapes") == 0 && object_set_shapes(cx, part, opts, set)) return set;
    heed_object_set_free(cx, set);
    return NULL;
}
