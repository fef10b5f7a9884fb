/* A question and the context that holds its answer, as sequences: where they are too long for one, windows over the
 * context that overlap; and the answers that a model finds in them, as transformers' run_qa example does it. */
#ifndef TASK_TEXT_WINDOWS_H
#define TASK_TEXT_WINDOWS_H

#include "task/task.h"

#define QA_LENGTH 384 /* tokens of a sequence */
#define QA_STRIDE 128 /* tokens that windows share */
#define QA_ANSWER 30  /* most tokens of an answer */
#define QA_N_BEST 20  /* spans of a context that are compared */

/* Lists of whole numbers, four for each window and two for each token of a context. */
struct windows {
    heed_ids window; /* question, first token of the context, number of its tokens, where their places begin */
    heed_ids place;  /* of each token of the context, where it begins and ends: bytes */
    int64_t max_length, stride;
};
struct window {
    int32_t question, first, count, place;
};
struct window windows_at(const struct windows *w, int64_t i);
void windows_free(heed_ctx *cx, struct windows *w);

/* Adds the windows of question number `question` to the data set; answer (NULL: none wanted): where the answer begins
 * and ends in the context, bytes; both 0: it has none. Columns: those of the reader, then start_positions and
 * end_positions where answers are wanted. */
struct windows_room {
    heed_encoding whole, question;
    heed_ids ids;
};
bool windows_add(heed_ctx *cx, struct windows *w, const heed_text_reader *reader, int64_t question,
                 const heed_text_input *text, const int64_t *answer, struct windows_room *room, heed_dataset *set);
void windows_room_free(heed_ctx *cx, struct windows_room *room);

/* ---- finding ---- */

struct span {
    float score;        /* of start and end, logits */
    int32_t start, end; /* bytes of the context */
};
struct found {
    struct span best[QA_N_BEST]; /* best first */
    int n;
    float none; /* score of no answer, the least of all windows */
    bool seen;
};
struct finding {
    const struct windows *w;
    int64_t max_length;  /* tokens of an answer */
    struct found *found; /* (questions) */
};
bool windows_take(heed_ctx *cx, void *own, const heed_batch *b, const heed_io *out); /* for heed_loop_over */

#endif
