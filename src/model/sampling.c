/* What comes next: one row of logits to its best tokens, or to one that is drawn.
 *
 * Log-probabilities are logits less their log-sum-exp, which is taken before the rules forbid anything: what is
 * forbidden leaves its probability to nobody, as in transformers. Nothing is sorted as a whole: the best k are held in
 * a heap while the row is read once. Tokens of equal logits are ranked by number, the lower one first. */
#include "kernel/isa.h"
#include "model/decoding.h"
#include <math.h>
#include <string.h>

/* ---- the rules ---- */

static void forbid_repeats(const struct rules *rules, float *logits, const int32_t *ids, int64_t n) {
    const int64_t size = rules->opts.no_repeat_ngram;
    if (size < 1 || n < size) return;
    const int32_t *last = ids + n - (size - 1);
    for (int64_t i = 0; i + size <= n; i++)
        if (memcmp(ids + i, last, (size_t)(size - 1) * sizeof *ids) == 0) logits[ids[i + size - 1]] = -INFINITY;
}

static void forbid_words(const struct rules *rules, float *logits, const int32_t *ids, int64_t n) {
    for (int64_t i = 0, begin = 0; i < rules->n_words; begin = rules->word_end[i++]) {
        const int32_t *word = rules->words + begin;
        const int64_t before = rules->word_end[i] - begin - 1;
        if (before <= n && memcmp(ids + n - before, word, (size_t)before * sizeof *ids) == 0)
            logits[word[before]] = -INFINITY;
    }
}

static void forbid(const struct rules *rules, float *logits, const int32_t *ids, int64_t n) {
    forbid_repeats(rules, logits, ids, n);
    forbid_words(rules, logits, ids, n);
    if (n < rules->opts.min_length && rules->eos >= 0) logits[rules->eos] = -INFINITY;
}

/* The token that must follow n others, or -1; where both rules hold, the last one. */
static int32_t forced_at(const struct rules *rules, int64_t n) {
    if (rules->forced_last >= 0 && n == rules->opts.max_length - 1) return rules->forced_last;
    return n == 1 ? rules->forced_first : -1;
}

/* ---- the best k ---- a heap whose root is the worst of them; log_p holds the logit meanwhile */

static bool worse(struct candidate a, struct candidate b) {
    return a.log_p < b.log_p || (a.log_p == b.log_p && a.id > b.id);
}

static void sink(struct candidate *heap, int64_t n, struct candidate c) {
    int64_t at = 0;
    for (int64_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && worse(heap[child + 1], heap[child])) child++;
        if (!worse(heap[child], c)) break;
        heap[at] = heap[child];
    }
    heap[at] = c;
}

static void rise(struct candidate *heap, int64_t at, struct candidate c) {
    for (int64_t up; at > 0 && worse(c, heap[up = (at - 1) / 2]); at = up) heap[at] = heap[up];
    heap[at] = c;
}

#define BLOCK 16
static bool any_above(const float *x, float least) {
    int any = 0;
    for (int i = 0; i < BLOCK; i++) any |= x[i] > least;
    return any;
}

/* The best k of those worse than `after`, best first; how many there are. */
static int64_t best_of(const float *x, int64_t n, int64_t k, struct candidate after, struct candidate *best) {
    int64_t held = 0;
    float least = -INFINITY;
    for (int64_t i = 0; i < n; i++) {
        while (i % BLOCK == 0 && i + BLOCK <= n && !any_above(x + i, least)) i += BLOCK;
        if (i == n) break;
        const struct candidate c = {(int32_t)i, x[i]};
        if (!(c.log_p > least) || !worse(c, after)) continue;
        if (held < k)
            rise(best, held++, c);
        else
            sink(best, k, c);
        if (held == k) least = best[0].log_p;
    }
    for (int64_t left = held; left > 1; left--) {
        const struct candidate worst = best[0];
        sink(best, left - 1, best[left - 1]);
        best[left - 1] = worst;
    }
    return held;
}

