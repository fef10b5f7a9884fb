/* Word vectors from the inside. */
#ifndef CLASSICAL_WORDS_WORDS_H
#define CLASSICAL_WORDS_WORDS_H

#include "heed/io.h"
#include "heed/words.h"
#include "kernel/isa.h"
#include "text/strings/map.h"

#define WORDS_TYPE "heed-words" /* in config.json */

struct heed_words {
    struct map words;
    const float *vector; /* (count, width): own, or the file's */
    float *own;
    heed_safetensors *file;
    float *scale;  /* (count): 1 / length */
    int64_t *seen; /* (count); NULL: not known */
    int64_t width;
    bool lower, punctuation;
};

heed_words *words_new(heed_ctx *cx, int64_t width);
/* Room for `count` vectors of its own; false with a sentence. */
bool words_room(heed_ctx *cx, heed_words *w, int64_t count);
/* All are there: checks that they are numbers and finds their lengths. `name` is for the sentence. Closes w and gives
 * NULL when it fails. */
heed_words *words_finish(heed_ctx *cx, heed_words *w, const char *name);

/* ---- a text as numbers of words ---- */

#define WORDS_SENTENCE 10000 /* longer ones are cut, as in gensim */

struct words_text {
    struct map words;  /* those that are not too rare, by falling frequency; the value of each: how often it was seen */
    int32_t *id;       /* (count) */
    int64_t count;     /* words of the text, without those that are too rare */
    int64_t *start;    /* (sentences + 1), in id */
    int64_t sentences; /* of at least one word */
    uint64_t hash;     /* of all that */
};
bool words_text_read(heed_ctx *cx, const char *name, const heed_lines *lines, const heed_words_opts *opts,
                     struct words_text *text);
void words_text_free(heed_ctx *cx, struct words_text *text);

/* ---- training ---- */

/* Walker's alias method: entry i is drawn as i below `limit` of 2^32, else as `other`. */
struct words_noise {
    uint32_t limit;
    int32_t other;
};

struct heed_words_trainer {
    heed_words_opts opts;
    struct words_text text;
    int64_t ld;      /* numbers from row to row: the width, rounded up; the rest is 0 */
    float *in, *out; /* (words, ld): what is learnt for, and the output layer's */
    uint32_t *keep;  /* (words): kept where 32 random bits are not above it */
    struct words_noise *noise;
    /* of the sentence under way */
    int32_t *id, *reach;
    int64_t *place;
    uint32_t *bits, *draws;
    /* of the pair under way */
    int32_t *row;
    float *times, *score, *slope;
    float *mean, *error; /* (ld), of CBOW */
    int64_t pairs, measured;
    double loss;
    /* where it is */
    int64_t sentence, seen; /* of this epoch */
    heed_words_state state;
};

/* Streams of random numbers. Block `place` of WORDS_STREAM_PLACE + 2 epoch: whether the word there is kept, its window;
 * of WORDS_STREAM_NOISE + 2 epoch, from block place * words_noise_blocks on: noise words for its pairs. */
#define WORDS_STREAM_START 0
#define WORDS_STREAM_PLACE 2
#define WORDS_STREAM_NOISE 3
static inline int64_t words_noise_blocks(const heed_words_opts *o) { return (2 * o->window * o->negative + 3) / 4; }

#endif
