/* Parallel text: encoded pairs, and groups of them that are padded little. */
#include "base/profile.h"
#include "data/data.h"
#include <stdlib.h>
#include <string.h>

/* ---- encoding ---- */

static bool is_blank(const heed_lines *l, int64_t i) {
    const char *s = heed_line_text(l, i);
    return s[strspn(s, " \t\r")] == 0;
}

/* A tokenizer without an unknown token says what it cannot encode. */
static bool encode(heed_ctx *cx, const heed_tokenizer *t, const char *side, const heed_lines *l, int64_t i,
                   const heed_merge_dropout *drop, heed_ids *to) {
    return heed_encode_drawn(cx, t, heed_line_text(l, i), heed_line_size(l, i), true, drop, to) ||
           heed_fail_in(cx, "%s: line %lld", side, (long long)i + 1);
}

static int64_t count_of(heed_ids ids, int32_t id) {
    int64_t n = 0;
    for (int64_t i = 0; i < ids.count; i++) n += ids.id[i] == id;
    return n;
}

/* Pairs as they are made; ids: of all of them, which the pairs own in the end. */
struct making {
    heed_pairs pairs;
    heed_ids ids;
};

static bool check_text(heed_ctx *cx, const heed_parallel_text *t, const void *pairs) {
    if (heed_failed(cx)) return false;
    if (!t || !t->source || !t->target || !t->source_tokens || !t->target_tokens || !pairs)
        return heed_fail(cx, HEED_ERR_USAGE, "pairs: texts, tokenizers and a place for the pairs are needed");
    if (t->source->count != t->target->count)
        return heed_fail(cx, HEED_ERR_FORMAT, "pairs: the source has %lld lines, the target %lld",
                         (long long)t->source->count, (long long)t->target->count);
    return true;
}

static bool begin(heed_ctx *cx, int64_t most, struct making *m) {
    *m = (struct making){0};
    m->pairs.start = data_room(cx, most + 1, 2, sizeof *m->pairs.start);
    m->pairs.line = data_room(cx, most + 1, 1, sizeof *m->pairs.line);
    if (!heed_failed(cx)) m->pairs.start[0] = 0;
    return !heed_failed(cx);
}

/* Adds the tokens of line i; *middle: where those of its target begin. */
static bool add_line(heed_ctx *cx, const heed_parallel_text *t, int64_t i, const heed_merge_dropout drop[2],
                     struct making *m, int64_t *middle) {
    if (!encode(cx, t->source_tokens, "source", t->source, i, &drop[0], &m->ids)) return false;
    *middle = m->ids.count;
    return encode(cx, t->target_tokens, "target", t->target, i, &drop[1], &m->ids);
}

/* What was added since the last pair is one more, unless a side has more than `longest` tokens: then it is gone. */
static bool keep_line(struct making *m, int64_t line, int64_t middle, int64_t longest) {
    heed_pairs *p = &m->pairs;
    const int64_t before = p->start[2 * p->n], after = m->ids.count;
    if (longest > 0 && (middle - before > longest || after - middle > longest)) return m->ids.count = before, false;
    p->line[p->n] = line;
    p->start[2 * p->n + 1] = middle;
    p->start[2 * ++p->n] = after;
    return true;
}

static bool finish(heed_ctx *cx, const heed_parallel_text *t, struct making *m, heed_pairs *pairs) {
    heed_pairs *p = &m->pairs;
    p->id = m->ids.id;
    for (int64_t i = 0; i < p->n; i++)
        p->unknown += count_of(heed_pair_source(p, i), heed_tokenizer_unknown(t->source_tokens)) +
                      count_of(heed_pair_target(p, i), heed_tokenizer_unknown(t->target_tokens));
    if (heed_failed(cx)) heed_pairs_free(cx, p);
    if (!heed_failed(cx)) *pairs = *p;
    return !heed_failed(cx);
}

