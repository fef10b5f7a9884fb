/* What a model says of an example, as members of a JSON object: what its command prints with --json, and what
 * heed_run_answer gives. */
#ifndef TASK_ANSWERS_H
#define TASK_ANSWERS_H

#include "heed/objects.h"
#include "heed/task.h"

/* A part of a text. */
void answer_put(heed_ctx *cx, heed_json at, const char *key, const char *text, size_t size);
/* The name of class k; without names its number, in `number`. */
const char *answer_label(char *const *labels, int64_t k, char number[24]);
/* label and score of the likeliest of n classes; of a regression (n 1) value. */
void answer_put_best(heed_ctx *cx, heed_json at, char *const *labels, const float *p, int64_t n);
void answer_put_scores(heed_ctx *cx, heed_json at, char *const *labels, const float *p,
                       int64_t n); /* of all; or none */
/* objects: label, score and box (x0, y0, x1, y1 in pixels) of each. */
void answer_put_objects(heed_ctx *cx, heed_json at, char *const *labels, const heed_detection *found, int64_t n);
void answer_put_vector(heed_ctx *cx, heed_json at, const float *v, int64_t width);
/* masks: the `top` likeliest tokens of each. */
void answer_put_masks(heed_ctx *cx, heed_json at, const heed_text_model *m, const heed_filled *f, int64_t masks,
                      int top);
/* words with their tags and scores, and the chunks that they form. `line` holds the words. */
const char *answer_tag(const heed_text_model *m, int32_t tag, char room[32]); /* "_": the word has none */
void answer_put_words(heed_ctx *cx, heed_json at, const heed_text_model *m, const heed_text_input *line,
                      const int32_t *tag, const float *score);
/* answer, score, start and end: of a question and its context, text->pair. */
void answer_put_span(heed_ctx *cx, heed_json at, const heed_text_input *text, const heed_answered *a);
/* choice (from 1), text, score and scores. */
void answer_put_choice(heed_ctx *cx, heed_json at, const heed_choices *one, const float *p);

/* ---- of a line, as the command takes it: a text, or several with tabs between them ---- */

bool answer_classes(heed_ctx *cx, const heed_text_model *m, const char *line, heed_json at);
bool answer_vector(heed_ctx *cx, const heed_text_model *m, const char *line, heed_json at);
bool answer_masks(heed_ctx *cx, const heed_text_model *m, const char *line, heed_json at);
bool answer_words(heed_ctx *cx, const heed_text_model *m, const char *line, heed_json at);
bool answer_question(heed_ctx *cx, const heed_text_model *m, const char *line, heed_json at);
bool answer_choice(heed_ctx *cx, const heed_text_model *m, const char *line, heed_json at);

#endif
