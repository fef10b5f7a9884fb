/* Word vectors in word2vec's formats. */
#include "fuzz.h"
#include "heed/words.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    heed_ctx *cx = fuzz_context();
    const size_t held = fuzz_held();
    heed_words *w = heed_words_parse(cx, "fuzz", data, size);
    for (int64_t i = 0; i < heed_words_count(w); i++) {
        const char *text = heed_words_text(w, i);
        MUST(heed_words_find(w, text, strlen(text)) == i);
        for (int64_t k = 0; k < heed_words_width(w); k++)
            MUST(heed_words_vector(w, i)[k] - heed_words_vector(w, i)[k] == 0);
    }
    const bool accepted = w;
    heed_words_close(cx, w);
    fuzz_check(cx, accepted, held);
    return 0;
}
