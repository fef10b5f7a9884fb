/* Porter's stemmer ("An algorithm for suffix stripping", 1980) with the changes that NLTK makes to it: some irregular
 * words, and rules for -ies, -ied, -y, -alli, -bli, -fulli and -logi.
 *
 * A word is [C](VC)^m[V], C and V runs of consonants and vowels; m is its measure. y is a vowel after a consonant. */
#include "text/metrics/porter.h"

#include <stdbool.h>
#include <string.h>

struct word {
    char *s;
    size_t n;
};

/* ---- what a stem is like: of the first n letters ---- */

static bool is_vowel(char c) { return memchr("aeiou", c, 5) != NULL; }

/* The measure, and whether the letters before the last two, before the last and the last are consonants. */
struct shape {
    size_t measure;
    bool vowel; /* there is one */
    bool last[3];
};

static struct shape shape_of(const char *s, size_t n) {
    struct shape h = {0};
    bool before = false;
    for (size_t i = 0; i < n; i++) {
        const bool consonant = s[i] == 'y' ? i == 0 || !before : !is_vowel(s[i]);
        h.measure += consonant && i > 0 && !before;
        h.vowel |= !consonant;
        h.last[0] = h.last[1], h.last[1] = h.last[2], h.last[2] = consonant;
        before = consonant;
    }
    return h;
}

static size_t measure(const char *s, size_t n) { return shape_of(s, n).measure; }

/* consonant, vowel, consonant other than w, x and y; or a vowel and a consonant alone */
static bool ends_cvc(const char *s, size_t n) {
    const struct shape h = shape_of(s, n);
    if (n == 2) return !h.last[1] && h.last[2];
    return n >= 3 && h.last[0] && !h.last[1] && h.last[2] && !memchr("wxy", s[n - 1], 3);
}

/* ---- suffixes ---- */

static bool ends(const struct word *w, const char *suffix) {
    const size_t n = strlen(suffix);
    return w->n >= n && memcmp(w->s + w->n - n, suffix, n) == 0;
}

static void replace(struct word *w, size_t stem, const char *by) {
    memcpy(w->s + stem, by, strlen(by));
    w->n = stem + strlen(by);
}

struct rule {
    const char *suffix, *by;
};

/* The first rule whose suffix the word has is applied, if the measure of the stem is more than `least`. */
static void apply(struct word *w, const struct rule *rules, size_t n, size_t least) {
    for (size_t i = 0; i < n; i++) {
        if (!ends(w, rules[i].suffix)) continue;
        const size_t stem = w->n - strlen(rules[i].suffix);
        if (measure(w->s, stem) > least) replace(w, stem, rules[i].by);
        return;
    }
}
#define COUNT(list) (sizeof(list) / sizeof *(list))

/* ---- the steps ---- */

static void plurals(struct word *w) {
    if (ends(w, "ies"))
        w->n -= w->n == 4 ? 1 : 2;
    else if (ends(w, "sses"))
        w->n -= 2;
    else if (ends(w, "s") && !ends(w, "ss"))
        w->n--;
}

static bool drop(struct word *w, const char *suffix) {
    if (!ends(w, suffix) || !shape_of(w->s, w->n - strlen(suffix)).vowel) return false;
    w->n -= strlen(suffix);
    return true;
}

static void past(struct word *w) {
    if (ends(w, "ied")) {
        w->n -= w->n == 4 ? 1 : 2;
        return;
    }
    if (ends(w, "eed")) {
        if (measure(w->s, w->n - 3) > 0) w->n--;
        return;
    }
    if (!drop(w, "ed") && !drop(w, "ing")) return;
    const struct shape h = shape_of(w->s, w->n);
    const char last = w->s[w->n - 1];
    if (ends(w, "at") || ends(w, "bl") || ends(w, "iz"))
        replace(w, w->n, "e");
    else if (w->n >= 2 && last == w->s[w->n - 2] && h.last[2])
        w->n -= !memchr("lsz", last, 3);
    else if (h.measure == 1 && ends_cvc(w->s, w->n))
        replace(w, w->n, "e");
}

static void last_y(struct word *w) {
    if (ends(w, "y") && w->n > 2 && shape_of(w->s, w->n - 1).last[2]) w->s[w->n - 1] = 'i';
}

static void double_suffixes(struct word *w) {
    static const struct rule rules[] = {
        {"ational", "ate"}, {"tional", "tion"}, {"enci", "ence"}, {"anci", "ance"}, {"izer", "ize"},
        {"bli", "ble"},     {"alli", "al"},     {"entli", "ent"}, {"eli", "e"},     {"ousli", "ous"},
        {"ization", "ize"}, {"ation", "ate"},   {"ator", "ate"},  {"alism", "al"},  {"iveness", "ive"},
        {"fulness", "ful"}, {"ousness", "ous"}, {"aliti", "al"},  {"iviti", "ive"}, {"biliti", "ble"},
        {"fulli", "ful"},
    };
    if (ends(w, "alli") && measure(w->s, w->n - 4) > 0) w->n -= 2;
    if (ends(w, "logi")) {
        w->n -= measure(w->s, w->n - 3) > 0;
        return;
    }
    apply(w, rules, COUNT(rules), 0);
}

static void suffixes(struct word *w) {
    static const struct rule rules[] = {{"icate", "ic"}, {"ative", ""}, {"alize", "al"}, {"iciti", "ic"},
                                        {"ical", "ic"},  {"ful", ""},   {"ness", ""}};
    apply(w, rules, COUNT(rules), 0);
}

static void endings(struct word *w) {
    static const struct rule rules[] = {{"al", ""},   {"ance", ""}, {"ence", ""}, {"er", ""},    {"ic", ""},
                                        {"able", ""}, {"ible", ""}, {"ant", ""},  {"ement", ""}, {"ment", ""},
                                        {"ent", ""},  {"ou", ""},   {"ism", ""},  {"ate", ""},   {"iti", ""},
                                        {"ous", ""},  {"ive", ""},  {"ize", ""}};
    if (!ends(w, "ion")) {
        apply(w, rules, COUNT(rules), 1);
        return;
    }
    const size_t stem = w->n - 3;
    if (measure(w->s, stem) > 1 && (w->s[stem - 1] == 's' || w->s[stem - 1] == 't')) w->n = stem;
}

static void tidy(struct word *w) {
    if (ends(w, "e")) {
        const size_t m = measure(w->s, w->n - 1);
        if (m > 1 || (m == 1 && !ends_cvc(w->s, w->n - 1))) w->n--;
    }
    if (ends(w, "ll") && measure(w->s, w->n - 1) > 1) w->n--;
}

size_t porter_stem(char *word, size_t size) {
    static const struct rule irregular[] = {
        {"sky", "sky"},        {"skies", "sky"},       {"dying", "die"},        {"lying", "lie"},
        {"tying", "tie"},      {"news", "news"},       {"innings", "inning"},   {"inning", "inning"},
        {"outings", "outing"}, {"outing", "outing"},   {"cannings", "canning"}, {"canning", "canning"},
        {"howe", "howe"},      {"proceed", "proceed"}, {"exceed", "exceed"},    {"succeed", "succeed"},
    };
    struct word w = {word, size};
    if (size <= 2) return size;
    for (size_t i = 0; i < COUNT(irregular); i++)
        if (strlen(irregular[i].suffix) == size && ends(&w, irregular[i].suffix)) {
            replace(&w, 0, irregular[i].by);
            return w.n;
        }
    plurals(&w);
    past(&w);
    last_y(&w);
    double_suffixes(&w);
    suffixes(&w);
    endings(&w);
    tidy(&w);
    return w.n;
}
