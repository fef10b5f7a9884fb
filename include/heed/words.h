/* heed/words.h: word vectors: trained (word2vec), read and written, searched.
 *
 *     heed_words *w = heed_words_open(cx, "vectors.bin");
 *     heed_word_found found[5];
 *     int64_t n = heed_words_ask(cx, w, "king - man + woman", 5, found);
 *     for (int64_t i = 0; i < n; i++) printf("%s %.3f\n", heed_words_text(w, found[i].word), found[i].score);
 *     heed_words_close(cx, w);
 */
#ifndef HEED_WORDS_H
#define HEED_WORDS_H

#include "heed/text.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- words and their vectors ---- numbered from 0 in the order of the file, most often by falling frequency. */

typedef struct heed_words heed_words;

/* A directory of 'heed train words', or a file of word2vec's, binary or text (.gz too); a text may lack its first line
 * with the sizes, as GloVe's do. Of a word that comes twice the first counts. */
HEED_API heed_words *heed_words_open(heed_ctx *cx, const char *path);
/* The same of the bytes of a file that is called `name`. */
HEED_API heed_words *heed_words_parse(heed_ctx *cx, const char *name, const void *bytes, size_t size);
HEED_API void heed_words_close(heed_ctx *cx, heed_words *w);
/* A directory: config.json, model.safetensors ("embedding.weight") and words.txt, a line each with the word and how
 * often it was seen. */
HEED_API bool heed_words_save(heed_ctx *cx, const heed_words *w, const char *dir);
/* A file of word2vec's: binary where the name ends in .bin or .bin.gz, else text; .gz is gzipped. */
HEED_API bool heed_words_write(heed_ctx *cx, const heed_words *w, const char *path);

HEED_API int64_t heed_words_count(const heed_words *w);
HEED_API int64_t heed_words_width(const heed_words *w);
HEED_API bool heed_words_lower(const heed_words *w);       /* they were lower-cased for training */
HEED_API bool heed_words_punctuation(const heed_words *w); /* punctuation was split from words for training */
HEED_API const char *heed_words_text(const heed_words *w, int64_t word);              /* NULL: no such word */
HEED_API const float *heed_words_vector(const heed_words *w, int64_t word);           /* (width); NULL: no such word */
HEED_API int64_t heed_words_seen(const heed_words *w, int64_t word);                  /* how often; 0: not known */
HEED_API int64_t heed_words_find(const heed_words *w, const char *text, size_t size); /* -1: there is none */

typedef struct heed_word_found {
    int64_t word;
    float score; /* cosine of the angle between the vectors */
} heed_word_found;
/* The `top` nearest words of a vector (width), nearest first, without those in `without`; how many were found, -1 when
 * the context has failed. */
HEED_API int64_t heed_words_nearest(heed_ctx *cx, const heed_words *w, const float *query, const int64_t *without,
                                    int64_t n_without, int64_t top, heed_word_found *found);
/* The same for a word, or for words with + and - between them, each taken with length 1 (Mikolov et al. 2013, 3CosAdd);
 * the words themselves are not found. An unknown word fails the context with a sentence that names the word nearest in
 * spelling. */
HEED_API int64_t heed_words_ask(heed_ctx *cx, const heed_words *w, const char *text, int64_t top,
                                heed_word_found *found);
/* The plane through n words (NULL: the first n) in which they differ most, by principal components of their vectors of
 * length 1: their places x and y (n). share (2), where not NULL: of the variance along each axis. */
HEED_API bool heed_words_plane(heed_ctx *cx, const heed_words *w, const int64_t *words, int64_t n, float *x, float *y,
                               double *share);
/* Copies the vectors of the words that are tokens into a table (tokens, width); other rows stay. How many, -1 when the
 * context has failed. */
HEED_API int64_t heed_words_copy(heed_ctx *cx, const heed_words *w, const heed_tokenizer *tokens, float *table,
                                 int64_t rows, int64_t width);

/* ---- training ---- word2vec (Mikolov et al. 2013): skip-gram or CBOW with negative sampling, as gensim does it. One
 * thread learns, in the order of the text; random numbers depend on the seed, the epoch and the place in the text. */

typedef struct heed_words_opts { /* 0: what stands behind it */
    bool cbow;                   /* the word from the mean of those around it, instead of each of those from the word */
    bool lower;                  /* lower-case the text */
    bool punctuation;            /* each punctuation mark is a word of its own; else only white space separates words */
    int64_t width;               /* 100 */
    int64_t window;              /* 5: words to each side, at most; how many is drawn for each word */
    int64_t negative;            /* 5: noise words for each word that was seen */
    int64_t least;               /* 5: words that were seen less often are left out */
    int64_t epochs;              /* 5 */
    double sample;               /* 1e-3: words above this share of the text are often left out; below 0: none are */
    double lr, lr_end;           /* 0.025 to 1e-4, linearly */
    uint64_t seed;
} heed_words_opts;

typedef struct heed_words_state {
    int64_t step, steps; /* of some 10000 words */
    int64_t epoch;       /* whole ones that are done */
    int64_t seen, total; /* words of the text gone through, of all epochs */
    double loss, lr;     /* of the last step: mean loss of a pair (one in 16 is measured) */
} heed_words_state;

typedef struct heed_words_trainer heed_words_trainer;
/* A sentence a line, words separated by white space. `name`, of the text, is for sentences. The lines are not kept. */
HEED_API heed_words_trainer *heed_words_trainer_new(heed_ctx *cx, const char *name, const heed_lines *text,
                                                    const heed_words_opts *opts);
HEED_API void heed_words_trainer_free(heed_ctx *cx, heed_words_trainer *t);
/* One step; false when all are done or the context has failed. */
HEED_API bool heed_words_trainer_step(heed_ctx *cx, heed_words_trainer *t);
HEED_API heed_words_state heed_words_trainer_state(const heed_words_trainer *t);
HEED_API int64_t heed_words_trainer_count(const heed_words_trainer *t); /* words of the vocabulary */
/* All that a run needs to go on, with the same bits. Restoring refuses a checkpoint of another text or other options.
 */
HEED_API bool heed_words_trainer_save(heed_ctx *cx, const heed_words_trainer *t, const char *path);
HEED_API bool heed_words_trainer_restore(heed_ctx *cx, heed_words_trainer *t, const char *path);
/* A copy of the vectors as they are now. */
HEED_API heed_words *heed_words_trainer_words(heed_ctx *cx, const heed_words_trainer *t);

#ifdef __cplusplus
}
#endif
#endif
