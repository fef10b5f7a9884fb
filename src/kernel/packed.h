/* The right side of many small products that follow each other within tasks, as the steps of a recurrent network:
 * packed once, so that it stays in the caches in the order in which it is read. */
#ifndef KERNEL_PACKED_H
#define KERNEL_PACKED_H

#include "kernel/isa.h"

struct packed {
    int64_t n, k;
    const void *b; /* as in struct gemm */
    enum stored type;
    int64_t ldb;
    bool trans_b;
    float *strips; /* kernel_gemm_packed_size bytes, filled by kernel_pack; NULL: B is read where it lies */
};
#define PACKED_UNIT 32 /* columns by which a packed side may be cut */

void kernel_pack(const struct packed *b);
/* C (m, columns n0 .. n0 + n) = [C +] A op(B) [+ bias], on the calling thread, from inside a task too. n0: a multiple
 * of PACKED_UNIT; c and bias (n, or NULL; not with add) are those of column n0. scratch: HEED_SCRATCH bytes, of the
 * thread. The bits are those of kernel_gemm. */
void kernel_packed_product(const struct packed *b, int64_t m, int64_t n0, int64_t n, const float *a, int64_t lda,
                           float *c, int64_t ldc, bool add, const float *bias, float *scratch);

#endif
