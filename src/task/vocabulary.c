/* Vocabularies of translators and encoders: training them, and the names of their special tokens. */
#include "base/profile.h"
#include "heed/task.h"
#include <string.h>

static const char *const pad_names[] = {"<pad>", "[PAD]", NULL}, *const end_names[] = {"</s>", "[SEP]", "<eos>", NULL};

heed_tokenizer_kind heed_vocabulary_kind(const char *name) {
    static const char *const names[] = {"char", "word", "bpe", "byte-bpe", "wordpiece", "unigram"};
    int kind = 0;
    while (kind < HEED_TOKENS_UNIGRAM && strcmp(names[kind], name) != 0) kind++;
    return (heed_tokenizer_kind)kind;
}

heed_tokenizer *heed_vocabulary_train(heed_ctx *cx, const heed_lines *const *texts, int n, heed_tokenizer_kind kind,
                                      int64_t size) {
    const heed_tokenizer_opts opts = {.kind = kind,
                                      .vocabulary = size,
                                      .pad = pad_names[0],
                                      .bos = "<s>",
                                      .eos = end_names[0],
                                      .unk = "<unk>",
                                      .add_eos = true};
    const struct profile_mark mark = profile_begin(cx);
    heed_tokenizer *t = heed_tokenizer_train(cx, texts, n, &opts);
    profile_end(cx, mark, "train tokenizer", PROFILE_FORWARD);
    return t;
}

heed_tokenizer *heed_vocabulary_train_encoder(heed_ctx *cx, const heed_lines *const *texts, int n,
                                              heed_tokenizer_kind kind, int64_t size) {
    const heed_tokenizer_opts opts = {.kind = kind,
                                      .vocabulary = size,
                                      .pad = "[PAD]",
                                      .bos = "[CLS]",
                                      .eos = "[SEP]",
                                      .unk = "[UNK]",
                                      .mask = "[MASK]",
                                      .lower = true,
                                      .add_bos = true,
                                      .add_eos = true};
    const struct profile_mark mark = profile_begin(cx);
    heed_tokenizer *t = heed_tokenizer_train(cx, texts, n, &opts);
    profile_end(cx, mark, "train tokenizer", PROFILE_FORWARD);
    return t;
}

int32_t heed_vocabulary_padding(const heed_tokenizer *t) {
    for (int i = 0; pad_names[i]; i++)
        if (heed_tokenizer_id(t, pad_names[i]) >= 0) return heed_tokenizer_id(t, pad_names[i]);
    return 0;
}

/* The first of several names that the vocabulary knows. */
static int32_t find(heed_ctx *cx, const heed_tokenizer *t, const char *what, const char *const *names) {
    for (int i = 0; names[i]; i++)
        if (heed_tokenizer_id(t, names[i]) >= 0) return heed_tokenizer_id(t, names[i]);
    heed_fail(cx, HEED_ERR_FORMAT, "train: the tokenizer has no %s, such as %s", what, names[0]);
    return -1;
}

int32_t heed_vocabulary_pad(heed_ctx *cx, const heed_tokenizer *t) { return find(cx, t, "padding token", pad_names); }
int32_t heed_vocabulary_end(heed_ctx *cx, const heed_tokenizer *t) {
    return find(cx, t, "end-of-sentence token", end_names);
}

bool heed_vocabulary_ends(heed_ctx *cx, const heed_tokenizer *t) {
    heed_ids ids = {0};
    heed_encode(cx, t, "a", 1, true, &ids);
    const bool ends = ids.count > 0 && ids.id[ids.count - 1] == heed_vocabulary_end(cx, t);
    heed_ids_free(cx, &ids);
    if (!heed_failed(cx) && !ends)
        heed_fail(cx, HEED_ERR_FORMAT, "train: the tokenizer does not append the end-of-sentence token");
    return !heed_failed(cx);
}
