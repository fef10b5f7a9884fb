/* From what a file lists to a set: where the pictures lie, which are missing, and which object is of which. */
#include "base/file.h"
#include "data/objects/object_set.h"
#include "data/recognise.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_PATH = 4096, AT_ONCE = 1 << 10, LOOKED_AT = 50 };

/* ---- the list ---- */

void *object_list_grow(heed_ctx *cx, void *list, int64_t *n, int64_t *room, size_t size) {
    if (*n == *room) {
        const int64_t more = 2 * *room + 64;
        list = heed_mem_resize(cx, list, (size_t)more * size);
        if (!list) return NULL;
        *room = more;
    }
    ++*n;
    return list;
}

bool object_list_add_picture(struct object_list *l, int64_t id, const char *path, int64_t width, int64_t height) {
    const int64_t i = l->pictures;
    char *copy = heed_mem_new(l->cx, strlen(path) + 1);
    struct object_picture *larger =
        copy ? object_list_grow(l->cx, l->picture, &l->pictures, &l->picture_room, sizeof *larger) : NULL;
    if (!larger) {
        heed_mem_free(l->cx, copy);
        return false;
    }
    l->picture = larger;
    larger[i] = (struct object_picture){.id = id, .path = strcpy(copy, path), .width = width, .height = height};
    return true;
}

bool object_list_add_object(struct object_list *l, const heed_object *o, int64_t picture, int64_t category) {
    const int64_t i = l->lines;
    struct object_line *larger = object_list_grow(l->cx, l->line, &l->lines, &l->line_room, sizeof *larger);
    if (!larger) return false;
    l->line = larger;
    larger[i] = (struct object_line){*o, picture, category};
    return true;
}

void object_list_free(struct object_list *l) {
    for (int64_t i = 0; i < l->pictures; i++) heed_mem_free(l->cx, l->picture[i].path);
    heed_mem_free(l->cx, l->picture);
    heed_mem_free(l->cx, l->line);
}

/* ---- where the pictures lie ---- */

static bool join(char out[LONGEST_PATH], const char *folder, const char *name) {
    if (name[0] == '/' || !*folder) folder = "";
    const char *between = *folder ? "/" : "";
    return snprintf(out, LONGEST_PATH, "%s%s%s", folder, between, name) < LONGEST_PATH;
}

/* Whether any of the first pictures lies there. */
static bool has_pictures(const struct object_list *l, const char *folder) {
    char path[LONGEST_PATH];
    for (int64_t i = 0; i < l->pictures && i < LOOKED_AT; i++)
        if (join(path, folder, l->picture[i].path) && data_is_file(path)) return true;
    return false;
}

/* The folder that file names are of: the one that is given, or where the file lies, or the one around it; in it images;
 * in that TAIL, which is what follows the last _ in the file's name: annotations/instances_train2017.json is of
 * train2017. The first that has pictures counts. */
static void find_folder(const struct object_list *l, const char *given, char out[LONGEST_PATH]) {
    char own[LONGEST_PATH], tail[LONGEST_PATH];
    const char *name = strrchr(l->file, '/');
    if (given)
        snprintf(own, sizeof own, "%s", given);
    else
        snprintf(own, sizeof own, "%.*s", name ? (int)(name - l->file) : 1, name ? l->file : ".");
    name = name ? name + 1 : l->file;
    const char *const end = name + strcspn(name, ".");
    const char *from = end;
    while (from > name && from[-1] != '_') from--;
    snprintf(tail, sizeof tail, "/%.*s", (int)(end - from), from);
    for (int i = 0; i < 8; i++) {
        const int n =
            snprintf(out, LONGEST_PATH, "%s%s%s%s", own, i & 4 ? "/.." : "", i & 2 ? "/images" : "", i & 1 ? tail : "");
        if (n < LONGEST_PATH && has_pictures(l, out)) return;
    }
    snprintf(out, LONGEST_PATH, "%s", own);
}

/* The size of a picture that does not have one yet, from its header. */
static bool find_size(heed_ctx *cx, struct object_picture *p) {
    struct file_map map;
    heed_image_info info;
    if (p->width > 0 && p->height > 0) return true;
    if (!file_map_open(cx, p->path, &map)) return false;
    const bool ok = heed_image_inspect(cx, p->path, map.data, map.size, &info);
    file_map_close(&map);
    if (!ok) return false;
    p->width = info.width;
    p->height = info.height;
    return true;
}

