/* Detections in COCO's result JSON. */
#include "base/file.h"
#include "data/objects/object_set.h"
#include "io/json_scan.h"

#include <stdlib.h>
#include <string.h>

#define MAX_BYTES ((size_t)4 << 30)
enum { AT_ONCE = 1 << 14 };

/* A number of the file and the place that it stands for. */
struct pair {
    int64_t id, place;
};
struct reader {
    heed_ctx *cx;
    const heed_object_set *set;
    struct json_scan scan;
    struct pair *category; /* sorted */
    int64_t categories;
    heed_detection *list;
    int64_t n, room;
};

static int by_id(const void *x, const void *y) {
    const struct pair *a = x, *b = y;
    return (a->id > b->id) - (a->id < b->id);
}

static bool list_categories(struct reader *r) {
    const heed_object_set *const set = r->set;
    r->category = data_room(r->cx, set->classes, 1, sizeof *r->category);
    if (!r->category) return false;
    for (int64_t k = 0; k < set->classes; k++)
        if (set->category[k] >= 0) r->category[r->categories++] = (struct pair){set->category[k], k};
    if (r->categories > 0) qsort(r->category, (size_t)r->categories, sizeof *r->category, by_id);
    return true;
}

/* The number of a picture by its id; -1: there is none. Pictures of files are sorted by their ids. */
static int64_t find_picture(const heed_object_set *set, int64_t id) {
    if (set->drawn) return id;
    int64_t low = 0, high = set->n;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (set->picture[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < set->n && set->picture[low].id == id ? low : -1;
}

static bool read_one(struct reader *r) {
    static const char *const names[] = {"image_id", "category_id", "score", "bbox"};
    struct json_scan *const s = &r->scan;
    int64_t image = 0, category = 0;
    heed_detection d = {0};
    unsigned found = 0;
    for (bool more = json_scan_object(s); more && json_scan_member(s);) {
        int k = 0;
        while (k < 4 && strcmp(s->key, names[k]) != 0) k++;
        more = k == 0   ? json_scan_int(s, &image)
               : k == 1 ? json_scan_int(s, &category)
               : k == 2 ? json_scan_number(s, &d.score)
               : k == 3 ? coco_read_box(s, d.box)
                        : json_scan_skip(s);
        found |= 1u << k;
    }
    if (heed_failed(r->cx) || (r->n % AT_ONCE == 0 && heed_cancelled(r->cx))) return false;
    for (int k = 0; k < 4; k++)
        if (!(found & 1u << k))
            return json_scan_fail(s, "a detection without '%s': it has image_id, category_id, bbox and score",
                                  names[k]);
    const struct pair wanted = {.id = category};
    const struct pair *known =
        r->categories > 0 ? bsearch(&wanted, r->category, (size_t)r->categories, sizeof wanted, by_id) : NULL;
    d.picture = find_picture(r->set, image);
    if (d.picture < 0)
        return json_scan_fail(s, "image_id %lld is none of the %lld pictures", (long long)image, (long long)r->set->n);
    if (!known)
        return json_scan_fail(s, "category_id %lld is none of the %lld categories", (long long)category,
                              (long long)r->categories);
    d.label = (int32_t)known->place;
    const int64_t i = r->n;
    heed_detection *larger = object_list_grow(r->cx, r->list, &r->n, &r->room, sizeof d);
    if (!larger) return false;
    r->list = larger;
    larger[i] = d;
    return true;
}

static bool read_all(struct reader *r) {
    for (bool more = json_scan_array(&r->scan); more && json_scan_item(&r->scan);) more = read_one(r);
    return !heed_failed(r->cx);
}

heed_detection *heed_detections_read(heed_ctx *cx, const heed_object_set *set, const char *path, int64_t *n) {
    size_t size;
    if (n) *n = 0;
    if (heed_failed(cx)) return NULL;
    if (!set || !path || !n) return heed_fail(cx, HEED_ERR_USAGE, "detections_read: the set, path or n is NULL"), NULL;
    unsigned char *text = file_read_regular(cx, path, MAX_BYTES, &size);
    if (!text) return NULL;
    struct reader r = {.cx = cx, .set = set};
    json_scan_begin(cx, &r.scan, path, (const char *)text, size);
    if (json_scan_kind(&r.scan) == HEED_JSON_OBJECT)
        heed_fail(cx, HEED_ERR_FORMAT, "%s: an object, not COCO's results, which are a list of detections", path);
    bool ok = !heed_failed(cx) && list_categories(&r) && read_all(&r);
    ok = json_scan_done(&r.scan) && ok;
    if (ok && r.n == 0) ok = (r.list = heed_mem_new(cx, sizeof *r.list)); /* none, which is no failure */
    heed_mem_free(cx, text);
    heed_mem_free(cx, r.category);
    *n = ok ? r.n : 0;
    if (ok) return r.list;
    heed_mem_free(cx, r.list);
    return NULL;
}
