/* Decoding of encoder-decoders: sentences of similar length are encoded in a batch, then all their beams are decoded
 * together, token by token, until every search is finished.
 *
 * Row a K + j of a step is beam j of the a-th unfinished search. Keys and values of the target are cached per row and
 * reordered with the beams; those of the source are cached once per sentence, whose beams are queries of one cross
 * attention. A finished search is replaced by the last one of the batch. */
#include "base/checked.h"
#include "base/pool.h"
#include "kernel/elementwise.h"
#include "model/decoding.h"
#include "model/families.h"
#include "model/seq2seq.h"
#include "tensor/engine.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Limits of a batch, unless the caller gives its size: larger ones leave the cache of the CPU. */
#define BATCH_ROWS 120  /* beams */
#define BATCH_IDS  4096 /* source tokens */
#define SELF_ROOM  16   /* initial positions of the target's key-value cache */

struct item { /* a sentence, or one sample of it */
    int64_t length, index;
};

struct batch {
    heed_ctx *cx;
    const struct seq2seq *model;
    struct rules *rules;
    heed_cache *self, *cross; /* reused by the next batch while they are large enough: */
    int64_t sentences, span;  /* number of sentences and their maximum length */
    struct search *searches;  /* (batch) */
    int64_t *live;            /* (batch): the unfinished searches */
    int64_t n_live, rows;     /* rows of each: 1 in the first step, then the beams */
    int64_t length;           /* tokens of every row so far */
    /* (batch * beams) each, found times rules->width */
    int32_t *ids, *order;
    struct candidate *found;
    int64_t *count;
    struct search_work work;
    float *logits; /* (rows, V) of the current step */
    float *tops;   /* (batch * beams, topk_blocks(V)) */
};

/* ---- one step of the decoder ---- */

/* ids (R,T), the last T so far -> logits (R,V) of what follows them. */
static heed_tensor *decoder_step(const struct batch *b, heed_tensor *ids) {
    heed_ctx *const cx = b->cx;
    if (!ids) return NULL;
    heed_tensor *x = seq2seq_embed(cx, b->model, &b->model->target, ids, b->length - ids->shape[1]);
    x = heed_decoder_step(cx, &b->model->decoder, x, b->self, b->cross, NULL);
    if (!x) return NULL;
    const int64_t R = x->shape[0], T = x->shape[1], C = x->shape[2];
    if (T > 1) x = heed_slice(cx, x, 1, T - 1, 1);
    return seq2seq_logits(cx, b->model, heed_reshape(cx, heed_contiguous(cx, x), 2, (int64_t[]){R, C}));
}

/* ---- one step of all searches ---- */

static const int32_t *row_ids(const struct batch *b, int64_t row) {
    return b->searches[b->live[row / b->rows]].ids + row % b->rows * b->rules->opts.max_length;
}

static void choose_task(void *arg, int64_t row, void *scratch) {
    const struct batch *b = arg;
    const struct rules *r = b->rules;
    (void)scratch;
    b->count[row] =
        candidates_of(r, b->logits + row * r->vocabulary, b->tops + row * topk_blocks(r->vocabulary), row_ids(b, row),
                      b->length, b->searches[b->live[row / b->rows]].stream, b->found + row * r->width);
}

/* The last token of every row; without the cache, all of them. */
static heed_tensor *input_ids(const struct batch *b) {
    const int64_t R = b->n_live * b->rows, T = b->rules->opts.uncached ? b->length : 1;
    heed_tensor *ids = heed_zeros(b->cx, HEED_I32, 2, (int64_t[]){R, T});
    if (!ids) return NULL;
    for (int64_t row = 0; row < R && !b->cx->config.dry; row++)
        memcpy((int32_t *)(void *)ids->data + row * T, row_ids(b, row) + b->length - T, (size_t)T * sizeof(int32_t));
    if (!b->rules->opts.uncached) return ids;
    for (int64_t row = 0; row < R; row++) b->order[row] = (int32_t)row;
    heed_cache_reset(b->self);
    return heed_cache_reorder(b->cx, b->self, b->order, R) ? ids : NULL;
}

