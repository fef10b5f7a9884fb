#include "cli/eval/scoring.h"
#include <string.h>

bool scoring_put(heed_ctx *cx, const heed_generator *g, const char *prompt, const char *text, bool bos,
                 struct scoring_list *to) {
    if (to->n == to->room) {
        const int64_t room = to->room > 0 ? 2 * to->room : 64;
        heed_score_item *const larger = heed_mem_resize(cx, to->item, (size_t)room * sizeof *larger);
        if (!larger) return false;
        to->item = larger;
        to->room = room;
    }
    if (!heed_score_encode(cx, g, prompt, text, bos, &to->item[to->n])) return false;
    to->n++;
    return true;
}

void scoring_cut(heed_ctx *cx, struct scoring_list *list, int64_t n) {
    while (list->n > n) heed_score_item_free(cx, &list->item[--list->n]);
}

void scoring_free(heed_ctx *cx, struct scoring_list *list) {
    scoring_cut(cx, list, 0);
    heed_mem_free(cx, list->item);
    *list = (struct scoring_list){0};
}

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

const char *scoring_between(const struct options *o, const char *prompt, const char *choice) {
    const size_t n = strlen(prompt);
    const bool apart = n > 0 && *choice && !is_blank(prompt[n - 1]) && !is_blank(choice[0]);
    return apart ? option_text(o, "separator") : "";
}

double scoring_value(const struct options *o, const heed_likelihood *l, const char *choice) {
    const char *const by = option_text(o, "normalise");
    if (strcmp(by, "tokens") == 0) return l->log_probability / (double)l->tokens;
    return strcmp(by, "bytes") == 0 ? l->log_probability / (double)strlen(choice) : l->log_probability;
}
