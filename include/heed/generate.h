/* heed/generate.h: decoding: from tokens to the tokens that follow, with an encoder-decoder or a decoder alone.
 *
 * Greedy search takes the most probable token at every position; beam search keeps the `beams` best partial hypotheses;
 * sampling draws tokens at random. Greedy and beam search give the tokens of transformers' `generate`; samples are a
 * function of the seed. The result of a sequence depends neither on its batch nor on the number of threads.
 *
 * Those who want a loop of their own take a session: tokens in, logits out, and the key-value cache is kept. */
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
    int64_t beams;        /* beam width; 0 and 1: greedy */
    int64_t n_best;       /* hypotheses returned, at most `beams`; or samples of a sentence; 0: 1 */
    float length_penalty; /* a score is the sum of log-probabilities / length^length_penalty */
    heed_early_stopping early_stopping;
    int64_t max_length, min_length; /* tokens, prompt or start token, and end included; max 0: the model's positions */
    int64_t max_new_tokens, min_new_tokens; /* without the prompt or start token; 0: not limited so; max_new_tokens
                                             * overrides max_length */
    int64_t no_repeat_ngram;                /* forbid repeated n-grams of this size; 0: allow all */
    float repetition_penalty; /* of tokens that came before, prompt included (Keskar et al. 2019); 0: 1, none */
    const char *const *stop;  /* (n_stop) stop texts: a hypothesis ends with the token that completes one after the
                               * prompt */
    int n_stop;
    const heed_tokenizer *stop_tokens; /* of the target, for stop texts and on_text */

    bool sample;           /* instead of searching, with one beam */
    float temperature;     /* divides the logits; 0: 1 */
    int64_t top_k;         /* sample from the top_k most probable tokens; 0: from all */
    float top_p;           /* nucleus sampling: the fewest of these whose probabilities reach it, in (0, 1]; 0: 1 */
    float min_p;           /* of these, those of at least min_p times the largest probability, in [0, 1] */
    uint64_t seed;         /* sample i of sentence s has random stream number[s] n_best + i */
    const int64_t *number; /* (n) of the sentences; NULL: 0, 1, 2, … */

    /* Called with every token of best[sequence] as soon as it is chosen, in order; false ends that sequence after it.
     * With a beam width of 1 only. */
    bool (*on_token)(void *user, int64_t sequence, int32_t token);
    /* Called with the text of best[sequence] as soon as it is certain, `size` bytes and a 0: whole characters as they
     * continue the prompt, never a stop text nor what may become one. The pieces together are what
     * heed_generator_decode gives. False ends that sequence. With a beam width of 1 only; needs stop_tokens.
     *
     * Both are called on the thread of heed_generate, between two steps. The context may be used for strings, memory
     * and tokenizers (heed_string_…, heed_mem_…, heed_encode, heed_decode), not for tensors, models or another
     * heed_generate; an error that it is given ends the generation. */
    bool (*on_text)(void *user, int64_t sequence, const char *text, size_t size);
    void *user;

    /* Which tokens may follow n ids, prompt or start token first: a rule of one's own beside the directory's, as
     * transformers' prefix_allowed_tokens_fn. NULL: all may. */
    bool (*allowed)(const void *rule, const int32_t *ids, int64_t n, int32_t token);
    const void *rule;

    bool fit; /* maximum lengths beyond the model's positions are cut to them, not refused */
    /* A decoder alone writes on past its positions: whenever a sequence has more tokens than those, the model sees only
     * the last ones of it, computed anew from position 0, as nanoGPT's generate does. Half of the context is forgotten
     * at a time, but for a first token that is bos_token_id. Prompts must still fit. Beam search and encoder-decoders
     * do not slide: for them it has no effect. */
    bool context_shift;
    int64_t batch; /* sequences decoded at once; 0: heed's choice */
    bool uncached; /* no key-value cache: slow, and the same tokens */
} heed_generate_opts;

/* Why a hypothesis goes no further. */
typedef enum heed_finish {
    HEED_FINISH_STOP,    /* an end token or a stop text */
    HEED_FINISH_LENGTH,  /* the maximum length was reached */
    HEED_FINISH_CONTEXT, /* the model has no more positions, although the maximum length was not reached */
    HEED_FINISH_RULES,   /* no token was allowed */
    HEED_FINISH_CALLER,  /* on_token or on_text returned false */
} heed_finish;
HEED_API const char *heed_finish_name(heed_finish why); /* "stop", "length", "context", "rules", "caller" */

