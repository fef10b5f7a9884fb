/* What BLEU and chrF share: the lines they are given, and n-grams as slices of a line. */
#ifndef TEXT_METRICS_BLEU_H
#define TEXT_METRICS_BLEU_H

#include "text/strings/counts.h"
#include "text/strings/edit.h"

/* Hypothesis and references that are there, UTF-8, not empty and of as many lines each. `what` begins the sentence. */
bool bleu_check(heed_ctx *cx, const char *what, const heed_lines *hypothesis, const heed_lines *references,
                int n_references);

/* Where the units of a line begin, and one past its last: unit i ends at start[i + 1] - gap. Words with one blank
 * between them (gap 1), or characters (gap 0). */
struct units {
    heed_ctx *cx;
    const char *s;
    size_t *start, count, room, gap;
};
bool units_words(struct units *u, const heed_string *text);
bool units_characters(struct units *u, const heed_string *text);
void units_free(struct units *u);

/* How many n-grams there are, and the i-th. */
static inline size_t units_grams(const struct units *u, size_t n) { return u->count >= n ? u->count - n + 1 : 0; }
/* Whether there is an i-th; now and then it looks whether counting was cancelled. */
#define UNITS_AT_ONCE 65536
static inline bool units_more(const struct units *u, size_t i, size_t n) {
    return i < units_grams(u, n) && !(i % UNITS_AT_ONCE == 0 && heed_cancelled(u->cx));
}
static inline const char *units_gram(const struct units *u, size_t i, size_t n, size_t *size) {
    *size = u->start[i + n] - u->gap - u->start[i];
    return u->s + u->start[i];
}

/* Puts blanks around what a tokeniser of sacreBLEU's parts; edit_words is still to be done. */
void bleu_tokens_13a(struct edit *e);
void bleu_tokens_intl(struct edit *e);

#endif
