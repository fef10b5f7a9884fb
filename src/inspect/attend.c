/* From an input to its attention: encode, translate where the model has a target, one forward pass with every weight
 * captured.
 *
 * Nothing here knows a family: what it takes is in its head's list of inputs, and a head of vectors names its keys. Of
 * the sites that a pass captures "cross" is attention from the target to the source and "decoder" within the target; a
 * model without a target attends within its one text. Where a map has other sizes than the input, as when a model pools
 * tokens on the way, its queries and keys are numbered. */
#include "heed/attend.h"
#include "attention/attention.h"
#include "base/text.h"
#include "heed/translate.h"
#include "inspect/attend_capture.h"
#include "inspect/attend_words.h"
#include "io/text.h"
#include "model/core/families.h"
#include <stdio.h>
#include <string.h>

#define BEAMS 5

/* The source or the target, tokenised; or the queries or keys of vectors. */
struct side {
    heed_axis axis;
    const heed_tokenizer *tokenizer;
    heed_string text;
    heed_ids ids;
    struct attend_words words;
    char *letters; /* of the names that follow */
    const char **names, **next;
};

struct attended {
    heed_attended out; /* first: what the caller has */
    heed_ctx *cx;
    const heed_model *model;
    heed_preprocessing preprocessing; /* how text is prepared for the model */
    heed_string pair;
    heed_ids types; /* token_type_ids */
    struct side source, target;
    bool has_target;
    heed_capture_map *captured, *maps; /* as they were computed, and by site */
    int n_captured, n_sides;
    heed_attended_site *sites;
    struct side **numbered; /* sides for maps of other sizes */
    char (*names)[48];      /* of sites that are there in several sizes */
};

bool heed_model_takes(const heed_model *model, const char *input) {
    return model && input && text_among(heed_model_head(model)->inputs, input);
}

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

