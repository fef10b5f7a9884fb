/* From a text to its attention: encode, translate where the model has a target, one forward pass with every weight
 * captured.
 *
 * Nothing here knows a family: what it takes is in its list of inputs. Sites are what the pass captured: "cross" is
 * attention from the target to the source, "decoder" within the target; a model without a target attends within its one
 * text. */
#include "base/text.h"
#include "cli/attend.h"
#include "io/text.h"
#include "model/directory.h"
#include <stdio.h>
#include <string.h>

#define BEAMS 5

static bool takes(const heed_model *model, const char *input) {
    const size_t n = strlen(input);
    const char *const inputs = heed_model_head(model)->inputs;
    for (const char *at = inputs; (at = strstr(at, input)); at += n)
        if ((at == inputs || at[-1] == ' ') && (!at[n] || at[n] == ' ')) return true;
    return false;
}

/* ---- text ---- */

static bool read_line(heed_ctx *cx, struct attend_side *side) {
    heed_lines lines = {0};
    bool ok = heed_lines_read(cx, "-", &lines);
    if (ok && lines.count != 1)
        ok = heed_fail(cx, HEED_ERR_FORMAT, "standard input: %lld lines, one sentence is needed",
                       (long long)lines.count);
    if (ok) ok = heed_string_put(cx, &side->text, heed_line_text(&lines, 0), heed_line_size(&lines, 0));
    heed_lines_free(cx, &lines);
    return ok;
}

static bool read_text(heed_ctx *cx, const char *what, const char *text, struct attend_side *side) {
    if (strcmp(text, "-") == 0) {
        if (!read_line(cx, side)) return false;
    } else if (!heed_string_put(cx, &side->text, text, strlen(text)))
        return false;
    const size_t bad = utf8_bad(side->text.s, side->text.size);
    if (bad != side->text.size)
        return heed_fail(cx, HEED_ERR_FORMAT, "attend: the %s is not UTF-8 at byte %zu", what, bad + 1);
    if (side->text.s[strspn(side->text.s, " \t\r\n\v\f")] == 0)
        return heed_fail(cx, HEED_ERR_FORMAT, "attend: the %s is empty", what);
    return true;
}

/* ---- tokens ---- */

static bool load_tokenizers(struct attend *a) {
    const bool ok = directory_load_tokenizers(a->cx, a->dir, a->tokenizers);
    a->source.tokenizer = a->tokenizers[HEED_SOURCE];
    a->target.tokenizer = a->tokenizers[HEED_TARGET];
    return ok;
}

static int64_t setting(const struct attend *a, const char *key) {
    return heed_json_int_or(a->cx, heed_model_config(a->model), key, 0);
}

