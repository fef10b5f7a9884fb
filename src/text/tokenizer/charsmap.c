/* SentencePiece's precompiled map of characters (the normalizer Precompiled): a double-array trie (Yata et al. 2007, as
 * in darts-clone) from short texts to places in a block of replacements. As in Python's `tokenizers`, a grapheme of up
 * to five bytes is replaced by what the shortest key that begins it stands for, and else each character by itself.
 * `longest_match`, which Python does not read, asks for SentencePiece's own way, which transformers' slow classes use.
 */
#include "io/text.h"
#include "text/tokenizer/step.h"

#include <string.h>
#include <utf8proc.h>

/* ---- base64 ---- */

static int base64_digit(char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

static bool base64_read(node at, unsigned char *to, size_t *size) {
    size_t n = at->size, out = 0;
    uint32_t bits = 0;
    if (n % 4 != 0) return false;
    while (n > 0 && at->text[n - 1] == '=' && at->size - n < 2) n--;
    for (size_t i = 0; i < n; i++) {
        const int digit = base64_digit(at->text[i]);
        if (digit < 0) return false;
        bits = bits << 6 | (uint32_t)digit;
        if (i % 4 != 0) to[out++] = (unsigned char)(bits >> (6 - 2 * (i % 4)));
    }
    *size = out;
    return n % 4 != 1;
}

/* ---- reading ---- */

static uint32_t label_of(uint32_t unit) { return unit & (1u << 31 | 0xFF); }
static size_t offset_of(uint32_t unit) { return (size_t)(unit >> 10) << ((unit & 1u << 9) >> 6); }

static bool take_apart(struct charsmap *c) {
    uint32_t trie = 0;
    if (c->size < 4) return false;
    memcpy(&trie, c->bytes, 4);
    c->unit_count = trie / 4;
    if (c->unit_count == 0 || 4 + 4 * c->unit_count > c->size) return false;
    c->units = (const uint32_t *)(const void *)(c->bytes + 4);
    c->replacements = (const char *)c->bytes + 4 + 4 * c->unit_count;
    c->size -= 4 + 4 * c->unit_count;
    return true;
}

/* Whether the children of every unit, which lie in a block of 256, and all replacements are there. */
static bool stays_inside(const struct charsmap *c, size_t *bad) {
    for (*bad = 0; *bad < c->unit_count; ++*bad) {
        const uint32_t unit = c->units[*bad];
        if (unit >> 31) continue; /* a value, which its parent checks */
        const size_t base = *bad ^ offset_of(unit);
        if ((base | 0xFF) >= c->unit_count) return false;
        if (unit >> 8 & 1 && (c->units[base] & 0x7FFFFFFF) >= c->size) return false;
    }
    return true;
}

bool charsmap_read(const struct tree *t, node at, struct charsmap *c) {
    const node text = tree_need(t, at, "precompiled_charsmap", TREE_TEXT);
    if (!text || !(c->bytes = heed_mem_new(t->cx, (size_t)text->size + 4))) return false;
    c->longest = tree_bool(t, at, "longest_match", false);
    if (heed_failed(t->cx)) return false;
    if (text->size == 0) return true; /* changes nothing */
    if (!base64_read(text, c->bytes, &c->size)) return tree_fail(t, text, NULL, "not base64");
    size_t bad;
    if (!take_apart(c)) return tree_fail(t, text, NULL, "a charsmap that is cut off");
    if (utf8_bad(c->replacements, c->size) != c->size)
        return tree_fail(t, text, NULL, "replacements that are not UTF-8");
    return stays_inside(c, &bad) || tree_fail(t, text, NULL, "unit %zu of its trie points outside", bad);
}

/* ---- applying ---- */

struct found {
    const char *text; /* NULL: no key */
    size_t size, key; /* key: bytes of it */
};

static struct found replacement(const struct charsmap *c, size_t place, size_t key) {
    if (place >= c->size || (c->replacements[place] & 0xC0) == 0x80) return (struct found){"", 0, key};
    const char *text = c->replacements + place, *end = memchr(text, 0, c->size - place);
    return (struct found){text, end ? (size_t)(end - text) : c->size - place, key};
}

/* What the shortest or the longest key that begins the text stands for. */
static struct found find(const struct charsmap *c, const char *text, size_t size, bool longest) {
    struct found best = {0};
    size_t at = offset_of(c->units[0]);
    for (size_t i = 0; i < size && text[i]; i++) {
        at ^= (unsigned char)text[i];
        if (at >= c->unit_count || label_of(c->units[at]) != (unsigned char)text[i]) break;
        const uint32_t unit = c->units[at];
        at ^= offset_of(unit);
        if (!(unit >> 8 & 1)) continue;
        if (at >= c->unit_count) break;
        best = replacement(c, c->units[at] & 0x7FFFFFFF, i + 1);
        if (!longest) break;
    }
    return best;
}

/* The last character waits, as what is removed behind it may still be counted to it. */
struct mapping {
    struct transform t;
    int32_t c;
    int change;
    bool waits, ok;
};

static void put(struct mapping *m, int32_t c, int change) {
    if (m->waits) m->ok = m->ok && transform_put(&m->t, m->c, m->change);
    m->c = c;
    m->change = change;
    m->waits = c >= 0;
}

static int characters(const char *s, size_t size) {
    int n = 0;
    for (size_t i = 0; i < size; i++) n += (s[i] & 0xC0) != 0x80;
    return n;
}

static void replace(struct mapping *m, const char *old, size_t old_size, const char *with, size_t size) {
    const int was = characters(old, old_size), now = characters(with, size);
    int number = 0;
    for (const char *s = with, *end = with + size; s < end; number++) {
        const int32_t c = utf8_next(&s, end);
        put(m, c, number >= was ? 1 : 0);
    }
    if (now < was && m->waits) m->change += now - was;
}

static bool map_grapheme(struct mapping *m, const struct charsmap *c, const char *s, size_t size) {
    struct found f = {0};
    if (size < 6) f = find(c, s, size, false);
    if (f.text) return replace(m, s, size, f.text, f.size), true;
    bool changed = false;
    for (const char *end = s + size; s < end;) {
        const char *begin = s;
        const int32_t one = utf8_next(&s, end);
        f = find(c, begin, (size_t)(s - begin), false);
        if (f.text)
            replace(m, begin, (size_t)(s - begin), f.text, f.size);
        else
            put(m, one, 0);
        changed = changed || f.text;
    }
    return changed;
}

static bool map_graphemes(struct mapping *m, const struct charsmap *c, const char *s, const char *end) {
    const char *begin = s;
    bool changed = false;
    utf8proc_int32_t state = 0;
    for (int32_t before = -1; s < end;) {
        const char *at = s;
        const int32_t one = utf8_next(&s, end);
        if (before >= 0 && utf8proc_grapheme_break_stateful(before, one, &state)) {
            changed = map_grapheme(m, c, begin, (size_t)(at - begin)) || changed;
            begin = at;
        }
        before = one;
    }
    return begin < end ? map_grapheme(m, c, begin, (size_t)(end - begin)) || changed : changed;
}

/* As SentencePiece itself does: the longest key at each place. */
static bool map_longest(struct mapping *m, const struct charsmap *c, const char *s, const char *end) {
    bool changed = false;
    while (s < end) {
        const struct found f = find(c, s, (size_t)(end - s), true);
        if (f.text) {
            replace(m, s, f.key, f.text, f.size);
            s += f.key;
            changed = true;
        } else
            put(m, utf8_next(&s, end), 0);
    }
    return changed;
}

enum applied charsmap_apply(heed_ctx *cx, const struct charsmap *c, const struct aligned *from, struct aligned *to) {
    struct mapping m = {.t = {.cx = cx, .from = from, .to = to}, .ok = true};
    const char *s = from->text.s, *end = s + from->text.size;
    if (!c->units) return UNCHANGED;
    const bool changed = c->longest ? map_longest(&m, c, s, end) : map_graphemes(&m, c, s, end);
    put(&m, -1, 0);
    if (!m.ok || heed_failed(cx)) return FAILED;
    return changed ? CHANGED : UNCHANGED;
}
