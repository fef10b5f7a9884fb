/* From text to text: preprocessing, encoding, decoding in buckets of equal length, and detokenising. */
#include "heed/translate.h"
#include "base/checked.h"
#include "base/profile.h"
#include "model/core/directory.h"
#include "model/core/families.h"
#include "model/core/stepper.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- preprocessing ---- */

bool heed_preprocess(heed_ctx *cx, const heed_preprocessing *prep, heed_text_side side, const char *text, size_t size,
                     heed_string *to) {
    if (heed_failed(cx)) return false;
    if (!prep || !text || !to)
        return heed_fail(cx, HEED_ERR_USAGE, "preprocess: preprocessing, a text and a string are needed");
    const char *language = side == HEED_SOURCE ? prep->from : prep->to;
    if (!prep->moses && !prep->lower) return heed_string_put(cx, to, text, size);
    const heed_moses_opts opts = {.language = *language ? language : "en",
                                  .normalise = prep->moses,
                                  .tokenise = prep->moses,
                                  .lower = prep->lower,
                                  .escape = prep->moses};
    return heed_moses(cx, text, size, &opts, to);
}

bool heed_preprocessing_put(heed_ctx *cx, heed_json config, const heed_preprocessing *prep) {
    if (heed_failed(cx)) return false;
    if (!prep) return heed_fail(cx, HEED_ERR_USAGE, "preprocessing: there is none to write");
    const heed_json at = heed_json_put_object(cx, config, "translation");
    if (*prep->from) heed_json_put_text(cx, at, "from", prep->from);
    if (*prep->to) heed_json_put_text(cx, at, "to", prep->to);
    heed_json_put_bool(cx, at, "moses", prep->moses);
    heed_json_put_bool(cx, at, "lower", prep->lower);
    return !heed_failed(cx);
}

