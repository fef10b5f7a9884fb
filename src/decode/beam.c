/* The search of one sequence: unfinished beams and finished hypotheses.
 *
 * Beam search as transformers has it: of all continuations of all beams the best 2 beams are looked at, in order. Those
 * that stop (at the end token, or all at the limit) end as hypotheses when they are among the best `beams` of them;
 * the best `beams` others go on. Greedy search and sampling are one row that takes one continuation and is done when it
 * stops. */
#include "base/checked.h"
#include "decode/decoding.h"
#include <math.h>
#include <string.h>

static size_t aligned(size_t bytes) { return (bytes + 15) & ~(size_t)15; }

struct search *searches_new(heed_ctx *cx, const struct rules *rules, int64_t searches) {
    const size_t K = (size_t)rules->opts.beams, n = (size_t)searches;
    size_t ids, each, bytes;
    const size_t small = aligned(K * sizeof(float)) + aligned(K * sizeof(int32_t)) + aligned(K * sizeof(struct ended));
    if (!size_mul(K, (size_t)rules->room * sizeof(int32_t), &ids) || !size_mul(ids, 3, &each) ||
        !size_add(each, small + 48, &each) || !size_mul(each, n, &bytes) ||
        !size_add(bytes, n * sizeof(struct search) + 16, &bytes) || bytes > PTRDIFF_MAX) {
        heed_fail(cx, HEED_ERR_RANGE, "generate: %lld sentences of %lld beams of %lld tokens are too large",
                  (long long)searches, (long long)K, (long long)rules->room);
        return NULL;
    }
    struct search *all = heed_mem_new(cx, bytes);
    if (!all) return NULL;
    char *at = (char *)all + aligned(n * sizeof *all);
    ids = aligned(ids);
    for (size_t i = 0; i < n; i++) {
        struct search *s = &all[i];
        *s = (struct search){.ids = (int32_t *)(void *)at, .spare = (int32_t *)(void *)(at + ids)};
        char *const ended = at + 2 * ids;
        at += 3 * ids;
        s->score = (float *)(void *)at, at += aligned(K * sizeof(float));
        s->parent = (int32_t *)(void *)at, at += aligned(K * sizeof(int32_t));
        s->ended = (struct ended *)(void *)at, at += aligned(K * sizeof(struct ended));
        for (size_t k = 0; k < K; k++) s->ended[k].ids = (int32_t *)(void *)ended + k * (size_t)rules->room;
    }
    return all;
}

void search_begin(struct search *s, int64_t sentence, uint64_t stream) {
    s->sentence = sentence;
    s->stream = stream;
    s->rows = 1;
    s->n = s->prompt = s->kept = s->gone = s->fed = s->n_ended = 0;
    s->score[0] = 0;
}

void search_prompt(struct search *s, const struct rules *rules, heed_ids ids) {
    if (ids.count > 0) memcpy(s->ids + s->n, ids.id, (size_t)ids.count * sizeof *s->ids);
    s->prompt = s->n += ids.count;
    s->limit = rules_limit(rules, s->prompt);
    s->kept = rules->positions > 1 && s->n > 0 && s->ids[0] == rules->start;
}

int64_t search_window(const struct search *s) { return s->n - s->gone; }

int32_t search_token(const struct search *s, const struct rules *rules, int64_t row, int64_t t) {
    return s->ids[row * rules->room + (t < s->kept ? t : t + s->gone)];
}

/* ---- ended hypotheses ---- */

static float normalised(const struct rules *rules, float sum, int64_t length) {
    return sum / (float)pow((double)(length > 1 ? length : 1), (double)rules->opts.length_penalty);
}

/* A row of ids and perhaps a last one, if it is better than the worst of a full list; those before stand above their
 * equals. */
static void end(struct search *s, const struct rules *rules, const int32_t *ids, const int32_t *last,
                heed_finish finish, float sum) {
    const int64_t K = rules->opts.beams, new = s->n - s->prompt, length = new + (last != NULL);
    const float score = normalised(rules, sum, length);
    int64_t at = s->n_ended;
    if (at == K && !(score > s->ended[K - 1].score)) return;
    if (at == K) at--;
    int32_t *const room = s->ended[at].ids;
    for (; at > 0 && score > s->ended[at - 1].score; at--) s->ended[at] = s->ended[at - 1];
    const bool at_eos = last && rules_is_eos(rules, *last);
    s->ended[at] = (struct ended){room, length, score, at_eos, finish};
    memcpy(room, ids + s->prompt, (size_t) new * sizeof *ids);
    if (last) room[new] = *last;
    if (s->n_ended < K) s->n_ended++;
}

