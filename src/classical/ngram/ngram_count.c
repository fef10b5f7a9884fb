/* The n-grams of a text, counted by sorting: the places of the text in the order of the n-grams that begin there. Equal
 * n-grams of every order then stand together, so one sort serves them all, and nothing is hashed. Memory: 16 bytes for
 * each token while sorting, 8 more while the tree is made. */
#include "classical/ngram/ngram.h"
#include <string.h>

/* ---- sorting ---- */

/* The token that is `ahead` tokens behind place p, + 1; 0 behind the end of the sequence. */
static uint32_t key(const struct ngram_corpus *c, uint32_t p, uint32_t ahead) {
    return c->left[p] > ahead ? c->token[p + ahead] + 1 : 0;
}

/* Places sorted by one token, those with equal tokens in the order they had. */
static void sort_by(const struct ngram_corpus *c, uint32_t ahead, const uint32_t *from, uint32_t *to, uint32_t *count) {
    memset(count, 0, ((size_t)c->words + 2) * sizeof *count);
    for (uint32_t p = 0; p < c->size; p++) count[key(c, p, ahead) + 1]++;
    for (uint32_t w = 0; w <= c->words; w++) count[w + 1] += count[w];
    for (uint32_t i = 0; i < c->size; i++) to[count[key(c, from[i], ahead)]++] = from[i];
}

static uint16_t in_common(const struct ngram_corpus *c, uint32_t a, uint32_t b) {
    const uint16_t most = c->left[a] < c->left[b] ? c->left[a] : c->left[b];
    uint16_t n = 0;
    while (n < most && c->token[a + n] == c->token[b + n]) n++;
    return n;
}

/* Which of them have how much in common: cut by size, so that it can be shared among threads. */
struct comparing {
    struct ngram_corpus *c;
    uint32_t step;
};
static void compare(void *arg, int64_t task, void *scratch) {
    const struct comparing *job = arg;
    struct ngram_corpus *c = job->c;
    (void)scratch;
    const uint64_t first = (uint64_t)task * job->step, past = first + job->step;
    for (uint32_t i = (uint32_t)first; i < (past < c->size ? past : c->size); i++)
        c->shared[i] = i == 0 ? 0 : in_common(c, c->sorted[i - 1], c->sorted[i]);
}

bool ngram_corpus_sort(heed_ctx *cx, struct ngram_corpus *c, int order) {
    uint32_t *other = heed_mem_new(cx, c->size * sizeof *other);
    uint32_t *count = heed_mem_new(cx, ((size_t)c->words + 2) * sizeof *count);
    c->sorted = heed_mem_new(cx, c->size * sizeof *c->sorted);
    if (other && count && c->sorted) {
        for (uint32_t i = 0; i < c->size; i++) c->sorted[i] = i;
        for (int k = order - 1; k >= 0 && !heed_cancelled(cx); k--) { /* from the last token to the first */
            sort_by(c, (uint32_t)k, c->sorted, other, count);
            uint32_t *swap = c->sorted;
            c->sorted = other;
            other = swap;
            heed_progress(cx, "sorting n-grams", order - k, order);
        }
    }
    heed_mem_free(cx, other);
    heed_mem_free(cx, count);
    c->shared = heed_failed(cx) ? NULL : heed_mem_new(cx, c->size * sizeof *c->shared);
    if (!c->shared) return false;
    struct comparing job = {.c = c, .step = 1 << 16};
    heed_parallel(cx, (c->size + job.step - 1) / job.step, compare, &job);
    return !heed_failed(cx);
}

/* ---- the tree ---- */

