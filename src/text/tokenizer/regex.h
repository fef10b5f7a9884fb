/* Patterns of splits and replacements: plain text, or regular expressions in Oniguruma's (Ruby's) syntax, which PCRE2
 * matches once they are translated. A match that would take far more than linear time is refused. */
#ifndef TEXT_TOKENIZER_REGEX_H
#define TEXT_TOKENIZER_REGEX_H

#include "heed/text.h"

#include <stdatomic.h>

struct regex; /* any number of threads may match with it */
/* Text as it is, which must not be empty to match anything but nothing. NULL for want of memory. */
struct regex *regex_literal(heed_ctx *cx, const char *text, size_t size);
/* NULL and a sentence in *why (freed with heed_string_free) when it does not compile. */
struct regex *regex_compile(heed_ctx *cx, const char *pattern, size_t size, heed_string *why);
void regex_free(heed_ctx *cx, struct regex *r);
/* What matching has taken beyond what its texts were due, in nanoseconds: many texts that are slow each add up. The
 * patterns of a tokenizer share one; a pattern that was given none is bounded only for each text. */
struct regex_time {
    _Atomic int64_t wall, cpu; /* cpu is looked at once `wall` is REGEX_LATE; then that is the end */
};
#define REGEX_LATE INT64_C(2000000000)
void regex_share_time(struct regex *r, struct regex_time *time); /* which must stay as long as the pattern */
/* regex_translate.c: the same in PCRE2's syntax; false with a reason when it cannot be said there. */
bool regex_translate(heed_ctx *cx, const char *pattern, size_t size, heed_string *to, const char **why);

/* GPT-2's pattern, by hand. */
#define GPT2_PATTERN "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"
struct regex *regex_gpt2(heed_ctx *cx);

/* Matches from left to right, as a loop over them in Python's `tokenizers` gives them. The text must be UTF-8. */
struct matcher {
    heed_ctx *cx;
    const struct regex *regex;
    const char *text;
    size_t size, at, last_end;
    bool matched; /* there was a match, which ended at last_end */
    void *data, *context;
    double began, cpu_began; /* with this text; -1: not yet, or not looked at */
    double deadline, cpu;    /* cpu: the time of the thread when it was found late, -1: not yet */
    uint64_t starts;
};
bool matcher_begin(struct matcher *m, heed_ctx *cx, const struct regex *r, const char *text, size_t size);
/* Another text with the same pattern; the context fails where the pattern has taken too long before. */
void matcher_again(struct matcher *m, const char *text, size_t size);
bool matcher_next(struct matcher *m, size_t *start, size_t *end); /* false: no more, or the context has failed */
void matcher_end(struct matcher *m);

#endif