bool heed_preprocessing_get(heed_ctx *cx, heed_json config, heed_preprocessing *prep) {
    if (heed_failed(cx)) return false;
    if (!prep) return heed_fail(cx, HEED_ERR_USAGE, "preprocessing: a place for it is needed");
    *prep = (heed_preprocessing){0};
    const heed_json at = heed_json_find(cx, config, "translation");
    if (heed_json_kind_of(at) == HEED_JSON_NONE) return !heed_failed(cx);
    const char *const from = heed_json_text_or(cx, at, "from", ""), *const to = heed_json_text_or(cx, at, "to", "");
    if (heed_failed(cx)) return false;
    snprintf(prep->from, sizeof prep->from, "%s", from);
    snprintf(prep->to, sizeof prep->to, "%s", to);
    prep->moses = heed_json_bool_or(cx, at, "moses", false);
    prep->lower = heed_json_bool_or(cx, at, "lower", false);
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

/* verb: what it is for, where the model cannot do it */
static heed_translator *open_for(heed_ctx *cx, const char *dir, const char *verb) {
    if (heed_failed(cx)) return NULL;
    heed_translator *t = heed_mem_new(cx, sizeof *t);
    if (!t) return NULL;
    *t = (heed_translator){.model = heed_model_load_as(cx, dir, &(heed_load_opts){.map = true, .pack = true})};
    if (t->model && !(heed_model_head(t->model)->stepper && heed_model_head(t->model)->stepper->encodes))
        heed_fail(cx, HEED_ERR_USAGE, "%s: %s cannot %s: an encoder-decoder is needed", dir,
                  heed_model_family(t->model)->name, verb);
    if (!heed_failed(cx) && directory_load_tokenizers(cx, dir, t->tokens) &&
        heed_preprocessing_get(cx, heed_model_config(t->model), &t->preprocessing) && covers(cx, dir, t))
        return t;
    heed_translator_free(cx, t);
    return NULL;
}

heed_translator *heed_translator_open(heed_ctx *cx, const char *dir) { return open_for(cx, dir, "translate"); }

/* task_specific_params.summarization of config.json, as transformers' T5 and BART have it; or of kind NONE. */
static heed_json summarization_of(heed_ctx *cx, const heed_model *model) {
    const heed_json all = heed_json_find(cx, heed_model_config(model), "task_specific_params");
    const heed_json one =
        heed_json_kind_of(all) == HEED_JSON_OBJECT ? heed_json_find(cx, all, "summarization") : (heed_json){0};
    return heed_json_kind_of(one) == HEED_JSON_OBJECT ? one : (heed_json){0};
}

/* Its options of decoding go before those of the directory, as in transformers' pipeline. */
static bool take_decoding(heed_ctx *cx, const heed_model *model) {
    static const char *const keys[] = {"num_beams",      "max_length",           "min_length",
                                       "length_penalty", "no_repeat_ngram_size", "early_stopping"};
    const heed_json to = heed_model_decoding(model);
    for (size_t i = 0; i < sizeof keys / sizeof *keys && !heed_failed(cx); i++) {
        const heed_json from = summarization_of(cx, model);
        const heed_json at =
            heed_json_kind_of(from) == HEED_JSON_OBJECT ? heed_json_find(cx, from, keys[i]) : (heed_json){0};
        switch (heed_json_kind_of(at)) {
        case HEED_JSON_NONE:
        case HEED_JSON_NULL:
            break;
        case HEED_JSON_BOOL:
            heed_json_put_bool(cx, to, keys[i], heed_json_bool(cx, at, NULL));
            break;
        case HEED_JSON_INT:
            heed_json_put_int(cx, to, keys[i], heed_json_int(cx, at, NULL));
            break;
        case HEED_JSON_TEXT:
            heed_json_put_text(cx, to, keys[i], heed_json_text(cx, at, NULL));
            break;
        default: {
            const double value = heed_json_number(cx, at, NULL); /* fails where it is none */
            if (!heed_failed(cx)) heed_json_put_number(cx, to, keys[i], value);
        }
        }
    }
    return !heed_failed(cx);
}

heed_translator *heed_summarizer_open(heed_ctx *cx, const char *dir) {
    heed_translator *const t = open_for(cx, dir, "summarize");
    if (!t) return NULL;
    t->prefix = heed_text_prefix(cx, t->model);
    if (take_decoding(cx, t->model)) return t;
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
    if (!heed_failed(cx) && !model) heed_fail(cx, HEED_ERR_USAGE, "translate: the model is NULL");
    const struct heed_stepper *const stepper = heed_failed(cx) ? NULL : stepper_of(cx, model, "translate");
    return stepper ? stepper->sizes(model_own(model)).source_positions : 0;
}

static bool is_blank(const char *text, size_t size) {
    size_t n = 0;
    while (n < size && strchr(" \t\r\n", text[n]) && text[n]) n++;
    return n == size;
}

bool heed_translator_encode(heed_ctx *cx, const heed_translator *t, const char *text, size_t size, heed_ids *ids) {
    if (heed_failed(cx)) return false;
    if (!t || !text || !ids) return heed_fail(cx, HEED_ERR_USAGE, "translate: a translator, a text and ids are needed");
    const int64_t before = ids->count, positions = heed_translator_positions(cx, t->model);
    if (is_blank(text, size)) return !heed_failed(cx);
    heed_string prepared = {0};
    if ((!t->prefix || heed_string_put(cx, &prepared, t->prefix, strlen(t->prefix))) &&
        heed_preprocess(cx, &t->preprocessing, HEED_SOURCE, text, size, &prepared) &&
        heed_encode(cx, t->tokens[0], prepared.s, prepared.size, true, ids) && ids->count - before > positions)
        heed_fail(cx, HEED_ERR_RANGE, "a sentence of %lld tokens: the model has positions for %lld",
                  (long long)(ids->count - before), (long long)positions);
    if (heed_failed(cx)) ids->count = before;
    heed_string_free(cx, &prepared);
    return !heed_failed(cx);
}

/* ---- prefixes ---- in config.json as transformers' T5 has them */

const char *heed_text_prefix(heed_ctx *cx, const heed_model *model) {
    const heed_json one = summarization_of(cx, model);
    return heed_json_kind_of(one) == HEED_JSON_OBJECT ? heed_json_text_or(cx, one, "prefix", "") : "";
}

bool heed_text_prefix_put(heed_ctx *cx, heed_model *model, const char *prefix) {
    const heed_json config = heed_model_config(model), all = heed_json_find(cx, config, "task_specific_params");
    const heed_json at =
        heed_json_kind_of(all) == HEED_JSON_OBJECT ? all : heed_json_put_object(cx, config, "task_specific_params");
    const heed_json was = heed_json_find(cx, at, "summarization");
    return heed_json_put_text(
        cx, heed_json_kind_of(was) == HEED_JSON_OBJECT ? was : heed_json_put_object(cx, at, "summarization"), "prefix",
        prefix);
}

/* ---- decoding ---- */

#define AT_ONCE 256 /* sentences at a time */
#define BUCKET  8   /* lengths that round up to the same multiple of this have the same limit, whoever else is there */

static int64_t bucket_of(int64_t length) { return (length + BUCKET - 1) / BUCKET * BUCKET; }

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

/* Tokens of a bucket's sequences under the numbers that the caller knows. */
struct bucket_stream {
    const heed_generate_opts *opts;
    const struct sentence *order;
    int64_t n_best;
};

static bool tell(void *user, int64_t sequence, int32_t token) {
    const struct bucket_stream *s = user;
    const int64_t to = s->order[sequence / s->n_best].index * s->n_best + sequence % s->n_best;
    return s->opts->on_token(s->opts->user, to, token);
}

static bool decode(heed_ctx *cx, const heed_model *model, const heed_ids *source, struct sentence *order, int64_t n,
                   const heed_generate_opts *opts, heed_translated *out) {
    const bool limited = opts->max_length > 0 || opts->max_new_tokens > 0;
    heed_ids *some = heed_mem_new(cx, AT_ONCE * sizeof *some);
    int64_t number[AT_ONCE];
    for (int64_t from = 0, count; some && from < n && !heed_cancelled(cx); from += count) {
        const int64_t length = bucket_of(order[from].length);
        heed_generate_opts o = *opts;
        for (count = 0; count < AT_ONCE && from + count < n; count++) {
            if (!limited && bucket_of(order[from + count].length) != length) break;
            some[count] = source[order[from + count].index];
            number[count] = opts->number ? opts->number[order[from + count].index] : order[from + count].index;
        }
        if (!limited) o.max_length = 2 * length + 10;
        o.fit = true;
        o.number = number;
        struct bucket_stream stream = {opts, order + from, out->n_best};
        if (opts->on_token) o.on_token = tell, o.user = &stream;
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
    heed_generate_opts own = {.beams = 1, .length_penalty = 1};
    if (!opts && !heed_generate_config(cx, model, &own)) return false;
    if (!opts) opts = &own;
    const int64_t best = opts->n_best > 0 ? opts->n_best : 1;
    int64_t all;
    if (!i64_mul(n, best, &all) || all >= INT32_MAX)
        return heed_fail(cx, HEED_ERR_RANGE, "translate: %lld hypotheses of %lld sentences are too many",
                         (long long)best, (long long)n);
    heed_translated t = {.n = n, .n_best = best};
    struct sentence *order = heed_mem_new(cx, ((size_t)n + 1) * sizeof *order);
    t.ids = heed_mem_new(cx, ((size_t)all + 1) * sizeof *t.ids);
    if (t.ids) memset(t.ids, 0, ((size_t)all + 1) * sizeof *t.ids); /* before anything else can fail */
    t.score = heed_mem_new(cx, ((size_t)all + 1) * sizeof *t.score);
    t.ended = heed_mem_new(cx, ((size_t)all + 1) * sizeof *t.ended);
    if (!heed_failed(cx)) {
        for (int64_t i = 0; i < all; i++) t.score[i] = 0, t.ended[i] = true;
        int64_t real = 0;
        for (int64_t i = 0; i < n; i++)
            if (source[i].count > 0) order[real++] = (struct sentence){source[i].count, i};
        qsort(order, (size_t)real, sizeof *order, by_length);
        const struct profile_mark mark = profile_begin(cx);
        decode(cx, model, source, order, real, opts, &t);
        profile_end(cx, mark, "search", PROFILE_FORWARD);
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

bool heed_translation_text(heed_ctx *cx, const heed_preprocessing *prep, const heed_tokenizer *tokens,
                           const heed_ids *ids, bool plain, heed_string *to) {
    if (heed_failed(cx)) return false;
    if (!prep || !tokens || !ids || !to)
        return heed_fail(cx, HEED_ERR_USAGE, "translate: preprocessing, a tokenizer, ids and a string are needed");
    if (plain || !prep->moses) return heed_decode(cx, tokens, ids->id, ids->count, false, to);
    heed_string text = {0};
    if (heed_decode(cx, tokens, ids->id, ids->count, false, &text))
        heed_moses_detokenise(cx, text.s ? text.s : "", text.size, *prep->to ? prep->to : "en", to);
    heed_string_free(cx, &text);
    return !heed_failed(cx);
}

/* ---- all of it ---- */

bool heed_translate_text(heed_ctx *cx, const heed_translator *t, const char *text, const heed_generate_opts *opts,
                         heed_string *to) {
    if (heed_failed(cx)) return false;
    if (!t || !text || !to)
        return heed_fail(cx, HEED_ERR_USAGE, "translate: a translator, a text and a string are needed");
    if (opts && opts->n_best > 1)
        return heed_fail(cx, HEED_ERR_USAGE, "translate: a text has one translation, not the %lld best",
                         (long long)opts->n_best);
    const size_t before = to->size;
    heed_ids source = {0};
    heed_translated found = {0};
    if (heed_translator_encode(cx, t, text, strlen(text), &source) &&
        heed_translate_ids(cx, t->model, &source, 1, opts, &found) && heed_string_put(cx, to, "", 0) &&
        !heed_translation_text(cx, &t->preprocessing, t->tokens[1], &found.ids[0], false, to))
        to->s[to->size = before] = 0;
    heed_translated_free(cx, &found);
    heed_ids_free(cx, &source);
    return !heed_failed(cx);
}
