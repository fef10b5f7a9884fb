/* Training an n-gram model: its words, the padded text, and then counts and estimates. */
#include "classical/ngram/ngram.h"
#include <string.h>

/* ---- options ---- */

bool ngram_opts_fit(heed_ctx *cx, const heed_ngram_opts *o) {
    if (o->order < 1 || o->order > HEED_NGRAM_MAX_ORDER)
        return heed_fail(cx, HEED_ERR_USAGE, "ngram: order %d is not within 1 and %d", o->order, HEED_NGRAM_MAX_ORDER);
    if (o->smoothing == HEED_NGRAM_KNESER_NEY && o->order == 1)
        return heed_fail(cx, HEED_ERR_USAGE,
                         "ngram: Kneser-Ney smoothing with one discount needs an order of 2 or more");
    if (o->smoothing == HEED_NGRAM_KNESER_NEY && !(o->discount >= 0 && o->discount <= 1))
        return heed_fail(cx, HEED_ERR_USAGE, "ngram: discount %g is not within 0 and 1", o->discount);
    for (int i = 0; o->fallback && i < 3; i++)
        if (!(o->fallback[i] >= 0 && o->fallback[i] <= i + 1))
            return heed_fail(cx, HEED_ERR_USAGE, "ngram: fallback discount %g is not within 0 and %d", o->fallback[i],
                             i + 1);
    for (int i = 0; i < o->n_prune; i++)
        if (o->prune[i] < 0 || (i > 0 && o->prune[i] < o->prune[i - 1]))
            return heed_fail(cx, HEED_ERR_USAGE, "ngram: pruning thresholds must not be negative or decrease");
    if (o->n_prune > 0 && o->smoothing == HEED_NGRAM_KNESER_NEY)
        return heed_fail(cx, HEED_ERR_USAGE, "ngram: pruning is for modified Kneser-Ney smoothing");
    return true;
}

/* ---- words ---- */

static bool add_word(struct ngram_making *g, size_t *room, const char *name) {
    if ((size_t)g->words + 2 > *room) {
        *room = 2 * *room + 64;
        uint64_t *more = heed_mem_resize(g->cx, g->name_start, *room * sizeof *more);
        if (!more) return false;
        g->name_start = more;
    }
    g->name_start[g->words++] = g->names.size;
    if (!heed_string_put(g->cx, &g->names, name, strlen(name) + 1)) return false;
    g->name_start[g->words] = g->names.size;
    return true;
}

/* word[t]: the model's number of id t, in the order in which they first come; those that never do have none. */
static bool take_words(struct ngram_making *g, const heed_ids *ids, const char *const *name, int64_t names,
                       uint32_t *word) {
    static const char *const first[] = {"<unk>", "<s>", "</s>"};
    size_t room = 0;
    for (int i = 0; i < 3; i++)
        if (!add_word(g, &room, first[i])) return false;
    for (int64_t t = 0; t < names; t++) {
        word[t] = name[t] ? NGRAM_ROOT : HEED_NGRAM_UNKNOWN;
        for (int i = 0; i < 3 && name[t]; i++) /* text cannot hold what stands around it */
            if (strcmp(name[t], first[i]) == 0) word[t] = HEED_NGRAM_UNKNOWN;
    }
    for (int64_t i = 0; i < ids->count; i++) {
        const int32_t t = ids->id[i];
        if (t < 0 || t >= names || word[t] != NGRAM_ROOT) continue;
        word[t] = g->words;
        if (!add_word(g, &room, name[t])) return false;
    }
    return true;
}

/* ---- the text ---- */

static void pad(struct ngram_corpus *c, uint32_t word, int times) {
    for (int i = 0; i < times; i++) c->token[c->size++] = word;
}

static bool lay_out(heed_ctx *cx, struct ngram_corpus *c, const heed_ids *ids, const int64_t *start, int64_t n,
                    const uint32_t *word, int64_t names, int order, int padding) {
    const uint64_t size = (uint64_t)ids->count + 2 * (uint64_t)n * (uint64_t)padding;
    if (size >= NGRAM_ROOT) return heed_fail(cx, HEED_ERR_RANGE, "ngram: more than 4 billion tokens");
    c->token = heed_mem_new(cx, size * sizeof *c->token);
    c->left = heed_mem_new(cx, size * sizeof *c->left);
    if (!c->token || !c->left) return false;
    for (int64_t i = 0; i < n; i++) {
        const uint32_t first = c->size;
        pad(c, HEED_NGRAM_BEGIN, padding);
        for (int64_t k = start[i]; k < start[i + 1]; k++) {
            const int32_t t = ids->id[k];
            c->token[c->size++] = t < 0 || t >= names ? HEED_NGRAM_UNKNOWN : word[t];
        }
        pad(c, HEED_NGRAM_END, padding);
        for (uint32_t p = first; p < c->size; p++)
            c->left[p] = (uint16_t)(c->size - p < (uint32_t)order ? c->size - p : (uint32_t)order);
    }
    return true;
}

