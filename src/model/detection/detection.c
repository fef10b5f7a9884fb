/* Losses of models that find objects, made of ops, by the names that transformers has. */
#include "model/detection/detection.h"
#include "model/core/families.h"
#include "model/detection/matching.h"
#include "model/parts/parts.h"
#include "tensor/engine.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static float number(heed_ctx *cx, heed_json config, const char *key) {
    return (float)config_number(cx, config, key, (double)-FLT_MAX, (double)FLT_MAX);
}

bool detection_read(heed_ctx *cx, heed_json config, bool sigmoid, struct detection *d) {
    *d = (struct detection){
        .classes = config_labels(cx, config),
        .sigmoid = sigmoid,
        .class_cost = number(cx, config, "class_cost"),
        .bbox_cost = number(cx, config, "bbox_cost"),
        .giou_cost = number(cx, config, "giou_cost"),
        .bbox_loss = number(cx, config, "bbox_loss_coefficient"),
        .giou_loss = number(cx, config, "giou_loss_coefficient"),
        .auxiliary = heed_json_bool(cx, config, "auxiliary_loss"),
    };
    if (sigmoid)
        d->focal_alpha = number(cx, config, "focal_alpha");
    else
        d->eos = number(cx, config, "eos_coefficient");
    return !heed_failed(cx);
}

/* ---- of classes ---- */

/* i32 (rows): the class that each row of logits should have; `classes` where there is no object. rows of pairs: where
 * they are; NULL: pair k is row k. */
static heed_tensor *class_of_rows(heed_ctx *cx, const struct detection *d, int64_t rows, const heed_tensor *at,
                                  const struct pairs *pairs) {
    heed_tensor *const t = heed_zeros(cx, HEED_I32, 1, &rows);
    if (!t || cx->config.dry) return t;
    int32_t *const to = (int32_t *)(void *)t->data;
    for (int64_t i = 0; i < rows; i++) to[i] = (int32_t)d->classes;
    for (int64_t k = 0; k < pairs->n; k++) to[at ? i32_of(at)[k] : k] = i32_of(pairs->label)[k];
    return t;
}

/* Cross entropy, the mean weighted by eos where there is no object and by 1 elsewhere. */
static heed_tensor *softmax_loss(heed_ctx *cx, const struct detection *d, heed_tensor *logits, heed_tensor *classes) {
    heed_tensor *const each =
        heed_cross_entropy(cx, logits, classes, &(heed_cross_entropy_opts){.reduction = HEED_REDUCE_NONE});
    heed_tensor *const weight = heed_zeros(cx, HEED_F32, 1, logits->shape);
    if (!each || !weight) return NULL;
    double total = 0;
    for (int64_t i = 0; i < weight->count && !cx->config.dry; i++) {
        const float w = i32_of(classes)[i] == d->classes ? d->eos : 1;
        ((float *)(void *)weight->data)[i] = w;
        total += (double)w;
    }
    heed_tensor *const sum = heed_sum(cx, heed_mul(cx, each, weight), NULL, 0, false);
    return heed_affine(cx, sum, total != 0 ? (float)(1 / total) : 0, 0);
}

/* Focal loss (Lin et al. 2017), gamma 2: (1 - q)^2 -log q a, q the probability of what is true, a = alpha of the
 * object's class and 1 - alpha of others. */
static heed_tensor *focal_loss(heed_ctx *cx, const struct detection *d, heed_tensor *logits, heed_tensor *classes,
                               double objects) {
    heed_tensor *const truth = heed_zeros(cx, HEED_F32, 2, logits->shape);
    heed_tensor *const sign = heed_full(cx, 1, 2, logits->shape);
    heed_tensor *const weight = heed_full(cx, d->focal_alpha < 0 ? 1 : 1 - d->focal_alpha, 2, logits->shape);
    if (!truth || !sign || !weight) return NULL;
    for (int64_t i = 0; i < classes->count && !cx->config.dry; i++) {
        const int64_t at = i * d->classes + i32_of(classes)[i];
        if (i32_of(classes)[i] == d->classes) continue;
        ((float *)(void *)truth->data)[at] = 1;
        ((float *)(void *)sign->data)[at] = -1;
        if (d->focal_alpha >= 0) ((float *)(void *)weight->data)[at] = d->focal_alpha;
    }
    heed_tensor *const entropy = heed_bce_loss(cx, logits, truth, HEED_REDUCE_NONE);
    heed_tensor *const wrong = heed_add(cx, heed_mul(cx, heed_sigmoid(cx, logits), sign), truth); /* 1 - q */
    heed_tensor *const each = heed_mul(cx, heed_mul(cx, entropy, heed_square(cx, wrong)), weight);
    return heed_affine(cx, heed_sum(cx, each, NULL, 0, false), (float)(1 / objects), 0);
}

