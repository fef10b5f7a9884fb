/* Files of hypotheses and references, line by line: of heed bleu and heed rouge. */
#ifndef CLI_EVAL_REFERENCES_H
#define CLI_EVAL_REFERENCES_H

#include "cli/core/options.h"
#include "heed/text.h"

enum { MAX_REFERENCES = 64 };

/* The files that the words of the command line name, the hypothesis first, of as many lines each. `who` begins the
 * sentence. */
bool references_read(const struct options *o, heed_ctx *cx, const char *who, heed_lines lines[1 + MAX_REFERENCES]);
void references_free(const struct options *o, heed_ctx *cx, heed_lines *lines);

#endif
