/* How probable a model finds texts: encoding what is scored, and sums of log-probabilities over batches. */
#include "heed/generate.h"
#include "model/core/families.h"
#include "model/core/inputs.h"
#include "model/core/stepper.h"
#include "tensor/engine.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- encoding ---- */

void heed_score_item_free(heed_ctx *cx, heed_score_item *item) {
    if (!item) return;
    heed_ids_free(cx, &item->source);
    heed_ids_free(cx, &item->ids);
    *item = (heed_score_item){0};
}

static int64_t common_prefix(const heed_ids *a, const heed_ids *b) {
    int64_t n = 0;
    while (n < a->count && n < b->count && a->id[n] == b->id[n]) n++;
    return n;
}

/* Puts bos_token_id before the tokens, unless the tokenizer has. */
static bool put_bos(heed_ctx *cx, const heed_model *model, int64_t vocabulary, heed_ids *ids) {
    const heed_json config = heed_model_decoding(model);
    const heed_json at = heed_json_find(cx, config, "bos_token_id");
    if (heed_json_kind_of(at) != HEED_JSON_INT)
        return heed_fail(cx, HEED_ERR_USAGE, "score: the model's directory gives no bos_token_id");
    const int64_t bos = heed_json_int(cx, at, NULL);
    if (bos < 0 || bos >= vocabulary)
        return heed_json_fail(cx, at, "%lld is not below the vocabulary size, %lld", (long long)bos,
                              (long long)vocabulary);
    if (ids->count > 0 && ids->id[0] == bos) return true;
    if (!heed_ids_put(cx, ids, 0)) return false;
    memmove(ids->id + 1, ids->id, (size_t)(ids->count - 1) * sizeof *ids->id);
    ids->id[0] = (int32_t)bos;
    return true;
}

static bool check_length(heed_ctx *cx, const char *what, int64_t n, int64_t positions) {
    return n <= positions || heed_fail(cx, HEED_ERR_RANGE, "%s of %lld tokens: the model has positions for %lld", what,
                                       (long long)n, (long long)positions);
}

/* Of a decoder alone: prompt and text are one sequence. */
static bool encode_after(heed_ctx *cx, const heed_generator *g, const char *prompt, const char *text, bool bos,
                         heed_score_item *item) {
    const struct stepper_sizes sizes = stepper_of(cx, g->model, "score")->sizes(model_own(g->model));
    const size_t before = strlen(prompt), size = strlen(text);
    heed_string all = {0};
    heed_ids of_prompt = {0};
    bool ok = heed_string_put(cx, &all, prompt, before) && heed_string_put(cx, &all, text, size) &&
              heed_encode(cx, g->tokens[0], all.s, all.size, true, &item->ids) &&
              (before == 0 || heed_encode(cx, g->tokens[0], prompt, before, true, &of_prompt)) &&
              (!bos || (put_bos(cx, g->model, sizes.vocabulary, &item->ids) &&
                        (before == 0 || put_bos(cx, g->model, sizes.vocabulary, &of_prompt))));
    if (ok) {
        const int64_t shared = common_prefix(&of_prompt, &item->ids), n = item->ids.count;
        item->first = shared > 1 ? shared : 1;
        ok = check_length(cx, "a text", n, sizes.positions);
        if (ok && n <= item->first)
            ok = heed_fail(cx, HEED_ERR_FORMAT,
                           n == 1 && !bos ? "a text of 1 token: nothing comes before it%s"
                                          : "no token follows those of the prompt%s",
                           n == 1 && !bos ? ", so that it has no probability" : "");
    }
    heed_string_free(cx, &all);
    heed_ids_free(cx, &of_prompt);
    return ok;
}

/* Of an encoder-decoder: a source and a target, each with the special tokens of its tokenizer. */
static bool encode_target(heed_ctx *cx, const heed_generator *g, const char *prompt, const char *text,
                          heed_score_item *item) {
    const struct stepper_sizes sizes = stepper_of(cx, g->model, "score")->sizes(model_own(g->model));
    if (!*prompt)
        return heed_fail(cx, HEED_ERR_FORMAT, "an encoder-decoder scores a target after its source: both are needed");
    return heed_encode(cx, g->tokens[0], prompt, strlen(prompt), true, &item->source) &&
           heed_encode(cx, g->tokens[1], text, strlen(text), true, &item->ids) &&
           check_length(cx, "a source", item->source.count, sizes.source_positions) &&
           check_length(cx, "a target", item->ids.count, sizes.positions) &&
           (item->ids.count > 0 || heed_fail(cx, HEED_ERR_FORMAT, "a target of 0 tokens"));
}

