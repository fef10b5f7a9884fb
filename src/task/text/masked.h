/* Masked words: what the tasks that pre-train share. */
#ifndef TASK_TEXT_MASKED_H
#define TASK_TEXT_MASKED_H

#include "task/task.h"

#define CONTINUES         (1 << 30)   /* of a stored label: the token belongs to the word of the one before it */
#define MASKED_FIXED_SEED 0x6d61736bu /* of what models are measured with */

/* Random numbers of a row in an epoch. */
struct draws {
    uint64_t seed, stream, at;
};
int64_t task_draw(struct draws *r, int64_t n); /* from 0 to n - 1 */

/* ---- tokens ---- */

struct masked_tokens {
    heed_ids ids, labels; /* as they are, and as what may be predicted: HEED_NO_LABEL, or the token and CONTINUES */
    heed_encoding room;
    heed_string line;
};
/* Adds those of a line, which a space joins to the one before it unless it is the first of its document. */
bool masked_put_line(heed_ctx *cx, const heed_task_data *d, const heed_text_reader *reader, int64_t line, bool first,
                     struct masked_tokens *to);
void masked_tokens_free(heed_ctx *cx, struct masked_tokens *t);

bool masked_read(heed_ctx *cx, const char *path, const heed_task_opts *opts, heed_task_data *d); /* documents */
int64_t masked_longest(const heed_task_data *d, const heed_text_reader *reader); /* most tokens of a sequence */

bool masked_encode(heed_ctx *cx, const heed_text_reader *reader, heed_task_data *d); /* sequences of documents */

/* ---- masking ---- */

/* What the transform needs; the beginning of a task's own. */
struct masking {
    int labels; /* which column */
    double share;
    int32_t mask;
    int parts, as_mask, as_random; /* of so many chosen tokens so many become the mask token, and a random one */
    int32_t *words;                /* the tokens to draw from: all but special ones */
    int64_t n_words;
};
bool masking_make(heed_ctx *cx, heed_task_data *d, const heed_tokenizer *tokens, struct masking *m);
void masking_free(heed_ctx *cx, heed_task_data *d); /* d->own */
/* The transform. Chooses words one after the other, each set of them as likely as any other (Knuth, TAOCP 2, 3.4.2,
 * algorithm S). */
void mask_words(const void *own, uint64_t seed, int64_t epoch, int64_t row, const heed_cell *cells);

/* ---- measuring ---- */

struct guesses {
    double loss;
    int64_t right, n;
};
/* Of the masked words of a batch, from logits (B,T,V). */
bool guesses_take(heed_ctx *cx, struct guesses *g, const heed_batch *b, heed_tensor *logits);
void guesses_score(const struct guesses *g, heed_score *score); /* perplexity, and as the second metric accuracy */
/* How to go over the data with a masking that is always the same. */
heed_over_opts masked_run(heed_ctx *cx, const heed_model *model, const heed_task_data *d, const int64_t *rows,
                          int64_t n);

#endif
