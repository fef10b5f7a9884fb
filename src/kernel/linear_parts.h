/* What the two passes of linear attention share: chunks of a sequence, and products within a task. */
#ifndef KERNEL_LINEAR_PARTS_H
#define KERNEL_LINEAR_PARTS_H

#include "kernel/gemm.h"
#include "kernel/ints.h"
#include "kernel/linear_attention.h"

#define CHUNK  64    /* rows, at most: the products within a chunk then cost as much as those with the state */
#define CHUNKS 49152 /* rows x features of a chunk, at most */

/* One head of one sequence. */
struct linear_head {
    const struct isa *isa;
    const struct linear *l;
    int64_t b, h;
    const float *q, *k, *v, *s;  /* row 0 */
    int64_t ldq, ldv, lds;       /* from row to row; ldq: of q and k */
    int64_t size, queries, keys; /* rows of a chunk; rows of q and k that are not padding at the end */
    float *strips;               /* for products */
};

/* Some rows of a head. Padding is zeros in what was cleaned. */
struct linear_chunk {
    int64_t first, n;
    float s[CHUNK]; /* -inf where hidden */
    bool hides;
};

/* The scratch of a task, handed out piece by piece. */
static inline float *linear_take(float **scratch, int64_t floats) {
    float *const at = *scratch;
    *scratch += round_up(floats, 16);
    return at;
}

struct linear_head linear_head_of(const struct isa *isa, const struct linear *l, int64_t task, float **scratch);
/* Rows first .. of the keys; of the queries, whose s says only which are padding. */
void linear_keys(const struct linear_head *a, int64_t first, struct linear_chunk *c);
void linear_queries(const struct linear_head *a, int64_t first, struct linear_chunk *c);
/* Rows of x (row 0 given) of a chunk: where they are, or copied to `room` (n, cols) with zeros for what is hidden. */
const float *linear_rows(const struct linear_chunk *c, const float *x, int64_t *ld, int64_t cols, float *room);

/* exp(s - top), 0 where there is nothing. */
float linear_factor(float s, float top);
/* of[i] = exp(s_i - top) of a chunk's keys */
void linear_factors_to(const struct linear_chunk *c, float top, float *of);
/* The largest s of all visible keys, -inf where there is none. */
float linear_top(const struct linear_head *a);

/* C (m,n) = A (m,k) op(B), or +=, on this thread, as kernel_gemm does it. */
struct linear_product {
    int64_t m, n, k;
    const float *a;
    int64_t lda;
    const float *b;
    int64_t ldb;
    bool trans_b;
    float *c;
    int64_t ldc;
    bool add;
};
void linear_multiply(const struct linear_head *a, const struct linear_product *p);

/* S = keep S + x'k, z = keep z + sum of a_i k_i: x (n,E), k (n,M), S (E,M); xt: room (E,n). */
void linear_gather_rows(const struct linear_head *a, int64_t n, float keep, const float *x, const float *factor,
                        const float *k, int64_t ldk, float *state, float *z, float *xt);

#endif
