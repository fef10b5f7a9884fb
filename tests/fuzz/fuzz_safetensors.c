/* safetensors: the same file, aligned and not, must give the same tensors. */
#include "fuzz.h"

static bool look(heed_ctx *cx, const uint8_t *data, size_t size, uint64_t *sum) {
    heed_safetensors *st = heed_safetensors_parse(cx, "fuzz", data, size);
    *sum = 0;
    for (int64_t i = 0; i < heed_safetensors_count(st); i++) {
        const heed_array *a = heed_safetensors_get(cx, st, i);
        MUST(a && (uintptr_t)a->data % heed_dtype_size(a->dtype) == 0);
        MUST(heed_safetensors_find(cx, st, a->name) == i);
        *sum = *sum * 31 + fuzz_sum(a);
    }
    for (int64_t i = 0; i < heed_safetensors_metadata_count(st); i++)
        MUST(heed_safetensors_metadata(cx, st, heed_safetensors_metadata_at(cx, st, i).key));
    heed_safetensors_close(st);
    return st;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    heed_ctx *cx = fuzz_context();
    const size_t held = fuzz_held();
    uint64_t sum, shifted_sum;
    const bool accepted = look(cx, data, size, &sum);
    fuzz_check(cx, accepted, held);
    if (!accepted) return 0;
    uint8_t *shifted = malloc(size + 1);
    MUST(shifted);
    memcpy(shifted + 1, data, size);
    MUST(look(cx, shifted + 1, size, &shifted_sum) && sum == shifted_sum);
    fuzz_check(cx, true, held);
    free(shifted);
    return 0;
}