static heed_tensor *class_loss(heed_ctx *cx, const struct detection *d, heed_tensor *logits, heed_tensor *classes,
                               double objects) {
    if (!logits || !classes) return NULL;
    return d->sigmoid ? focal_loss(cx, d, logits, classes, objects) : softmax_loss(cx, d, logits, classes);
}

/* The mean error of the number of objects that are found, which is not trained. */
static heed_tensor *cardinality(heed_ctx *cx, const struct detection *d, const heed_io *in, heed_tensor *logits) {
    heed_tensor *const l = heed_contiguous(cx, logits);
    if (!l) return NULL;
    const int64_t batch = l->shape[0], queries = l->shape[1], C = l->shape[2];
    const float *x = f32_of(l);
    double error = 0;
    for (int64_t b = 0; b < batch && !cx->config.dry; b++) {
        int64_t found = 0;
        for (int64_t q = 0; q < queries; q++, x += C) {
            int64_t best = 0;
            for (int64_t c = 1; c < C; c++)
                if (x[c] > x[best]) best = c;
            found += d->sigmoid ? x[best] > 0 : best != C - 1;
        }
        error += fabs((double)(found - targets_of(in, b)));
    }
    return heed_full(cx, (float)(error / (double)batch), 0, NULL);
}

/* ---- of boxes ---- */

struct corners { /* each (n,2) */
    heed_tensor *low, *high;
};

static struct corners corners(heed_ctx *cx, heed_tensor *boxes) {
    heed_tensor *const centre = heed_slice(cx, boxes, 1, 0, 2);
    heed_tensor *const half = heed_affine(cx, heed_slice(cx, boxes, 1, 2, 2), 0.5f, 0);
    return (struct corners){heed_sub(cx, centre, half), heed_add(cx, centre, half)};
}

/* (n,2) -> (n,1) */
static heed_tensor *area(heed_ctx *cx, heed_tensor *size) {
    return heed_mul(cx, heed_slice(cx, size, 1, 0, 1), heed_slice(cx, size, 1, 1, 1));
}

/* Sum of 1 - GIoU of pairs of boxes (Rezatofighi et al. 2019): n of each. */
static heed_tensor *giou_loss(heed_ctx *cx, heed_tensor *boxes, heed_tensor *targets) {
    const struct corners a = corners(cx, boxes), b = corners(cx, targets);
    heed_tensor *const inside = heed_sub(cx, heed_minimum(cx, a.high, b.high), heed_maximum(cx, a.low, b.low));
    heed_tensor *const around = heed_sub(cx, heed_maximum(cx, a.high, b.high), heed_minimum(cx, a.low, b.low));
    heed_tensor *const both = area(cx, heed_clamp(cx, inside, 0, INFINITY));
    heed_tensor *const hull = area(cx, heed_clamp(cx, around, 0, INFINITY));
    heed_tensor *const sum = heed_add(cx, area(cx, heed_sub(cx, a.high, a.low)), area(cx, heed_sub(cx, b.high, b.low)));
    heed_tensor *const all = heed_sub(cx, sum, both);
    heed_tensor *const iou = heed_div(cx, both, all);
    heed_tensor *const giou = heed_sub(cx, iou, heed_div(cx, heed_sub(cx, hull, all), hull));
    return heed_sum(cx, heed_affine(cx, giou, -1, 1), NULL, 0, false);
}

/* ---- by name ---- */

static bool put_loss(heed_ctx *cx, heed_io *out, const char *name, const char *suffix, heed_tensor *loss) {
    char full[96];
    snprintf(full, sizeof full, "loss_dict.%s%s", name, suffix);
    return loss && heed_io_put(cx, out, full, loss);
}

/* Puts the losses of a layer, and adds them, weighted, to *total (NULL: 0). rows: logits (R,C); paired: boxes of the
 * pairs. */
