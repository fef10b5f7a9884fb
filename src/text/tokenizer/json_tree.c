/* JSON, parsed in one pass over a copy of the text: strings are unescaped in place and ended by 0 where their closing
 * quote was. */
#include "text/tokenizer/json_tree.h"
#include "io/text.h"
#include "text/unicode/unicode.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAX_DEPTH 128
#define MAX_SIZE  ((size_t)1 << 30)
#define MAX_NODES ((uint32_t)1 << 23) /* published tokenizers hold some two million values */

struct parser {
    struct tree *t;
    const char *source; /* the text as it was */
    char *s, *end;
};

static bool wrong(struct parser *p, const char *what) {
    long long line = 1;
    const char *begin = p->source, *at = p->source + (p->s - p->t->text);
    for (const char *s = p->source; s < at; s++)
        if (*s == '\n') line++, begin = s + 1;
    return heed_fail(p->t->cx, HEED_ERR_FORMAT, "%s: line %lld, column %lld: %s", p->t->name, line,
                     (long long)(at - begin + 1), what);
}

static void skip_blanks(struct parser *p) {
    while (p->s < p->end && (*p->s == ' ' || *p->s == '\n' || *p->s == '\t' || *p->s == '\r')) p->s++;
}

static uint32_t new_node(struct parser *p) {
    struct tree *t = p->t;
    if (t->count == t->room) {
        const uint32_t room = t->room ? 2 * t->room : 256;
        if (room > MAX_NODES)
            return heed_fail(t->cx, HEED_ERR_FORMAT, "%s: more than %u values", t->name, (unsigned)MAX_NODES), 0;
        struct tree_node *larger = heed_mem_resize(t->cx, t->nodes, (size_t)room * sizeof *larger);
        if (!larger) return 0;
        t->nodes = larger;
        t->room = room;
    }
    t->nodes[t->count] = (struct tree_node){0};
    return t->count++;
}

/* ---- strings ---- */

static int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static int32_t hex4(struct parser *p) {
    int32_t value = 0;
    if (p->end - p->s < 4) return -1;
    for (int i = 0; i < 4; i++) {
        const int digit = hex_digit(p->s[i]);
        if (digit < 0) return -1;
        value = value << 4 | digit;
    }
    p->s += 4;
    return value;
}

/* What follows \u, with the second half of a surrogate pair. */
static int32_t read_unicode(struct parser *p) {
    const int32_t c = hex4(p);
    if (c < 0xD800 || c >= 0xE000) return c;
    if (c >= 0xDC00 || p->end - p->s < 6 || p->s[0] != '\\' || p->s[1] != 'u') return -1;
    p->s += 2;
    const int32_t low = hex4(p);
    return low >= 0xDC00 && low < 0xE000 ? 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00) : -1;
}

/* From behind the opening quote to behind the closing one. */
static bool read_string(struct parser *p, const char **text, uint32_t *size) {
    static const char escapes[] = "\"\"\\\\//b\bf\fn\nr\rt\t";
    char *to = p->s, *const begin = p->s;
    while (p->s < p->end && *p->s != '"' && *p->s != '\\' && (unsigned char)*p->s >= 0x20) p->s++;
    to = p->s;
    while (p->s < p->end && *p->s != '"') {
        if ((unsigned char)*p->s < 0x20) return wrong(p, "a control character in a string");
        if (*p->s != '\\') {
            *to++ = *p->s++;
            continue;
        }
        if (++p->s == p->end) break;
        const char letter = *p->s++;
        if (letter == 'u') {
            const int32_t c = read_unicode(p);
            if (c < 0) return wrong(p, "an invalid \\u escape");
            to += utf8_put(to, c);
            continue;
        }
        const char *escape = escapes;
        while (*escape && *escape != letter) escape += 2;
        if (!*escape) return wrong(p, "an unknown escape in a string");
        *to++ = escape[1];
    }
    if (p->s >= p->end) return wrong(p, "an unterminated string");
    p->s++;
    *to = 0;
    *text = begin;
    *size = (uint32_t)(to - begin);
    return true;
}

