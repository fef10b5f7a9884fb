/* Detections and truths of one class in one picture, matched as pycocotools matches them. */
#ifndef DATA_OBJECTS_COCO_MATCH_H
#define DATA_OBJECTS_COCO_MATCH_H

#include "heed/objects.h"

enum { COCO_AREAS = 4, COCO_OVERLAPS = 10, COCO_RECALLS = 101, MAX_DETECTIONS = 100 };

/* What is known of a detection after matching: bit 10 area + overlap. */
struct coco_mark {
    double score;
    int64_t picture, place; /* among those of its class and picture, by score */
    uint64_t hit, ignored;
};

/* Room that grows. */
struct coco_room {
    heed_ctx *cx;
    double *overlap; /* (detections, truths) */
    int64_t *order;  /* (truths) those that are ignored last */
    bool *taken, *ignored;
    int64_t truths;
};
void coco_room_free(struct coco_room *r);

/* Of n detections by falling score, of which the first MAX_DETECTIONS count, and m truths; counted[area] grows by the
 * truths that are not ignored. Fills the marks of as many detections as count, except for their picture. */
bool coco_match(struct coco_room *r, const heed_detection *const *found, int64_t n, const heed_object *const *truth,
                int64_t m, struct coco_mark *marks, int64_t counted[COCO_AREAS]);

double coco_linspace(double from, double to, int n, int i); /* number i of n, as numpy rounds it */

#endif
