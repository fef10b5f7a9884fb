/* ROUGE (Lin 2004) as the package rouge_score computes it. A word is a run of a-z and 0-9 of the text in lower case;
 * with the stemmer, those of more than three letters are cut to their stems.
 *
 *     ROUGE-N       n-grams that both have, none counted more often than the one that has fewer
 *     ROUGE-L       words of a longest common subsequence
 *     ROUGE-Lsum    sentence by sentence (lines of a text): for each sentence of the reference, the words that are in a
 *                   longest common subsequence with any sentence of the hypothesis; a word counts as often as both have
 *     precision: of the hypothesis' n-grams or words;  recall: of the reference's;  F = 2 P R / (P + R) */
#include "text/metrics/bleu.h"
#include "text/metrics/porter.h"
#include "text/metrics/subsequence.h"
#include "text/strings/map.h"

#include <stdlib.h>
#include <string.h>

#define WORDS_AT_ONCE 65536 /* between two looks at whether it was cancelled */

/* The words of a text, as numbers that the words of both texts share, and where each sentence of it ends. */
struct words {
    struct edit e;
    size_t *start, *size; /* (count) in e.text */
    int32_t *id;          /* (count) */
    size_t *end;          /* (sentences) */
    size_t count, sentences;
};

static void words_free(heed_ctx *cx, struct words *w) {
    edit_end(&w->e);
    heed_mem_free(cx, w->start);
    heed_mem_free(cx, w->size);
    heed_mem_free(cx, w->id);
    heed_mem_free(cx, w->end);
}

static bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

static bool read_words(heed_ctx *cx, const char *text, size_t size, bool stems, struct words *w) {
    *w = (struct words){0};
    if (!edit_begin(&w->e, cx, text, size)) return false;
    edit_lower(&w->e);
    if (heed_failed(cx)) return false;
    char *const s = w->e.text.s;
    const size_t n = w->e.text.size, room = (n + 2) * sizeof(size_t); /* a word takes a byte at least */
    w->start = heed_mem_new(cx, room);
    w->size = heed_mem_new(cx, room);
    w->end = heed_mem_new(cx, room);
    w->id = heed_mem_new(cx, (n + 1) * sizeof *w->id);
    if (heed_failed(cx)) return false;
    for (size_t at = 0, next; at < n; at = next) {
        next = at + 1;
        if (s[at] == '\n') w->end[w->sentences++] = w->count;
        if (!is_word(s[at])) continue;
        while (next < n && is_word(s[next])) next++;
        const size_t length = stems && next - at > 3 ? porter_stem(s + at, next - at) : next - at;
        if (length == 0) continue;
        w->start[w->count] = at, w->size[w->count++] = length;
    }
    w->end[w->sentences++] = w->count;
    return true;
}

/* ---- numbers for words ---- */

/* The same word has the same number, in both texts; how many there are, or -1. */
static int32_t number(heed_ctx *cx, struct words *a, struct words *b) {
    struct words *const both[2] = {a, b};
    struct map ids = {0};
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < both[k]->count && !(i % WORDS_AT_ONCE == 0 && heed_cancelled(cx)); i++)
            both[k]->id[i] = (int32_t)map_add(cx, &ids, both[k]->e.text.s + both[k]->start[i], both[k]->size[i]);
    const int32_t count = heed_failed(cx) ? -1 : (int32_t)ids.count;
    map_free(cx, &ids);
    return count;
}

/* ---- scores ---- */

static heed_rouge_score score_of(double hits, double hypothesis, double reference) {
    const double p = hypothesis > 0 ? hits / hypothesis : 0, r = reference > 0 ? hits / reference : 0;
    return (heed_rouge_score){p, r, p + r > 0 ? 2 * p * r / (p + r) : 0};
}

struct gram {
    int32_t first, second;
};

static int by_gram(const void *a, const void *b) {
    const struct gram *x = a, *y = b;
    if (x->first != y->first) return x->first < y->first ? -1 : 1;
    return (x->second > y->second) - (x->second < y->second);
}

/* n 1 or 2 */
static size_t grams_of(const struct words *w, size_t n, struct gram *to) {
    const size_t count = w->count >= n ? w->count - n + 1 : 0;
    for (size_t i = 0; i < count; i++) to[i] = (struct gram){w->id[i], n > 1 ? w->id[i + 1] : 0};
    qsort(to, count, sizeof *to, by_gram);
    return count;
}

static bool score_grams(heed_ctx *cx, const struct words *h, const struct words *r, size_t n, heed_rouge_score *out) {
    struct gram *const a = heed_mem_new(cx, (h->count + r->count + 2) * sizeof *a), *const b = a ? a + h->count + 1 : a;
    if (!a) return false;
    const size_t na = grams_of(h, n, a), nb = grams_of(r, n, b);
    size_t hits = 0;
    for (size_t i = 0, k = 0; i < na && k < nb;) {
        const int order = by_gram(&a[i], &b[k]);
        hits += order == 0;
        i += order <= 0, k += order >= 0;
    }
    *out = score_of((double)hits, (double)na, (double)nb);
    heed_mem_free(cx, a);
    return true;
}

static bool score_subsequence(struct subsequence *s, const struct words *h, const struct words *r,
                              heed_rouge_score *out) {
    size_t length;
    subsequence_take(s, r->id, r->count);
    if (!subsequence_length(s, h->id, h->count, &length)) return false;
    *out = score_of((double)length, (double)h->count, (double)r->count);
    return true;
}

