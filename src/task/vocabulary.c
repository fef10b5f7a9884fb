/* Vocabularies of translators, encoders and language models: training them, and the names of their special tokens. */
#include "base/profile.h"
#include "heed/task.h"
#include "text/tokenizer/tokenizer.h"
#include <stdio.h>
#include <string.h>

#define SENTINELS 100 /* of T5 */

static const char *const pad_names[] = {"<pad>", "[PAD]", NULL}, *const end_names[] = {"</s>", "[SEP]", "<eos>", NULL};

heed_tokenizer_kind heed_vocabulary_kind(const char *name) {
    static const char *const names[] = {"char", "word", "bpe", "byte-bpe", "wordpiece", "unigram"};
    int kind = 0;
    while (kind < HEED_TOKENS_UNIGRAM && (!name || strcmp(names[kind], name) != 0)) kind++;
    return (heed_tokenizer_kind)kind;
}

static heed_tokenizer *train(heed_ctx *cx, const heed_lines *const *texts, int n, const heed_tokenizer_opts *opts) {
    const struct profile_mark mark = profile_begin(cx);
    heed_tokenizer *t = heed_tokenizer_train(cx, texts, n, opts);
    profile_end(cx, mark, "train tokenizer", PROFILE_FORWARD);
    return t;
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
    return train(cx, texts, n, &opts);
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
    return train(cx, texts, n, &opts);
}

heed_tokenizer *heed_vocabulary_train_lm(heed_ctx *cx, const heed_lines *const *texts, int n, heed_tokenizer_kind kind,
                                         int64_t size, bool chat) {
    static const char *const turns[] = {"<|im_start|>", "<|im_end|>", NULL};
    const heed_tokenizer_opts opts = {.kind = kind,
                                      .vocabulary = size,
                                      .bos = "<|endoftext|>",
                                      .eos = "<|endoftext|>",
                                      .unk = kind == HEED_TOKENS_BYTE_BPE ? NULL : "<unk>", /* no byte is unknown */
                                      .more = chat ? turns : NULL};
    char roles[] = "system\nuser\nassistant\n"; /* what ChatML says beside its tokens is to be known, too */
    int64_t start[] = {0, sizeof roles};
    const heed_lines format = {roles, start, 1};
    if (!texts) n = 0;
    const heed_lines **const all = heed_mem_new(cx, (size_t)(n + 1) * sizeof *all);
    if (!all) return NULL;
    for (int i = 0; i < n; i++) all[i] = texts[i];
    all[n] = &format;
    heed_tokenizer *const t = train(cx, all, n + chat, &opts);
    heed_mem_free(cx, all);
    return t;
}

heed_tokenizer *heed_vocabulary_train_text2text(heed_ctx *cx, const heed_lines *const *texts, int n,
                                                heed_tokenizer_kind kind, int64_t size) {
    char text[SENTINELS][32];
    const char *sentinels[SENTINELS + 1] = {NULL};
    for (int i = 0; i < SENTINELS; i++) {
        snprintf(text[i], sizeof text[i], "<extra_id_%d>", i);
        sentinels[i] = text[i];
    }
    const heed_tokenizer_opts opts = {.kind = kind,
                                      .vocabulary = size,
                                      .pad = pad_names[0],
                                      .eos = end_names[0],
                                      .unk = "<unk>",
                                      .more = sentinels,
                                      .add_eos = true};
    return train(cx, texts, n, &opts);
}

int32_t heed_vocabulary_end_of_text(const heed_tokenizer *t) { return t ? t->role[ROLE_EOS] : -1; }

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
