/* The next token: one row of logits to its best tokens, or to a sampled one.
 *
 * Log-probabilities are logits less their log-sum-exp, which is taken before the rules forbid anything: what is
 * forbidden leaves its probability to nobody, as in transformers. */
#include "decode/decoding.h"
#include <math.h>
#include <string.h>

/* ---- the rules ---- */

static void forbid_token(const struct topk_row *row, int32_t id) { topk_set(row, id, -INFINITY); }

static void forbid_repeats(const struct rules *rules, const struct topk_row *row, const int32_t *ids, int64_t n) {
    const int64_t size = rules->opts.no_repeat_ngram;
    if (size < 1 || n < size) return;
    const int32_t *last = ids + n - (size - 1);
    for (int64_t i = 0; i + size <= n; i++)
        if (memcmp(ids + i, last, (size_t)(size - 1) * sizeof *ids) == 0) forbid_token(row, ids[i + size - 1]);
}

static void forbid_words(const struct rules *rules, const struct topk_row *row, const int32_t *ids, int64_t n) {
    for (int64_t i = 0, begin = 0; i < rules->word_end.count; begin = rules->word_end.id[i++]) {
        const int32_t *word = rules->words.id + begin;
        const int64_t before = rules->word_end.id[i] - begin - 1;
        if (before <= n && memcmp(ids + n - before, word, (size_t)before * sizeof *ids) == 0)
            forbid_token(row, word[before]);
    }
}

static void forbid_by_rule(const struct rules *rules, const struct topk_row *row, const int32_t *ids, int64_t n) {
    if (!rules->opts.allowed) return;
    for (int32_t id = 0; id < row->n; id++)
        if (!rules->opts.allowed(rules->opts.rule, ids, n, id)) forbid_token(row, id);
}

static void forbid(const struct rules *rules, const struct search *s, const struct topk_row *row, const int32_t *ids) {
    const int64_t n = s->n;
    forbid_by_rule(rules, row, ids, n);
    const bool early = n < rules->opts.min_length || n - s->prompt < rules->opts.min_new_tokens;
    forbid_repeats(rules, row, ids, n);
    forbid_words(rules, row, ids, n);
    for (int64_t i = 0; early && i < rules->eos.count; i++) forbid_token(row, rules->eos.id[i]);
    const int64_t first = s->prompt == 1 && rules->forced_first >= 0 ? 2 : s->prompt;
    for (int64_t i = 0; n == first && i < rules->begin_suppressed.count; i++)
        forbid_token(row, rules->begin_suppressed.id[i]);
}

/* Repetition penalty (Keskar et al. 2019), once for every token so far. As in transformers, it applies to logits in
 * greedy search and sampling, and to log-probabilities in beam search. */
static float penalised(float x, float penalty) { return x < 0 ? x * penalty : x / penalty; }

static void penalise(const struct rules *rules, const struct topk_row *row, float lse, const int32_t *ids, int64_t n) {
    const float penalty = rules->opts.repetition_penalty, zero = rules->opts.beams > 1 ? lse : 0;
    if (penalty == 1) return;
    for (int64_t i = 0; i < n; i++) {
        int64_t first = 0;
        while (ids[first] != ids[i]) first++;
        if (first == i) topk_set(row, ids[i], zero + penalised(row->x[ids[i]] - zero, penalty));
    }
}

/* The token that must follow, or -1; where both rules hold, the last one. */
static int32_t forced_next(const struct rules *rules, const struct search *s) {
    if (rules->forced_last >= 0 && s->n == s->limit - 1) return rules->forced_last;
    return s->n == 1 ? rules->forced_first : -1;
}

/* ---- drawing ---- tokens are counted by mass, exp((x - top) / temperature) */

#define CHUNK 512

struct draw {
    const float *x;
    int64_t n;
    double top, temperature;
    double least; /* mass of a token that may be drawn */
};

static double mass_of(const struct draw *d, float x) { return exp(((double)x - d->top) / d->temperature); }

/* Down the tokens from the best one until their mass reaches `enough` or there are `most` of them: the last one. */
static struct candidate descend(const struct draw *d, int64_t most, double enough, double *mass) {
    struct candidate chunk[CHUNK], last = {-1, INFINITY};
    *mass = 0;
    for (int64_t count = CHUNK; count == CHUNK && most > 0; most -= count) {
        count = topk_after(d->x, d->n, most < CHUNK ? most : CHUNK, last, chunk);
        for (int64_t i = 0; i < count; i++) {
            last = chunk[i];
            if ((*mass += mass_of(d, last.score)) >= enough) return last;
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
        if (c.score == -INFINITY || candidate_worse(c, least)) continue;
        const double own = mass_of(d, c.score);
        if (own < d->least) continue;
        last = c.id;
        if ((*mass += own) >= enough) return last;
    }
    return last;
}

/* In (0, 1], from 48 bits. */
static double uniform(uint64_t seed, uint64_t stream, uint64_t position) {
    const uint64_t high = heed_random_bits(seed, stream, 2 * position),
                   low = heed_random_bits(seed, stream, 2 * position + 1);
    return (double)((high >> 8 << 24 | low >> 8) + 1) * 0x1p-48;
}

/* Top-k (Fan et al. 2018) first, then the nucleus (Holtzman et al. 2020) of what it left, then min-p (Nguyen et al.
 * 2024), in the order of transformers. */
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
    struct draw kept = *d;
    kept.least = (double)o->min_p;
    walk(&kept, least, (double)INFINITY, &mass);
    return walk(&kept, least, u * mass, &mass);
}

/* The model's own score of a token that greedy search or sampling has chosen among penalised ones. */
static float unpenalised(const struct rules *rules, const int32_t *ids, int64_t n, struct candidate c) {
    for (int64_t i = 0; i < n; i++)
        if (ids[i] == c.id) return penalised(c.score, 1 / rules->opts.repetition_penalty);
    return c.score;
}

int64_t candidates_of(const struct rules *rules, const struct search *s, int64_t of, float *logits, float *tops,
                      struct candidate *out) {
    const struct topk_row row = {logits, tops, rules->vocabulary};
    const int32_t forced = forced_next(rules, s), *ids = s->ids + of * rules->room;
    const int64_t n = s->n;
    if (forced >= 0) {
        out[0] = (struct candidate){forced, 0};
        return 1;
    }
    const float lse = topk_log_sum_exp(&row);
    if (!isfinite(lse)) return -1;
    penalise(rules, &row, lse, ids, n);
    forbid(rules, s, &row, ids);
    const int64_t count = topk_best(&row, rules->width, out);
    if (count > 0 && rules->opts.sample) {
        const struct draw d = {logits, row.n, (double)out[0].score, (double)rules->opts.temperature, 0};
        out[0].id = draw_token(rules, &d, uniform(rules->opts.seed, s->stream, (uint64_t)n));
        out[0].score = logits[out[0].id];
    }
    if (count > 0 && rules->opts.beams == 1 && rules->opts.repetition_penalty != 1)
        out[0].score = unpenalised(rules, ids, n, out[0]);
    for (int64_t i = 0; i < count; i++) out[i].score -= lse;
    return count;
}
