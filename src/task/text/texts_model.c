/* Runs of tasks of text: the settings of a fresh model, and those that change a model of --init. */
#include "task/text/texts.h"
#include <stdio.h>
#include <string.h>

/* ---- sizes ---- */

/* A model from scratch is small enough to be trained on a CPU within the hour; --set makes it larger. */
static const struct size {
    const char *key, *setting;
} sizes[] = {{"hidden_size", "hidden_size=256"},
             {"num_hidden_layers", "num_hidden_layers=4"},
             {"num_attention_heads", "num_attention_heads=4"},
             {"intermediate_size", "intermediate_size=1024"},
             {"embedding_size", "embedding_size=128"},
             {"dim", "dim=256"},
             {"n_layers", "n_layers=4"},
             {"n_heads", "n_heads=4"},
             {"hidden_dim", "hidden_dim=1024"},
             {"d_model", "d_model=256"},
             {"d_ff", "d_ff=1024"},
             {"num_layers", "num_layers=4"},
             {"num_heads", "num_heads=4"}},
  decoder_sizes[] = {{"n_embd", "n_embd=128"},
                     {"n_layer", "n_layer=4"},
                     {"n_head", "n_head=4"},
                     {"hidden_size", "hidden_size=128"},
                     {"num_hidden_layers", "num_hidden_layers=4"},
                     {"num_attention_heads", "num_attention_heads=4"},
                     {"num_key_value_heads", "num_key_value_heads=4"},
                     {"head_dim", "head_dim=32"},
                     {"intermediate_size", "intermediate_size=384"},
                     {"attention_head_size", "attention_head_size=32"},
                     {"feed_forward_size", "feed_forward_size=384"},
                     {"axial_pos_embds_dim", "axial_pos_embds_dim=32,96"}};

static void put_sizes(const heed_run *r, struct settings *fresh) {
    const bool next = texts_of(r)->task->next;
    const struct size *const from = next ? decoder_sizes : sizes;
    const size_t n = next ? sizeof decoder_sizes / sizeof *from : sizeof sizes / sizeof *from;
    for (size_t i = 0; i < n; i++)
        if (run_has_key(r->family, from[i].key)) fresh->text[fresh->n++] = from[i].setting;
    if (texts_of(r)->task->recurrent_size && run_has_key(r->family, "num_layers"))
        fresh->text[fresh->n++] = texts_of(r)->task->recurrent_size;
}

/* ---- language models ---- */

/* The keys that follow from the data: the length of a window, and the tokens that begin and end a text. */
static void put_windows(const heed_run *r, struct settings *fresh, char text[4][64]) {
    static const char *const keys[] = {"n_positions", "max_position_embeddings", "bos_token_id", "eos_token_id"};
    const struct texts *const t = texts_of(r);
    const int32_t begin = t->task->begin ? heed_tokenizer_id(t->tokens, t->task->begin) : -1;
    const int32_t end =
        texts_are_chat(t) ? heed_chat_end(&t->chat.format, t->tokens) : heed_vocabulary_end_of_text(t->tokens);
    for (int i = 0; i < 4; i++) {
        if (!run_has_key(r->family, keys[i])) continue;
        if (i < 2 && run_has_key(r->family, "axial_pos_shape")) continue; /* it has room for padding to whole chunks */
        if (i < 2)
            snprintf(text[i], 64, "%s=%lld", keys[i], (long long)run_int(r, "context"));
        else if (end >= 0)
            snprintf(text[i], 64, "%s=%d", keys[i], (int)(i == 2 && begin >= 0 ? begin : end));
        else
            snprintf(text[i], 64, "%s=null", keys[i]);
        fresh->text[fresh->n++] = text[i];
    }
}

/* ---- conversations ---- */

bool texts_takes_chat(const heed_run *r) {
    const struct texts *const t = texts_of(r);
    return texts_are_chat(t) && t->chat.own && r->init;
}

