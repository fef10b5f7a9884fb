/* What the files of decoding share: constraints on tokens, the search of a sentence, and the choice of tokens from
 * logits.
 *
 * A hypothesis is a row of ids, the prompt or start token first. A step is one more token for each row of each search;
 * searches have lengths of their own. */
#ifndef DECODE_DECODING_H
#define DECODE_DECODING_H

#include "heed/generate.h"
#include "kernel/topk.h"
#include "model/core/stepper.h"

struct rules {
    heed_ctx *cx;
    heed_generate_opts opts; /* with defaults filled in */
    int64_t vocabulary, positions;
    bool slides;                       /* sequences go on past the positions: context_shift, where it has an effect */
    int64_t most;                      /* maximum length of any sequence: the positions, unless it slides */
    int64_t asked;                     /* max_length as the caller or the directory has it; 0: neither has */
    int64_t room;                      /* of a row: the maximum limit of all searches */
    int32_t start;                     /* -1: none */
    heed_ids eos;                      /* end tokens; none: hypotheses end at max_length */
    int32_t forced_first, forced_last; /* the first token, and the one at max_length; -1: any */
    heed_ids words;            /* sequences that are never generated, concatenated: bad_words_ids, suppress_tokens */
    heed_ids word_end;         /* where sequence i ends in words */
    heed_ids begin_suppressed; /* tokens that are never the first one */
    int64_t width;    /* candidates of a row: as many more than beams as may end, so that enough are left; or 1 */
    heed_string text; /* of stop texts */
};
/* Fills in *rules, zeros before: opts (NULL: those of the model's directory), and what the directory says. rules_close
 * may be called whatever it returns. */
bool rules_open(heed_ctx *cx, const heed_model *model, const heed_generate_opts *opts,
                const struct stepper_sizes *sizes, struct rules *rules);
void rules_close(heed_ctx *cx, struct rules *rules);
bool rules_is_eos(const struct rules *rules, int32_t id);
/* The maximum length of a search that begins with `prompt` tokens; and what stops it there. */
int64_t rules_limit(const struct rules *rules, int64_t prompt);
heed_finish rules_limit_finish(const struct rules *rules, int64_t prompt);
/* How many tokens the model no longer sees of a sequence of n, behind the first `kept` ones. */
int64_t rules_shift(const struct rules *rules, int64_t kept, int64_t n);
/* Does the last of n new tokens complete a stop text? */
bool rules_stop_text(struct rules *rules, const int32_t *ids, int64_t n);

/* ---- the search of one sequence ---- */

struct ended {
    int32_t *ids; /* new ones */
    int64_t length;
    float score;
    bool at_eos; /* its last token is an end token */
    heed_finish finish;
};

struct search {
    int64_t sentence; /* whose, in the caller's order */
    uint64_t stream;
    int64_t prompt, limit; /* tokens that it began with, and may have */
    int64_t n;             /* tokens so far */
    int64_t kept, gone;    /* the model sees the first `kept` of them, and those after the next `gone` ones */
    int64_t fed;           /* how many of those it has seen already */
    int64_t rows;          /* unfinished beams: 1 at first */
    int32_t *ids;          /* (beams, room) */
    int32_t *spare;        /* the same, for the next step */
    float *score;          /* (beams): sums of log-probabilities, best first */
    int32_t *parent;       /* (beams): the row of the step before that each comes from */
    int64_t n_ended;
    struct ended *ended;       /* (beams): best first */
    heed_text_stream *telling; /* of on_text, while it goes on; or NULL */
    heed_string untold;        /* text that may become a stop text */
};

/* Memory for `searches` of them, one block; NULL and a failed context when there is none. */
struct search *searches_new(heed_ctx *cx, const struct rules *rules, int64_t searches);
void search_begin(struct search *s, int64_t sentence, uint64_t stream);
/* More of the prompt, of which there is room for less than rules->room tokens. */
void search_prompt(struct search *s, const struct rules *rules, heed_ids ids);
/* Tokens that the model sees of it, and number t of them in row `row`. */
int64_t search_window(const struct search *s);
int32_t search_token(const struct search *s, const struct rules *rules, int64_t row, int64_t t);
/* telling.c: text for on_text. Begins with the prompt, if it is text; tells of a token, false when that is enough; and
 * at the end of what was held back. */
bool telling_begin(struct rules *rules, struct search *s, bool prompted);
bool telling_token(struct rules *rules, struct search *s, int32_t id);
bool telling_end(struct rules *rules, struct search *s);
void telling_free(const struct rules *rules, struct search *s);
struct search_work { /* room for one step */
    int32_t *next;   /* (beams) */
    float *score;    /* (beams) */
};
/* One token more: found (rows, rules->width), count (rows) of them. False: the search is done. */
bool search_advance(struct search *s, struct rules *rules, const struct candidate *found, const int64_t *count,
                    struct search_work *work);

/* ---- one row of logits (V) ----
 * What may follow row `row` of a search. tops: room for topk_blocks(V) floats. Changes logits: what the rules forbid
 * becomes -inf. Best first; fewer than rules->width when the rules allow no more. -1: the logits are not numbers. */
int64_t candidates_of(const struct rules *rules, const struct search *s, int64_t row, float *logits, float *tops,
                      struct candidate *out);

#endif
