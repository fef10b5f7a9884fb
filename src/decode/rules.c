/* The rules of decoding: options with defaults filled in and checked, what the model's directory says, and stop texts.
 */
#include "decode/decoding.h"
#include "model/core/families.h"
#include "text/tokenizer/tokenizer.h"
#include <math.h>
#include <string.h>

#define TRANSFORMERS_TOP_K 50  /* its default when do_sample is true */
#define ANY_LENGTH         512 /* maximum length where neither the caller nor the model has one */

/* ---- options of the directory ---- */

static bool is_given(heed_ctx *cx, heed_json from, const char *key) {
    return heed_json_kind_of(heed_json_find(cx, from, key)) > HEED_JSON_NULL;
}

static void read_int(heed_ctx *cx, heed_json from, const char *key, int64_t *to) {
    if (is_given(cx, from, key)) *to = config_int(cx, from, key, 0, INT32_MAX);
}

static void read_number(heed_ctx *cx, heed_json from, const char *key, float *to) {
    if (is_given(cx, from, key)) *to = (float)heed_json_number(cx, from, key);
}

static void read_early_stopping(heed_ctx *cx, heed_json from, heed_early_stopping *to) {
    const heed_json at = heed_json_find(cx, from, "early_stopping");
    if (heed_json_kind_of(at) <= HEED_JSON_NULL) return;
    if (heed_json_kind_of(at) == HEED_JSON_TEXT && strcmp(heed_json_text(cx, at, NULL), "never") == 0)
        *to = HEED_STOP_NEVER_EARLY;
    else
        *to = heed_json_bool(cx, from, "early_stopping") ? HEED_STOP_EARLY : HEED_STOP_HEURISTIC;
}

/* Keys of transformers that change the tokens and that heed does not know, with the value that changes nothing. */
static void note_unknown(heed_ctx *cx, heed_json from) {
    static const struct {
        const char *key;
        double idle;
    } unknown[] = {{"encoder_repetition_penalty", 1},
                   {"encoder_no_repeat_ngram_size", 0},
                   {"num_beam_groups", 1},
                   {"diversity_penalty", 0},
                   {"penalty_alpha", 0},
                   {"guidance_scale", 1},
                   {"typical_p", 1},
                   {"epsilon_cutoff", 0},
                   {"eta_cutoff", 0},
                   {"top_h", -1},
                   {"sequence_bias", -1},
                   {"exponential_decay_length_penalty", -1},
                   {"forced_decoder_ids", -1},
                   {"watermarking_config", -1},
                   {"renormalize_logits", 0}};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        const heed_json at = heed_json_find(cx, from, unknown[i].key);
        const heed_json_kind kind = heed_json_kind_of(at);
        if (kind <= HEED_JSON_NULL) continue;
        if ((kind == HEED_JSON_INT || kind == HEED_JSON_REAL) && heed_json_number(cx, at, NULL) == unknown[i].idle)
            continue;
        if (kind == HEED_JSON_BOOL && !heed_json_bool(cx, at, NULL)) continue;
        heed_note(cx, HEED_LOG_WARN, "generate: '%s' of the model's directory is not supported and ignored",
                  unknown[i].key);
    }
}

/* As in transformers a minimum gives way to the maximum. */
static void give_way(heed_generate_opts *o) {
    if (o->max_new_tokens > 0 && o->min_new_tokens > o->max_new_tokens) o->min_new_tokens = o->max_new_tokens;
    if (o->max_new_tokens == 0 && o->max_length > 0 && o->min_length > o->max_length) o->min_length = o->max_length;
}

