/* Parallel text as the loop's source. Epoch e takes the groups in the order of permutation e of the seed.
 *
 * With BPE-dropout every epoch has other tokens for the same pairs, of other lengths: they are grouped anew, into as
 * many groups as there would be without it, so that an epoch always has as many updates. The tokens that were seen are
 * counted as if it were not there. */
#include "base/ctx.h"
#include "train/loop.h"
#include <math.h>
#include <string.h>

#define NO_LABEL       (-100)
#define MEASURE_TOKENS 4096 /* places of a batch when measuring */
#define MOST_PLANNED   64

struct heed_translation {
    heed_translation_opts opts;
    heed_loop_source source;
    const heed_pairs *pairs;                   /* of the epoch under way: opts.train's, or */
    heed_pairs drawn;                          /* those of BPE-dropout, */
    int64_t drawn_epoch;                       /* of this epoch, -1: none */
    heed_pair_groups groups;                   /* of them */
    int64_t *tokens;                           /* target tokens of each group, without BPE-dropout */
    int64_t *order;                            /* of the groups in the epoch under way */
    int64_t epoch;                             /* whose order it is, -1: none */
    int64_t step;                              /* of the next batch */
    int64_t group;                             /* the one under way, */
    int64_t first[2];                          /* the pairs of its pass, */
    int64_t per_epoch;                         /* target tokens in an epoch */
    int32_t *room;                             /* for ids on their way into tensors */
    char train[NOTES_DATA], valid[NOTES_DATA]; /* which pairs, for the notes */
};

/* Tokens of the longer side. */
static int64_t width_of(const heed_pairs *p, int64_t i) {
    const int64_t source = heed_pair_source(p, i).count, target = heed_pair_target(p, i).count;
    return source > target ? source : target;
}

/* ---- tensors ---- */

/* Rows of ids (n, width) of a side, filled up with `fill`. */
static heed_tensor *rows_of(heed_ctx *cx, const heed_pairs *p, heed_ids (*side)(const heed_pairs *p, int64_t i),
                            const int64_t *pair, int64_t n, int32_t fill, int32_t *room) {
    int64_t width = 1;
    for (int64_t i = 0; i < n; i++)
        if (side(p, pair[i]).count > width) width = side(p, pair[i]).count;
    for (int64_t i = 0; i < n; i++) {
        const heed_ids ids = side(p, pair[i]);
        memcpy(room + i * width, ids.id, (size_t)ids.count * sizeof *room);
        for (int64_t j = ids.count; j < width; j++) room[i * width + j] = fill;
    }
    return heed_from_i32(cx, room, 2, (int64_t[]){n, width});
}

/* 1 for tokens, 0 for what fills up. */
static heed_tensor *mask_of(heed_ctx *cx, const heed_pairs *p, const int64_t *pair, const heed_tensor *ids,
                            int32_t *room) {
    if (!ids) return NULL;
    const int64_t n = heed_dim(ids, 0), width = heed_dim(ids, 1);
    for (int64_t i = 0; i < n; i++) {
        const int64_t length = heed_pair_source(p, pair[i]).count;
        for (int64_t j = 0; j < width; j++) room[i * width + j] = j < length;
    }
    return heed_from_i32(cx, room, 2, (int64_t[]){n, width});
}

static bool feed_pairs(heed_ctx *cx, const heed_pairs *p, const int64_t *pair, int64_t n, int32_t pad, int32_t *room,
                       heed_io *in) {
    heed_tensor *ids = rows_of(cx, p, heed_pair_source, pair, n, pad, room);
    in->loss_only = true;
    return heed_io_put(cx, in, "input_ids", ids) &&
           heed_io_put(cx, in, "attention_mask", mask_of(cx, p, pair, ids, room)) &&
           heed_io_put(cx, in, "labels", rows_of(cx, p, heed_pair_target, pair, n, NO_LABEL, room));
}

/* The most places that a group takes on either side. */
static int64_t most_places(const heed_pairs *p, const heed_pair_groups *g) {
    int64_t most = 1;
    for (int64_t k = 0; k < g->n; k++) {
        int64_t widest = 1;
        for (int64_t i = g->start[k]; i < g->start[k + 1]; i++)
            if (width_of(p, g->pair[i]) > widest) widest = width_of(p, g->pair[i]);
        if (widest * (g->start[k + 1] - g->start[k]) > most) most = widest * (g->start[k + 1] - g->start[k]);
    }
    return most;
}