typedef struct heed_hypothesis {
    const int32_t *ids; /* without prompt, start token and end token; with a stop text */
    int64_t length;
    float score;
    bool ended; /* finish is HEED_FINISH_STOP */
    heed_finish finish;
} heed_hypothesis;

/* best[s n_best + i]: hypothesis i of sentence s, best first; samples in the order drawn. Where fewer hypotheses are
 * allowed, the last ones are empty, with a score of -inf. One block: heed_mem_free frees all of it. */
typedef struct heed_generated {
    int64_t sentences, n_best;
    heed_hypothesis *best;
} heed_generated;

/* Overrides the options that the model's directory gives (heed_model_decoding), under transformers' names: num_beams,
 * num_return_sequences, length_penalty, early_stopping, max_length, max_new_tokens, min_length, min_new_tokens,
 * no_repeat_ngram_size, repetition_penalty, do_sample, temperature, top_k, top_p, min_p. Others that would change the
 * result are named in the log and ignored. */
HEED_API bool heed_generate_config(heed_ctx *cx, const heed_model *model, heed_generate_opts *opts);

/* Input of an encoder-decoder are sources: encoded sentences with the special tokens that the model was trained with.
 * Input of a decoder alone are prompts; an empty one begins with bos_token_id. Both are batched by length.
 *
 * opts NULL: those of the model's directory, greedy where it gives none. From heed_model_decoding come eos_token_id,
 * one or several, decoder_start_token_id (or else bos_token_id), forced_bos_token_id (the first token),
 * forced_eos_token_id (the last one when the maximum length is reached), bad_words_ids (token sequences that are never
 * generated), suppress_tokens and begin_suppress_tokens. Progress counts "sentences" or "prompts". In a dry context no
 * sequence ends before its maximum length, so that memory is planned for all of them. */
HEED_API heed_generated *heed_generate(heed_ctx *cx, const heed_model *model, const heed_ids *input, int64_t n,
                                       const heed_generate_opts *opts);

/* ---- sessions ---- a decoding under way: the tokens of some sequences, and the state that the model has after them.
 *
 *     heed_session *s = heed_session_open(cx, model, NULL, 1);
 *     heed_session_append(cx, s, &prompt);
 *     for (int i = 0; i < 40 && !heed_failed(cx); i++) {
 *         int32_t next = choose(heed_session_logits(s, 0), heed_session_vocabulary(s));
 *         heed_session_append(cx, s, &(heed_ids){.id = &next, .count = 1});
 *     }
 *     heed_session_close(cx, s);
 *
 * Memory is the context's, and the model must outlive the session. */
typedef struct heed_session heed_session;
/* n sequences without tokens. source (n): what an encoder-decoder is to encode; NULL for a decoder alone. */
HEED_API heed_session *heed_session_open(heed_ctx *cx, const heed_model *model, const heed_ids *source, int64_t n);
HEED_API void heed_session_close(heed_ctx *cx, heed_session *s);
/* Adds tokens[i] to sequence i; some may have none. The tokens before are not computed again. */
HEED_API bool heed_session_append(heed_ctx *cx, heed_session *s, const heed_ids *tokens);
/* (V) of what follows the last token of a sequence, until the session changes; NULL when it has no token yet. */
HEED_API const float *heed_session_logits(const heed_session *s, int64_t sequence);
HEED_API int64_t heed_session_vocabulary(const heed_session *s);             /* V */
HEED_API int64_t heed_session_count(const heed_session *s);                  /* of sequences */
HEED_API heed_ids heed_session_ids(const heed_session *s, int64_t sequence); /* the session's, to be read */
/* Sequence i becomes what sequence index[i] was, as beams do; n at most what the session was opened with. */
HEED_API bool heed_session_reorder(heed_ctx *cx, heed_session *s, const int32_t *index, int64_t n);
/* Another session, whose n sequences are what sequences index[i] of this one are. */
HEED_API heed_session *heed_session_fork(heed_ctx *cx, const heed_session *s, const int32_t *index, int64_t n);
/* heed_generate where input[i], at least one token, follows the tokens of a session's sequence i, or of its only one;
 * the session stays as it is. The same as heed_generate of both together. */
