/* Decoding of many sequences: those of similar length make a batch, and all its beams are decoded together, token by
 * token, until every search is finished.
 *
 * Row a K + j of a step is beam j of the a-th unfinished search; the rows of the model's state follow them. A finished
 * search is replaced by the last one of the batch. */
#include "base/checked.h"
#include "base/thread_pool.h"
#include "decode/decoding.h"
#include "decode/session.h"
#include "kernel/elementwise.h"
#include "model/core/families.h"
#include "tensor/engine.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Limits of a batch, unless the caller gives its size: larger ones leave the cache of the CPU. */
#define BATCH_ROWS 120   /* beams */
#define BATCH_IDS  4096  /* tokens of sources or prompts */
#define BATCH_ROOM 16384 /* tokens that prompts may become: of the key-value cache */
#define MORE_ROOM  15    /* initial positions of a growing cache, beside the prompt */

struct item { /* a sentence, or one sample of it */
    int64_t length, index;
};

struct batch {
    heed_ctx *cx;
    const void *own; /* the model's */
    const struct heed_stepper *stepper;
    struct rules *rules;
    const heed_session *session; /* that the input follows; or NULL */
    const heed_ids *input;
    bool encodes; /* the input: sources, and not prompts */
    int64_t per_sentence;
    void *state;
    const heed_ids **source; /* (batch) */
    struct search *searches; /* (batch) */
    int64_t most;            /* how many */
    int32_t *place;          /* (batch) */
    int64_t *live;           /* (batch): the unfinished searches */
    int64_t n_live, rows;    /* rows of each: 1 in the first step, then the beams */
    /* (batch * beams) each, found times rules->width */
    int32_t *order, *counts;
    struct candidate *found;
    int64_t *count;
    struct search_work work;
    float *logits; /* (rows, V) of the current step */
    float *tops;   /* (batch * beams, topk_blocks(V)) */
};

/* ---- one step of all searches ---- */

static struct search *search_of(const struct batch *b, int64_t row) { return &b->searches[b->live[row / b->rows]]; }

static void choose_task(void *arg, int64_t row, void *scratch) {
    const struct batch *b = arg;
    const struct rules *r = b->rules;
    (void)scratch;
    b->count[row] = candidates_of(r, search_of(b, row), row % b->rows, b->logits + row * r->vocabulary,
                                  b->tops + row * topk_blocks(r->vocabulary), b->found + row * r->width);
}

/* Rows that the state cannot go on with are forgotten, to be decoded anew: those that slide, or cross a border. */
static bool forget_rows(const struct batch *b) {
    const struct rules *const r = b->rules;
    for (int64_t a = 0; a < b->n_live; a++) {
        struct search *const s = &b->searches[b->live[a]];
        const int64_t gone = rules_shift(r, s->kept, s->n);
        if (s->fed > 0 && !r->opts.uncached &&
            (gone != s->gone || stepper_crosses(b->stepper, b->own, s->fed, s->n - gone))) {
            for (int64_t j = 0; j < b->rows; j++) b->stepper->forget(b->state, a * b->rows + j);
            s->fed = 0;
        }
        s->gone = gone;
        if (r->opts.uncached) s->fed = 0;
    }
    return !r->opts.uncached || b->stepper->rewind(b->cx, b->state, b->n_live * b->rows);
}

