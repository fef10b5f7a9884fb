/* Text that came from a file: shown safely in a sentence, checked as UTF-8, read as a number. */
#ifndef IO_TEXT_H
#define IO_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* A hostile string made fit for a sentence: cut to some 80 bytes, control characters replaced. By value, so that
 * heed_fail(cx, ..., "'%s'", shown(s).text) needs no buffer of its own. */
struct shown {
    char text[96];
};
struct shown shown(const char *s); /* NULL gives "" */
struct shown shown_bytes(const void *s, size_t n);

/* Where the first byte lies that is not well-formed UTF-8 (RFC 3629: no overlong forms, no surrogates); n when all is
 * well. */
size_t utf8_bad(const void *s, size_t n);

/* A decimal number: [+-] digits [. digits] [e [+-] digits], or inf, infinity, nan in any case; spaces and tabs around
 * are ignored. Never depends on the locale. false: not a number, or (*range) beyond what a double can hold. */
bool number_read(const char *s, double *out, bool *range);

bool text_ends(const char *s, size_t n, const char *suffix); /* whether the n bytes at s end in suffix */

#endif
