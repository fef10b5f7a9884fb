/* What heed eval, score and generate do with an n-gram model, in place of a network. */
#ifndef CLI_CLASSICAL_NGRAM_USE_H
#define CLI_CLASSICAL_NGRAM_USE_H

#include "classical/ngram/ngram_model.h"
#include "cli/core/options.h"

void ngram_report(const struct options *o, heed_ctx *cx, const struct ngram_sum *found, int order);
int ngram_score_lines(const struct options *o, const char *dir);
int ngram_generate_lines(const struct options *o, const char *dir);

#endif
