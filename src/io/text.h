/* Text that came from a file: shown safely in a sentence, read as a number; and numbers written as text. */
#ifndef IO_TEXT_H
#define IO_TEXT_H

#include "base/text.h"

/* A hostile string made fit for a sentence: cut to some 90 bytes and printable. By value, so that
 * heed_fail(cx, ..., "'%s'", escaped(s).s) needs no buffer of its own. */
struct escaped {
    char s[96];
};
struct escaped escaped(const char *s); /* NULL gives "" */
struct escaped escaped_bytes(const void *s, size_t n);

/* A decimal number: [+-] digits [. digits] [e [+-] digits], or inf, infinity, nan in any case; spaces and tabs around
 * are ignored. Never depends on the locale. false: not a number, or (*range) beyond what a double can hold. */
bool number_read(const char *s, double *out, bool *range);
/* The same with another decimal mark, ',' or '.'. */
bool number_read_as(const char *s, char decimal, double *out, bool *range);
/* A number whose whole digits are in groups of three, 1,234,567.8 or 1'234, without the marks (' ': also a no-break
 * space). Returns how many groups follow the first; 0: it is no such text, and `out` is not set. */
#define NUMBER_LONGEST 400 /* characters: enough for every digit of a double */
int number_ungrouped(const char *s, char mark, char out[NUMBER_LONGEST]);
/* Whether it has that form, which is quicker; its range is not looked at. */
bool number_is(const char *s, char decimal);
/* Whether a cell says that its value is missing: empty, NA, N/A, n/a, NULL, null, ?, or nan in any case; blanks around
 * are ignored. "Na" is sodium. */
bool text_is_missing(const char *s);
bool text_is_blank(const char *s); /* spaces, tabs, page and line ends alone */

/* As few digits as number_read reads back as the same number (single: as the same float), with a decimal point whatever
 * the locale. */
#define NUMBER_ROOM 40
void number_shortest(char out[NUMBER_ROOM], double value, bool single);

bool text_ends(const char *s, size_t n, const char *suffix); /* whether the n bytes at s end in suffix */

#endif
