/* Tagging words by a hidden Markov model, and how often that is right. */
#include "classical/hmm/hmm_tagger.h"
#include "base/text.h"
#include "text/unicode/unicode.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

void hmm_tagger_close(struct hmm_tagger *g) {
    if (!g->cx) return;
    heed_hmm_free(g->cx, g->h);
    map_free(g->cx, &g->symbols);
    heed_mem_free(g->cx, g->tag);
    heed_string_free(g->cx, &g->names);
    *g = (struct hmm_tagger){0};
}

/* ---- symbols and tags ---- */

size_t hmm_look(const heed_word *word, int level, char out[HMM_LOOK_ROOM]) {
    const char *end = word->text + word->size, *at = word->text, *suffix = end;
    const int32_t first = utf8_next(&at, end);
    bool digit = false;
    for (size_t i = 0; i < word->size; i++) digit |= word->text[i] >= '0' && word->text[i] <= '9';
    const char kind = digit ? '0' : unicode_is_upper(first) ? 'A' : unicode_is_letter(first) ? 'a' : '.';
    if (level == HMM_LOOKS - 1) return (size_t)snprintf(out, HMM_LOOK_ROOM, HMM_UNKNOWN);
    for (int k = level; k < HMM_LOOKS - 1 && suffix > word->text; k++) do
            suffix--;
        while (suffix > word->text && ((unsigned char)*suffix & 0xC0) == 0x80);
    return (size_t)snprintf(out, HMM_LOOK_ROOM, "<unk:%c%.*s>", kind, (int)(end - suffix), suffix);
}

void hmm_symbols(const struct hmm_tagger *g, const heed_word *word, int64_t n, int32_t *symbol) {
    char name[HMM_LOOK_ROOM];
    for (int64_t i = 0; i < n; i++) {
        int64_t found = map_find(&g->symbols, word[i].text, word[i].size);
        for (int level = 0; found < 0 && level < HMM_LOOKS; level++)
            found = map_find(&g->symbols, name, hmm_look(&word[i], level, name));
        symbol[i] = (int32_t)found;
    }
}

bool hmm_set_tags(struct hmm_tagger *g, const char *const *name, int64_t n) {
    heed_string names = {0};
    if (!g->tag) g->tag = heed_mem_new(g->cx, (size_t)n * sizeof *g->tag);
    for (int64_t i = 0; g->tag && i < n; i++) heed_string_put(g->cx, &names, name[i], strlen(name[i]) + 1);
    heed_string_free(g->cx, &g->names);
    g->names = names;
    const char *at = names.s;
    for (int64_t i = 0; !heed_failed(g->cx) && i < n; i++, at += strlen(at) + 1) g->tag[i] = at;
    return !heed_failed(g->cx);
}

/* ---- tagging ---- */

bool hmm_tagger_tag(const struct hmm_tagger *g, const heed_word *word, int64_t n, int32_t *state, double *score) {
    heed_ctx *const cx = g->cx;
    const int64_t s = g->h->states;
    int32_t *symbol = heed_mem_new(cx, ((size_t)n + 1) * sizeof *symbol);
    double *posterior = score ? heed_mem_new(cx, ((size_t)(n * s) + 1) * sizeof *posterior) : NULL;
    if (symbol) hmm_symbols(g, word, n, symbol);
    const bool ok = symbol && heed_hmm_viterbi(cx, g->h, symbol, n, state, NULL) &&
                    (!score || (posterior && !isnan(heed_hmm_forward(cx, g->h, symbol, n, posterior))));
    for (int64_t i = 0; ok && score && i < n; i++) score[i] = posterior[i * s + state[i]];
    heed_mem_free(cx, symbol);
    heed_mem_free(cx, posterior);
    return ok;
}

/* ---- measuring ---- */

bool hmm_tagger_measure(const struct hmm_tagger *g, const struct tagged_words *d, struct hmm_accuracy *to) {
    int32_t *state = heed_mem_new(g->cx, ((size_t)d->words + 1) * sizeof *state);
    for (int64_t k = 0; state && k < d->sentences && !heed_cancelled(g->cx); k++) {
        const int64_t first = d->first[k], n = d->first[k + 1] - first;
        if (!hmm_tagger_tag(g, d->word + first, n, state, NULL)) break;
        for (int64_t i = 0; i < n; i++) {
            const heed_word *const word = &d->word[first + i];
            const bool right = strcmp(g->tag[state[i]], d->names[d->label[first + i]]) == 0;
            const bool known = map_find(&g->symbols, word->text, word->size) >= 0;
            to->words++;
            to->right += right;
            to->unknown += !known;
            to->unknown_right += right && !known;
        }
    }
    heed_mem_free(g->cx, state);
    return !heed_failed(g->cx);
}

double hmm_accuracy_ratio(int64_t right, int64_t all) { return all > 0 ? (double)right / (double)all : 0; }

void hmm_accuracy_text(const struct hmm_accuracy *a, char to[HMM_ACCURACY_ROOM]) {
    text_format(to, HMM_ACCURACY_ROOM, "accuracy %.2f %% of %lld words; %.2f %% of the %lld unknown ones",
                100 * hmm_accuracy_ratio(a->right, a->words), (long long)a->words,
                100 * hmm_accuracy_ratio(a->unknown_right, a->unknown), (long long)a->unknown);
}

void hmm_accuracy_put(heed_ctx *cx, heed_json at, const struct hmm_accuracy *a) {
    heed_json_put_number(cx, at, "accuracy", hmm_accuracy_ratio(a->right, a->words));
    heed_json_put_int(cx, at, "words", a->words);
    heed_json_put_number(cx, at, "unknown_accuracy", hmm_accuracy_ratio(a->unknown_right, a->unknown));
    heed_json_put_int(cx, at, "unknown", a->unknown);
}
