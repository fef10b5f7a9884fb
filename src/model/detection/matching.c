/* Targets by name, and pairs of queries and objects. Costs are worked out in floats and in transformers' order, since
 * rounding decides between queries that are equally good. */
#include "model/detection/matching.h"
#include "base/checked.h"
#include "kernel/assign.h"
#include "tensor/engine.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- targets ---- */

static heed_tensor *target(const heed_io *in, int64_t i, const char *what) {
    char name[64];
    snprintf(name, sizeof name, "labels.%lld.%s", (long long)i, what);
    return heed_io_get(in, name);
}

int64_t targets_of(const heed_io *in, int64_t i) {
    const heed_tensor *const labels = target(in, i, "class_labels");
    return labels ? labels->count : 0;
}

static bool numbers_good(heed_ctx *cx, const struct detection *d, int64_t i, heed_tensor *labels, heed_tensor *boxes) {
    labels = heed_contiguous(cx, labels), boxes = heed_contiguous(cx, boxes);
    if (!labels || !boxes) return false;
    for (int64_t k = 0; k < labels->count; k++) {
        const int32_t label = i32_of(labels)[k];
        const float *const b = f32_of(boxes) + 4 * k;
        if (label < 0 || label >= d->classes)
            return heed_fail(cx, HEED_ERR_RANGE, "labels.%lld.class_labels: class %d of object %lld is not below %lld",
                             (long long)i, label, (long long)k, (long long)d->classes);
        if (!isfinite(b[0]) || !isfinite(b[1]) || !(b[2] >= 0 && b[2] < INFINITY) || !(b[3] >= 0 && b[3] < INFINITY))
            return heed_fail(
                cx, HEED_ERR_RANGE,
                "labels.%lld.boxes: the box of object %lld, %g %g %g %g, is not a centre, a width and a height",
                (long long)i, (long long)k, (double)b[0], (double)b[1], (double)b[2], (double)b[3]);
    }
    return true;
}

static bool picture_good(heed_ctx *cx, const struct detection *d, const heed_io *in, int64_t i) {
    heed_tensor *const labels = target(in, i, "class_labels"), *const boxes = target(in, i, "boxes");
    if (!labels || !boxes)
        return heed_fail(cx, HEED_ERR_USAGE, "labels.%lld.%s: every picture needs its objects, or a list of none",
                         (long long)i, labels ? "boxes" : "class_labels");
    if (labels->dtype != HEED_I32 || labels->rank != 1)
        return heed_fail(cx, HEED_ERR_SHAPE,
                         "labels.%lld.class_labels: whole numbers of shape (n) are needed, not %s %s", (long long)i,
                         heed_dtype_name(labels->dtype), heed_shape_text(labels).s);
    if (boxes->dtype != HEED_F32 || boxes->rank != 2 || boxes->shape[0] != labels->count || boxes->shape[1] != 4)
        return heed_fail(cx, HEED_ERR_SHAPE, "labels.%lld.boxes: numbers of shape (%lld,4) are needed, not %s %s",
                         (long long)i, (long long)labels->count, heed_dtype_name(boxes->dtype),
                         heed_shape_text(boxes).s);
    return cx->config.dry || numbers_good(cx, d, i, labels, boxes);
}

bool targets_given(heed_ctx *cx, const struct detection *d, const heed_io *in, int64_t batch, int64_t *objects) {
    int64_t named = 0;
    for (int k = 0; k < in->n; k++) named += strncmp(in->name[k], "labels.", 7) == 0;
    *objects = 0;
    if (!named) return false;
    if (d->class_cost == 0 && d->bbox_cost == 0 && d->giou_cost == 0)
        return heed_fail(cx, HEED_ERR_USAGE,
                         "class_cost, bbox_cost and giou_cost are 0: nothing tells which query "
                         "finds which object");
    for (int64_t i = 0; i < batch; i++) {
        if (!picture_good(cx, d, in, i)) return false;
        *objects += targets_of(in, i);
    }
    if (named > 2 * batch)
        return heed_fail(cx, HEED_ERR_USAGE, "labels: targets of %lld pictures are needed, and there are more",
                         (long long)batch);
    return true;
}

