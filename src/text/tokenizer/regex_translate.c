/* Oniguruma's regular expressions (its default syntax, Ruby's) in the words of PCRE2: \w, \h and \b mean other
 * characters there, (?m) is PCRE2's (?s), classes nest and intersect, and {n,m}+ repeats instead of being possessive.
 *
 * A class becomes one class where that can be said, else alternatives of one character each. */
#include "text/tokenizer/regex.h"
#include "text/unicode/unicode.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#define MAX_DEPTH 64
#define WORD      "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}"
#define WORD_BARE WORD "\\x{B2}\\x{B3}\\x{B9}\\x{BC}-\\x{BE}" /* of \\w and \\b outside classes: Oniguruma differs */
#define HEX       "0-9a-fA-F"

struct translation {
    heed_ctx *cx;
    const char *s, *end;
    heed_string *to;
    const char *why;
    int depth;
    int opened[MAX_DEPTH];   /* groups to be closed with this one: of options that stand alone */
    size_t begun[MAX_DEPTH]; /* where the group was begun in `to` */
    size_t atom;             /* where the last atom begins in `to` */
};

/* A set of characters: `items` as they stand within brackets, `others` as alternatives "|...|...". */
struct set {
    heed_string items, others;
    bool negated;
};

static bool refuse(struct translation *t, const char *why) {
    if (!t->why) t->why = why;
    return false;
}

static bool put(struct translation *t, heed_string *to, const char *text) {
    return heed_string_put(t->cx, to, text, strlen(text));
}

static void set_free(struct translation *t, struct set *s) {
    heed_string_free(t->cx, &s->items);
    heed_string_free(t->cx, &s->others);
}

static bool set_item(struct translation *t, struct set *s, const char *items) { return put(t, &s->items, items); }
static bool set_other(struct translation *t, struct set *s, const char *one) {
    return put(t, &s->others, "|") && put(t, &s->others, one);
}

/* The set as one expression. */
static bool set_put(struct translation *t, const struct set *s, heed_string *to) {
    const bool plain = s->others.size == 0;
    if (plain && s->items.size > 0)
        return put(t, to, s->negated ? "[^" : "[") && put(t, to, s->items.s) && put(t, to, "]");
    if (plain) return put(t, to, s->negated ? "(?s:.)" : "(?!)");
    bool ok = put(t, to, s->negated ? "(?:(?!" : "(?:");
    if (s->items.size > 0)
        ok = ok && put(t, to, "[") && put(t, to, s->items.s) && put(t, to, "]") && put(t, to, s->others.s);
    else
        ok = ok && put(t, to, s->others.s + 1);
    return ok && put(t, to, s->negated ? ")(?s:.))" : ")");
}

/* ---- properties ---- */

static const struct {
    const char *name, *items;
} properties[] = {
    {"alnum", "\\p{Alphabetic}\\p{Nd}"},
    {"alpha", "\\p{Alphabetic}"},
    {"blank", "\\p{Zs}\\t"},
    {"cntrl", "\\p{Cc}"},
    {"digit", "\\p{Nd}"},
    {"lower", "\\p{Lowercase}"},
    {"upper", "\\p{Uppercase}"},
    {"punct", "\\p{P}\\p{S}"},
    {"space", "\\p{White_Space}"},
    {"word", WORD},
    {"xdigit", HEX},
    {"ascii", "\\x{0}-\\x{7F}"},
    {"any", "\\x{0}-\\x{10FFFF}"},
    {"graph", "\\p{L}\\p{M}\\p{N}\\p{P}\\p{S}\\p{Cf}\\p{Co}"},
    {"print", "\\p{L}\\p{M}\\p{N}\\p{P}\\p{S}\\p{Cf}\\p{Co}\\p{Zs}"},
    {"letter", "\\p{L}"},
    {"mark", "\\p{M}"},
    {"number", "\\p{N}"},
    {"punctuation", "\\p{P}"},
    {"symbol", "\\p{S}"},
    {"separator", "\\p{Z}"},
    {"other", "\\p{C}"},
    {"uppercaseletter", "\\p{Lu}"},
    {"lowercaseletter", "\\p{Ll}"},
    {"titlecaseletter", "\\p{Lt}"},
    {"modifierletter", "\\p{Lm}"},
    {"otherletter", "\\p{Lo}"},
    {"nonspacingmark", "\\p{Mn}"},
    {"spacingmark", "\\p{Mc}"},
    {"enclosingmark", "\\p{Me}"},
    {"decimalnumber", "\\p{Nd}"},
    {"letternumber", "\\p{Nl}"},
    {"othernumber", "\\p{No}"},
    {"spaceseparator", "\\p{Zs}"},
    {"control", "\\p{Cc}"},
    {"format", "\\p{Cf}"},
};

