/* Nearest words, analogies, and words in the plane. */
#include "base/ctx.h"
#include "classical/words/words.h"
#include "io/text.h"
#include "kernel/gemm.h"
#include "kernel/ints.h"
#include "kernel/topk.h"
#include "text/strings/edit.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROWS 16384 /* vectors that are compared at once */

/* ---- nearest ---- */

int64_t heed_words_nearest(heed_ctx *cx, const heed_words *w, const float *query, const int64_t *without,
                           int64_t n_without, int64_t top, heed_word_found *found) {
    if (heed_failed(cx)) return -1;
    if (!w || !query || top < 1 || !found || (n_without > 0 && !without))
        return heed_fail(cx, HEED_ERR_USAGE, "words: vectors, a query and a place for what is found are needed"), -1;
    const int64_t kept = min64(top, w->words.count);
    double square = 0;
    for (int64_t k = 0; k < w->width; k++) square += (double)query[k] * (double)query[k];
    const float scale = square > 0 ? (float)(1 / sqrt(square)) : 0;
    float *score = heed_mem_new(cx, (size_t)min64(ROWS, w->words.count) * sizeof *score + 1);
    struct topk_heap heap = {
        .best = heed_mem_new(cx, (size_t)kept * sizeof *heap.best + 1), .k = kept, .least = -INFINITY};
    for (int64_t at = 0; !heed_failed(cx) && at < w->words.count; at += ROWS) {
        const int64_t n = min64(ROWS, w->words.count - at);
        kernel_gemm(cx->pool, &(struct gemm){.m = 1,
                                             .n = n,
                                             .k = w->width,
                                             .a = query,
                                             .lda = w->width,
                                             .b = w->vector + at * w->width,
                                             .ldb = w->width,
                                             .trans_b = true,
                                             .c = score,
                                             .ldc = n,
                                             .alpha = 1});
        for (int64_t i = 0; i < n; i++) score[i] *= scale * w->scale[at + i];
        for (int64_t i = 0; i < n_without; i++)
            if (without[i] >= at && without[i] < at + n) score[without[i] - at] = -INFINITY;
        topk_take(&heap, score, n, at);
    }
    const int64_t n = heed_failed(cx) ? -1 : topk_sort(&heap);
    for (int64_t i = 0; i < n; i++) found[i] = (heed_word_found){heap.best[i].id, heap.best[i].score};
    heed_mem_free(cx, score);
    heed_mem_free(cx, heap.best);
    return n;
}

/* ---- analogies ---- */

/* Edits that turn one text into the other, as far as there are fewer than `most`: insertions, deletions, exchanges and
 * swaps of neighbours. row (3, size + 1). */
static int64_t edits(const char *a, int64_t n, const char *b, int64_t m, int64_t most, int64_t *row) {
    int64_t *before = row, *last = row + n + 1, *now = last + n + 1;
    if (llabs((long long)(n - m)) >= most) return most;
    for (int64_t j = 0; j <= n; j++) last[j] = j;
    for (int64_t i = 1; i <= m; i++) {
        int64_t least = now[0] = i;
        for (int64_t j = 1; j <= n; j++) {
            now[j] = min64(last[j - 1] + (a[j - 1] != b[i - 1]), min64(last[j], now[j - 1]) + 1);
            if (i > 1 && j > 1 && a[j - 1] == b[i - 2] && a[j - 2] == b[i - 1])
                now[j] = min64(now[j], before[j - 2] + 1);
            least = min64(least, now[j]);
        }
        if (least >= most) return most;
        int64_t *const spare = before;
        before = last, last = now, now = spare;
    }
    return min64(last[n], most);
}

#define LONGEST 64 /* longer words are not looked up */

static bool unknown(heed_ctx *cx, const heed_words *w, const char *word, size_t size) {
    int64_t row[3 * (LONGEST + 1)], nearest = -1, most = (int64_t)size / 3 + 2;
    for (int64_t i = 0; size <= LONGEST && i < w->words.count && most > 1; i++) {
        const int64_t n = edits(word, (int64_t)size, map_key(&w->words, i), (int64_t)map_size(&w->words, i), most, row);
        if (n < most && n < (int64_t)map_size(&w->words, i)) nearest = i, most = n;
    }
    if (nearest < 0) return heed_fail(cx, HEED_ERR_FORMAT, "unknown word '%s'", escaped_bytes(word, size).s);
    return heed_fail(cx, HEED_ERR_FORMAT, "unknown word '%s', did you mean '%s'?", escaped_bytes(word, size).s,
                     escaped(map_key(&w->words, nearest)).s);
}