bool heed_score_encode(heed_ctx *cx, const heed_generator *g, const char *prompt, const char *text, bool bos,
                       heed_score_item *item) {
    if (heed_failed(cx)) return false;
    if (!g || !text || !item) return heed_fail(cx, HEED_ERR_USAGE, "score: a generator, a text and an item are needed");
    *item = (heed_score_item){0};
    if (!prompt) prompt = "";
    if (!*text)
        heed_fail(cx, HEED_ERR_FORMAT, "the text to score is empty");
    else if (g->encodes)
        encode_target(cx, g, prompt, text, item);
    else
        encode_after(cx, g, prompt, text, bos, item);
    if (heed_failed(cx)) heed_score_item_free(cx, item);
    return !heed_failed(cx);
}

/* ---- scoring ---- */

#define LOGITS_AT_ONCE ((int64_t)1 << 24) /* numbers of a batch, which hold 64 MB; one item may need more */
#define ITEMS_AT_ONCE  64

struct place {
    int64_t length, source, index;
};

static int shorter(const void *a, const void *b) {
    const struct place *const x = a, *const y = b;
    if (x->length != y->length) return x->length < y->length ? -1 : 1;
    if (x->source != y->source) return x->source < y->source ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

struct rows {
    heed_tensor *ids, *mask;
};

/* The tokens of some items without the last `less`, padded: (n,T), and 1 where they are real. */
static struct rows padded_rows(heed_ctx *cx, const heed_ids *const *list, int64_t n, int64_t less, int32_t padding) {
    int64_t T = 1;
    for (int64_t i = 0; i < n; i++)
        if (list[i]->count - less > T) T = list[i]->count - less;
    const struct rows r = {heed_zeros(cx, HEED_I32, 2, (int64_t[]){n, T}),
                           heed_zeros(cx, HEED_I32, 2, (int64_t[]){n, T})};
    if (!r.ids || !r.mask || cx->config.dry) return r;
    for (int64_t i = 0; i < n; i++)
        for (int64_t t = 0; t < T; t++) {
            const bool real = t < list[i]->count - less;
            ((int32_t *)(void *)r.ids->data)[i * T + t] = real ? list[i]->id[t] : padding;
            ((int32_t *)(void *)r.mask->data)[i * T + t] = real;
        }
    return r;
}

/* logits (n,T,V) of what follows each token, and the tokens that do: (n,T), NO_LABEL where none is scored. */
static bool run_model(heed_ctx *cx, const heed_model *model, const heed_score_item *const *items, int64_t n,
                      bool encodes, heed_tensor **logits, heed_tensor **target) {
    const heed_ids *list[ITEMS_AT_ONCE], *source[ITEMS_AT_ONCE];
    heed_io in = {0}, out;
    for (int64_t i = 0; i < n; i++) list[i] = &items[i]->ids, source[i] = &items[i]->source;
    const struct rows rows = padded_rows(cx, encodes ? source : list, n, encodes ? 0 : 1, 0);
    *target = encodes ? padded_rows(cx, list, n, 0, NO_LABEL).ids
                      : heed_zeros(cx, HEED_I32, 2, rows.ids ? rows.ids->shape : (int64_t[]){1, 1});
    if (heed_failed(cx)) return false;
    const int64_t T = heed_dim(*target, 1);
    for (int64_t i = 0; i < n && !encodes && !cx->config.dry; i++)
        for (int64_t t = 0; t < T; t++)
            ((int32_t *)(void *)(*target)->data)[i * T + t] =
                t + 1 >= items[i]->first && t + 1 < list[i]->count ? list[i]->id[t + 1] : NO_LABEL;
    heed_io_put(cx, &in, "input_ids", rows.ids);
    if (encodes) heed_io_put(cx, &in, "attention_mask", rows.mask); /* what is causal does not see padding behind it */
    if (encodes) heed_io_put(cx, &in, "labels", *target);
    if (heed_failed(cx) || !heed_model_forward(cx, model, &in, &out)) return false;
    *logits = heed_io_get(&out, "logits");
    return *logits || heed_fail(cx, HEED_ERR_USAGE, "score: the model gives no logits");
}

static bool score_batch(heed_ctx *cx, const heed_model *model, const heed_score_item *const *items, int64_t n,
                        bool encodes, heed_likelihood *out) {
    heed_tensor *logits, *target, *loss = NULL;
    heed_scope_begin(cx);
    if (run_model(cx, model, items, n, encodes, &logits, &target))
        loss = heed_cross_entropy(
            cx, logits, target,
            &(heed_cross_entropy_opts){.ignore = true, .ignore_index = NO_LABEL, .reduction = HEED_REDUCE_NONE});
    const int64_t T = loss ? heed_dim(target, 1) : 0;
    for (int64_t i = 0; i < n; i++) {
        out[i] = (heed_likelihood){.tokens = items[i]->ids.count - items[i]->first};
        for (int64_t t = 0; t < T && !cx->config.dry; t++)
            if (heed_i32(target)[i * T + t] != NO_LABEL) out[i].log_probability -= (double)heed_f32(loss)[i * T + t];
        if (loss && isnan(out[i].log_probability)) heed_fail(cx, HEED_ERR_RANGE, "the model's output is not a number");
    }
    heed_scope_end(cx, NULL);
    return !heed_failed(cx);
}

static bool check_items(heed_ctx *cx, const struct heed_stepper *stepper, const struct stepper_sizes *sizes,
                        const heed_score_item *items, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        if (!stepper_check_ids(cx, "score: item", i, &items[i].ids, sizes->vocabulary, sizes->positions)) return false;
        if (stepper->encodes && !stepper_check_ids(cx, "score: source", i, &items[i].source, sizes->source_vocabulary,
                                                   sizes->source_positions))
            return false;
        if (items[i].first < !stepper->encodes || items[i].first >= items[i].ids.count)
            return heed_fail(cx, HEED_ERR_RANGE, "score: item %lld: token %lld of %lld cannot be the first one scored",
                             (long long)i, (long long)items[i].first, (long long)items[i].ids.count);
        if (stepper->encodes && items[i].first != 0)
            return heed_fail(cx, HEED_ERR_USAGE, "score: item %lld: all tokens of a target are scored", (long long)i);
    }
    return true;
}

