/* How the heads of a tensor lie: the strides of (B,T,H,D), or of packed (N,H,D) with a batch of one. Slices of a fused
 * projection are strided views, and taken as they are. */
#ifndef ATTENTION_STRIDES_H
#define ATTENTION_STRIDES_H

#include "kernel/attention.h"
#include "tensor/engine.h"

/* False when no strides can say it (runs that end inside an axis, another rank): heed_contiguous helps then. */
static inline bool strides_of(const heed_tensor *t, struct attention_at *at) {
    int64_t step[4] = {0}, inner = 1;
    if (t->rank != 3 && t->rank != 4) return false;
    for (int i = t->rank - 1, k = 3; i >= 0; i--, k--) {
        const int64_t n = t->shape[i];
        const bool within = inner < t->run || is_contiguous(t);
        if (n > 1 && !is_contiguous(t) && within && t->run % (inner * n) != 0) return false;
        step[k] = within ? inner : inner / t->run * t->stride;
        if (k == 3 && n > 1 && step[k] != 1) return false; /* the channels of a head have no gaps */
        inner *= n;
    }
    *at = (struct attention_at){.batch = step[0], .time = step[1], .head = step[2]};
    return true;
}

/* Of a contiguous bias or bitmap (B,H,Tq,Tk), any of the first three 1: repeated. */
static inline struct attention_plane plane_of(const heed_tensor *t) {
    const int64_t *n = t->shape;
    return (struct attention_plane){
        .batch = n[0] > 1 ? n[1] * n[2] * n[3] : 0, .head = n[1] > 1 ? n[2] * n[3] : 0, .query = n[2] > 1 ? n[3] : 0};
}

/* Bitmap, bias, and bias by distance of a call: each may be NULL. */
static inline void set_biases(struct attention *a, const heed_tensor *keep, const heed_tensor *add,
                              const heed_tensor *distance) {
    if (keep) a->keep = u8_of(keep), a->keep_at = plane_of(keep);
    if (add) a->add = f32_of(add), a->add_at = plane_of(add);
    if (distance) {
        a->distance = f32_of(distance);
        a->distance_head = distance->shape[0] > 1 ? cols_of(distance) : 0;
    }
}

#endif
