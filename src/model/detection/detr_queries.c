/* What the decoders of DETR and its kin start with: queries that are learned, and in training with denoising (Li et al.
 * 2022) such as are objects with noise, which the task draws: object j of a picture is query j of each of G groups.
 *
 *     content    0; of noised objects a vector of their class, which is drawn once and for all and is no parameter
 *     position   learned; of noised objects sines of the noised box: centre and size
 *     mask       learned queries do not see noised ones, nor groups each other; nobody sees those that pad */
#include "model/detection/detr.h"
#include "tensor/engine.h"

#define SEED 0x6465747265000000U /* of the classes' vectors */

const char *const detr_inner[] = {"backbone_config", "resnet", NULL};

/* denoising.boxes (B,G,n,4) and denoising.labels (B,G,n), below 0 for padding */
struct noised {
    const heed_tensor *labels;
    heed_tensor *boxes; /* (B,G n,4) */
    int64_t batch, groups, objects;
};

static bool noised_of(heed_ctx *cx, const heed_io *in, int64_t batch, struct noised *to) {
    heed_tensor *const boxes = heed_io_get(in, "denoising.boxes");
    heed_tensor *const labels = heed_io_get(in, "denoising.labels");
    if (!boxes && !labels) return false;
    if (!boxes || !labels)
        return heed_fail(cx, HEED_ERR_USAGE, "denoising.boxes and denoising.labels are needed together");
    if (labels->rank != 3 || labels->dtype != HEED_I32 || boxes->rank != 4 || boxes->dtype != HEED_F32 ||
        labels->shape[0] != batch || boxes->shape[0] != batch || boxes->shape[1] != labels->shape[1] ||
        boxes->shape[2] != labels->shape[2] || boxes->shape[3] != 4)
        return heed_fail(cx, HEED_ERR_SHAPE,
                         "denoising.boxes %s and denoising.labels %s are not f32 (%lld,G,N,4) and i32 (%lld,G,N)",
                         heed_shape_text(boxes).s, heed_shape_text(labels).s, (long long)batch, (long long)batch);
    *to = (struct noised){.batch = batch, .groups = labels->shape[1], .objects = labels->shape[2]};
    to->labels = heed_contiguous(cx, labels);
    to->boxes = heed_reshape(cx, boxes, 3, (int64_t[]){batch, to->groups * to->objects, 4});
    return to->labels && to->boxes && to->groups * to->objects > 0;
}

static int32_t label_of(const struct noised *n, int64_t i) {
    return ((const int32_t *)(const void *)n->labels->data)[i];
}

/* (B,G n,C): the vectors of the classes; 0 for padding */
static heed_tensor *content_of(heed_ctx *cx, const struct detr *m, const struct noised *n) {
    const int64_t C = m->width, count = n->labels->count, shape[] = {n->batch, n->groups * n->objects, C};
    heed_tensor *const x = heed_zeros(cx, HEED_F32, 3, shape);
    for (int64_t i = 0; x && !cx->config.dry && i < count; i++)
        if (label_of(n, i) >= 0)
            heed_random_normal(SEED, (uint64_t)label_of(n, i), 0, (float *)(void *)x->data + i * C, C);
    return x;
}

/* (B,G n,C): sines of y, x, height and width */
static heed_tensor *positions_of(heed_ctx *cx, const struct detr *m, const struct noised *n) {
    static const int order[] = {1, 0, 3, 2};
    heed_tensor *number[4], *part[4];
    if (m->width % 8 != 0) {
        heed_fail(cx, HEED_ERR_USAGE, "denoising takes a d_model that is a multiple of 8, not %lld",
                  (long long)m->width);
        return NULL;
    }
    if (!heed_split(cx, n->boxes, 2, (int64_t[]){1, 1, 1, 1}, 4, number)) return NULL;
    for (int i = 0; i < 4; i++)
        part[i] = detr_sines(cx, heed_reshape(cx, number[order[i]], 2, n->boxes->shape), DETR_TURN, m->width / 4);
    return heed_concat(cx, part, 4, 2);
}

/* (B,1,G n + Q,G n + Q) */
static heed_tensor *sight_of(heed_ctx *cx, const struct detr *m, const struct noised *n) {
    const int64_t N = n->groups * n->objects, all = N + m->queries, shape[] = {n->batch, 1, all, all};
    heed_tensor *const keep = heed_zeros(cx, HEED_U8, 4, shape);
    if (!keep || cx->config.dry) return keep;
    uint8_t *at = (uint8_t *)keep->data;
    for (int64_t b = 0; b < n->batch; b++)
        for (int64_t q = 0; q < all; q++)
            for (int64_t k = 0; k < all; k++)
                *at++ = k >= N || (q < N && q / n->objects == k / n->objects && label_of(n, b * N + k) >= 0);
    return keep;
}

/* x (B,N,C) before own (1,Q,C) */
static heed_tensor *before_own(heed_ctx *cx, heed_tensor *x, heed_tensor *own) {
    if (!x || !own) return NULL;
    heed_tensor *const both[] = {x, heed_expand(cx, own, 3, (int64_t[]){x->shape[0], -1, -1})};
    return heed_concat(cx, both, 2, 1);
}

bool detr_queries(heed_ctx *cx, const struct detr *m, const heed_io *in, const struct detr_scene *scene,
                  struct detr_queries *to) {
    const int64_t B = scene->memory->shape[0], Q = m->queries, C = m->width;
    struct noised n = {0};
    *to = (struct detr_queries){0};
    to->own = heed_reshape(cx, heed_param_tensor(cx, m->query_positions), 3, (int64_t[]){1, Q, C});
    to->positions = to->own;
    to->content = heed_zeros(cx, HEED_F32, 3, (int64_t[]){B, Q, C});
    if (heed_failed(cx) || !noised_of(cx, in, B, &n)) return !heed_failed(cx);
    to->noised = n.groups * n.objects;
    to->content = heed_concat(cx, (heed_tensor *[]){content_of(cx, m, &n), to->content}, 2, 1);
    to->positions = before_own(cx, positions_of(cx, m, &n), to->own);
    to->looks = heed_slice(cx, n.boxes, 2, 0, 2);
    to->mask = heed_mask_keep(sight_of(cx, m, &n));
    return !heed_failed(cx);
}

heed_tensor *detr_looks(heed_ctx *cx, const struct detr_queries *q, heed_tensor *own) {
    return q->noised > 0 ? before_own(cx, q->looks, own) : own;
}

heed_tensor *detr_noised_part(heed_ctx *cx, const struct detr_queries *q, heed_tensor *x) {
    return x ? heed_slice(cx, x, 1, 0, q->noised) : NULL;
}

heed_tensor *detr_own_part(heed_ctx *cx, const struct detr_queries *q, heed_tensor *x) {
    return q->noised > 0 && x ? heed_slice(cx, x, 1, q->noised, x->shape[1] - q->noised) : x;
}
