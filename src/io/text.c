/* Text that came from a file: shown safely in a sentence, read as a number; and numbers written as text. */
#define _GNU_SOURCE /* strtod_l */
#include "io/text.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct escaped escaped_bytes(const void *s, size_t n) {
    struct escaped out;
    text_printable(out.s, sizeof out.s, s, n);
    return out;
}

struct escaped escaped(const char *s) {
    return escaped_bytes(s ? s : "", s ? strlen(s) : 0);
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_blank(char c) { return c == ' ' || c == '\t'; }

static const char *skip_digits(const char *s) {
    while (is_digit(*s)) s++;
    return s;
}

/* The end of the number at s, or NULL. strtod alone would also take hexadecimal, leading new lines and nan(...). */
static const char *number_end(const char *s, char decimal) {
    if (*s == '+' || *s == '-') s++;
    static const char *const words[] = {"infinity", "inf", "nan"};
    for (int i = 0; i < 3; i++)
        if (strncasecmp(s, words[i], strlen(words[i])) == 0) return s + strlen(words[i]);
    const char *whole = s;
    s = skip_digits(s);
    bool digits = s > whole;
    if (*s == decimal) {
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
    const char *end = number_end(s, '.');
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

void number_shortest(char out[NUMBER_ROOM], double value, bool single) {
    if (!isfinite(value)) {
        strcpy(out, isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
        return;
    }
    for (int digits = 6; digits <= 17; digits++) {
        double back = 0;
        bool range;
        text_format(out, NUMBER_ROOM, "%.*g", digits, value);
        if (number_read(out, &back, &range) && (single ? (float)back == (float)value : back == value)) return;
    }
}

bool number_read_as(const char *s, char decimal, double *out, bool *range) {
    char copy[NUMBER_LONGEST];
    *range = false;
    if (decimal == '.') return number_read(s, out, range);
    const size_t n = strlen(s);
    if (n >= sizeof copy || memchr(s, '.', n)) return false;
    memcpy(copy, s, n + 1);
    char *mark = strchr(copy, decimal);
    if (mark) *mark = '.';
    return number_read(copy, out, range);
}

/* The bytes of a mark at s; 0: there is none. */
static size_t mark_length(const char *s, char mark) {
    if (*s == mark) return 1;
    if (mark == ' ' && strncmp(s, "\xC2\xA0", 2) == 0) return 2;     /* a no-break space, */
    if (mark == ' ' && strncmp(s, "\xE2\x80\xAF", 3) == 0) return 3; /* a narrow one */
    return 0;
}

int number_ungrouped(const char *s, char mark, char out[NUMBER_LONGEST]) {
    char plain[NUMBER_LONGEST];
    size_t n = 0, length;
    int groups = 0;
    while (is_blank(*s)) s++;
    if (*s == '+' || *s == '-') plain[n++] = *s++;
    const size_t first = (size_t)(skip_digits(s) - s);
    if (first < 1 || first > 3 || *s == '0' || strlen(s) + 2 > sizeof plain) return 0;
    memcpy(plain + n, s, first);
    n += first;
    for (s += first; (length = mark_length(s, mark)) > 0 && skip_digits(s + length) == s + length + 3; groups++) {
        memcpy(plain + n, s + length, 3);
        n += 3;
        s += length + 3;
    }
    if (groups == 0 || mark_length(s, mark) > 0) return 0;
    memcpy(plain + n, s, strlen(s) + 1);
    memcpy(out, plain, n + strlen(s) + 1);
    return groups;
}

bool number_is(const char *s, char decimal) {
    while (is_blank(*s)) s++;
    s = number_end(s, decimal);
    while (s && is_blank(*s)) s++;
    return s && !*s;
}

bool text_is_blank(const char *s) { return s[strspn(s, " \t\r\n\f\v")] == 0; }

bool text_is_missing(const char *s) {
    static const char *const words[] = {"NA", "N/A", "n/a", "NULL", "null", "?"};
    while (is_blank(*s)) s++;
    size_t n = strlen(s);
    while (n > 0 && is_blank(s[n - 1])) n--;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (n == strlen(words[i]) && memcmp(s, words[i], n) == 0) return true;
    return n == 0 || (n == 3 && strncasecmp(s, "nan", 3) == 0);
}

bool text_ends(const char *s, size_t n, const char *suffix) {
    const size_t m = strlen(suffix);
    return n >= m && memcmp(s + n - m, suffix, m) == 0;
}
