/* How well an answer matches: exact match and F1 of SQuAD's official script (Rajpurkar et al. 2016, 2018). */
#ifndef TASK_TEXT_SQUAD_H
#define TASK_TEXT_SQUAD_H

#include "heed/text.h"

/* Lower case, without punctuation, articles and superfluous blanks; replaces what `to` held. */
bool squad_normalise(heed_ctx *cx, const char *text, size_t size, heed_string *to);
/* Of normalised texts: the words that they share, as often as both have them. */
bool squad_f1(heed_ctx *cx, const heed_string *truth, const heed_string *said, double *f1);

#endif