bool heed_pairs_encode(heed_ctx *cx, const heed_parallel_text *text, const heed_pairs_opts *opts, heed_pairs *pairs) {
    if (!check_text(cx, text, pairs)) return false;
    const heed_pairs_opts o = opts ? *opts : (heed_pairs_opts){0};
    const heed_merge_dropout none[2] = {{0}};
    const struct profile_mark mark = profile_begin(cx);
    struct making m;
    if (begin(cx, text->source->count, &m))
        for (int64_t i = 0; i < text->source->count && !heed_cancelled(cx); i++) {
            int64_t middle;
            if (o.skip_empty && (is_blank(text->source, i) || is_blank(text->target, i)))
                m.pairs.empty++;
            else if (!add_line(cx, text, i, none, &m, &middle))
                break;
            else if (!keep_line(&m, i, middle, o.longest))
                m.pairs.long_ones++;
        }
    const bool ok = finish(cx, text, &m, pairs);
    profile_end(cx, mark, "tokenize", PROFILE_FORWARD);
    return ok;
}

bool heed_pairs_resample(heed_ctx *cx, const heed_parallel_text *text, const heed_pairs *pairs,
                         const heed_resample_opts *opts, heed_pairs *resampled) {
    if (!check_text(cx, text, resampled)) return false;
    if (!pairs || !pairs->line || !opts)
        return heed_fail(cx, HEED_ERR_USAGE, "pairs: pairs with their lines and options are needed");
    const heed_merge_dropout none[2] = {{0}};
    struct making m;
    if (begin(cx, pairs->n, &m))
        for (int64_t i = 0; i < pairs->n && !heed_cancelled(cx); i++) {
            /* separate from the streams that shuffle epochs, which are below 2^32 */
            const uint64_t stream = ((uint64_t)opts->epoch + 1) << 32 | (uint32_t)(2 * i);
            const heed_merge_dropout drop[2] = {{opts->dropout, opts->seed, stream},
                                                {opts->dropout, opts->seed, stream + 1}};
            int64_t middle;
            if (!add_line(cx, text, pairs->line[i], drop, &m, &middle)) break;
            if (keep_line(&m, pairs->line[i], middle, opts->longest)) continue;
            if (!add_line(cx, text, pairs->line[i], none, &m, &middle)) break;
            keep_line(&m, pairs->line[i], middle, 0);
        }
    return finish(cx, text, &m, resampled);
}

void heed_pairs_free(heed_ctx *cx, heed_pairs *pairs) {
    if (!pairs) return;
    heed_mem_free(cx, pairs->id);
    heed_mem_free(cx, pairs->start);
    heed_mem_free(cx, pairs->line);
    *pairs = (heed_pairs){0};
}

static heed_ids side_of(const heed_pairs *p, int64_t i, int side) {
    if (!p || i < 0 || i >= p->n) return (heed_ids){0};
    const int64_t *at = p->start + 2 * i + side;
    return (heed_ids){.id = p->id + at[0], .count = at[1] - at[0]};
}

heed_ids heed_pair_source(const heed_pairs *pairs, int64_t i) { return side_of(pairs, i, 0); }
heed_ids heed_pair_target(const heed_pairs *pairs, int64_t i) { return side_of(pairs, i, 1); }

/* ---- grouping ---- */

struct place {
    int64_t source, target, pair;
    uint32_t chance; /* pairs of equal lengths are shuffled */
};

static int by_length(const void *a, const void *b) {
    const struct place *x = a, *y = b;
    if (x->target != y->target) return x->target < y->target ? -1 : 1;
    if (x->source != y->source) return x->source < y->source ? -1 : 1;
    if (x->chance != y->chance) return x->chance < y->chance ? -1 : 1;
    return (x->pair > y->pair) - (x->pair < y->pair);
}

static int64_t wider(const struct place *p) { return p->source > p->target ? p->source : p->target; }

