/* What the fuzz targets share. A target gives its input to a reader, looks at everything that comes back, and traps
 * when the reader breaks its word: a failure without a sentence, a sentence without a failure, or memory left behind.
 */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include "heed/io.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(truth)                                                                                                    \
    do {                                                                                                               \
        if (!(truth)) __builtin_trap();                                                                                \
    } while (0)

/* One context for the whole run; its budget ends any attempt to make the reader allocate without bound. */
static heed_ctx *fuzz_context(void) {
    static heed_ctx *cx;
    if (!cx) cx = heed_open(&(heed_config){.threads = 1, .byte_budget = (size_t)256 << 20});
    MUST(!heed_failed(cx));
    return cx;
}

static size_t fuzz_held(void) { return heed_memory_use(fuzz_context()).held; }

/* After one reading: its promises kept, and the context ready for the next. */
static void fuzz_check(heed_ctx *cx, bool accepted, size_t held_before) {
    MUST(accepted == !heed_failed(cx));
    MUST(accepted == (heed_message(cx)[0] == 0));
    MUST(heed_memory_use(cx).held == held_before);
    MUST(heed_error(cx) != HEED_ERR_MEMORY);
    heed_clear(cx);
}

/* The input as a file whose name ends so, for readers that take a path; the caller unlinks it. */
static inline const char *fuzz_file(const char *ending, const uint8_t *data, size_t size) {
    static char path[96];
    snprintf(path, sizeof path, "/tmp/heed-fuzz.%ld%s", (long)getpid(), ending);
    FILE *f = fopen(path, "wb");
    MUST(f && fwrite(data, 1, size, f) == size && fclose(f) == 0);
    return path;
}

/* Reads every byte of an array, so that the sanitizers see where it lies. */
static inline uint64_t fuzz_sum(const heed_array *a) {
    uint64_t sum = 0;
    const size_t n = (size_t)heed_array_count(a) * heed_dtype_size(a->dtype);
    for (size_t i = 0; i < n; i++) sum = sum * 31 + ((const unsigned char *)a->data)[i];
    return sum;
}

#endif