static bool score_sentences(heed_ctx *cx, struct subsequence *common, const struct words *h, const struct words *r,
                            int32_t ids, heed_rouge_score *out) {
    int64_t *const left = heed_mem_new(cx, ((size_t)ids + 1) * 2 * sizeof *left); /* of both texts */
    bool *const marked = heed_mem_new(cx, r->count + 1);
    int64_t hits = 0;
    if (!heed_failed(cx)) {
        memset(left, 0, ((size_t)ids + 1) * 2 * sizeof *left);
        memset(marked, 0, r->count + 1);
        for (size_t i = 0; i < h->count; i++) left[2 * h->id[i]]++;
        for (size_t i = 0; i < r->count; i++) left[2 * r->id[i] + 1]++;
    }
    for (size_t s = 0; s < r->sentences && !heed_cancelled(cx); s++) {
        const size_t from = s ? r->end[s - 1] : 0, n = r->end[s] - from;
        subsequence_take(common, r->id + from, n);
        for (size_t k = 0; k < h->sentences && n > 0 && !heed_failed(cx); k++) {
            const size_t first = k ? h->end[k - 1] : 0, m = h->end[k] - first;
            if (m > 0) subsequence_mark(common, h->id + first, m, marked + from);
        }
        for (size_t i = from; i < from + n; i++) {
            int64_t *const both = left + 2 * r->id[i];
            if (!marked[i] || both[0] < 1 || both[1] < 1) continue;
            hits++, both[0]--, both[1]--;
        }
    }
    heed_mem_free(cx, left);
    heed_mem_free(cx, marked);
    *out = score_of((double)hits, (double)h->count, (double)r->count);
    return !heed_failed(cx);
}

bool heed_rouge_text(heed_ctx *cx, const char *hypothesis, size_t hypothesis_size, const char *reference,
                     size_t reference_size, const heed_rouge_opts *opts, heed_rouge *out) {
    struct words h = {0}, r = {0};
    if (heed_failed(cx)) return false;
    if (!hypothesis || !reference || !out)
        return heed_fail(cx, HEED_ERR_USAGE, "rouge: a hypothesis, a reference and a place for the scores are needed");
    const bool stems = opts && opts->stem;
    const bool read =
        read_words(cx, hypothesis, hypothesis_size, stems, &h) && read_words(cx, reference, reference_size, stems, &r);
    const int32_t ids = read ? number(cx, &h, &r) : -1;
    *out = (heed_rouge){.lines = 1};
    if (ids >= 0)
        for (size_t n = 1; n <= 2; n++) score_grams(cx, &h, &r, n, n == 1 ? &out->rouge1 : &out->rouge2);
    struct subsequence common = {.cx = cx};
    if (!heed_failed(cx) && subsequence_open(cx, &common, ids, r.count) &&
        score_subsequence(&common, &h, &r, &out->rougeL))
        score_sentences(cx, &common, &h, &r, ids, &out->rougeLsum);
    subsequence_close(&common);
    words_free(cx, &h);
    words_free(cx, &r);
    return !heed_failed(cx);
}

/* ---- many texts ---- */

static heed_rouge_score *score_at(heed_rouge *r, int i) {
    heed_rouge_score *const all[] = {&r->rouge1, &r->rouge2, &r->rougeL, &r->rougeLsum};
    return all[i];
}

/* Of several references the one with the best F, for each score. */
static bool score_line(heed_ctx *cx, const heed_lines *hypothesis, const heed_lines *references, int n, int64_t i,
                       const heed_rouge_opts *opts, heed_rouge *best) {
    for (int k = 0; k < n; k++) {
        heed_rouge found;
        if (!heed_rouge_text(cx, heed_line_text(hypothesis, i), heed_line_size(hypothesis, i),
                             heed_line_text(&references[k], i), heed_line_size(&references[k], i), opts, &found))
            return false;
        for (int s = 0; s < 4; s++)
            if (k == 0 || score_at(&found, s)->f > score_at(best, s)->f) *score_at(best, s) = *score_at(&found, s);
    }
    return true;
}

bool heed_rouge_corpus(heed_ctx *cx, const heed_lines *hypothesis, const heed_lines *references, int n_references,
                       const heed_rouge_opts *opts, heed_rouge *out) {
    if (heed_failed(cx)) return false;
    if (!out) return heed_fail(cx, HEED_ERR_USAGE, "rouge: out is NULL");
    if (!bleu_check(cx, "rouge", hypothesis, references, n_references)) return false;
    heed_rouge sum = {.lines = hypothesis->count};
    for (int64_t i = 0; i < hypothesis->count && !heed_cancelled(cx); i++) {
        heed_rouge line = {0};
        if (!score_line(cx, hypothesis, references, n_references, i, opts, &line)) return false;
        for (int s = 0; s < 4; s++) {
            heed_rouge_score *const to = score_at(&sum, s), *const from = score_at(&line, s);
            to->precision += from->precision, to->recall += from->recall, to->f += from->f;
        }
    }
    if (heed_failed(cx)) return false;
    for (int s = 0; s < 4; s++) {
        heed_rouge_score *const to = score_at(&sum, s);
        const double n = (double)sum.lines;
        *to = (heed_rouge_score){to->precision / n, to->recall / n, to->f / n};
    }
    *out = sum;
    return true;
}