static bool put_chat(const heed_run *r, heed_ctx *cx, struct settings *kept, char text[64]) {
    const struct texts *const t = texts_of(r);
    if (!texts_takes_chat(r) || t->chat.added == 0) return true;
    const int64_t has = heed_json_int(cx, heed_directory_config(r->init), "vocab_size"),
                  needs = heed_tokenizer_size(t->tokens);
    snprintf(text, 64, "vocab_size=%lld", (long long)(has > needs ? has : needs));
    kept->text[kept->n++] = text;
    return !heed_failed(cx);
}

/* ---- padding ---- */

/* A decoder's classifier finds the end of a text by the padding token, which the model of --init may lack. */
static bool init_lacks_padding(const heed_run *r, heed_ctx *cx) {
    if (!r->init || !run_takes_key(r, "pad_token_id")) return false;
    const heed_json pad = heed_json_find(cx, heed_directory_config(r->init), "pad_token_id");
    const bool lacks = heed_json_kind_of(pad) <= HEED_JSON_NULL || heed_json_int(cx, pad, NULL) < 0;
    return lacks && !heed_failed(cx);
}

/* ---- the model ---- */

/* The head's labels, and the kind of its loss. */
static void put_labels(const heed_run *r, heed_ctx *cx, struct settings *fresh, struct settings *kept, char pad[64],
                       char labels[64]) {
    const struct texts *const t = texts_of(r);
    const int64_t classes = heed_task_labels(t->data[TRAIN], NULL), n = t->task->labels > 0 ? t->task->labels : classes;
    if (t->task->problem && init_lacks_padding(r, cx)) kept->text[kept->n++] = pad;
    snprintf(labels, 64, "num_labels=%lld", (long long)n);
    if (n > 0) fresh->text[fresh->n++] = kept->text[kept->n++] = labels;
    if (t->task->problem) fresh->text[fresh->n++] = kept->text[kept->n++] = t->task->problem;
}

heed_model *texts_model(const heed_run *r, heed_ctx *cx) {
    const struct texts *t = texts_of(r);
    struct settings fresh = {.n = 0}, kept = {.n = 0};
    char vocab[64], pad[64], labels[64], generator[64], start[64], windows[4][64], rows[64];
    snprintf(vocab, sizeof vocab, "vocab_size=%lld", (long long)heed_tokenizer_size(t->tokens));
    snprintf(pad, sizeof pad, "pad_token_id=%d", (int)heed_vocabulary_padding(t->tokens));
    fresh.text[fresh.n++] = vocab;
    if (run_takes_key(r, "pad_token_id")) fresh.text[fresh.n++] = pad;
    put_sizes(r, &fresh);
    if (t->task->next) put_windows(r, &fresh, windows);
    put_labels(r, cx, &fresh, &kept, pad, labels);
    if (run_knows(r, "generator-size") && run_given(r, "generator-size")) {
        snprintf(generator, sizeof generator, "generator_size=%.17g", run_number(r, "generator-size"));
        fresh.text[fresh.n++] = kept.text[kept.n++] = generator;
    }
    if (run_has_key(r->family, "decoder_start_token_id")) { /* T5 begins with the padding token */
        snprintf(start, sizeof start, "decoder_start_token_id=%d", (int)heed_vocabulary_padding(t->tokens));
        fresh.text[fresh.n++] = start;
    }
    heed_model *model = put_chat(r, cx, &kept, rows) ? run_make_model(r, cx, &fresh, &kept) : NULL;
    if (model && texts_takes_chat(r))
        heed_json_put_int(cx, heed_model_decoding(model), "eos_token_id", heed_chat_end(&t->chat.format, t->tokens));
    if (model && t->opts.prefix && *t->opts.prefix) heed_text_prefix_put(cx, model, t->opts.prefix);
    if (model) heed_task_describe(cx, t->data[TRAIN], model);
    return model;
}