/* In a dry context there are no logits: no hypothesis ends before max_length, which takes the most memory. */
static void plan_candidates(const struct batch *b, int64_t rows) {
    const struct rules *r = b->rules;
    for (int64_t row = 0; row < rows; row++) {
        b->count[row] = 0;
        for (int32_t id = 0; id < r->vocabulary && b->count[row] < r->width; id++)
            if (!rules_is_eos(r, id)) b->found[row * r->width + b->count[row]++] = (struct candidate){id, -1};
    }
}

static bool choose(struct batch *b) {
    heed_ctx *const cx = b->cx;
    const int64_t R = b->n_live * b->rows, V = b->rules->vocabulary;
    heed_scope_begin(cx);
    const heed_tensor *logits = decoder_step(b, input_ids(b));
    if (logits && cx->config.dry) {
        plan_candidates(b, R);
    } else if (logits) {
        b->logits = (float *)(void *)logits->data;
        pool_run_if(!kernel_is_small(R * V), cx->pool, R, choose_task, b);
    }
    heed_scope_end(cx, NULL);
    for (int64_t row = 0; logits && row < R; row++)
        if (b->count[row] < 0)
            return heed_fail(cx, HEED_ERR_RANGE, "generate: sentence %lld: the model's logits are not numbers",
                             (long long)b->searches[b->live[row / b->rows]].sentence);
    return logits != NULL;
}

/* All searches take their next tokens; finished ones leave the batch, and the caches are reordered. */
static bool advance(struct batch *b) {
    const int64_t K = b->rules->opts.beams, was = b->n_live;
    int64_t n = 0;
    for (int64_t a = 0; a < was; a++) {
        struct search *s = &b->searches[b->live[a]];
        if (!search_advance(s, b->rules, b->length, b->found + a * b->rows * b->rules->width, b->count + a * b->rows,
                            &b->work))
            b->live[a] = -1;
    }
    if (heed_failed(b->cx)) return false;     /* decoding for stop texts */
    for (int64_t a = 0; a < b->n_live; a++) { /* b->ids: which sentences of the cross cache stay, and where */
        int64_t from = a;
        if (b->live[a] < 0) {
            while (b->n_live > a && b->live[b->n_live - 1] < 0) b->n_live--;
            if (b->n_live <= a) break;
            from = --b->n_live;
            b->live[a] = b->live[from];
        }
        b->ids[n++] = (int32_t)from;
        for (int64_t j = 0; j < K; j++)
            b->order[a * K + j] = (int32_t)(from * b->rows + b->searches[b->live[a]].parent[j]);
    }
    b->n_live = n;
    b->rows = K;
    b->length++;
    return heed_cache_reorder(b->cx, b->self, b->order, n * K) &&
           (n == was || heed_cache_reorder(b->cx, b->cross, b->ids, n));
}

/* ---- a batch ---- */

/* The source (B,S), padded, through the encoder into the cross cache. */
static bool encode(struct batch *b, const heed_ids *source, const struct item *items, int64_t n, int64_t per_sentence) {
    heed_ctx *const cx = b->cx;
    const struct seq2seq *m = b->model;
    const int64_t S = items[0].length; /* the longest comes first */
    heed_tensor *ids = heed_zeros(cx, HEED_I32, 2, (int64_t[]){n, S}), *lengths = heed_zeros(cx, HEED_I32, 1, &n);
    if (!ids || !lengths) return false;
    int32_t *to = (int32_t *)(void *)ids->data, *length = (int32_t *)(void *)lengths->data;
    for (int64_t i = 0; i < n && !cx->config.dry; i++, to += S) {
        const heed_ids *from = &source[items[i].index / per_sentence];
        memcpy(to, from->id, (size_t)from->count * sizeof *to);
        for (int64_t t = from->count; t < S; t++) to[t] = m->pad;
        length[i] = (int32_t)from->count;
    }
    const heed_mask seen = heed_mask_lengths(lengths, lengths); /* with both, no bit depends on the others' lengths */
    heed_tensor *memory = heed_encoder_run(cx, &m->encoder, seq2seq_embed(cx, m, &m->source, ids, 0), &seen);
    return heed_decoder_remember(cx, &m->decoder, memory, b->cross, cx->config.dry ? NULL : length);
}

