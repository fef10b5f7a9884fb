/* Parallel text: encoded pairs. */
#include "base/profile.h"
#include "data/data.h"
#include "io/text.h"
#include <string.h>

/* ---- encoding ---- */

/* A tokenizer without an unknown token says what it cannot encode. */
static bool encode(heed_ctx *cx, const heed_tokenizer *t, const char *side, const heed_lines *l, int64_t i,
                   const heed_merge_dropout *drop, heed_ids *to) {
    return heed_encode_dropout(cx, t, heed_line_text(l, i), heed_line_size(l, i), true, drop, to) ||
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

/* What was added since the last pair is one more, unless a side has more than `max_length` tokens: then it is gone. */
static bool keep_line(struct making *m, int64_t line, int64_t middle, int64_t max_length) {
    heed_pairs *p = &m->pairs;
    const int64_t before = p->start[2 * p->n], after = m->ids.count;
    if (max_length > 0 && (middle - before > max_length || after - middle > max_length))
        return m->ids.count = before, false;
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
            if (o.skip_empty &&
                (text_is_blank(heed_line_text(text->source, i)) || text_is_blank(heed_line_text(text->target, i))))
                m.pairs.empty++;
            else if (!add_line(cx, text, i, none, &m, &middle))
                break;
            else if (!keep_line(&m, i, middle, o.max_length))
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
            if (keep_line(&m, pairs->line[i], middle, opts->max_length)) continue;
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

/* ---- as columns ---- */

bool heed_pairs_columns(heed_ctx *cx, const heed_pairs *pairs, int32_t pad, heed_dataset *set) {
    if (heed_failed(cx)) return false;
    if (!pairs || !pairs->start || !set || pairs->n < 1)
        return heed_fail(cx, HEED_ERR_USAGE, "pairs: pairs and a place for the columns are needed");
    const heed_column side = {.type = HEED_I32, .ragged = true, .data = pairs->id, .step = 2};
    *set = (heed_dataset){.n = pairs->n, .columns = 2, .column = {side, side}, .counts = "labels"};
    set->column[0].name = "input_ids";
    set->column[0].start = pairs->start;
    set->column[0].fill = pad;
    set->column[0].mask = "attention_mask";
    set->column[1].name = "labels";
    set->column[1].start = pairs->start + 1;
    set->column[1].fill = HEED_NO_LABEL;
    return true;
}