bool heed_generate_config(heed_ctx *cx, const heed_model *model, heed_generate_opts *opts) {
    if (heed_failed(cx)) return false;
    if (!model || !opts) return heed_fail(cx, HEED_ERR_USAGE, "generate: a model and options are needed");
    const heed_json from = heed_model_decoding(model);
    heed_generate_opts o = *opts;
    read_int(cx, from, "num_beams", &o.beams);
    read_int(cx, from, "num_return_sequences", &o.n_best);
    read_number(cx, from, "length_penalty", &o.length_penalty);
    read_early_stopping(cx, from, &o.early_stopping);
    read_int(cx, from, "max_length", &o.max_length);
    read_int(cx, from, "max_new_tokens", &o.max_new_tokens);
    if (!is_given(cx, from, "min_new_tokens")) read_int(cx, from, "min_length", &o.min_length); /* which it overrides */
    read_int(cx, from, "min_new_tokens", &o.min_new_tokens);
    give_way(&o);
    read_int(cx, from, "no_repeat_ngram_size", &o.no_repeat_ngram);
    read_number(cx, from, "repetition_penalty", &o.repetition_penalty);
    if (is_given(cx, from, "do_sample")) {
        o.sample = heed_json_bool(cx, from, "do_sample");
        if (o.sample) o.top_k = TRANSFORMERS_TOP_K;
    }
    read_number(cx, from, "temperature", &o.temperature);
    read_int(cx, from, "top_k", &o.top_k);
    read_number(cx, from, "top_p", &o.top_p);
    read_number(cx, from, "min_p", &o.min_p);
    note_unknown(cx, from);
    if (!heed_failed(cx)) *opts = o;
    return !heed_failed(cx);
}

/* ---- checks ---- */

static bool check_search(heed_ctx *cx, const heed_generate_opts *o, const struct rules *r) {
    if (o->beams < 1 || o->beams > r->vocabulary)
        return heed_fail(cx, HEED_ERR_RANGE,
                         "generate: a beam width of %lld is not between 1 and the vocabulary size, %lld",
                         (long long)o->beams, (long long)r->vocabulary);
    if (o->sample && o->beams > 1)
        return heed_fail(cx, HEED_ERR_USAGE, "generate: sampling needs a beam width of 1, not %lld",
                         (long long)o->beams);
    if (o->n_best < 1 || (!o->sample && o->n_best > o->beams))
        return heed_fail(cx, HEED_ERR_RANGE, "generate: n_best of %lld is not between 1 and the beam width, %lld",
                         (long long)o->n_best, (long long)o->beams);
    if (!isfinite(o->length_penalty) || fabsf(o->length_penalty) > 16)
        return heed_fail(cx, HEED_ERR_RANGE, "generate: a length penalty of %g is not between -16 and 16",
                         (double)o->length_penalty);
    if ((int)o->early_stopping < HEED_STOP_HEURISTIC || o->early_stopping > HEED_STOP_NEVER_EARLY)
        return heed_fail(cx, HEED_ERR_USAGE, "generate: %d is not a kind of early stopping", (int)o->early_stopping);
    if (o->on_text && !o->stop_tokens)
        return heed_fail(cx, HEED_ERR_USAGE, "generate: on_text needs stop_tokens, the tokenizer of the text");
    if ((o->on_token || o->on_text) && o->beams > 1)
        return heed_fail(cx, HEED_ERR_USAGE, "generate: streaming tokens needs a beam width of 1, not %lld",
                         (long long)o->beams);
    return true;
}

static bool check_lengths(heed_ctx *cx, const heed_generate_opts *o, int64_t positions) {
    if (o->max_new_tokens == 0 && (o->max_length < 2 || o->max_length > positions))
        return heed_fail(cx, HEED_ERR_RANGE,
                         "generate: a max_length of %lld is not between 2 and the model's %lld positions",
                         (long long)o->max_length, (long long)positions);
    if (o->max_new_tokens < 0 || (!o->fit && o->max_new_tokens >= positions))
        return heed_fail(cx, HEED_ERR_RANGE, "generate: %lld new tokens are not fewer than the model's %lld positions",
                         (long long)o->max_new_tokens, (long long)positions);
    if (o->min_length < 0 || (o->max_new_tokens == 0 && o->min_length > o->max_length))
        return heed_fail(cx, HEED_ERR_RANGE, "generate: a min_length of %lld is not between 0 and max_length, %lld",
                         (long long)o->min_length, (long long)o->max_length);
    if (o->min_new_tokens < 0 || (o->max_new_tokens > 0 && o->min_new_tokens > o->max_new_tokens))
        return heed_fail(cx, HEED_ERR_RANGE,
                         "generate: min_new_tokens of %lld is not between 0 and max_new_tokens, %lld",
                         (long long)o->min_new_tokens, (long long)o->max_new_tokens);
    return true;
}

