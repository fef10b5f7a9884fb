/* sacreBLEU's tokenisers: 13a, that of mteval-v13a.pl and of the WMT campaigns, and intl, that of mteval-v14.pl with
 * --international-tokenization. */
#include "text/metrics/bleu.h"

#include <string.h>

static const char blank[] = " ";

static void put_blank(struct edit *e) { edit_put(e, blank, blank + 1); }

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_stop(char c) { return c == '.' || c == ','; }

/* ASCII's punctuation and symbols but ' , - and . */
static bool is_mark(char c) { return c >= ' ' && c <= '~' && strchr(" !\"#$%&()*+/:;<=>?@[\\]^_`{|}~", c); }

/* A mark stands alone. */
static void part_marks(struct edit *e) {
    for (const char *s = e->text.s, *end = edit_stop(e); s < end; s++) {
        const bool mark = is_mark(*s);
        if (mark) put_blank(e);
        edit_put(e, s, s + 1);
        if (mark) put_blank(e);
    }
    edit_swap(e);
}

/* Pairs of bytes from left to right, each byte in one pair at most: where `pair` holds, blanks go around the first or
 * the second of them. Bytes will do, as only ASCII is asked for. */
static void part_pairs(struct edit *e, bool (*pair)(char a, char b), bool around_first) {
    if (heed_failed(e->cx)) return;
    for (const char *s = e->text.s, *end = edit_stop(e); s < end; s++) {
        if (s + 1 == end || !pair(s[0], s[1])) {
            edit_put(e, s, s + 1);
            continue;
        }
        if (around_first) put_blank(e);
        edit_put(e, s, s + 1);
        put_blank(e);
        edit_put(e, s + 1, s + 2);
        if (!around_first) put_blank(e);
        s++;
    }
    edit_swap(e);
}

static bool stop_behind_other(char a, char b) { return !is_digit(a) && is_stop(b); }
static bool stop_before_other(char a, char b) { return is_stop(a) && !is_digit(b); }
static bool dash_behind_digit(char a, char b) { return is_digit(a) && b == '-'; }

void bleu_tokens_13a(struct edit *e) {
    static const char *const plain[][2] = {
        {"<skipped>", ""}, {"&quot;", "\""}, {"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"}};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) edit_replace(e, plain[i][0], plain[i][1]);
    if (heed_failed(e->cx)) return;
    put_blank(e); /* so that the rules for pairs hold at both ends of the line */
    edit_put(e, e->text.s, edit_stop(e));
    put_blank(e);
    edit_swap(e);
    if (heed_failed(e->cx)) return;
    part_marks(e);
    part_pairs(e, stop_behind_other, false);
    part_pairs(e, stop_before_other, true);
    part_pairs(e, dash_behind_digit, false);
}

/* A punctuation mark next to anything but a number gets blanks around it: pairs (\P{N})(\p{P}), then (\p{P})(\P{N}),
 * each character in one pair at most. */
static void part_punctuation(struct edit *e, bool behind) {
    if (heed_failed(e->cx)) return;
    for (const char *s = e->text.s, *end = edit_stop(e); s < end;) {
        const char *first = s;
        const int32_t a = utf8_next(&s, end);
        const char *second = s;
        const int32_t b = s < end ? utf8_next(&s, end) : -1;
        const int32_t mark = behind ? b : a, other = behind ? a : b;
        if (b < 0 || !unicode_is_punctuation(mark) || unicode_is_number(other)) {
            edit_put(e, first, second);
            s = second;
            continue;
        }
        if (!behind) put_blank(e);
        edit_put(e, first, second);
        put_blank(e);
        edit_put(e, second, s);
        if (behind) put_blank(e);
    }
    edit_swap(e);
}

void bleu_tokens_intl(struct edit *e) {
    part_punctuation(e, true);
    part_punctuation(e, false);
    if (heed_failed(e->cx)) return;
    for (const char *s = e->text.s, *end = edit_stop(e); s < end;) { /* symbols stand alone */
        const char *from = s;
        const bool symbol = unicode_is_symbol(utf8_next(&s, end));
        if (symbol) put_blank(e);
        edit_put(e, from, s);
        if (symbol) put_blank(e);
    }
    edit_swap(e);
}
