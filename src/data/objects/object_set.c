/* Pictures with objects: what is known of them all, and reading one. */
#include "data/objects/object_set.h"

#include <string.h>

/* A box within the picture keeps its bits. */
bool object_clip(double box[4], double width, double height) {
    const double size[2] = {width, height};
    for (int i = 0; i < 2; i++) {
        if (box[i] < 0) {
            box[2 + i] += box[i];
            box[i] = 0;
        }
        if (box[i] + box[2 + i] > size[i]) box[2 + i] = size[i] - box[i];
    }
    return box[2] > 0 && box[3] > 0;
}

void heed_object_set_free(heed_ctx *cx, heed_object_set *set) {
    if (!set) return;
    for (int64_t i = 0; set->picture && i < set->n; i++) heed_mem_free(cx, set->picture[i].path);
    heed_mem_free(cx, set->picture);
    heed_mem_free(cx, set->truth);
    heed_mem_free(cx, set->names);
    heed_mem_free(cx, set->category);
    heed_mem_free(cx, set);
}

/* ---- what is known of them all ---- */

int64_t heed_object_set_count(const heed_object_set *set) { return set ? set->n : 0; }
int64_t heed_object_set_classes(const heed_object_set *set) { return set ? set->classes : 0; }
const char *const *heed_object_set_names(const heed_object_set *set) {
    return set ? (const char *const *)set->names : NULL;
}
heed_object_notes heed_object_set_notes(const heed_object_set *set) {
    return set ? set->notes : (heed_object_notes){0};
}
uint64_t heed_object_set_hash(const heed_object_set *set) { return set ? set->hash : DATA_HASH; }
bool heed_object_set_endless(const heed_object_set *set) { return set && set->drawn; }

static bool has_picture(const heed_object_set *set, int64_t i) { return set && i >= 0 && (set->drawn || i < set->n); }

int64_t heed_object_set_id(const heed_object_set *set, int64_t i) {
    return has_picture(set, i) && !set->drawn ? set->picture[i].id : i;
}
const char *heed_object_set_path(const heed_object_set *set, int64_t i) {
    return has_picture(set, i) && !set->drawn ? set->picture[i].path : NULL;
}
int64_t heed_object_set_category(const heed_object_set *set, int32_t label) {
    return set && label >= 0 && label < set->classes ? set->category[label] : -1;
}

/* ---- one picture ---- */

static int64_t scene_truths(const heed_object_set *set, const struct scene *s, heed_object *out) {
    for (int k = 0; k < s->objects; k++) {
        const struct scene_object *o = &s->object[k];
        out[k] = (heed_object){.label = set->label[o->shape], .id = k + 1};
        out[k].box[0] = (double)o->box[0];
        out[k].box[1] = (double)o->box[1];
        out[k].box[2] = (double)o->box[2] - (double)o->box[0];
        out[k].box[3] = (double)o->box[3] - (double)o->box[1];
        out[k].area = out[k].box[2] * out[k].box[3];
    }
    return s->objects;
}

const heed_object *object_truths(const heed_object_set *set, int64_t i, heed_object *own, int64_t *n) {
    if (!set->drawn) {
        *n = set->picture[i].truths;
        return set->truth + set->picture[i].first;
    }
    struct scene s;
    scene_make(set->seed, set->part, i, &s);
    *n = scene_truths(set, &s, own);
    return own;
}

static bool read_drawn(heed_ctx *cx, const heed_object_set *set, int64_t i, heed_image *picture) {
    struct scene s;
    if (!heed_image_new(cx, SCENE_SIDE, SCENE_SIDE, 3, picture)) return false;
    scene_make(set->seed, set->part, i, &s);
    scene_draw(&s, picture->data);
    return true;
}

/* Boxes are of the picture as it is stored, or, where only that fits, as its EXIF orientation turns it. */
static bool read_file(heed_ctx *cx, const struct object_picture *p, heed_image *picture) {
    for (int turned = 0; turned < 2; turned++) {
        const heed_image_opts opts = {.mode = HEED_IMAGE_RGB, .orient = turned == 1};
        if (!heed_image_read(cx, p->path, &opts, picture)) return false;
        if (picture->width == p->width && picture->height == p->height) return true;
        if (turned == 1 || picture->width != p->height || picture->height != p->width) break;
        heed_image_free(cx, picture);
    }
    heed_fail(cx, HEED_ERR_FORMAT, "%s: %lld x %lld pixels, its annotations are of %lld x %lld", p->path,
              (long long)picture->width, (long long)picture->height, (long long)p->width, (long long)p->height);
    heed_image_free(cx, picture);
    return false;
}

bool heed_object_set_read(heed_ctx *cx, const heed_object_set *set, int64_t i, heed_image *picture,
                          heed_object **objects, int64_t *n) {
    heed_object own[MAX_SHAPES];
    int64_t truths;
    if (picture) *picture = (heed_image){0};
    if (objects) *objects = NULL;
    if (n) *n = 0;
    if (heed_failed(cx)) return false;
    if (!objects || !n) return heed_fail(cx, HEED_ERR_USAGE, "object_set: objects or n is NULL");
    if (!has_picture(set, i)) return heed_fail(cx, HEED_ERR_RANGE, "object_set: no picture %lld", (long long)i);
    const heed_object *truth = object_truths(set, i, own, &truths);
    heed_object *list = heed_mem_new(cx, (size_t)truths * sizeof *list);
    if (!list) return false;
    if (picture && !(set->drawn ? read_drawn(cx, set, i, picture) : read_file(cx, &set->picture[i], picture))) {
        heed_mem_free(cx, list);
        return false;
    }
    const double width = set->drawn ? SCENE_SIDE : (double)set->picture[i].width,
                 height = set->drawn ? SCENE_SIDE : (double)set->picture[i].height;
    for (int64_t k = 0; k < truths; k++) {
        list[*n] = truth[k];
        if (object_clip(list[*n].box, width, height)) ++*n;
    }
    *objects = list;
    return true;
}
