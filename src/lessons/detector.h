/* What the lesson on object queries trains: pictures with one or two shapes, and a small Conditional DETR (Meng et al.
 * 2021) that finds them. */
#ifndef LESSONS_DETECTOR_H
#define LESSONS_DETECTOR_H

#include "lessons/vit.h"

enum { SCENE_SIDE = 48, SCENE_CLASSES = 3, MAX_SHAPES = 2, DETECTOR_GRID = 12, DETECTOR_QUERIES = 6 };
enum { DETECTOR_CELLS = DETECTOR_GRID * DETECTOR_GRID };

/* Boxes are centre x, y, width, height from 0 to 1. */
struct scenes {
    struct pictures p;
    int32_t (*label)[MAX_SHAPES];
    float (*box)[MAX_SHAPES][4];
    int64_t *objects;
};
extern const char *const scene_names[SCENE_CLASSES];
bool scenes_draw(struct lesson_run *r, uint64_t seed, int64_t n, struct scenes *s);

/* What a detector says of a picture: of each query its probabilities, its box, and its attention over the cells in the
 * last layer, the mean of the heads. */
struct seen {
    float p[DETECTOR_QUERIES][SCENE_CLASSES], box[DETECTOR_QUERIES][4], look[DETECTOR_QUERIES][DETECTOR_CELLS];
};

struct detector {
    heed_model *model;
    heed_trainer *trainer;
    int64_t step;
    double first, loss; /* of the first step; the running mean */
};
bool detector_open(struct lesson_run *r, struct detector *d);
void detector_close(struct lesson_run *r, struct detector *d);
bool detector_learn(struct lesson_run *r, struct detector *d, const struct scenes *s, int64_t steps);
bool detector_look(struct lesson_run *r, const struct detector *d, const struct scenes *s, int64_t first, int64_t n,
                   struct seen *seen);

#endif
