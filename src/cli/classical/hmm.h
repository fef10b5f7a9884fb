/* Taggers that are hidden Markov models: a directory with config.json (model_type "heed-hmm", the tag of each state),
 * vocab.txt, a symbol a line, and model.safetensors (initial, transition, emission in double). A symbol is a word, or
 * stands for unknown words of one look: their capital and last letters. */
#ifndef CLI_CLASSICAL_HMM_H
#define CLI_CLASSICAL_HMM_H

#include "cli/core/options.h"
#include "heed/text.h"

#define HMM_TYPE       "heed-hmm"
#define HMM_VOCABULARY "vocab.txt"

/* The words of a line: their number, and where they are (word NULL: only counted). marks: punctuation marks are words,
 * else only blanks separate them. */
int64_t tag_split(const char *text, bool marks, heed_word *word);
/* What config.json says of that, and what --split says where it is given. */
bool tag_saved_marks(heed_ctx *cx, heed_json config);
bool tag_marks(const struct options *o, bool saved);

bool hmm_is(const char *dir);
int hmm_train(struct options *o); /* heed train tag --model hmm */
int hmm_tag_lines(struct options *o);
void hmm_evaluate(const struct options *o, heed_ctx *cx, const char *dir, const char *path);

#endif
