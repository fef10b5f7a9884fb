/* COCO's JSON of instances, read in one pass: images, annotations and categories may come in any order, and only what
 * is kept of them takes memory. */
#include "base/file.h"
#include "data/objects/object_set.h"
#include "io/json_scan.h"
#include "io/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BYTES ((size_t)4 << 30)
enum { AT_ONCE = 1 << 14 };

struct category {
    int64_t id;
    char *name;
    bool used;
};
struct coco {
    heed_ctx *cx;
    struct json_scan scan;
    struct object_list list;
    struct category *category;
    int64_t categories, category_room;
    int64_t numbered; /* annotations that have an id */
};

/* ---- the three kinds of records ---- */

/* Members that a record has to have, as bits. */
static bool has(struct coco *c, const char *what, int64_t number, unsigned found, const char *const *names) {
    for (int i = 0; names[i]; i++)
        if (!(found & 1u << i))
            return heed_fail(c->cx, HEED_ERR_FORMAT, "%s: %s[%lld] has no '%s': heed reads COCO's instances",
                             c->scan.name, what, (long long)number, names[i]);
    return !heed_failed(c->cx);
}

static bool keep_text(struct coco *c, char **out) {
    const char *text;
    heed_mem_free(c->cx, *out); /* of a key that occurs twice */
    *out = NULL;
    if (!json_scan_text(&c->scan, &text)) return false;
    *out = heed_mem_new(c->cx, strlen(text) + 1);
    return *out && strcpy(*out, text);
}

static bool read_category(struct coco *c) {
    static const char *const names[] = {"id", "name", NULL};
    struct json_scan *s = &c->scan;
    struct category one = {0};
    unsigned found = 0;
    for (bool more = json_scan_object(s); more && json_scan_member(s);) {
        if (strcmp(s->key, "id") == 0) {
            found |= 1;
            more = json_scan_int(s, &one.id);
        } else if (strcmp(s->key, "name") == 0) {
            found |= 2;
            more = keep_text(c, &one.name);
        } else {
            more = json_scan_skip(s);
        }
    }
    const int64_t k = c->categories;
    struct category *list = NULL;
    if (has(c, "categories", k, found, names))
        list = object_list_grow(c->cx, c->category, &c->categories, &c->category_room, sizeof one);
    if (!list) {
        heed_mem_free(c->cx, one.name);
        return false;
    }
    c->category = list;
    list[k] = one;
    return true;
}

static bool read_image(struct coco *c) {
    static const char *const names[] = {"id", "file_name", NULL};
    struct json_scan *s = &c->scan;
    int64_t id = 0, width = 0, height = 0;
    char *path = NULL;
    unsigned found = 0;
    for (bool more = json_scan_object(s); more && json_scan_member(s);) {
        if (strcmp(s->key, "id") == 0) {
            found |= 1;
            more = json_scan_int(s, &id);
        } else if (strcmp(s->key, "file_name") == 0) {
            found |= 2;
            more = keep_text(c, &path);
        } else if (strcmp(s->key, "width") == 0) {
            more = json_scan_int(s, &width);
        } else if (strcmp(s->key, "height") == 0) {
            more = json_scan_int(s, &height);
        } else {
            more = json_scan_skip(s);
        }
    }
    const int64_t i = c->list.pictures;
    bool ok = has(c, "images", i, found, names);
    if (ok && (width < 0 || width > OBJECT_MAX_SIDE || height < 0 || height > OBJECT_MAX_SIDE))
        ok = heed_fail(c->cx, HEED_ERR_FORMAT, "%s: images[%lld] is said to have %lld x %lld pixels", s->name,
                       (long long)i, (long long)width, (long long)height);
    ok = ok && object_list_add_picture(&c->list, id, path, width, height);
    heed_mem_free(c->cx, path);
    return ok;
}

bool coco_read_box(struct json_scan *s, double box[4]) {
    int n = 0;
    for (bool more = json_scan_array(s); more && json_scan_item(s);) {
        double value;
        more = json_scan_number(s, &value);
        if (n < 4) box[n] = value;
        n++;
    }
    return heed_failed(s->cx) || n == 4 || json_scan_fail(s, "a box of %d numbers: x, y, width and height are 4", n);
}

