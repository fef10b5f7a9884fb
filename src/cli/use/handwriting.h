/* What the commands do with a model of handwriting. */
#ifndef CLI_USE_HANDWRITING_H
#define CLI_USE_HANDWRITING_H

#include "cli/core/options.h"
#include "heed/handwriting.h"

/* For the table of heed generate. */
extern const heed_field handwriting_options[];

/* Whether a directory holds such a model; false, too, when nothing can be read there. */
bool handwriting_is(const char *dir);

/* False after saying that an option is for handwriting, where the model is of another kind. */
bool handwriting_fits(const struct options *o);

/* heed generate and heed attend. */
int handwriting_generate(const struct options *o, const char *dir);
int handwriting_attend(const struct options *o, heed_ctx *cx, const heed_model *model); /* the text is word 1 */

#endif
