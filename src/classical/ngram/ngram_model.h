/* An n-gram model with its tokenizer: a directory that `heed train ngram` wrote (config.json with model_type
 * "heed-ngram", model.ngram, tokenizer.json), or a file: ARPA or heed's own, whose words are separated by blanks. */
#ifndef CLASSICAL_NGRAM_NGRAM_MODEL_H
#define CLASSICAL_NGRAM_NGRAM_MODEL_H

#include "heed/io.h"
#include "heed/ngram.h"

#define NGRAM_TYPE "heed-ngram" /* in config.json */
#define NGRAM_FILE "model.ngram"

struct ngram_model {
    heed_ctx *cx;
    heed_ngram *m;
    heed_tokenizer *tokens; /* NULL: words are separated by blanks */
    int32_t *word;          /* (size of the tokenizer) the model's word of each id */
    int32_t *id;            /* (words) the tokenizer's id of each word, -1: none */
    bool text;              /* a sequence is a text with its newlines, else a line */
    bool music;             /* a line is a chorale, its words those of heed_music_lines */
    bool pieces;            /* its tokens are letters or parts of words */
    bool marks;             /* its tokens are words, and punctuation marks by themselves */
};

/* Whether the path leads to an n-gram model; false, too, when nothing can be read there. */
bool ngram_is(const char *path, size_t budget); /* within so many bytes, see directory_type */
bool ngram_model_open(heed_ctx *cx, const char *path, struct ngram_model *to);
/* Of a tokenizer and a model that were made together, which it takes over even when it fails. */
bool ngram_model_join(heed_ctx *cx, heed_ngram *m, heed_tokenizer *tokens, bool text, struct ngram_model *to);
void ngram_model_close(struct ngram_model *m); /* {0} may be closed */

/* Adds the model's words of a text. */
bool ngram_encode(const struct ngram_model *m, const char *text, size_t size, heed_ids *to);
bool ngram_decode(const struct ngram_model *m, const int32_t *word, int64_t n, heed_string *to);
/* The lines of a file; where a sequence is a text, its whole text as one line. */
bool ngram_read_lines(heed_ctx *cx, const char *path, bool text, heed_lines *to);

/* ---- what a model says of texts (ngram_sum.c) ---- */

struct ngram_sum {
    double log_probability; /* natural */
    int64_t tokens;         /* with the end of each line */
    int64_t unknown;        /* tokens that the model does not know */
    int64_t unseen;         /* tokens whose n-gram of the highest order the model has not */
    int64_t bytes;          /* with the newline of each line */
    int64_t notes;          /* of music: tokens without the ends of chorales; else 0 */
};
/* Adds a sequence, which begins and, unless it is a text, ends. */
void ngram_add(const struct ngram_model *m, const int32_t *word, int64_t n, size_t bytes, struct ngram_sum *to);
bool ngram_measure(const struct ngram_model *m, const heed_lines *lines, struct ngram_sum *to); /* all of them */
double ngram_perplexity(const struct ngram_sum *s);
double ngram_nats(const struct ngram_sum *s); /* per token */
double ngram_bits(const struct ngram_sum *s); /* per byte */
double ngram_nats_per_note(const struct ngram_sum *s);
double ngram_unseen(const struct ngram_sum *s); /* fraction of the tokens */
#define NGRAM_SUM_ROOM 256
void ngram_sum_text(const struct ngram_sum *s, char to[NGRAM_SUM_ROOM]);
void ngram_put_sum(heed_ctx *cx, heed_json at, const struct ngram_sum *s);
/* null where it is not finite */
void ngram_put_number(heed_ctx *cx, heed_json at, const char *key, double value);

#endif
