#include "task/text/squad.h"
#include "text/tokenizer/work.h"
#include "text/unicode/unicode.h"
#include <stdlib.h>
#include <string.h>

static bool is_ascii_punctuation(int32_t c) {
    return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

static bool is_python_space(int32_t c) { return unicode_is_space(c) || (c >= 0x1C && c <= 0x1F); }

static bool put_lower(heed_ctx *cx, const char *text, size_t size, heed_string *to) {
    const char *end = text + size;
    to->size = 0;
    if (!heed_string_put(cx, to, "", 0)) return false;
    for (const char *at = text; at < end;) {
        char lower[UTF8_LOWER];
        const int32_t c = utf8_next(&at, end);
        if (c < 0 || is_ascii_punctuation(c)) continue;
        if (!heed_string_put(cx, to, lower, (size_t)utf8_put_lower(lower, c))) return false;
    }
    return true;
}

static bool is_article(const char *word, size_t size) {
    static const char *const articles[] = {"a", "an", "the"};
    for (size_t i = 0; i < 3; i++)
        if (strlen(articles[i]) == size && memcmp(word, articles[i], size) == 0) return true;
    return false;
}

/* Runs of word characters that are articles become a blank, and runs of blanks one space: both in place, as the text
 * only becomes shorter. */
static void drop_articles(heed_string *s) {
    size_t to = 0;
    bool space = false;
    const char *end = s->s + s->size;
    for (const char *at = s->s; at < end;) {
        const char *next = at;
        int32_t c = utf8_next(&next, end);
        bool blank = is_python_space(c);
        if (is_word_character(c)) {
            for (const char *more = next; more < end && is_word_character(utf8_next(&more, end));) next = more;
            blank = is_article(at, (size_t)(next - at));
        }
        if (!blank) {
            if (space && to > 0) s->s[to++] = ' ';
            memmove(s->s + to, at, (size_t)(next - at));
            to += (size_t)(next - at);
        }
        space = blank || (space && to == 0);
        at = next;
    }
    s->s[s->size = to] = 0;
}

bool squad_normalise(heed_ctx *cx, const char *text, size_t size, heed_string *to) {
    if (!put_lower(cx, text, size, to)) return false;
    drop_articles(to);
    return true;
}

/* ---- F1 ---- */

static int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* The words of a copy, sorted; the block is freed by the caller. */
static char **words_of(heed_ctx *cx, const heed_string *s, int64_t *n) {
    char **words = heed_mem_new(cx, (s->size + 1) * sizeof *words + s->size + 1);
    *n = 0;
    if (!words) return NULL;
    char *at = memcpy(words + s->size + 1, s->s, s->size + 1);
    while (*at) {
        words[(*n)++] = at;
        at += strcspn(at, " ");
        if (*at) *at++ = 0;
    }
    qsort(words, (size_t)*n, sizeof *words, by_text);
    return words;
}

bool squad_f1(heed_ctx *cx, const heed_string *truth, const heed_string *said, double *f1) {
    int64_t n = 0, m = 0, same = 0;
    char **a = words_of(cx, truth, &n), **b = words_of(cx, said, &m);
    for (int64_t i = 0, j = 0; a && b && i < n && j < m;) {
        const int order = strcmp(a[i], b[j]);
        same += order == 0;
        i += order <= 0;
        j += order >= 0;
    }
    *f1 = n == 0 || m == 0 ? (double)(n == m) : 2 * (double)same / (double)(n + m);
    heed_mem_free(cx, a);
    heed_mem_free(cx, b);
    return !heed_failed(cx);
}
