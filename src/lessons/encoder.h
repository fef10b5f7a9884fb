/* A small ModernBERT (Warner et al. 2024; BERT: Devlin et al. 2019) that is trained on English sentences of heed's
 * grammar, or the user's own: shared by the lessons masked-words, fine-tuning and class-token.
 *
 * The task for which it is fine-tuned: does a sentence speak of something to eat, to read or to turn on? Sentences
 * whose verb says so are left out: "The king carries two eggs" is one, "The king eats two eggs" is not. */
#ifndef LESSONS_ENCODER_H
#define LESSONS_ENCODER_H

#include "heed/task.h"
#include "lessons/lesson.h"

enum { ENCODER_CLASSES = 3, ENCODER_POINTS = 30 };
extern const char *const encoder_class_names[ENCODER_CLASSES]; /* to eat, to read, to turn on */
extern const heed_color encoder_class_colors[ENCODER_CLASSES];

struct encoder {
    heed_tokenizer *tokens;
    heed_text_reader reader;
    int32_t mask; /* the mask token */
    bool mean;    /* it classifies by the mean of all tokens' states, not by the class token's; not with --model */
    heed_model *masked, *classify; /* one body, two heads; the second is fresh until it is fine-tuned */
    float loss[ENCODER_POINTS];    /* of masked words, means over a thirtieth of the steps; none with --model */
    double guess, before, after;   /* accuracy on masked words: of the most frequent token, and of the model */
};

/* Sentences: as text, as inputs of a task, as columns, with their classes. */
struct sentences {
    heed_lines text;
    heed_text_input *input; /* (n) */
    int32_t *label;         /* (n): the class; -1: unknown */
    heed_dataset set;
};

/* A vocabulary and a model, trained to fill gaps, or those of --model. Says how good it is at masked words, and how
 * long that took to learn. False: the context has failed. Closed in any case. */
bool encoder_open(struct lesson_run *r, bool mean, struct encoder *e);
void encoder_close(struct lesson_run *r, struct encoder *e);

/* n sentences for fine-tuning, to learn from or held out. */
bool encoder_draw(struct lesson_run *r, const struct encoder *e, bool held_out, int64_t n, struct sentences *s);
void encoder_free(struct lesson_run *r, struct sentences *s);
/* The classifier with a fresh head, and the body of the model that fills gaps, or a fresh one; then so many steps on n
 * of the sentences. */
bool encoder_restart(struct lesson_run *r, struct encoder *e, bool pre_trained, uint64_t seed);
bool encoder_fine_tune(struct lesson_run *r, struct encoder *e, const struct sentences *s, const int64_t *rows,
                       int64_t n, uint64_t seed);
double encoder_accuracy(struct lesson_run *r, const struct encoder *e, const struct sentences *s);
/* A model as heed/task.h takes it. */
heed_text_model encoder_for(const struct encoder *e, heed_model *model);
/* The class token's last hidden states in the classifier, (n, *width) in the lesson's memory; NULL: failed. */
float *encoder_states(struct lesson_run *r, const struct encoder *e, const struct sentences *s, int64_t *width);

#endif
