/* From text to the inputs of a model. */
#include "heed/attend.h"
#include "task/task.h"
#include <string.h>

#define ANY_LENGTH ((int64_t)1 << 20)

/* As many as a model's sample has tokens at most; 0: it has no limit. */
static int64_t positions_of(heed_ctx *cx, const heed_model *m) {
    heed_ctx *dry = heed_open(&(heed_config){.threads = 1, .dry = true});
    heed_io in = {0};
    int64_t positions = 0;
    if (!dry) return heed_fail(cx, HEED_ERR_MEMORY, "text: no memory to look at the model"), 0;
    if (heed_model_sample(dry, m, 1, ANY_LENGTH, &in)) positions = heed_dim(heed_io_get(&in, "input_ids"), -1);
    if (heed_failed(dry)) heed_fail(cx, heed_error(dry), "%s", heed_message(dry));
    heed_close(dry);
    return positions < ANY_LENGTH ? positions : 0;
}

/* The padding token: what config.json says, else the tokenizer's. Older files have -1 where there is none. */
static int32_t pad_of(heed_ctx *cx, const heed_model *m, const heed_tokenizer *t) {
    const heed_json pad = heed_json_find(cx, heed_model_config(m), "pad_token_id");
    const int64_t id = heed_json_kind_of(pad) == HEED_JSON_INT ? heed_json_int(cx, pad, NULL) : -1;
    return id >= 0 ? (int32_t)id : heed_vocabulary_padding(t);
}

/* Families whose words begin with a space: single words get one, as add_prefix_space in transformers' examples. */
static bool wants_space(const heed_model *m) {
    static const char *const names[] = {"roberta", "gpt2", "bloom", "deberta"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(heed_model_family(m)->name, names[i]) == 0) return true;
    return false;
}

bool heed_text_reader_of(heed_ctx *cx, const heed_model *model, const heed_tokenizer *tokens, int64_t max_length,
                         heed_text_reader *reader) {
    if (heed_failed(cx)) return false;
    if (!model || !tokens || !reader)
        return heed_fail(cx, HEED_ERR_USAGE, "text: a model, its tokenizer and a place for the reader are needed");
    if (!heed_model_takes(model, "input_ids"))
        return heed_fail(cx, HEED_ERR_USAGE, "text: %s is no model of text", heed_model_family(model)->name);
    const int64_t positions = positions_of(cx, model);
    const int64_t words = heed_json_int_or(cx, heed_model_config(model), "vocab_size", heed_tokenizer_size(tokens));
    if (!heed_failed(cx) && heed_tokenizer_size(tokens) > words)
        return heed_fail(cx, HEED_ERR_FORMAT, "the tokenizer has %lld tokens, the model's vocabulary %lld",
                         (long long)heed_tokenizer_size(tokens), (long long)words);
    *reader = (heed_text_reader){.tokens = tokens,
                                 .pad = pad_of(cx, model, tokens),
                                 .types = heed_model_takes(model, "token_type_ids"),
                                 .next = heed_model_takes(model, "shift_labels"),
                                 .packs = heed_model_takes(model, "segment_ids"),
                                 .prefix_space = wants_space(model)};
    reader->max_length = max_length > 0 && (positions == 0 || max_length < positions) ? max_length : positions;
    return !heed_failed(cx);
}

void heed_text_columns(const heed_text_reader *reader, heed_dataset *set) {
    if (!reader || !set) return;
    set->column[set->columns++] = (heed_column){
        .name = "input_ids", .type = HEED_I32, .ragged = true, .fill = reader->pad, .mask = "attention_mask"};
    if (reader->types)
        set->column[set->columns++] = (heed_column){.name = "token_type_ids", .type = HEED_I32, .ragged = true};
}

bool heed_text_cells(heed_ctx *cx, const heed_text_reader *reader, const heed_text_input *text, heed_encoding *room,
                     heed_ids *ids, heed_cell *cells, bool *cut) {
    if (heed_failed(cx)) return false;
    if (!reader || !text || !ids || !cells)
        return heed_fail(cx, HEED_ERR_USAGE, "text_cells: the reader, text, ids or cells are NULL");
    const size_t size = text->size || !text->text ? text->size : strlen(text->text);
    const heed_encode_opts opts = {.pair = text->pair,
                                   .pair_size = text->pair && !text->pair_size ? strlen(text->pair) : text->pair_size,
                                   .words = text->words,
                                   .n_words = text->n_words,
                                   .prefix_space = text->words && reader->prefix_space};
    if (!heed_encode_text(cx, reader->tokens, text->text, size, &opts, room)) return false;
    const bool is_long = reader->max_length > 0 && room->count > reader->max_length;
    if (is_long) { /* once more, with an end that is a special token */
        heed_encode_opts shorter = opts;
        shorter.truncate = reader->max_length;
        if (!heed_encode_text(cx, reader->tokens, text->text, size, &shorter, room)) return false;
    }
    if (cut && is_long) *cut = true;
    ids->count = 0;
    for (int64_t i = 0; i < room->count; i++)
        if (!heed_ids_put(cx, ids, room->token[i].id)) return false;
    for (int64_t i = 0; reader->types && i < room->count; i++)
        if (!heed_ids_put(cx, ids, room->token[i].type)) return false;
    cells[0] = (heed_cell){ids->id, room->count};
    if (reader->types) cells[1] = (heed_cell){ids->id + room->count, room->count};
    return true;
}
