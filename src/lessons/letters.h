/* A text letter by letter, of which a part is held out: shared by the lessons n-grams and gpt. */
#ifndef LESSONS_LETTERS_H
#define LESSONS_LETTERS_H

#include "heed/text.h"
#include "lessons/lesson.h"

struct letters {
    heed_string text[2]; /* to learn from, held out */
    heed_tokenizer *tokens;
    heed_ids ids[2];
    char **words; /* of the text to learn from, sorted */
    int64_t n_words;
};

/* The texts: sentences of heed's English grammar, sonnets of Shakespeare, or --data, whose last tenth of the lines is
 * held out. */
bool letters_grammar(struct lesson_run *r, int64_t lines, int64_t held_out, struct letters *l);
bool letters_sonnets(struct lesson_run *r, struct letters *l);
bool letters_file(struct lesson_run *r, struct letters *l);
/* Their characters as tokens; one that is in the held-out text alone is unknown. */
bool letters_encode(struct lesson_run *r, struct letters *l);
/* Lists the words of the text to learn from. */
bool letters_words(struct lesson_run *r, struct letters *l);
/* How many of the words of a text are among them, in per cent; its last one may be cut off and is not counted. */
float letters_known(struct lesson_run *r, const struct letters *l, const char *text);
void letters_free(struct lesson_run *r, struct letters *l);

extern const char *const sonnets[], *const sonnets_held_out[]; /* each ends with an empty line, each list with NULL */

#endif
