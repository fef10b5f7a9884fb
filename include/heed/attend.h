/* heed/attend.h: the attention weights of a model on one input, with a name for every query and key. What becomes of an
 * input follows from what the model's head takes: a text, a pair of texts, a text and its target, or rows of numbers.
 * Attention over pictures is below. */
#ifndef HEED_ATTEND_H
#define HEED_ATTEND_H

#include "heed/image.h"
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

/* ---- pictures ---- */

/* One kind of attention over a picture: layers whose patches are of one size. Tokens are counted as the model has them:
 * those before the patches, then the patches row by row. Attention within windows is that of the whole grid, with no
 * weight outside of the window, wherever the windows lie. */
typedef struct heed_picture_site {
    const char *name; /* "attention", "pooling", "cross"; where patches are merged "stage 0", ... */
    int layers;
    int64_t heads;
    int64_t rows, columns;             /* of patches */
    int64_t patch_height, patch_width; /* in pixels of what the model is given; the last patches may reach beyond */
    int64_t first;                     /* tokens before the patches, */
    const char *const *names;          /* (first) and what they are: "class", "distillation", "register 0" */
    int64_t learned;                   /* queries that are no tokens: 1 of attention pooling, the latents of a
                                        * Perceiver; 0: every token is a query */
    bool has_class;                    /* token 0 is the class token */
    bool windows;                      /* attention is within windows */
    const struct picture_layer *own;
} heed_picture_site;

typedef struct heed_attended_picture {
    int64_t height, width; /* of what the model is given */
    int n;
    const heed_picture_site *sites; /* in the order in which they were computed */
    struct attended_picture *own;
} heed_attended_picture;

/* The picture must stay as long as what is found of it, whose heed_attended_view shows parts of it. */
HEED_API heed_attended_picture *heed_attend_picture(heed_ctx *cx, const heed_model *model,
                                                    const heed_image_processor *processor, const heed_image *picture);
HEED_API void heed_attended_picture_free(heed_ctx *cx, heed_attended_picture *a);

/* Which query: a token, or a learned one; or who reads the picture for the model: the class token, the mean of the
 * learned queries, or where there is neither the mean of all patches. */
#define HEED_READER (-1)
/* The weights of a query over all tokens, out (first + rows * columns); head -1: the mean of all heads. */
HEED_API bool heed_attended_row(heed_ctx *cx, const heed_picture_site *site, int layer, int64_t head, int64_t query,
                                float *out);
/* Attention rollout (Abnar and Zuidema 2020): how much of each token there is in the query's state after this layer,
 * where a layer hands on half of the state and half of what its heads attend to on average. out is over the tokens of
 * the first site, as many as it has; merged patches are handed on in equal parts. Of learned queries of the first site
 * it is their row: they hand on nothing of the picture. */
HEED_API bool heed_attended_rollout(heed_ctx *cx, const heed_attended_picture *a, int site, int layer, int64_t query,
                                    float *out);
/* The part of the picture that a site's patches cover, in its own shape and about `longer` pixels on its longer side,
 * to draw weights over: every patch has the same whole number of pixels. Where the model is given a quarter of these
 * pixels or fewer, the view shows those. */
HEED_API bool heed_attended_view(heed_ctx *cx, const heed_attended_picture *a, int site, int64_t longer,
                                 heed_image *out);
/* The weights of a layer as they were captured, (1, heads, queries, tokens), or within windows (windows, heads, n, n):
 * *cells (may be NULL) is then (windows, n), the patch that each of their tokens is, -1: padding; else NULL. */
HEED_API const heed_capture_map *heed_attended_map(const heed_picture_site *site, int layer, const int32_t **cells);

/* Is this among the inputs of the model's head: "input_ids", "decoder_input_ids", "token_type_ids", "x"? */
HEED_API bool heed_model_takes(const heed_model *model, const char *input);

#ifdef __cplusplus
}
#endif
#endif
