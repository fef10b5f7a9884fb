/* Linear attention: softmax's exp(q'k) is replaced by a product of features, so that sums over keys are made once.
 *
 *   y_i = sum_j a_ij v_j / sum_j a_ij,   a_ij = q_i'k_j exp(s_j)         Katharopoulos et al. 2020
 *       = q_i'S_i / q_i'z_i,   S_i = sum_j exp(s_j) k_j v_j',   z_i = sum_j exp(s_j) k_j
 *
 * j runs over the visible keys; causal: those up to i. Then time goes by chunks of C: within a chunk a_ij is made of
 * products, (C,C), and what came before is the state S (M,E), z (M). Neither pass holds more of it than one chunk and
 * one state for each thread. Cost: B H T (2 M E + C (M + E)) multiply-adds forward, some 2.5 times that backward.
 *
 * Everything is relative to exp(top_i), top_i the largest s_j that query i sees: sums neither overflow nor, while a
 * larger s_j comes, lose what is smaller by less than a float can hold; and no key changes a bit of queries before it.
 * A query whose sum is 0 (which sees no key) gives zeros. */
#ifndef KERNEL_LINEAR_ATTENTION_H
#define KERNEL_LINEAR_ATTENTION_H

#include "base/thread_pool.h"
#include "kernel/isa.h"

#define LINEAR_FEATURES 2048    /* M, at most, */
#define LINEAR_VALUES   256     /* E, */
#define LINEAR_STATE    0x40000 /* and M E: what fits the scratch of a task */

struct linear {
    int64_t batch, heads, queries, keys, m, e;
    const float *q, *k, *v;                     /* (B,Tq,H,M), (B,Tk,H,M), (B,Tk,H,E) */
    const float *s;                             /* (B,Tk,H), or NULL: 0 */
    bool causal;                                /* queries = keys */
    const int32_t *key_lengths, *query_lengths; /* (B) or NULL */
    const uint8_t *keep;                        /* (B,Tk), rows keep_batch apart, 0 hides; or NULL */
    int64_t keep_batch;
    float *state; /* causal: goes on from here and is left here, (B,H,linear_state_size); or NULL: from nothing */
};
/* Floats of a state: S transposed (E,M), z (M), top. It begins as linear_state_clear leaves it. */
int64_t linear_state_size(int64_t m, int64_t e);
void linear_state_clear(float *state, int64_t m, int64_t e);

/* y (B,Tq,H,E); sum and top (B,H,Tq), for backward. */
void kernel_linear(struct pool *pool, const struct linear *l, float *y, float *sum, float *top);

struct linear_grad {
    const float *y, *sum, *top, *dy;
    float *dq, *dk, *dv; /* each may be NULL */
    bool add_q, add_k, add_v;
};
void kernel_linear_grad(struct pool *pool, const struct linear *l, const struct linear_grad *g);

#endif
