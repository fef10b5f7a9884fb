/* heed/attend.h: the attention weights of a model on one input, with a name for every query and key. What becomes of an
 * input follows from what the model's head takes: a text, a pair of texts, a text and its target, or rows of numbers.
 */
#ifndef HEED_ATTEND_H
#define HEED_ATTEND_H

#include "heed/model.h"
#include "heed/text.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One input. Texts are UTF-8, and are prepared and tokenised as the model's own text was. */
typedef struct heed_attend_input {
    const char *text;   /* NULL: numbers */
    const char *pair;   /* a second text beside it, for models that read pairs; NULL: none */
    const char *target; /* of an encoder-decoder; NULL: what the model itself makes of the text */
    bool words;         /* words instead of tokens, for models without a target: attention to a word is the sum over its
                         * tokens, attention from it their mean (Clark et al. 2019) */
    const float *x;     /* (rows, columns), for models of vectors: every row is a query */
    int64_t rows, columns;
} heed_attend_input;

/* The tokens or points along one side of a map. */
typedef struct heed_axis {
    const char *what; /* "source", "target", "text", "queries", "points" */
    int64_t n;
    const char *const *tokens; /* as the vocabulary has them */
    const char *const *labels; /* for people: without the mark that begins a word, control characters as escapes */
    const int32_t *segments;   /* which text each is of, 0 or 1 (token_type_ids); NULL: there is only one */
    const int32_t *words;      /* number of the word that each token is part of; NULL: unknown, or they are words */
    const char *const *next, *const *next_labels; /* the token that the decoder predicts at each; NULL: none */
} heed_axis;

/* One kind of attention of the model: maps of one size, of all its layers that have it. */
typedef struct heed_attended_site {
    const char *name;  /* "attention", "encoder", "decoder", "cross", ... */
    const char *title; /* a few words more; NULL: none */
    const heed_axis *queries, *keys;
    const heed_capture_map *maps; /* (1, heads, queries, keys) each, in the order of the layers */
    int n_maps;
} heed_attended_site;

typedef struct heed_attended {
    const char *text, *pair, *target; /* as they were given, or as the model wrote it; NULL: none */
    int n;
    const heed_attended_site *sites; /* in the order in which they were computed */
    struct attended *own;
} heed_attended;

/* tokenizers: of source and target, which may be one; NULL for models of vectors. */
HEED_API heed_attended *heed_attend(heed_ctx *cx, const heed_model *model, heed_tokenizer *const tokenizers[2],
                                    const heed_attend_input *input);
HEED_API void heed_attended_free(heed_ctx *cx, heed_attended *a);
/* Is this among the inputs of the model's head: "input_ids", "decoder_input_ids", "token_type_ids", "x"? */
HEED_API bool heed_model_takes(const heed_model *model, const char *input);

#ifdef __cplusplus
}
#endif
#endif