static bool check_tokens(heed_ctx *cx, const heed_generate_opts *o) {
    if (o->no_repeat_ngram < 0 || o->top_k < 0 || o->batch < 0)
        return heed_fail(cx, HEED_ERR_RANGE, "generate: no_repeat_ngram %lld, top_k %lld or batch %lld is negative",
                         (long long)o->no_repeat_ngram, (long long)o->top_k, (long long)o->batch);
    if (!(o->repetition_penalty > 0) || !isfinite(o->repetition_penalty))
        return heed_fail(cx, HEED_ERR_RANGE, "generate: a repetition penalty of %g is not a positive number",
                         (double)o->repetition_penalty);
    if (!(o->temperature > 0) || !isfinite(o->temperature))
        return heed_fail(cx, HEED_ERR_RANGE, "generate: a temperature of %g is not a positive number",
                         (double)o->temperature);
    if (!(o->top_p > 0 && o->top_p <= 1))
        return heed_fail(cx, HEED_ERR_RANGE, "generate: a top_p of %g is not between 0 and 1", (double)o->top_p);
    if (!(o->min_p >= 0 && o->min_p <= 1))
        return heed_fail(cx, HEED_ERR_RANGE, "generate: a min_p of %g is not between 0 and 1", (double)o->min_p);
    if (o->n_stop < 0 || (o->n_stop > 0 && (!o->stop || !o->stop_tokens)))
        return heed_fail(cx, HEED_ERR_USAGE, "generate: stop texts need a tokenizer");
    for (int i = 0; i < o->n_stop; i++)
        if (!o->stop[i] || !*o->stop[i]) return heed_fail(cx, HEED_ERR_USAGE, "generate: a stop text is empty");
    return true;
}

/* Maximum lengths, and how far beyond the model's positions they may be. */
static void read_limits(const heed_model *model, struct rules *r) {
    heed_generate_opts *const o = &r->opts;
    r->slides = o->context_shift && o->beams == 1 && !heed_model_head(model)->stepper->encodes;
    r->most = r->slides ? UNLIMITED : r->positions;
    r->asked = o->max_length;
    if (o->fit && o->max_length > r->most) o->max_length = r->most;
    if (o->fit && o->max_new_tokens > UNLIMITED) o->max_new_tokens = UNLIMITED;
}

static void complete(heed_generate_opts *o, int64_t positions) {
    if (o->beams == 0) o->beams = 1;
    if (o->n_best == 0) o->n_best = 1;
    if (o->max_length == 0) o->max_length = positions < UNLIMITED ? positions : ANY_LENGTH;
    if (o->repetition_penalty == 0) o->repetition_penalty = 1;
    if (o->temperature == 0) o->temperature = 1;
    if (o->top_p == 0) o->top_p = 1;
}

/* ---- tokens of the directory ---- */

static int32_t token_of(heed_ctx *cx, heed_json at, int64_t vocabulary) {
    const int64_t id = heed_json_int(cx, at, NULL);
    if (!heed_failed(cx) && (id < 0 || id >= vocabulary))
        heed_json_fail(cx, at, "token %lld is not below the vocabulary size, %lld", (long long)id,
                       (long long)vocabulary);
    return heed_failed(cx) ? -1 : (int32_t)id;
}

