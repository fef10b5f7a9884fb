/* Words in the plane: principal components. */
#include "base/checked.h"
#include "classical/words/words.h"
#include "kernel/principal.h"

/* The rows (n, width) of length 1. */
static bool take_rows(heed_ctx *cx, const heed_words *w, const int64_t *words, int64_t n, double *x) {
    const int64_t width = w->width;
    for (int64_t i = 0; i < n; i++) {
        const int64_t word = words ? words[i] : i;
        if (word < 0 || word >= w->words.count)
            return heed_fail(cx, HEED_ERR_RANGE, "words: there is no word number %lld", (long long)word);
        for (int64_t k = 0; k < width; k++)
            x[i * width + k] = (double)w->scale[word] * (double)w->vector[word * width + k];
    }
    return true;
}

bool heed_words_plane(heed_ctx *cx, const heed_words *w, const int64_t *words, int64_t n, float *x, float *y,
                      double *share) {
    size_t room;
    if (heed_failed(cx)) return false;
    if (!w || n < 1 || !x || !y) return heed_fail(cx, HEED_ERR_USAGE, "words: words and places for them are needed");
    if (!size_mul((size_t)n + 2, (size_t)w->width * sizeof(double), &room))
        return heed_fail(cx, HEED_ERR_MEMORY, "words: %lld words are too many for a plane", (long long)n);
    double *row = heed_mem_new(cx, room);
    double parts[2];
    if (row && take_rows(cx, w, words, n, row))
        kernel_principal_plane(row, n, w->width, row + n * w->width, x, y, share ? share : parts);
    heed_mem_free(cx, row);
    return !heed_failed(cx);
}
