/* Words and marks put together again: sacremoses' MosesDetokenizer, for English, German and French.
 *
 * The words are looked at one by one. Each says whether it leans on the word before it, and whether the next is to
 * follow without a blank; a quote does either in turn. */
#include "text/moses/moses.h"
#include "text/strings/counts.h"

#include <string.h>

struct join {
    struct edit *e;
    enum moses_language language;
    struct counts quotes; /* how often each kind has been seen, opening and closing */
    const char *before;   /* what is put before the next word: "" or " " */
};

struct word {
    const char *s, *end; /* s == end: there is none */
};

static struct word next_word(const char *s, const char *end) { /* words are parted by one blank */
    const char *blank = memchr(s, ' ', (size_t)(end - s));
    return (struct word){s, blank ? blank : end};
}

static int32_t first_of(struct word w) { return w.s < w.end ? utf8_next(&w.s, w.end) : -1; }

static int32_t last_of(struct word w) {
    const char *s = w.end;
    if (w.s == w.end) return -1;
    do s--;
    while (s > w.s && (*s & 0xC0) == 0x80);
    return utf8_next(&s, w.end);
}

static bool is_word(struct word w, const char *text) {
    const size_t size = (size_t)(w.end - w.s);
    return size == strlen(text) && memcmp(w.s, text, size) == 0;
}

/* ---- kinds of words ---- */

static bool all_of(struct word w, bool (*is)(int32_t c)) {
    while (w.s < w.end)
        if (!is(utf8_next(&w.s, w.end))) return false;
    return true;
}

/* Blocks of Chinese, Japanese and Korean writing. The ends of each do not count, which is how sacremoses has it. */
static bool is_cjk(int32_t c) {
    static const int32_t blocks[][2] = {{0x1100, 0x11FF},   {0x2E80, 0xA4CF},   {0xA840, 0xA87F},  {0xAC00, 0xD7AF},
                                        {0xF900, 0xFAFF},   {0xFE30, 0xFE4F},   {0xFF65, 0xFFDC},  {0x17000, 0x18AFF},
                                        {0x1B000, 0x1B0EF}, {0x1B170, 0x1B2FF}, {0x20000, 0x2FFFF}};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        if (c < blocks[i][1]) return c > blocks[i][0];
    return false;
}

static bool is_opening(int32_t c) {
    return moses_is_currency(c) || c == '(' || c == '[' || c == '{' || c == 0xBF || c == 0xA1; /* inverted ? and ! */
}

static bool is_closing(int32_t c) { return c > 0 && c < 0x80 && strchr(",.?!:;\\%}])", c); }
static bool is_low_or_high_quote(int32_t c) { return c == 0x201E || c == 0x201C; }
static bool is_quote(int32_t c) { return c == '\'' || c == '"' || c == '`' || is_low_or_high_quote(c); }

/* In French these have a blank before them. */
static bool is_spaced_mark(struct word w) { return w.end - w.s == 1 && strchr("?!:;\\%", w.s[0]); }

static bool is_contraction(struct word w) { /* 's */
    return w.s < w.end && *w.s == '\'' && moses_is_alphabetic(first_of((struct word){w.s + 1, w.end}));
}

static bool is_elision(struct word w) { /* l' */
    return w.end - w.s > 1 && w.end[-1] == '\'' && moses_is_alphabetic(last_of((struct word){w.s, w.end - 1}));
}

/* ---- joining ---- */

static void put_word(struct join *j, const char *before, struct word w, const char *after) {
    edit_put(j->e, before, before + strlen(before));
    edit_put(j->e, w.s, w.end);
    j->before = after;
}

static void put_quote(struct join *j, struct word last, struct word w) {
    const struct word kind = all_of(w, is_low_or_high_quote) ? (struct word){"\"", NULL} : w;
    const size_t size = kind.end ? (size_t)(kind.end - kind.s) : 1;
    struct count *count = counts_at(&j->quotes, kind.s, size, 0);
    if (!count) return;
    const bool opens = count->have % 2 == 0;
    if (opens && j->language == MOSES_EN && is_word(w, "'") && last.s < last.end && last.end[-1] == 's') {
        put_word(j, "", w, " "); /* the Joneses' house */
        return;
    }
    put_word(j, opens ? j->before : "", w, opens ? "" : " ");
    count->have++;
}

static void put_any(struct join *j, struct word last, struct word w, struct word next) {
    const bool initial = last.s == last.end;
    if (is_cjk(first_of(w)))
        put_word(j, !initial && is_cjk(last_of(last)) ? "" : j->before, w, " ");
    else if (all_of(w, is_opening))
        put_word(j, j->before, w, "");
    else if (all_of(w, is_closing))
        put_word(j, j->language == MOSES_FR && is_spaced_mark(w) ? " " : "", w, " ");
    else if (j->language == MOSES_EN && !initial && is_contraction(w))
        put_word(j, "", w, " ");
    else if (j->language == MOSES_FR && is_elision(w) && moses_is_alphabetic(first_of(next)))
        put_word(j, j->before, w, "");
    else if (all_of(w, is_quote))
        put_quote(j, last, w);
    else
        put_word(j, j->before, w, " ");
}

static void join_words(struct edit *e, enum moses_language language) {
    struct join j = {.e = e, .language = language, .quotes.cx = e->cx, .before = " "};
    if (heed_failed(e->cx)) return;
    const char *end = edit_stop(e);
    struct word last = {end, end}, w = next_word(e->text.s, end);
    while (w.s < w.end) {
        const struct word next = w.end < end ? next_word(w.end + 1, end) : (struct word){end, end};
        put_any(&j, last, w, next);
        last = w;
        w = next;
    }
    counts_free(&j.quotes);
    edit_swap(e);
}

/* Words parted by any white space; a blank before and after each, so that the joined hyphens are found everywhere. */
static void unescape(struct edit *e) {
    static const char *const entities[][2] = {
        {" @-@ ", "-"}, {"&bar;", "|"},   {"&#124;", "|"}, {"&lt;", "<"},  {"&gt;", ">"},  {"&bra;", "["},
        {"&ket;", "]"}, {"&quot;", "\""}, {"&apos;", "'"}, {"&#91;", "["}, {"&#93;", "]"}, {"&amp;", "&"},
    };
    static const char blank[] = " ";
    edit_words(e);
    if (heed_failed(e->cx)) return;
    edit_put(e, blank, blank + 1);
    edit_put(e, e->text.s, edit_stop(e));
    edit_put(e, blank, blank + 1);
    edit_swap(e);
    for (size_t i = 0; i < sizeof entities / sizeof *entities; i++) edit_replace(e, entities[i][0], entities[i][1]);
    edit_words(e);
}

void moses_detokenise(struct edit *e, enum moses_language language) {
    unescape(e);
    join_words(e, language);
    edit_squeeze(e);
    edit_strip(e);
}