/* A sum of words: + and - stand between them. */
struct sum {
    float *vector;
    int64_t *word, n, room;
    bool minus, open; /* the sign before the next word; a word must follow */
};

static bool add_term(heed_ctx *cx, const heed_words *w, struct sum *s, const char *text, size_t size) {
    const bool sign = size == 1 && (*text == '+' || *text == '-');
    if (sign && (!s->open || s->n == 0)) {
        s->minus = *text == '-';
        s->open = true;
        return true;
    }
    if (!s->open) return heed_fail(cx, HEED_ERR_FORMAT, "expected + or - before '%s'", escaped_bytes(text, size).s);
    const int64_t word = map_find(&w->words, text, size);
    if (word < 0) return unknown(cx, w, text, size);
    if (s->n == s->room) {
        int64_t *larger = heed_mem_resize(cx, s->word, (size_t)(2 * s->room + 8) * sizeof *larger);
        if (!larger) return false;
        s->word = larger;
        s->room = 2 * s->room + 8;
    }
    const float scale = s->minus ? -w->scale[word] : w->scale[word];
    for (int64_t k = 0; k < w->width; k++) s->vector[k] += scale * w->vector[word * w->width + k];
    s->word[s->n++] = word;
    s->open = false;
    return true;
}

static bool add_terms(heed_ctx *cx, const heed_words *w, struct sum *s, const char *text, size_t size) {
    s->vector = heed_mem_new(cx, (size_t)w->width * sizeof *s->vector);
    if (!s->vector) return false;
    memset(s->vector, 0, (size_t)w->width * sizeof *s->vector);
    s->open = true;
    if (size == 1 && map_find(&w->words, text, size) >= 0) { /* "-", too, may be a word */
        s->n = s->room = 0;
        s->word = heed_mem_new(cx, sizeof *s->word);
        if (!s->word) return false;
        s->word[s->n++] = map_find(&w->words, text, size);
        memcpy(s->vector, w->vector + s->word[0] * w->width, (size_t)w->width * sizeof *s->vector);
        return true;
    }
    for (const char *at = text, *end = text + size; at < end;) {
        const char *const stop = memchr(at, ' ', (size_t)(end - at));
        const size_t n = (size_t)((stop ? stop : end) - at);
        if (n > 0 && !add_term(cx, w, s, at, n)) return false;
        at += n + 1;
    }
    if (s->n > 0 && !s->open) return true;
    return heed_fail(cx, HEED_ERR_FORMAT, s->n == 0 ? "there is no word" : "a word is missing at the end");
}

int64_t heed_words_ask(heed_ctx *cx, const heed_words *w, const char *text, int64_t top, heed_word_found *found) {
    struct edit e;
    struct sum s = {0};
    int64_t n = -1;
    if (heed_failed(cx)) return -1;
    if (!w || !text) return heed_fail(cx, HEED_ERR_USAGE, "words: vectors and a word are needed"), -1;
    if (!edit_begin(&e, cx, text, strlen(text))) return -1;
    if (w->lower) edit_lower(&e);
    edit_words(&e);
    if (!heed_failed(cx) && add_terms(cx, w, &s, e.text.s, e.text.size))
        n = heed_words_nearest(cx, w, s.vector, s.word, s.n, top, found);
    edit_end(&e);
    heed_mem_free(cx, s.vector);
    heed_mem_free(cx, s.word);
    return n;
}

/* ---- a table of a model's ---- */

int64_t heed_words_copy(heed_ctx *cx, const heed_words *w, const heed_tokenizer *tokens, float *table, int64_t rows,
                        int64_t width) {
    int64_t copied = 0;
    if (heed_failed(cx)) return -1;
    if (!w || !tokens || !table)
        return heed_fail(cx, HEED_ERR_USAGE, "words: vectors, a tokenizer and a table are needed"), -1;
    if (width != w->width)
        return heed_fail(cx, HEED_ERR_SHAPE, "vectors of %lld numbers do not fit a table of words %lld wide",
                         (long long)w->width, (long long)width),
               -1;
    for (int64_t i = 0; i < rows && i < heed_tokenizer_size(tokens); i++) {
        const char *token = heed_tokenizer_token(tokens, (int32_t)i);
        if (!token || heed_tokenizer_is_special(tokens, (int32_t)i)) continue;
        if (strncmp(token, "\u2581", 3) == 0 && token[3]) token += 3; /* which begins a word */
        const int64_t word = map_find(&w->words, token, strlen(token));
        if (word < 0) continue;
        memcpy(table + i * width, w->vector + word * width, (size_t)width * sizeof *table);
        copied++;
    }
    return copied;
}