static int64_t tokens_of(const heed_pairs *p, const int64_t *pair, int64_t n) {
    int64_t tokens = 0;
    for (int64_t i = 0; i < n; i++) tokens += heed_pair_target(p, pair[i]).count;
    return tokens;
}

/* ---- batches ---- */

static void order_epoch(heed_translation *t, int64_t epoch) {
    if (t->epoch == epoch) return;
    heed_random_permutation(t->opts.seed, (uint64_t)epoch + 1, t->order, t->groups.n);
    t->epoch = epoch;
}

/* Of the epoch under way the order is known; the loop asks for no other. */
static int64_t seen(const void *own, int64_t step) {
    heed_translation *t = (heed_translation *)(uintptr_t)own; /* its order may have to be found */
    if (t->opts.merge_dropout > 0) return (int64_t)((double)step / (double)t->groups.n * (double)t->per_epoch);
    int64_t tokens = step / t->groups.n * t->per_epoch;
    if (step % t->groups.n) order_epoch(t, step / t->groups.n);
    for (int64_t i = 0; i < step % t->groups.n; i++) tokens += t->tokens[t->order[i]];
    return tokens;
}

static bool seek(heed_ctx *cx, void *own, int64_t step) {
    heed_translation *t = own;
    t->step = step;
    return !heed_failed(cx);
}

/* The next pass of the group: as many pairs as fit, at least one. */
static int64_t pass_end(const heed_translation *t, int64_t from, int64_t end) {
    int64_t widest = 1, to = from;
    if (t->opts.micro_tokens == 0) return end;
    for (; to < end; to++) {
        const int64_t width = width_of(t->pairs, t->groups.pair[to]);
        if (width > widest) widest = width;
        if (to > from && (to - from + 1) * widest > t->opts.micro_tokens) break;
    }
    return to;
}

static int64_t passes_of(const heed_translation *t, int64_t group) {
    int64_t n = 0, end = t->groups.start[group + 1];
    for (int64_t at = t->groups.start[group]; at < end; n++) at = pass_end(t, at, end);
    return n;
}

static bool make_room(heed_ctx *cx, heed_translation *t) {
    heed_mem_free(cx, t->room);
    t->room = heed_mem_new(cx, (size_t)most_places(t->pairs, &t->groups) * sizeof *t->room);
    return t->room;
}

static bool draw_epoch(heed_ctx *cx, heed_translation *t, int64_t epoch) {
    const heed_translation_opts *o = &t->opts;
    const heed_resample_opts opts = {o->merge_dropout, o->longest, o->seed, epoch};
    heed_pairs drawn;
    heed_pair_groups groups;
    if (o->merge_dropout == 0 || t->drawn_epoch == epoch) return true;
    if (!heed_pairs_resample(cx, o->train_text, o->train.pairs, &opts, &drawn)) return false;
    heed_pairs_free(cx, &t->drawn);
    t->drawn = drawn;
    t->pairs = &t->drawn;
    if (!heed_pairs_group_into(cx, t->pairs, t->groups.n, o->seed + (uint64_t)epoch, &groups)) return false;
    heed_pair_groups_free(cx, &t->groups);
    t->groups = groups;
    t->drawn_epoch = epoch;
    return make_room(cx, t);
}

/* A plan meets the largest groups, the last ones, in turn. */
static int64_t next(heed_ctx *cx, void *own) {
    heed_translation *t = own;
    if (heed_failed(cx)) return 0;
    if (cx->config.dry) {
        t->group = t->groups.n - 1 - t->step % t->groups.n;
    } else {
        order_epoch(t, t->step / t->groups.n);
        if (!draw_epoch(cx, t, t->step / t->groups.n)) return 0;
        t->group = t->order[t->step % t->groups.n];
    }
    t->step++;
    t->first[1] = t->groups.start[t->group];
    return passes_of(t, t->group);
}