HEED_API heed_generated *heed_generate_from(heed_ctx *cx, const heed_session *s, const heed_ids *input, int64_t n,
                                            const heed_generate_opts *opts);

/* ---- text ---- */

/* A directory of a model that decodes, with its tokenizers: of sources or prompts, and of what is generated; where both
 * are one, they are the same. */
typedef struct heed_generator {
    heed_model *model;
    heed_tokenizer *tokens[2];
    bool encodes;      /* an encoder-decoder: texts are its sources; otherwise they are prompts */
    int64_t positions; /* maximum number of tokens of a text */
} heed_generator;
HEED_API heed_generator *heed_generator_open(heed_ctx *cx, const char *dir);
HEED_API void heed_generator_free(heed_ctx *cx, heed_generator *g);
/* Adds what follows a prompt, UTF-8 that ends with 0, or what a source becomes, to `to`:
 *
 *     heed_generator *g = heed_generator_open(cx, "gpt2");
 *     heed_string text = {0};
 *     heed_generate_text(cx, g, "Once upon a time", &(heed_generate_opts){.beams = 1, .max_new_tokens = 50}, &text);
 *
 * Without opts->stop_tokens stop texts are those of tokens[1]. Any number of contexts may use a generator at once. */
HEED_API bool heed_generate_text(heed_ctx *cx, const heed_generator *g, const char *text,
                                 const heed_generate_opts *opts, heed_string *to);
/* The same in steps: encodes a text and adds its tokens to `ids`, failing when the model has not enough positions; and
 * adds the text of n generated tokens, as it continues that of `prompt`, up to the first stop text. */
HEED_API bool heed_generator_encode(heed_ctx *cx, const heed_generator *g, const char *text, size_t size,
                                    heed_ids *ids);
/* The same; special: special tokens that stand in the text are tokens; otherwise they are text. heed_generator_encode
 * takes them as tokens. */
HEED_API bool heed_generator_encode_as(heed_ctx *cx, const heed_generator *g, const char *text, size_t size,
                                       bool special, heed_ids *ids);
HEED_API bool heed_generator_decode(heed_ctx *cx, const heed_generator *g, const heed_ids *prompt, const int32_t *ids,
                                    int64_t n, const heed_generate_opts *opts, heed_string *to);

/* ---- scores ---- how probable a model finds what is written already.
 *
 * A token is scored by its probability after those before it, as log_softmax(logits) of transformers has it. The first
 * token of a decoder follows nothing, so it is not scored unless `bos` puts bos_token_id before it, where the tokenizer
 * does not. An encoder-decoder scores all tokens of a target, its end token included, given a source. */
typedef struct heed_score_item {
    heed_ids source; /* of an encoder-decoder */
    heed_ids ids;
    int64_t first; /* tokens from this one on are scored; of a decoder alone at least 1 */
} heed_score_item;
typedef struct heed_likelihood {
    double log_probability; /* natural logarithm, the sum over the tokens that are scored */
    int64_t tokens;         /* how many; the perplexity is exp(-log_probability / tokens) */
} heed_likelihood;
/* Encodes `text`, to be scored after `prompt` (NULL or "": alone) into an empty item. Both are encoded as one text, and
 * tokens from the first on that is not one of the prompt's are scored; with an encoder-decoder the prompt is the
 * source. A failed call leaves the item empty. */
HEED_API bool heed_score_encode(heed_ctx *cx, const heed_generator *g, const char *prompt, const char *text, bool bos,
                                heed_score_item *item);
HEED_API void heed_score_item_free(heed_ctx *cx, heed_score_item *item);
/* Items of similar length are run together; out (n). */
HEED_API bool heed_score_items(heed_ctx *cx, const heed_model *model, const heed_score_item *items, int64_t n,
                               heed_likelihood *out);
/* n texts, UTF-8 that ends with 0, each after its prompt; prompts NULL: alone. */
HEED_API bool heed_score_texts(heed_ctx *cx, const heed_generator *g, const char *const *prompts,
                               const char *const *texts, int64_t n, bool bos, heed_likelihood *out);

#ifdef __cplusplus
}
#endif
#endif