static bool compiles(const char *pattern) {
    int error;
    PCRE2_SIZE at;
    pcre2_code *code = pcre2_compile((PCRE2_SPTR)pattern, strlen(pattern), PCRE2_UTF | PCRE2_UCP, &error, &at, NULL);
    pcre2_code_free(code);
    return code;
}

/* The items of a property by its name; scripts mean the script alone, not its extensions. */
static bool property_items(struct translation *t, const char *name, size_t size, char items[96]) {
    char plain[48];
    size_t n = 0;
    if (size == 0 || size > 40) return refuse(t, "a property without a name that is known");
    for (size_t i = 0; i < size; i++)
        if (name[i] != ' ' && name[i] != '_' && name[i] != '-') plain[n++] = (char)tolower((unsigned char)name[i]);
    plain[n] = 0;
    for (size_t i = 0; i < sizeof properties / sizeof *properties; i++)
        if (strcmp(plain, properties[i].name) == 0) return strcpy(items, properties[i].items), true;
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)plain[i])) return refuse(t, "a property that is not known");
    snprintf(items, 96, "\\p{sc:%s}", plain);
    if (n > 2 && compiles(items)) return true;
    snprintf(items, 96, "\\p{%.*s}", (int)size, name);
    return compiles(items) || refuse(t, "a property that is not known");
}

/* Adds items to a set, or all but them. */
static bool set_add(struct translation *t, struct set *s, const char *items, bool negated) {
    char one[128];
    if (!negated) return set_item(t, s, items);
    if (items[0] == '\\' && items[1] == 'p' && !strchr(items + 2, '\\')) { /* one property */
        snprintf(one, sizeof one, "\\P%s", items + 2);
        return set_item(t, s, one);
    }
    snprintf(one, sizeof one, "[^%s]", items);
    return set_other(t, s, one);
}

/* \p{...} from behind the p. */
static bool read_property(struct translation *t, bool negated, struct set *s) {
    char items[96];
    if (t->s == t->end) return refuse(t, "a property without a name");
    const char *name = t->s, *close = t->s + 1;
    if (*t->s == '{') {
        close = memchr(t->s, '}', (size_t)(t->end - t->s));
        if (!close) return refuse(t, "'}' is missing");
        name++;
    }
    t->s = close + (*t->s == '{');
    if (name < close && *name == '^') negated = !negated, name++;
    return property_items(t, name, (size_t)(close - name), items) && set_add(t, s, items, negated);
}

/* ---- escapes ---- */

/* What is the same within and without brackets: true when it was a set, which is added. */
static bool set_escape(struct translation *t, char letter, struct set *s, bool *known) {
    *known = true;
    switch (letter) {
    case 'w':
    case 'W':
        return set_add(t, s, WORD, letter == 'W');
    case 's':
    case 'S':
        return set_add(t, s, "\\p{White_Space}", letter == 'S');
    case 'd':
    case 'D':
        return set_add(t, s, "\\p{Nd}", letter == 'D');
    case 'h':
    case 'H':
        return set_add(t, s, HEX, letter == 'H');
    case 'p':
    case 'P':
        return read_property(t, letter == 'P', s);
    default:
        return *known = false, true;
    }
}

