/* What the ops on pairs of a query and a key share. */
#ifndef ATTENTION_PAIRS_H
#define ATTENTION_PAIRS_H

#include "heed/attention.h"
#include "tensor/engine.h"

/* Rows (…,Tq,…) that meet rows (…,Tk,D), the leading axes taken as one. */
struct pairs {
    int64_t batch, queries, keys, d;
};
struct pairs pairs_of(const heed_tensor *q, const heed_tensor *k);
/* Are a and b matrices (…,m,n) with the same leading axes? `shape` then holds the shape of a. */
bool leading_fit(const heed_tensor *a, const heed_tensor *b, int64_t shape[HEED_MAX_RANK]);
/* Checks inputs 0 and 1 and declares (…,Tq,Tk). */
bool pairs_infer(heed_op_call *c);

/* out (…,Tq,Tk) = alpha q k', or += */
void dot_pairs(struct pool *pool, const struct pairs *p, float alpha, const float *q, const float *k, float *out,
               bool add);

/* C = alpha A B, or += : A (batch,m,k), stored (batch,k,m) with trans_a; B (batch,k,n), C (batch,m,n). Where an element
 * of A is 0 and its row of B holds what is not finite, that row is not read: 0 times NaN is 0 here. So what a weight of
 * 0 or a gradient of 0 hides does no harm. */
struct weigh {
    int64_t batch, m, n, k;
    float alpha;
    const float *a;
    bool trans_a;
    const float *b;
    float *c;
    bool add;
    void *work; /* weigh_work bytes */
};
size_t weigh_work(int64_t batch, int64_t k, int64_t n);
void weigh(struct pool *pool, const struct weigh *w);

/* b itself when all is finite; else room, with the rows that are not as zeros. */
const float *only_finite(struct pool *pool, const float *b, int64_t rows, int64_t n, float *room);

heed_tensor *pair_dot(heed_ctx *cx, heed_tensor *q, heed_tensor *k, float scale); /* scale q'k */
heed_tensor *additive_score(heed_ctx *cx, heed_tensor *q, heed_tensor *k, heed_tensor *w);

/* heed_scores for pairs of which those outside `keep` (or NULL) will be hidden: theirs may be anything. */
heed_tensor *scores_seen(heed_ctx *cx, heed_tensor *q, heed_tensor *k, const heed_score_opts *opts, heed_tensor *keep);

/* A mask as scores (B,H,Tq,Tk), (B,Tq,Tk) or (Tq,Tk) take it: of their rank, sizes 1 where it does not differ. Biases
 * of -inf are in `keep`. Each is NULL when there is nothing to do. */
struct mask_planes {
    heed_tensor *keep, *add;
};
bool mask_planes(heed_ctx *cx, const char *who, const heed_mask *mask, int rank, const int64_t *shape,
                 struct mask_planes *planes);

#endif