static bool read_annotation(struct coco *c) {
    static const char *const names[] = {"image_id", "category_id", "bbox", NULL};
    struct json_scan *s = &c->scan;
    heed_object o = {.area = -1};
    int64_t image = 0, category = 0;
    unsigned found = 0;
    for (bool more = json_scan_object(s); more && json_scan_member(s);) {
        if (strcmp(s->key, "image_id") == 0) {
            found |= 1;
            more = json_scan_int(s, &image);
        } else if (strcmp(s->key, "category_id") == 0) {
            found |= 2;
            more = json_scan_int(s, &category);
        } else if (strcmp(s->key, "bbox") == 0) {
            found |= 4;
            more = coco_read_box(s, o.box);
        } else if (strcmp(s->key, "id") == 0) {
            found |= 8;
            more = json_scan_int(s, &o.id);
        } else if (strcmp(s->key, "area") == 0) {
            more = json_scan_number(s, &o.area);
        } else if (strcmp(s->key, "iscrowd") == 0) {
            more = json_scan_bool(s, &o.crowd);
        } else {
            more = json_scan_skip(s);
        }
    }
    const int64_t i = c->list.lines;
    if (i % AT_ONCE == 0 && heed_cancelled(c->cx)) return false;
    if (!has(c, "annotations", i, found, names)) return false;
    if (found & 8) c->numbered++;
    if (!(found & 8)) o.id = i + 1;
    if (o.area < 0) o.area = o.box[2] * o.box[3];
    return object_list_add_object(&c->list, &o, image, category);
}

/* ---- the file ---- */

static bool read_list(struct coco *c, bool (*read)(struct coco *)) {
    for (bool more = json_scan_array(&c->scan); more && json_scan_item(&c->scan);) more = read(c);
    return !heed_failed(c->cx);
}

static bool read_document(struct coco *c) {
    static const char *const names[] = {"images", "annotations", "categories"};
    static bool (*const readers[])(struct coco *) = {read_image, read_annotation, read_category};
    struct json_scan *s = &c->scan;
    bool found[3] = {false};
    if (json_scan_kind(s) == HEED_JSON_ARRAY)
        return heed_fail(c->cx, HEED_ERR_FORMAT,
                         "%s: a list, as of detections, not COCO's annotations: an object with images, annotations and "
                         "categories",
                         s->name);
    for (bool more = json_scan_object(s); more && json_scan_member(s);) {
        int k = 0;
        while (k < 3 && strcmp(s->key, names[k]) != 0) k++;
        if (k < 3 && found[k]) return json_scan_fail(s, "a second list of %s", names[k]);
        if (k < 3) found[k] = true;
        more = k < 3 ? read_list(c, readers[k]) : json_scan_skip(s);
    }
    if (heed_failed(c->cx)) return false;
    for (int k = 0; k < 3; k++)
        if (!found[k])
            return heed_fail(c->cx, HEED_ERR_FORMAT,
                             "%s: no '%s': COCO's annotations have images, annotations and categories", s->name,
                             names[k]);
    return true;
}

/* ---- ids ---- */

static int by_category(const void *x, const void *y) {
    const struct category *a = x, *b = y;
    return (a->id > b->id) - (a->id < b->id);
}
static int by_picture(const void *x, const void *y) {
    const struct object_picture *a = x, *b = y;
    return (a->id > b->id) - (a->id < b->id);
}
static int by_number(const void *x, const void *y) {
    const int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return (a > b) - (a < b);
}

static bool twice(struct coco *c, const char *what, int64_t id) {
    return heed_fail(c->cx, HEED_ERR_FORMAT, "%s: two %s have the id %lld", c->scan.name, what, (long long)id);
}

