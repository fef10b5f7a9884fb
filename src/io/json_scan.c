#include "io/json_scan.h"
#include "base/text.h"
#include "io/json.h"
#include "io/text.h"

#include <math.h>
#include <string.h>

void json_scan_begin(heed_ctx *cx, struct json_scan *s, const char *name, const char *text, size_t size) {
    *s = (struct json_scan){.cx = cx, .name = name, .text = text, .at = text, .end = text + size};
}

bool json_scan_fail(struct json_scan *s, const char *format, ...) {
    char why[300];
    long long line = 1;
    const char *from = s->text;
    va_list args;
    va_start(args, format);
    text_formatv(why, sizeof why, format, args);
    va_end(args);
    for (const char *p = s->text; p < s->at; p++)
        if (*p == '\n') line++, from = p + 1;
    return heed_fail(s->cx, HEED_ERR_FORMAT, "%s: line %lld, column %lld: %s", s->name, line,
                     (long long)(s->at - from) + 1, why);
}

static void skip_blanks(struct json_scan *s) {
    while (*s->at == ' ' || *s->at == '\n' || *s->at == '\t' || *s->at == '\r') s->at++;
}

bool json_scan_done(struct json_scan *s) {
    heed_mem_free(s->cx, s->word);
    s->word = NULL;
    if (heed_failed(s->cx)) return false;
    skip_blanks(s);
    return s->at == s->end || json_scan_fail(s, "something follows the value");
}

static const char *kind_name(heed_json_kind kind) {
    static const char *const names[] = {"nothing",  "null",     "a boolean", "a number",
                                        "a number", "a string", "a list",    "an object"};
    return names[kind];
}

heed_json_kind json_scan_kind(struct json_scan *s) {
    skip_blanks(s);
    switch (*s->at) {
    case '{':
        return HEED_JSON_OBJECT;
    case '[':
        return HEED_JSON_ARRAY;
    case '"':
        return HEED_JSON_TEXT;
    case 't':
    case 'f':
        return HEED_JSON_BOOL;
    case 'n':
        return HEED_JSON_NULL;
    default:
        return *s->at == '-' || (*s->at >= '0' && *s->at <= '9') ? HEED_JSON_REAL : HEED_JSON_NONE;
    }
}

static bool expect(struct json_scan *s, heed_json_kind kind) {
    if (heed_failed(s->cx)) return false;
    const heed_json_kind found = json_scan_kind(s);
    if (found == kind) return true;
    if (found != HEED_JSON_NONE) return json_scan_fail(s, "expected %s, found %s", kind_name(kind), kind_name(found));
    if (s->at == s->end) return json_scan_fail(s, "the file ends within a value");
    return json_scan_fail(s, "'%s' is no JSON", escaped_bytes(s->at, 1).s);
}

/* ---- arrays and objects ---- */

static bool open(struct json_scan *s, heed_json_kind kind) {
    if (!expect(s, kind)) return false;
    if (s->depth == JSON_MAX_DEPTH) return json_scan_fail(s, "more than %d levels deep", JSON_MAX_DEPTH);
    s->depth++;
    s->at++;
    s->fresh = true;
    return true;
}

/* Whether one more follows; steps over the comma. */
static bool follows(struct json_scan *s, char close) {
    if (heed_failed(s->cx)) return false;
    skip_blanks(s);
    const bool first = s->fresh;
    s->fresh = false;
    if (*s->at == close) {
        s->at++;
        s->depth--;
        return false;
    }
    if (first) return true;
    if (*s->at != ',') return json_scan_fail(s, "expected a comma or '%c'", close);
    s->at++;
    return true;
}

bool json_scan_array(struct json_scan *s) { return open(s, HEED_JSON_ARRAY); }
bool json_scan_object(struct json_scan *s) { return open(s, HEED_JSON_OBJECT); }
bool json_scan_item(struct json_scan *s) { return follows(s, ']'); }

bool json_scan_member(struct json_scan *s) {
    const char *text;
    if (!follows(s, '}') || !json_scan_text(s, &text)) return false;
    const size_t n = strlen(text);
    memcpy(s->key, text, n < JSON_SCAN_KEY ? n + 1 : JSON_SCAN_KEY);
    if (n >= JSON_SCAN_KEY) memcpy(s->key + JSON_SCAN_KEY - 2, "\xFF", 2);
    skip_blanks(s);
    if (*s->at != ':') return json_scan_fail(s, "expected a colon");
    s->at++;
    return true;
}

