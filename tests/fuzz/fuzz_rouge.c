/* ROUGE: whether words are stemmed, and two texts with a byte 0 between them. */
#include "fuzz.h"
#include "heed/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    const char *const first = (const char *)data + 1, *const end = (const char *)data + size,
                      *const stop = size > 1 ? memchr(first, 0, size - 1) : NULL, *const second = stop ? stop + 1 : end;
    heed_ctx *cx = fuzz_context();
    const size_t held = fuzz_held();
    heed_rouge r;
    const bool ok = heed_rouge_text(cx, first, (size_t)((stop ? stop : end) - first), second, (size_t)(end - second),
                                    &(heed_rouge_opts){.stem = data[0] & 1}, &r);
    MUST(!ok || (r.rougeL.f >= 0 && r.rougeL.f <= r.rouge1.f && r.rougeLsum.f <= r.rouge1.f));
    fuzz_check(cx, ok, held);
    return 0;
}
