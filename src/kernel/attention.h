/* Exact attention by tiles.   y = softmax(scale q k' + bias) v        Dao et al. 2022
 *
 * Keys are processed in blocks, queries in strips as wide as two vectors, one query a lane: running maximum and sum, no
 * row is ever held whole. Every score is one chain of multiply-adds over d and every row takes the blocks of keys in
 * order, so the bits depend neither on threads nor on what else is in the batch. Arrays have any strides, in floats;
 * the last axis has no gaps. */
#ifndef KERNEL_ATTENTION_H
#define KERNEL_ATTENTION_H

#include "base/thread_pool.h"
#include "kernel/isa.h"

#define ATTENTION_HEAD 2048 /* widest head: blocks of wider ones would not fit the scratch */

struct attention_at {
    int64_t batch, time, head;
};

/* Which of B, H, Tq a bias or bitmap over (B,H,Tq,Tk) differs in: strides, 0 repeats. */
struct attention_plane {
    int64_t batch, head, query;
};

struct attention {
    int64_t batch, heads, kv_heads, queries, keys; /* B H G Tq Tk; queries, keys: of the longest sequence */
    int64_t d, e;                                  /* D E, at most ATTENTION_HEAD */
    const float *q, *k, *v;
    struct attention_at q_at, k_at, v_at;
    const int32_t *q_offsets,
        *k_offsets;         /* (B+1) or NULL. Packed: sequence b has rows from offsets[b] to offsets[b+1] */
    int64_t q_rows, k_rows; /* packed: rows in all */
    const int32_t *q_lengths, *k_lengths; /* (B) or NULL: rows that are real */
    const int32_t *places;                /* (B) or NULL: position of query 0 in each sequence, instead of offset */
    const int64_t *forgotten; /* (B) or NULL: keys that were before key 0; with them the bits would be the same */
    float scale;
    float cap;      /* scores s = scale q k' become cap tanh(s / cap), before the bias; 0: they do not */
    int64_t offset; /* query i has position i + offset among the keys */
    bool causal;
    int64_t window, block; /* 0: none */
    const uint8_t *keep;   /* or NULL */
    struct attention_plane keep_at;
    const float *add; /* or NULL */
    struct attention_plane add_at;
    const float *slopes;   /* (H) or NULL: adds -slope |i + offset - j| */
    const float *distance; /* (H,n) or NULL: adds element j - i - offset + distance_zero of the head's row */
    int64_t distance_head, distance_zero;
    float dropout;
    uint64_t seed, stream;
};

/* Rows of statistics: (H, rows), row b * Tq + i, or offsets[b] + i. */
int64_t kernel_attention_rows(const struct attention *a);

/* y and, where not NULL, each row's largest score and sum of exp(score - largest): -inf and 0 where nothing is seen. */
void kernel_attention(struct pool *pool, const struct attention *a, float *y, struct attention_at y_at, float *top,
                      float *sum);

struct attention_grad {
    const float *y, *dy; /* (B,Tq,H,E) without gaps */
    const float *top, *sum;
    float *dq, *dk, *dv; /* or NULL; heads of a row without gaps, rows ldq, ldk, ldv apart: */
    int64_t ldq, ldk, ldv;
    bool add_q, add_k, add_v;
    float *dadd; /* in the layout of add, of `add_count` numbers; or NULL */
    int64_t add_count;
    bool add_add;
    float *ddistance; /* in the layout of distance, rows of `distance_count` numbers; or NULL */
    int64_t distance_count, distance_rows;
    bool add_distance;
    void *work; /* kernel_attention_grad_work bytes */
};
size_t kernel_attention_grad_work(const struct attention *a, const struct attention_grad *g);
void kernel_attention_grad(struct pool *pool, const struct attention *a, const struct attention_grad *g);

/* Weights of n chosen query rows (NULL: from `first` on) of one sequence and head, before dropout: out (n, keys), rows
 * ldo apart; what is not seen is 0. */
void kernel_attention_weights(struct pool *pool, const struct attention *a, const float *top, const float *sum,
                              int64_t batch, int64_t head, const int64_t *rows, int64_t first, int64_t n, float *out,
                              int64_t ldo);

#endif
