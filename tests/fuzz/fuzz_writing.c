/* Strokes of JSON lines: whatever is read has finite points, a pen of 0 or 1 that is lifted at the end, and can be
 * written and read again. */
#include "fuzz.h"

#include "heed/writing.h"
#include <math.h>

static void look(heed_ctx *cx, const heed_writings *w) {
    for (int64_t i = 0; i < w->n; i++) {
        int64_t n;
        const float *p = heed_writing_points(w, i, &n);
        MUST(p && n > 0 && p[0] == 0 && p[1] == 0 && p[3 * n - 1] == 1);
        for (int64_t k = 0; k < n; k++)
            MUST(isfinite(p[3 * k]) && isfinite(p[3 * k + 1]) && (p[3 * k + 2] == 0 || p[3 * k + 2] == 1));
        MUST(w->text_start[i] + (int64_t)strlen(heed_writing_text(w, i)) + 1 == w->text_start[i + 1]);
        const heed_writing_style s = heed_writing_style_of(p, n);
        MUST(isfinite(s.slant) && isfinite(s.height) && isfinite(s.step));
        const heed_json at = heed_json_new(cx, "piece");
        MUST(heed_writing_put(cx, p, n, at, "strokes"));
        heed_json_free(at);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    heed_ctx *cx = fuzz_context();
    const size_t held = fuzz_held();
    const char *path = fuzz_file(".jsonl", data, size);
    heed_writings w = {0};
    const bool ok = heed_writings_read(cx, path, &w);
    if (ok) look(cx, &w);
    heed_writings_free(cx, &w);
    unlink(path);
    fuzz_check(cx, ok, held);
    return 0;
}
