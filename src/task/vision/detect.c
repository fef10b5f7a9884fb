/* Objects in pictures, from the logits and boxes of queries. */
#include "heed/detect.h"
#include "model/detection/detection.h"
#include "task/task.h"
#include "task/vision/detecting.h"
#include "task/vision/picture_model.h"
#include "tensor/engine.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TOP 100 /* objects of a picture */

/* A class of a query. */
struct candidate {
    float score;
    int32_t query, label;
};

/* The highest score first; of equals the earlier query, and class. */
static int by_score(const void *a, const void *b) {
    const struct candidate *const x = a, *const y = b;
    if (x->score != y->score) return x->score > y->score ? -1 : 1;
    return x->query != y->query ? (x->query > y->query) - (x->query < y->query) : x->label - y->label;
}

/* The last class is "no object": each query has one class. */
static int64_t best_of_each(const float *logits, int64_t Q, int64_t classes, struct candidate *to) {
    for (int64_t q = 0; q < Q; q++) {
        to[q].query = (int32_t)q;
        to[q].score = (float)detection_best(logits + q * (classes + 1), classes + 1, classes, &to[q].label);
    }
    return Q;
}

static int64_t all_of_each(const float *logits, int64_t Q, int64_t classes, struct candidate *to) {
    for (int64_t i = 0; i < Q * classes; i++)
        to[i] = (struct candidate){(float)(1 / (1 + exp(-(double)logits[i]))), (int32_t)(i / classes),
                                   (int32_t)(i % classes)};
    return Q * classes;
}

static bool make_room(heed_ctx *cx, struct detections *d, int64_t more) {
    if (d->n + more <= d->room) return true;
    const int64_t room = 2 * (d->n + more);
    heed_detection *const at = heed_mem_new(cx, (size_t)room * sizeof *at);
    if (!at) return false;
    if (d->n > 0) memcpy(at, d->at, (size_t)d->n * sizeof *at);
    heed_mem_free(cx, d->at);
    d->at = at;
    d->room = room;
    return true;
}

/* box: centre, width and height as parts of the picture's. */
static heed_detection in_pixels(const struct candidate *c, const float *box, const int64_t size[2], int64_t picture) {
    const double h = (double)size[0], w = (double)size[1], wide = (double)box[2] * w, high = (double)box[3] * h;
    return (heed_detection){.picture = picture,
                            .box = {(double)box[0] * w - wide / 2, (double)box[1] * h - high / 2, wide, high},
                            .label = c->label,
                            .score = (double)c->score};
}

static bool add(heed_ctx *cx, struct detections *to, const float *logits, const float *boxes, int64_t Q, int64_t width,
                int64_t classes, const int64_t size[2], int64_t picture, const heed_detect_opts *o) {
    const int64_t top = o->top > 0 ? o->top : TOP;
    struct candidate *const c = heed_mem_new(cx, (size_t)(Q * width) * sizeof *c);
    bool ok = c && task_all_finite(cx, logits, Q * width) && task_all_finite(cx, boxes, Q * 4);
    if (ok) {
        const int64_t n = (width == classes ? all_of_each : best_of_each)(logits, Q, classes, c);
        qsort(c, (size_t)n, sizeof *c, by_score);
        ok = make_room(cx, to, n < top ? n : top);
        for (int64_t i = 0; ok && i < n && i < top && (double)c[i].score > o->threshold; i++)
            to->at[to->n++] = in_pixels(&c[i], boxes + 4 * c[i].query, size, picture);
    }
    heed_mem_free(cx, c);
    return ok;
}

bool detections_add(heed_ctx *cx, struct detections *to, const heed_io *out, int64_t b, int64_t classes,
                    const int64_t size[2], int64_t picture, const heed_detect_opts *opts) {
    const heed_tensor *const logits = heed_contiguous(cx, heed_io_get(out, "logits"));
    const heed_tensor *const boxes = heed_contiguous(cx, heed_io_get(out, "pred_boxes"));
    if (heed_failed(cx)) return false;
    if (!logits || !boxes || logits->rank != 3 || boxes->rank != 3 || logits->shape[1] != boxes->shape[1] ||
        (logits->shape[2] != classes && logits->shape[2] != classes + 1))
        return heed_fail(cx, HEED_ERR_USAGE, "detect: the model gives no boxes of %lld classes", (long long)classes);
    const int64_t Q = logits->shape[1], width = logits->shape[2];
    return add(cx, to, heed_f32(logits) + b * Q * width, heed_f32(boxes) + b * Q * 4, Q, width, classes, size, picture,
               opts);
}

/* ---- pictures ---- */

struct finding {
    const heed_image *pictures;
    int64_t classes;
    const heed_detect_opts *opts;
    struct detections found;
};

static bool take(heed_ctx *cx, void *own, int64_t first, int64_t n, const int64_t size[2], const heed_io *out) {
    struct finding *const f = own;
    (void)size; /* boxes are parts of the picture, whatever its size for the model */
    for (int64_t i = 0; i < n; i++) {
        const heed_image *const p = &f->pictures[first + i];
        if (!detections_add(cx, &f->found, out, i, f->classes, (int64_t[]){p->height, p->width}, first + i, f->opts))
            return false;
    }
    return true;
}

heed_detection *heed_detect_pictures(heed_ctx *cx, const heed_picture_model *m, const heed_image *pictures, int64_t n,
                                     const heed_detect_opts *opts, int64_t *found) {
    static const heed_detect_opts usual = {.threshold = HEED_DETECT_THRESHOLD};
    struct finding f = {.pictures = pictures, .classes = m ? m->labels : 0, .opts = opts ? opts : &usual};
    if (heed_failed(cx)) return NULL;
    if (!found) return heed_fail(cx, HEED_ERR_USAGE, "detect: no place for the number of objects is given"), NULL;
    *found = 0;
    if (make_room(cx, &f.found, 1) && picture_model_run(cx, m, pictures, n, false, take, &f)) {
        *found = f.found.n;
        return f.found.at;
    }
    heed_mem_free(cx, f.found.at);
    return NULL;
}