static heed_cache *cache_for(const struct batch *b, int64_t sequences, heed_cache_kind kind, int64_t capacity) {
    const heed_multihead *a = &b->model->decoder.layer[0].self_attn;
    const int64_t D = a->width / a->heads;
    return heed_cache_new(b->cx, &(heed_cache_opts){.layers = b->model->decoder.layers,
                                                    .batch = sequences,
                                                    .kv_heads = a->heads,
                                                    .key_size = D,
                                                    .value_size = D,
                                                    .kind = kind,
                                                    .capacity = capacity});
}

static void drop_caches(struct batch *b) {
    heed_cache_free(b->cx, b->self);
    heed_cache_free(b->cx, b->cross);
    b->self = b->cross = NULL;
}

/* Empty caches for n sentences of at most `length` tokens: the last batch's, if these fit and are not far too long. */
static bool caches_for(struct batch *b, int64_t n, int64_t length) {
    const heed_generate_opts *o = &b->rules->opts;
    if (!b->self || n > b->sentences || length > b->span || 2 * length < b->span) {
        drop_caches(b);
        b->sentences = n, b->span = length;
        b->self = cache_for(b, n * o->beams, HEED_CACHE_GROWING, o->max_length < SELF_ROOM ? o->max_length : SELF_ROOM);
        b->cross = cache_for(b, n, HEED_CACHE_FIXED, length);
    }
    heed_cache_reset(b->self);
    heed_cache_reset(b->cross);
    for (int64_t i = 0; i < n; i++) b->order[i] = (int32_t)i;
    return heed_cache_reorder(b->cx, b->self, b->order, n) && heed_cache_reorder(b->cx, b->cross, b->order, n);
}

/* Of sample `index`, counted over the sentences: its own numbers, whoever else is decoded. */
static uint64_t stream_of(const heed_generate_opts *o, int64_t index) {
    if (!o->sample || !o->number) return (uint64_t)index;
    return (uint64_t)(o->number[index / o->n_best] * o->n_best + index % o->n_best);
}

static bool begin(struct batch *b, const heed_ids *source, const struct item *items, int64_t n) {
    heed_ctx *const cx = b->cx;
    const heed_generate_opts *o = &b->rules->opts;
    const int64_t per_sentence = o->sample ? o->n_best : 1;
    if (!caches_for(b, n, items[0].length)) return false;
    b->n_live = n, b->rows = 1, b->length = 1;
    for (int64_t i = 0; i < n; i++) {
        b->live[i] = i;
        search_begin(&b->searches[i], b->rules, items[i].index, stream_of(&b->rules->opts, items[i].index));
    }
    heed_scope_begin(cx);
    const bool good = encode(b, source, items, n, per_sentence);
    heed_scope_end(cx, NULL);
    return good;
}

static bool run(struct batch *b, const heed_ids *source, const struct item *items, int64_t n) {
    bool good = begin(b, source, items, n);
    while (good && b->n_live > 0) good = choose(b) && advance(b);
    return good;
}

/* ---- results ---- hypotheses point into `pool` by offset until all are there */

struct results {
    heed_ids pool;
    heed_hypothesis *best;
    int64_t *offset; /* (sentences n_best) */
};

