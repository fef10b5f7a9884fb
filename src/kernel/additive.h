/* Additive scores (Bahdanau et al. 2015).   s_ij = sum_c w_c tanh(q_ic + k_jc)
 *     with slope = 1 - tanh^2:   dq_ic = w_c sum_j ds_ij slope,   dk_jc = w_c sum_i ds_ij slope,
 *     dw_c = sum_ij ds_ij tanh,   each sum leaving out the pairs whose ds is 0: what they hold is not read
 *
 * tanh(q + k) = 1 - 2 / (1 + e^2q e^2k): exponentials are taken once per query and once per key, a pair costs a product
 * and a division. That holds while neither exceeds ADDITIVE_CALM; rows that do, or that hold NaN, are marked, and their
 * pairs use tanh itself. Either way tanh is within 4e-7 (absolute), and nothing of size queries x keys x width is
 * ever held: backward works out tanh again.
 *
 * Channels are processed in blocks of ADDITIVE_BLOCK, each row of a block without gaps, the last one filled up with
 * zeros. A block of one batch is backward's task: only dw is summed over several, in order of the batch. */
#ifndef KERNEL_ADDITIVE_H
#define KERNEL_ADDITIVE_H

#include "base/thread_pool.h"
#include "kernel/isa.h"
#include <stddef.h>

#define ADDITIVE_BLOCK 32
#define ADDITIVE_CALM  20.0f

struct additive {
    int64_t batch, queries, keys, width;
    const float *q, *k, *w; /* (batch,queries,width), (batch,keys,width), (width) */
};

size_t kernel_additive_work(const struct additive *a); /* in bytes */
/* scores: (batch,queries,keys) */
void kernel_additive(struct pool *pool, const struct additive *a, float *scores, void *work);

struct additive_grad {
    const float *ds;
    float *dq, *dk, *dw; /* or NULL */
    bool add_q, add_k, add_w;
};
size_t kernel_additive_grad_work(const struct additive *a);
void kernel_additive_grad(struct pool *pool, const struct additive *a, const struct additive_grad *g, void *work);

/* ---- what the inner loops are given ---- */

struct additive_side {   /* the queries or the keys of one batch */
    const float *x;      /* (rows,width) */
    const float *e;      /* (blocks,rows,ADDITIVE_BLOCK): e^2x */
    const uint8_t *calm; /* (blocks,rows) */
    int64_t rows;
};

struct additive_rows { /* scores of queries [from, to) */
    struct additive_side q, k;
    int64_t width, from, to;
    const float *w; /* filled up to whole blocks, as below */
    float *scores;  /* (queries,keys) */
};

struct additive_block { /* gradients of one block of n channels; x and dq, dk begin at its first, `width` apart */
    struct additive_side q, k;
    int64_t width, n;
    const float *w, *ds;
    float *dq, *dk; /* or NULL */
    bool add_q, add_k;
    float *sum_k; /* (keys,ADDITIVE_BLOCK): room */
    float *dw;    /* (ADDITIVE_BLOCK): this batch's part */
};

#endif
