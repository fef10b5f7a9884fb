/* BLEU against the length of sentences (Cho et al. 2014; Bahdanau et al. 2015, figure 2). */
#include "base/ctx.h"
#include "heed/loop.h"
#include <string.h>

static int64_t words_of(const heed_lines *lines, int64_t i) {
    const char *s = heed_line_text(lines, i);
    int64_t words = 0;
    for (size_t at = strspn(s, " \t"); s[at]; at += strspn(s + at, " \t")) {
        words++;
        at += strcspn(s + at, " \t");
    }
    return words;
}

static int64_t bucket_of(int64_t words, int64_t width, int most) {
    const int64_t bucket = words > 0 ? (words - 1) / width : 0;
    return bucket < most ? bucket : most - 1;
}

/* The lines of a bucket. */
static bool pick(heed_ctx *cx, const heed_lines *from, const int64_t *bucket, int64_t wanted, heed_lines *to) {
    heed_string text = {0};
    for (int64_t i = 0; i < from->count && !heed_failed(cx); i++)
        if (bucket[i] == wanted) {
            heed_string_put(cx, &text, heed_line_text(from, i), heed_line_size(from, i));
            heed_string_put(cx, &text, "\n", 1);
        }
    heed_lines_cut(cx, &text, to);
    heed_string_free(cx, &text);
    return !heed_failed(cx);
}

static bool score(heed_ctx *cx, const heed_lines *hypotheses, const heed_lines *references, const int64_t *bucket,
                  int64_t wanted, const heed_bleu_opts *opts, double *bleu) {
    heed_lines ours = {0}, theirs = {0};
    heed_bleu found;
    const bool ok = pick(cx, hypotheses, bucket, wanted, &ours) && pick(cx, references, bucket, wanted, &theirs) &&
                    heed_bleu_corpus(cx, &ours, &theirs, 1, opts, &found);
    if (ok) *bleu = found.score;
    heed_lines_free(cx, &ours);
    heed_lines_free(cx, &theirs);
    return ok;
}

int heed_bleu_by_length(heed_ctx *cx, const heed_lines *sources, const heed_lines *hypotheses,
                        const heed_lines *references, int64_t width, const heed_bleu_opts *opts,
                        heed_length_score *scores, int most) {
    int n = 0;
    if (heed_failed(cx)) return 0;
    if (!sources || !hypotheses || !references || !scores || width < 1 || most < 1 ||
        sources->count != hypotheses->count || sources->count != references->count) {
        heed_fail(cx, HEED_ERR_USAGE, "bleu: as many sources, hypotheses and references, and a width, are needed");
        return 0;
    }
    int64_t *const bucket = heed_mem_new(cx, (size_t)(sources->count + 1) * sizeof *bucket);
    if (!bucket) return 0;
    for (int64_t i = 0; i < sources->count; i++) bucket[i] = bucket_of(words_of(sources, i), width, most);
    for (int64_t b = 0; b < most && !heed_failed(cx); b++) {
        heed_length_score s = {.from = b * width + 1, .to = (b + 1) * width};
        int64_t max_length = 0;
        for (int64_t i = 0; i < sources->count; i++) {
            if (bucket[i] != b) continue;
            const int64_t words = words_of(sources, i);
            s.sentences++;
            s.words += (double)words;
            if (words > max_length) max_length = words;
        }
        if (s.sentences == 0) continue;
        s.words /= (double)s.sentences;
        if (max_length > s.to) s.to = max_length;
        if (score(cx, hypotheses, references, bucket, b, opts, &s.bleu)) scores[n++] = s;
    }
    heed_mem_free(cx, bucket);
    return heed_failed(cx) ? 0 : n;
}
