/* A set of pictures with objects, as its files share it. */
#ifndef DATA_OBJECTS_OBJECT_SET_H
#define DATA_OBJECTS_OBJECT_SET_H

#include "data/data.h"
#include "data/objects/scene.h"
#include "heed/objects.h"

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
 * SCENE_MOST. */
const heed_object *object_truths(const heed_object_set *set, int64_t i, heed_object *own, int64_t *n);
/* The number of a class among the n names; -1: there is none. */
int32_t object_label(char *const *names, int64_t n, const char *name);
bool object_set_shapes(heed_ctx *cx, const char *part, const heed_object_set_opts *opts, heed_object_set *set);

#endif
