/* Small recurrent translators of the bilingual grammar, for lessons: main clauses, and two of them joined by "and" or
 * "but", so that sentences have 3 to 20 words. */
#ifndef LESSONS_TRANSLATORS_H
#define LESSONS_TRANSLATORS_H

#include "heed/loop.h"
#include "heed/task.h"
#include "lessons/lesson.h"

enum { TRANSLATORS_STEPS = 1000, TRANSLATORS_TESTS = 600, TRANSLATORS_WIDTH = 64 };

struct translators {
    heed_lines lines[2][2];    /* to train on and to test with: English and German */
    heed_tokenizer *tokens[2]; /* a token for each word */
    heed_pairs pairs[2];
};
bool translators_open(struct lesson_run *r, struct translators *t);
void translators_close(struct lesson_run *r, struct translators *t);
/* A model of this family, which may read the source backwards, trained for r->steps updates; to be freed. */
heed_model *translators_learn(struct lesson_run *r, const struct translators *t, const char *family, bool reverse);

#endif
