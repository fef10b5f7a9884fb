/* A text read by a model with its attention captured: the tokens, and the weights at every site. */
#ifndef CLI_ATTEND_H
#define CLI_ATTEND_H

#include "heed/attention.h"
#include "heed/model.h"
#include "heed/plot.h"
#include "heed/translate.h"

/* The source or the target, tokenized. */
struct attend_side {
    const heed_tokenizer *tokenizer;
    heed_string text; /* as it was given, or as the model wrote it */
    heed_ids ids;
    char *letters;       /* of the names that follow */
    const char **tokens; /* as the vocabulary has them */
    const char **labels; /* for people: without the mark that begins a word, control characters as escapes */
    const char **next, **next_labels; /* the token that the decoder predicts at each position; NULL: none */
};

#define ATTEND_SITES 9

struct attend {
    heed_ctx *cx;
    const char *dir;
    heed_model *model;
    heed_tokenizer *tokenizers[2];     /* of source and target, which may be one */
    heed_preprocessing preprocessing;  /* how text is prepared for the model */
    struct attend_side source, target; /* target without ids: the model has none */
    /* In the order in which they were captured; sites[i].maps[l] is the l-th layer. */
    heed_attention_site sites[ATTEND_SITES];
    const struct attend_side *queries[ATTEND_SITES], *keys[ATTEND_SITES];
    int n;
    heed_capture_map *maps;
};

/* Reads `text` with the model of `dir`; for an encoder-decoder with `target`, or when that is NULL with what the model
 * itself makes of the text. "-" is a line of standard input. The capture stays until attend_close. */
bool attend_open(heed_ctx *cx, const char *dir, const char *text, const char *target, struct attend *a);
void attend_close(struct attend *a);

#endif
