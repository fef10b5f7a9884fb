/* What the driver of attention hands to the inner loops: a block of keys against a strip of queries, one query a lane.
 * A strip of n rows of numbers is an array (n, lanes). */
#ifndef KERNEL_ATTENTION_BLOCKS_H
#define KERNEL_ATTENTION_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#define ATTENTION_LANES 32 /* most lanes of a strip */

struct attention_block {
    int64_t keys, d, e;
    const float *k, *v; /* rows of d and e numbers */
    int64_t ldk, ldv;
    const int32_t *from, *to; /* (lanes), or NULL: lane i sees keys from[i] <= j < to[i] of the block */
    const float *add;         /* strip of `keys`, or NULL: added to the scores, -inf hides */
    const float *factor;      /* strip of `keys`, or NULL: dropout, what each weight is multiplied by */
    float cap;                /* of scores, before add; 0: none */
};

struct attention_strip {
    struct attention_block block;
    const float *qt; /* strip of d: the queries, times scale */
    float *scores;   /* strip of keys, holds the weights afterwards */
    float *yt;       /* strip of e: the sum so far, in units of exp(top) */
    float *top, *sum;
};

/* One query on its own. */
struct attention_row {
    struct attention_block block; /* without from and to; add and factor hold one number a key */
    const float *q;               /* times scale */
    float *scores, *y, *top, *sum;
};

/* Backward: `strips` strips of queries at once, whose weights and gradients of scores are (keys, ld) matrices. */
struct attention_back {
    int64_t keys, d, e, strips, ld;
    const float *k, *v, *safe_k; /* safe_k: k, without what is not finite */
    int64_t ldk, ldv, ld_safe;
    const float *qt, *dyt; /* strips, one after the other; qt times scale */
    const float *q, *dy;   /* the same by rows, ldq and ldy apart; rows beyond the last query are zero */
    int64_t ldq, ldy;
    const float *top, *inv, *delta; /* (strips * lanes): largest score, 1 / sum, sum of dy y */
    bool alone; /* these are all the keys that the queries see: delta is worked out of them; not with a cap */
    const struct attention_block *mask; /* one for each strip: from, to, add, factor, cap and how many keys it sees */
    float *p, *ds;                      /* (keys, ld) */
    float *dk, *dv, *dqt;               /* rows, rows, strips of d: added to; dqt lacks the scale; or NULL */
    int64_t lddk, lddv;
};

#endif
