/* Words of tokens: which are parts of one, and attention between words. */
#ifndef INSPECT_ATTEND_WORDS_H
#define INSPECT_ATTEND_WORDS_H

#include "heed/attend.h"

struct attend_words {
    int64_t tokens, n; /* n: words; a special token is one of its own */
    int32_t *word;     /* (tokens) of each token, from 0 on, never falling */
    int32_t *segment;  /* (tokens) token_type_ids; of words once they are named */
    const char **names;
    char *letters;
};
bool attend_words_find(heed_ctx *cx, const heed_encoding *e, struct attend_words *w);
/* A map of tokens becomes one of words; of other sizes it stays. */
bool attend_words_merge(heed_ctx *cx, const struct attend_words *w, heed_capture_map *m);
/* The axis of tokens becomes one of words. */
bool attend_words_name(heed_ctx *cx, struct attend_words *w, heed_axis *axis);
void attend_words_free(heed_ctx *cx, struct attend_words *w);

#endif
