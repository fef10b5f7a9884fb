/* Edits of a text: see the header. Bytes are compared where that is the same as comparing characters, which it is for
 * whole characters, as UTF-8 is self-synchronising. */
#define _GNU_SOURCE /* memmem */
#include "text/strings/edit.h"
#include "text/unicode/unicode_tables.h"

#include <string.h>
#include <utf8proc.h>

bool edit_begin(struct edit *e, heed_ctx *cx, const char *text, size_t size) {
    *e = (struct edit){.cx = cx};
    return heed_string_put(cx, &e->text, text, size);
}

void edit_end(struct edit *e) {
    heed_string_free(e->cx, &e->text);
    heed_string_free(e->cx, &e->spare);
}

void edit_put(struct edit *e, const char *from, const char *end) {
    heed_string_put(e->cx, &e->spare, from, (size_t)(end - from));
}

void edit_swap(struct edit *e) {
    const heed_string old = e->text;
    if (heed_failed(e->cx) || !heed_string_put(e->cx, &e->spare, "", 0)) return;
    e->text = e->spare;
    e->spare = old;
    e->spare.size = 0;
}

const char *edit_stop(const struct edit *e) { return e->text.s + e->text.size; }

void edit_replace(struct edit *e, const char *from, const char *to) {
    if (heed_failed(e->cx)) return;
    const size_t size = strlen(from);
    const char *s = e->text.s, *end = edit_stop(e), *at = memmem(s, e->text.size, from, size);
    if (!at) return;
    for (; at; at = memmem(s, (size_t)(end - s), from, size)) {
        edit_put(e, s, at);
        edit_put(e, to, to + strlen(to));
        s = at + size;
    }
    edit_put(e, s, end);
    edit_swap(e);
}

void edit_squeeze(struct edit *e) {
    if (heed_failed(e->cx)) return;
    char *to = e->text.s;
    for (const char *s = to, *end = edit_stop(e); s < end; s++)
        if (*s != ' ' || to == e->text.s || to[-1] != ' ') *to++ = *s;
    *to = 0;
    e->text.size = (size_t)(to - e->text.s);
}

bool text_is_space(int32_t c) { return (c >= 0x1C && c <= 0x1F) || unicode_is_space(c); }

static bool is_letter(char c) { return (c | 32) >= 'a' && (c | 32) <= 'z'; }

const char *text_next_word(const char **at, const char *end, bool marks, size_t *size) {
    const char *word = *at, *s = word;
    while (s < end) {
        const char *const here = s;
        if (is_letter(*s)) {
            s++;
            continue;
        }
        const int32_t c = utf8_next(&s, end);
        const bool space = text_is_space(c), mark = marks && !space && peer_is_punctuation(c);
        if (!space && !mark) continue;
        if (here > word || mark) {
            *at = here > word ? here : s;
            *size = (size_t)(*at - word);
            return word;
        }
        word = s;
    }
    *at = end;
    *size = (size_t)(end - word);
    return *size > 0 ? word : NULL;
}

bool text_is_digit(int32_t c) { return c < 0x80 ? c >= '0' && c <= '9' : utf8proc_category(c) == UTF8PROC_CATEGORY_ND; }

void edit_words(struct edit *e) {
    if (heed_failed(e->cx)) return;
    char *to = e->text.s;
    bool gap = false;
    for (const char *s = to, *end = edit_stop(e); s < end;) {
        const char *from = s;
        if (text_is_space(utf8_next(&s, end))) {
            gap = to > e->text.s;
            continue;
        }
        if (gap) *to++ = ' ';
        gap = false;
        while (from < s) *to++ = *from++;
    }
    *to = 0;
    e->text.size = (size_t)(to - e->text.s);
}

void edit_strip_end(struct edit *e) {
    if (heed_failed(e->cx)) return;
    const char *last = e->text.s;
    for (const char *s = last, *end = edit_stop(e); s < end;)
        if (!text_is_space(utf8_next(&s, end))) last = s;
    e->text.size = (size_t)(last - e->text.s);
    e->text.s[e->text.size] = 0;
}

void edit_strip(struct edit *e) {
    edit_strip_end(e);
    if (heed_failed(e->cx)) return;
    const char *first = e->text.s, *end = edit_stop(e);
    for (const char *s = first; s < end && text_is_space(utf8_next(&s, end));) first = s;
    e->text.size = (size_t)(end - first);
    memmove(e->text.s, first, e->text.size + 1);
}

/* ---- lower case ---- */

static bool is_cased(int32_t c) {
    return unicode_is_upper(c) || unicode_is_lower(c) || utf8proc_category(c) == UTF8PROC_CATEGORY_LT;
}

/* Unicode's Case_Ignorable: marks, format characters, modifiers, and the punctuation that occurs within words. */
static bool is_case_ignorable(int32_t c) {
    static const int32_t within_words[] = {'\'',   '.',    ':',    0xB7,   0x387,  0x55F,  0x5F4,  0x2018, 0x2019,
                                           0x2024, 0x2027, 0xFE13, 0xFE52, 0xFE55, 0xFF07, 0xFF0E, 0xFF1A};
    for (size_t i = 0; i < sizeof within_words / sizeof *within_words; i++)
        if (c == within_words[i]) return true;
    const utf8proc_category_t category = utf8proc_category(c);
    return category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_ME || category == UTF8PROC_CATEGORY_CF ||
           category == UTF8PROC_CATEGORY_LM || category == UTF8PROC_CATEGORY_SK;
}

/* Whether the sigma in [at, next) ends a word: something cased before it, nothing cased after it (SpecialCasing.txt,
 * Final_Sigma). */
static bool is_final_sigma(const char *text, const char *at, const char *next, const char *end) {
    int32_t c = -1;
    while (at > text) {
        do at--;
        while (at > text && (*at & 0xC0) == 0x80);
        const char *s = at;
        c = utf8_next(&s, end);
        if (!is_case_ignorable(c)) break;
        c = -1;
    }
    if (c < 0 || !is_cased(c)) return false;
    while (next < end)
        if (!is_case_ignorable(c = utf8_next(&next, end))) return !is_cased(c);
    return true;
}

void edit_lower(struct edit *e) {
    if (heed_failed(e->cx)) return;
    const char *text = e->text.s, *end = edit_stop(e);
    for (const char *s = text; s < end;) {
        const char *from = s;
        char lower[UTF8_LOWER];
        const int32_t c = utf8_next(&s, end);
        const bool final = c == 0x3A3 && is_final_sigma(text, from, s, end);
        edit_put(e, lower, lower + (final ? utf8_put(lower, 0x3C2) : utf8_put_lower(lower, c)));
    }
    edit_swap(e);
}
