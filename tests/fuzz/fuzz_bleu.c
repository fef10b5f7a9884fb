/* BLEU and chrF: the first byte chooses the options; the rest is lines, hypothesis and reference in turn. */
#include "fuzz.h"
#include "heed/text.h"

enum { LINES = 8 };

/* Every second line from `first` on, each ended by 0. */
static heed_lines take_lines(char *text, int64_t *start, const char *data, size_t size, int first) {
    heed_lines l = {text, start, 0};
    int64_t at = 0;
    for (int i = 0; i < 2 * LINES; i++) {
        const char *end = size > 0 ? memchr(data, '\n', size) : NULL;
        const size_t n = end ? (size_t)(end - data) : size;
        if (i % 2 == first) {
            start[l.count++] = at;
            if (n > 0) memcpy(text + at, data, n);
            text[at + (int64_t)n] = 0;
            at += (int64_t)n + 1;
        }
        data += n + (end != NULL);
        size -= n + (end != NULL);
    }
    start[l.count] = at;
    return l;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    heed_ctx *cx = fuzz_context();
    const size_t held = fuzz_held();
    int64_t starts[2][LINES + 1];
    char *texts[2] = {malloc(size + LINES), malloc(size + LINES)};
    const heed_lines hypothesis = take_lines(texts[0], starts[0], (const char *)data + 1, size - 1, 0),
                     reference = take_lines(texts[1], starts[1], (const char *)data + 1, size - 1, 1);
    const heed_bleu_opts opts = {.tokens = (heed_bleu_tokens)(data[0] & 3), .lower = data[0] & 4};
    heed_bleu bleu;
    bool ok = heed_bleu_corpus(cx, &hypothesis, &reference, 1, &opts, &bleu);
    MUST(!ok || (bleu.score >= 0 && bleu.score <= 100.000001));
    fuzz_check(cx, ok, held);
    heed_chrf chrf;
    ok = heed_chrf_corpus(cx, &hypothesis, &reference, 1, data[0] >> 3 & 3, &chrf);
    MUST(!ok || (chrf.score >= 0 && chrf.score <= 100.000001));
    fuzz_check(cx, ok, held);
    free(texts[0]);
    free(texts[1]);
    return 0;
}
