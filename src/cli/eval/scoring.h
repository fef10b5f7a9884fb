/* What score and shots share: how probable choices are after a prompt, and by what they are compared. */
#ifndef CLI_EVAL_SCORING_H
#define CLI_EVAL_SCORING_H

#include "cli/core/options.h"
#include "heed/generate.h"

/* clang-format off */
/* For the tables of both commands. */
#define NORMALISE_OPTION \
    {.name = "normalise", .kind = HEED_FIELD_CHOICE, .standard = "none", .value = "BY", .choices = "none tokens bytes", \
     .help = "compare choices by their log-probability (none), or by it divided by the number of their tokens or " \
             "bytes, so that longer ones are not at a disadvantage; one of"}
/* clang-format on */

/* Growing list of what is to be scored. {0} is empty. */
struct scoring_list {
    heed_score_item *item;
    int64_t n, room;
};
/* Encodes `text` after `prompt` as one item more. */
bool scoring_put(heed_ctx *cx, const heed_generator *g, const char *prompt, const char *text, bool bos,
                 struct scoring_list *to);
void scoring_cut(heed_ctx *cx, struct scoring_list *list, int64_t n); /* the first n stay */
void scoring_free(heed_ctx *cx, struct scoring_list *list);

/* What stands between a prompt and a choice: --separator where neither has white space there, else nothing. */
const char *scoring_between(const struct options *o, const char *prompt, const char *choice);
/* The number by which a choice is compared, as --normalise says. */
double scoring_value(const struct options *o, const heed_likelihood *l, const char *choice);

#endif
