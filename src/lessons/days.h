/* A toy task, and a small Transformer for it whose parts can be taken away: shared by the lessons transformer and
 * teacher-forcing.
 *
 * The task: today is Sunday; go so many days on or back, again and again, and name the day each time. "+ 3 - 1 + 2"
 * becomes "Wed Tue Thu". It takes what translating takes: a number means something else after a minus, every word of
 * the answer needs its own place of the source, and goes on from the word before. */
#ifndef LESSONS_DAYS_H
#define LESSONS_DAYS_H

#include "lessons/lesson.h"

enum {
    DAYS_WEEK = 7,                /* tokens of the answer: Sunday 0 */
    DAYS_FARTHEST = 4,            /* tokens 0 to 3 of the source: 1 to 4 days */
    DAYS_MOVES = 6,               /* of a task, and as many answers */
    DAYS_SOURCE = 2 * DAYS_MOVES, /* tokens: sign, number, sign, number, ... */
    DAYS_PLUS = DAYS_FARTHEST,    /* and minus after it */
    DAYS_TODAY = DAYS_WEEK,       /* what the decoder is given first */
    DAYS_BATCH = 32,              /* tasks of a step of learning */
};
extern const char *const days_source_names[DAYS_FARTHEST + 2], *const days_answer_names[DAYS_WEEK + 1];

/* n tasks: their sources (n, DAYS_SOURCE) and answers (n, DAYS_MOVES). */
struct days {
    int64_t n;
    int32_t *source, *answer;
};
bool days_draw(struct lesson_run *r, uint64_t stream, int64_t n, struct days *d);
struct days days_part(const struct days *d, int64_t from, int64_t n); /* borrowed */

/* Task number i in print: "+3 -1 ..." and "Wed Tue ...". */
void days_text(const struct days *d, int64_t i, char source[64], char answer[64]);

/* What is there. */
struct days_parts {
    bool positions, residual, norm, feed_forward, cross, mask;
    int64_t heads;
};
extern const struct days_parts days_whole;

/* One layer of encoder and one of decoder, pre-norm: x + f(norm(x)). */
struct days_network {
    struct days_parts parts;
    heed_params *params;
    heed_embedding_layer source, answer;
    heed_multihead encoder, decoder, cross;
    heed_feed_forward encoder_ff, decoder_ff;
    heed_norm_layer norm[5]; /* of the five above, in this order */
    heed_linear_layer out;
    heed_trainer *trainer;
};
bool days_open(struct lesson_run *r, const struct days_parts *parts, int64_t steps, struct days_network *net);
void days_close(struct lesson_run *r, struct days_network *net);

heed_tensor *days_encode(heed_ctx *cx, const struct days_network *net, const struct days *d); /* (n, DAYS_SOURCE, C) */
/* given (n, length), what the decoder is fed with -> logits (n, length, DAYS_WEEK). */
heed_tensor *days_decode(heed_ctx *cx, const struct days_network *net, heed_tensor *memory, const int32_t *given,
                         int64_t n, int64_t length);

/* What the decoder is given, (n, DAYS_MOVES): today, then the true answers but the last. */
void days_shift(const struct days *d, int32_t *given);
/* Its first `length` columns: (n, length). */
void days_prefix(const int32_t *given, int64_t n, int64_t length, int32_t *prefix);
/* Goes through the answers one by one, a pass of the decoder for each of the first `places`; answers (n, DAYS_MOVES)
 * may be NULL. Each is given on to the next place instead of the true one where its die, one of (n, DAYS_MOVES) numbers
 * from 0 to 1, is below share; dice NULL: everywhere. given (n, DAYS_MOVES) is what was given. */
bool days_go(struct lesson_run *r, const struct days_network *net, const struct days *d, int64_t places,
             const float *dice, float share, int32_t *given, int32_t *answers);
/* Answers (n, DAYS_MOVES) in one pass, told the true answers before each place. */
bool days_told(struct lesson_run *r, const struct days_network *net, const struct days *d, int32_t *answers);
/* A step of learning: the loss, NaN when the context has failed. */
float days_learn(heed_ctx *cx, struct days_network *net, const struct days *d, const int32_t *given);

double days_right(const struct days *d, const int32_t *answers); /* the share of days that are right */

#endif
