/* Words and marks parted by blanks: sacremoses' MosesTokenizer, and so Moses' tokenizer.
 *
 * The text is turned into characters once; then every rule reads it from left to right and writes it anew, as the
 * chain of s///g that it stands for would: a character that one match has used is not looked at by the next. */
#include "base/checked.h"
#include "text/moses/moses.h"

#include <string.h>

/* A run of k >= 2 full stops is one character of ours, MANY_DOTS + k, until the end: no rule may part it. */
enum { MANY_DOTS = 0x110000, MAX_CHARACTERS = 1 << 30 };

struct page {
    heed_ctx *cx;
    enum moses_language language;
    int32_t *c, *out; /* rules read c and write out; then they change places */
    size_t n, room, out_room;
};

static size_t put_blank(int32_t *out, size_t n) { return out[n] = ' ', n + 1; }

/* " c " */
static size_t put_padded(int32_t *out, size_t n, int32_t c) {
    out[n] = out[n + 2] = ' ';
    out[n + 1] = c;
    return n + 3;
}

/* Every rule gives how many characters it wrote: at most 3 n + 4. */
typedef size_t (*rule_fn)(const struct page *p, const int32_t *s, size_t n, int32_t *out);

static bool apply(struct page *p, rule_fn rule) {
    const size_t need = 3 * p->n + 4;
    if (p->out_room < need) {
        size_t bytes;
        int32_t *larger = size_mul(need, sizeof *larger, &bytes) ? heed_mem_resize(p->cx, p->out, bytes) : NULL;
        if (!larger) return heed_fail(p->cx, HEED_ERR_MEMORY, "moses: the text is too long");
        p->out = larger;
        p->out_room = need;
    }
    int32_t *const old = p->c;
    const size_t old_room = p->room;
    p->n = rule(p, old, p->n, p->out);
    p->c = p->out;
    p->room = p->out_room;
    p->out = old;
    p->out_room = old_room;
    return true;
}

/* ---- rules ---- */

/* White space becomes one blank; then the control characters left go; then blanks go off both ends. */
static size_t clean(const struct page *p, const int32_t *s, size_t n, int32_t *out) {
    size_t m = 0;
    (void)p;
    for (size_t i = 0; i < n; i++)
        if (text_is_space(s[i])) {
            if (i == 0 || !text_is_space(s[i - 1])) m = put_blank(out, m);
        } else if (s[i] >= ' ') {
            out[m++] = s[i];
        }
    size_t first = 0;
    while (m > 0 && out[m - 1] == ' ') m--;
    while (first < m && out[first] == ' ') first++;
    memmove(out, out + first, (m - first) * sizeof *out);
    return m - first;
}

static size_t part_all(bool (*alone)(int32_t c), const int32_t *s, size_t n, int32_t *out) {
    size_t m = 0;
    for (size_t i = 0; i < n; i++)
        if (alone(s[i]))
            m = put_padded(out, m, s[i]);
        else
            out[m++] = s[i];
    return m;
}

static bool is_apostrophe(int32_t c) { return c == '\''; }
static bool stands_alone(int32_t c) { return !moses_is_alnum(c) && !(c < 0x80 && strchr(" .'`,-", c)); }

/* Whatever is no letter, digit or blank stands alone, except . ' ` , and -, which have rules of their own. */
static size_t pad_others(const struct page *p, const int32_t *s, size_t n, int32_t *out) {
    (void)p;
    return part_all(stands_alone, s, n, out);
}

/* Runs of full stops stay together and stand alone. */
static size_t keep_dots(const struct page *p, const int32_t *s, size_t n, int32_t *out) {
    size_t m = 0;
    (void)p;
    for (size_t i = 0; i < n;) {
        size_t dots = 0;
        while (i + dots < n && s[i + dots] == '.') dots++;
        if (dots < 2)
            out[m++] = s[i++];
        else
            m = put_padded(out, m, MANY_DOTS + (int32_t)dots), i += dots;
    }
    return m;
}

/* A comma stands alone unless between numbers: first those behind anything but a number, ... */
static size_t commas_behind(const struct page *p, const int32_t *s, size_t n, int32_t *out) {
    size_t m = 0;
    (void)p;
    for (size_t i = 0; i < n; i++) {
        out[m++] = s[i];
        if (i + 1 < n && s[i + 1] == ',' && !moses_is_number(s[i])) m = put_padded(out, m, s[++i]);
    }
    return m;
}