/* How many n-grams each order has. */
static bool count_nodes(struct ngram_making *g, const struct ngram_corpus *c) {
    uint64_t *kinds = heed_mem_new(g->cx, ((size_t)g->order + 2) * sizeof *kinds);
    g->base = heed_mem_new(g->cx, ((size_t)g->order + 1) * sizeof *g->base);
    if (!kinds || !g->base) return heed_mem_free(g->cx, kinds), false;
    memset(kinds, 0, ((size_t)g->order + 2) * sizeof *kinds);
    for (uint32_t i = 0; i < c->size; i++) { /* new ones are of orders shared + 1 up to left */
        kinds[c->shared[i] + 1]++;
        kinds[c->left[c->sorted[i]] + 1]--;
    }
    uint64_t nodes = c->words, kind = kinds[1];
    g->base[0] = 0;
    g->base[1] = c->words; /* every word has its node */
    for (int k = 2; k <= g->order; k++) {
        nodes += kind += kinds[k];
        g->base[k] = (uint32_t)nodes;
        if (nodes >= NGRAM_ROOT) heed_fail(g->cx, HEED_ERR_RANGE, "ngram: more than 4 billion n-grams");
    }
    heed_mem_free(g->cx, kinds);
    return !heed_failed(g->cx);
}

static uint32_t *suffix_of(struct ngram_making *g, uint32_t node) {
    const uint32_t inner = g->base[g->order - 1];
    return node < inner ? &g->node[node].suffix : &g->leaf[node - inner].suffix;
}

/* The nodes of order k; at[p] is the node of order k - 1 that begins at place p, and becomes that of order k. */
static void add_order(struct ngram_making *g, const struct ngram_corpus *c, int k, bool modified, uint32_t *at,
                      struct ngram_counts *n, uint32_t *next_at) {
    uint32_t node = g->base[k - 1], parent = g->base[k - 2];
    for (uint32_t i = 0; i < c->size; i++) {
        const uint32_t p = c->sorted[i];
        if (c->left[p] < k) continue;
        if (c->shared[i] < k) {
            const uint32_t of = at[p];
            while (parent <= of) g->node[parent++].child = node;
            g->word[node] = c->token[p + (uint32_t)k - 1];
            *suffix_of(g, node) = at[p + 1];
            n->raw[node] = 0;
            n->adjusted[node] = 0;
            node++;
        }
        n->raw[node - 1]++;
        next_at[p] = node - 1;
        /* what begins a sequence has nothing before it that could be counted */
        if (k == g->order || (modified && c->token[p] == HEED_NGRAM_BEGIN)) n->adjusted[node - 1]++;
    }
    while (parent <= g->base[k - 1]) g->node[parent++].child = node;
    for (uint32_t i = g->base[k - 1]; i < node; i++) n->adjusted[*suffix_of(g, i)]++; /* kinds of words before it */
}

bool ngram_tree(struct ngram_making *g, const struct ngram_corpus *c, bool modified, struct ngram_counts *n) {
    heed_ctx *cx = g->cx;
    if (!count_nodes(g, c) || !ngram_making_nodes(g)) return false;
    n->raw = heed_mem_new(cx, g->base[g->order] * sizeof *n->raw);
    n->adjusted = heed_mem_new(cx, g->base[g->order] * sizeof *n->adjusted);
    uint32_t *at = heed_mem_new(cx, ((size_t)c->size + 1) * sizeof *at);
    uint32_t *next_at = heed_mem_new(cx, ((size_t)c->size + 1) * sizeof *next_at);
    if (at && next_at && n->raw && n->adjusted) {
        for (uint32_t w = 0; w < c->words; w++) {
            g->word[w] = w;
            n->raw[w] = n->adjusted[w] = 0;
            *suffix_of(g, w) = NGRAM_ROOT;
        }
        for (uint32_t p = 0; p < c->size; p++) n->raw[at[p] = c->token[p]]++;
        for (uint32_t w = 0; w < c->words && g->order == 1; w++) n->adjusted[w] = w == HEED_NGRAM_BEGIN ? 0 : n->raw[w];
        for (int k = 2; k <= g->order && !heed_cancelled(cx); k++) {
            add_order(g, c, k, modified, at, n, next_at);
            uint32_t *swap = at;
            at = next_at;
            next_at = swap;
        }
    }
    heed_mem_free(cx, at);
    heed_mem_free(cx, next_at);
    return !heed_failed(cx);
}
