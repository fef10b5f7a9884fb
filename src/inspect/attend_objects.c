/* What the queries of a model that detects objects have found: each query's class of the highest score, and its box. */
#include "inspect/attended.h"
#include "model/core/inputs.h"
#include "model/detection/detection.h"
#include "tensor/engine.h"
#include <stdio.h>
#include <stdlib.h>

static const char *label_name(heed_ctx *cx, heed_json config, int32_t label) {
    char key[16];
    snprintf(key, sizeof key, "%d", label);
    const heed_json names = heed_json_find(cx, config, "id2label");
    if (heed_json_kind_of(names) != HEED_JSON_OBJECT) return NULL;
    const heed_json name = heed_json_find(cx, names, key);
    return heed_json_kind_of(name) == HEED_JSON_TEXT ? heed_json_text(cx, name, NULL) : NULL;
}

/* b: centre x, centre y, width, height */
static void put_box(const struct attended *a, const float *b, heed_attended_object *to) {
    const double left = (double)a->box.left, top = (double)a->box.top, wide = (double)a->box.right - left,
                 high = (double)a->box.bottom - top;
    to->box[2] = (double)b[2], to->box[3] = (double)b[3];
    to->box[0] = (double)b[0] - to->box[2] / 2, to->box[1] = (double)b[1] - to->box[3] / 2;
    to->pixels[0] = left + to->box[0] * wide, to->pixels[1] = top + to->box[1] * high;
    to->pixels[2] = to->box[2] * wide, to->pixels[3] = to->box[3] * high;
}

/* The highest score first; of equals the first query. */
static int by_score(const void *x, const void *y) {
    const heed_attended_object *const a = x, *const b = y;
    if (a->score != b->score) return a->score < b->score ? 1 : -1;
    return (a->query > b->query) - (a->query < b->query);
}

bool attend_take_objects(struct attended *a, const heed_io *out) {
    heed_ctx *const cx = a->cx;
    heed_tensor *logits = heed_io_get(out, "logits"), *boxes = heed_io_get(out, "pred_boxes");
    if (!a->picture || !logits || !boxes || logits->rank != 3 || boxes->rank != 3) return true;
    logits = heed_contiguous(cx, logits), boxes = heed_contiguous(cx, boxes);
    if (!logits || !boxes) return false;
    const heed_json config = heed_model_config(a->model);
    const int64_t n = logits->shape[1], classes = logits->shape[2], said = config_labels(cx, config),
                  labels = said < classes ? said : classes;
    a->objects = labels > 0 ? heed_mem_new(cx, (size_t)n * sizeof *a->objects) : NULL;
    for (int64_t i = 0; a->objects && i < n; i++) {
        heed_attended_object *const to = &a->objects[i];
        *to = (heed_attended_object){.query = i};
        to->score = detection_best(f32_of(logits) + i * classes, classes, labels, &to->label);
        to->name = label_name(cx, config, to->label);
        put_box(a, f32_of(boxes) + i * 4, to);
    }
    if (!a->objects) return !heed_failed(cx);
    qsort(a->objects, (size_t)n, sizeof *a->objects, by_score);
    a->out.objects = a->objects;
    a->out.n_objects = n;
    return !heed_failed(cx);
}

int64_t heed_attended_finder(const heed_attended *a, const heed_attended_site *site,
                             const heed_attended_object *object) {
    if (!a || !site || !object || a->n_objects == 0) return -1;
    if (site->queries != site->keys) return site->queries->n == a->n_objects ? object->query : -1;
    const int64_t tokens = site->keys->detections;
    return tokens == a->n_objects ? site->keys->first - tokens + object->query : -1;
}