static bool feed(heed_ctx *cx, void *own, int64_t pass, heed_io *in, float *share) {
    heed_translation *t = own;
    const int64_t begin = t->groups.start[t->group], end = t->groups.start[t->group + 1];
    if (pass == 0) t->first[1] = begin;
    t->first[0] = t->first[1];
    t->first[1] = pass_end(t, t->first[0], end);
    const int64_t *pair = t->groups.pair + t->first[0], n = t->first[1] - t->first[0];
    const int64_t all = tokens_of(t->pairs, t->groups.pair + begin, end - begin), some = tokens_of(t->pairs, pair, n);
    *share = some == all ? 1.0f : (float)some / (float)all;
    return feed_pairs(cx, t->pairs, pair, n, t->opts.pad, t->room, in);
}

/* ---- measuring ---- */

static bool measure_loss(heed_ctx *cx, const heed_model *model, const heed_pairs *p, double *loss) {
    heed_pair_groups g = {0};
    const int32_t pad = (int32_t)heed_json_int(cx, heed_model_config(model), "pad_token_id");
    if (!heed_pairs_group(cx, p, MEASURE_TOKENS, 0, &g)) return false;
    int32_t *room = heed_mem_new(cx, (size_t)most_places(p, &g) * sizeof *room);
    const bool recording = heed_set_grad(cx, false), training = heed_set_training(cx, false);
    double sum = 0;
    int64_t tokens = 0;
    for (int64_t k = 0; room && k < g.n && !heed_cancelled(cx); k++) {
        heed_io in = {0}, out;
        const int64_t *pair = g.pair + g.start[k], n = g.start[k + 1] - g.start[k];
        if (!feed_pairs(cx, p, pair, n, pad, room, &in) || !heed_model_forward(cx, model, &in, &out)) break;
        sum += (double)heed_item(cx, heed_io_get(&out, "loss")) * (double)tokens_of(p, pair, n);
        tokens += tokens_of(p, pair, n);
        heed_reset(cx);
    }
    heed_set_grad(cx, recording);
    heed_set_training(cx, training);
    heed_mem_free(cx, room);
    heed_pair_groups_free(cx, &g);
    *loss = sum / (double)tokens;
    return !heed_failed(cx);
}

static bool measure_bleu(heed_ctx *cx, const heed_model *model, const heed_translation_set *set,
                         const heed_tokenizer *target, const heed_generate_opts *decode, const heed_bleu_opts *opts,
                         heed_bleu *bleu) {
    const heed_pairs *p = set->pairs;
    const heed_preprocessing as_is = {0};
    heed_translated found = {0};
    heed_string text = {0};
    heed_lines lines = {0};
    heed_ids *source = heed_mem_new(cx, (size_t)p->n * sizeof *source);
    for (int64_t i = 0; source && i < p->n; i++) source[i] = heed_pair_source(p, i);
    bool ok = source && heed_translate_ids(cx, model, source, p->n, decode, &found);
    for (int64_t i = 0; ok && i < p->n; i++)
        ok = heed_translation_text(cx, &as_is, target, &found.ids[i * found.n_best], true, &text) &&
             heed_string_put(cx, &text, "\n", 1);
    ok = ok && heed_lines_cut(cx, &text, &lines) && heed_bleu_corpus(cx, &lines, set->text, 1, opts, bleu);
    heed_lines_free(cx, &lines);
    heed_string_free(cx, &text);
    heed_translated_free(cx, &found);
    heed_mem_free(cx, source);
    return ok;
}

bool heed_translation_measure(heed_ctx *cx, const heed_model *model, const heed_translation_set *set,
                              const heed_tokenizer *target, const heed_generate_opts *decode,
                              const heed_bleu_opts *bleu, heed_score *score, heed_bleu *details) {
    heed_bleu found = {0};
    if (heed_failed(cx)) return false;
    if (!model || !set || !set->pairs || set->pairs->n < 1 || !set->text || set->text->count != set->pairs->n ||
        !target || !score)
        return heed_fail(cx, HEED_ERR_USAGE, "translation: a model, pairs with their text and a tokenizer are needed");
    if (!measure_loss(cx, model, set->pairs, &score->loss)) return false;
    if (!measure_bleu(cx, model, set, target, decode, bleu, &found)) return false;
    score->metric = found.score;
    if (details) *details = found;
    return true;
}

