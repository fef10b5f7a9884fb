/* heed/generate.h: decoding: from source tokens to target tokens with an encoder-decoder.
 *
 * Greedy search takes the likeliest token at every place; beam search keeps several beginnings and compares what they
 * end as; sampling draws. Greedy and beam search give the tokens of transformers' `generate`; sampling is a function of
 * the seed. A sentence gives the same whatever it is batched with and for any number of threads. */
#ifndef HEED_GENERATE_H
#define HEED_GENERATE_H

#include "heed/model.h"
#include "heed/text.h"

#ifdef __cplusplus
extern "C" {
#endif

/* When beam search stops, once a sentence has as many finished hypotheses as beams: transformers' early_stopping. */
typedef enum heed_early_stopping {
    HEED_STOP_HEURISTIC,   /* false: when the best beam, ended here, would score no better than the worst of them */
    HEED_STOP_EARLY,       /* true: at once */
    HEED_STOP_NEVER_EARLY, /* "never": when no beam can score better, however it continues */
} heed_early_stopping;

typedef struct heed_generate_opts {
    int64_t beams;        /* 1: greedy */
    int64_t n_best;       /* hypotheses of a sentence, at most as many as beams; samples of a sentence; 0: 1 */
    float length_penalty; /* a score is the sum of log-probabilities / length^this; 0: the sum, 1: the mean */
    heed_early_stopping early_stopping;
    int64_t max_length, min_length; /* tokens with the start token and the end; max 0: the model's positions */
    int64_t no_repeat_ngram;        /* so many tokens in a row never come twice; 0: they may */

    bool sample;           /* one beam then */
    float temperature;     /* divides the logits; 0: 1 */
    int64_t top_k;         /* only the likeliest tokens are drawn from; 0: all */
    float top_p;           /* and of these the fewest that make up this probability, in (0, 1]; 0: 1 */
    uint64_t seed;         /* sample i of sentence s, of n_best, draws from stream number[s] n_best + i */
    const int64_t *number; /* (n) of the sentences; NULL: 0, 1, 2, … */

    int64_t batch; /* sentences that are decoded at a time; 0: heed's choice */
    bool uncached; /* every step computes all tokens anew: slow, and the same */
} heed_generate_opts;

typedef struct heed_hypothesis {
    const int32_t *ids; /* without the start token and the end */
    int64_t length;
    float score;
    bool ended; /* false: max_length was reached, or no token was allowed */
} heed_hypothesis;

/* best[s n_best + i]: hypothesis i of sentence s, the best first; samples in the order drawn. Where the rules allow
 * fewer hypotheses, the last ones are empty, with a score of -inf. One block: heed_mem_free gives back all of it. */
typedef struct heed_generated {
    int64_t sentences, n_best;
    heed_hypothesis *best;
} heed_generated;

/* opts NULL: greedy. Sentences are taken as they are, with the end token or whatever else the model was trained with,
 * and are decoded together with those of like length. Of heed_model_decoding, eos_token_id and decoder_start_token_id
 * (or else bos_token_id) are taken, and forced_bos_token_id (the first token), forced_eos_token_id (the last one when
 * max_length is reached) and bad_words_ids (runs of tokens that never come) are honoured. Progress counts "sentences".
 * In a dry context no sentence ends before max_length, so that the memory of any is planned. */
HEED_API heed_generated *heed_generate(heed_ctx *cx, const heed_model *model, const heed_ids *source, int64_t n,
                                       const heed_generate_opts *opts);

#ifdef __cplusplus
}
#endif
#endif
