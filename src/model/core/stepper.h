/* How a head decodes. Searches know a model by this record alone: a state is begun, tokens go in step by step and
 * logits come out, and its rows follow the hypotheses.
 *
 * A row is a sequence of tokens; `per` rows in a row belong to one sequence that was begun with, as the beams of a
 * sentence do. */
#ifndef MODEL_CORE_STEPPER_H
#define MODEL_CORE_STEPPER_H

#include "heed/model.h"
#include "heed/text.h"

#define UNLIMITED ((int64_t)1 << 30) /* positions of a model that knows distances alone */
struct stepper_sizes {
    int64_t vocabulary, positions;               /* of the tokens that are decoded */
    int64_t source_vocabulary, source_positions; /* of sources */
};

struct stepper_begin {
    const heed_ids *const *source; /* (n) what an encoder encodes; NULL where there is no encoder */
    int64_t n;                     /* sequences, of one row each at first */
    int64_t sequences, rows;       /* their maximum numbers later */
    int64_t room;                  /* positions to begin with, where a cache grows */
};

struct heed_stepper {
    bool encodes; /* begins with sources, an encoder-decoder; otherwise its first tokens are a prompt */
    size_t size;  /* of the state, zeros before it is begun */
    struct stepper_sizes (*sizes)(const void *own);
    /* May be called again without end: memory that fits is used again. */
    bool (*begin)(heed_ctx *cx, const void *own, void *state, const struct stepper_begin *begin);
    /* ids (R,T), the new tokens of each row, of which the first counts[r] are real (NULL: all) -> logits (R,V) after
     * the last of them. A row of count 0 stays as it was, and its logits have no meaning. */
    heed_tensor *(*step)(heed_ctx *cx, const void *own, void *state, heed_tensor *ids, const int32_t *counts);
    /* A row is decoded anew when it grows beyond so many tokens; NULL, or 0: never. */
    int64_t (*border)(const void *own);
    /* Row i becomes what row order[i] was; from now on `per` rows belong to a sequence. */
    bool (*reorder)(heed_ctx *cx, void *state, const int32_t *order, int64_t n, int64_t per);
    /* Begins `to` with what rows order[0], …, order[n-1] of a state are, for at most `rows` rows. */
    bool (*copy)(heed_ctx *cx, const void *state, void *to, const int32_t *order, int64_t n, int64_t rows);
    /* Forgets the tokens of all rows; what was encoded stays. */
    bool (*rewind)(heed_ctx *cx, void *state, int64_t rows);
    /* The same for one row. NULL where positions have no end, or the model encodes sources. */
    void (*forget)(void *state, int64_t row);
    void (*end)(heed_ctx *cx, void *state); /* leaves zeros */
};

/* The model's stepper; NULL with a sentence, which begins with `who`, when it cannot decode. */
const struct heed_stepper *stepper_of(heed_ctx *cx, const heed_model *model, const char *who);

/* Is ids, of number i, between 1 and `most` tokens of a vocabulary? The sentence begins with `what`. */
bool stepper_check_ids(heed_ctx *cx, const char *what, int64_t i, const heed_ids *ids, int64_t vocabulary,
                       int64_t most);
/* Does a row of `held` tokens cross that border where it becomes one of `end`? */
bool stepper_crosses(const struct heed_stepper *stepper, const void *own, int64_t held, int64_t end);
/* Neither gradients nor dropout, until the end; of a failed context too. */
struct inference {
    struct engine *engine;
    bool recording, training;
};
struct inference inference_begin(heed_ctx *cx);
void inference_end(struct inference was);

/* ---- states of attention ---- key-value caches of the rows, and of what was encoded. Heads of attention have this
 * state, and begin and step of their own. */

struct attention_state {
    heed_cache *self;  /* (rows) */
    heed_cache *cross; /* (sequences), or NULL */
    int64_t rows, span, per;
    int32_t *index; /* (rows), for reorder */
};
/* Empty caches for stacks of attention like `like`; span: maximum length of what is encoded, 0: nothing is; window:
 * positions behind it are forgotten, 0: none are. */
bool attention_begin(heed_ctx *cx, struct attention_state *state, const heed_multihead *like, int layers,
                     const struct stepper_begin *begin, int64_t span, int64_t window);
bool attention_reorder(heed_ctx *cx, void *state, const int32_t *order, int64_t n, int64_t per);
bool attention_copy(heed_ctx *cx, const void *state, void *to, const int32_t *order, int64_t n, int64_t rows);
bool attention_rewind(heed_ctx *cx, void *state, int64_t rows);
void attention_forget(void *state, int64_t row);
void attention_end(heed_ctx *cx, void *state);
#define ATTENTION_STATE                                                                                                \
    .size = sizeof(struct attention_state), .reorder = attention_reorder, .copy = attention_copy,                      \
    .rewind = attention_rewind, .forget = attention_forget, .end = attention_end

/* Where ids (R,T) stand: *start where all rows hold equally many tokens and counts is NULL, else -1 and positions
 * (R,T). False with a sentence when there are more than `most`. */
bool attention_positions(heed_ctx *cx, const struct attention_state *state, const heed_tensor *ids,
                         const int32_t *counts, int64_t most, int64_t *start, heed_tensor **positions);
/* How many tokens the longest row will hold with the new ones. */
int64_t attention_longest(const struct attention_state *state, const heed_tensor *ids, const int32_t *counts);
/* x (R,T,C) -> (R,C): the last real one of each row */
heed_tensor *attention_last(heed_ctx *cx, heed_tensor *x, const int32_t *counts);

#endif
