/* A set of pictures with objects, as its files share it. */
#ifndef DATA_OBJECTS_OBJECT_SET_H
#define DATA_OBJECTS_OBJECT_SET_H

#include "data/data.h"
#include "data/objects/scene.h"
#include "heed/objects.h"

enum { OBJECT_MAX_SIDE = 1 << 24 }; /* of a picture */

/* Of a file. */
struct object_picture {
    int64_t id;
    char *path;
    int64_t width, height; /* 0: not known yet */
    int64_t first, truths; /* its objects, where they lie in the list of all */
};

struct heed_object_set {
    char **names; /* of the classes; NULL at the end */
    int64_t classes;
    int64_t *category; /* (classes) of the data; -1: the data have no such class */
    heed_object_notes notes;
    uint64_t hash;
    int64_t n;
    /* of files: pictures by id, and their objects in the order of the file. Boxes are as written; what reaches out of
     * a picture is cut off when they are read, since COCO's measures take them as they are. */
    struct object_picture *picture;
    heed_object *truth;
    /* drawn */
    bool drawn;
    uint64_t seed;
    enum scene_part part;
    int32_t label[SCENE_SHAPES];
};

/* Cuts off what lies outside of the picture. false: nothing is left. */
bool object_clip(double box[4], double width, double height);
/* The truths of picture i as they are written, also those of no size; of drawn pictures into `own`, which has room for
 * MAX_SHAPES. */
const heed_object *object_truths(const heed_object_set *set, int64_t i, heed_object *own, int64_t *n);
/* By its name, or another usual one, such as dev; SCENE_PARTS: there is none of that name. */
enum scene_part object_part(const char *part);
/* What its folder or file may be called; NULL at the end. */
const char *const *object_part_names(enum scene_part part);
bool object_set_shapes(heed_ctx *cx, const char *part, const heed_object_set_opts *opts, heed_object_set *set);

/* A class of the data, which are called `file` in sentences. */
struct object_class {
    struct word name;
    int64_t category; /* COCO's */
    bool used;        /* by an object */
    int32_t label;    /* as the model numbers it; -1: it does not know it, nor is it used */
};
/* Sets the labels and names the classes: `known`, a list that ends in NULL, or else those of the data in their order.
 */
bool object_set_classes(heed_ctx *cx, heed_object_set *set, const char *file, struct object_class *list, int64_t n,
                        const char *const *known);

/* ---- read from a file ---- */

/* What a file lists, before the pictures are looked for. */
struct object_line {
    heed_object object;
    int64_t picture;  /* its place in the list, */
    int64_t category; /* and COCO's number of its class; ids until they are looked up */
};
struct object_list {
    heed_ctx *cx;
    const char *file;
    struct object_picture *picture; /* paths as they are written */
    int64_t pictures, picture_room;
    struct object_line *line;
    int64_t lines, line_room;
};
/* A place more at the end of a list of `size` bytes each; NULL and a failed context when there is no memory. */
void *object_list_grow(heed_ctx *cx, void *list, int64_t *n, int64_t *room, size_t size);
bool object_list_add_picture(struct object_list *l, int64_t id, const char *path, int64_t width, int64_t height);
bool object_list_add_object(struct object_list *l, const heed_object *o, int64_t picture, int64_t category);
void object_list_free(struct object_list *l);
/* Makes the set from a list: looks for the pictures, leaves out those that are missing, and counts what is to be said.
 */
bool object_set_fill(struct object_list *l, const heed_object_set_opts *opts, heed_object_set *set);

struct json_scan;
bool coco_read_box(struct json_scan *s, double box[4]);
bool coco_read(heed_ctx *cx, const char *path, const heed_object_set_opts *opts, heed_object_set *set);
bool object_table_read(heed_ctx *cx, const char *path, const heed_object_set_opts *opts, heed_object_set *set);

#endif
