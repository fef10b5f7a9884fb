/* What models that find objects share (Carion et al. 2020): targets by name, the matching of queries with objects, and
 * losses. Every query gives logits of a class and a box (centre x, y, width, height, from 0 to 1).
 *
 *     match   the assignment of objects to queries of least cost:
 *             class_cost C + bbox_cost |b - b'|_1 + giou_cost (-GIoU(b, b'))
 *     loss    class loss over all queries + bbox_loss_coefficient L1 / n + giou_loss_coefficient (1 - GIoU) / n,
 *             n the number of objects in the batch, at least 1; with auxiliary losses the same of every layer
 *
 * Softmax heads have a last class for "no object", whose weight is eos_coefficient: C = -p(class), cross entropy.
 * Sigmoid heads (Conditional DETR): C and loss are those of focal loss (Lin et al. 2017), the loss summed over queries
 * and classes / n. */
#ifndef MODEL_DETECTION_DETECTION_H
#define MODEL_DETECTION_DETECTION_H

#include "model/core/inputs.h"

struct detection {
    int64_t classes; /* num_labels, without "no object" */
    bool sigmoid;
    float class_cost, bbox_cost, giou_cost;
    float bbox_loss, giou_loss; /* coefficients; that of the class loss is 1 */
    float eos, focal_alpha;     /* of softmax heads, of sigmoid heads */
    bool auxiliary;
};

/* The keys of config.json that say so: those of both kinds of heads, then those of one. */
#define DETECTION_KEYS(class_cost_)                                                                                    \
    {"num_labels", HEED_KEY_INT, "2", "number of classes, where id2label does not say"},                               \
        {"auxiliary_loss", HEED_KEY_BOOL, "false", "losses of every layer, not of the last alone"},                    \
        {"class_cost", HEED_KEY_INT, class_cost_, "weight of the class when queries are matched with objects"},        \
        {"bbox_cost", HEED_KEY_INT, "5", "weight of the distance of boxes when they are matched"},                     \
        {"giou_cost", HEED_KEY_INT, "2", "weight of the overlap of boxes (GIoU) when they are matched"},               \
        {"bbox_loss_coefficient", HEED_KEY_INT, "5", "weight of the distance of boxes in the loss"}, {                 \
        "giou_loss_coefficient", HEED_KEY_INT, "2", "weight of the overlap of boxes (GIoU) in the loss"                \
    }
#define DETECTION_SOFTMAX_KEYS                                                                                         \
    { "eos_coefficient", HEED_KEY_NUMBER, "0.1", "weight of queries without an object in the class loss" }
#define DETECTION_SIGMOID_KEYS                                                                                         \
    { "focal_alpha", HEED_KEY_NUMBER, "0.25", "weight of the classes that are there in the focal loss; below 0: none" }

#define DETECTION_INPUTS "labels.*.class_labels labels.*.boxes"
#define DENOISING_INPUTS "denoising.boxes denoising.labels" /* of heads that call detection_put_denoising */

/* Reads those keys; `sigmoid` chooses those of its kind. */
bool detection_read(heed_ctx *cx, heed_json config, bool sigmoid, struct detection *d);

/* Logits (B,Q,classes [+ 1]) and boxes (B,Q,4) of n layers, the last one last: puts logits and pred_boxes of the last
 * and, where `in` has targets, loss and loss_dict.NAME of all. Targets of picture i are labels.i.class_labels (n) and
 * labels.i.boxes (n,4). */
bool detection_put(heed_ctx *cx, const struct detection *d, const heed_io *in, heed_tensor *const *logits,
                   heed_tensor *const *boxes, int n, heed_io *out);
/* The same of denoising queries (Li et al. 2022), logits (B,G N,…) and boxes (B,G N,4), whose losses are added to
 * `loss`, which detection_put has put, as loss_dict.NAME_dn: denoising.labels (B,G,N) says by -1 which of them pad, and
 * query j of each group is to become object j of its picture. The losses are means over these queries. */
bool detection_put_denoising(heed_ctx *cx, const struct detection *d, const heed_io *in, heed_tensor *const *logits,
                             heed_tensor *const *boxes, int n, heed_io *out);
/* A query's class of the highest score, and that score, as transformers' post_process_object_detection has them: of
 * `classes` + 1 logits a softmax in which "no object" is the last; of `classes` a sigmoid. */
double detection_best(const float *logits, int64_t n, int64_t classes, int32_t *label);
/* n linear layers with rectifiers between them, from `in` to `out` numbers: prefix.name.layers.0, …, 1, … */
enum { DETECTION_BOX_LAYERS = 3 };
bool detection_make_mlp(heed_ctx *cx, heed_params *set, const char *prefix, const char *name, int64_t in, int64_t out,
                        heed_init init, heed_linear_layer *layer, int n);
heed_tensor *detection_mlp(heed_ctx *cx, const heed_linear_layer *layer, int n, heed_tensor *x, heed_activation last);
/* Room for n tensors, each NULL, until the context is reset. */
heed_tensor **detection_list(heed_ctx *cx, int64_t n);
/* Targets of `batch` pictures with `objects` each, for plans. */
bool detection_sample(heed_ctx *cx, int64_t batch, int64_t objects, heed_io *in);

#endif
