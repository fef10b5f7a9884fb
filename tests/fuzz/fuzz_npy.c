/* npy. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    heed_ctx *cx = fuzz_context();
    const size_t held = fuzz_held();
    heed_array *a = heed_npy_parse(cx, "fuzz", data, size);
    if (a) fuzz_sum(a);
    heed_mem_free(cx, a);
    fuzz_check(cx, a, held);
    return 0;
}
