/* The attention of models of text and of rows of numbers: encode, translate where the model has a target, and name the
 * maps. A head of vectors names its keys. Of the sites that a pass captures "cross" is attention from the target to the
 * source and "decoder" within the target; a model without a target attends within its one text. Where a map has other
 * sizes than the input, as when a model pools tokens on the way, its queries and keys are numbered. */
#include "base/text.h"
#include "inspect/attended.h"
#include "io/text.h"
#include "model/core/families.h"
#include <stdio.h>
#include <string.h>

#define BEAMS 5

/* ---- text ---- */

static bool read_text(heed_ctx *cx, const char *what, const char *text, heed_string *to) {
    if (!heed_string_put(cx, to, text, strlen(text))) return false;
    const size_t bad = utf8_bad(to->s, to->size);
    if (bad != to->size)
        return heed_fail(cx, HEED_ERR_FORMAT, "attend: the %s is not UTF-8 at byte %zu", what, bad + 1);
    if (to->s[strspn(to->s, " \t\r\n\v\f")] == 0)
        return heed_fail(cx, HEED_ERR_FORMAT, "attend: the %s is empty", what);
    return true;
}

/* ---- names ---- */

static int64_t setting(const struct attended *a, const char *key) {
    return heed_json_int_or(a->cx, heed_model_config(a->model), key, 0);
}

static const char *token_of(const struct attended_text *t, int64_t i) {
    const char *token = heed_tokenizer_token(t->tokenizer, t->ids.id[i]);
    return token ? token : "?";
}

/* The room that text_printable needs for all of a text. */
static size_t printable_room(const char *text) { return 4 * strlen(text) + 8; }

static char *put_printable(char *to, const char *text) {
    return to + text_printable(to, printable_room(text), text, strlen(text)) + 1;
}

/* A token without the entities of Moses. Returns the end of what was written. */
static char *put_token(char *to, const char *token, bool moses) {
    static const char *const entity[] = {"&apos;", "&quot;", "&amp;", "&lt;", "&gt;", "&#124;", "&#91;", "&#93;"};
    while (*token) {
        int k = 0;
        while (moses && k < 8 && strncmp(token, entity[k], strlen(entity[k])) != 0) k++;
        const bool found = moses && k < 8;
        *to++ = found ? "'\"&<>|[]"[k] : *token;
        token += found ? strlen(entity[k]) : 1;
    }
    *to++ = 0;
    return to;
}

/* Marks of the beginning of a word: SentencePiece's, and byte-level BPE's, whose blank is U+0120. */
static size_t mark_of(const char *token) {
    static const char *const marks[] = {"\u2581", "\u0120"};
    for (int i = 0; i < 2; i++)
        if (strncmp(token, marks[i], strlen(marks[i])) == 0) return strlen(marks[i]);
    return 0;
}

/* What classifiers read the state of, the first token. */
static bool is_class(const char *token) { return strcmp(token, "[CLS]") == 0 || strcmp(token, "<s>") == 0; }

/* Every id must be one of the model's own `size` tokens; 0: its config does not say how many there are. */
static bool name_tokens(struct attended *a, struct attended_text *t, const char *what, int64_t size) {
    const int64_t n = t->ids.count;
    size_t letters = 0;
    for (int64_t i = 0; i < n; i++) letters += strlen(token_of(t, i)) + 1 + printable_room(token_of(t, i));
    struct side *const side = t->side = side_new(a);
    if (!side) return false;
    side->names = heed_mem_new(a->cx, 2 * (size_t)n * sizeof *side->names);
    char *to = side->letters = heed_mem_new(a->cx, letters + 1);
    if (!side->names || !to) return false;
    for (int64_t i = 0; i < n; i++) {
        const int32_t id = t->ids.id[i];
        const char *token = token_of(t, i);
        if (size > 0 && id >= size)
            return heed_fail(a->cx, HEED_ERR_FORMAT,
                             "attend: the tokenizer gives '%s' the id %d, the model has %lld tokens", escaped(token).s,
                             (int)id, (long long)size);
        side->names[i] = to;
        to = put_token(to, token, a->preprocessing.moses);
        const size_t skip = mark_of(side->names[i]);
        side->names[n + i] = to;
        to = put_printable(to, skip && !side->names[i][skip] ? "\u2423" : side->names[i] + skip); /* a blank */
    }
    side->axis = (heed_axis){.what = what,
                             .n = n,
                             .tokens = side->names,
                             .labels = side->names + n,
                             .has_class = !a->has_target && is_class(side->names[0])};
    return true;
}

/* ---- the input ---- */

static bool fill_ids(heed_ctx *cx, const heed_encoding *e, heed_ids *ids, heed_ids *types) {
    bool ok = true;
    for (int64_t i = 0; ok && i < e->count; i++)
        ok = heed_ids_put(cx, ids, e->token[i].id) && (!types || heed_ids_put(cx, types, e->token[i].type));
    return ok;
}

