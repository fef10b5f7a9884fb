/* Taggers that are hidden Markov models (Rabiner 1989): the tags are the states, and each emits words. A directory
 * holds config.json (model_type "heed-hmm", the tag of each state), vocab.txt, a symbol a line, and model.safetensors
 * (initial, transition, emission in double). A symbol is a word, or stands for unknown words of one look: their capital
 * and last letters (as in Brants 2000). */
#ifndef CLASSICAL_HMM_HMM_TAGGER_H
#define CLASSICAL_HMM_HMM_TAGGER_H

#include "data/tagged_words.h"
#include "heed/hmm.h"
#include "heed/io.h"
#include "text/strings/map.h"

#define HMM_TYPE "heed-hmm" /* in config.json */

struct hmm_tagger {
    heed_ctx *cx;
    heed_hmm *h;
    struct map symbols; /* while learning the value of each is how often it was seen */
    const char **tag;   /* (states), in `names` */
    heed_string names;
    bool marks; /* punctuation marks are words of their own in what is tagged */
};

bool hmm_tagger_open(heed_ctx *cx, const char *dir, struct hmm_tagger *g);
bool hmm_tagger_save(const struct hmm_tagger *g, const char *dir);
void hmm_tagger_close(struct hmm_tagger *g); /* {0} may be closed, and so may what could not be opened or learnt */

/* From counts, or unsupervised from chance; then so many steps of Baum-Welch over the words alone, of which notes say
 * the likelihood. States that were learnt without tags are named by the tag that most of their words have. */
bool hmm_tagger_learn(heed_ctx *cx, const struct tagged_words *d, bool unsupervised, int64_t steps,
                      struct hmm_tagger *g);

/* The likeliest states of n words, and (score not NULL) the posterior probability of each. */
bool hmm_tagger_tag(const struct hmm_tagger *g, const heed_word *word, int64_t n, int32_t *state, double *score);

struct hmm_accuracy {
    int64_t words, right, unknown, unknown_right;
};
bool hmm_tagger_measure(const struct hmm_tagger *g, const struct tagged_words *d, struct hmm_accuracy *to);
double hmm_accuracy_ratio(int64_t right, int64_t all); /* 0 of none */
#define HMM_ACCURACY_ROOM 160
void hmm_accuracy_text(const struct hmm_accuracy *a, char to[HMM_ACCURACY_ROOM]);
void hmm_accuracy_put(heed_ctx *cx, heed_json at, const struct hmm_accuracy *a);

/* ---- what its files share ---- */

enum { HMM_LOOKS = 4, HMM_LOOK_ROOM = 64 };
#define HMM_UNKNOWN "<unk>" /* the look of any word, which every tagger has */

/* What an unknown word looks like: level 0 with three last letters, level 3 with none. Gives the length. */
size_t hmm_look(const heed_word *word, int level, char out[HMM_LOOK_ROOM]);
void hmm_symbols(const struct hmm_tagger *g, const heed_word *word, int64_t n, int32_t *symbol);
bool hmm_set_tags(struct hmm_tagger *g, const char *const *name, int64_t n); /* in place of those that it has */

#endif