/* ---- strings ---- */

static int hex(const char *s) {
    int value = 0;
    for (int i = 0; i < 4; i++) {
        const char c = s[i];
        const int digit = c >= '0' && c <= '9'   ? c - '0'
                          : c >= 'a' && c <= 'f' ? c - 'a' + 10
                          : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                 : -1;
        if (digit < 0) return -1;
        value = 16 * value + digit;
    }
    return value;
}

static char *put_utf8(char *to, int c) {
    if (c < 0x80) {
        *to++ = (char)c;
    } else if (c < 0x800) {
        *to++ = (char)(0xC0 | c >> 6);
        *to++ = (char)(0x80 | (c & 63));
    } else if (c < 0x10000) {
        *to++ = (char)(0xE0 | c >> 12);
        *to++ = (char)(0x80 | (c >> 6 & 63));
        *to++ = (char)(0x80 | (c & 63));
    } else {
        *to++ = (char)(0xF0 | c >> 18);
        *to++ = (char)(0x80 | (c >> 12 & 63));
        *to++ = (char)(0x80 | (c >> 6 & 63));
        *to++ = (char)(0x80 | (c & 63));
    }
    return to;
}

/* The escape at s->at, which a byte 0 follows at the latest; NULL: it is none. */
static char *put_escape(struct json_scan *s, char *to) {
    static const char names[] = "\"\\/bfnrt", bytes[] = "\"\\/\b\f\n\r\t";
    const char *found = s->at[1] ? strchr(names, s->at[1]) : NULL;
    if (found) {
        *to++ = bytes[found - names];
        s->at += 2;
        return to;
    }
    int c = s->at[1] == 'u' ? hex(s->at + 2) : -1;
    if (c <= 0 || (c >= 0xDC00 && c < 0xE000)) return NULL;
    s->at += 6;
    if (c >= 0xD800 && c < 0xDC00) {
        const int low = s->at[0] == '\\' && s->at[1] == 'u' ? hex(s->at + 2) : -1;
        if (low < 0xDC00 || low >= 0xE000) return NULL;
        c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
        s->at += 6;
    }
    return put_utf8(to, c);
}

/* The closing quote of the string whose first byte is at `at`; NULL: there is none. */
static const char *closing(const struct json_scan *s, const char *at) {
    for (; at < s->end && *at != '"'; at++)
        if (*at == '\\') at++;
    return at < s->end ? at : NULL;
}

bool json_scan_text(struct json_scan *s, const char **out) {
    if (!expect(s, HEED_JSON_TEXT)) return false;
    const char *quote = closing(s, s->at + 1);
    if (!quote) return json_scan_fail(s, "a string without an end");
    const size_t room = (size_t)(quote - s->at);
    if (room > s->word_room) {
        char *larger = heed_mem_resize(s->cx, s->word, 2 * room);
        if (!larger) return false;
        s->word = larger;
        s->word_room = 2 * room;
    }
    char *to = s->word;
    for (s->at++; s->at < quote;) {
        if ((unsigned char)*s->at < 32) return json_scan_fail(s, "a control character within a string");
        if (*s->at != '\\')
            *to++ = *s->at++;
        else if (!(to = put_escape(s, to)))
            return json_scan_fail(s, "an escape that JSON does not have");
    }
    *to = 0;
    if (utf8_bad(s->word, (size_t)(to - s->word)) < (size_t)(to - s->word))
        return json_scan_fail(s, "a string that is not UTF-8");
    s->at = quote + 1;
    *out = s->word;
    return true;
}

/* ---- numbers and words ---- */

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static const char *digits(const char *p) {
    while (is_digit(*p)) p++;
    return p;
}

/* The end of the number at s->at, NULL where it is none. */
static const char *number_end(const struct json_scan *s) {
    const char *p = s->at + (*s->at == '-');
    if (!is_digit(*p)) return NULL;
    p = *p == '0' ? p + 1 : digits(p);
    if (*p == '.') {
        if (!is_digit(p[1])) return NULL;
        p = digits(p + 1);
    }
    if (*p == 'e' || *p == 'E') {
        p += 1 + (p[1] == '+' || p[1] == '-');
        if (!is_digit(*p)) return NULL;
        p = digits(p);
    }
    return p;
}