/* ---- numbers and words ---- */

static double power10(int n) { /* exact up to 22, and else the nearest: as the compiler reads them */
    static const double powers[] = {
        1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
        1e17, 1e18, 1e19, 1e20, 1e21, 1e22, 1e23, 1e24, 1e25, 1e26, 1e27, 1e28, 1e29, 1e30, 1e31, 1e32,
    };
    if (n <= 32) return powers[n];
    double power = 0;
    bool range = false;
    char text[16];
    snprintf(text, sizeof text, "1e%d", n);
    return number_read(text, &power, &range) ? power : HUGE_VAL;
}

/* significand * 10^exponent, rounded as Rust's serde_json rounds it, which is not always to the nearest: scores that
 * tie there must tie here. */
static double scaled(double significand, int64_t exponent) {
    if (significand == 0) return 0;
    if (exponent > 400) exponent = 400;
    if (exponent < -800) return 0;
    for (; exponent < -308; exponent += 308) significand /= 1e308;
    const double power = exponent < 0 ? power10((int)-exponent) : power10((int)exponent);
    return exponent < 0 ? significand / power : significand * power;
}

static bool read_number(struct parser *p, uint32_t at) {
    const char *begin = p->s;
    uint64_t value = 0;
    int64_t exponent = 0;
    bool whole = true, full = false;
    const bool negative = *p->s == '-';
    p->s += negative;
    const char *digits = p->s;
    for (int part = 0; part < 2; part++) {
        for (; p->s < p->end && *p->s >= '0' && *p->s <= '9'; p->s++) {
            const unsigned digit = (unsigned)(*p->s - '0');
            full = full || value > (UINT64_MAX - digit) / 10; /* further digits are not looked at */
            if (!full) value = 10 * value + digit;
            exponent += full && part == 0 ? 1 : !full && part == 1 ? -1 : 0;
        }
        if (p->s == digits || (part == 1 && p->s[-1] == '.')) return wrong(p, "not a number");
        if (part == 0 && p->s - digits > 1 && *digits == '0') return wrong(p, "not a number");
        if (part == 1 || p->s == p->end || *p->s != '.') break;
        p->s++;
        whole = false;
    }
    if (p->s < p->end && (*p->s | 32) == 'e') {
        p->s++;
        const bool minus = p->s < p->end && *p->s == '-';
        if (p->s < p->end && (*p->s == '-' || *p->s == '+')) p->s++;
        int64_t given = 0;
        const char *first = p->s;
        for (; p->s < p->end && *p->s >= '0' && *p->s <= '9'; p->s++)
            if (given < 100000) given = 10 * given + (*p->s - '0');
        if (p->s == first) return wrong(p, "not a number");
        exponent += minus ? -given : given;
        whole = false;
    }
    const double number = scaled((double)value, exponent);
    struct tree_node *v = &p->t->nodes[at];
    *v = (struct tree_node){.key = v->key, .key_size = v->key_size, .parent = v->parent, .kind = TREE_NUMBER};
    v->text = begin;
    v->size = (uint32_t)(p->s - begin);
    v->whole = whole;
    v->number = negative ? -number : number;
    return true;
}

static bool read_word(struct parser *p, uint32_t at) {
    static const char *const words[] = {"null", "false", "true"};
    for (int i = 0; i < 3; i++) {
        const size_t n = strlen(words[i]);
        if ((size_t)(p->end - p->s) < n || memcmp(p->s, words[i], n) != 0) continue;
        p->s += n;
        p->t->nodes[at].kind = i == 0 ? TREE_NULL : TREE_BOOL;
        p->t->nodes[at].number = i == 2;
        return true;
    }
    return wrong(p, p->s == p->end ? "the end of the file where a value should be" : "not a value");
}

/* ---- values ---- */

static bool read_value(struct parser *p, uint32_t at, int depth);

