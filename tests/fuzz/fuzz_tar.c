/* tar archives. */
#include "fuzz.h"
#include "io/tar.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    heed_ctx *cx = fuzz_context();
    const size_t held = fuzz_held();
    struct tar t = {.cx = cx, .name = "fuzz", .data = data, .size = size};
    volatile uint64_t sum = 0;
    while (tar_next(&t)) {
        MUST(t.file >= data && t.file + t.file_size <= data + size && strlen(t.path) < TAR_PATH);
        for (size_t i = 0; i < t.file_size; i++) sum = sum * 31 + t.file[i];
    }
    fuzz_check(cx, !heed_failed(cx), held);
    return 0;
}
