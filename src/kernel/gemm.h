/* Matrix products of our own.
 *
 *   C (m,n) = act(alpha * op(A) op(B) [+ C] + bias)         op(A): (m,k), op(B): (k,n)
 *
 * Every element is one chain of multiply-adds over k in blocks of fixed length, wherever it lies in the matrix: the
 * bits do not depend on threads, on m or on n, nor on how the work was cut. k = 0 gives act(0 [+ C] + bias). B may be
 * stored in 16 bits; the bits of C are those of the product with B as floats. Why not a library: measured on this kind
 * of machine, oneDNN and MKL are no faster, change bits with the thread count, bring an OpenMP run time into the host
 * program and have no such epilogue. */
#ifndef KERNEL_GEMM_H
#define KERNEL_GEMM_H

#include "base/thread_pool.h"
#include "kernel/isa.h"

/* A matrix B of floats that is packed once, for the products of many calls. Packing takes as long as the products of
 * some ten rows. */
struct gemm_packed {
    int64_t n, k;
    const float *b; /* as in struct gemm */
    int64_t ldb;
    bool trans_b;
    const float *strips;
};

/* A scale and a shift of each row of C, or of each column, as batch norm has them of channels. */
struct gemm_norm {
    const float *scale, *shift;
    bool columns;
};

struct gemm {
    int64_t m, n, k;
    const float *a; /* (m,k) rows lda apart; trans_a: stored (k,m) */
    int64_t lda;
    bool trans_a;
    const void *b; /* (k,n) rows ldb apart; trans_b: stored (n,k), as weights (out, in) are */
    enum stored b_type;
    int64_t ldb;
    bool trans_b;
    const struct gemm_packed *packed; /* of B, or of what B is some columns of; NULL: none */
    float *c;                         /* (m,n) rows ldc apart */
    int64_t ldc;
    bool add; /* C += ...; not with an activation */
    float alpha;
    const float *bias;            /* (n) or NULL */
    enum activation act;          /* epilogue, while the tile is in cache */
    const struct gemm_norm *norm; /* when not NULL: act(scale c + shift + more), without alpha, bias and add; */
    const float *more;            /* (m,n) rows ldc apart, or NULL; of norms of rows */
    float *pre;                   /* when not NULL: act's argument is kept here, (m,n) rows ldc apart, for backward */
};

/* The product repeated over a batch of up to 6 axes; strides in floats, 0 repeats an operand. Where C's stride is 0 the
 * products of that axis are added up, in order (act must be ACT_NONE). */
#define GEMM_BATCH_AXES 6
struct gemm_batch {
    int axes;
    int64_t size[GEMM_BATCH_AXES], a[GEMM_BATCH_AXES], b[GEMM_BATCH_AXES], c[GEMM_BATCH_AXES];
};

void kernel_gemm(struct pool *pool, const struct gemm *g);
void kernel_gemm_batch(struct pool *pool, const struct gemm *g, const struct gemm_batch *batch);

size_t kernel_gemm_packed_size(int64_t n, int64_t k); /* bytes of the strips */
void kernel_gemm_pack(struct pool *pool, const struct gemm_packed *p, float *strips);
int64_t kernel_gemm_block(int64_t k); /* the length of the blocks of k */

#endif