static bool add_losses(heed_ctx *cx, const struct detection *d, heed_tensor *rows, heed_tensor *classes,
                       heed_tensor *paired, const struct pairs *pairs, double objects, const char *suffix, heed_io *out,
                       heed_tensor **total) {
    const float share = (float)(1 / objects);
    heed_tensor *const of_class = class_loss(cx, d, rows, classes, objects), *distance, *overlap;
    if (pairs->n > 0) {
        distance = heed_affine(cx, heed_l1_loss(cx, paired, pairs->box, HEED_REDUCE_SUM), share, 0);
        overlap = heed_affine(cx, giou_loss(cx, paired, pairs->box), share, 0);
    } else
        distance = heed_full(cx, 0, 0, NULL), overlap = heed_full(cx, 0, 0, NULL);
    if (!put_loss(cx, out, "loss_ce", suffix, of_class) || !put_loss(cx, out, "loss_bbox", suffix, distance) ||
        !put_loss(cx, out, "loss_giou", suffix, overlap))
        return false;
    heed_tensor *const both =
        heed_add(cx, heed_affine(cx, distance, d->bbox_loss, 0), heed_affine(cx, overlap, d->giou_loss, 0));
    heed_tensor *const sum = heed_add(cx, of_class, both);
    *total = *total ? heed_add(cx, *total, sum) : sum;
    return *total;
}

static bool add_layer(heed_ctx *cx, const struct detection *d, const heed_io *in, heed_tensor *logits,
                      heed_tensor *boxes, double objects, const char *suffix, heed_io *out, heed_tensor **total) {
    struct pairs pairs;
    if (!pairs_match(cx, d, in, logits, boxes, &pairs)) return false;
    const int64_t rows = logits->shape[0] * logits->shape[1];
    heed_tensor *const all = heed_reshape(cx, logits, 2, (int64_t[]){rows, logits->shape[2]});
    heed_tensor *const classes = class_of_rows(cx, d, rows, pairs.query, &pairs);
    boxes = heed_reshape(cx, boxes, 2, (int64_t[]){rows, 4});
    heed_tensor *const paired = pairs.n > 0 ? heed_index_select(cx, boxes, 0, pairs.query) : boxes;
    return paired && add_losses(cx, d, all, classes, paired, &pairs, objects, suffix, out, total) &&
           put_loss(cx, out, "cardinality_error", suffix, cardinality(cx, d, in, logits));
}

/* Logits (B,Q,C) and boxes (B,Q,4) of one size? */
static bool heads_fit(heed_ctx *cx, const struct detection *d, const heed_tensor *logits, const heed_tensor *boxes) {
    if (heed_failed(cx) || !logits || !boxes) return false;
    if (logits->rank == 3 && boxes->rank == 3 && logits->shape[0] == boxes->shape[0] &&
        logits->shape[1] == boxes->shape[1] && boxes->shape[2] == 4 && logits->shape[2] == d->classes + !d->sigmoid)
        return true;
    return heed_fail(cx, HEED_ERR_SHAPE, "logits of shape %s and boxes of shape %s do not fit %lld classes",
                     heed_shape_text(logits).s, heed_shape_text(boxes).s, (long long)d->classes);
}

bool detection_put(heed_ctx *cx, const struct detection *d, const heed_io *in, heed_tensor *const *logits,
                   heed_tensor *const *boxes, int n, heed_io *out) {
    heed_tensor *loss = NULL;
    char suffix[32] = "";
    int64_t objects;
    for (int i = 0; i < n; i++)
        if (!heads_fit(cx, d, logits[i], boxes[i])) return false;
    if (!heed_io_put(cx, out, "logits", logits[n - 1]) || !heed_io_put(cx, out, "pred_boxes", boxes[n - 1]))
        return false;
    if (!targets_given(cx, d, in, logits[0]->shape[0], &objects)) return !heed_failed(cx);
    const double share = objects > 0 ? (double)objects : 1;
    for (int i = -1; i + 1 < n; i++) { /* the last layer first, as transformers lists them */
        const int layer = i < 0 ? n - 1 : i;
        if (i >= 0) snprintf(suffix, sizeof suffix, "_%d", i);
        if (!add_layer(cx, d, in, logits[layer], boxes[layer], share, suffix, out, &loss)) return false;
    }
    return heed_io_put(cx, out, "loss", loss);
}

