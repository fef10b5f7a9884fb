/* n-gram models: words, contexts and probabilities. A model may lie in a file of somebody else's: every number of it is
 * checked where it is used, so that a bad one gives a wrong probability at worst. */
#include "classical/ngram/ngram.h"
#include "base/checked.h"
#include "text/strings/hash.h"
#include <math.h>
#include <string.h>

#define MAX_WORDS (1u << 30) /* twice as many slots are a power of two of 32 bits */

int heed_ngram_order(const heed_ngram *m) { return m ? m->order : 0; }

int64_t heed_ngram_count(const heed_ngram *m, int order) {
    return !m || order < 1 || order > m->order ? 0 : (int64_t)m->base[order] - m->base[order - 1];
}

int64_t heed_ngram_words(const heed_ngram *m) { return m ? m->base[1] : 0; }

const char *heed_ngram_word(const heed_ngram *m, int32_t id) {
    if (!m || id < 0 || (uint32_t)id >= m->base[1] || m->name_start[id] >= m->names_size) return "";
    return m->names + m->name_start[id];
}

/* ---- the table of words ---- */

static uint32_t first_slot(const heed_ngram *m, const char *word, size_t size) {
    return (m->secret ? hash_bytes(m->secret, word, size) : (uint32_t)ngram_hash(word, size)) & (m->slots - 1);
}

int32_t heed_ngram_id(const heed_ngram *m, const char *word, size_t size) {
    if (!m || !word) return HEED_NGRAM_UNKNOWN;
    uint32_t at = first_slot(m, word, size);
    for (uint32_t tries = 0; tries < m->slots; tries++, at = (at + 1) & (m->slots - 1)) {
        const uint32_t id = m->slot[at];
        if (id >= m->base[1]) return HEED_NGRAM_UNKNOWN;
        size_t length;
        const char *const name = ngram_word(m, id, &length);
        if (name && length == size && memcmp(name, word, size) == 0) return (int32_t)id;
    }
    return HEED_NGRAM_UNKNOWN;
}

uint32_t ngram_slots(uint32_t words) {
    uint32_t slots = 4;
    while (slots < 2 * words) slots *= 2;
    return slots;
}

bool ngram_index(heed_ctx *cx, heed_ngram *m) {
    if (m->base[1] > MAX_WORDS) return heed_fail(cx, HEED_ERR_RANGE, "n-grams: more than %u words", MAX_WORDS);
    const uint32_t slots = ngram_slots(m->base[1]);
    uint32_t *const slot = heed_mem_new(cx, slots * sizeof *slot);
    if (!slot) return false;
    heed_mem_free(cx, m->owned[NGRAM_OWNED - 1]);
    m->owned[NGRAM_OWNED - 1] = memset(slot, 0xFF, slots * sizeof *slot);
    m->slot = slot, m->slots = slots, m->secret = hash_secret();
    for (uint32_t i = 0; i < m->base[1]; i++) {
        size_t size;
        const char *const name = ngram_word(m, i, &size);
        if (!name) continue; /* it cannot be found */
        uint32_t at = first_slot(m, name, size);
        while (slot[at] != NGRAM_ROOT) at = (at + 1) & (slots - 1);
        slot[at] = i;
    }
    return true;
}

/* ---- the tree ---- */

/* The children of a node of an order below the highest, as numbers of nodes. */
static void children(const heed_ngram *m, uint32_t node, int order, uint32_t *first, uint32_t *end) {
    *first = m->node[node].child;
    *end = m->node[node + 1].child;
    if (*first < m->base[order] || *end > m->base[order + 1] || *first > *end) *first = *end = 0;
}

/* The child of a node by this word, or NGRAM_ROOT. */
static uint32_t find(const heed_ngram *m, uint32_t node, int order, uint32_t word) {
    uint32_t first, end;
    children(m, node, order, &first, &end);
    const uint32_t *at = m->word + first;
    uint32_t n = end - first, step = 1;
    while (step < n && at[step] <= word) { /* frequent words come first: they are near */
        at += step;
        n -= step;
        step *= 2;
    }
    n = n < step ? n : step;
    while (n > 1) { /* without branches: half of them would be guessed wrong */
        const uint32_t half = n / 2;
        at += at[half] <= word ? half : 0;
        n -= half;
    }
    return n == 1 && *at == word ? (uint32_t)(at - m->word) : NGRAM_ROOT;
}

/* The suffix of a node becomes the state; it is of a lower order, or none. */
static void shorten(const heed_ngram *m, heed_ngram_state *s) {
    const uint32_t suffix =
        s->order == m->order ? m->leaf[s->node - m->base[m->order - 1]].suffix : m->node[s->node].suffix;
    do s->order--;
    while (s->order > 0 && suffix < m->base[s->order - 1]);
    s->node = suffix;
    if (s->order > 0 && suffix >= m->base[s->order]) s->order = 0; /* not a suffix at all */
}