/* Items in order of length, as many at once as their logits allow. */
static bool score_sorted(heed_ctx *cx, const heed_model *model, const heed_score_item *items, const struct place *order,
                         int64_t n, const struct heed_stepper *stepper, int64_t vocabulary, heed_likelihood *out) {
    const heed_score_item *batch[ITEMS_AT_ONCE];
    heed_likelihood found[ITEMS_AT_ONCE];
    for (int64_t at = 0; at < n && !heed_cancelled(cx);) {
        int64_t k = 0;
        while (at + k < n && k < ITEMS_AT_ONCE &&
               (k == 0 || (k + 1) * order[at + k].length <= LOGITS_AT_ONCE / vocabulary))
            batch[k] = &items[order[at + k].index], k++;
        if (!score_batch(cx, model, batch, k, stepper->encodes, found)) break;
        for (int64_t i = 0; i < k; i++) out[order[at + i].index] = found[i];
        at += k;
        heed_progress(cx, "texts", at, n);
    }
    return !heed_failed(cx);
}

bool heed_score_items(heed_ctx *cx, const heed_model *model, const heed_score_item *items, int64_t n,
                      heed_likelihood *out) {
    if (heed_failed(cx)) return false;
    if (!model || n < 0 || (n > 0 && (!items || !out)))
        return heed_fail(cx, HEED_ERR_USAGE, "score: a model, items and a place for their scores are needed");
    const struct heed_stepper *const stepper = stepper_of(cx, model, "score");
    if (!stepper) return false;
    const struct stepper_sizes sizes = stepper->sizes(model_own(model));
    struct place *order =
        check_items(cx, stepper, &sizes, items, n) ? heed_mem_new(cx, (size_t)(n ? n : 1) * sizeof *order) : NULL;
    if (!order) return false;
    for (int64_t i = 0; i < n; i++) order[i] = (struct place){items[i].ids.count, items[i].source.count, i};
    if (n > 0) qsort(order, (size_t)n, sizeof *order, shorter);
    const struct inference was = inference_begin(cx);
    const bool ok = score_sorted(cx, model, items, order, n, stepper, sizes.vocabulary, out);
    inference_end(was);
    heed_mem_free(cx, order);
    return ok;
}

bool heed_score_texts(heed_ctx *cx, const heed_generator *g, const char *const *prompts, const char *const *texts,
                      int64_t n, bool bos, heed_likelihood *out) {
    if (heed_failed(cx)) return false;
    if (!g || n < 0 || (n > 0 && (!texts || !out)))
        return heed_fail(cx, HEED_ERR_USAGE, "score: a generator, texts and a place for their scores are needed");
    heed_score_item *items = heed_mem_new(cx, (size_t)(n ? n : 1) * sizeof *items);
    if (!items) return false;
    memset(items, 0, (size_t)(n ? n : 1) * sizeof *items);
    for (int64_t i = 0; i < n; i++)
        if (!heed_score_encode(cx, g, prompts ? prompts[i] : NULL, texts[i], bos, &items[i])) {
            heed_fail_in(cx, "text %lld", (long long)i + 1);
            break;
        }
    const bool ok = heed_score_items(cx, g->model, items, n, out);
    for (int64_t i = 0; i < n; i++) heed_score_item_free(cx, &items[i]);
    heed_mem_free(cx, items);
    return ok;
}
