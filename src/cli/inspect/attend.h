/* A model, its tokenizers and what was read with it. */
#ifndef CLI_INSPECT_ATTEND_H
#define CLI_INSPECT_ATTEND_H

#include "cli/core/options.h"
#include "heed/attend.h"
#include "heed/plot.h"

struct attend {
    heed_ctx *cx;
    const char *dir;
    heed_model *model;
    heed_tokenizer *tokenizers[2]; /* of source and target, which may be one; NULL: it reads no text */
    heed_string text[3];           /* text, pair and target, where given */
    heed_attended *found;
};

/* What is given on the command line: "-" is a line of standard input; NULL: nothing. A model of vectors reads the text
 * as rows of numbers, between commas, with semicolons or new lines between rows. */
struct attend_words {
    const char *text, *pair, *target;
    bool whole; /* words, not tokens */
};
bool attend_open(heed_ctx *cx, const char *dir, const struct attend_words *words, struct attend *a);
void attend_close(struct attend *a);

/* heed attend on a picture, with the command's options; the exit status. */
int attend_picture(const struct options *o);
/* Whether the options are those of what the model reads, pictures or not; false after saying which is not. */
bool attend_options_fit(const struct options *o);

#define ATTEND_SITES 9 /* as many as a page shows */
/* The sites for heed_attention_page; false with a sentence when there are more than a page shows. */
bool attend_sites(const struct attend *a, heed_attention_site sites[ATTEND_SITES]);

#endif