/* ... then those before anything but a number, and one at the end. */
static size_t commas_before(const struct page *p, const int32_t *s, size_t n, int32_t *out) {
    size_t m = 0;
    (void)p;
    for (size_t i = 0; i < n; i++)
        if (s[i] == ',' && i + 1 < n && !moses_is_number(s[i + 1])) {
            m = put_padded(out, m, s[i]);
            out[m++] = s[++i];
        } else {
            out[m++] = s[i];
        }
    if (m > 1 && out[m - 1] == ',' && moses_is_number(out[m - 2])) m = put_padded(out, m - 1, ',');
    return m;
}

static bool is_other(int32_t c) { return !moses_is_alpha(c); }
static bool is_other_mark(int32_t c) { return !moses_is_alpha(c) && !moses_is_number(c); }
static bool is_s(int32_t c) { return c == 's'; }

/* An apostrophe between `before` and `after` gets a blank on the sides asked for. */
struct apostrophe {
    bool (*before)(int32_t c), (*after)(int32_t c);
    bool blank_before, blank_after;
};

static size_t part_apostrophes(const struct apostrophe *a, const int32_t *s, size_t n, int32_t *out) {
    size_t m = 0;
    for (size_t i = 0; i < n; i++) {
        out[m++] = s[i];
        if (i + 2 >= n || s[i + 1] != '\'' || !a->before(s[i]) || !a->after(s[i + 2])) continue;
        if (a->blank_before) m = put_blank(out, m);
        out[m++] = '\'';
        if (a->blank_after) m = put_blank(out, m);
        out[m++] = s[i + 2];
        i += 2;
    }
    return m;
}

/* Between no letters, ... */
static size_t apostrophes_outside(const struct page *p, const int32_t *s, size_t n, int32_t *out) {
    (void)p;
    return part_apostrophes(&(struct apostrophe){is_other, is_other, true, true}, s, n, out);
}

/* ... before a word (in English the '90s keep theirs), ... */
static size_t apostrophes_opening(const struct page *p, const int32_t *s, size_t n, int32_t *out) {
    const struct apostrophe a = {p->language == MOSES_EN ? is_other_mark : is_other, moses_is_alpha, true, true};
    return part_apostrophes(&a, s, n, out);
}

/* ... behind a word, ... */
static size_t apostrophes_closing(const struct page *p, const int32_t *s, size_t n, int32_t *out) {
    (void)p;
    return part_apostrophes(&(struct apostrophe){moses_is_alpha, is_other, true, true}, s, n, out);
}

/* ... and within one: she 's in English, l' eau in French. */
static size_t apostrophes_within(const struct page *p, const int32_t *s, size_t n, int32_t *out) {
    const bool english = p->language == MOSES_EN;
    return part_apostrophes(&(struct apostrophe){moses_is_alpha, moses_is_alpha, english, !english}, s, n, out);
}

/* English: the 1990 's. */
static size_t apostrophes_of_numbers(const struct page *p, const int32_t *s, size_t n, int32_t *out) {
    (void)p;
    return part_apostrophes(&(struct apostrophe){moses_is_number, is_s, true, false}, s, n, out);
}

/* German: every one stands alone. */
static size_t apostrophes_alone(const struct page *p, const int32_t *s, size_t n, int32_t *out) {
    (void)p;
    return part_all(is_apostrophe, s, n, out);
}

/* Whether the n characters of a word keep the full stop behind them; next: the first character of the next word, or -1.
 * They do when they hold a letter and a full stop (U.S), are an abbreviation, or when a lower-case word follows. */
static bool keeps_stop(enum moses_language language, const int32_t *word, size_t n, int32_t next) {
    bool stop = false, letter = false;
    char bytes[64];
    size_t size = 0;
    for (size_t i = 0; i < n; i++) stop = stop || word[i] == '.', letter = letter || moses_is_alpha(word[i]);
    for (size_t i = 0; i < n && n <= 15 && word[i] < MANY_DOTS; i++) size += (size_t)utf8_put(bytes + size, word[i]);
    if ((stop && letter) || moses_is_prefix(language, bytes, size) || (next >= 0 && moses_is_lower(next))) return true;
    return moses_is_numeric_prefix(language, bytes, size) && next >= '0' && next <= '9';
}

