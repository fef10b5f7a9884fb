/* From scores to weights.   (B,H,Tq,Tk), (B,Tq,Tk) or (Tq,Tk): what a mask hides is 0 and gets no gradient, whatever
 * its score was. */
#include "attention/mask.h"
#include "attention/pairs.h"
#include <math.h>

/* (B,H,Tq,Tk) without its axes B and H, as far as scores have none. */
static heed_tensor *of_rank(heed_ctx *cx, heed_tensor *plane, int rank) {
    const int64_t *n = heed_shape(plane);
    if (!plane || rank == 4) return plane;
    return rank == 3 ? heed_reshape(cx, plane, 3, (int64_t[]){n[0], n[2], n[3]}) : heed_reshape(cx, plane, 2, n + 2);
}

bool mask_planes(heed_ctx *cx, const char *who, const heed_mask *mask, int rank, const int64_t *shape,
                 struct mask_planes *planes) {
    *planes = (struct mask_planes){0};
    if (heed_failed(cx)) return false;
    if (!mask) return true;
    if (rank < 2 || rank > 4)
        return heed_fail(cx, HEED_ERR_SHAPE, "%s: a mask needs scores of 2 to 4 axes, (B,H,Tq,Tk), not %d", who, rank);
    const int64_t batch = rank > 2 ? shape[0] : 1, heads = rank > 3 ? shape[1] : 1, queries = shape[rank - 2],
                  keys = shape[rank - 1];
    if (!mask_check(cx, who, mask, batch, heads, queries, keys)) return false;
    if (batch == 0 || heads == 0 || queries == 0) return true; /* no row, nothing to hide */
    heed_tensor *keep = NULL, *add = mask->add;
    if (mask->causal || mask->windowed || mask->blocked || mask->key_lengths || mask->query_lengths || mask->keep)
        keep = heed_mask_bitmap(cx, mask, batch, heads, queries, keys);
    if (add) {
        heed_tensor *seen = heed_not_equal(cx, add, heed_full(cx, -INFINITY, 0, NULL));
        keep = keep ? heed_and(cx, keep, seen) : seen;
    }
    planes->keep = keep ? of_rank(cx, keep, rank) : NULL;
    planes->add = add ? of_rank(cx, add, rank) : NULL;
    return !heed_failed(cx);
}

/* Rows divided by their sums; a row that sums to 0 becomes zeros. */
static heed_tensor *by_sum(heed_ctx *cx, heed_tensor *s) {
    heed_tensor *sum = heed_sum(cx, s, (int[]){-1}, 1, true), *zero = heed_full(cx, 0, 0, NULL);
    heed_tensor *none = heed_equal(cx, sum, zero);
    return heed_div(cx, heed_where(cx, none, zero, s), heed_where(cx, none, heed_full(cx, 1, 0, NULL), sum));
}

heed_tensor *heed_normalise(heed_ctx *cx, heed_tensor *scores, heed_normaliser how, const heed_mask *mask) {
    struct mask_planes planes;
    if (heed_failed(cx)) return NULL;
    if (!scores || (int)how < HEED_NORMALISE_SOFTMAX || how > HEED_NORMALISE_NONE) {
        if (scores)
            heed_fail(cx, HEED_ERR_USAGE, "normalise: %d is not a normaliser", (int)how);
        else
            heed_fail(cx, HEED_ERR_USAGE, "normalise: the scores are NULL");
        return NULL;
    }
    heed_scope_begin(cx);
    heed_tensor *s = scores;
    if (mask_planes(cx, "normalise", mask, heed_rank(s), heed_shape(s), &planes)) {
        const bool exponential = how == HEED_NORMALISE_SOFTMAX || how == HEED_NORMALISE_SIGMOID;
        if (planes.add) s = heed_add(cx, s, planes.add);
        if (planes.keep) s = heed_where(cx, planes.keep, s, heed_full(cx, exponential ? -INFINITY : 0, 0, NULL));
        if (how == HEED_NORMALISE_SOFTMAX) s = heed_softmax(cx, s, -1);
        if (how == HEED_NORMALISE_SIGMOID) s = heed_sigmoid(cx, s);
        if (how == HEED_NORMALISE_SUM) s = by_sum(cx, s);
    }
    return heed_scope_end(cx, heed_failed(cx) ? NULL : s);
}