/* What the model has not yet seen of every row, (R,T); counts where rows differ. */
static heed_tensor *new_tokens(const struct batch *b, const int32_t **counts) {
    const int64_t R = b->n_live * b->rows;
    int64_t T = 0;
    *counts = NULL;
    if (!forget_rows(b)) return NULL;
    for (int64_t row = 0; row < R; row++) {
        const struct search *s = search_of(b, row);
        b->counts[row] = (int32_t)(search_window(s) - s->fed);
        if (b->counts[row] > T) T = b->counts[row];
    }
    for (int64_t row = 0; row < R; row++)
        if (b->counts[row] != T) *counts = b->counts;
    heed_tensor *ids = heed_zeros(b->cx, HEED_I32, 2, (int64_t[]){R, T});
    for (int64_t row = 0; ids && row < R && !b->cx->config.dry; row++) {
        const struct search *s = search_of(b, row);
        int32_t *const to = (int32_t *)(void *)ids->data + row * T;
        for (int64_t t = 0; t < b->counts[row]; t++) to[t] = search_token(s, b->rules, row % b->rows, s->fed + t);
    }
    return ids;
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
    const int32_t *counts;
    heed_tensor *const ids = new_tokens(b, &counts);
    const heed_tensor *logits = ids ? b->stepper->step(cx, b->own, b->state, ids, counts) : NULL;
    if (logits && cx->config.dry) {
        plan_candidates(b, R);
    } else if (logits) {
        b->logits = (float *)(void *)logits->data;
        pool_run_if(!kernel_is_small(R * V), cx->pool, R, choose_task, b);
    }
    heed_scope_end(cx, NULL);
    for (int64_t row = 0; logits && row < R; row++)
        if (b->count[row] < 0)
            return heed_fail(cx, HEED_ERR_RANGE, "generate: %s %lld: the model's logits are not numbers",
                             b->encodes ? "sentence" : "prompt", (long long)search_of(b, row)->sentence);
    for (int64_t a = 0; a < b->n_live; a++) b->searches[b->live[a]].fed = search_window(&b->searches[b->live[a]]);
    return logits != NULL;
}

/* All searches take their next tokens; finished ones leave the batch, and the state's rows follow. */
static bool advance(struct batch *b) {
    const int64_t K = b->rules->opts.beams, was = b->n_live;
    int64_t n = 0;
    for (int64_t a = 0; a < was; a++) {
        struct search *s = &b->searches[b->live[a]];
        if (!search_advance(s, b->rules, b->found + a * b->rows * b->rules->width, b->count + a * b->rows, &b->work))
            b->live[a] = -1;
        if (b->live[a] < 0 && !telling_end(b->rules, s)) return false;
    }
    if (heed_failed(b->cx)) return false; /* decoding for stop texts */
    for (int64_t a = 0; a < b->n_live; a++, n++) {
        int64_t from = a;
        if (b->live[a] < 0) {
            while (b->n_live > a && b->live[b->n_live - 1] < 0) b->n_live--;
            if (b->n_live <= a) break;
            from = --b->n_live;
            b->live[a] = b->live[from];
        }
        for (int64_t j = 0; j < K; j++)
            b->order[a * K + j] = (int32_t)(from * b->rows + b->searches[b->live[a]].parent[j]);
    }
    b->n_live = n;
    b->rows = K;
    return b->stepper->reorder(b->cx, b->state, b->order, n * K, K);
}

/* ---- a batch ---- */

/* Of sample `index`, counted over the sentences: its own numbers, whoever else is decoded. */
static uint64_t stream_of(const heed_generate_opts *o, int64_t index) {
    if (!o->sample || !o->number) return (uint64_t)index;
    return (uint64_t)(o->number[index / o->n_best] * o->n_best + index % o->n_best);
}

/* What an item begins with: the tokens of the session, then its own. */
static heed_ids held_of(const struct batch *b, int64_t index) {
    if (!b->session) return (heed_ids){0};
    return b->session->ids[b->session->n == 1 ? 0 : index / b->per_sentence];
}

static heed_ids prompt_of(const struct batch *b, int64_t index) {
    const heed_ids *input = &b->input[index / b->per_sentence];
    if (!b->encodes && input->count > 0) return *input;
    return (heed_ids){.id = &b->rules->start, .count = 1};
}

/* The distinct sentences of a batch, in order: place[i] is that of item i, live their first searches. */
static int64_t distinct(struct batch *b, const struct item *items, int64_t n) {
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) {
        const int64_t sentence = items[i].index / b->per_sentence;
        if (i == 0 || sentence != items[i - 1].index / b->per_sentence) {
            b->source[count] = &b->input[sentence];
            b->order[count] = b->session && b->session->n > 1 ? (int32_t)sentence : 0;
            b->live[count++] = i;
        }
        b->place[i] = (int32_t)(count - 1);
    }
    return count;
}

