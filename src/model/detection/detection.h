/* What models that find objects share (Carion et al. 2020): targets by name, the matching of queries with objects, and
 * losses. Every query gives logits of a class and a box (centre x, y, width, height, from 0 to 1).
 *
 *     match   the assignment of objects to queries of least cost:
 *             class_cost C + bbox_cost |b - b'|_1 + giou_cost (-GIoU(b, b'))
 *     loss    class loss over all queries + bbox_loss_coefficient L1 / n + giou_loss_coefficient (1 - GIoU) / n,
 *             n the number of objects in the batch, at least 1; with auxiliary losses the same of every layer
 *
 * Softmax heads have a last class for "no object", whose weight is eos_coefficient: C = -p(class), cross entropy.
 * Sigmoid heads (Conditional DETR): C and loss are those of focal loss (Lin et al. 2017). */
#ifndef MODEL_DETECTION_DETECTION_H
#define MODEL_DETECTION_DETECTION_H

#include "model/core/inputs.h"

struct detection {
    int64_t classes; /* num_labels, without "no object" */
    bool sigmoid;
    float class_cost, bbox_cost, giou_cost;
    float bbox_loss, giou_loss, class_loss; /* coefficients; class_loss of sigmoid heads, else 1 */
    float eos, focal_alpha;
    bool auxiliary;
};
/* The keys of config.json that say so; `sigmoid` chooses those of its kind. */
#define DETECTION_INPUTS "labels.*.class_labels labels.*.boxes"
bool detection_read(heed_ctx *cx, heed_json config, bool sigmoid, struct detection *d);

/* Logits (B,Q,classes [+ 1]) and boxes (B,Q,4) of n layers, the last one last: puts logits and pred_boxes of the last
 * and, where `in` has targets, loss and loss_dict.NAME of all. Targets of picture i are labels.i.class_labels (n) and
 * labels.i.boxes (n,4). */
bool detection_put(heed_ctx *cx, const struct detection *d, const heed_io *in, heed_tensor *const *logits,
                   heed_tensor *const *boxes, int n, heed_io *out);
/* Targets of `batch` pictures with `objects` each, for plans. */
bool detection_sample(heed_ctx *cx, int64_t batch, int64_t objects, heed_io *in);

#endif