/* Where groups of at most `tokens` tokens a side begin, padding included; returns their number. */
static int64_t cut(const struct place *places, int64_t n, int64_t tokens, int64_t *start) {
    int64_t groups = 0, widest = 0;
    start[0] = 0;
    for (int64_t i = 0; i < n; i++) {
        const int64_t width = wider(&places[i]), held = i - start[groups];
        if (width > widest) widest = width;
        if (held > 0 && (held + 1) * widest > tokens) {
            start[++groups] = i;
            widest = width;
        }
    }
    start[++groups] = n;
    return groups;
}

/* The same for a number of groups: the smallest `tokens` that gives no more of them, then the largest are halved. */
static int64_t cut_into(const struct place *places, int64_t n, int64_t want, int64_t *start) {
    int64_t low = 1, high = 1;
    while (cut(places, n, high, start) > want) high *= 2;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (cut(places, n, middle, start) > want)
            low = middle + 1;
        else
            high = middle;
    }
    int64_t groups = cut(places, n, low, start);
    for (; groups < want; groups++) {
        int64_t largest = 0;
        for (int64_t g = 1; g < groups; g++)
            if (start[g + 1] - start[g] > start[largest + 1] - start[largest]) largest = g;
        const int64_t middle = (start[largest] + start[largest + 1]) / 2;
        memmove(start + largest + 2, start + largest + 1, (size_t)(groups - largest) * sizeof *start);
        start[largest + 1] = middle;
    }
    return groups;
}

/* By the tokens of a group or, when that is 0, by the number of groups. */
static bool group(heed_ctx *cx, const heed_pairs *pairs, int64_t tokens, int64_t want, uint64_t seed,
                  heed_pair_groups *groups) {
    const int64_t n = pairs->n;
    struct place *places = data_room(cx, n, 1, sizeof *places);
    heed_pair_groups g = {0};
    g.pair = data_room(cx, n, 1, sizeof *g.pair);
    g.start = data_room(cx, n + 1, 1, sizeof *g.start);
    if (!heed_failed(cx)) {
        for (int64_t i = 0; i < n; i++)
            places[i] = (struct place){heed_pair_source(pairs, i).count, heed_pair_target(pairs, i).count, i,
                                       heed_random_bits(seed, 0, (uint64_t)i)};
        qsort(places, (size_t)n, sizeof *places, by_length);
        for (int64_t i = 0; i < n; i++) g.pair[i] = places[i].pair;
        g.n = tokens > 0 ? cut(places, n, tokens, g.start) : cut_into(places, n, want, g.start);
        *groups = g;
    } else {
        heed_pair_groups_free(cx, &g);
    }
    heed_mem_free(cx, places);
    return !heed_failed(cx);
}

bool heed_pairs_group(heed_ctx *cx, const heed_pairs *pairs, int64_t tokens, uint64_t seed, heed_pair_groups *groups) {
    if (heed_failed(cx)) return false;
    if (!pairs || !groups || pairs->n < 1 || tokens < 1)
        return heed_fail(cx, HEED_ERR_USAGE, "pairs: pairs and a positive number of tokens are needed");
    return group(cx, pairs, tokens, 0, seed, groups);
}

bool heed_pairs_group_into(heed_ctx *cx, const heed_pairs *pairs, int64_t n, uint64_t seed, heed_pair_groups *groups) {
    if (heed_failed(cx)) return false;
    if (!pairs || !groups || n < 1 || n > pairs->n)
        return heed_fail(cx, HEED_ERR_USAGE, "pairs: %lld pairs cannot make %lld groups",
                         pairs ? (long long)pairs->n : 0, (long long)n);
    return group(cx, pairs, 0, n, seed, groups);
}

void heed_pair_groups_free(heed_ctx *cx, heed_pair_groups *groups) {
    if (!groups) return;
    heed_mem_free(cx, groups->pair);
    heed_mem_free(cx, groups->start);
    *groups = (heed_pair_groups){0};
}