/* Full stops at the end of words that do not keep them, with the words' blanks made single. */
static size_t part_stops(const struct page *p, const int32_t *s, size_t n, int32_t *out) {
    size_t m = 0;
    for (size_t i = 0, end; i < n; i = end) {
        while (i < n && s[i] == ' ') i++;
        end = i;
        while (end < n && s[end] != ' ') end++;
        if (i == end) break;
        size_t next = end;
        while (next < n && s[next] == ' ') next++;
        if (m > 0) m = put_blank(out, m);
        memcpy(out + m, s + i, (end - i) * sizeof *s);
        m += end - i;
        if (s[end - 1] != '.' || end - i < 2) continue;
        if (keeps_stop(p->language, s + i, end - i - 1, next < n ? s[next] : -1)) continue;
        out[m - 1] = ' ';
        out[m++] = '.';
    }
    return m;
}

/* A closing quote behind the last full stop. */
static size_t part_last_quote(const struct page *p, const int32_t *s, size_t n, int32_t *out) {
    (void)p;
    memcpy(out, s, n * sizeof *s);
    if (n < 2 || s[n - 2] != '.' || s[n - 1] != '\'') return n;
    size_t m = n - 2;
    if (m > 0 && out[m - 1] != ' ') m = put_blank(out, m);
    out[m] = '.', out[m + 1] = ' ', out[m + 2] = '\'';
    return m + 3;
}

/* ---- in and out ---- */

static bool turn_page(struct page *p, struct edit *e) {
    const char *s = e->text.s, *end = edit_stop(e);
    if (e->text.size > MAX_CHARACTERS)
        return heed_fail(e->cx, HEED_ERR_RANGE, "moses: a text of %zu bytes is too long", e->text.size);
    p->room = e->text.size + 1;
    if (!(p->c = heed_mem_new(e->cx, p->room * sizeof *p->c))) return false;
    while (s < end) p->c[p->n++] = utf8_next(&s, end);
    return true;
}

static const char *entity(int32_t c) {
    switch (c) {
    case '&':
        return "&amp;";
    case '|':
        return "&#124;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '\'':
        return "&apos;";
    case '"':
        return "&quot;";
    case '[':
        return "&#91;";
    case ']':
        return "&#93;";
    default:
        return NULL;
    }
}

static void write_page(const struct page *p, struct edit *e, bool escape) {
    static const char stop[] = ".";
    for (size_t i = 0; i < p->n; i++) {
        const char *name = escape ? entity(p->c[i]) : NULL;
        char bytes[4];
        if (name)
            edit_put(e, name, name + strlen(name));
        else if (p->c[i] < MANY_DOTS)
            edit_put(e, bytes, bytes + utf8_put(bytes, p->c[i]));
        else
            for (int32_t dots = p->c[i] - MANY_DOTS; dots > 0; dots--) edit_put(e, stop, stop + 1);
    }
    edit_swap(e);
}

void moses_tokenise(struct edit *e, enum moses_language language, bool escape) {
    static const rule_fn rules[][16] = {
        [MOSES_EN] = {clean, pad_others, keep_dots, commas_behind, commas_before, apostrophes_outside,
                      apostrophes_opening, apostrophes_closing, apostrophes_within, apostrophes_of_numbers, part_stops,
                      part_last_quote, NULL},
        [MOSES_DE] = {clean, pad_others, keep_dots, commas_behind, commas_before, apostrophes_alone, part_stops,
                      part_last_quote, NULL},
        [MOSES_FR] = {clean, pad_others, keep_dots, commas_behind, commas_before, apostrophes_outside,
                      apostrophes_opening, apostrophes_closing, apostrophes_within, part_stops, part_last_quote, NULL},
    };
    struct page p = {.cx = e->cx, .language = language};
    bool ok = !heed_failed(e->cx) && turn_page(&p, e);
    for (const rule_fn *rule = rules[language]; ok && *rule; rule++) ok = apply(&p, *rule);
    if (ok) write_page(&p, e, escape);
    heed_mem_free(e->cx, p.c);
    heed_mem_free(e->cx, p.out);
}