/* The text's ids, after it was prepared as the model's own text was. */
static bool encode(struct attended *a, heed_text_side which, const heed_string *text, const heed_string *pair,
                   const heed_tokenizer *tokenizer, heed_ids *ids) {
    heed_string prepared = {0}, second = {0};
    heed_encoding e = {0};
    bool ok = heed_preprocess(a->cx, &a->preprocessing, which, text->s, text->size, &prepared);
    if (ok && pair) ok = heed_preprocess(a->cx, &a->preprocessing, which, pair->s, pair->size, &second);
    const heed_encode_opts opts = {
        .pair = pair ? second.s : NULL, .pair_size = second.size, .plain = which == HEED_TARGET};
    ok = ok && heed_encode_text(a->cx, tokenizer, prepared.s, prepared.size, &opts, &e) &&
         fill_ids(a->cx, &e, ids, which == HEED_SOURCE ? &a->types : NULL) &&
         (which == HEED_TARGET || attend_words_find(a->cx, &e, &a->words));
    heed_encoding_free(a->cx, &e);
    heed_string_free(a->cx, &prepared);
    heed_string_free(a->cx, &second);
    if (ok && ids->count == 0)
        return heed_fail(a->cx, HEED_ERR_FORMAT, "attend: the %s has no tokens",
                         which == HEED_SOURCE ? "text" : "target");
    return ok;
}

/* The best of a beam search, into `ids`; *ended: with the end token. */
static bool translate(const struct attended *a, heed_ids *ids, bool *ended) {
    const heed_generate_opts opts = {.beams = BEAMS, .length_penalty = 1};
    heed_translated found = {0};
    const bool ok = heed_translate_ids(a->cx, a->model, &a->source.ids, 1, &opts, &found);
    if (ok) {
        *ids = found.ids[0];
        *ended = found.ended[0];
        found.ids[0] = (heed_ids){0}; /* they are the caller's now */
    }
    heed_translated_free(a->cx, &found);
    return ok;
}

/* The decoder is fed the start token and the target; row i predicts token i of the target, the last the end token. */
static bool read_target(struct attended *a, const char *given) {
    struct attended_text *const t = &a->target;
    heed_ids ids = {0};
    bool ended = true;
    bool ok = given ? read_text(a->cx, "target", given, &t->text) &&
                          encode(a, HEED_TARGET, &t->text, NULL, t->tokenizer, &ids)
                    : translate(a, &ids, &ended) &&
                          heed_translation_text(a->cx, &a->preprocessing, t->tokenizer, &ids, false, &t->text);
    if (ok) ok = heed_ids_put(a->cx, &t->ids, (int32_t)setting(a, "decoder_start_token_id"));
    for (int64_t i = 0; ok && i < ids.count; i++) ok = heed_ids_put(a->cx, &t->ids, ids.id[i]);
    heed_ids_free(a->cx, &ids);
    const int64_t own = setting(a, "decoder_vocab_size"), n = t->ids.count;
    if (!ok || !name_tokens(a, t, "target", own > 0 ? own : setting(a, "vocab_size"))) return false;
    const char *end = ended ? heed_tokenizer_token(t->tokenizer, (int32_t)setting(a, "eos_token_id")) : NULL;
    if (!end) end = "";
    t->next = heed_mem_new(a->cx, 2 * (size_t)n * sizeof *t->next + printable_room(end));
    if (!t->next) return false;
    heed_axis *const axis = &t->side->axis;
    const char **const labels = t->next + n;
    for (int64_t i = 0; i + 1 < n; i++) t->next[i] = axis->tokens[i + 1], labels[i] = axis->labels[i + 1];
    t->next[n - 1] = end;
    labels[n - 1] = (char *)(labels + n);
    put_printable((char *)(labels + n), end);
    axis->next = t->next;
    axis->next_labels = labels;
    return true;
}

static heed_tensor *row_of(heed_ctx *cx, const heed_ids *ids) {
    return heed_from_i32(cx, ids->id, 2, (int64_t[]){1, ids->count});
}

bool attend_read_text(struct attended *a, heed_io *in) {
    const heed_attend_input *const input = a->input;
    heed_ctx *const cx = a->cx;
    heed_tokenizer *const *const tokenizers = a->tokenizers;
    const char *const family = heed_model_family(a->model)->name;
    const bool types = heed_model_takes(a->model, "token_type_ids");
    a->has_target = heed_model_takes(a->model, "decoder_input_ids");
    if (!input->text || !tokenizers || !tokenizers[HEED_SOURCE])
        return heed_fail(cx, HEED_ERR_USAGE,
                         "attend: a model of family %s reads text: a text and a tokenizer are needed", family);
    if (input->target && !a->has_target)
        return heed_fail(cx, HEED_ERR_USAGE, "attend: --target: a model of family %s has no target", family);
    if (input->words && a->has_target)
        return heed_fail(cx, HEED_ERR_USAGE,
                         "attend: --words: a model of family %s has a target, whose words are unknown", family);
    if (input->pair && a->has_target)
        return heed_fail(cx, HEED_ERR_USAGE, "attend: --pair: a model of family %s reads one text", family);
    a->source.tokenizer = tokenizers[HEED_SOURCE];
    a->target.tokenizer = tokenizers[HEED_TARGET] ? tokenizers[HEED_TARGET] : tokenizers[HEED_SOURCE];
    return read_text(cx, "text", input->text, &a->source.text) &&
           (!input->pair || read_text(cx, "second text", input->pair, &a->pair)) &&
           heed_preprocessing_get(cx, heed_model_config(a->model), &a->preprocessing) &&
           encode(a, HEED_SOURCE, &a->source.text, input->pair ? &a->pair : NULL, a->source.tokenizer,
                  &a->source.ids) &&
           name_tokens(a, &a->source, a->has_target ? "source" : "text", setting(a, "vocab_size")) &&
           (!a->has_target || read_target(a, input->target)) &&
           heed_io_put(cx, in, "input_ids", row_of(cx, &a->source.ids)) &&
           (!types || heed_io_put(cx, in, "token_type_ids", row_of(cx, &a->types))) &&
           (!a->has_target || heed_io_put(cx, in, "decoder_input_ids", row_of(cx, &a->target.ids)));
}