/* A token or a list of them; null or missing: none. */
static bool read_tokens(heed_ctx *cx, heed_json from, const char *key, int64_t vocabulary, heed_ids *to) {
    const heed_json at = heed_json_find(cx, from, key);
    if (heed_json_kind_of(at) <= HEED_JSON_NULL) return !heed_failed(cx);
    if (heed_json_kind_of(at) != HEED_JSON_ARRAY) {
        const int32_t id = config_token(cx, from, key, vocabulary);
        return !heed_failed(cx) && heed_ids_put(cx, to, id);
    }
    for (heed_json t = heed_json_first(at); heed_json_kind_of(t) != HEED_JSON_NONE; t = heed_json_next(t)) {
        const int32_t id = token_of(cx, t, vocabulary);
        if (heed_failed(cx) || !heed_ids_put(cx, to, id)) return false;
    }
    return true;
}

bool rules_is_eos(const struct rules *r, int32_t id) {
    for (int64_t i = 0; i < r->eos.count; i++)
        if (r->eos.id[i] == id) return true;
    return false;
}

static bool end_word(heed_ctx *cx, struct rules *r) { return heed_ids_put(cx, &r->word_end, (int32_t)r->words.count); }

/* bad_words_ids; an end token alone is skipped, as in transformers. */
static bool read_words(heed_ctx *cx, heed_json list, struct rules *r) {
    for (heed_json w = heed_json_first(list); heed_json_kind_of(w) != HEED_JSON_NONE; w = heed_json_next(w)) {
        const int64_t begins = r->words.count;
        if (heed_json_kind_of(w) != HEED_JSON_ARRAY || heed_json_count(w) == 0)
            return heed_json_fail(cx, w, "expected a list of tokens");
        for (heed_json t = heed_json_first(w); heed_json_kind_of(t) != HEED_JSON_NONE; t = heed_json_next(t)) {
            const int32_t id = token_of(cx, t, r->vocabulary);
            if (heed_failed(cx) || !heed_ids_put(cx, &r->words, id)) return false;
        }
        if (r->words.count - begins == 1 && rules_is_eos(r, r->words.id[begins]))
            r->words.count = begins;
        else if (!end_word(cx, r))
            return false;
    }
    return true;
}

static bool read_suppressed(heed_ctx *cx, heed_json from, struct rules *r) {
    heed_ids ids = {0};
    bool ok = read_tokens(cx, from, "suppress_tokens", r->vocabulary, &ids) &&
              read_tokens(cx, from, "begin_suppress_tokens", r->vocabulary, &r->begin_suppressed);
    for (int64_t i = 0; ok && i < ids.count; i++) ok = heed_ids_put(cx, &r->words, ids.id[i]) && end_word(cx, r);
    heed_ids_free(cx, &ids);
    return ok;
}

static bool read_directory(heed_ctx *cx, heed_json from, struct rules *r) {
    const heed_json words = heed_json_find(cx, from, "bad_words_ids");
    const int32_t start = config_token(cx, from, "decoder_start_token_id", r->vocabulary),
                  bos = config_token(cx, from, "bos_token_id", r->vocabulary);
    r->start = start >= 0 ? start : bos;
    r->forced_first = config_token(cx, from, "forced_bos_token_id", r->vocabulary);
    r->forced_last = config_token(cx, from, "forced_eos_token_id", r->vocabulary);
    if (!read_tokens(cx, from, "eos_token_id", r->vocabulary, &r->eos)) return false;
    if (heed_json_kind_of(words) > HEED_JSON_NULL) {
        heed_json_array(cx, from, "bad_words_ids");
        if (heed_failed(cx) || !read_words(cx, words, r)) return false;
    }
    return read_suppressed(cx, from, r);
}

/* ---- rules ---- */

const char *heed_finish_name(heed_finish why) {
    static const char *const names[] = {"stop", "length", "context", "rules", "caller"};
    return (unsigned)why < sizeof names / sizeof *names ? names[why] : "";
}

