/* Text: UTF-8, text of unknown origin on one printable line, and printing in the C locale. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include "heed/base.h"

/* The length of the well-formed UTF-8 sequence at s (n > 0 bytes), 0 when there is none. */
size_t utf8_sequence(const void *s, size_t n);
/* Where the first byte lies that is not well-formed UTF-8 (RFC 3629: no overlong forms, no surrogates); n when all is
 * well. */
size_t utf8_bad(const void *s, size_t n);

/* Writes the n bytes at s into `room` bytes (at least 4), ended by 0, as one line that cannot steer a terminal: control
 * characters, line separators, marks of direction and bytes that are not UTF-8 become escapes such as \n, \x1B and
 * \u2028. What does not fit ends in "...". Returns the length. */
size_t text_printable(char *to, size_t room, const void *s, size_t n);

/* Whether `word` is one of `words`, which are separated by spaces. */
bool text_among(const char *words, const char *word);

/* The name nearest to `word` by edit distance (a swap of neighbours counts one), or NULL when none is near. */
const char *text_nearest(const char *word, const char *const *names, int n);
/* "1 epoch", "2 batches": a number with its noun. */
const char *text_count(int64_t n, const char *one, const char *many, char out[48]);

/* As snprintf, with decimal points whatever locale the host program has set. */
int text_format(char *to, size_t room, const char *format, ...) HEED_PRINTF(3, 4);
int text_formatv(char *to, size_t room, const char *format, va_list args);

#endif
