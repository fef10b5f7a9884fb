/* Punctuation made plain: one kind of quote, dash and blank, quotes and commas in the order of the language. As
 * sacremoses' MosesPunctNormalizer with its defaults, and as Moses' normalize-punctuation but for what they differ in.
 *
 * The rules run one after the other over the whole text, as theirs do; most put one string for another. Rules of theirs
 * that the ones around them make idle are left out: single quotes between letters become ' by the general rule anyway,
 * and by the time two acute accents are looked for both have become '. */
#define _GNU_SOURCE /* memmem */
#include "text/moses/moses.h"

#include <string.h>

#define NBSP "\u00A0"

struct replacement {
    const char *from, *to; /* from NULL: runs of blanks become one */
};

static void replace_all(struct edit *e, const struct replacement *r, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (r[i].from)
            edit_replace(e, r[i].from, r[i].to);
        else
            edit_squeeze(e);
}
#define REPLACE_ALL(e, table) replace_all(e, table, sizeof(table) / sizeof *(table))

/* The character that ends at `at`; -1 at the start of the text, and for one that begins before `floor`. */
static int32_t character_before(const char *floor, const char *at) {
    const char *s = at;
    if (s <= floor) return -1;
    do s--;
    while (s > floor && (*s & 0xC0) == 0x80);
    return utf8_next(&s, at);
}

/* No blank between a closing bracket and the mark behind it. */
static void join_marks(struct edit *e) {
    if (heed_failed(e->cx)) return;
    const char *s = e->text.s, *end = edit_stop(e);
    for (const char *at = s; at + 2 < end; at++)
        if (at[0] == ')' && at[1] == ' ' && strchr(".!:?;,", at[2]) && at[2]) {
            edit_put(e, s, at + 1);
            s = at + 2;
        }
    if (s == e->text.s) return;
    edit_put(e, s, end);
    edit_swap(e);
}

/* `gap` between two digits, or between a digit and '%' when `percent`, becomes `to`. A digit that one change has used
 * is not the first of the next, as in 1 2 3. */
static void join_numbers(struct edit *e, const char *gap, bool percent, const char *to) {
    if (heed_failed(e->cx)) return;
    const size_t size = strlen(gap);
    const char *s = e->text.s, *end = edit_stop(e), *used = s;
    for (const char *at = s; (at = memmem(at, (size_t)(end - at), gap, size)); at += size) {
        const char *after = at + size;
        const int32_t c = after < end ? utf8_next(&after, end) : -1;
        if (!(percent ? c == '%' : text_is_digit(c)) || !text_is_digit(character_before(used, at))) continue;
        edit_put(e, s, at);
        edit_put(e, to, to + strlen(to));
        s = at + size;
        used = after;
    }
    if (s == e->text.s) return;
    edit_put(e, s, end);
    edit_swap(e);
}

/* English: "like this," with the comma or full stops inside the quotes. */
static void stops_before_quote(struct edit *e) {
    if (heed_failed(e->cx)) return;
    const char *s = e->text.s, *end = edit_stop(e);
    for (const char *at = s; (at = memchr(at, '"', (size_t)(end - at))); at++) {
        const size_t marks = strspn(at + 1, ",.");
        if (marks == 0) continue;
        edit_put(e, s, at);
        edit_put(e, at + 1, at + 1 + marks);
        edit_put(e, at, at + 1);
        s = at + 1 + marks;
        at = s - 1;
    }
    if (s == e->text.s) return;
    edit_put(e, s, end);
    edit_swap(e);
}

/* German and French: "so", with full stops outside the quotes, unless the text ends there or a '<' follows. White space
 * after the quote and one character more belong to the match, so that what begins with them is not looked at. */
static void stops_after_quote(struct edit *e) {
    if (heed_failed(e->cx)) return;
    const char *s = e->text.s, *end = edit_stop(e);
    for (const char *at = s; (at = memchr(at, '.', (size_t)(end - at)));) {
        const char *quote = at + strspn(at, ".");
        if (*quote != '"' || quote + 1 == end || quote[1] == '<') {
            at = quote;
            continue;
        }
        edit_put(e, s, at);
        edit_put(e, quote, quote + 1);
        edit_put(e, at, quote);
        s = at = quote + 1;
        int32_t c = ' ';
        while (at < end && *at != '<' && text_is_space(c)) c = utf8_next(&at, end);
    }
    if (s == e->text.s) return;
    edit_put(e, s, end);
    edit_swap(e);
}

void moses_normalise(struct edit *e, enum moses_language language) {
    static const struct replacement brackets[] = {{"\r", ""}, {"(", " ("}, {")", ") "}, {NULL, NULL}};
    static const struct replacement blanks[] = {{"( ", "("}, {" )", ")"}};
    static const struct replacement quotes[] = {
        /* blanks before colons, then backquotes and doubled quotes */
        {" :", ":"},
        {" ;", ";"},
        {"`", "'"},
        {"''", " \" "},
        /* typographic quotes, dashes, dots */
        {"„", "\""},
        {"“", "\""},
        {"”", "\""},
        {"–", "-"},
        {"—", " - "},
        {NULL, NULL},
        {"´", "'"},
        {"‘", "'"},
        {"‚", "'"},
        {"’", "'"},
        {"''", "\""},
        {"…", "..."},
        /* guillemets, with the hard blanks that belong to them */
        {NBSP "«" NBSP, "\""},
        {"«" NBSP, "\""},
        {"«", "\""},
        {NBSP "»" NBSP, "\""},
        {NBSP "»", "\""},
        {"»", "\""},
        /* hard blanks before marks and units */
        {NBSP "%", "%"},
        {"nº" NBSP, "nº "},
        {NBSP ":", ":"},
        {NBSP "ºC", " ºC"},
        {NBSP "cm", " cm"},
        {NBSP "?", "?"},
        {NBSP "!", "!"},
        {NBSP ";", ";"},
        {"," NBSP, ", "},
        {NULL, NULL},
    };
    REPLACE_ALL(e, brackets);
    join_marks(e);
    REPLACE_ALL(e, blanks);
    join_numbers(e, " ", true, "");
    REPLACE_ALL(e, quotes);
    if (language == MOSES_EN) {
        stops_before_quote(e);
    } else {
        edit_replace(e, ",\"", "\",");
        stops_after_quote(e);
    }
    join_numbers(e, NBSP, false, language == MOSES_EN ? "." : ",");
    edit_strip(e);
}
