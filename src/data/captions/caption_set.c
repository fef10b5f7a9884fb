/* Pictures with captions as a set: from a folder, or drawn. The set is only read once it is made. */
#include "data/captions/caption_set.h"
#include "data/data.h"
#include "data/objects/object_set.h"
#include "io/text.h"

#include <stdio.h>
#include <string.h>

enum { DEFAULT_COUNT = 10000, DEFAULT_TESTS = 200 };

/* ---- the list ---- */

void captioned_free(heed_ctx *cx, struct captioned *one) {
    heed_mem_free(cx, one->path);
    heed_mem_free(cx, one->text);
}

static char *copy(heed_ctx *cx, const char *text) {
    char *const out = heed_mem_new(cx, strlen(text) + 1);
    return out ? strcpy(out, text) : NULL;
}

bool caption_add(heed_ctx *cx, heed_caption_set *set, const char *path, const char *text) {
    struct captioned one = {copy(cx, path), copy(cx, text)};
    const int64_t i = set->n;
    struct captioned *const larger =
        one.path && one.text ? object_list_grow(cx, set->list, &set->n, &set->room, sizeof *larger) : NULL;
    if (!larger) {
        captioned_free(cx, &one);
        return false;
    }
    set->list = larger;
    larger[i] = one;
    return true;
}

/* ---- where it is ---- */

/* The list of a part in a folder: its own folder's, or the folder's, which is of every part; *whole: the latter. */
static bool find_list(const char *path, const char *part, char file[FOUND_PATH], bool *whole) {
    char below[FOUND_PATH];
    *whole = data_is_file(path);
    if (*whole) return snprintf(file, FOUND_PATH, "%s", path) < FOUND_PATH;
    for (const char *const *name = object_part_names(object_part(part)); *name; name++)
        if (snprintf(below, FOUND_PATH, "%s/%s", path, *name) < FOUND_PATH && caption_file(below, file)) return true;
    *whole = !data_has_parts(path);
    return *whole && caption_file(path, file);
}

static bool open_drawn(heed_ctx *cx, const heed_caption_set_opts *o, heed_caption_set *set) {
    if (o->side != 0 && o->side != CAPTION_SIDE && o->side != CAPTION_SIDE / 2)
        return heed_fail(cx, HEED_ERR_RANGE, "captions: pictures of %lld pixels a side: drawn ones have %d or %d",
                         (long long)o->side, CAPTION_SIDE, CAPTION_SIDE / 2);
    set->drawn = true;
    set->seed = o->seed;
    set->side = o->side > 0 ? o->side : CAPTION_SIDE;
    set->n = o->count > 0 ? o->count : set->part == SCENE_TEST ? DEFAULT_TESTS : DEFAULT_COUNT;
    const uint64_t what[] = {set->seed, (uint64_t)set->part, (uint64_t)set->n, (uint64_t)set->side};
    set->hash = data_hash(set->hash, what, sizeof what);
    return true;
}

static bool open_list(heed_ctx *cx, const char *file, heed_caption_set *set) {
    if (!caption_read(cx, file, set)) return false;
    for (int64_t i = 0; i < set->n; i++) {
        set->hash = data_hash(set->hash, set->list[i].path, strlen(set->list[i].path) + 1);
        set->hash = data_hash(set->hash, set->list[i].text, strlen(set->list[i].text) + 1);
    }
    return true;
}

heed_caption_set *heed_caption_set_open(heed_ctx *cx, const char *path, const char *part,
                                        const heed_caption_set_opts *opts) {
    char file[FOUND_PATH];
    bool whole = false;
    const heed_caption_set_opts o = opts ? *opts : (heed_caption_set_opts){0};
    if (heed_failed(cx)) return NULL;
    if (!path || !part) return heed_fail(cx, HEED_ERR_USAGE, "captions: path or part is NULL"), NULL;
    const enum scene_part which = object_part(part);
    if (which == SCENE_PARTS)
        return heed_fail(cx, HEED_ERR_USAGE, "captions: no part '%s': train, val or test", escaped(part).s), NULL;
    const bool drawn = strcmp(path, "captions") == 0;
    const bool found = !drawn && find_list(path, part, file, &whole);
    if (!drawn && o.optional && (!found || (whole && which != SCENE_TRAIN))) return NULL;
    if (!drawn && !found)
        return heed_fail(cx, HEED_ERR_FILE,
                         "%s: no captions of part '%s': captions.tsv (file, tab, caption) or metadata.jsonl (file_name "
                         "and text) in it, or in its folder %s",
                         path, escaped(part).s, escaped(part).s),
               NULL;
    heed_caption_set *const set = heed_mem_new(cx, sizeof *set);
    if (!set) return NULL;
    *set = (heed_caption_set){.part = which, .hash = DATA_HASH};
    if (drawn ? open_drawn(cx, &o, set) : open_list(cx, file, set)) return set;
    heed_caption_set_free(cx, set);
    return NULL;
}

