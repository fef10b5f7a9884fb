/* Nearest texts: those of a file, and their vectors. */
#include "task/similar/similar.h"
#include <string.h>

#define AT_ONCE 2048 /* lines that are embedded together */

/* All that makes the vector of a text: weights, configuration, vocabulary, and how states are pooled. What a tokenizer
 * does before its vocabulary is known by its work on one text. */
static bool hash_model(heed_ctx *cx, const heed_text_model *m, uint64_t *out) {
    static const char probe[] = "Ein Café; the 2 naïve CO-ops’ \xEF\xAC\x81le,  über \xE6\x9D\xB1\xE4\xBA\xAC.";
    const int64_t how[] = {m->pooling, m->reader.max_length, m->reader.prefix_space};
    uint64_t h = similar_hash(2, how, sizeof how);
    heed_ids ids = {0};
    if (!similar_hash_config(cx, m->model, &h) || !heed_encode(cx, m->tokens, probe, sizeof probe - 1, true, &ids))
        return false;
    h = similar_hash(h, ids.id, (size_t)ids.count * sizeof *ids.id);
    for (int64_t id = 0; id < heed_tokenizer_size(m->tokens); id++) {
        const char *token = heed_tokenizer_token(m->tokens, (int32_t)id);
        if (token) h = similar_hash(h, token, strlen(token));
    }
    heed_ids_free(cx, &ids);
    *out = similar_hash_weights(h, m->model, "pooler."); /* vectors are made of the states before it */
    return true;
}

static float *embed(heed_ctx *cx, const void *own, const heed_lines *lines, const int64_t *line, int64_t n,
                    int64_t *width, int64_t *cut) {
    const heed_text_model *m = own;
    *width = heed_text_width(cx, m);
    heed_text_input *input = heed_mem_new(cx, (size_t)n * sizeof *input);
    float *out = heed_mem_new(cx, (size_t)n * (size_t)*width * sizeof *out);
    for (int64_t i = 0; input && i < n; i++)
        input[i] = (heed_text_input){.text = heed_line_text(lines, line[i]), .size = heed_line_size(lines, line[i])};
    if (input && out) heed_embed(cx, m, input, n, out, cut);
    heed_mem_free(cx, input);
    if (!heed_failed(cx)) return out;
    heed_mem_free(cx, out);
    return NULL;
}

heed_similar *heed_similar_open(heed_ctx *cx, const heed_text_model *m, const char *texts,
                                const heed_similar_opts *opts) {
    heed_lines lines = {0};
    if (heed_failed(cx)) return NULL;
    if (!m || !texts) return heed_fail(cx, HEED_ERR_USAGE, "similar: a model and a file of texts are needed"), NULL;
    struct similar_source source = {.what = "texts",
                                    .changed = "the texts have changed",
                                    .path = texts,
                                    .width = heed_text_width(cx, m),
                                    .at_once = AT_ONCE,
                                    .embed = embed,
                                    .own = m};
    if (heed_failed(cx) || !heed_lines_read(cx, texts, &lines)) return NULL;
    source.rows = similar_hash(1, lines.text, (size_t)lines.start[lines.count]);
    if (hash_model(cx, m, &source.model)) return similar_open(cx, &lines, &source, opts);
    heed_lines_free(cx, &lines);
    return NULL;
}