static bool pairs_new(heed_ctx *cx, int64_t n, struct pairs *pairs) {
    *pairs = (struct pairs){n, heed_zeros(cx, HEED_I32, 1, &n), heed_zeros(cx, HEED_I32, 1, &n),
                            heed_zeros(cx, HEED_F32, 2, (int64_t[]){n, 4})};
    return !heed_failed(cx);
}

/* Query `query` is to find the object of which label and box are these. */
static void pairs_put(struct pairs *pairs, int64_t at, int64_t query, int32_t label, const float *box) {
    ((int32_t *)(void *)pairs->query->data)[at] = (int32_t)query;
    ((int32_t *)(void *)pairs->label->data)[at] = label;
    memcpy((float *)(void *)pairs->box->data + 4 * at, box, 4 * sizeof *box);
}

/* ---- costs ---- */

static float area(const float *b) { return (b[2] - b[0]) * (b[3] - b[1]); }

static void corners(const float *b, float *to) {
    for (int i = 0; i < 2; i++) to[i] = b[i] - 0.5f * b[2 + i], to[2 + i] = b[i] + 0.5f * b[2 + i];
}

/* Of corners (Rezatofighi et al. 2019). */
static float generalized_iou(const float *a, const float *b) {
    float inside[2], around[2];
    for (int i = 0; i < 2; i++) {
        inside[i] = fmaxf(fminf(a[2 + i], b[2 + i]) - fmaxf(a[i], b[i]), 0);
        around[i] = fmaxf(fmaxf(a[2 + i], b[2 + i]) - fminf(a[i], b[i]), 0);
    }
    const float both = inside[0] * inside[1], hull = around[0] * around[1], all = area(a) + area(b) - both;
    return both / all - (hull - all) / hull;
}

static float class_cost(const struct detection *d, float p) {
    const float alpha = 0.25f, small = 1e-8f; /* whatever focal_alpha is */
    if (!d->sigmoid) return -p;
    const float absent = (1 - alpha) * (p * p) * -logf(1 - p + small);
    return alpha * ((1 - p) * (1 - p)) * -logf(p + small) - absent;
}

/* p (Q,C), b (Q,4) of a picture's queries; label (n), box (n,4) of its objects -> cost (Q,n). Numbers that are not
 * finite become the largest float: such queries are matched where nothing else is left. */
static void costs(const struct detection *d, const float *p, const float *b, int64_t queries, int64_t classes,
                  const int32_t *label, const float *box, int64_t n, double *cost) {
    for (int64_t q = 0; q < queries; q++, p += classes, b += 4)
        for (int64_t k = 0; k < n; k++) {
            const float *const t = box + 4 * k;
            float own[4], its[4], distance = 0;
            corners(b, own), corners(t, its);
            for (int i = 0; i < 4; i++) distance += fabsf(b[i] - t[i]);
            const float c = d->bbox_cost * distance + d->class_cost * class_cost(d, p[label[k]]) +
                            d->giou_cost * -generalized_iou(own, its);
            *cost++ = (double)(isfinite(c) ? c : FLT_MAX);
        }
}

/* ---- pairs ---- */

struct room { /* for the matching of one picture */
    double *cost;
    int64_t *query, *object;
    void *work;
};

/* In the step's arena, where plans see it. */
static bool room_take(heed_ctx *cx, int64_t queries, int64_t objects, struct room *room) {
    const int64_t least = queries < objects ? queries : objects;
    size_t costs_size, size, work;
    if (!kernel_assign_work(queries, objects, &work) ||
        !size_mul((size_t)queries * sizeof(double), (size_t)objects, &costs_size) ||
        !size_add(costs_size, 2 * (size_t)least * sizeof(int64_t) + 64, &size) || !size_add(size, work, &size))
        return heed_fail(cx, HEED_ERR_RANGE, "%lld queries and %lld objects are too many to match", (long long)queries,
                         (long long)objects);
    heed_tensor *const t = heed_zeros(cx, HEED_U8, 1, (int64_t[]){(int64_t)size});
    if (!t || cx->config.dry) return t;
    room->work = t->data; /* aligned to 64, as all blocks of the arena */
    room->cost = (double *)(void *)(t->data + (work + 63) / 64 * 64);
    room->query = (int64_t *)(void *)((char *)room->cost + costs_size);
    room->object = room->query + least;
    return true;
}