static bool collect(heed_ctx *cx, struct results *to, const struct rules *rules, const struct search *s) {
    const int64_t n = rules->opts.sample ? 1 : rules->opts.n_best;
    for (int64_t i = 0; i < n; i++) {
        const int64_t at = s->sentence * n + i;
        const struct ended *e = i < s->n_ended ? &s->ended[i] : NULL;
        to->best[at] = (heed_hypothesis){.score = e ? e->score : -INFINITY};
        to->offset[at] = to->pool.count;
        if (!e) continue;
        to->best[at].ended = e->finished;
        to->best[at].length = e->length - e->at_eos;
        for (int64_t t = 0; t < to->best[at].length; t++)
            if (!heed_ids_put(cx, &to->pool, e->ids[t])) return false;
    }
    return true;
}

static heed_generated *pack(heed_ctx *cx, const struct results *from, int64_t sentences, int64_t n_best) {
    const size_t n = (size_t)(sentences * n_best), ids = (size_t)from->pool.count;
    heed_generated *g = heed_mem_new(cx, sizeof *g + n * sizeof *g->best + ids * sizeof(int32_t));
    if (!g) return NULL;
    *g = (heed_generated){sentences, n_best, (heed_hypothesis *)(g + 1)};
    int32_t *const pool = (int32_t *)(void *)(g->best + n);
    if (ids > 0) memcpy(pool, from->pool.id, ids * sizeof *pool);
    for (size_t i = 0; i < n; i++) {
        g->best[i] = from->best[i];
        g->best[i].ids = pool + from->offset[i];
    }
    return g;
}

/* ---- all sentences ---- */

static bool check_source(heed_ctx *cx, const struct seq2seq *m, const heed_ids *source, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        const heed_ids *s = &source[i];
        if (s->count < 1 || !s->id)
            return heed_fail(cx, HEED_ERR_USAGE, "generate: sentence %lld is empty", (long long)i);
        if (s->count > m->longest)
            return heed_fail(cx, HEED_ERR_RANGE,
                             "generate: sentence %lld has %lld tokens: the model has positions for %lld", (long long)i,
                             (long long)s->count, (long long)m->longest);
        for (int64_t t = 0; t < s->count; t++)
            if (s->id[t] < 0 || s->id[t] >= m->source_size)
                return heed_fail(
                    cx, HEED_ERR_RANGE,
                    "generate: sentence %lld: token %d at position %lld is not below the vocabulary size, %lld",
                    (long long)i, s->id[t], (long long)t, (long long)m->source_size);
    }
    return true;
}

static int longest_first(const void *a, const void *b) {
    const struct item *x = a, *y = b;
    if (x->length != y->length) return x->length > y->length ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static struct item *items_new(heed_ctx *cx, const heed_ids *source, int64_t n, int64_t per_sentence) {
    struct item *items = heed_mem_new(cx, (size_t)n * sizeof *items);
    for (int64_t i = 0; items && i < n; i++) items[i] = (struct item){source[i / per_sentence].count, i};
    if (items) qsort(items, (size_t)n, sizeof *items, longest_first);
    return items;
}

static int64_t batch_of(const heed_generate_opts *o, const struct item *items, int64_t n) {
    int64_t most = o->batch;
    if (most == 0) {
        const int64_t by_rows = BATCH_ROWS / o->beams, by_ids = BATCH_IDS / items[0].length;
        most = by_rows < by_ids ? by_rows : by_ids;
    }
    if (most < 1) most = 1;
    return most < n ? most : n;
}

static bool batch_room(struct batch *b, int64_t n) {
    heed_ctx *const cx = b->cx;
    const size_t K = (size_t)b->rules->opts.beams, rows = (size_t)n * K;
    b->searches = searches_new(cx, b->rules, n);
    b->live = heed_mem_new(cx, (size_t)n * sizeof *b->live);
    b->ids = heed_mem_new(cx, rows * sizeof *b->ids);
    b->order = heed_mem_new(cx, rows * sizeof *b->order);
    b->found = heed_mem_new(cx, rows * (size_t)b->rules->width * sizeof *b->found);
    b->count = heed_mem_new(cx, rows * sizeof *b->count);
    b->tops = heed_mem_new(cx, rows * (size_t)topk_blocks(b->rules->vocabulary) * sizeof *b->tops);
    b->work.next = heed_mem_new(cx, K * sizeof *b->work.next);
    b->work.score = heed_mem_new(cx, K * sizeof *b->work.score);
    return !heed_failed(cx);
}

static void batch_free(struct batch *b) {
    drop_caches(b);
    void *const all[] = {b->searches, b->live, b->ids,       b->order,     b->found,
                         b->count,    b->tops, b->work.next, b->work.score};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) heed_mem_free(b->cx, all[i]);
}

