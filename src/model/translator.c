/* From text to text: the way is prepared, encoded, decoded in groups of like length, and turned back. */
#include "base/ctx.h"
#include "heed/translate.h"
#include "model/directory.h"
#include "model/seq2seq.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the way ---- */

bool heed_text_prepare(heed_ctx *cx, const heed_text_way *way, heed_text_side side, const char *text, size_t size,
                       heed_string *to) {
    if (heed_failed(cx)) return false;
    if (!way || !text || !to) return heed_fail(cx, HEED_ERR_USAGE, "text: a way, a text and a string are needed");
    const char *language = side == HEED_SOURCE ? way->from : way->to;
    if (!way->moses && !way->lower) return heed_string_put(cx, to, text, size);
    const heed_moses_opts opts = {.language = *language ? language : "en",
                                  .normalise = way->moses,
                                  .tokenise = way->moses,
                                  .lower = way->lower,
                                  .escape = way->moses};
    return heed_moses(cx, text, size, &opts, to);
}

bool heed_text_way_put(heed_ctx *cx, heed_json config, const heed_text_way *way) {
    const heed_json at = heed_json_put_object(cx, config, "translation");
    if (*way->from) heed_json_put_text(cx, at, "from", way->from);
    if (*way->to) heed_json_put_text(cx, at, "to", way->to);
    heed_json_put_bool(cx, at, "moses", way->moses);
    heed_json_put_bool(cx, at, "lower", way->lower);
    return !heed_failed(cx);
}

bool heed_text_way_get(heed_ctx *cx, heed_json config, heed_text_way *way) {
    *way = (heed_text_way){0};
    const heed_json at = heed_json_find(cx, config, "translation");
    if (heed_json_kind_of(at) == HEED_JSON_NONE) return !heed_failed(cx);
    snprintf(way->from, sizeof way->from, "%s", heed_json_text_or(cx, at, "from", ""));
    snprintf(way->to, sizeof way->to, "%s", heed_json_text_or(cx, at, "to", ""));
    way->moses = heed_json_bool_or(cx, at, "moses", false);
    way->lower = heed_json_bool_or(cx, at, "lower", false);
    return !heed_failed(cx);
}

/* ---- a directory ---- */

static bool covers(heed_ctx *cx, const char *dir, const heed_translator *t) {
    const heed_json config = heed_model_config(t->model);
    const int64_t size = heed_json_int(cx, config, "vocab_size"),
                  own = heed_json_int_or(cx, config, "decoder_vocab_size", 0);
    const int64_t most[2] = {size, own > 0 ? own : size};
    for (int i = 0; i < 2 && !heed_failed(cx); i++)
        if (heed_tokenizer_size(t->tokens[i]) > most[i])
            return heed_fail(cx, HEED_ERR_FORMAT, "%s: the tokenizer has %lld tokens, the model %lld", dir,
                             (long long)heed_tokenizer_size(t->tokens[i]), (long long)most[i]);
    return !heed_failed(cx);
}

heed_translator *heed_translator_open(heed_ctx *cx, const char *dir) {
    if (heed_failed(cx)) return NULL;
    heed_translator *t = heed_mem_new(cx, sizeof *t);
    if (!t) return NULL;
    *t = (heed_translator){.model = heed_model_load(cx, dir)};
    if (t->model && heed_model_family(t->model)->forward != seq2seq_forward)
        heed_fail(cx, HEED_ERR_USAGE, "%s: %s translates nothing: an encoder-decoder is needed", dir,
                  heed_model_family(t->model)->name);
    if (!heed_failed(cx) && directory_load_tokenizers(cx, dir, t->tokens) &&
        heed_text_way_get(cx, heed_model_config(t->model), &t->way) && covers(cx, dir, t))
        return t;
    heed_translator_free(cx, t);
    return NULL;
}

void heed_translator_free(heed_ctx *cx, heed_translator *t) {
    if (!t) return;
    directory_free_tokenizers(cx, t->tokens);
    heed_model_free(cx, t->model);
    heed_mem_free(cx, t);
}

int64_t heed_translator_positions(heed_ctx *cx, const heed_model *model) {
    return heed_json_int(cx, heed_model_config(model), "max_position_embeddings");
}

/* ---- decoding ---- */

#define AT_ONCE 256 /* sentences at a time */
#define LIKE    8   /* lengths that round up to the same multiple of this have the same limit, whoever else is there */

static int64_t like(int64_t length) { return (length + LIKE - 1) / LIKE * LIKE; }

struct sentence {
    int64_t length, index;
};