static float prob_of(const heed_ngram *m, uint32_t node, int order) {
    return order == m->order ? m->leaf[node - m->base[order - 1]].prob : m->node[node].prob;
}

/* A state that the caller made up is none. */
static heed_ngram_state checked(const heed_ngram *m, const heed_ngram_state *s) {
    const bool good =
        s->order > 0 && s->order < m->order && s->node >= m->base[s->order - 1] && s->node < m->base[s->order];
    return good ? *s : (heed_ngram_state){0};
}

double heed_ngram_step(const heed_ngram *m, heed_ngram_state *state, int32_t word, int *matched) {
    if (!m || !state) return (double)NAN;
    heed_ngram_state s = checked(m, state);
    const uint32_t w = word < 0 || (uint32_t)word >= m->base[1] ? HEED_NGRAM_UNKNOWN : (uint32_t)word;
    double backoff = 0;
    uint32_t found = NGRAM_ROOT;
    while (s.order > 0 && (found = find(m, s.node, s.order, w)) == NGRAM_ROOT) {
        backoff += (double)m->node[s.node].backoff;
        shorten(m, &s);
    }
    s = (heed_ngram_state){found == NGRAM_ROOT ? w : found, s.order + 1};
    if (matched) *matched = s.order;
    const double prob = (double)prob_of(m, s.node, s.order) + backoff;
    if (s.order == m->order) shorten(m, &s);
    *state = s;
    return prob;
}

heed_ngram_state heed_ngram_begin(const heed_ngram *m) {
    heed_ngram_state s = {0};
    int before;
    if (!m) return s;
    do { /* as many <s> as the model has n-grams of */
        before = s.order;
        heed_ngram_step(m, &s, HEED_NGRAM_BEGIN, NULL);
    } while (s.order > before);
    return s;
}

void heed_ngram_next(const heed_ngram *m, const heed_ngram_state *state, double *p) {
    if (!m || !state || !p) return;
    heed_ngram_state s = checked(m, state);
    double weight = 1;
    const uint32_t words = m->base[1];
    for (uint32_t w = 0; w < words; w++) p[w] = -1; /* not known yet */
    for (; s.order > 0; shorten(m, &s)) {           /* the longest context that has a word says how likely it is */
        uint32_t first, end;
        children(m, s.node, s.order, &first, &end);
        for (uint32_t c = first; c < end; c++)
            if (m->word[c] < words && p[m->word[c]] < 0)
                p[m->word[c]] = weight * pow(10, (double)prob_of(m, c, s.order + 1));
        weight *= pow(10, (double)m->node[s.node].backoff);
    }
    for (uint32_t w = 0; w < words; w++)
        if (p[w] < 0) p[w] = weight * pow(10, (double)prob_of(m, w, 1));
    p[HEED_NGRAM_BEGIN] = 0;
}

/* ---- making ---- */

bool ngram_making_nodes(struct ngram_making *g) {
    const size_t inner = g->base[g->order - 1], leaves = g->base[g->order] - inner;
    g->node = heed_mem_new(g->cx, (inner + 1) * sizeof *g->node);
    g->leaf = heed_mem_new(g->cx, leaves * sizeof *g->leaf);
    g->word = heed_mem_new(g->cx, (inner + leaves) * sizeof *g->word);
    if (!g->node || !g->leaf || !g->word) return false;
    g->node[inner] = (struct ngram_node){0}; /* of the last only `child` is read, but all of it is written to files */
    return true;
}

void ngram_making_free(struct ngram_making *g) {
    heed_mem_free(g->cx, g->base);
    heed_mem_free(g->cx, g->node);
    heed_mem_free(g->cx, g->leaf);
    heed_mem_free(g->cx, g->word);
    heed_mem_free(g->cx, g->name_start);
    heed_string_free(g->cx, &g->names);
    *g = (struct ngram_making){.cx = g->cx};
}

heed_ngram *ngram_made(struct ngram_making *g) {
    heed_ctx *cx = g->cx;
    heed_ngram *m = heed_mem_new(cx, sizeof *m);
    if (!m || heed_failed(cx)) {
        heed_mem_free(cx, m);
        ngram_making_free(g);
        return NULL;
    }
    *m = (heed_ngram){.order = g->order,
                      .base = g->base,
                      .node = g->node,
                      .leaf = g->leaf,
                      .word = g->word,
                      .name_start = g->name_start,
                      .names = g->names.s,
                      .names_size = g->names.size,
                      .owned = {g->node, g->leaf, g->word, g->name_start, g->names.s}};
    *g = (struct ngram_making){.cx = cx};
    if (ngram_index(cx, m)) return m;
    heed_ngram_free(cx, m);
    return NULL;
}

void heed_ngram_free(heed_ctx *cx, heed_ngram *m) {
    if (!m) return;
    for (int i = 0; i < NGRAM_OWNED; i++) heed_mem_free(cx, m->owned[i]);
    heed_mem_free(cx, m->base);
    file_map_close(&m->map);
    heed_mem_free(cx, m);
}
