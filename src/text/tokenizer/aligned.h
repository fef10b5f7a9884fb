/* Text on its way through a tokenizer, and where each of its bytes came from: the NormalizedString of Python's
 * `tokenizers`. Offsets are bytes of the text that the caller gave. They are kept only where somebody wants them. */
#ifndef TEXT_TOKENIZER_ALIGNED_H
#define TEXT_TOKENIZER_ALIGNED_H

#include "text/unicode/unicode.h"

struct origin {
    uint32_t start, end;
};
struct aligned { /* {0} is empty and keeps no origins */
    heed_string text;
    struct origin *from; /* (text.size) */
    size_t room;         /* of from */
    bool tracked;
    uint32_t base; /* where the whole began */
    size_t most;   /* bytes that the text may grow to; 0: any number */
};

/* What a text of so many bytes may grow to on its way: far more than any normal form (18 characters of one) and the
 * stand-ins of bytes make of it, and far less than steps that each double it. */
static inline size_t grown_most(size_t size) {
    const size_t most = 64 * size + 65536;
    return most < UINT32_MAX ? most : UINT32_MAX;
}
bool grown_too_far(heed_ctx *cx, const char *what, size_t most); /* fails; what: "encode" */

/* Emptied, to be filled from another: with or without origins as that has them. */
void aligned_begin(struct aligned *to, const struct aligned *like);
void aligned_free(heed_ctx *cx, struct aligned *a);
/* Appends text whose origin is itself, `base` bytes into what the caller gave. */
bool aligned_put_plain(heed_ctx *cx, struct aligned *to, const char *text, size_t size, uint32_t base);
/* Appends bytes that all have one origin. */
bool aligned_put(heed_ctx *cx, struct aligned *to, const char *text, size_t size, struct origin origin);
/* Appends bytes start to end of another, with their origins. */
bool aligned_copy(heed_ctx *cx, struct aligned *to, const struct aligned *from, size_t start, size_t end);
/* Of byte `at`; nothing where none are kept. */
static inline struct origin aligned_at(const struct aligned *a, size_t at) {
    return a->tracked && at < a->text.size ? a->from[at] : (struct origin){a->base, a->base};
}

/* Characters that replace others one by one: 0 replaces the next one, n > 0 is new and shares the origin of the one
 * before, -n replaces the next one and removes n after it. */
struct transform {
    heed_ctx *cx;
    const struct aligned *from;
    struct aligned *to;
    size_t at; /* in from */
};
bool transform_put(struct transform *t, int32_t c, int change);

#endif
