/* Longest common subsequences of two sequences of numbers, a (n) and b (m), in bits (Crochemore et al. 2001; Hyyro
 * 2004). With L(i, j) the length for the first i of a and j of b, a column j is a row of bits: bit i is clear where
 * L(i + 1, j) = L(i, j) + 1. The next column follows from it by an addition, 64 bits at once. */
#ifndef TEXT_METRICS_SUBSEQUENCE_H
#define TEXT_METRICS_SUBSEQUENCE_H

#include "heed/base.h"

/* Where each number is in a: a list of words of bits, in which only those that hold one of it are. */
struct subsequence_place {
    uint64_t bits;
    uint32_t word; /* bits 64 word and on */
    uint32_t next; /* of the same number; 0: none */
};
struct subsequence {
    heed_ctx *cx;
    const int32_t *a;
    size_t n, words;
    struct subsequence_place *place; /* (n + 1), from 1 on */
    uint32_t *first;                 /* (ids), 0: none */
};

/* Numbers are from 0 to ids - 1; sequences are of at most `most` of them. */
bool subsequence_open(heed_ctx *cx, struct subsequence *s, int32_t ids, size_t most);
void subsequence_close(struct subsequence *s);
/* The a that the calls below compare with; it must stay as it is until another is taken. */
void subsequence_take(struct subsequence *s, const int32_t *a, size_t n);
/* The length; memory in proportion to n. */
bool subsequence_length(const struct subsequence *s, const int32_t *b, size_t m, size_t *length);
/* Marks those of a that are in one: of several, the one that is found from the end, leaving out of a where neither is
 * shorter than the other. Memory in proportion to n times the square root of m. */
bool subsequence_mark(const struct subsequence *s, const int32_t *b, size_t m, bool *marked);

#endif
