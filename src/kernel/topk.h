/* The k largest numbers of a row, such as the logits of a vocabulary.
 *
 * Nothing is sorted as a whole: the best k are held in a heap, and blocks of numbers whose largest is too small are
 * skipped. Equal numbers are ranked by index, the lower one first. */
#ifndef KERNEL_TOPK_H
#define KERNEL_TOPK_H

#include <stdbool.h>
#include <stdint.h>

struct candidate {
    int32_t id; /* index in the row */
    float score;
};

static inline bool candidate_worse(struct candidate a, struct candidate b) {
    return a.score < b.score || (a.score == b.score && a.id > b.id);
}

struct topk_row {
    float *x;    /* (n) */
    float *tops; /* (topk_blocks(n)): the largest of each block of x */
    int64_t n;
};
int64_t topk_blocks(int64_t n);
/* Fills tops and returns log(sum exp x): NaN when a number is NaN, -inf when all are. */
float topk_log_sum_exp(const struct topk_row *row);
/* x[i] = value, and tops with it. */
void topk_set(const struct topk_row *row, int64_t i, float value);
/* The best k, best first; how many there are, as -inf never is one. */
int64_t topk_best(const struct topk_row *row, int64_t k, struct candidate *best);
/* The best k of x (n) that are worse than `after`, best first; how many there are. */
int64_t topk_after(const float *x, int64_t n, int64_t k, struct candidate after, struct candidate *best);

/* The best k of a row that comes in parts; held is 0 and least -inf at first. */
struct topk_heap {
    struct candidate *best; /* (k); the first is the worst of those it holds */
    int64_t k, held;
    float least; /* what is not above it is not among the best */
};
/* The next n numbers, of which x[0] has index `first`. */
void topk_take(struct topk_heap *h, const float *x, int64_t n, int64_t first);
/* Sorts what it holds, best first; how many there are. Nothing more can be taken then. */
int64_t topk_sort(struct topk_heap *h);

#endif
