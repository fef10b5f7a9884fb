/* UTF-8 by hand, and what Unicode says of a character by utf8proc's tables.
 *
 * utf8proc knows general categories and simple case; the derived properties Uppercase and Lowercase, which Python and
 * Rust go by, are a category and a short list of others (PropList.txt of Unicode 15: Other_Uppercase, Other_Lowercase).
 */
#include "text/unicode/unicode.h"
#include "io/text.h"

#include <string.h>
#include <utf8proc.h>

int32_t utf8_next(const char **at, const char *end) {
    const unsigned char *s = (const unsigned char *)*at;
    const size_t n = (size_t)(end - *at);
    *at += n > 0;
    if (n == 0) return -1;
    if (s[0] < 0x80) return s[0];
    const size_t length = s[0] >= 0xF0 ? 4 : s[0] >= 0xE0 ? 3 : 2;
    if (s[0] < 0xC2 || s[0] > 0xF4 || n < length) return -1;
    int32_t c = s[0] & (0x7F >> length);
    for (size_t i = 1; i < length; i++) {
        if ((s[i] & 0xC0) != 0x80) return -1;
        c = c << 6 | (s[i] & 0x3F);
    }
    if (length == 3 && (c < 0x800 || (c >= 0xD800 && c < 0xE000))) return -1;
    if (length == 4 && (c < 0x10000 || c > 0x10FFFF)) return -1;
    *at += length - 1;
    return c;
}

int utf8_put(char *to, int32_t c) {
    if (c < 0x80) {
        to[0] = (char)c;
        return 1;
    }
    const int length = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (int i = length - 1; i > 0; i--, c >>= 6) to[i] = (char)(0x80 | (c & 0x3F));
    to[0] = (char)((0xF00 >> length & 0xFF) | c);
    return length;
}

bool utf8_check(heed_ctx *cx, const char *what, const char *text, size_t size) {
    const size_t bad = utf8_bad(text, size);
    return bad == size || heed_fail(cx, HEED_ERR_FORMAT, "%s: byte %zu is not UTF-8", what, bad + 1);
}

const char *utf8_flaw(const char *text, size_t size, size_t *at) {
    const size_t bad = utf8_bad(text, size);
    const char *nul = memchr(text, 0, bad);
    if (!nul && bad == size) return NULL;
    *at = nul ? (size_t)(nul - text) : bad;
    return nul ? "NUL" : "not UTF-8";
}

/* ---- properties ---- */

bool unicode_is_space(int32_t c) {
    if (c < 0x80) return c == ' ' || (c >= '\t' && c <= '\r');
    return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 ||
           c == 0x202F || c == 0x205F || c == 0x3000;
}

/* utf8proc numbers the categories Lu Ll Lt Lm Lo | Mn Mc Me | Nd Nl No | Pc ... Po | Sm ... So | ... */
static bool category_within(int32_t c, utf8proc_category_t first, utf8proc_category_t last) {
    const utf8proc_category_t category = utf8proc_category(c);
    return category >= first && category <= last;
}

bool unicode_is_letter(int32_t c) { return category_within(c, UTF8PROC_CATEGORY_LU, UTF8PROC_CATEGORY_LO); }
bool unicode_is_number(int32_t c) { return category_within(c, UTF8PROC_CATEGORY_ND, UTF8PROC_CATEGORY_NO); }
bool unicode_is_punctuation(int32_t c) { return category_within(c, UTF8PROC_CATEGORY_PC, UTF8PROC_CATEGORY_PO); }
bool unicode_is_symbol(int32_t c) { return category_within(c, UTF8PROC_CATEGORY_SM, UTF8PROC_CATEGORY_SO); }

struct span {
    int32_t first, last;
};

static bool within(int32_t c, const struct span *spans, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (c >= spans[i].first && c <= spans[i].last) return true;
    return false;
}

bool unicode_is_upper(int32_t c) {
    static const struct span others[] = {
        {0x2160, 0x216F}, {0x24B6, 0x24CF}, {0x1F130, 0x1F149}, {0x1F150, 0x1F169}, {0x1F170, 0x1F189}};
    if (c < 0x80) return c >= 'A' && c <= 'Z';
    return utf8proc_category(c) == UTF8PROC_CATEGORY_LU || within(c, others, sizeof others / sizeof *others);
}

bool unicode_is_lower(int32_t c) {
    static const struct span others[] = {
        {0xAA, 0xAA},       {0xBA, 0xBA},       {0x2B0, 0x2B8},     {0x2C0, 0x2C1},     {0x2E0, 0x2E4},
        {0x345, 0x345},     {0x37A, 0x37A},     {0x1D2C, 0x1D6A},   {0x1D78, 0x1D78},   {0x1D9B, 0x1DBF},
        {0x2071, 0x2071},   {0x207F, 0x207F},   {0x2090, 0x209C},   {0x2170, 0x217F},   {0x24D0, 0x24E9},
        {0x2C7C, 0x2C7D},   {0xA69C, 0xA69D},   {0xA770, 0xA770},   {0xA7F8, 0xA7F9},   {0xAB5C, 0xAB5F},
        {0x10780, 0x10780}, {0x10783, 0x10785}, {0x10787, 0x107B0}, {0x107B2, 0x107BA}, {0x1E030, 0x1E06D},
    };
    if (c < 0x80) return c >= 'a' && c <= 'z';
    return utf8proc_category(c) == UTF8PROC_CATEGORY_LL || within(c, others, sizeof others / sizeof *others);
}

/* SpecialCasing.txt has one lower case of more than one character that holds in every language: I with a dot above. */
int utf8_put_lower(char *to, int32_t c) {
    if (c == 0x130) {
        to[0] = 'i';
        return 1 + utf8_put(to + 1, 0x307);
    }
    return utf8_put(to, c < 0x80 ? (c >= 'A' && c <= 'Z' ? c + 32 : c) : utf8proc_tolower(c));
}