static const char *token_of(const struct attend_side *side, int64_t i) {
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

/* Every id must be one of the model's own `size` tokens; 0: its config does not say how many there are. */
static bool name_tokens(const struct attend *a, struct attend_side *side, int64_t size) {
    static const char mark[] = "\u2581";
    const int64_t n = side->ids.count;
    size_t letters = 0;
    for (int64_t i = 0; i < n; i++) letters += strlen(token_of(side, i)) + 1 + printable_room(token_of(side, i));
    side->tokens = heed_mem_new(a->cx, 2 * (size_t)n * sizeof *side->tokens);
    char *to = side->letters = heed_mem_new(a->cx, letters + 1);
    if (!side->tokens || !to) return false;
    side->labels = side->tokens + n;
    for (int64_t i = 0; i < n; i++) {
        const int32_t id = side->ids.id[i];
        const char *token = token_of(side, i);
        if (size > 0 && id >= size)
            return heed_fail(a->cx, HEED_ERR_FORMAT,
                             "%s: the tokenizer gives '%s' the id %d, the model has %lld tokens", a->dir,
                             shown(token).text, (int)id, (long long)size);
        side->tokens[i] = to;
        to = put_token(to, token, a->preprocessing.moses);
        const size_t skip = strncmp(side->tokens[i], mark, strlen(mark)) == 0 ? strlen(mark) : 0;
        side->labels[i] = to;
        to = put_printable(to, skip && !side->tokens[i][skip] ? "\u2423" : side->tokens[i] + skip); /* a blank */
    }
    return true;
}

/* The text's ids, after it was prepared as the model's own text was. */
static bool encode(const struct attend *a, heed_text_side which, const heed_string *text,
                   const heed_tokenizer *tokenizer, bool special, heed_ids *ids) {
    heed_string prepared = {0};
    const bool ok = heed_preprocess(a->cx, &a->preprocessing, which, text->s, text->size, &prepared) &&
                    heed_encode(a->cx, tokenizer, prepared.s, prepared.size, special, ids);
    heed_string_free(a->cx, &prepared);
    if (ok && ids->count == 0)
        return heed_fail(a->cx, HEED_ERR_FORMAT, "attend: the %s has no tokens",
                         which == HEED_SOURCE ? "text" : "target");
    return ok;
}

/* ---- the target ---- */

/* The best of a beam search, into `ids`; *ended: with the end token. */
static bool translate(const struct attend *a, heed_ids *ids, bool *ended) {
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
static bool read_target(struct attend *a, const char *given) {
    struct attend_side *const side = &a->target;
    heed_ids ids = {0};
    bool ended = true;
    bool ok = given ? read_text(a->cx, "target", given, side) &&
                          encode(a, HEED_TARGET, &side->text, side->tokenizer, false, &ids)
                    : translate(a, &ids, &ended) &&
                          heed_translation_text(a->cx, &a->preprocessing, side->tokenizer, &ids, false, &side->text);
    if (ok) ok = heed_ids_put(a->cx, &side->ids, (int32_t)setting(a, "decoder_start_token_id"));
    for (int64_t i = 0; ok && i < ids.count; i++) ok = heed_ids_put(a->cx, &side->ids, ids.id[i]);
    heed_ids_free(a->cx, &ids);
    const int64_t own = setting(a, "decoder_vocab_size"), n = side->ids.count;
    if (!ok || !name_tokens(a, side, own > 0 ? own : setting(a, "vocab_size"))) return false;
    const char *end = ended ? heed_tokenizer_token(side->tokenizer, (int32_t)setting(a, "eos_token_id")) : NULL;
    if (!end) end = "";
    side->next = heed_mem_new(a->cx, 2 * (size_t)n * sizeof *side->next + printable_room(end));
    if (!side->next) return false;
    side->next_labels = side->next + n;
    for (int64_t i = 0; i + 1 < n; i++) side->next[i] = side->tokens[i + 1], side->next_labels[i] = side->labels[i + 1];
    side->next[n - 1] = end;
    side->next_labels[n - 1] = (char *)(side->next_labels + n);
    put_printable((char *)(side->next_labels + n), end);
    return true;
}

/* ---- the pass ---- */

static heed_tensor *row_of(const struct attend *a, const struct attend_side *side) {
    return heed_from_i32(a->cx, side->ids.id, 2, (int64_t[]){1, side->ids.count});
}

static bool run(const struct attend *a, bool has_target) {
    heed_io in = {0}, out = {0};
    heed_set_grad(a->cx, false);
    return heed_io_put(a->cx, &in, "input_ids", row_of(a, &a->source)) &&
           (!has_target || heed_io_put(a->cx, &in, "decoder_input_ids", row_of(a, &a->target))) &&
           heed_capture_begin(a->cx, &(heed_capture_opts){.byte_cap = SIZE_MAX}) &&
           heed_model_forward(a->cx, a->model, &in, &out);
}

static const char *title_of(const char *name, bool has_target) {
    if (strcmp(name, "cross") == 0) return "cross attention: from the target to the source";
    if (!has_target) return NULL;
    if (strcmp(name, "encoder") == 0) return "encoder self-attention: within the source";
    return "decoder self-attention: within the target, to earlier tokens";
}

static bool add_site(struct attend *a, const char *name, bool has_target) {
    if (a->n == ATTEND_SITES) return heed_fail(a->cx, HEED_ERR_RANGE, "attend: more than %d sites", ATTEND_SITES);
    const bool cross = strcmp(name, "cross") == 0, decoder = has_target && strcmp(name, "decoder") == 0;
    const struct attend_side *queries = cross || decoder ? &a->target : &a->source;
    const struct attend_side *keys = decoder ? &a->target : &a->source;
    a->queries[a->n] = queries;
    a->keys[a->n] = keys;
    a->sites[a->n++] = (heed_attention_site){.name = name,
                                             .title = title_of(name, has_target),
                                             .query_names = queries->tokens,
                                             .key_names = keys->tokens,
                                             .next_names = queries->next};
    return true;
}

/* The maps, which were captured in the order in which they were computed, by site. */
static bool sort_maps(struct attend *a, bool has_target) {
    const int count = heed_capture_count(a->cx);
    if (count == 0)
        return heed_fail(a->cx, HEED_ERR_FORMAT, "%s: a model of family %s has no attention", a->dir,
                         heed_model_family(a->model)->name);
    a->maps = heed_mem_new(a->cx, (size_t)count * sizeof *a->maps);
    if (!a->maps) return false;
    for (int i = 0; i < count; i++) {
        const char *name = heed_capture_at(a->cx, i)->site;
        int known = 0;
        while (known < a->n && strcmp(a->sites[known].name, name ? name : "attention") != 0) known++;
        if (known == a->n && !add_site(a, name ? name : "attention", has_target)) return false;
    }
    heed_capture_map *to = a->maps;
    for (int s = 0; s < a->n; s++) {
        a->sites[s].maps = to;
        for (int i = 0; i < count; i++) {
            const heed_capture_map *m = heed_capture_at(a->cx, i);
            if (strcmp(a->sites[s].name, m->site ? m->site : "attention") == 0) *to++ = *m;
        }
        a->sites[s].n_maps = (int)(to - a->sites[s].maps);
        const heed_capture_map *m = &a->sites[s].maps[0];
        if (m->rows != a->queries[s]->ids.count || m->keys != a->keys[s]->ids.count)
            return heed_fail(a->cx, HEED_ERR_SHAPE, "attend: %s: %lld x %lld weights do not fit %lld x %lld tokens",
                             a->sites[s].name, (long long)m->rows, (long long)m->keys,
                             (long long)a->queries[s]->ids.count, (long long)a->keys[s]->ids.count);
    }
    return true;
}

bool attend_open(heed_ctx *cx, const char *dir, const char *text, const char *target, struct attend *a) {
    *a = (struct attend){.cx = cx, .dir = dir, .model = heed_model_load_as(cx, dir, &(heed_load_opts){.map = true})};
    if (!a->model) return false;
    const heed_family *family = heed_model_family(a->model);
    const bool has_target = takes(a->model, "decoder_input_ids");
    if (!takes(a->model, "input_ids"))
        return heed_fail(cx, HEED_ERR_FORMAT, "%s: a model of family %s reads no text", dir, family->name);
    if (target && !has_target)
        return heed_fail(cx, HEED_ERR_USAGE, "attend: --target: a model of family %s has no target", family->name);
    struct attend_side *const source = &a->source;
    return load_tokenizers(a) && read_text(cx, "text", text, source) &&
           heed_preprocessing_get(cx, heed_model_config(a->model), &a->preprocessing) &&
           encode(a, HEED_SOURCE, &source->text, source->tokenizer, true, &source->ids) &&
           name_tokens(a, source, setting(a, "vocab_size")) && (!has_target || read_target(a, target)) &&
           run(a, has_target) && sort_maps(a, has_target);
}

static void side_free(heed_ctx *cx, struct attend_side *side) {
    heed_string_free(cx, &side->text);
    heed_ids_free(cx, &side->ids);
    heed_mem_free(cx, side->tokens);
    heed_mem_free(cx, side->letters);
    heed_mem_free(cx, side->next);
}

void attend_close(struct attend *a) {
    heed_capture_end(a->cx);
    heed_mem_free(a->cx, a->maps);
    side_free(a->cx, &a->source);
    side_free(a->cx, &a->target);
    directory_free_tokenizers(a->cx, a->tokenizers);
    heed_model_free(a->cx, a->model);
}