static void match_picture(const struct detection *d, const float *p, const float *boxes, const int64_t size[2],
                          int64_t first, const heed_tensor *labels, const heed_tensor *objects, struct room *room,
                          struct pairs *pairs, int64_t *at) {
    const int64_t queries = size[0], classes = size[1], n = labels->count, least = queries < n ? queries : n;
    if (least == 0) return;
    costs(d, p, boxes, queries, classes, i32_of(labels), f32_of(objects), n, room->cost);
    kernel_assign(room->cost, queries, n, room->query, room->object, room->work); /* which finite costs let happen */
    for (int64_t k = 0; k < least; k++) {
        const int64_t object = room->object[k];
        pairs_put(pairs, (*at)++, first + room->query[k], i32_of(labels)[object], f32_of(objects) + 4 * object);
    }
}

bool pairs_match(heed_ctx *cx, const struct detection *d, const heed_io *in, heed_tensor *logits, heed_tensor *boxes,
                 struct pairs *pairs) {
    if (heed_failed(cx) || !logits || !boxes) return false;
    const int64_t batch = logits->shape[0], queries = logits->shape[1], size[] = {queries, logits->shape[2]};
    int64_t n = 0, most = 0, at = 0;
    for (int64_t i = 0; i < batch; i++) {
        const int64_t objects = targets_of(in, i);
        n += objects < queries ? objects : queries;
        if (objects > most) most = objects;
    }
    if (!pairs_new(cx, n, pairs)) return false;
    const bool recorded = heed_set_grad(cx, false);
    heed_scope_begin(cx);
    heed_tensor *const p = d->sigmoid ? heed_sigmoid(cx, logits) : heed_softmax(cx, logits, -1);
    heed_tensor *const b = heed_contiguous(cx, boxes);
    struct room room = {0};
    if (p && b && n > 0 && room_take(cx, queries, most, &room) && !cx->config.dry)
        for (int64_t i = 0; i < batch; i++) {
            heed_tensor *const labels = heed_contiguous(cx, target(in, i, "class_labels"));
            heed_tensor *const objects = heed_contiguous(cx, target(in, i, "boxes"));
            if (!labels || !objects) break;
            match_picture(d, f32_of(p) + i * queries * size[1], f32_of(b) + i * queries * 4, size, i * queries, labels,
                          objects, &room, pairs, &at);
        }
    heed_scope_end(cx, NULL);
    heed_set_grad(cx, recorded);
    return !heed_failed(cx);
}

bool pairs_fixed(heed_ctx *cx, const heed_io *in, const heed_tensor *labels, struct pairs *pairs) {
    const int64_t batch = labels->shape[0], groups = labels->shape[1], most = labels->shape[2];
    int64_t n = 0, at = 0;
    for (int64_t i = 0; i < batch; i++) {
        const int64_t objects = targets_of(in, i);
        if (objects > most)
            return heed_fail(cx, HEED_ERR_SHAPE,
                             "denoising.labels: shape %s has no room for the %lld objects of picture "
                             "%lld",
                             heed_shape_text(labels).s, (long long)objects, (long long)i);
        n += groups * objects;
    }
    if (!pairs_new(cx, n, pairs)) return false;
    for (int64_t i = 0; i < batch && !cx->config.dry; i++) {
        heed_tensor *const classes = heed_contiguous(cx, target(in, i, "class_labels"));
        heed_tensor *const boxes = heed_contiguous(cx, target(in, i, "boxes"));
        if (!classes || !boxes) return false;
        for (int64_t g = 0; g < groups; g++)
            for (int64_t k = 0; k < classes->count; k++)
                pairs_put(pairs, at++, (i * groups + g) * most + k, i32_of(classes)[k], f32_of(boxes) + 4 * k);
    }
    return true;
}