bool detection_put_denoising(heed_ctx *cx, const struct detection *d, const heed_io *in, heed_tensor *const *logits,
                             heed_tensor *const *boxes, int n, heed_io *out) {
    heed_tensor *const labels = heed_io_get(in, "denoising.labels"), *loss = heed_io_get(out, "loss");
    char suffix[32] = "_dn";
    struct pairs pairs;
    if (heed_failed(cx) || !labels || n < 1 || !heads_fit(cx, d, logits[0], boxes[0])) return !heed_failed(cx);
    const int64_t rows = logits[0]->shape[0] * logits[0]->shape[1];
    if (!loss)
        return heed_fail(cx, HEED_ERR_USAGE, "denoising.labels: the objects of the pictures are needed beside it");
    if (labels->rank != 3 || labels->shape[0] != logits[0]->shape[0] || labels->count != rows)
        return heed_fail(cx, HEED_ERR_SHAPE, "denoising.labels: shape %s does not fit %lld queries",
                         heed_shape_text(labels).s, (long long)logits[0]->shape[1]);
    if (!pairs_fixed(cx, in, labels, &pairs)) return false;
    heed_tensor *const classes = class_of_rows(cx, d, pairs.n, NULL, &pairs);
    for (int i = -1; i + 1 < n && pairs.n > 0; i++) {
        const int layer = i < 0 ? n - 1 : i;
        if (i >= 0) snprintf(suffix, sizeof suffix, "_dn_%d", i);
        if (!heads_fit(cx, d, logits[layer], boxes[layer])) return false;
        const int64_t shape[] = {rows, logits[layer]->shape[2]};
        heed_tensor *const of = heed_index_select(cx, heed_reshape(cx, logits[layer], 2, shape), 0, pairs.query);
        heed_tensor *const b = heed_reshape(cx, boxes[layer], 2, (int64_t[]){rows, 4});
        heed_tensor *const paired = heed_index_select(cx, b, 0, pairs.query);
        if (!of || !paired || !add_losses(cx, d, of, classes, paired, &pairs, (double)pairs.n, suffix, out, &loss))
            return false;
    }
    return heed_io_put(cx, out, "loss", loss);
}

bool detection_sample(heed_ctx *cx, int64_t batch, int64_t objects, heed_io *in) {
    char name[64];
    for (int64_t i = 0; i < batch; i++) {
        snprintf(name, sizeof name, "labels.%lld.class_labels", (long long)i);
        if (!heed_io_put(cx, in, name, heed_zeros(cx, HEED_I32, 1, &objects))) return false;
        snprintf(name, sizeof name, "labels.%lld.boxes", (long long)i);
        if (!heed_io_put(cx, in, name, heed_full(cx, 0.5f, 2, (int64_t[]){objects, 4}))) return false;
    }
    return true;
}

double detection_best(const float *logits, int64_t n, int64_t classes, int32_t *label) {
    double sum = 0, top = -HUGE_VAL;
    *label = 0;
    for (int64_t i = 0; i < n; i++) top = fmax(top, (double)logits[i]);
    for (int64_t i = 0; i < n; i++) sum += exp((double)logits[i] - top);
    for (int64_t i = 1; i < classes; i++)
        if (logits[i] > logits[*label]) *label = (int32_t)i;
    const double its = (double)logits[*label];
    return n > classes ? exp(its - top) / sum : 1 / (1 + exp(-its));
}

/* ---- what the families are made of ---- */

bool detection_make_mlp(heed_ctx *cx, heed_params *set, const char *prefix, const char *name, int64_t in, int64_t out,
                        heed_init init, heed_linear_layer *layer, int n) {
    for (int i = 0; i < n; i++) {
        const struct part_name at = part_numbered(cx, name, "layers", i);
        if (!part_linear(cx, set, prefix, at.s, in, i + 1 < n ? in : out, true, init, &layer[i])) return false;
    }
    return true;
}

heed_tensor *detection_mlp(heed_ctx *cx, const heed_linear_layer *layer, int n, heed_tensor *x, heed_activation last) {
    for (int i = 0; i < n; i++) x = heed_linear_run(cx, &layer[i], x, i + 1 < n ? HEED_ACT_RELU : last);
    return x;
}

heed_tensor **detection_list(heed_ctx *cx, int64_t n) {
    struct engine *const e = engine_of(cx);
    heed_tensor **const list = e ? bump_take(cx, &e->lists, (size_t)n * sizeof *list) : NULL;
    for (int64_t i = 0; list && i < n; i++) list[i] = NULL;
    return list;
}