void heed_caption_set_free(heed_ctx *cx, heed_caption_set *set) {
    if (!set) return;
    for (int64_t i = 0; !set->drawn && i < set->n; i++) captioned_free(cx, &set->list[i]);
    heed_mem_free(cx, set->list);
    heed_mem_free(cx, set);
}

int64_t heed_caption_set_count(const heed_caption_set *set) { return set ? set->n : 0; }
heed_caption_notes heed_caption_set_notes(const heed_caption_set *set) {
    return set ? set->notes : (heed_caption_notes){0};
}
uint64_t heed_caption_set_hash(const heed_caption_set *set) { return set ? set->hash : 0; }
bool heed_caption_set_endless(const heed_caption_set *set) { return set && set->drawn; }

/* ---- one of them ---- */

static bool has(const heed_caption_set *set, int64_t i) { return set && i >= 0 && (set->drawn || i < set->n); }

static bool check(heed_ctx *cx, const heed_caption_set *set, int64_t i) {
    if (heed_failed(cx)) return false;
    return has(set, i) || heed_fail(cx, HEED_ERR_RANGE, "captions: no picture %lld", (long long)i);
}

const char *heed_caption_set_path(const heed_caption_set *set, int64_t i) {
    return has(set, i) && !set->drawn ? set->list[i].path : NULL;
}

char *heed_caption_set_text(heed_ctx *cx, const heed_caption_set *set, int64_t i) {
    struct scene scene;
    heed_caption shown, said;
    if (!check(cx, set, i)) return NULL;
    if (!set->drawn) return copy(cx, set->list[i].text);
    const uint64_t way = caption_scene(set->seed, set->part, i, &scene, &shown, &said);
    return heed_caption_say(cx, &said, way);
}

bool heed_caption_set_shown(heed_ctx *cx, const heed_caption_set *set, int64_t i, heed_caption *out) {
    struct scene scene;
    heed_caption said;
    if (!check(cx, set, i)) return false;
    if (!out || !set->drawn)
        return heed_fail(cx, HEED_ERR_USAGE, "captions: %s",
                         out ? "what a picture shows is known of drawn ones only"
                             : "the place for what is shown is NULL");
    caption_scene(set->seed, set->part, i, &scene, out, &said);
    return true;
}

static bool read_drawn(heed_ctx *cx, const heed_caption_set *set, int64_t i, heed_image *out) {
    struct scene scene;
    heed_caption shown, said;
    uint8_t whole[CAPTION_SIDE * CAPTION_SIDE * 3];
    if (!heed_image_new(cx, set->side, set->side, 3, out)) return false;
    caption_scene(set->seed, set->part, i, &scene, &shown, &said);
    scene_draw(&scene, set->side == CAPTION_SIDE ? out->data : whole);
    if (set->side == CAPTION_SIDE) return true;
    for (int64_t y = 0; y < set->side; y++)
        for (int64_t x = 0; x < 3 * set->side; x++) {
            const int64_t row = 3 * CAPTION_SIDE;
            const uint8_t *const at = whole + 2 * y * row + 6 * (x / 3) + x % 3;
            out->data[y * 3 * set->side + x] = (uint8_t)((at[0] + at[3] + at[row] + at[row + 3] + 2) / 4);
        }
    return true;
}

bool heed_caption_set_read(heed_ctx *cx, const heed_caption_set *set, int64_t i, heed_image *out) {
    const heed_image_opts opts = {.mode = HEED_IMAGE_RGB, .orient = true};
    if (out) *out = (heed_image){0};
    if (!check(cx, set, i)) return false;
    if (!out) return heed_fail(cx, HEED_ERR_USAGE, "captions: the picture is NULL");
    return set->drawn ? read_drawn(cx, set, i, out) : heed_image_read(cx, set->list[i].path, &opts, out);
}