/* One character that is escaped, in a form that is right within and without brackets. */
static bool put_character(struct translation *t, char letter, heed_string *to) {
    char out[16];
    static const char same[] = "tnrfae";
    if (letter == 'v') return put(t, to, "\\x{B}");
    if (strchr(same, letter)) {
        snprintf(out, sizeof out, "\\%c", letter);
        return put(t, to, out);
    }
    if (letter == 'u' && t->end - t->s >= 4) {
        snprintf(out, sizeof out, "\\x{%.4s}", t->s);
        t->s += 4;
        return put(t, to, out);
    }
    if (letter == 'x' || letter == 'o' || letter == '0') { /* \x41 \x{41} \o{101} \012 */
        snprintf(out, sizeof out, "\\%c", letter);
        if (!put(t, to, out)) return false;
        const char *close = t->s < t->end && *t->s == '{' ? memchr(t->s, '}', (size_t)(t->end - t->s)) : NULL;
        const size_t n = close ? (size_t)(close - t->s) + 1 : 0;
        const bool ok = heed_string_put(t->cx, to, t->s, n);
        t->s += n;
        return ok;
    }
    if (letter == 'c' && t->s < t->end) {
        snprintf(out, sizeof out, "\\c%c", *t->s++);
        return put(t, to, out);
    }
    if (isalnum((unsigned char)letter) || (unsigned char)letter >= 0x80 || letter == '_')
        return heed_string_put(t->cx, to, &letter, 1);
    snprintf(out, sizeof out, "\\%c", letter);
    return put(t, to, out);
}

/* ---- classes ---- */

static bool read_class(struct translation *t, struct set *s, int depth);

/* [:alpha:] from behind the first bracket; false in *is when it is none. */
static bool read_posix(struct translation *t, struct set *s, bool *is) {
    const char *name = t->s + 1, *close = name;
    char items[96];
    *is = false;
    if (t->s == t->end || *t->s != ':') return true;
    const bool negated = name < t->end && *name == '^';
    if (negated) close = ++name;
    while (close < t->end && isalpha((unsigned char)*close)) close++;
    if (t->end - close < 2 || close[0] != ':' || close[1] != ']') return true;
    *is = true;
    t->s = close + 2;
    return property_items(t, name, (size_t)(close - name), items) && set_add(t, s, items, negated);
}

static bool read_nested(struct translation *t, struct set *s, int depth) {
    struct set inner = {0};
    heed_string one = {0};
    bool ok = read_class(t, &inner, depth + 1);
    if (ok && !inner.negated && inner.others.size == 0)
        ok = inner.items.size == 0 || put(t, &s->items, inner.items.s);
    else
        ok = ok && set_put(t, &inner, &one) && set_other(t, s, one.s);
    heed_string_free(t->cx, &one);
    set_free(t, &inner);
    return ok;
}

/* A member of a class; *range: it may begin a range. */
static bool read_member(struct translation *t, struct set *s, int depth, bool *range) {
    const char c = *t->s++;
    bool known = false;
    *range = false;
    if (c == '[') {
        if (!read_posix(t, s, &known)) return false;
        return known || read_nested(t, s, depth);
    }
    if (c != '\\') {
        *range = true;
        if (c == 0) return set_item(t, s, "\\x{0}");
        if (strchr("^-#&~", c) && !heed_string_put(t->cx, &s->items, "\\", 1)) return false;
        return heed_string_put(t->cx, &s->items, &c, 1);
    }
    if (t->s == t->end) return refuse(t, "a backslash at the end");
    const char letter = *t->s++;
    if (!set_escape(t, letter, s, &known)) return false;
    if (known) return true;
    *range = true;
    return letter == 'b' ? set_item(t, s, "\\x{8}") : put_character(t, letter, &s->items);
}

