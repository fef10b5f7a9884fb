/* chrF (Popovic 2015) and chrF++ (Popovic 2017) as sacreBLEU computes them, over a corpus:
 *
 *     chrF = 100 (1 + b^2) P R / (b^2 P + R),   b = 2
 *
 * P and R are the precision and the recall of n-grams, averaged over the orders that both sides have: characters 1 to 6
 * without white space, for chrF++ words 1 to 2 as well, with a mark at the end (or else the start) of a word apart from
 * it. Of several references the one with the best score of the line counts. */
#include "text/metrics/bleu.h"

#include <stdio.h>
#include <string.h>

enum { CHARACTER_ORDERS = 6, MAX_WORD_ORDER = 8, ORDERS = CHARACTER_ORDERS + MAX_WORD_ORDER };

struct tally {
    int64_t hypothesis[ORDERS], reference[ORDERS], matches[ORDERS];
};

/* A line without its white space, and as words with marks apart; and where their units begin. */
struct line {
    struct edit characters, words;
    struct units character, word;
};

static bool is_mark(char c) { return c && strchr("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", c); }

/* Every word and the marks at its ends: a mark that ends it goes off, or else one that begins it; never both. */
static void part_marks(struct edit *e) {
    static const char blank[] = " ";
    if (heed_failed(e->cx)) return;
    for (const char *s = e->text.s, *end = edit_stop(e); s < end;) {
        const char *stop = memchr(s, ' ', (size_t)(end - s)), *cut = NULL;
        if (!stop) stop = end;
        const bool one = stop - s == 1; /* a single character of several bytes has no mark at its ends */
        if (!one && is_mark(stop[-1]))
            cut = stop - 1;
        else if (!one && is_mark(s[0]))
            cut = s + 1;
        if (cut) edit_put(e, s, cut), edit_put(e, blank, blank + 1);
        edit_put(e, cut ? cut : s, stop);
        if (stop < end) edit_put(e, blank, blank + 1);
        s = stop + (stop < end);
    }
    edit_swap(e);
}

static bool read_line(heed_ctx *cx, const heed_lines *lines, int64_t i, int word_order, struct line *l) {
    *l = (struct line){.characters.cx = cx, .words.cx = cx, .character.cx = cx, .word.cx = cx};
    if (!edit_begin(&l->words, cx, heed_line_text(lines, i), heed_line_size(lines, i))) return false;
    edit_words(&l->words);
    if (!edit_begin(&l->characters, cx, l->words.text.s, l->words.text.size)) return false;
    edit_replace(&l->characters, " ", "");
    if (word_order > 0) part_marks(&l->words);
    return !heed_failed(cx) && units_characters(&l->character, &l->characters.text) &&
           units_words(&l->word, &l->words.text);
}

static void free_line(struct line *l) {
    edit_end(&l->characters);
    edit_end(&l->words);
    units_free(&l->character);
    units_free(&l->word);
}

static const struct units *units_of(const struct line *l, int order, size_t *n) {
    const bool character = order < CHARACTER_ORDERS;
    *n = (size_t)(character ? order : order - CHARACTER_ORDERS) + 1;
    return character ? &l->character : &l->word;
}

static bool count_hypothesis(struct counts *grams, const struct line *l, int orders) {
    counts_clear(grams);
    for (int order = 0; order < orders; order++) {
        size_t n, size;
        const struct units *u = units_of(l, order, &n);
        for (size_t i = 0; units_more(u, i, n); i++) {
            const char *gram = units_gram(u, i, n, &size);
            struct count *c = counts_at(grams, gram, size, order);
            if (!c) return false;
            c->have++;
        }
    }
    return true;
}

/* An order that the reference lacks does not count against the hypothesis. */
static struct tally compare(struct counts *grams, const struct line *h, const struct line *r, int orders, int turn) {
    struct tally t = {0};
    for (int order = 0; order < orders; order++) {
        size_t n, size;
        const struct units *u = units_of(r, order, &n);
        t.reference[order] = (int64_t)units_grams(u, n);
        for (size_t i = 0; units_more(u, i, n); i++) {
            const char *gram = units_gram(u, i, n, &size);
            const struct count *c = counts_meet(grams, gram, size, order, turn);
            t.matches[order] += c && c->now <= c->have;
        }
        if (t.reference[order] > 0) t.hypothesis[order] = (int64_t)units_grams(units_of(h, order, &n), n);
    }
    return t;
}

static double f_score(const struct tally *t, int orders) {
    double precision = 0, recall = 0;
    int n = 0;
    for (int i = 0; i < orders; i++)
        if (t->hypothesis[i] > 0 && t->reference[i] > 0) {
            precision += (double)t->matches[i] / (double)t->hypothesis[i];
            recall += (double)t->matches[i] / (double)t->reference[i];
            n++;
        }
    if (!(precision + recall > 0)) return 0;
    precision /= n;
    recall /= n;
    return 100 * 5 * precision * recall / (4 * precision + recall);
}

static bool score_line(heed_ctx *cx, struct counts *grams, const heed_lines *hypothesis, const heed_lines *references,
                       int n_references, int word_order, int64_t i, struct tally *sum) {
    const int orders = CHARACTER_ORDERS + word_order;
    struct line h, r;
    struct tally best = {0};
    double best_score = -1;
    bool ok = read_line(cx, hypothesis, i, word_order, &h) && count_hypothesis(grams, &h, orders);
    for (int k = 0; ok && k < n_references; k++) {
        ok = read_line(cx, &references[k], i, word_order, &r);
        const struct tally t = ok ? compare(grams, &h, &r, orders, k + 1) : (struct tally){0};
        const double score = f_score(&t, orders);
        if (score > best_score) best_score = score, best = t;
        free_line(&r);
    }
    free_line(&h);
    for (int o = 0; o < orders; o++) {
        sum->hypothesis[o] += best.hypothesis[o];
        sum->reference[o] += best.reference[o];
        sum->matches[o] += best.matches[o];
    }
    return ok && !heed_cancelled(cx);
}

bool heed_chrf_corpus(heed_ctx *cx, const heed_lines *hypothesis, const heed_lines *references, int n_references,
                      int word_order, heed_chrf *out) {
    struct counts grams = {.cx = cx};
    struct tally sum = {0};
    if (heed_failed(cx)) return false;
    if (!out) return heed_fail(cx, HEED_ERR_USAGE, "chrf: out is NULL");
    if (word_order < 0 || word_order > MAX_WORD_ORDER)
        return heed_fail(cx, HEED_ERR_RANGE, "chrf: word order %d is not between 0 and %d", word_order, MAX_WORD_ORDER);
    bool ok = bleu_check(cx, "chrf", hypothesis, references, n_references);
    for (int64_t i = 0; ok && i < hypothesis->count; i++)
        ok = score_line(cx, &grams, hypothesis, references, n_references, word_order, i, &sum);
    counts_free(&grams);
    if (!ok) return false;
    *out = (heed_chrf){.score = f_score(&sum, CHARACTER_ORDERS + word_order)};
    snprintf(out->signature, sizeof out->signature, "nrefs:%d|case:mixed|eff:yes|nc:%d|nw:%d|space:no|version:heed-%s",
             n_references, CHARACTER_ORDERS, word_order, heed_version());
    return true;
}