static bool run_all(struct batch *b, const heed_ids *source, const struct item *items, int64_t n, struct results *to) {
    heed_ctx *const cx = b->cx;
    const heed_generate_opts *o = &b->rules->opts;
    int64_t most = 0; /* lengths fall, so that batches grow */
    for (int64_t at = 0, size; at < n; at += size)
        if ((size = batch_of(o, items + at, n - at)) > most) most = size;
    if (!batch_room(b, most)) return false;
    for (int64_t at = 0, size; at < n; at += size) {
        size = batch_of(o, items + at, n - at);
        if (!run(b, source, items + at, size)) return false;
        for (int64_t i = 0; i < size; i++)
            if (!collect(cx, to, b->rules, &b->searches[i])) return false;
        heed_progress(cx, "sentences", (at + size) / (o->sample ? o->n_best : 1), n / (o->sample ? o->n_best : 1));
    }
    return true;
}

static heed_generated *generate(heed_ctx *cx, const struct seq2seq *m, struct rules *rules, const heed_ids *source,
                                int64_t n) {
    const int64_t n_best = rules->opts.n_best;
    int64_t all;
    if (!i64_mul(n, n_best, &all) || all > INT32_MAX) {
        heed_fail(cx, HEED_ERR_RANGE, "generate: %lld hypotheses of %lld sentences are too many", (long long)n_best,
                  (long long)n);
        return NULL;
    }
    struct batch b = {.cx = cx, .model = m, .rules = rules};
    struct results to = {.best = heed_mem_new(cx, (size_t)all * sizeof *to.best),
                         .offset = heed_mem_new(cx, (size_t)all * sizeof *to.offset)};
    const int64_t per_sentence = rules->opts.sample ? n_best : 1;
    struct item *items = items_new(cx, source, n * per_sentence, per_sentence);
    heed_generated *made = NULL;
    if (items && !heed_failed(cx) && run_all(&b, source, items, n * per_sentence, &to)) made = pack(cx, &to, n, n_best);
    batch_free(&b);
    heed_ids_free(cx, &to.pool);
    heed_mem_free(cx, to.best);
    heed_mem_free(cx, to.offset);
    heed_mem_free(cx, items);
    return made;
}

static bool check_call(heed_ctx *cx, const heed_model *model, const heed_ids *source, int64_t n) {
    if (!model || n < 0 || (n > 0 && !source))
        return heed_fail(cx, HEED_ERR_USAGE, "generate: the %s", !model ? "model is NULL" : "source is NULL");
    if (heed_model_head(model)->forward != seq2seq_forward)
        return heed_fail(cx, HEED_ERR_USAGE, "generate: %s is not an encoder-decoder", heed_model_family(model)->name);
    return true;
}

heed_generated *heed_generate(heed_ctx *cx, const heed_model *model, const heed_ids *source, int64_t n,
                              const heed_generate_opts *opts) {
    if (heed_failed(cx) || !check_call(cx, model, source, n)) return NULL;
    const struct seq2seq *m = model_own(model);
    struct engine *const e = engine_of(cx);
    if (!e) return NULL;
    struct rules rules = {.vocabulary = m->target_size};
    const bool recording = e->recording, training = e->training;
    e->recording = e->training = false;
    heed_generated *made = NULL;
    if (rules_open(cx, model, opts, m->longest, &rules) && check_source(cx, m, source, n))
        made = generate(cx, m, &rules, source, n);
    rules_close(cx, &rules);
    e->recording = recording, e->training = training; /* of a failed context too */
    return made;
}