/* Tokens that the model sees at a time, at the most. */
static int64_t window_room(const struct batch *b) {
    return b->rules->room < b->rules->positions ? b->rules->room : b->rules->positions;
}

static bool begin_state(struct batch *b, int64_t distinct, int64_t n) {
    const int64_t rows = n * b->rules->opts.beams;
    int64_t longest = 0;
    for (int64_t i = 0; i < n; i++)
        if (b->searches[i].prompt > longest) longest = b->searches[i].prompt;
    if (b->session) return b->stepper->copy(b->cx, b->session->state, b->state, b->order, distinct, rows);
    const int64_t most = window_room(b), room = longest + MORE_ROOM < most ? longest + MORE_ROOM : most;
    return b->stepper->begin(b->cx, b->own, b->state,
                             &(struct stepper_begin){b->encodes ? b->source : NULL, distinct, n, rows, room});
}

/* Samples of one sentence have its prompt in common, which is fed once but for its last token; then each has a row. */
static bool share_prompts(struct batch *b, int64_t distinct, int64_t n) {
    heed_ctx *const cx = b->cx;
    bool any = false, good = true;
    b->n_live = distinct;
    for (int64_t a = 0; a < distinct; a++) {
        struct search *const s = &b->searches[b->live[a]];
        any |= --s->n > s->fed;
    }
    if (any && !b->rules->opts.uncached) {
        const int32_t *counts;
        heed_scope_begin(cx);
        heed_tensor *const ids = new_tokens(b, &counts);
        good = ids && b->stepper->step(cx, b->own, b->state, ids, counts);
        heed_scope_end(cx, NULL);
    }
    for (int64_t i = 0; i < n; i++) {
        struct search *const s = &b->searches[i];
        s->n = s->prompt;
        s->fed = s->n - 1;
    }
    return good && b->stepper->reorder(cx, b->state, b->place, n, 1);
}

static bool begin(struct batch *b, const struct item *items, int64_t n) {
    const int64_t sentences = distinct(b, items, n);
    b->rows = 1;
    for (int64_t i = 0; i < n; i++) {
        struct search *const s = &b->searches[i];
        search_begin(s, items[i].index, stream_of(&b->rules->opts, items[i].index));
        search_prompt(s, b->rules, held_of(b, items[i].index));
        s->fed = s->n;
        search_prompt(s, b->rules, prompt_of(b, items[i].index));
        if (!telling_begin(b->rules, s, !b->stepper->encodes)) return false;
    }
    if (!begin_state(b, sentences, n) || (b->per_sentence > 1 && !share_prompts(b, sentences, n))) return false;
    b->n_live = n;
    for (int64_t i = 0; i < n; i++) b->live[i] = i;
    return true;
}

