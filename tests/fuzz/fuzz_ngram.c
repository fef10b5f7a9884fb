/* n-gram files, ARPA and heed's own: whatever opens is walked through, and written as ARPA. */
#include "fuzz.h"
#include "heed/ngram.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static char out[64];
    heed_ctx *cx = fuzz_context();
    const size_t held = fuzz_held();
    const char *path = fuzz_file(".ngram", data, size);
    snprintf(out, sizeof out, "/tmp/heed-fuzz.%ld.arpa", (long)getpid());
    heed_ngram *m = heed_ngram_open(cx, path);
    const bool ok = m != NULL;
    if (ok && heed_ngram_words(m) < 10000) {
        double *p = heed_mem_new(cx, (size_t)heed_ngram_words(m) * sizeof *p);
        heed_ngram_state s = heed_ngram_begin(m);
        for (int32_t w = 0; w < 64; w++) {
            heed_ngram_step(m, &s, heed_ngram_id(m, heed_ngram_word(m, w), strlen(heed_ngram_word(m, w))), NULL);
            heed_ngram_next(m, &s, p);
        }
        heed_mem_free(cx, p);
        MUST(heed_ngram_write_arpa(cx, m, out));
        unlink(out);
    }
    heed_ngram_free(cx, m);
    unlink(path);
    fuzz_check(cx, ok, held);
    return 0;
}
