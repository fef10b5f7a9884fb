/* Taggers from tagged words by counting, and from words alone by Baum-Welch. */
#include "classical/hmm/hmm_tagger.h"
#include <string.h>

#define RARE      2    /* words seen at most so often tell of unknown words */
#define SMOOTHING 0.1  /* added to counts of transitions */
#define FAINT     1e-3 /* added to counts of words of any look, so that every tag may have one */

static int64_t symbol_of(const struct hmm_tagger *g, const heed_word *word) {
    return map_find(&g->symbols, word->text, word->size);
}
static bool is_rare(const struct hmm_tagger *g, int64_t symbol) { return g->symbols.entries[symbol].value <= RARE; }
static int64_t symbol_of_look(const struct hmm_tagger *g, const heed_word *word, int level) {
    char name[HMM_LOOK_ROOM];
    return map_find(&g->symbols, name, hmm_look(word, level, name));
}
static int64_t symbol_of_any(const struct hmm_tagger *g) {
    return map_find(&g->symbols, HMM_UNKNOWN, strlen(HMM_UNKNOWN));
}

/* ---- counts ---- */

static bool count_words(struct hmm_tagger *g, const struct tagged_words *d) {
    char name[HMM_LOOK_ROOM];
    heed_ctx *cx = g->cx;
    for (int64_t i = 0; i < d->words; i++) {
        const int64_t at = map_add(cx, &g->symbols, d->word[i].text, d->word[i].size);
        if (at < 0) return false;
        g->symbols.entries[at].value++;
    }
    for (int64_t i = 0; i < d->words; i++) {
        const int64_t at = symbol_of(g, &d->word[i]);
        for (int level = 0; is_rare(g, at) && level < HMM_LOOKS; level++)
            if (map_add(cx, &g->symbols, name, hmm_look(&d->word[i], level, name)) < 0) return false;
    }
    return map_add(cx, &g->symbols, HMM_UNKNOWN, strlen(HMM_UNKNOWN)) >= 0;
}

/* Probabilities from tagged words. Half of a rare word counts for words that look like it. */
static void count_tags(struct hmm_tagger *g, const struct tagged_words *d) {
    heed_hmm *h = g->h;
    const int64_t s = h->states, any = symbol_of_any(g);
    memset(h->initial, 0, (size_t)(s * (1 + s + h->symbols)) * sizeof *h->initial);
    for (int64_t i = 0; i < s * (1 + s); i++) h->initial[i] = SMOOTHING;
    for (int64_t i = 0; i < s; i++) h->emission[i * h->symbols + any] = FAINT;
    for (int64_t k = 0; k < d->sentences; k++)
        for (int64_t i = d->first[k]; i < d->first[k + 1]; i++) {
            const int32_t tag = d->label[i];
            double *row = h->emission + tag * h->symbols;
            const int64_t at = symbol_of(g, &d->word[i]);
            const bool rare = is_rare(g, at);
            *(i == d->first[k] ? &h->initial[tag] : &h->transition[d->label[i - 1] * s + tag]) += 1;
            row[at] += rare ? 0.5 : 1;
            for (int level = 0; rare && level < HMM_LOOKS; level++)
                row[symbol_of_look(g, &d->word[i], level)] += 0.5 / HMM_LOOKS;
        }
    heed_hmm_normalise(h);
}

/* ---- learning without tags ---- */

/* Emissions from what each word is expected to be: Baum-Welch sees only words that it knows, and leaves nothing to
 * those that it does not. */
