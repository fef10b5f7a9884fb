/* Strings and lists of ids that grow by doubling. A failed call leaves them as they were. */
#include "base/checked.h"
#include "heed/text.h"

#include <string.h>

bool heed_string_put(heed_ctx *cx, heed_string *to, const char *s, size_t size) {
    size_t need;
    if (heed_failed(cx)) return false;
    if (!to || (!s && size > 0)) return heed_fail(cx, HEED_ERR_USAGE, "string_put: the string or what to put is NULL");
    if (!size_add(to->size, size, &need) || need > SIZE_MAX / 4)
        return heed_fail(cx, HEED_ERR_RANGE, "string_put: the string is too long");
    if (need + 1 > to->room) {
        const size_t room = need + 1 < 24 ? 48 : 2 * (need + 1);
        char *larger = heed_mem_resize(cx, to->s, room);
        if (!larger) return false;
        to->s = larger;
        to->room = room;
    }
    if (size > 0) memcpy(to->s + to->size, s, size);
    to->size = need;
    to->s[need] = 0;
    return true;
}

void heed_string_free(heed_ctx *cx, heed_string *s) {
    if (!s) return;
    heed_mem_free(cx, s->s);
    *s = (heed_string){0};
}

bool heed_ids_put(heed_ctx *cx, heed_ids *to, int32_t id) {
    if (heed_failed(cx)) return false;
    if (!to) return heed_fail(cx, HEED_ERR_USAGE, "ids_put: the list is NULL");
    if (to->count == to->room) {
        const int64_t room = to->room ? 2 * to->room : 32;
        size_t bytes;
        if (!size_mul((size_t)room, sizeof *to->id, &bytes))
            return heed_fail(cx, HEED_ERR_RANGE, "ids_put: the list is too long");
        int32_t *larger = heed_mem_resize(cx, to->id, bytes);
        if (!larger) return false;
        to->id = larger;
        to->room = room;
    }
    to->id[to->count++] = id;
    return true;
}

void heed_ids_free(heed_ctx *cx, heed_ids *ids) {
    if (!ids) return;
    heed_mem_free(cx, ids->id);
    *ids = (heed_ids){0};
}
