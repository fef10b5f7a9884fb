/* Products whose right side is packed once and used again and again. The chains over k are those of kernel/gemm.c. */
#include "kernel/packed.h"
#include "kernel/gemm.h"
#include "kernel/ints.h"

#define ROWS 240 /* of A at a time: with 256 numbers of each, half of L2 */

/* Where op(B) begins at row k0 and column n0. */
static const void *part_of(const struct packed *b, int64_t k0, int64_t n0) {
    return (const char *)b->b + (b->trans_b ? n0 * b->ldb + k0 : k0 * b->ldb + n0) * stored_size(b->type);
}

void kernel_pack(const struct packed *b) {
    const int64_t block = kernel_gemm_block(b->k), width = round_up(b->n, PACKED_UNIT);
    for (int64_t k0 = 0; k0 < b->k; k0 += block)
        isa_get()->gemm_pack(b->strips + k0 * width, part_of(b, k0, 0), b->ldb, b->type, b->trans_b,
                             min64(block, b->k - k0), b->n);
}

void kernel_packed_product(const struct packed *b, int64_t m, int64_t n0, int64_t n, const float *a, int64_t lda,
                           float *c, int64_t ldc, bool add, const float *bias, float *scratch) {
    const struct isa *isa = isa_get();
    const int64_t block = kernel_gemm_block(b->k), width = round_up(b->n, PACKED_UNIT);
    for (int64_t row = 0; row < m; row += ROWS)
        for (int64_t k0 = 0; k0 < b->k; k0 += block) {
            const int64_t k = min64(block, b->k - k0);
            isa->gemm_panel(min64(ROWS, m - row), n, k, 1, a + row * lda + k0, lda, part_of(b, k0, n0), b->ldb, b->type,
                            b->trans_b, c + row * ldc, ldc, add || k0 > 0, add || k0 > 0 ? NULL : bias,
                            b->strips ? b->strips + k0 * width + n0 * k : scratch,
                            b->strips ? STRIPS_KEPT : STRIPS_PASS);
        }
}
