/* heed tag and heed eval for taggers that are hidden Markov models. */
#ifndef CLI_CLASSICAL_HMM_USE_H
#define CLI_CLASSICAL_HMM_USE_H

#include "classical/hmm/hmm_tagger.h"
#include "cli/core/options.h"

int hmm_tag_lines(struct options *o);
void hmm_report(const struct options *o, heed_ctx *cx, const struct hmm_accuracy *found);

#endif
