/* Vocabularies of translators: training them, and the names of their special tokens. */
#ifndef CLI_VOCABULARY_H
#define CLI_VOCABULARY_H

#include "heed/text.h"

heed_tokenizer_kind
vocabulary_kind(const char *name); /* "char", "word", "bpe", "byte-bpe", "wordpiece" or "unigram", as options name it */
/* One for n texts, of at most `size` tokens, that appends the end-of-sentence token. */
heed_tokenizer *vocabulary_learn(heed_ctx *cx, const heed_lines *const *texts, int n, heed_tokenizer_kind kind,
                                 int64_t size);
/* The same for an encoder: text between [CLS] and [SEP], with [PAD], [UNK] and [MASK]. */
heed_tokenizer *vocabulary_of_encoder(heed_ctx *cx, const heed_lines *const *texts, int n, heed_tokenizer_kind kind,
                                      int64_t size);
int32_t vocabulary_padding(const heed_tokenizer *t); /* by its usual names; 0: none has them */
/* The ids of the padding and end-of-sentence tokens, by their usual names; -1 and a failed context without one. */
int32_t vocabulary_pad(heed_ctx *cx, const heed_tokenizer *t);
int32_t vocabulary_end(heed_ctx *cx, const heed_tokenizer *t);
/* Fails the context when it does not append the end-of-sentence token: translations would never end. */
bool vocabulary_ends(heed_ctx *cx, const heed_tokenizer *t);

#endif
