/* heed/ngram.h: n-gram language models (Shannon 1948): the probability of a token given the n - 1 before it, from
 * counts.
 *
 *     heed_ngram *m = heed_ngram_open(cx, "lm.arpa");
 *     heed_ngram_state s = heed_ngram_begin(m);
 *     double p = heed_ngram_step(m, &s, heed_ngram_id(m, "the", 3), NULL);       log10 P(the | <s>)
 *
 * A model has words of its own: 0 is <unk>, which stands for all that it does not know, 1 is <s>, which stands before
 * every sequence, and 2 is </s>, which ends it. Reading a model changes nothing in it: any number of threads may. */
#ifndef HEED_NGRAM_H
#define HEED_NGRAM_H

#include "heed/text.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct heed_ngram heed_ngram;
enum { HEED_NGRAM_UNKNOWN, HEED_NGRAM_BEGIN, HEED_NGRAM_END, HEED_NGRAM_MAX_ORDER = 1000 };

/* ---- training ---- */

typedef enum heed_ngram_smoothing {
    /* Modified Kneser-Ney (Chen & Goodman 1999): three discounts for each order, from counts of counts, and unigrams
     * interpolated with the uniform distribution, over <unk> too; equal to KenLM's lmplz (Heafield et al. 2013). */
    HEED_NGRAM_MODIFIED,
    /* Interpolated Kneser-Ney (Kneser & Ney 1995) with one discount, sequences padded with n - 1 tokens at both ends,
     * and no probability for <unk>; equal to nltk.lm's KneserNeyInterpolated. */
    HEED_NGRAM_KNESER_NEY
} heed_ngram_smoothing;

typedef struct heed_ngram_opts {
    int order; /* 1 to HEED_NGRAM_MAX_ORDER */
    heed_ngram_smoothing smoothing;
    double discount;        /* of HEED_NGRAM_KNESER_NEY, 0 to 1 */
    const double *fallback; /* (3) discounts of an order whose counts of counts give none; NULL: that is an error */
    const int64_t *prune;   /* n-grams of order k seen at most prune[k - 1] times are left out; they do not decrease. */
    int n_prune;            /* The last one is for higher orders, too. 0: none are left out */
} heed_ngram_opts;

/* What was found while training. */
typedef struct heed_ngram_report {
    double discount[3]; /* of counts 1, 2 and more */
    bool fell_back;     /* to the fallback */
    int64_t kinds;      /* distinct n-grams of this order, before some were left out */
} heed_ngram_report;

/* Sequence i is ids->id[start[i]] up to start[i + 1]; n of them. name[t] is the word of id t, of `names` ids; ids
 * beyond and those whose name is NULL are <unk>. report: NULL, or room for opts->order. */
HEED_API heed_ngram *heed_ngram_train(heed_ctx *cx, const heed_ids *ids, const int64_t *start, int64_t n,
                                      const char *const *name, int64_t names, const heed_ngram_opts *opts,
                                      heed_ngram_report *report);

/* ---- files ---- */

/* heed's own file, which is mapped and not read, or an ARPA file (.gz too); which of them it is follows from its first
 * bytes. NaN among its probabilities and weights is refused. As with safetensors, shortening a mapped file is SIGBUS.
 */
HEED_API heed_ngram *heed_ngram_open(heed_ctx *cx, const char *path);
HEED_API bool heed_ngram_save(heed_ctx *cx, const heed_ngram *m, const char *path);
/* White space within a word, which the format cannot hold, is written as U+2581 for a space and <0x0A> for others. */
HEED_API bool heed_ngram_write_arpa(heed_ctx *cx, const heed_ngram *m, const char *path);
HEED_API void heed_ngram_free(heed_ctx *cx, heed_ngram *m);

/* ---- what is in it ---- */

HEED_API int heed_ngram_order(const heed_ngram *m);
HEED_API int64_t heed_ngram_count(const heed_ngram *m, int order); /* n-grams of an order; 0: there is no such order */
HEED_API int64_t heed_ngram_words(const heed_ngram *m);
HEED_API int32_t heed_ngram_id(const heed_ngram *m, const char *word, size_t size); /* HEED_NGRAM_UNKNOWN: none */
HEED_API const char *heed_ngram_word(const heed_ngram *m, int32_t id);              /* ends with 0; "" for no such id */

/* ---- probabilities ---- */

/* The longest context that the model knows: {0} is none. */
typedef struct heed_ngram_state {
    uint32_t node;
    int32_t order; /* tokens of the context */
} heed_ngram_state;

/* Behind <s>. */
HEED_API heed_ngram_state heed_ngram_begin(const heed_ngram *m);
/* log10 P(word | context); the word joins the context. matched: how many tokens the n-gram has that was found, the
 * word included (1 for <unk>); may be NULL. */
HEED_API double heed_ngram_step(const heed_ngram *m, heed_ngram_state *state, int32_t word, int *matched);
/* P(word | context) of all words, which sum to 1 with <s> at 0; p: room for heed_ngram_words(m). */
HEED_API void heed_ngram_next(const heed_ngram *m, const heed_ngram_state *state, double *p);

#ifdef __cplusplus
}
#endif
#endif
