/* The parts of the way of pictures with objects that are files of their own. */
#ifndef TASK_VISION_OBJECTS_WAY_H
#define TASK_VISION_OBJECTS_WAY_H

#include "heed/objects.h"
#include "task/run.h"

extern const heed_field object_fields[];
enum { OBJECTS_MEASURED = 500 }; /* drawn pictures to validate and to test on */

/* ---- a fresh model (object_model.c) ---- */

#define OBJECT_SETTINGS 24
struct object_settings {
    char text[OBJECT_SETTINGS][64]; /* KEY=VALUE, of a fresh model */
    int n;
    char labels[48]; /* the number of classes, also with --init */
};
/* Sizes that suit pictures of which the shorter side has so many pixels. */
bool object_settings(const heed_run *r, const heed_object_set *set, int64_t side, struct object_settings *to);
/* What --init-backbone, --backbone-lr and --batch-norms ask for. */
bool object_backbone(const heed_run *r, heed_ctx *cx, heed_model *model);

/* ---- how pictures become floats (object_model.c) ---- */

/* Of a directory, or as the class of the family's processor has it with this size. */
bool object_processor(const heed_run *r, const heed_object_set *set, heed_image_processor *to);
bool object_processor_of(heed_ctx *cx, const heed_model *model, const char *dir, heed_image_processor *to);
/* The largest that comes out of it, of all pictures of the set. */
bool object_bounds(heed_ctx *cx, const heed_object_set *set, const heed_image_processor *p, int64_t *height,
                   int64_t *width);

#endif
