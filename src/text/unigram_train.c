#include "text/tokenizer.h"
bool unigram_learn(heed_ctx *cx, const struct map *words, int64_t most, struct map *tokens, double **scores) {
    (void)words, (void)most, (void)tokens, (void)scores;
    return heed_fail(cx, HEED_ERR_USAGE, "train: unigram");
}