static void free_corpus(heed_ctx *cx, struct ngram_corpus *c) {
    heed_mem_free(cx, c->token);
    heed_mem_free(cx, c->left);
    heed_mem_free(cx, c->sorted);
    heed_mem_free(cx, c->shared);
    *c = (struct ngram_corpus){0};
}

/* ---- the n-gram that lmplz meets last ---- */

/* Whether what ends at place a comes behind what ends at b, read backwards; <s> is before a sequence for ever. */
static bool comes_later(const struct ngram_corpus *c, uint32_t a, uint32_t b, int order) {
    for (int k = 0; k < order; k++) {
        const uint32_t x = c->token[a], y = c->token[b];
        if (x != y) return x > y;
        if (x != HEED_NGRAM_BEGIN) a--, b--;
    }
    return false;
}

static uint32_t child(const struct ngram_making *g, uint32_t node, uint32_t word) {
    for (uint32_t i = g->node[node].child; i < g->node[node + 1].child; i++)
        if (g->word[i] == word) return i;
    return NGRAM_ROOT;
}

/* Its nodes in the orders below the highest. */
static void find_last(const struct ngram_making *g, const struct ngram_corpus *c, uint32_t *last) {
    uint32_t best = 0;
    for (uint32_t p = 1; p < c->size; p++)
        if (comes_later(c, p, best, g->order)) best = p;
    for (int k = 1; k <= g->order; k++) last[k - 1] = NGRAM_ROOT;
    uint32_t first = best;
    for (int k = 1; k < g->order; k++) {
        uint32_t node = c->token[first];
        for (uint32_t p = first + 1; p <= best; p++) node = child(g, node, c->token[p]);
        last[k - 1] = node;
        if (c->token[first] == HEED_NGRAM_BEGIN) break;
        first--;
    }
}

/* ---- all of it ---- */

static bool make(struct ngram_making *g, struct ngram_corpus *c, struct ngram_counts *counts,
                 const heed_ngram_opts *opts, heed_ngram_report *report) {
    const bool modified = opts->smoothing == HEED_NGRAM_MODIFIED;
    uint32_t *last = heed_mem_new(g->cx, (size_t)opts->order * sizeof *last);
    bool ok = last && ngram_corpus_sort(g->cx, c, opts->order) && ngram_tree(g, c, modified, counts);
    if (ok) find_last(g, c, last);
    free_corpus(g->cx, c);
    ok = ok && ngram_estimate(g, counts, opts, last, report) && ngram_prune(g, counts->raw, opts);
    heed_mem_free(g->cx, last);
    return ok;
}

heed_ngram *heed_ngram_train(heed_ctx *cx, const heed_ids *ids, const int64_t *start, int64_t n,
                             const char *const *name, int64_t names, const heed_ngram_opts *opts,
                             heed_ngram_report *report) {
    if (heed_failed(cx)) return NULL;
    if (!ids || !start || !name || !opts || n < 1)
        return heed_fail(cx, HEED_ERR_USAGE, "ngram: no text, names or options"), NULL;
    if (!ngram_opts_fit(cx, opts)) return NULL;
    if (ids->count == 0) return heed_fail(cx, HEED_ERR_FORMAT, "ngram: the text is empty"), NULL;
    struct ngram_making g = {.cx = cx, .order = opts->order};
    struct ngram_corpus c = {0};
    struct ngram_counts counts = {0};
    uint32_t *word = heed_mem_new(cx, (size_t)(names + 1) * sizeof *word);
    const int padding = opts->smoothing == HEED_NGRAM_MODIFIED ? 1 : opts->order - 1;
    bool ok = word && take_words(&g, ids, name, names, word);
    c.words = g.words;
    ok = ok && lay_out(cx, &c, ids, start, n, word, names, opts->order, padding);
    heed_mem_free(cx, word);
    int longest = 0;
    for (uint32_t p = 0; ok && p < c.size; p++) longest = c.left[p] > longest ? c.left[p] : longest;
    if (ok && longest < opts->order)
        ok = heed_fail(cx, HEED_ERR_RANGE,
                       "ngram: order %d is larger than the text: its longest sequence has %d tokens with <s> and </s>",
                       opts->order, longest);
    ok = ok && make(&g, &c, &counts, opts, report);
    free_corpus(cx, &c);
    heed_mem_free(cx, counts.raw);
    heed_mem_free(cx, counts.adjusted);
    if (ok) return ngram_made(&g);
    ngram_making_free(&g);
    return NULL;
}