/* One member: its key in an object, and its value. */
static bool read_member(struct parser *p, uint32_t parent, bool object, int depth, uint32_t *made) {
    const char *key = NULL;
    uint32_t key_size = 0;
    if (object) {
        skip_blanks(p);
        if (p->s == p->end || *p->s != '"') return wrong(p, "expected a key in quotes");
        p->s++;
        if (!read_string(p, &key, &key_size)) return false;
        skip_blanks(p);
        if (p->s == p->end || *p->s != ':') return wrong(p, "':' is missing");
        p->s++;
    }
    const uint32_t at = *made = new_node(p);
    if (!at) return false;
    p->t->nodes[at].key = key;
    p->t->nodes[at].key_size = key_size;
    p->t->nodes[at].parent = parent;
    return read_value(p, at, depth + 1);
}

static bool read_members(struct parser *p, uint32_t at, int depth) {
    const char close = *p->s == '{' ? '}' : ']';
    const bool object = close == '}';
    uint32_t last = 0;
    if (depth == MAX_DEPTH) return wrong(p, "more than 128 levels deep");
    p->t->nodes[at].kind = object ? TREE_OBJECT : TREE_ARRAY;
    p->s++;
    skip_blanks(p);
    if (p->s < p->end && *p->s == close) return p->s++, true;
    for (;;) {
        uint32_t made = 0;
        if (!read_member(p, at, object, depth, &made)) return false;
        if (last) p->t->nodes[last].next = made;
        last = made;
        p->t->nodes[at].size++;
        skip_blanks(p);
        if (p->s == p->end || (*p->s != ',' && *p->s != close)) return wrong(p, "',' or the end is missing");
        if (*p->s++ == close) return true;
    }
}

static bool read_value(struct parser *p, uint32_t at, int depth) {
    skip_blanks(p);
    if (p->s < p->end && (*p->s == '{' || *p->s == '[')) return read_members(p, at, depth);
    if (p->s < p->end && (*p->s == '-' || (*p->s >= '0' && *p->s <= '9'))) return read_number(p, at);
    if (p->s == p->end || *p->s != '"') return read_word(p, at);
    const char *text;
    uint32_t size;
    p->s++;
    if (!read_string(p, &text, &size)) return false;
    p->t->nodes[at].kind = TREE_TEXT;
    p->t->nodes[at].text = text;
    p->t->nodes[at].size = size;
    return true;
}

bool tree_parse(heed_ctx *cx, const char *name, const char *text, size_t size, struct tree *t) {
    *t = (struct tree){.cx = cx, .name = name};
    if (heed_failed(cx)) return false;
    if (size > MAX_SIZE) return heed_fail(cx, HEED_ERR_FORMAT, "%s: more than a gigabyte of JSON", name);
    const size_t bad = utf8_bad(text, size);
    struct parser p = {.t = t};
    if (!(t->text = heed_mem_new(cx, size + 1))) return false;
    memcpy(t->text, text, size);
    t->text[size] = 0;
    p.source = text;
    p.s = t->text;
    p.end = t->text + size;
    bool ok = new_node(&p) == 0 && !heed_failed(cx) && new_node(&p) == 1;
    if (ok && bad < size) {
        p.s += bad;
        ok = wrong(&p, "a byte that is not UTF-8");
    }
    ok = ok && read_value(&p, 1, 0);
    skip_blanks(&p);
    if (ok && p.s < p.end) ok = wrong(&p, "unexpected text after the value");
    if (!ok) tree_free(t);
    return ok;
}

void tree_free(struct tree *t) {
    if (!t->cx) return;
    heed_mem_free(t->cx, t->text);
    heed_mem_free(t->cx, t->nodes);
    *t = (struct tree){0};
}

/* ---- looking ---- */

node tree_first(const struct tree *t, node at) {
    if (!at || at->kind < TREE_ARRAY || at->size == 0) return NULL;
    return &t->nodes[at - t->nodes + 1]; /* members follow where they are first met */
}

node tree_next(const struct tree *t, node at) { return at->next ? &t->nodes[at->next] : NULL; }