static int by_length(const void *a, const void *b) {
    const struct sentence *x = a, *y = b;
    if (x->length != y->length) return x->length < y->length ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

static bool keep(heed_ctx *cx, const heed_generated *g, const struct sentence *order, heed_translated *out) {
    for (int64_t i = 0; i < g->sentences * g->n_best && !heed_failed(cx); i++) {
        const heed_hypothesis *h = &g->best[i];
        const int64_t to = order[i / g->n_best].index * g->n_best + i % g->n_best;
        out->score[to] = h->score;
        out->ended[to] = h->ended;
        for (int64_t j = 0; j < h->length && heed_ids_put(cx, &out->ids[to], h->ids[j]);) j++;
    }
    return !heed_failed(cx);
}

static bool decode(heed_ctx *cx, const heed_model *model, const heed_ids *source, struct sentence *order, int64_t n,
                   const heed_generate_opts *opts, heed_translated *out) {
    const int64_t positions = heed_translator_positions(cx, model);
    heed_ids *some = heed_mem_new(cx, AT_ONCE * sizeof *some);
    int64_t number[AT_ONCE];
    for (int64_t from = 0, count; some && from < n && !heed_cancelled(cx); from += count) {
        const int64_t length = like(order[from].length);
        heed_generate_opts o = *opts;
        for (count = 0; count < AT_ONCE && from + count < n; count++) {
            if (opts->max_length == 0 && like(order[from + count].length) != length) break;
            some[count] = source[order[from + count].index];
            number[count] = opts->number ? opts->number[order[from + count].index] : order[from + count].index;
        }
        if (o.max_length == 0) o.max_length = 2 * length + 10;
        if (o.max_length > positions) o.max_length = positions;
        o.number = number;
        heed_generated *g = heed_generate(cx, model, some, count, &o);
        if (g) keep(cx, g, order + from, out);
        heed_mem_free(cx, g);
    }
    heed_mem_free(cx, some);
    return !heed_failed(cx);
}

bool heed_translate_ids(heed_ctx *cx, const heed_model *model, const heed_ids *source, int64_t n,
                        const heed_generate_opts *opts, heed_translated *out) {
    if (heed_failed(cx)) return false;
    if (!model || (!source && n > 0) || n < 0 || !out)
        return heed_fail(cx, HEED_ERR_USAGE, "translate: a model, sentences and a place for the result are needed");
    const heed_generate_opts greedy = {.beams = 1, .length_penalty = 1};
    if (!opts) opts = &greedy;
    const int64_t best = opts->n_best > 0 ? opts->n_best : 1;
    heed_translated t = {.n = n, .n_best = best};
    struct sentence *order = heed_mem_new(cx, ((size_t)n + 1) * sizeof *order);
    t.ids = heed_mem_new(cx, (size_t)(n * best + 1) * sizeof *t.ids);
    t.score = heed_mem_new(cx, (size_t)(n * best + 1) * sizeof *t.score);
    t.ended = heed_mem_new(cx, (size_t)(n * best + 1) * sizeof *t.ended);
    if (!heed_failed(cx)) {
        memset(t.ids, 0, (size_t)(n * best + 1) * sizeof *t.ids);
        for (int64_t i = 0; i < n * best; i++) t.score[i] = 0, t.ended[i] = true;
        int64_t real = 0;
        for (int64_t i = 0; i < n; i++)
            if (source[i].count > 0) order[real++] = (struct sentence){source[i].count, i};
        qsort(order, (size_t)real, sizeof *order, by_length);
        decode(cx, model, source, order, real, opts, &t);
    }
    heed_mem_free(cx, order);
    if (heed_failed(cx))
        heed_translated_free(cx, &t);
    else
        *out = t;
    return !heed_failed(cx);
}

void heed_translated_free(heed_ctx *cx, heed_translated *t) {
    if (!t) return;
    for (int64_t i = 0; t->ids && i < t->n * t->n_best; i++) heed_ids_free(cx, &t->ids[i]);
    heed_mem_free(cx, t->ids);
    heed_mem_free(cx, t->score);
    heed_mem_free(cx, t->ended);
    *t = (heed_translated){0};
}

bool heed_translation_text(heed_ctx *cx, const heed_text_way *way, const heed_tokenizer *tokens, const heed_ids *ids,
                           bool plain, heed_string *to) {
    if (heed_failed(cx)) return false;
    if (!way || !tokens || !ids || !to)
        return heed_fail(cx, HEED_ERR_USAGE, "translate: a way, a tokenizer, ids and a string are needed");
    if (plain || !way->moses) return heed_decode(cx, tokens, ids->id, ids->count, false, to);
    heed_string text = {0};
    if (heed_decode(cx, tokens, ids->id, ids->count, false, &text))
        heed_moses_detokenise(cx, text.s ? text.s : "", text.size, *way->to ? way->to : "en", to);
    heed_string_free(cx, &text);
    return !heed_failed(cx);
}