static bool expect_looks(struct hmm_tagger *g, const struct tagged_words *d, const int32_t *symbol) {
    heed_hmm *h = g->h;
    const int64_t s = h->states, any = symbol_of_any(g);
    double *posterior = heed_mem_new(g->cx, (size_t)(d->words * s) * sizeof *posterior);
    for (int64_t k = 0; posterior && k < d->sentences && !heed_cancelled(g->cx); k++)
        heed_hmm_forward(g->cx, h, symbol + d->first[k], d->first[k + 1] - d->first[k], posterior + d->first[k] * s);
    if (!heed_failed(g->cx)) {
        memset(h->emission, 0, (size_t)(s * h->symbols) * sizeof *h->emission);
        for (int64_t j = 0; j < s; j++) h->emission[j * h->symbols + any] = FAINT;
        for (int64_t i = 0; i < d->words; i++) {
            const bool rare = is_rare(g, symbol[i]);
            for (int64_t j = 0; j < s; j++)
                h->emission[j * h->symbols + symbol[i]] += posterior[i * s + j] * (rare ? 0.5 : 1);
            for (int level = 0; rare && level < HMM_LOOKS; level++) {
                const int64_t at = symbol_of_look(g, &d->word[i], level);
                for (int64_t j = 0; j < s; j++)
                    h->emission[j * h->symbols + at] += posterior[i * s + j] * 0.5 / HMM_LOOKS;
            }
        }
        heed_hmm_normalise(h);
    }
    heed_mem_free(g->cx, posterior);
    return !heed_failed(g->cx);
}

static bool learn_words(struct hmm_tagger *g, const struct tagged_words *d, int64_t steps) {
    int32_t *symbol = heed_mem_new(g->cx, (size_t)d->words * sizeof *symbol);
    if (symbol) hmm_symbols(g, d->word, d->words, symbol);
    for (int64_t i = 0; symbol && i < steps && !heed_cancelled(g->cx); i++) {
        double sum;
        if (heed_hmm_baum_welch(g->cx, g->h, symbol, d->first, d->sentences, &sum))
            heed_note(g->cx, HEED_LOG_INFO, "Baum-Welch step %lld: %.4f nats per word", (long long)i + 1,
                      -sum / (double)d->words);
    }
    if (symbol) expect_looks(g, d, symbol);
    heed_mem_free(g->cx, symbol);
    return !heed_failed(g->cx);
}

static bool name_states(struct hmm_tagger *g, const struct tagged_words *d) {
    const int64_t s = g->h->states;
    int64_t *count = heed_mem_new(g->cx, (size_t)(s * s) * sizeof *count);
    int32_t *state = heed_mem_new(g->cx, (size_t)d->words * sizeof *state);
    const char **name = heed_mem_new(g->cx, (size_t)s * sizeof *name);
    if (!heed_failed(g->cx)) memset(count, 0, (size_t)(s * s) * sizeof *count);
    for (int64_t k = 0; k < d->sentences && !heed_cancelled(g->cx); k++)
        hmm_tagger_tag(g, d->word + d->first[k], d->first[k + 1] - d->first[k], state + d->first[k], NULL);
    for (int64_t i = 0; !heed_failed(g->cx) && i < d->words; i++) count[state[i] * s + d->label[i]]++;
    for (int64_t i = 0; !heed_failed(g->cx) && i < s; i++) {
        int64_t best = 0;
        for (int64_t j = 1; j < s; j++)
            if (count[i * s + j] > count[i * s + best]) best = j;
        name[i] = d->names[best];
    }
    if (!heed_failed(g->cx)) hmm_set_tags(g, name, s);
    heed_mem_free(g->cx, count);
    heed_mem_free(g->cx, state);
    heed_mem_free(g->cx, name);
    return !heed_failed(g->cx);
}

bool hmm_tagger_learn(heed_ctx *cx, const struct tagged_words *d, bool unsupervised, int64_t steps,
                      struct hmm_tagger *g) {
    g->cx = cx;
    if (!count_words(g, d) || !hmm_set_tags(g, (const char *const *)d->names, d->classes) ||
        !(g->h = heed_hmm_new(cx, d->classes, g->symbols.count)))
        return false;
    if (unsupervised)
        heed_hmm_draw(g->h, heed_seed(cx));
    else
        count_tags(g, d);
    return (steps == 0 || learn_words(g, d, steps)) && (!unsupervised || name_states(g, d));
}