bool attend_read_numbers(struct attended *a, heed_io *in) {
    const heed_attend_input *const input = a->input;
    if (!input->x || input->rows < 1 || input->columns < 1)
        return heed_fail(a->cx, HEED_ERR_USAGE, "attend: a model of family %s reads no text, but rows of numbers",
                         heed_model_family(a->model)->name);
    return heed_io_put(a->cx, in, "x", heed_from_f32(a->cx, input->x, 2, (int64_t[]){input->rows, input->columns}));
}

/* ---- the maps ---- */

/* The words and the texts of the source's tokens; or its words instead of them, where that is wanted. */
static bool by_words(struct attended *a, bool wanted) {
    heed_axis *const axis = &a->source.side->axis;
    axis->words = a->words.word;
    axis->segments = a->pair.s ? a->words.segment : NULL;
    if (!wanted) return true;
    for (int i = 0; i < a->n; i++)
        if (!attend_words_merge(a->cx, &a->words, &a->captured[i])) return false;
    return attend_words_name(a->cx, &a->words, axis);
}

/* The side's axis; where it has another size, or there is none, a numbered one that others of that size share: of the
 * points of a head of vectors, or of positions. */
static const heed_axis *axis_of(struct attended *a, const struct side *side, int64_t n, bool points) {
    if (side && side->axis.n == n) return &side->axis;
    for (const struct side *s = a->sides; s; s = s->before)
        if (s->axis.n == n && (strcmp(s->axis.what, "points") == 0 || strcmp(s->axis.what, "positions") == 0))
            return &s->axis;
    struct side *const more = side_numbered(a, points ? "points" : "positions", n);
    const heed_head *const head = heed_model_head(a->model);
    for (int64_t i = 0; more && points && head->name_key && i < n; i++)
        head->name_key(model_own(a->model), i, side_name(more, i), NAME_ROOM);
    return more ? &more->axis : NULL;
}

static void name_site(const struct attended *a, int i) {
    struct attended_map *const of = &a->of[i];
    snprintf(of->site, sizeof of->site, "%.47s", a->captured[i].site);
    if (strcmp(of->site, "cross") == 0)
        of->title = "cross attention: from the target to the source";
    else if (a->has_target && strcmp(of->site, "encoder") == 0)
        of->title = "encoder self-attention: within the source";
    else if (a->has_target)
        of->title = "decoder self-attention: within the target, to earlier tokens";
}

bool attend_place_text(struct attended *a) {
    const struct side *const source = a->source.side, *const target = a->target.side;
    if (!by_words(a, a->input->words)) return false;
    for (int i = 0; i < a->n; i++) {
        const heed_capture_map *const m = &a->captured[i];
        const bool cross = strcmp(m->site, "cross") == 0, decoder = a->has_target && strcmp(m->site, "decoder") == 0;
        name_site(a, i);
        if (!(a->of[i].queries = axis_of(a, decoder || cross ? target : source, m->rows, false)) ||
            !(a->of[i].keys = axis_of(a, decoder ? target : source, m->keys, false)))
            return false;
    }
    a->out.text = a->source.text.s;
    a->out.pair = a->pair.s;
    a->out.target = a->has_target ? a->target.text.s : NULL;
    return true;
}

/* The queries are named by the rows. */
bool attend_place_numbers(struct attended *a) {
    const heed_attend_input *const input = a->input;
    struct side *const rows = side_numbered(a, "queries", input->rows);
    for (int64_t i = 0; rows && i < input->rows; i++) {
        size_t at = 0;
        for (int64_t k = 0; k < input->columns && at < NAME_ROOM - 8; k++)
            at += (size_t)snprintf(side_name(rows, i) + at, NAME_ROOM - at, k ? ", %.4g" : "%.4g",
                                   (double)input->x[i * input->columns + k]);
    }
    for (int i = 0; rows && i < a->n; i++) {
        const heed_capture_map *const m = &a->captured[i];
        name_site(a, i);
        if (!(a->of[i].queries = axis_of(a, rows, m->rows, false)) ||
            !(a->of[i].keys = axis_of(a, NULL, m->keys, true)))
            return false;
    }
    return rows != NULL;
}