/* ---- drawing ---- tokens are counted by mass, exp((x - top) / temperature) */

#define CHUNK 512

struct draw {
    const float *x;
    int64_t n;
    double top, temperature;
};

static double mass_of(const struct draw *d, float x) { return exp(((double)x - d->top) / d->temperature); }

/* Down the tokens from the best one until their mass reaches `enough` or there are `most` of them: the last one. */
static struct candidate descend(const struct draw *d, int64_t most, double enough, double *mass) {
    struct candidate chunk[CHUNK], last = {-1, INFINITY};
    *mass = 0;
    for (int64_t count = CHUNK; count == CHUNK && most > 0; most -= count) {
        count = best_of(d->x, d->n, most < CHUNK ? most : CHUNK, last, chunk);
        for (int64_t i = 0; i < count; i++) {
            last = chunk[i];
            if ((*mass += mass_of(d, last.log_p)) >= enough) return last;
        }
    }
    return last;
}

/* Through the tokens that are not worse than `least`, in the order of their numbers, so that neighbours in rank that
 * are all but equal stay where they are, until their mass reaches `enough`: the last one. */
static int32_t walk(const struct draw *d, struct candidate least, double enough, double *mass) {
    int32_t last = -1;
    *mass = 0;
    for (int64_t i = 0; i < d->n; i++) {
        const struct candidate c = {(int32_t)i, d->x[i]};
        if (c.log_p == -INFINITY || worse(c, least)) continue;
        last = c.id;
        if ((*mass += mass_of(d, c.log_p)) >= enough) return last;
    }
    return last;
}

/* In (0, 1], from 48 bits. */
static double uniform(uint64_t seed, uint64_t stream, uint64_t position) {
    const uint64_t high = heed_random_bits(seed, stream, 2 * position),
                   low = heed_random_bits(seed, stream, 2 * position + 1);
    return (double)((high >> 8 << 24 | low >> 8) + 1) * 0x1p-48;
}

/* Top-k (Fan et al. 2018) first, then the nucleus (Holtzman et al. 2020) of what it left. */
static int32_t draw_token(const struct rules *rules, const struct draw *d, double u) {
    const heed_generate_opts *o = &rules->opts;
    const int64_t most = o->top_k > 0 && o->top_k < d->n ? o->top_k : d->n;
    struct candidate least = {INT32_MAX, -INFINITY};
    double mass;
    if (most < d->n) least = descend(d, most, (double)INFINITY, &mass);
    if (o->top_p < 1) {
        if (most == d->n) walk(d, least, (double)INFINITY, &mass);
        least = descend(d, most, (double)o->top_p * mass, &mass);
    }
    walk(d, least, (double)INFINITY, &mass);
    return walk(d, least, u * mass, &mass);
}

int64_t candidates_of(const struct rules *rules, float *logits, const int32_t *ids, int64_t n, uint64_t stream,
                      struct candidate *out) {
    const int64_t V = rules->vocabulary;
    const struct candidate first = {-1, INFINITY};
    const int32_t forced = forced_at(rules, n);
    if (forced >= 0) {
        out[0] = (struct candidate){forced, 0};
        return 1;
    }
    float lse;
    isa_get()->lse_rows(&lse, logits, V, 1, V);
    if (!isfinite(lse)) return -1;
    forbid(rules, logits, ids, n);
    const int64_t count = best_of(logits, V, rules->width, first, out);
    if (count > 0 && rules->opts.sample) {
        const struct draw d = {logits, V, (double)out[0].log_p, (double)rules->opts.temperature};
        out[0].id = draw_token(rules, &d, uniform(rules->opts.seed, stream, (uint64_t)n));
        out[0].log_p = logits[out[0].id];
    }
    for (int64_t i = 0; i < count; i++) out[i].log_p -= lse;
    return count;
}
