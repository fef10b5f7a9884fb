/* What attention's forward and backward passes share: which keys a query sees, and the strips of a mask. */
#ifndef KERNEL_ATTENTION_PARTS_H
#define KERNEL_ATTENTION_PARTS_H

#include "kernel/attention.h"
#include "kernel/attention_blocks.h"
#include "kernel/ints.h"

#define KEY_BLOCK 256 /* keys that a strip, or a query on its own, takes at once */
#define FEW       4   /* queries that are processed one by one, not in strips */
#define ROOM      ((int64_t)(HEED_SCRATCH / sizeof(float))) /* floats of scratch that a task has */

/* One sequence of the batch. */
struct sequence {
    int64_t b, queries, keys; /* real ones */
    int64_t place;            /* position of query 0 */
    int64_t forgotten;        /* keys before key 0 */
    const float *q, *k, *v;   /* row 0, head 0 */
    int64_t row;              /* of query 0 among the rows of statistics */
};
struct sequence sequence_of(const struct attention *a, int64_t b);

/* Where the block of keys that holds key j ends: blocks begin at multiples of their size, forgotten keys counted. */
static inline int64_t block_end(const struct sequence *s, int64_t j, int64_t size) {
    return ((s->forgotten + j) / size + 1) * size - s->forgotten;
}

/* Keys and values j0 .. j0 + keys of key head kv, not masked yet. */
static inline struct attention_block block_of(const struct attention *a, const struct sequence *s, int64_t kv,
                                              int64_t j0, int64_t keys) {
    return (struct attention_block){.keys = keys,
                                    .d = a->d,
                                    .e = a->e,
                                    .k = s->k + j0 * a->k_at.time + kv * a->k_at.head,
                                    .ldk = a->k_at.time,
                                    .v = s->v + j0 * a->v_at.time + kv * a->v_at.head,
                                    .ldv = a->v_at.time,
                                    .cap = a->cap};
}

/* The keys that query i can see, bitmap and bias aside. */
struct span {
    int64_t from, to;
};
struct span span_of(const struct attention *a, const struct sequence *s, int64_t i);

/* A strip of queries i0 .. i0 + n of head h against keys j0 .. j0 + block->keys: fills from, to, add and factor of the
 * block, where they are needed, in `room`. keys is cut to those that some lane can see; 0: none. */
struct mask_room {
    int32_t from[ATTENTION_LANES], to[ATTENTION_LANES];
    float add[KEY_BLOCK * ATTENTION_LANES], factor[KEY_BLOCK * ATTENTION_LANES];
};
void strip_mask(const struct isa *isa, const struct attention *a, const struct sequence *s, int64_t h, int64_t i0,
                int64_t n, int64_t j0, struct attention_block *block, struct mask_room *room);
/* May some lane not see some key that another one sees? Then what is hidden must not be multiplied, even by 0. */
static inline bool block_hides(const struct attention_block *b) { return b->from || b->add; }

/* Rows that lie far apart fall into few sets of the caches: they are copied to `room`. */
const float *near_rows(const float *x, int64_t *ldx, int64_t rows, int64_t cols, float *room);
/* Rows with numbers that are not finite become zeros: x itself when there are none, else a copy in `room`. *bad:
 * whether there were. */
const float *finite_rows(const struct isa *isa, const float *x, int64_t *ldx, int64_t rows, int64_t cols, float *room,
                         bool *bad);

/* The scratch of a task, handed out piece by piece. */
static inline float *take(float **scratch, int64_t floats) {
    float *const at = *scratch;
    *scratch += round_up(floats, 16);
    return at;
}
static inline struct mask_room *take_mask(float **scratch) {
    return (void *)take(scratch, (int64_t)(sizeof(struct mask_room) / sizeof(float)));
}

#endif
