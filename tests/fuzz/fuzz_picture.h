/* What the targets of pictures share: the input is decoded, turned and converted. They differ in their seeds. */
#ifndef TESTS_FUZZ_PICTURE_H
#define TESTS_FUZZ_PICTURE_H

#include "fuzz.h"
#include "heed/image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    heed_ctx *cx = fuzz_context();
    const size_t held = fuzz_held();
    heed_image p = {0};
    const heed_image_opts o = {.mode = (heed_image_mode)(size % 5), .orient = true, .max_pixels = 1 << 20};
    const bool ok = heed_image_parse(cx, "fuzz", data, size, &o, &p);
    volatile uint64_t sum = 0;
    for (int64_t i = 0; ok && i < p.width * p.height * p.channels; i++) sum = sum * 31 + p.data[i];
    MUST(ok == (p.data != NULL));
    heed_image_free(cx, &p);
    fuzz_check(cx, ok, held);
    return 0;
}

#endif
