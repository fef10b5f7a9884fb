/* Models that find objects learn to, and are measured. */
#ifndef TASK_VISION_OBJECT_TRAINING_H
#define TASK_VISION_OBJECT_TRAINING_H

#include "heed/loop.h"
#include "task/vision/detecting.h"
#include "task/vision/object_batches.h"

/* The mean loss over pictures and COCO's figures; `found` (may be NULL) gets the detections, whose pictures are rows of
 * the set, and `ap` (may be NULL) COCO's figure of each class. */
struct object_measure_opts {
    const heed_object_set *set;
    const int64_t *rows; /* NULL: all */
    int64_t n;
    const heed_image_processor *processor;
    int64_t height, width, objects; /* as object_batches_opts has them */
    int64_t batch;                  /* 0: a good one */
    bool padded_boxes, masks;
    int workers;
};
bool object_measure(heed_ctx *cx, const heed_model *model, const struct object_measure_opts *opts, heed_score *score,
                    heed_coco_score *figures, struct detections *found);
/* The metrics that a score has, by name. */
#define OBJECT_METRICS "AP AP50 AP75 loss_ce loss_bbox loss_giou"

/* What a checkpoint must agree with; 0 is not written. */
struct object_training_setting {
    const char *key;
    double value;
};
struct object_training_opts {
    struct object_batches_opts batches;  /* to train on */
    const heed_object_set *valid, *test; /* NULL: none */
    const int64_t *valid_rows;           /* NULL: all */
    int64_t n_valid;
    const struct object_training_setting *settings;
    int n_settings;
};
struct object_training;
/* What opts points to must stay until it is freed. */
struct object_training *object_training_new(heed_ctx *cx, const struct object_training_opts *opts);
void object_training_free(heed_ctx *cx, struct object_training *t);
const heed_loop_source *object_training_source(const struct object_training *t);

#endif
