/* Text that came from a file: shown safely in a sentence, checked as UTF-8, read as a number. */
#define _GNU_SOURCE /* strtod_l */
#include "io/text.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The length of the well-formed sequence at s, 0 when there is none. The second byte has a narrower range after E0, ED,
 * F0 and F4: that rules out overlong forms, surrogates and what lies beyond U+10FFFF. */
static size_t utf8_sequence(const unsigned char *s, size_t n) {
    const unsigned char c = s[0];
    if (c < 0x80) return 1;
    const size_t length = c >= 0xC2 && c <= 0xDF ? 2 : c >= 0xE0 && c <= 0xEF ? 3 : c >= 0xF0 && c <= 0xF4 ? 4 : 0;
    if (length == 0 || length > n) return 0;
    const unsigned char low = c == 0xE0 ? 0xA0 : c == 0xF0 ? 0x90 : 0x80;
    const unsigned char high = c == 0xED ? 0x9F : c == 0xF4 ? 0x8F : 0xBF;
    if (s[1] < low || s[1] > high) return 0;
    for (size_t i = 2; i < length; i++)
        if ((s[i] & 0xC0) != 0x80) return 0;
    return length;
}

size_t utf8_bad(const void *s, size_t n) {
    const unsigned char *p = s;
    size_t i = 0;
    while (i < n) {
        const size_t length = utf8_sequence(p + i, n - i);
        if (length == 0) return i;
        i += length;
    }
    return n;
}

struct shown shown_bytes(const void *s, size_t n) {
    const unsigned char *p = s;
    struct shown out;
    size_t used = 0, i = 0;
    const size_t room = sizeof out.text - 8; /* a sequence of 4, then "..." and 0 */
    while (i < n && used < room) {
        const size_t length = utf8_sequence(p + i, n - i);
        /* C0, DEL and C1 (C2 80 to C2 9F) can steer a terminal. */
        const bool control = p[i] < 0x20 || p[i] == 0x7F || (p[i] == 0xC2 && length == 2 && p[i + 1] < 0xA0);
        if (length == 0 || control)
            out.text[used++] = '?';
        else {
            memcpy(out.text + used, p + i, length);
            used += length;
        }
        i += length ? length : 1;
    }
    memcpy(out.text + used, i < n ? "..." : "", i < n ? 4 : 1);
    return out;
}

struct shown shown(const char *s) {
    return shown_bytes(s ? s : "", s ? strlen(s) : 0);
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_blank(char c) { return c == ' ' || c == '\t'; }

static const char *skip_digits(const char *s) {
    while (is_digit(*s)) s++;
    return s;
}

/* The end of the number at s, or NULL. strtod alone would also take hexadecimal, leading new lines and nan(...). */
static const char *number_end(const char *s) {
    if (*s == '+' || *s == '-') s++;
    static const char *const words[] = {"infinity", "inf", "nan"};
    for (int i = 0; i < 3; i++)
        if (strncasecmp(s, words[i], strlen(words[i])) == 0) return s + strlen(words[i]);
    const char *whole = s;
    s = skip_digits(s);
    bool digits = s > whole;
    if (*s == '.') {
        const char *part = s + 1;
        s = skip_digits(part);
        digits = digits || s > part;
    }
    if (!digits) return NULL;
    if (*s == 'e' || *s == 'E') {
        const char *power = s + 1 + (s[1] == '+' || s[1] == '-');
        if (!is_digit(*power)) return NULL;
        s = skip_digits(power);
    }
    return s;
}

bool number_read(const char *s, double *out, bool *range) {
    *range = false;
    while (is_blank(*s)) s++;
    const char *end = number_end(s);
    if (!end) return false;
    const char *rest = end;
    while (is_blank(*rest)) rest++;
    if (*rest) return false;
    const locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0); /* a constant of the C library: nothing to free up */
    if (c == (locale_t)0) return false;
    const double value = strtod_l(s, NULL, c);
    freelocale(c);
    const char last = end[-1];
    *range = isinf(value) && (is_digit(last) || last == '.');
    if (*range) return false;
    *out = value;
    return true;
}

bool text_ends(const char *s, size_t n, const char *suffix) {
    const size_t m = strlen(suffix);
    return n >= m && memcmp(s + n - m, suffix, m) == 0;
}