/* The rest of a class, behind its first bracket and its ^: operands joined by &&. */
static bool read_operands(struct translation *t, struct set *s, int depth) {
    heed_string all = {0}; /* (?=first)(?=second)... */
    bool ok = true, range = false, first = true;
    while (ok) {
        if (t->s == t->end) {
            ok = refuse(t, "']' is missing");
        } else if (*t->s == ']' && !first) {
            t->s++;
            break;
        } else if (t->end - t->s >= 2 && t->s[0] == '&' && t->s[1] == '&') {
            t->s += 2;
            ok = put(t, &all, "(?=") && set_put(t, s, &all) && put(t, &all, ")");
            set_free(t, s);
            *s = (struct set){0};
            range = false;
        } else if (*t->s == '-' && range && t->end - t->s >= 2 && t->s[1] != ']' && t->s[1] != '[') {
            t->s++; /* a range: its end must be a character, which PCRE2 sees to */
            ok = put(t, &s->items, "-") && read_member(t, s, depth, &range);
            range = false;
        } else
            ok = first && *t->s == ']' ? (t->s++, range = true, put(t, &s->items, "\\]"))
                                       : read_member(t, s, depth, &range);
        first = false;
    }
    if (ok && all.size > 0) { /* the last operand too; the whole is one alternative */
        ok = put(t, &all, "") && set_put(t, s, &all);
        set_free(t, s);
        *s = (struct set){0};
        heed_string one = {0};
        ok = ok && put(t, &one, "(?:") && put(t, &one, all.s) && put(t, &one, ")") && set_other(t, s, one.s);
        heed_string_free(t->cx, &one);
    }
    heed_string_free(t->cx, &all);
    return ok;
}

static bool read_class(struct translation *t, struct set *s, int depth) {
    if (depth > 16) return refuse(t, "classes within classes more than 16 deep");
    bool negated = false;
    if (t->s < t->end && *t->s == '^') negated = true, t->s++;
    if (!read_operands(t, s, depth)) return false;
    s->negated = negated;
    return true;
}

/* ---- outside classes ---- */

static bool put_set_escape(struct translation *t, char letter, bool *known) {
    struct set s = {0};
    const bool ok = set_escape(t, letter, &s, known) && (!*known || set_put(t, &s, t->to));
    set_free(t, &s);
    return ok;
}

static bool read_escape(struct translation *t) {
    bool known;
    if (t->s == t->end) return refuse(t, "a backslash at the end");
    const char letter = *t->s++;
    t->atom = t->to->size;
    if (letter == 'w') return put(t, t->to, "[" WORD_BARE "]");
    if (letter == 'W') return put(t, t->to, "[^" WORD_BARE "]");
    if (!put_set_escape(t, letter, &known)) return false;
    if (known) return true;
    if (letter == 'b')
        return put(t, t->to, "(?:(?<=[" WORD_BARE "])(?![" WORD_BARE "])|(?<![" WORD_BARE "])(?=[" WORD_BARE "]))");
    if (letter == 'B')
        return put(t, t->to, "(?:(?<=[" WORD_BARE "])(?=[" WORD_BARE "])|(?<![" WORD_BARE "])(?![" WORD_BARE "]))");
    if (letter == 'N') return put(t, t->to, "[^\\n]");
    if (letter == 'O') return put(t, t->to, "(?s:.)");
    if (letter == 'y' || letter == 'Y') return refuse(t, "\\y and \\Y are not supported");
    if (strchr("AzZGKRX123456789kg", letter)) {
        const char out[] = {'\\', letter, 0};
        return put(t, t->to, out);
    }
    return put_character(t, letter, t->to);
}

/* (?imx-imx) or (?imx-imx: where m is PCRE2's s. */
static bool read_options(struct translation *t) {
    char out[24] = "(?";
    size_t n = 2;
    for (; t->s < t->end && strchr("imx-", *t->s) && n < 16; t->s++) out[n++] = *t->s == 'm' ? 's' : *t->s;
    if (t->s == t->end || (*t->s != ')' && *t->s != ':')) return refuse(t, "an unknown option of a group");
    out[n] = ':';
    if (*t->s++ == ':') {
        if (t->depth == MAX_DEPTH - 1) return refuse(t, "groups more than 64 deep");
        t->begun[++t->depth] = t->to->size;
        t->opened[t->depth] = 0;
    } else
        t->opened[t->depth]++; /* it holds to the end of the group that it stands in */
    return put(t, t->to, out);
}