/* Up to 16 digits, some of them behind the point, are a quotient of two whole numbers that a double holds, and so are
 * rounded once. */
static bool short_number(const char *p, const char *end, double *out) {
    static const double tens[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    const bool negative = *p == '-';
    int64_t whole = 0;
    int behind = -1;
    p += negative;
    if (end - p > 16) return false;
    for (; p < end; p++) {
        if (*p == '.') {
            behind = 0;
        } else if (is_digit(*p)) {
            whole = 10 * whole + (*p - '0');
            behind += behind >= 0;
        } else {
            return false;
        }
    }
    if (whole >= (int64_t)1 << 53) return false;
    const double value = (double)whole / tens[behind > 0 ? behind : 0];
    *out = negative ? -value : value;
    return true;
}

bool json_scan_number(struct json_scan *s, double *out) {
    char text[NUMBER_LONGEST];
    bool range = false;
    if (!expect(s, HEED_JSON_REAL)) return false;
    const char *end = number_end(s);
    if (!end) return json_scan_fail(s, "no number of JSON");
    if (!short_number(s->at, end, out)) {
        const size_t n = (size_t)(end - s->at);
        if (n >= sizeof text) return json_scan_fail(s, "a number of %zu characters", n);
        memcpy(text, s->at, n);
        text[n] = 0;
        if (!number_read(text, out, &range)) return json_scan_fail(s, "%s is out of range", escaped(text).s);
    }
    s->at = end;
    return true;
}

bool json_scan_int(struct json_scan *s, int64_t *out) {
    double value;
    skip_blanks(s);
    const char *from = s->at;
    if (!json_scan_number(s, &value)) return false;
    if (value == floor(value) && fabs(value) <= 0x1p53) {
        *out = (int64_t)value;
        return true;
    }
    s->at = from;
    return json_scan_fail(s, "%g is no whole number, or too large", value);
}

static bool word(struct json_scan *s, const char *text) {
    const size_t n = strlen(text);
    if (strncmp(s->at, text, n) != 0) return json_scan_fail(s, "'%s' is no JSON", escaped_bytes(s->at, 1).s);
    s->at += n;
    return true;
}

bool json_scan_bool(struct json_scan *s, bool *out) {
    int64_t value;
    if (json_scan_kind(s) == HEED_JSON_REAL) {
        if (!json_scan_int(s, &value)) return false;
        *out = value == 1;
        return value == 0 || value == 1 || json_scan_fail(s, "expected 0 or 1, found %lld", (long long)value);
    }
    *out = *s->at == 't';
    return expect(s, HEED_JSON_BOOL) && word(s, *out ? "true" : "false");
}

/* ---- what nobody reads ---- */

static bool skip_one(struct json_scan *s) {
    const char *end;
    switch (json_scan_kind(s)) {
    case HEED_JSON_TEXT:
        end = closing(s, s->at + 1);
        if (!end) return json_scan_fail(s, "a string without an end");
        s->at = end + 1;
        return true;
    case HEED_JSON_REAL:
        end = number_end(s);
        if (!end) return json_scan_fail(s, "no number of JSON");
        s->at = end;
        return true;
    case HEED_JSON_BOOL:
        return word(s, *s->at == 't' ? "true" : "false");
    case HEED_JSON_NULL:
        return word(s, "null");
    default:
        return expect(s, HEED_JSON_NULL); /* which says what is there instead */
    }
}

bool json_scan_skip(struct json_scan *s) {
    bool object[JSON_MAX_DEPTH + 1]; /* of the levels above this value, which are open */
    const int outer = s->depth;
    if (heed_failed(s->cx)) return false;
    do {
        const heed_json_kind kind = json_scan_kind(s);
        if (kind == HEED_JSON_OBJECT || kind == HEED_JSON_ARRAY) {
            if (!open(s, kind)) return false;
            object[s->depth] = kind == HEED_JSON_OBJECT;
        } else if (!skip_one(s)) {
            return false;
        }
        while (s->depth > outer && !(object[s->depth] ? json_scan_member(s) : json_scan_item(s)))
            if (heed_failed(s->cx)) return false;
    } while (s->depth > outer);
    return true;
}
