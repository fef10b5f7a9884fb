/* Text: UTF-8, text of unknown origin on one printable line, and printing in the C locale. */
#define _GNU_SOURCE /* uselocale */
#include "base/text.h"

#include <locale.h>
#include <stdio.h>
#include <string.h>

/* ---- UTF-8 ---- */

/* The second byte has a narrower range after E0, ED, F0 and F4: that rules out overlong forms, surrogates and what lies
 * beyond U+10FFFF. */
size_t utf8_sequence(const void *text, size_t n) {
    const unsigned char *s = text, c = s[0];
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

/* ---- printable ---- */

/* C0, DEL and C1 can steer a terminal, U+2028 and U+2029 end a line, the others turn its direction. */
static bool is_control(unsigned code) {
    return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0x61C || code == 0x200E || code == 0x200F ||
           (code >= 0x2028 && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
}

static unsigned code_of(const unsigned char *s, size_t length) {
    if (length < 2) return s[0];
    unsigned code = s[0] & (0x7Fu >> length);
    for (size_t i = 1; i < length; i++) code = code << 6 | (s[i] & 0x3F);
    return code;
}

/* One character, or a byte that is none, as it is shown; *took: bytes of s. Returns bytes of out. */
static size_t show(char out[8], const unsigned char *s, size_t n, size_t *took) {
    static const char letters[] = "abtnvfr"; /* from 7 */
    const size_t length = utf8_sequence(s, n);
    const unsigned code = code_of(s, length);
    *took = length ? length : 1;
    if (length && !is_control(code)) return memcpy(out, s, length), length;
    if (length && code >= 7 && code < 14) return (size_t)snprintf(out, 8, "\\%c", letters[code - 7]);
    return (size_t)snprintf(out, 8, code < 0x80 || !length ? "\\x%02X" : "\\u%04X", code);
}

size_t text_printable(char *to, size_t room, const void *s, size_t n) {
    const unsigned char *p = s;
    size_t used = 0, fits = 0, took; /* fits: as much as leaves room for the dots */
    for (size_t i = 0; i < n; i += took) {
        char one[8];
        const size_t size = show(one, p + i, n - i, &took);
        if (used + size >= room) {
            memcpy(to + fits, "...", 4);
            return fits + 3;
        }
        memcpy(to + used, one, size);
        used += size;
        if (used + sizeof "..." <= room) fits = used;
    }
    to[used] = 0;
    return used;
}

/* ---- printing ---- */

int text_formatv(char *to, size_t room, const char *format, va_list args) {
    const locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0); /* a constant of the C library: it takes no memory */
    const locale_t before = c ? uselocale(c) : (locale_t)0;
    const int length = vsnprintf(to, room, format, args);
    if (c) {
        uselocale(before);
        freelocale(c);
    }
    return length;
}

int text_format(char *to, size_t room, const char *format, ...) {
    va_list args;
    va_start(args, format);
    const int length = text_formatv(to, room, format, args);
    va_end(args);
    return length;
}

bool text_among(const char *words, const char *word) {
    const size_t n = strlen(word);
    for (const char *at = words; n && (at = strstr(at, word)); at += n)
        if ((at == words || at[-1] == ' ') && (!at[n] || at[n] == ' ')) return true;
    return false;
}

const char *text_count(int64_t n, const char *one, const char *many, char out[48]) {
    snprintf(out, 48, "%lld %.20s", (long long)n, n == 1 ? one : many);
    return out;
}