node tree_find(const struct tree *t, node at, const char *key) {
    const size_t size = strlen(key);
    node found = NULL;
    if (!at || at->kind != TREE_OBJECT) return NULL;
    for (EACH_NODE(v, t, at))
        if (v->key_size == size && memcmp(v->key, key, size) == 0) found = v;
    return found && found->kind != TREE_NULL ? found : NULL;
}

bool node_is(node at, const char *text) {
    return at && at->kind == TREE_TEXT && at->size == strlen(text) && memcmp(at->text, text, at->size) == 0;
}

/* ---- sentences ---- */

static int64_t place_of(const struct tree *t, node at) {
    int64_t place = 0;
    for (EACH_NODE(v, t, &t->nodes[at->parent])) {
        if (v == at) break;
        place++;
    }
    return place;
}

/* "model.vocab[3]", written from its end; where it begins. */
static size_t path_of(const struct tree *t, node at, const char *key, char *out, size_t size) {
    size_t begin = size - 1;
    out[begin] = 0;
    for (; at || key; key = NULL) {
        char part[128];
        const bool is_root = !key && at == tree_root(t);
        if (is_root) break;
        if (key || at->key)
            snprintf(part, sizeof part, ".%s", key ? escaped(key).s : escaped_bytes(at->key, at->key_size).s);
        else
            snprintf(part, sizeof part, "[%lld]", (long long)place_of(t, at));
        const size_t n = strlen(part);
        if (n > begin) break;
        begin -= n;
        memcpy(out + begin, part, n);
        if (!key) at = &t->nodes[at->parent];
    }
    return begin + (out[begin] == '.');
}

bool tree_fail(const struct tree *t, node at, const char *key, const char *format, ...) {
    char why[400], path[256];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    const char *where = path + path_of(t, at, key, path, sizeof path);
    return heed_fail(t->cx, HEED_ERR_FORMAT, "%s: %s%s%s", t->name, where, *where ? ": " : "", why);
}

static const char *kind_name(node at) {
    static const char *const names[] = {"null", "true or false", "a number", "a string", "an array", "an object"};
    return at->kind == TREE_NUMBER && at->whole ? "an integer" : names[at->kind];
}

static const char *wanted_name(enum tree_kind kind) { return kind_name(&(struct tree_node){.kind = (uint8_t)kind}); }

static bool is_kind(const struct tree *t, node at, enum tree_kind kind) {
    return at->kind == kind || tree_fail(t, at, NULL, "expected %s, found %s", wanted_name(kind), kind_name(at));
}

node tree_need(const struct tree *t, node at, const char *key, enum tree_kind kind) {
    if (heed_failed(t->cx)) return NULL;
    const node v = key ? tree_find(t, at, key) : at;
    if (key && at->kind != TREE_OBJECT) return is_kind(t, at, TREE_OBJECT), NULL;
    if (!v) return tree_fail(t, at, key, "missing"), NULL;
    return is_kind(t, v, kind) ? v : NULL;
}

bool tree_bool(const struct tree *t, node at, const char *key, bool fallback) {
    const node v = tree_find(t, at, key);
    return v && is_kind(t, v, TREE_BOOL) ? v->number != 0 : fallback;
}

double tree_number(const struct tree *t, node at, const char *key, double fallback) {
    const node v = key ? tree_find(t, at, key) : at;
    return v && is_kind(t, v, TREE_NUMBER) ? v->number : fallback;
}

int64_t tree_int(const struct tree *t, node at, const char *key, int64_t fallback) {
    const node v = key ? tree_find(t, at, key) : at;
    if (!v) return fallback;
    if (v->kind != TREE_NUMBER || !v->whole)
        return tree_fail(t, v, NULL, "expected an integer, found %s", kind_name(v)), fallback;
    return v->number > -9e15 && v->number < 9e15 ? (int64_t)v->number : v->number < 0 ? INT64_MIN : INT64_MAX;
}

node tree_text(const struct tree *t, node at, const char *key) {
    const node v = tree_find(t, at, key);
    return v && is_kind(t, v, TREE_TEXT) ? v : NULL;
}
