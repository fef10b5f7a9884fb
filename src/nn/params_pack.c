/* Weights in the layout that products read (kernel/gemm.h): packed once, when a model is opened to be run often. A
 * product of few rows, a sentence or some beams, takes nearly as long to pack its weight as to be computed. */
#include "base/ctx.h"
#include "base/memory.h"
#include "kernel/gemm.h"
#include "nn/params.h"

#define PACK_LIMIT ((size_t)1 << 30) /* bytes: larger models are not held twice */

static bool is_packed(const heed_param *p) {
    return p->rank == 2 && !p->target && !p->needs_f32 && !p->is_embedding && p->dtype == HEED_F32 && p->count > 0;
}

static struct gemm_packed record_of(const heed_param *p) {
    const bool t = !p->transposed; /* (out,in), as B is stored (n,k) */
    return (struct gemm_packed){
        .n = p->shape[t ? 0 : 1], .k = p->shape[t ? 1 : 0], .b = p->data, .ldb = p->shape[1], .trans_b = t};
}

bool heed_params_pack(heed_ctx *cx, heed_params *set) {
    if (heed_failed(cx)) return false;
    if (!set || !set->file) return heed_fail(cx, HEED_ERR_USAGE, "params: only mapped sets are packed");
    size_t records = 0, bytes = 0;
    for (int i = 0; i < set->n; i++) {
        if (!is_packed(set->list[i])) continue;
        const struct gemm_packed p = record_of(set->list[i]);
        records++;
        bytes += kernel_gemm_packed_size(p.n, p.k);
    }
    void *block;
    records = (records * sizeof(struct gemm_packed) + 63) / 64 * 64;
    if (set->packed || bytes > PACK_LIMIT || cx->config.byte_budget > 0 || cx->config.dry ||
        mem_try(cx, records + bytes, &block) != HEED_OK)
        return true;
    set->packed = block;
    struct gemm_packed *record = block;
    float *strips = (float *)(void *)((char *)block + records);
    for (int i = 0; i < set->n; i++) {
        heed_param *const p = set->list[i];
        if (!is_packed(p)) continue;
        *record = record_of(p);
        kernel_gemm_pack(cx->pool, record, strips);
        record->strips = strips;
        strips += kernel_gemm_packed_size(record->n, record->k) / sizeof *strips;
        p->packed = record++;
    }
    return true;
}
