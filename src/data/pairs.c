/* Parallel text: encoded pairs, and groups of them that are padded little. */
#include "data/data.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- encoding ---- */

static bool is_blank(const heed_lines *l, int64_t i) {
    const char *s = heed_line_text(l, i);
    return s[strspn(s, " \t\r")] == 0;
}

/* Where a tokenizer has no token for the unknown, it says what it cannot encode; the line is added. */
static bool encode(heed_ctx *cx, const heed_tokenizer *t, const char *side, const heed_lines *l, int64_t i,
                   heed_ids *to) {
    if (heed_encode(cx, t, heed_line_text(l, i), heed_line_size(l, i), true, to)) return true;
    if (heed_error(cx) != HEED_ERR_FORMAT && heed_error(cx) != HEED_ERR_RANGE) return false;
    char why[512];
    const heed_status status = heed_error(cx);
    snprintf(why, sizeof why, "%s", heed_message(cx));
    heed_clear(cx);
    return heed_fail(cx, status, "%s: line %lld: %s", side, (long long)i + 1, why);
}

static int64_t count_of(heed_ids ids, int32_t id) {
    int64_t n = 0;
    for (int64_t i = 0; i < ids.count; i++) n += ids.id[i] == id;
    return n;
}

bool heed_pairs_encode(heed_ctx *cx, const heed_lines *source, const heed_lines *target,
                       const heed_tokenizer *source_tokens, const heed_tokenizer *target_tokens,
                       const heed_pairs_opts *opts, heed_pairs *pairs) {
    if (heed_failed(cx)) return false;
    if (!source || !target || !source_tokens || !target_tokens || !pairs)
        return heed_fail(cx, HEED_ERR_USAGE, "pairs: texts, tokenizers and a place for the pairs are needed");
    if (source->count != target->count)
        return heed_fail(cx, HEED_ERR_FORMAT, "pairs: the source has %lld lines, the target %lld",
                         (long long)source->count, (long long)target->count);
    const heed_pairs_opts o = opts ? *opts : (heed_pairs_opts){0};
    heed_pairs p = {0};
    heed_ids ids = {0};
    p.start = data_room(cx, source->count + 1, 2, sizeof *p.start);
    if (p.start) p.start[0] = 0;
    for (int64_t i = 0; p.start && i < source->count && !heed_cancelled(cx); i++) {
        const int64_t before = ids.count;
        if (o.skip_empty && (is_blank(source, i) || is_blank(target, i))) {
            p.empty++;
            continue;
        }
        if (!encode(cx, source_tokens, "source", source, i, &ids)) break;
        const int64_t middle = ids.count;
        if (!encode(cx, target_tokens, "target", target, i, &ids)) break;
        if (o.longest > 0 && (middle - before > o.longest || ids.count - middle > o.longest)) {
            ids.count = before;
            p.long_ones++;
            continue;
        }
        p.start[2 * p.n + 1] = middle;
        p.start[2 * ++p.n] = ids.count;
    }
    p.id = ids.id;
    for (int64_t i = 0; i < p.n; i++)
        p.unknown += count_of(heed_pair_source(&p, i), heed_tokenizer_unknown(source_tokens)) +
                     count_of(heed_pair_target(&p, i), heed_tokenizer_unknown(target_tokens));
    if (heed_failed(cx)) heed_pairs_free(cx, &p);
    if (!heed_failed(cx)) *pairs = p;
    return !heed_failed(cx);
}

void heed_pairs_free(heed_ctx *cx, heed_pairs *pairs) {
    if (!pairs) return;
    heed_mem_free(cx, pairs->id);
    heed_mem_free(cx, pairs->start);
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
    uint32_t chance; /* pairs of equal lengths fall together by chance */
};

static int by_length(const void *a, const void *b) {
    const struct place *x = a, *y = b;
    if (x->target != y->target) return x->target < y->target ? -1 : 1;
    if (x->source != y->source) return x->source < y->source ? -1 : 1;
    if (x->chance != y->chance) return x->chance < y->chance ? -1 : 1;
    return (x->pair > y->pair) - (x->pair < y->pair);
}

static void fill_groups(const struct place *places, int64_t n, int64_t tokens, heed_pair_groups *g) {
    int64_t widest = 0;
    for (int64_t i = 0; i < n; i++) {
        const int64_t width = places[i].source > places[i].target ? places[i].source : places[i].target;
        const int64_t held = i - g->start[g->n], wider = width > widest ? width : widest;
        widest = wider;
        if (held > 0 && (held + 1) * wider > tokens) {
            g->start[++g->n] = i;
            widest = width;
        }
        g->pair[i] = places[i].pair;
    }
    g->start[++g->n] = n;
}

bool heed_pairs_group(heed_ctx *cx, const heed_pairs *pairs, int64_t tokens, uint64_t seed, heed_pair_groups *groups) {
    if (heed_failed(cx)) return false;
    if (!pairs || !groups || pairs->n < 1 || tokens < 1)
        return heed_fail(cx, HEED_ERR_USAGE, "pairs: there is nothing to group, or no room for a token");
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
        g.start[0] = 0;
        fill_groups(places, n, tokens, &g);
        *groups = g;
    } else {
        heed_pair_groups_free(cx, &g);
    }
    heed_mem_free(cx, places);
    return !heed_failed(cx);
}

void heed_pair_groups_free(heed_ctx *cx, heed_pair_groups *groups) {
    if (!groups) return;
    heed_mem_free(cx, groups->pair);
    heed_mem_free(cx, groups->start);
    *groups = (heed_pair_groups){0};
}
