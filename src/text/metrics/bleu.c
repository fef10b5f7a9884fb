/* Corpus BLEU (Papineni et al. 2002) as sacreBLEU (Post 2018) computes it:
 *
 *     BLEU = BP exp(1/4 sum_n log p_n),   BP = min(1, exp(1 - r / c))
 *
 * p_n is the share of the hypothesis' n-grams that a reference has too, none counted more often than the reference that
 * holds most of it does; c and r count words, r those of the reference nearest in length (the shorter of two). An order
 * without a match has half a match, the next such order a quarter, ... (mteval's exponential smoothing). */
#include "text/metrics/bleu.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { ORDERS = 4 };

struct scorer {
    heed_ctx *cx;
    const heed_bleu_opts *opts;
    struct counts grams;
    int64_t matches[ORDERS], total[ORDERS], hypothesis, reference;
};

/* The words of a line, and the text of which they are slices. */
struct line {
    struct edit e;
    struct units words;
};

static bool read_line(const struct scorer *sc, const heed_lines *lines, int64_t i, struct line *l) {
    *l = (struct line){.words.cx = sc->cx};
    if (!edit_begin(&l->e, sc->cx, heed_line_text(lines, i), heed_line_size(lines, i))) return false;
    if (sc->opts->lower) edit_lower(&l->e);
    edit_strip_end(&l->e);
    if (sc->opts->tokens == HEED_BLEU_13A) bleu_tokens_13a(&l->e);
    if (sc->opts->tokens == HEED_BLEU_INTL) bleu_tokens_intl(&l->e);
    edit_words(&l->e);
    return !heed_failed(sc->cx) && units_words(&l->words, &l->e.text);
}

static void free_line(struct line *l) {
    edit_end(&l->e);
    units_free(&l->words);
}

static bool count_hypothesis(struct scorer *sc, const struct units *words) {
    counts_clear(&sc->grams);
    for (size_t n = 1; n <= ORDERS; n++) {
        for (size_t i = 0, size; units_more(words, i, n); i++) {
            const char *gram = units_gram(words, i, n, &size);
            struct count *c = counts_at(&sc->grams, gram, size, 0);
            if (!c) return false;
            c->have++;
        }
        sc->total[n - 1] += (int64_t)units_grams(words, n);
    }
    sc->hypothesis += (int64_t)words->count;
    return true;
}

/* A match more wherever this reference has an n-gram more often than those before it, and the hypothesis as often. */
static void count_reference(struct scorer *sc, const struct units *words, int turn) {
    for (size_t n = 1; n <= ORDERS; n++)
        for (size_t i = 0, size; units_more(words, i, n); i++) {
            const char *gram = units_gram(words, i, n, &size);
            struct count *c = counts_meet(&sc->grams, gram, size, 0, turn);
            if (!c || c->now <= c->best) continue;
            c->best = c->now;
            sc->matches[n - 1] += c->best <= c->have;
        }
}

static bool score_line(struct scorer *sc, const heed_lines *hypothesis, const heed_lines *references, int n,
                       int64_t i) {
    struct line h, r;
    bool ok = read_line(sc, hypothesis, i, &h) && count_hypothesis(sc, &h.words);
    const int64_t length = (int64_t)h.words.count;
    int64_t nearest = -1;
    for (int k = 0; ok && k < n; k++) {
        ok = read_line(sc, &references[k], i, &r);
        if (ok) {
            const int64_t other = (int64_t)r.words.count, far = llabs(length - other), best = llabs(length - nearest);
            if (nearest < 0 || far < best || (far == best && other < nearest)) nearest = other;
            count_reference(sc, &r.words, k + 1);
        }
        free_line(&r);
    }
    free_line(&h);
    sc->reference += nearest;
    return ok && !heed_cancelled(sc->cx);
}

static void compute(const struct scorer *sc, heed_bleu *out) {
    const double c = (double)sc->hypothesis, r = (double)sc->reference;
    double halves = 1, logs = 0;
    bool any = false;
    *out = (heed_bleu){.hypothesis = sc->hypothesis, .reference = sc->reference, .brevity = 1};
    if (c < r) out->brevity = c > 0 ? exp(1 - r / c) : 0;
    for (int n = 0; n < ORDERS; n++) any = any || sc->matches[n] > 0;
    for (int n = 0; any && n < ORDERS && sc->total[n] > 0; n++) {
        if (sc->matches[n] == 0) halves *= 2;
        out->precision[n] = 100 * (sc->matches[n] > 0 ? (double)sc->matches[n] : 1 / halves) / (double)sc->total[n];
    }
    for (int n = 0; n < ORDERS; n++) logs += out->precision[n] > 0 ? log(out->precision[n]) : -HUGE_VAL;
    out->score = out->brevity * exp(logs / ORDERS);
}

static const char *tokens_name(heed_bleu_tokens tokens) {
    static const char *const names[] = {[HEED_BLEU_13A] = "13a", [HEED_BLEU_INTL] = "intl", [HEED_BLEU_NONE] = "none"};
    return (unsigned)tokens <= HEED_BLEU_NONE ? names[tokens] : NULL;
}

bool heed_bleu_corpus(heed_ctx *cx, const heed_lines *hypothesis, const heed_lines *references, int n_references,
                      const heed_bleu_opts *opts, heed_bleu *out) {
    static const heed_bleu_opts standard = {HEED_BLEU_13A, false};
    struct scorer sc = {.cx = cx, .opts = opts ? opts : &standard, .grams.cx = cx};
    if (heed_failed(cx)) return false;
    if (!out) return heed_fail(cx, HEED_ERR_USAGE, "bleu: out is NULL");
    if (!tokens_name(sc.opts->tokens))
        return heed_fail(cx, HEED_ERR_USAGE, "bleu: no tokeniser %d", (int)sc.opts->tokens);
    bool ok = bleu_check(cx, "bleu", hypothesis, references, n_references);
    for (int64_t i = 0; ok && i < hypothesis->count; i++) ok = score_line(&sc, hypothesis, references, n_references, i);
    counts_free(&sc.grams);
    if (!ok) return false;
    compute(&sc, out);
    snprintf(out->signature, sizeof out->signature, "nrefs:%d|case:%s|eff:no|tok:%s|smooth:exp|version:heed-%s",
             n_references, sc.opts->lower ? "lc" : "mixed", tokens_name(sc.opts->tokens), heed_version());
    return true;
}