bool rules_open(heed_ctx *cx, const heed_model *model, const heed_generate_opts *opts,
                const struct stepper_sizes *sizes, struct rules *r) {
    r->cx = cx;
    r->vocabulary = sizes->vocabulary;
    r->positions = sizes->positions;
    if (opts) {
        r->opts = *opts;
    } else {
        heed_generate_opts *const o = &r->opts;
        *o = (heed_generate_opts){.beams = 1, .length_penalty = 1, .fit = true};
        if (!heed_generate_config(cx, model, o)) return false;
    }
    read_limits(model, r);
    complete(&r->opts, r->positions);
    if (!check_search(cx, &r->opts, r) || !check_lengths(cx, &r->opts, r->most) || !check_tokens(cx, &r->opts) ||
        !read_directory(cx, heed_model_decoding(model), r))
        return false;
    const int64_t ends = r->eos.count > 1 ? r->eos.count : 1;
    r->width = r->opts.beams > 1 ? (1 + ends) * r->opts.beams : 1;
    return true;
}

int64_t rules_limit(const struct rules *r, int64_t prompt) {
    const int64_t limit = r->opts.max_new_tokens > 0 ? prompt + r->opts.max_new_tokens : r->opts.max_length;
    return r->opts.fit && limit > r->most ? r->most : limit;
}

heed_finish rules_limit_finish(const struct rules *r, int64_t prompt) {
    const int64_t asked = r->opts.max_new_tokens > 0 ? prompt + r->opts.max_new_tokens : r->asked;
    return asked > 0 && asked <= r->most ? HEED_FINISH_LENGTH : HEED_FINISH_CONTEXT;
}

/* A function of n alone, so that it does not matter when a sequence was computed. What is left are at least half of the
 * positions, which are computed anew; by fours, so that the voices of music keep their places. */
int64_t rules_shift(const struct rules *r, int64_t kept, int64_t n) {
    if (!r->slides || n <= r->positions) return 0;
    int64_t part = (r->positions - kept + 1) / 2;
    if (part > 4) part -= part % 4;
    return (n - r->positions + part - 1) / part * part;
}

void rules_close(heed_ctx *cx, struct rules *r) {
    heed_ids_free(cx, &r->eos);
    heed_ids_free(cx, &r->words);
    heed_ids_free(cx, &r->word_end);
    heed_ids_free(cx, &r->begin_suppressed);
    heed_string_free(cx, &r->text);
}

/* ---- stop texts ---- */

static size_t text_of(struct rules *r, const int32_t *ids, int64_t n) {
    r->text.size = 0;
    if (!heed_string_put(r->cx, &r->text, "", 0) || !heed_decode(r->cx, r->opts.stop_tokens, ids, n, false, &r->text))
        return 0;
    return r->text.size;
}

bool rules_stop_text(struct rules *r, const int32_t *ids, int64_t n) {
    if (r->opts.n_stop == 0 || heed_failed(r->cx)) return false;
    size_t longest = 0, before = 0;
    int64_t first = n;
    for (int i = 0; i < r->opts.n_stop; i++)
        if (strlen(r->opts.stop[i]) > longest) longest = strlen(r->opts.stop[i]);
    for (int64_t least = 8; first > 0 && before <= longest && !heed_failed(r->cx); least *= 2) { /* the end is enough */
        first = decode_from(r->opts.stop_tokens, ids, n, least);
        before = text_of(r, ids + first, n - 1 - first);
    }
    const size_t size = text_of(r, ids + first, n - first);
    for (int i = 0; i < r->opts.n_stop && !heed_failed(r->cx); i++) {
        const size_t length = strlen(r->opts.stop[i]), from = before + 1 > length ? before + 1 - length : 0;
        if (from < size && strstr(r->text.s + from, r->opts.stop[i])) return true;
    }
    return false;
}
