/* From counts to probabilities: Kneser-Ney smoothing (Kneser & Ney 1995) and its modified form (Chen & Goodman 1999),
 * interpolated. Of an n-gram h w with the shorter context h',
 *
 *     P(w | h) = max(c(h w) - D(c), 0) / c(h) + gamma(h) P(w | h')
 *
 * where c counts occurrences in the highest order and kinds of words before the n-gram in the others, and gamma(h) is
 * the mass that discounting took from h. Written as a back-off model: gamma(h) is the weight of h. */
#include "classical/ngram/ngram.h"
#include <math.h>
#include <string.h>

struct estimate {
    struct ngram_making *g;
    const struct ngram_counts *n;
    const heed_ngram_opts *o;
    bool modified;
    double discount[4]; /* of the order under way, by count; those from 3 on share one */
};

static double discount_of(const struct estimate *e, uint32_t count) { return e->discount[count < 3 ? count : 3]; }

static bool is_pruned(const struct estimate *e, int order, uint32_t node) {
    if (order == 1 && node <= HEED_NGRAM_END) return false;
    return e->n->raw[node] <= ngram_threshold(e->o, order);
}

/* ---- discounts ---- */

/* Equation 26 of Chen & Goodman. lmplz counts the last n-gram that it meets in each lower order by its occurrences; so
 * that models are equal, so does this. In single precision, for the same reason. */
static const char *find_discounts(struct estimate *e, int order, uint32_t last) {
    const struct ngram_making *g = e->g;
    double count_of[5] = {0};
    for (uint32_t i = g->base[order - 1]; i < g->base[order]; i++) {
        const uint32_t c = i == last ? e->n->raw[i] : e->n->adjusted[i];
        if (c < 5) count_of[c]++;
    }
    for (int j = 1; j < 4; j++)
        if (count_of[j] == 0) return "there are none with a count of 1, of 2 or of 3";
    const float y = (float)count_of[1] / (float)(count_of[1] + 2 * count_of[2]);
    for (int j = 1; j < 4; j++) {
        const float d = (float)j - (float)(j + 1) * y * (float)count_of[j + 1] / (float)count_of[j];
        if (!(d >= 0 && d <= (float)j)) return "they would be negative or larger than the counts";
        e->discount[j] = (double)d;
    }
    return NULL;
}

static bool set_discounts(struct estimate *e, int order, uint32_t last, heed_ngram_report *report) {
    const char *why = NULL;
    e->discount[0] = 0;
    if (e->modified)
        why = find_discounts(e, order, last);
    else
        e->discount[1] = e->discount[2] = e->discount[3] = e->o->discount;
    if (why && !e->o->fallback)
        return heed_fail(e->g->cx, HEED_ERR_RANGE,
                         "ngram: the counts of %d-grams give no discounts: %s; a fallback or another order is needed",
                         order, why);
    if (why) memcpy(e->discount + 1, e->o->fallback, 3 * sizeof *e->discount);
    if (report) {
        memcpy(report->discount, e->discount + 1, sizeof report->discount);
        report->fell_back = why != NULL;
        report->kinds = e->g->base[order] - e->g->base[order - 1];
    }
    return true;
}

/* ---- probabilities ---- */

/* What the n-grams `first` up to `end` of one context leave to shorter ones, and the count of the context. */
static double left_over(const struct estimate *e, int order, uint32_t first, uint32_t end, double *total) {
    double sum = 0, taken = 0;
    for (uint32_t i = first; i < end; i++) {
        const uint32_t c = e->n->adjusted[i];
        sum += c;
        taken += is_pruned(e, order, i) ? c : e->modified ? discount_of(e, c) : e->discount[1];
    }
    *total = sum;
    return sum > 0 ? taken / sum : 1;
}

static double share(const struct estimate *e, uint32_t node, double total) {
    const uint32_t c = e->n->adjusted[node];
    const double rest = c - discount_of(e, c);
    return rest > 0 && total > 0 ? rest / total : 0;
}

/* Linear, not a logarithm yet; of the highest order in its leaf. */
static float *prob(const struct ngram_making *g, uint32_t node) {
    const uint32_t inner = g->base[g->order - 1];
    return node < inner ? &g->node[node].prob : &g->leaf[node - inner].prob;
}