static bool sort_ids(struct coco *c) {
    struct object_list *const l = &c->list;
    if (c->categories > 0) qsort(c->category, (size_t)c->categories, sizeof *c->category, by_category);
    for (int64_t k = 1; k < c->categories; k++)
        if (c->category[k].id == c->category[k - 1].id) return twice(c, "categories", c->category[k].id);
    if (l->pictures > 0) qsort(l->picture, (size_t)l->pictures, sizeof *l->picture, by_picture);
    for (int64_t i = 1; i < l->pictures; i++)
        if (l->picture[i].id == l->picture[i - 1].id) return twice(c, "images", l->picture[i].id);
    if (c->numbered > 0 && c->numbered < l->lines)
        return heed_fail(c->cx, HEED_ERR_FORMAT, "%s: %lld of the %lld annotations have no id", c->scan.name,
                         (long long)(l->lines - c->numbered), (long long)l->lines);
    int64_t *ids = data_room(c->cx, l->lines, 1, sizeof *ids);
    for (int64_t i = 0; ids && i < l->lines; i++) ids[i] = l->line[i].object.id;
    if (ids && l->lines > 0) qsort(ids, (size_t)l->lines, sizeof *ids, by_number);
    for (int64_t i = 1; ids && i < l->lines && !heed_failed(c->cx); i++)
        if (ids[i] == ids[i - 1]) twice(c, "annotations", ids[i]);
    heed_mem_free(c->cx, ids);
    return !heed_failed(c->cx);
}

/* The places of each annotation's picture and category. */
static bool find_ids(struct coco *c) {
    struct object_list *const l = &c->list;
    for (int64_t i = 0; i < l->lines; i++) {
        const struct object_picture image = {.id = l->line[i].picture};
        const struct category wanted = {.id = l->line[i].category};
        const struct object_picture *p =
            l->pictures > 0 ? bsearch(&image, l->picture, (size_t)l->pictures, sizeof image, by_picture) : NULL;
        struct category *k =
            c->categories > 0 ? bsearch(&wanted, c->category, (size_t)c->categories, sizeof wanted, by_category) : NULL;
        if (!p)
            return heed_fail(c->cx, HEED_ERR_RANGE, "%s: annotations[%lld]: no image has the id %lld", c->scan.name,
                             (long long)i, (long long)image.id);
        if (!k)
            return heed_fail(c->cx, HEED_ERR_RANGE, "%s: annotations[%lld]: category %lld is none of the %lld",
                             c->scan.name, (long long)i, (long long)wanted.id, (long long)c->categories);
        k->used = true;
        l->line[i].picture = p - l->picture;
        l->line[i].category = k - c->category;
    }
    return true;
}

static bool name_classes(struct coco *c, const char *const *known, heed_object_set *set) {
    struct object_class *list = data_room(c->cx, c->categories, 1, sizeof *list);
    for (int64_t k = 0; list && k < c->categories; k++)
        list[k] = (struct object_class){{c->category[k].name, strlen(c->category[k].name)},
                                        .category = c->category[k].id,
                                        .used = c->category[k].used};
    const bool ok = list && object_set_classes(c->cx, set, c->scan.name, list, c->categories, known);
    for (int64_t i = 0; ok && i < c->list.lines; i++)
        c->list.line[i].object.label = list[c->list.line[i].category].label;
    heed_mem_free(c->cx, list);
    return ok;
}

bool coco_read(heed_ctx *cx, const char *path, const heed_object_set_opts *opts, heed_object_set *set) {
    size_t size;
    unsigned char *text = file_read_regular(cx, path, MAX_BYTES, &size);
    if (!text) return false;
    struct coco c = {.cx = cx, .list = {.cx = cx, .file = path}};
    json_scan_begin(cx, &c.scan, path, (const char *)text, size);
    bool ok = read_document(&c);
    ok = json_scan_done(&c.scan) && ok;
    heed_mem_free(cx, text);
    ok = ok && sort_ids(&c) && find_ids(&c) && name_classes(&c, opts ? opts->classes : NULL, set) &&
         object_set_fill(&c.list, opts, set);
    for (int64_t k = 0; k < c.categories; k++) heed_mem_free(cx, c.category[k].name);
    heed_mem_free(cx, c.category);
    object_list_free(&c.list);
    return ok;
}
