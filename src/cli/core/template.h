/* Templates: text with the names of a table's columns in braces, as 'Review: {text}\nSentiment: {label}'. \n, \t and
 * \\ are a newline, a tab and a backslash; {{ and }} are braces. */
#ifndef CLI_CORE_TEMPLATE_H
#define CLI_CORE_TEMPLATE_H

#include "heed/text.h"

struct template_part {
    size_t start, size; /* of the template's text */
    int64_t column;     /* what stands there instead; -1: the text */
};
struct template {
    heed_string text;
    struct template_part *part;
    int n, room;
    int answer; /* the part of the last column: what comes before it is the prompt */
};
/* Fails the context with what is wrong: a brace that stays open, a column that the table lacks, a column of the table
 * that is neither named nor among `skipped`, no column before the answer. `name`: of the option, for messages. */
bool template_read(heed_ctx *cx, const char *name, const char *text, const char *path, const heed_table *table,
                   const char *const *skipped, int n_skipped, struct template *to);
void template_free(heed_ctx *cx, struct template *t);
/* Adds what a row of the table makes of it; up to the answer: without it and what follows. */
bool template_put(heed_ctx *cx, const struct template *t, const heed_table *table, int64_t row, bool up_to_answer,
                  heed_string *to);
int64_t template_answer(const struct template *t); /* its column */
/* Adds text with \n, \t and \\ as what they stand for. */
bool template_unescape(heed_ctx *cx, const char *text, size_t size, heed_string *to);

#endif
