/* UTF-8 and what Unicode says of a character. */
#ifndef TEXT_UNICODE_UNICODE_H
#define TEXT_UNICODE_UNICODE_H

#include "heed/text.h"

/* The character at *at, which moves past it; -1 for bytes that are not UTF-8 (too long, surrogates, cut off). */
int32_t utf8_next(const char **at, const char *end);
/* Writes 1 to 4 bytes; returns how many. */
int utf8_put(char *to, int32_t c);
/* Fails the context with "WHAT: byte N is not UTF-8" where text is not. */
bool utf8_check(heed_ctx *cx, const char *what, const char *text, size_t size);
/* What keeps bytes from being text, "NUL" or "not UTF-8", whichever comes first, at *at; NULL when all is well. */
const char *utf8_flaw(const char *text, size_t size, size_t *at);

bool unicode_is_space(int32_t c);       /* White_Space, as Rust has it */
bool unicode_is_letter(int32_t c);      /* general category L* */
bool unicode_is_number(int32_t c);      /* N* */
bool unicode_is_punctuation(int32_t c); /* P* */
bool unicode_is_symbol(int32_t c);      /* S* */
bool unicode_is_upper(int32_t c);
bool unicode_is_lower(int32_t c);
/* Lower case as Python's str.lower and Rust's to_lowercase give it, in up to UTF8_LOWER bytes; returns how many. */
int utf8_put_lower(char *to, int32_t c);
enum { UTF8_LOWER = 4 };

#endif