/* ---- one token more ---- */

struct continuation {
    int64_t row;
    int32_t id;
    float sum;
};

/* The best continuation that is left: the rows' candidates are in order, next (rows) says how many are gone. */
static bool take_best(const struct search *s, const struct rules *rules, const struct candidate *found,
                      const int64_t *count, int32_t *next, struct continuation *best) {
    best->sum = -INFINITY;
    for (int64_t row = 0; row < s->rows; row++) {
        if (next[row] >= count[row]) continue;
        const struct candidate c = found[row * rules->width + next[row]];
        if (s->score[row] + c.score > best->sum) *best = (struct continuation){row, c.id, s->score[row] + c.score};
    }
    if (best->sum == -INFINITY) return false;
    next[best->row]++;
    return true;
}

/* A beam for which there is no continuation is a copy of the best one that never wins. */
static void fill(struct search *s, const struct rules *rules, int64_t n, int64_t rows, float *score) {
    const int64_t room = rules->room;
    for (int64_t row = rows; row < rules->opts.beams; row++) {
        memcpy(s->spare + row * room, s->spare, (size_t)n * sizeof *s->ids);
        s->parent[row] = s->parent[0];
        score[row] = -INFINITY;
    }
}

/* Could a beam, best at `sum` after one token more, still do better than the worst of a full list? */
static bool may_improve(const struct search *s, const struct rules *rules, float sum) {
    const heed_generate_opts *o = &rules->opts;
    int64_t length = s->n + 1 - s->prompt;
    if (s->n_ended < o->beams) return true;
    if (o->beams == 1 || o->early_stopping == HEED_STOP_EARLY) return false;
    if (o->early_stopping == HEED_STOP_NEVER_EARLY && o->length_penalty > 0) length = s->limit - s->prompt;
    return normalised(rules, sum, length) > s->ended[o->beams - 1].score;
}

/* Tells the caller of a token; false when that is enough. */
static bool tell(struct search *s, struct rules *rules, int32_t id) {
    const heed_generate_opts *o = &rules->opts;
    if (rules_is_eos(rules, id)) return true;
    const bool more = telling_token(rules, s, id);
    return (!o->on_token || o->on_token(o->user, s->sentence, id)) && more;
}

/* Does row `ids` end with the token `id`, number n of it, and why? */
static bool ends(struct search *s, struct rules *rules, const int32_t *ids, int32_t id, heed_finish *why) {
    const bool told = tell(s, rules, id);
    if (rules_stop_text(rules, ids + s->prompt, s->n + 1 - s->prompt) || rules_is_eos(rules, id))
        return *why = HEED_FINISH_STOP, true;
    if (!told) return *why = HEED_FINISH_CALLER, true;
    *why = rules_limit_finish(rules, s->prompt);
    return s->n + 1 >= s->limit;
}

bool search_advance(struct search *s, struct rules *rules, const struct candidate *found, const int64_t *count,
                    struct search_work *work) {
    const int64_t K = rules->opts.beams, room = rules->room, n = s->n;
    int64_t rows = 0, seen = 0;
    struct continuation c;
    memset(work->next, 0, (size_t)s->rows * sizeof *work->next);
    for (; seen < rules->width && take_best(s, rules, found, count, work->next, &c); seen++) {
        int32_t *from = s->ids + c.row * room;
        from[n] = c.id; /* n < room */
        heed_finish why;
        if (ends(s, rules, from, c.id, &why)) {
            if (seen < K) end(s, rules, from, &c.id, why, c.sum);
        } else if (rows < K) {
            memcpy(s->spare + rows * room, from, (size_t)n * sizeof *from);
            s->spare[rows * room + n] = c.id;
            s->parent[rows] = (int32_t)c.row;
            work->score[rows++] = c.sum;
        }
    }
    if (seen == 0) /* the rules allow nothing: the beams end where they are */
        for (int64_t row = 0; row < s->rows; row++)
            if (s->score[row] > -INFINITY) end(s, rules, s->ids + row * room, NULL, HEED_FINISH_RULES, s->score[row]);
    if (rows == 0 || !may_improve(s, rules, work->score[0])) return false;
    fill(s, rules, n + 1, rows, work->score);
    memcpy(s->score, work->score, (size_t)K * sizeof *s->score);
    int32_t *const swap = s->ids;
    s->ids = s->spare, s->spare = swap;
    s->rows = K;
    s->n++;
    return true;
}
