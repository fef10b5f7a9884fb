/* From text to the text that follows it: a model directory with its tokenizers. */
#include "heed/generate.h"
#include "model/core/directory.h"
#include "model/core/families.h"
#include "model/core/stepper.h"
#include <string.h>

/* ---- a directory ---- */

static bool covers(heed_ctx *cx, const char *dir, const heed_generator *g, const struct stepper_sizes *sizes) {
    const int64_t most[2] = {g->encodes ? sizes->source_vocabulary : sizes->vocabulary, sizes->vocabulary};
    for (int i = 0; i < 2; i++)
        if (heed_tokenizer_size(g->tokens[i]) > most[i])
            return heed_fail(cx, HEED_ERR_FORMAT, "%s: the tokenizer has %lld tokens, the model %lld", dir,
                             (long long)heed_tokenizer_size(g->tokens[i]), (long long)most[i]);
    return true;
}

/* As transformers' AutoModelForCausalLM does, a body alone, or a config.json that names no architecture, is opened with
 * the head that decodes. NULL: with the one that it names. */
static const char *decoding_task(const heed_directory *d) {
    static const char *const tasks[] = {"lm", "text2text"};
    const heed_head *const named = heed_directory_head(d);
    for (int i = 0; named && named->bare && i < 2; i++) {
        const heed_head *const head = heed_head_for(heed_directory_family(d), tasks[i]);
        if (head && head->stepper) return tasks[i];
    }
    return NULL;
}

static bool open_directory(heed_ctx *cx, const char *dir, heed_generator *g) {
    heed_directory *const d = heed_directory_open(cx, dir);
    if (d) g->model = heed_directory_model(cx, d, &(heed_load_opts){.map = true, .task = decoding_task(d)});
    heed_directory_close(cx, d);
    if (!g->model) return false;
    const struct heed_stepper *const stepper = stepper_of(cx, g->model, dir);
    if (!stepper || !directory_load_tokenizers(cx, dir, g->tokens)) return false;
    const struct stepper_sizes sizes = stepper->sizes(model_own(g->model));
    g->encodes = stepper->encodes;
    g->positions = g->encodes ? sizes.source_positions : sizes.positions;
    return covers(cx, dir, g, &sizes);
}

heed_generator *heed_generator_open(heed_ctx *cx, const char *dir) {
    if (heed_failed(cx)) return NULL;
    heed_generator *g = heed_mem_new(cx, sizeof *g);
    if (!g) return NULL;
    *g = (heed_generator){0};
    if (open_directory(cx, dir, g)) return g;
    heed_generator_free(cx, g);
    return NULL;
}

void heed_generator_free(heed_ctx *cx, heed_generator *g) {
    if (!g) return;
    directory_free_tokenizers(cx, g->tokens);
    heed_model_free(cx, g->model);
    heed_mem_free(cx, g);
}

/* ---- text ---- */

bool heed_generator_encode(heed_ctx *cx, const heed_generator *g, const char *text, size_t size, heed_ids *ids) {
    return heed_generator_encode_as(cx, g, text, size, true, ids);
}

bool heed_generator_encode_as(heed_ctx *cx, const heed_generator *g, const char *text, size_t size, bool special,
                              heed_ids *ids) {
    if (heed_failed(cx)) return false;
    if (!g || !text || !ids) return heed_fail(cx, HEED_ERR_USAGE, "generate: a generator, a text and ids are needed");
    const int64_t before = ids->count;
    heed_encoding e = {0};
    bool ok = heed_encode_text(cx, g->tokens[0], text, size, &(heed_encode_opts){.as_text = !special}, &e);
    for (int64_t i = 0; ok && i < e.count; i++) ok = heed_ids_put(cx, ids, e.token[i].id);
    heed_encoding_free(cx, &e);
    if (ok) {
        const int64_t n = ids->count - before;
        if (n > g->positions || (!g->encodes && n == g->positions))
            heed_fail(cx, HEED_ERR_RANGE, "a text of %lld tokens: the model has positions for %lld", (long long)n,
                      (long long)g->positions);
    }
    if (heed_failed(cx)) ids->count = before;
    return !heed_failed(cx);
}

/* The end of text: where the first stop text begins, or its size. */
static size_t stopped_at(const char *text, size_t size, const heed_generate_opts *opts) {
    for (int i = 0; opts && i < opts->n_stop; i++) {
        const char *at = strstr(text, opts->stop[i]);
        if (at && (size_t)(at - text) < size) size = (size_t)(at - text);
    }
    return size;
}

/* Tokens may need those before them to be text, as the space between two words does: what is decoded is the end of the
 * prompt with them, less what the prompt alone is. */
bool heed_generator_decode(heed_ctx *cx, const heed_generator *g, const heed_ids *prompt, const int32_t *ids, int64_t n,
                           const heed_generate_opts *opts, heed_string *to) {
    if (heed_failed(cx)) return false;
    if (!g || !to || (n > 0 && !ids))
        return heed_fail(cx, HEED_ERR_USAGE, "generate: a generator, tokens and a string are needed");
    const heed_tokenizer *const tokens = g->tokens[1];
    heed_ids all = {0};
    heed_string before = {0}, text = {0};
    if (prompt && !g->encodes)
        for (int64_t t = 0; t < prompt->count; t++) heed_ids_put(cx, &all, prompt->id[t]);
    const int64_t given = all.count;
    for (int64_t t = 0; t < n; t++) /* a model may have tokens that its tokenizer lacks */
        if (ids[t] < heed_tokenizer_size(tokens)) heed_ids_put(cx, &all, ids[t]);
    size_t skip = 0;
    if (heed_string_put(cx, &before, "", 0) && heed_string_put(cx, &text, "", 0) &&
        heed_decode(cx, tokens, all.id, given, false, &before) &&
        heed_decode(cx, tokens, all.id, all.count, false, &text)) {
        skip = before.size;
        if (text.size < skip || memcmp(text.s, before.s, skip) != 0) { /* the prompt reads otherwise now */
            text.size = skip = 0;
            heed_decode(cx, tokens, all.id + given, all.count - given, false, &text);
        }
    }
    if (!heed_failed(cx)) heed_string_put(cx, to, text.s + skip, stopped_at(text.s + skip, text.size - skip, opts));
    heed_ids_free(cx, &all);
    heed_string_free(cx, &before);
    heed_string_free(cx, &text);
    return !heed_failed(cx);
}

bool heed_generate_text(heed_ctx *cx, const heed_generator *g, const char *text, const heed_generate_opts *opts,
                        heed_string *to) {
    if (heed_failed(cx)) return false;
    if (!g || !text || !to)
        return heed_fail(cx, HEED_ERR_USAGE, "generate: a generator, a text and a string are needed");
    heed_generate_opts own;
    if (opts) {
        own = *opts;
        if (!own.stop_tokens) own.stop_tokens = g->tokens[1];
        opts = &own;
    }
    heed_ids ids = {0};
    heed_generated *found = NULL;
    if (heed_generator_encode(cx, g, text, strlen(text), &ids) && (found = heed_generate(cx, g->model, &ids, 1, opts)))
        heed_generator_decode(cx, g, &ids, found->best[0].ids, found->best[0].length, opts, to);
    heed_mem_free(cx, found);
    heed_ids_free(cx, &ids);
    return !heed_failed(cx);
}
