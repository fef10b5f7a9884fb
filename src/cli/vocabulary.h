/* Vocabularies of translators: how they are learnt, and what their special tokens are called. */
#ifndef CLI_VOCABULARY_H
#define CLI_VOCABULARY_H

#include "heed/text.h"

heed_tokenizer_kind vocabulary_kind(const char *name); /* "char", "word" or "bpe", as options name it */
/* One for n texts, of at most `size` tokens, that puts the end token behind a sentence. */
heed_tokenizer *vocabulary_learn(heed_ctx *cx, const heed_lines *const *texts, int n, heed_tokenizer_kind kind,
                                 int64_t size);
/* The ids of the tokens that fill up and that end a sentence, by their usual names; -1 and a sentence without one. */
int32_t vocabulary_pad(heed_ctx *cx, const heed_tokenizer *t);
int32_t vocabulary_end(heed_ctx *cx, const heed_tokenizer *t);
/* False with a sentence when it does not put the end token behind a sentence: training would never see an end. */
bool vocabulary_ends(heed_ctx *cx, const heed_tokenizer *t);

#endif