static const char *token_of(const struct side *side, int64_t i) {
    const char *token = heed_tokenizer_token(side->tokenizer, side->ids.id[i]);
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

/* Every id must be one of the model's own `size` tokens; 0: its config does not say how many there are. */
static bool name_tokens(const struct attended *a, struct side *side, const char *what, int64_t size) {
    const int64_t n = side->ids.count;
    size_t letters = 0;
    for (int64_t i = 0; i < n; i++) letters += strlen(token_of(side, i)) + 1 + printable_room(token_of(side, i));
    side->names = heed_mem_new(a->cx, 2 * (size_t)n * sizeof *side->names);
    char *to = side->letters = heed_mem_new(a->cx, letters + 1);
    if (!side->names || !to) return false;
    side->axis = (heed_axis){.what = what, .n = n, .tokens = side->names, .labels = side->names + n};
    for (int64_t i = 0; i < n; i++) {
        const int32_t id = side->ids.id[i];
        const char *token = token_of(side, i);
        if (size > 0 && id >= size)
            return heed_fail(a->cx, HEED_ERR_FORMAT,
                             "attend: the tokenizer gives '%s' the id %d, the model has %lld tokens", shown(token).text,
                             (int)id, (long long)size);
        side->names[i] = to;
        to = put_token(to, token, a->preprocessing.moses);
        const size_t skip = mark_of(side->names[i]);
        side->names[n + i] = to;
        to = put_printable(to, skip && !side->names[i][skip] ? "\u2423" : side->names[i] + skip); /* a blank */
    }
    return true;
}

/* n names of up to 48 letters: of points, or numbers. */
static bool name_points(heed_ctx *cx, struct side *side, const char *what, int64_t n, const struct attended *keys_of) {
    enum { LETTERS = 48 };
    const heed_head *const head = keys_of ? heed_model_head(keys_of->model) : NULL;
    side->names = heed_mem_new(cx, (size_t)n * sizeof *side->names);
    side->letters = heed_mem_new(cx, (size_t)n * LETTERS);
    if (!side->names || !side->letters) return false;
    for (int64_t i = 0; i < n; i++) {
        char *const name = side->letters + i * LETTERS;
        snprintf(name, LETTERS, "%lld", (long long)i);
        if (head && head->name_key) head->name_key(model_own(keys_of->model), i, name, LETTERS);
        side->names[i] = name;
    }
    side->axis = (heed_axis){.what = what, .n = n, .tokens = side->names, .labels = side->names};
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
         (which == HEED_TARGET || attend_words_find(a->cx, &e, &a->source.words));
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
    struct side *const side = &a->target;
    heed_ids ids = {0};
    bool ended = true;
    bool ok = given ? read_text(a->cx, "target", given, &side->text) &&
                          encode(a, HEED_TARGET, &side->text, NULL, side->tokenizer, &ids)
                    : translate(a, &ids, &ended) &&
                          heed_translation_text(a->cx, &a->preprocessing, side->tokenizer, &ids, false, &side->text);
    if (ok) ok = heed_ids_put(a->cx, &side->ids, (int32_t)setting(a, "decoder_start_token_id"));
    for (int64_t i = 0; ok && i < ids.count; i++) ok = heed_ids_put(a->cx, &side->ids, ids.id[i]);
    heed_ids_free(a->cx, &ids);
    const int64_t own = setting(a, "decoder_vocab_size"), n = side->ids.count;
    if (!ok || !name_tokens(a, side, "target", own > 0 ? own : setting(a, "vocab_size"))) return false;
    const char *end = ended ? heed_tokenizer_token(side->tokenizer, (int32_t)setting(a, "eos_token_id")) : NULL;
    if (!end) end = "";
    side->next = heed_mem_new(a->cx, 2 * (size_t)n * sizeof *side->next + printable_room(end));
    if (!side->next) return false;
    const char **const labels = side->next + n;
    for (int64_t i = 0; i + 1 < n; i++) side->next[i] = side->names[i + 1], labels[i] = side->names[n + i + 1];
    side->next[n - 1] = end;
    labels[n - 1] = (char *)(labels + n);
    put_printable((char *)(labels + n), end);
    side->axis.next = side->next;
    side->axis.next_labels = labels;
    return true;
}

static heed_tensor *row_of(heed_ctx *cx, const heed_ids *ids) {
    return heed_from_i32(cx, ids->id, 2, (int64_t[]){1, ids->count});
}

static bool read_words(struct attended *a, heed_tokenizer *const tokenizers[2], const heed_attend_input *input,
                       heed_io *in) {
    heed_ctx *const cx = a->cx;
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

/* Rows of numbers: the queries are named by them, the keys by the head when their number is known. */
static bool read_numbers(struct attended *a, const heed_attend_input *input, heed_io *in) {
    const char *const family = heed_model_family(a->model)->name;
    if (!input->x || input->rows < 1 || input->columns < 1)
        return heed_fail(a->cx, HEED_ERR_USAGE, "attend: a model of family %s reads no text, but rows of numbers",
                         family);
    if (!name_points(a->cx, &a->target, "queries", input->rows, NULL)) return false;
    for (int64_t i = 0; i < input->rows; i++) {
        char *const name = (char *)(uintptr_t)a->target.names[i];
        size_t at = 0;
        for (int64_t k = 0; k < input->columns && at < 40; k++)
            at += (size_t)snprintf(name + at, 48 - at, k ? ", %.4g" : "%.4g", (double)input->x[i * input->columns + k]);
    }
    return heed_io_put(a->cx, in, "x", heed_from_f32(a->cx, input->x, 2, (int64_t[]){input->rows, input->columns}));
}

/* The words and the texts of the source's tokens; or its words instead of them, where that is wanted. */
static bool by_words(struct attended *a, bool wanted) {
    struct attend_words *const w = &a->source.words;
    heed_axis *const axis = &a->source.axis;
    axis->words = w->word;
    axis->segments = a->pair.s ? w->segment : NULL;
    if (!wanted) return true;
    for (int i = 0; i < a->n_captured; i++)
        if (!attend_words_merge(a->cx, w, &a->captured[i])) return false;
    return attend_words_name(a->cx, w, axis);
}

/* ---- the sites ---- */

static const char *title_of(const char *name, bool has_target) {
    if (strcmp(name, "cross") == 0) return "cross attention: from the target to the source";
    if (!has_target) return NULL;
    if (strcmp(name, "encoder") == 0) return "encoder self-attention: within the source";
    return "decoder self-attention: within the target, to earlier tokens";
}

/* The axis of a map's queries or keys. */
static const heed_axis *axis_of(struct attended *a, const heed_capture_map *m, bool queries) {
    const bool cross = strcmp(m->site, "cross") == 0, decoder = a->has_target && strcmp(m->site, "decoder") == 0;
    const int64_t n = queries ? m->rows : m->keys;
    struct side *const side = decoder || (queries && (cross || !a->source.ids.count)) ? &a->target : &a->source;
    if (side->axis.n == n) return &side->axis;
    for (int i = 0; i < a->n_sides; i++)
        if (a->numbered[i]->axis.n == n) return &a->numbered[i]->axis;
    struct side *const more = heed_mem_new(a->cx, sizeof *more);
    if (!more) return NULL;
    *more = (struct side){0};
    a->numbered[a->n_sides++] = more;
    const bool points = !queries && side == &a->source && !a->source.ids.count;
    return name_points(a->cx, more, points ? "points" : "positions", n, points ? a : NULL) ? &more->axis : NULL;
}

static bool same_site(const heed_capture_map *a, const heed_capture_map *b) {
    return strcmp(a->site, b->site) == 0 && a->heads == b->heads && a->rows == b->rows && a->keys == b->keys;
}

/* The maps, which were captured in the order in which they were computed, by site and size. */
static bool sort_maps(struct attended *a) {
    const size_t n = (size_t)a->n_captured;
    if (n == 0)
        return heed_fail(a->cx, HEED_ERR_FORMAT, "attend: a model of family %s has no attention",
                         heed_model_family(a->model)->name);
    a->maps = heed_mem_new(a->cx, n * sizeof *a->maps);
    a->sites = heed_mem_new(a->cx, n * sizeof *a->sites);
    a->names = heed_mem_new(a->cx, n * sizeof *a->names);
    a->numbered = heed_mem_new(a->cx, 2 * n * sizeof *a->numbered);
    if (heed_failed(a->cx)) return false;
    heed_capture_map *to = a->maps;
    for (size_t i = 0; i < n; i++) {
        const heed_capture_map *const m = &a->captured[i];
        bool taken = false, another = false;
        for (int s = 0; s < a->out.n; s++) {
            taken |= same_site(a->sites[s].maps, m);
            another |= strcmp(a->sites[s].maps->site, m->site) == 0;
        }
        if (taken) continue;
        heed_attended_site *const site = &a->sites[a->out.n];
        *site = (heed_attended_site){.name = m->site, .title = title_of(m->site, a->has_target), .maps = to};
        if (another) {
            snprintf(a->names[a->out.n], sizeof *a->names, "%.20s %lldx%lld", m->site, (long long)m->rows,
                     (long long)m->keys);
            site->name = a->names[a->out.n];
        }
        a->out.n++;
        for (size_t k = i; k < n; k++)
            if (same_site(&a->captured[k], m)) *to++ = a->captured[k];
        site->n_maps = (int)(to - site->maps);
        if (!(site->queries = axis_of(a, m, true)) || !(site->keys = axis_of(a, m, false))) return false;
    }
    return true;
}

/* ---- all of it ---- */

bool attend_capture(heed_ctx *cx, const heed_model *model, const heed_io *in, heed_capture_map **maps, int *n) {
    heed_io out = {0};
    if (!heed_capture_begin(cx, &(heed_capture_opts){.byte_cap = SIZE_MAX})) return false;
    const bool was = heed_set_grad(cx, false);
    heed_scope_begin(cx);
    const bool ok = heed_model_forward(cx, model, in, &out);
    heed_scope_end(cx, NULL);
    heed_set_grad(cx, was);
    *maps = capture_take(cx, n);
    heed_capture_end(cx);
    return ok;
}

void attend_capture_free(heed_ctx *cx, heed_capture_map *maps, int n) {
    for (int i = 0; i < n; i++) {
        heed_mem_free(cx, (void *)(uintptr_t)maps[i].weights);
        heed_mem_free(cx, (void *)(uintptr_t)maps[i].site);
    }
    heed_mem_free(cx, maps);
}

heed_attended *heed_attend(heed_ctx *cx, const heed_model *model, heed_tokenizer *const tokenizers[2],
                           const heed_attend_input *input) {
    if (heed_failed(cx)) return NULL;
    if (!model || !input) {
        heed_fail(cx, HEED_ERR_USAGE, "attend: the %s is NULL", model ? "input" : "model");
        return NULL;
    }
    struct attended *const a = heed_mem_new(cx, sizeof *a);
    if (!a) return NULL;
    *a = (struct attended){.cx = cx, .model = model};
    a->out.own = a;
    heed_io in = {0};
    const bool words = heed_model_takes(model, "input_ids");
    if (!words && !heed_model_takes(model, "x"))
        heed_fail(cx, HEED_ERR_USAGE, "attend: a model of family %s reads neither text nor rows of numbers",
                  heed_model_family(model)->name);
    else if ((words ? read_words(a, tokenizers, input, &in) : read_numbers(a, input, &in)) &&
             attend_capture(cx, model, &in, &a->captured, &a->n_captured) && (!words || by_words(a, input->words)) &&
             sort_maps(a)) {
        a->out.sites = a->sites;
        a->out.text = words ? a->source.text.s : NULL;
        a->out.pair = a->pair.s;
        a->out.target = a->has_target ? a->target.text.s : NULL;
        return &a->out;
    }
    heed_attended_free(cx, &a->out);
    return NULL;
}

static void side_free(heed_ctx *cx, struct side *side) {
    attend_words_free(cx, &side->words);
    heed_string_free(cx, &side->text);
    heed_ids_free(cx, &side->ids);
    heed_mem_free(cx, side->names);
    heed_mem_free(cx, side->letters);
    heed_mem_free(cx, side->next);
}

void heed_attended_free(heed_ctx *cx, heed_attended *attended) {
    if (!cx || !attended) return;
    struct attended *const a = attended->own;
    side_free(cx, &a->source);
    side_free(cx, &a->target);
    for (int i = 0; i < a->n_sides; i++) {
        side_free(cx, a->numbered[i]);
        heed_mem_free(cx, a->numbered[i]);
    }
    attend_capture_free(cx, a->captured, a->n_captured);
    heed_string_free(cx, &a->pair);
    heed_ids_free(cx, &a->types);
    heed_mem_free(cx, a->maps);
    heed_mem_free(cx, a->sites);
    heed_mem_free(cx, a->names);
    heed_mem_free(cx, a->numbered);
    heed_mem_free(cx, a);
}
