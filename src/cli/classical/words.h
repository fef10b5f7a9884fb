/* heed words: what its two files share. */
#ifndef CLI_CLASSICAL_WORDS_H
#define CLI_CLASSICAL_WORDS_H

#include "cli/core/options.h"
#include "heed/words.h"

/* Draws the map that was asked for; false when the context has failed. */
bool words_map(const struct options *o, heed_ctx *cx, const heed_words *w);

#endif