static bool open_group(struct translation *t) {
    if (t->end - t->s >= 2 && t->s[0] == '?') {
        const char kind = t->s[1];
        if (strchr("imx-", kind)) return t->s++, read_options(t);
        if (kind == '~') return refuse(t, "the absent operator (?~ is not supported");
        if (kind == '#') {
            const char *close = memchr(t->s, ')', (size_t)(t->end - t->s));
            if (!close) return refuse(t, "')' is missing");
            t->s = close + 1;
            return true;
        }
        if (!strchr(":=!><(|'", kind)) return refuse(t, "an unknown kind of group");
    }
    if (t->depth == MAX_DEPTH - 1) return refuse(t, "groups more than 64 deep");
    t->begun[++t->depth] = t->to->size;
    t->opened[t->depth] = 0;
    if (!put(t, t->to, "(")) return false;
    while (t->s < t->end && (*t->s == '?' || (t->to->s[t->to->size - 1] == '?' && strchr(":=!><|", *t->s)) ||
                             (t->to->s[t->to->size - 1] == '<' && strchr("=!", *t->s)))) {
        if (!heed_string_put(t->cx, t->to, t->s++, 1)) return false;
    }
    return true;
}

static bool close_group(struct translation *t) {
    if (t->depth == 0) return refuse(t, "')' without '('");
    for (; t->opened[t->depth] > 0; t->opened[t->depth]--)
        if (!put(t, t->to, ")")) return false;
    t->atom = t->begun[t->depth--];
    return put(t, t->to, ")");
}

/* {n}, {n,}, {,m} or {n,m}; anything else is a brace. */
static bool read_interval(struct translation *t) {
    const char *s = t->s, *low = s;
    while (s < t->end && isdigit((unsigned char)*s)) s++;
    const size_t low_size = (size_t)(s - low);
    const bool comma = s < t->end && *s == ',';
    const char *high = s + comma;
    for (s = high; comma && s < t->end && isdigit((unsigned char)*s);) s++;
    if (s == t->end || *s != '}' || (low_size == 0 && s == high)) return put(t, t->to, "\\{");
    const bool again = s + 1 < t->end && s[1] == '+';
    heed_string tail = {0};
    bool ok = true;
    if (again) { /* no possessive interval, but a repeated one */
        ok = heed_string_put(t->cx, &tail, t->to->s + t->atom, t->to->size - t->atom);
        t->to->size = t->atom;
        ok = ok && put(t, t->to, "(?:") && put(t, t->to, tail.s);
    }
    ok = ok && put(t, t->to, "{") && (low_size ? heed_string_put(t->cx, t->to, low, low_size) : put(t, t->to, "0"));
    if (comma) ok = ok && put(t, t->to, ",") && heed_string_put(t->cx, t->to, high, (size_t)(s - high));
    ok = ok && put(t, t->to, again ? "})" : "}");
    heed_string_free(t->cx, &tail);
    t->s = s + 1;
    return ok;
}

static bool read_one(struct translation *t) {
    const char c = *t->s++;
    if (c == '\\') return read_escape(t);
    if (c == '(') return open_group(t);
    if (c == ')') return close_group(t);
    if (c == '{') return read_interval(t);
    if (c == '[') {
        struct set s = {0};
        t->atom = t->to->size;
        const bool ok = read_class(t, &s, 0) && set_put(t, &s, t->to);
        set_free(t, &s);
        return ok;
    }
    if (c == 0 || !strchr("*+?|", c)) t->atom = t->to->size;
    if (c == 0) return put(t, t->to, "\\x{0}");
    const char *begin = t->s - 1;
    while (t->s < t->end && (*t->s & 0xC0) == 0x80) t->s++; /* the rest of a character */
    return heed_string_put(t->cx, t->to, begin, (size_t)(t->s - begin));
}

bool regex_translate(heed_ctx *cx, const char *pattern, size_t size, heed_string *to, const char **why) {
    struct translation t = {.cx = cx, .s = pattern, .end = pattern + size, .to = to, .atom = to->size};
    bool ok = true;
    while (ok && t.s < t.end) ok = read_one(&t);
    if (ok && t.depth > 0) ok = refuse(&t, "')' is missing");
    for (; ok && t.opened[0] > 0; t.opened[0]--) ok = put(&t, to, ")");
    *why = t.why;
    return ok;
}