/* Moves the pictures that exist to the set; place[i]: where picture i of the list has gone, or -1. */
static bool take_pictures(struct object_list *l, const heed_object_set_opts *opts, heed_object_set *set,
                          int64_t *place) {
    char folder[LONGEST_PATH], path[LONGEST_PATH];
    const bool unseen = opts && opts->unseen;
    find_folder(l, opts ? opts->pictures : NULL, folder);
    for (int64_t i = 0; i < l->pictures; i++) {
        struct object_picture *p = &l->picture[i];
        place[i] = -1;
        if (i % AT_ONCE == 0 && heed_cancelled(l->cx)) return false;
        const bool fits = join(path, folder, p->path);
        if (!unseen && (!fits || !data_is_file(path))) {
            set->notes.pictures++;
            continue;
        }
        set->hash = data_hash(set->hash, p->path, strlen(p->path));
        set->hash = data_hash(set->hash, &p->id, sizeof p->id);
        if (unseen && (p->width == 0 || p->height == 0))
            p->width = p->height = OBJECT_MAX_SIDE; /* nothing is cut off */
        if (!unseen) {
            char *whole = heed_mem_new(l->cx, strlen(path) + 1);
            if (!whole) return false;
            heed_mem_free(l->cx, p->path);
            p->path = strcpy(whole, path);
            if (!find_size(l->cx, p)) return false;
        }
        place[i] = set->n;
        set->picture[set->n++] = *p;
        p->path = NULL;
    }
    if (set->n > 0) return true;
    if (l->pictures == 0) return heed_fail(l->cx, HEED_ERR_FORMAT, "%s: no pictures are listed", l->file);
    return heed_fail(l->cx, HEED_ERR_FILE, "%s: none of the %lld pictures can be found in %s, beginning with %s",
                     l->file, (long long)l->pictures, folder, l->picture[0].path);
}

/* ---- whose objects they are ---- */

static uint64_t hash_object(uint64_t hash, const heed_object *o) {
    const int64_t numbers[] = {o->label, o->crowd, o->id};
    hash = data_hash(hash, o->box, sizeof o->box);
    hash = data_hash(hash, &o->area, sizeof o->area);
    return data_hash(hash, numbers, sizeof numbers);
}

static void count_notes(heed_object_set *set, const struct object_picture *p) {
    int64_t left = 0;
    for (int64_t k = 0; k < p->truths; k++) {
        heed_object o = set->truth[p->first + k];
        const heed_object before = o;
        const bool stays = object_clip(o.box, (double)p->width, (double)p->height);
        left += stays;
        set->notes.empty += !stays;
        set->notes.clipped += stays && memcmp(o.box, before.box, sizeof o.box) != 0;
        set->notes.crowds += stays && o.crowd;
        set->hash = hash_object(set->hash, &before);
    }
    set->notes.bare += left == 0;
}

/* The objects of a picture stay in the order of the file. */
static bool take_objects(const struct object_list *l, const int64_t *place, heed_object_set *set) {
    int64_t all = 0;
    for (int64_t i = 0; i < l->lines; i++)
        if (place[l->line[i].picture] >= 0) set->picture[place[l->line[i].picture]].truths++;
    for (int64_t i = 0; i < set->n; i++) {
        set->picture[i].first = all;
        all += set->picture[i].truths;
        set->picture[i].truths = 0;
    }
    set->truth = data_room(l->cx, all, 1, sizeof *set->truth);
    if (!set->truth) return false;
    for (int64_t i = 0; i < l->lines; i++) {
        if (place[l->line[i].picture] < 0) continue;
        struct object_picture *p = &set->picture[place[l->line[i].picture]];
        set->truth[p->first + p->truths++] = l->line[i].object;
    }
    for (int64_t i = 0; i < set->n; i++) count_notes(set, &set->picture[i]);
    return true;
}

bool object_set_fill(struct object_list *l, const heed_object_set_opts *opts, heed_object_set *set) {
    int64_t *place = data_room(l->cx, l->pictures, 1, sizeof *place);
    set->picture = data_room(l->cx, l->pictures, 1, sizeof *set->picture);
    const bool ok = place && set->picture && take_pictures(l, opts, set, place) && take_objects(l, place, set);
    heed_mem_free(l->cx, place);
    return ok;
}