static void estimate_words(const struct estimate *e) {
    const struct ngram_making *g = e->g;
    double total;
    const double gamma = left_over(e, 1, 0, g->words, &total);
    uint32_t words = 0;
    for (uint32_t w = 0; w < g->words; w++) words += !is_pruned(e, 1, w);
    for (uint32_t w = 0; w < g->words; w++) {
        if (e->modified) /* over all words and <unk>, but not <s> */
            *prob(g, w) = (float)(share(e, w, total) + gamma / (words - 1));
        else
            *prob(g, w) = (float)(e->n->adjusted[w] / total);
        if (e->modified && w == HEED_NGRAM_BEGIN) *prob(g, w) = 1;
    }
}

static void estimate_order(const struct estimate *e, int order) {
    const struct ngram_making *g = e->g;
    const uint32_t inner = g->base[g->order - 1];
    for (uint32_t h = g->base[order - 2]; h < g->base[order - 1]; h++) {
        struct ngram_node *context = &g->node[h];
        const uint32_t first = context->child, end = g->node[h + 1].child;
        double total;
        const double gamma = first < end ? left_over(e, order, first, end, &total) : 1;
        context->backoff = (float)gamma;
        for (uint32_t i = first; i < end; i++) {
            const uint32_t shorter = i < inner ? g->node[i].suffix : g->leaf[i - inner].suffix;
            *prob(g, i) = (float)(share(e, i, total) + gamma * (double)*prob(g, shorter));
        }
    }
}

/* Rounding may have made more than 1 of it. A weight of backing off may be more. */
static float log_of(float p) { return p >= 1 ? 0 : log10f(p); }

bool ngram_estimate(struct ngram_making *g, const struct ngram_counts *counts, const heed_ngram_opts *opts,
                    const uint32_t *last, heed_ngram_report *report) {
    struct estimate e = {g, counts, opts, opts->smoothing == HEED_NGRAM_MODIFIED, {0}};
    for (int k = 1; k <= g->order && !heed_cancelled(g->cx); k++) {
        if (!set_discounts(&e, k, last[k - 1], report ? &report[k - 1] : NULL)) return false;
        if (k == 1)
            estimate_words(&e);
        else
            estimate_order(&e, k);
    }
    for (uint32_t i = 0; i < g->base[g->order]; i++) *prob(g, i) = log_of(*prob(g, i));
    for (uint32_t i = 0; i < g->base[g->order - 1]; i++) g->node[i].backoff = log10f(g->node[i].backoff);
    return !heed_failed(g->cx);
}

/* ---- leaving out ---- */

bool ngram_prune(struct ngram_making *g, const uint32_t *raw, const heed_ngram_opts *opts) {
    const struct estimate e = {.g = g, .n = &(struct ngram_counts){.raw = (uint32_t *)(uintptr_t)raw}, .o = opts};
    const uint32_t inner = g->base[g->order - 1], nodes = g->base[g->order];
    if (ngram_threshold(opts, g->order) <= 0) return true;
    uint32_t *moved = heed_mem_new(g->cx, ((size_t)nodes + 1) * sizeof *moved); /* the number that a node gets */
    if (!moved) return false;
    uint32_t kept = 0;
    for (int k = 1; k <= g->order; k++)
        for (uint32_t i = g->base[k - 1]; i < g->base[k]; i++) {
            moved[i] = kept;
            kept += !is_pruned(&e, k, i);
        }
    moved[nodes] = kept;
    for (uint32_t i = 0; i < nodes; i++) {
        if (moved[i] == moved[i + 1]) continue;
        const uint32_t to = moved[i], new_inner = moved[inner];
        g->word[to] = g->word[i] < g->words ? moved[g->word[i]] : 0;
        if (i < inner) {
            g->node[to] = g->node[i];
            g->node[to].child = moved[g->node[i].child];
            if (g->node[to].suffix != NGRAM_ROOT) g->node[to].suffix = moved[g->node[to].suffix];
        } else {
            g->leaf[to - new_inner] = g->leaf[i - inner];
            if (g->leaf[to - new_inner].suffix != NGRAM_ROOT)
                g->leaf[to - new_inner].suffix = moved[g->leaf[to - new_inner].suffix];
        }
    }
    g->node[moved[inner]].child = kept;
    uint32_t words = 0; /* the names of those that are left */
    uint64_t at = 0;
    for (uint32_t w = 0; w < g->words; w++) {
        if (moved[w] == moved[w + 1]) continue;
        const uint64_t start = g->name_start[w], size = g->name_start[w + 1] - start;
        memmove(g->names.s + at, g->names.s + start, size);
        g->name_start[words++] = at;
        at += size;
    }
    g->name_start[words] = g->names.size = at;
    g->words = words;
    for (int k = 1; k <= g->order; k++) g->base[k] = moved[g->base[k]];
    heed_mem_free(g->cx, moved);
    return true;
}
