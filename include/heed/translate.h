/* heed/translate.h: translating text with a model directory: tokenizers, preprocessing, decoding.
 *
 * A directory holds tokenizer.json, for both languages or, beside target_tokenizer.json, for the source. config.json
 * may say how text is preprocessed: "translation": {"from": "en", "to": "de", "moses": true, "lower": true}. */
#ifndef HEED_TRANSLATE_H
#define HEED_TRANSLATE_H

#include "heed/generate.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is done to text before it is tokenised, and undone in translations. */
typedef struct heed_preprocessing {
    char from[16], to[16]; /* languages, "" where unknown */
    bool moses;            /* normalised and tokenised as Moses does */
    bool lower;            /* lower-cased */
} heed_preprocessing;
typedef enum heed_text_side { HEED_SOURCE, HEED_TARGET } heed_text_side;
HEED_API bool heed_preprocess(heed_ctx *cx, const heed_preprocessing *prep, heed_text_side side, const char *text,
                              size_t size, heed_string *to); /* adds to `to` */
HEED_API bool heed_preprocessing_put(heed_ctx *cx, heed_json config, const heed_preprocessing *prep);
HEED_API bool heed_preprocessing_get(heed_ctx *cx, heed_json config, heed_preprocessing *prep); /* nothing said: none */

typedef struct heed_translator {
    heed_model *model;
    heed_tokenizer *tokens[2]; /* of source and target, which may be one */
    heed_preprocessing preprocessing;
    const char
        *prefix; /* before every text, such as T5's "summarize: "; stays the caller's or config.json's; NULL: none */
} heed_translator;
/* Opens a directory of an encoder-decoder with its tokenizers. */
HEED_API heed_translator *heed_translator_open(heed_ctx *cx, const char *dir);
/* The same with the prefix and the decoding options that config.json says for summaries, under
 * task_specific_params.summarization: heed_translate_text then summarises. */
HEED_API heed_translator *heed_summarizer_open(heed_ctx *cx, const char *dir);
/* That prefix, task_specific_params.summarization.prefix as transformers' T5 has it; "": none. And says it. */
HEED_API const char *heed_text_prefix(heed_ctx *cx, const heed_model *model);
HEED_API bool heed_text_prefix_put(heed_ctx *cx, heed_model *model, const char *prefix);
HEED_API void heed_translator_free(heed_ctx *cx, heed_translator *t);
HEED_API int64_t heed_translator_positions(heed_ctx *cx, const heed_model *model); /* maximum tokens of a sentence */

/* Translates a sentence, UTF-8 that ends with 0, and adds its translation to `to`:
 *
 *     heed_translator *t = heed_translator_open(cx, "en-de");
 *     heed_string german = {0};
 *     heed_translate_text(cx, t, "A bird flies.", &(heed_generate_opts){.beams = 5, .length_penalty = 1}, &german);
 *
 * opts NULL: those of the directory, see heed_generate; n_best must be 0 or 1. An empty sentence has an empty
 * translation. Any number of contexts may use a translator at once. Many sentences are translated faster together:
 * heed_translator_encode, heed_translate_ids and heed_translation_text do it in steps. */
HEED_API bool heed_translate_text(heed_ctx *cx, const heed_translator *t, const char *text,
                                  const heed_generate_opts *opts, heed_string *to);
/* Preprocesses and encodes a sentence and adds its ids to `ids`, none for white space. Fails when the model has fewer
 * positions than there are ids. */
HEED_API bool heed_translator_encode(heed_ctx *cx, const heed_translator *t, const char *text, size_t size,
                                     heed_ids *ids);

/* Decodes sentences of ids, in batches of similar length. Without max_length and max_new_tokens: twice the source
 * (rounded up to a multiple of 8) and ten more, at most the model's positions. An empty input gives an empty output.
 * Free with heed_translated_free. */
typedef struct heed_translated {
    int64_t n, n_best;
    heed_ids *ids; /* (n * n_best), the best of each sentence first, without the end token */
    float *score;
    bool *ended; /* false: cut off at max_length */
} heed_translated;
HEED_API bool heed_translate_ids(heed_ctx *cx, const heed_model *model, const heed_ids *source, int64_t n,
                                 const heed_generate_opts *opts, heed_translated *out);
HEED_API void heed_translated_free(heed_ctx *cx, heed_translated *t);
/* The text of a translation, added to `to`. plain: Moses tokens are not detokenised, as BLEU on tokens wants them. */
HEED_API bool heed_translation_text(heed_ctx *cx, const heed_preprocessing *prep, const heed_tokenizer *tokens,
                                    const heed_ids *ids, bool plain, heed_string *to);

#ifdef __cplusplus
}
#endif
#endif