static bool measure(heed_ctx *cx, void *own, const heed_model *model, bool test, heed_score *score) {
    const heed_translation_opts *o = &((const heed_translation *)own)->opts;
    return heed_translation_measure(cx, model, test ? &o->test : &o->valid, o->target, NULL, &o->bleu, score, NULL);
}

/* ---- what a checkpoint must agree with ---- */

static void describe(char text[NOTES_DATA], const heed_pairs *p) {
    if (!p || *text) return;
    const uint64_t hash = notes_mix((uint64_t)p->n, p->start, (size_t)(2 * p->n + 1) * sizeof *p->start);
    notes_name_data(text, p->n, "pairs", notes_mix(hash, p->id, (size_t)p->start[2 * p->n] * sizeof *p->id));
}

static void settings(heed_ctx *cx, void *own, heed_json at) {
    heed_translation *t = own;
    const heed_translation_opts *o = &t->opts;
    describe(t->train, o->train.pairs);
    describe(t->valid, o->valid.pairs);
    notes_put_source(cx, at, t->train, t->valid, o->tokens, o->micro_tokens);
    if (o->merge_dropout > 0) notes_put_number(cx, at, "merge-dropout", o->merge_dropout);
}

/* ---- making ---- */

heed_translation *heed_translation_new(heed_ctx *cx, const heed_translation_opts *opts) {
    if (heed_failed(cx)) return NULL;
    if (!opts || !opts->train.pairs || opts->train.pairs->n < 1 || opts->tokens < 1 || opts->micro_tokens < 0) {
        heed_fail(cx, HEED_ERR_USAGE, "translation: pairs and a batch of at least one token are needed");
        return NULL;
    }
    heed_translation *t = heed_mem_new(cx, sizeof *t);
    if (!t) return NULL;
    *t = (heed_translation){.opts = *opts, .pairs = opts->train.pairs, .epoch = -1, .drawn_epoch = -1};
    if (heed_pairs_group(cx, opts->train.pairs, opts->tokens, opts->seed, &t->groups)) {
        t->tokens = heed_mem_new(cx, (size_t)t->groups.n * sizeof *t->tokens);
        t->order = heed_mem_new(cx, (size_t)t->groups.n * sizeof *t->order);
        make_room(cx, t);
    }
    if (heed_failed(cx)) {
        heed_translation_free(cx, t);
        return NULL;
    }
    int64_t passes = 1;
    for (int64_t g = 0; g < t->groups.n; g++) {
        const int64_t *start = t->groups.start + g;
        t->tokens[g] = tokens_of(opts->train.pairs, t->groups.pair + start[0], start[1] - start[0]);
        t->per_epoch += t->tokens[g];
        if (passes_of(t, g) > passes) passes = passes_of(t, g);
    }
    if (opts->merge_dropout > 0 && opts->micro_tokens > 0) passes = opts->train.pairs->n; /* whatever is drawn */
    t->source = (heed_loop_source){.own = t,
                                   .unit = "tokens",
                                   .metric = "bleu",
                                   .per_epoch = t->groups.n,
                                   .passes = passes,
                                   .valid = opts->valid.pairs != NULL,
                                   .test = opts->test.pairs != NULL,
                                   .n_plan = t->groups.n < MOST_PLANNED ? t->groups.n : MOST_PLANNED,
                                   .seen = seen,
                                   .seek = seek,
                                   .next = next,
                                   .feed = feed,
                                   .measure = measure,
                                   .settings = settings};
    if (draw_epoch(cx, t, 0)) return t; /* a plan, which has another context, goes by its lengths */
    heed_translation_free(cx, t);
    return NULL;
}

void heed_translation_free(heed_ctx *cx, heed_translation *t) {
    if (!t) return;
    heed_pair_groups_free(cx, &t->groups);
    heed_mem_free(cx, t->tokens);
    heed_mem_free(cx, t->order);
    heed_mem_free(cx, t->room);
    heed_pairs_free(cx, &t->drawn);
    heed_mem_free(cx, t);
}

const heed_loop_source *heed_translation_source(const heed_translation *t) { return t ? &t->source : NULL; }