static bool run(struct batch *b, const struct item *items, int64_t n) {
    bool good = begin(b, items, n);
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
        to->best[at] = (heed_hypothesis){.score = e ? e->score : -INFINITY, .finish = HEED_FINISH_RULES};
        to->offset[at] = to->pool.count;
        if (!e) continue;
        to->best[at].finish = e->finish;
        to->best[at].ended = e->finish == HEED_FINISH_STOP;
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

/* ---- all sequences ---- */

static const char *what_of(const struct batch *b) { return b->encodes ? "generate: sentence" : "generate: prompt"; }

static bool check_input(const struct batch *b, int64_t n) {
    heed_ctx *const cx = b->cx;
    const struct stepper_sizes sizes = b->stepper->sizes(b->own);
    const int32_t start = b->rules->start;
    if (b->encodes && start < 0)
        return heed_fail(cx, HEED_ERR_USAGE,
                         "generate: the model's directory gives neither decoder_start_token_id nor bos_token_id");
    for (int64_t i = 0; i < n; i++) {
        if (b->encodes) {
            if (!stepper_check_ids(cx, what_of(b), i, &b->input[i], sizes.source_vocabulary, sizes.source_positions))
                return false;
        } else if (b->input[i].count != 0 || b->session) {
            if (!stepper_check_ids(cx, what_of(b), i, &b->input[i], sizes.vocabulary, sizes.positions)) return false;
        } else if (start < 0) {
            return heed_fail(cx, HEED_ERR_USAGE,
                             "generate: prompt %lld is empty, and the model's directory gives no bos_token_id",
                             (long long)i);
        }
    }
    return true;
}

/* Is there room for at least one token more? Sets the rules' room, too. */
static bool check_limits(const struct batch *b, int64_t n) {
    struct rules *const r = b->rules;
    for (int64_t i = 0; i < n; i++) {
        const int64_t index = i * b->per_sentence, prompt = held_of(b, index).count + prompt_of(b, index).count,
                      limit = rules_limit(r, prompt);
        if (limit <= prompt)
            return heed_fail(b->cx, HEED_ERR_RANGE, "%s %lld begins with %lld tokens: a maximum of %lld leaves no room",
                             what_of(b), (long long)i, (long long)prompt, (long long)limit);
        if (limit > r->most)
            return heed_fail(b->cx, HEED_ERR_RANGE,
                             "%s %lld begins with %lld tokens: with %lld new ones, the model's %lld positions are "
                             "too few",
                             what_of(b), (long long)i, (long long)prompt, (long long)(limit - prompt),
                             (long long)r->positions);
        if (prompt > r->positions)
            return heed_fail(b->cx, HEED_ERR_RANGE, "%s %lld begins with %lld tokens: the model has positions for %lld",
                             what_of(b), (long long)i, (long long)prompt, (long long)r->positions);
        if (limit > r->room) r->room = limit;
    }
    return true;
}

static int longest_first(const void *a, const void *b) {
    const struct item *x = a, *y = b;
    if (x->length != y->length) return x->length > y->length ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static struct item *items_new(const struct batch *b, int64_t n) {
    struct item *items = heed_mem_new(b->cx, (size_t)n * sizeof *items);
    for (int64_t i = 0; items && i < n; i++)
        items[i] = (struct item){b->encodes ? b->input[i / b->per_sentence].count : prompt_of(b, i).count, i};
    if (items) qsort(items, (size_t)n, sizeof *items, longest_first);
    return items;
}

static int64_t batch_of(const struct batch *b, const struct item *items, int64_t n) {
    const heed_generate_opts *o = &b->rules->opts;
    int64_t most = o->batch;
    if (most == 0) {
        const int64_t by_rows = BATCH_ROWS / o->beams, by_ids = BATCH_IDS / items[0].length,
                      by_room = b->encodes ? by_ids : BATCH_ROOM / (window_room(b) * o->beams);
        most = by_rows < by_ids ? by_rows : by_ids;
        if (by_room < most) most = by_room;
    }
    if (most < 1) most = 1;
    return most < n ? most : n;
}

static bool batch_room(struct batch *b, int64_t n) {
    heed_ctx *const cx = b->cx;
    const size_t K = (size_t)b->rules->opts.beams, rows = (size_t)n * K;
    b->searches = searches_new(cx, b->rules, n);
    b->most = n;
    b->live = heed_mem_new(cx, (size_t)n * sizeof *b->live);
    b->place = heed_mem_new(cx, (size_t)n * sizeof *b->place);
    b->source = heed_mem_new(cx, (size_t)n * sizeof *b->source);
    if ((b->state = heed_mem_new(cx, b->stepper->size))) memset(b->state, 0, b->stepper->size);
    b->counts = heed_mem_new(cx, rows * sizeof *b->counts);
    b->order = heed_mem_new(cx, rows * sizeof *b->order);
    b->found = heed_mem_new(cx, rows * (size_t)b->rules->width * sizeof *b->found);
    b->count = heed_mem_new(cx, rows * sizeof *b->count);
    b->tops = heed_mem_new(cx, rows * (size_t)topk_blocks(b->rules->vocabulary) * sizeof *b->tops);
    b->work.next = heed_mem_new(cx, K * sizeof *b->work.next);
    b->work.score = heed_mem_new(cx, K * sizeof *b->work.score);
    return !heed_failed(cx);
}

static void batch_free(struct batch *b) {
    for (int64_t i = 0; b->searches && i < b->most; i++) telling_free(b->rules, &b->searches[i]);
    if (b->state) b->stepper->end(b->cx, b->state);
    void *const all[] = {b->searches, b->place, b->live,  b->source, b->state,     b->counts,
                         b->order,    b->found, b->count, b->tops,   b->work.next, b->work.score};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) heed_mem_free(b->cx, all[i]);
}

static bool run_all(struct batch *b, const struct item *items, int64_t n, struct results *to) {
    int64_t most = 0; /* lengths fall, so that batches grow */
    for (int64_t at = 0, size; at < n; at += size)
        if ((size = batch_of(b, items + at, n - at)) > most) most = size;
    if (!batch_room(b, most)) return false;
    for (int64_t at = 0, size; at < n; at += size) {
        size = batch_of(b, items + at, n - at);
        if (!run(b, items + at, size)) return false;
        for (int64_t i = 0; i < size; i++)
            if (!collect(b->cx, to, b->rules, &b->searches[i])) return false;
        heed_progress(b->cx, b->encodes ? "sentences" : "prompts", (at + size) / b->per_sentence, n / b->per_sentence);
    }
    return true;
}

static heed_generated *generate(struct batch *b, int64_t n) {
    heed_ctx *const cx = b->cx;
    const int64_t n_best = b->rules->opts.n_best;
    int64_t all;
    if (!i64_mul(n, n_best, &all) || all > INT32_MAX) {
        heed_fail(cx, HEED_ERR_RANGE, "generate: %lld hypotheses of %lld sentences are too many", (long long)n_best,
                  (long long)n);
        return NULL;
    }
    b->per_sentence = b->rules->opts.sample ? n_best : 1;
    if (!check_input(b, n) || !check_limits(b, n)) return NULL;
    struct results to = {.best = heed_mem_new(cx, (size_t)all * sizeof *to.best),
                         .offset = heed_mem_new(cx, (size_t)all * sizeof *to.offset)};
    struct item *items = items_new(b, n * b->per_sentence);
    heed_generated *made = NULL;
    if (items && !heed_failed(cx) && run_all(b, items, n * b->per_sentence, &to)) made = pack(cx, &to, n, n_best);
    batch_free(b);
    heed_ids_free(cx, &to.pool);
    heed_mem_free(cx, to.best);
    heed_mem_free(cx, to.offset);
    heed_mem_free(cx, items);
    return made;
}

static heed_generated *decode(heed_ctx *cx, const heed_model *model, const heed_session *session, const heed_ids *input,
                              int64_t n, const heed_generate_opts *opts) {
    const struct heed_stepper *const stepper = stepper_of(cx, model, "generate");
    if (!stepper) return NULL;
    const struct stepper_sizes sizes = stepper->sizes(model_own(model));
    const struct inference was = inference_begin(cx);
    struct rules rules = {0};
    struct batch b = {.cx = cx,
                      .own = model_own(model),
                      .stepper = stepper,
                      .rules = &rules,
                      .session = session,
                      .input = input,
                      .encodes = stepper->encodes && !session};
    heed_generated *const made = rules_open(cx, model, opts, &sizes, &rules) ? generate(&b, n) : NULL;
    rules_close(cx, &rules);
    inference_end(was);
    return made;
}

heed_generated *heed_generate(heed_ctx *cx, const heed_model *model, const heed_ids *input, int64_t n,
                              const heed_generate_opts *opts) {
    if (heed_failed(cx)) return NULL;
    if (!model || n < 0 || (n > 0 && !input)) {
        heed_fail(cx, HEED_ERR_USAGE, "generate: the %s is NULL", model ? "input" : "model");
        return NULL;
    }
    return decode(cx, model, NULL, input, n, opts);
}

heed_generated *heed_generate_from(heed_ctx *cx, const heed_session *s, const heed_ids *input, int64_t n,
                                   const heed_generate_opts *opts) {
    if (!session_check(cx, s, "generate")) return NULL;
    if (n < 0 || (n > 0 && !input) || (s->n != 1 && s->n != n)) {
        heed_fail(cx, HEED_ERR_USAGE, "generate: %lld prompts do not fit a session of %lld sequences", (long long)n,
                  (long long)s->n);
        return NULL;
    }
    return decode(cx, s->model, s, input, n, opts);
}
