/* The normalizers: each takes the whole text between added tokens and leaves UTF-8. */
#include "text/tokenizer/step.h"
#include "text/unicode/unicode_tables.h"

#include <string.h>

typedef int32_t (*map_fn)(int32_t c); /* -1: removed */

/* Each character becomes another or nothing, where it stood. */
static enum applied map_characters(heed_ctx *cx, map_fn map, const struct aligned *from, struct aligned *to) {
    const char *text = from->text.s, *end = text + from->text.size, *kept = text;
    bool changed = false, ok = true;
    for (const char *s = text; ok && s < end;) {
        const char *begin = s;
        const int32_t c = utf8_next(&s, end), other = map(c);
        if (other == c) continue;
        char out[4];
        ok = aligned_copy(cx, to, from, (size_t)(kept - text), (size_t)(begin - text)) &&
             (other < 0 ||
              aligned_put(cx, to, out, (size_t)utf8_put(out, other), aligned_at(from, (size_t)(begin - text))));
        kept = s;
        changed = true;
    }
    if (!changed) return ok ? UNCHANGED : FAILED;
    return ok && aligned_copy(cx, to, from, (size_t)(kept - text), from->text.size) ? CHANGED : FAILED;
}

/* ---- forms ---- */

static enum applied nfc(heed_ctx *cx, const struct step *s, const struct aligned *from, struct aligned *to) {
    return (void)s, normal_form(cx, false, true, from, to);
}
static enum applied nfd(heed_ctx *cx, const struct step *s, const struct aligned *from, struct aligned *to) {
    return (void)s, normal_form(cx, false, false, from, to);
}
static enum applied nfkc(heed_ctx *cx, const struct step *s, const struct aligned *from, struct aligned *to) {
    return (void)s, normal_form(cx, true, true, from, to);
}
static enum applied nfkd(heed_ctx *cx, const struct step *s, const struct aligned *from, struct aligned *to) {
    return (void)s, normal_form(cx, true, false, from, to);
}

/* ---- case ---- */

static enum applied lowercase(heed_ctx *cx, const struct step *step, const struct aligned *from, struct aligned *to) {
    (void)step;
    const char *text = from->text.s, *end = text + from->text.size, *kept = text;
    bool changed = false;
    for (const char *s = text; s < end;) {
        const char *begin = s;
        const unsigned char byte = (unsigned char)*s;
        if (byte < 0x80 && (byte < 'A' || byte > 'Z')) {
            s++;
            continue;
        }
        char lower[UTF8_LOWER];
        const int32_t c = utf8_next(&s, end);
        const size_t size = (size_t)utf8_put_lower(lower, c);
        if (size == (size_t)(s - begin) && memcmp(lower, begin, size) == 0) continue;
        if (!aligned_copy(cx, to, from, (size_t)(kept - text), (size_t)(begin - text)) ||
            !aligned_put(cx, to, lower, size, aligned_at(from, (size_t)(begin - text))))
            return FAILED;
        kept = s;
        changed = true;
    }
    if (!changed) return UNCHANGED;
    return aligned_copy(cx, to, from, (size_t)(kept - text), from->text.size) ? CHANGED : FAILED;
}

/* ---- stripping ---- */

static bool read_strip(const struct tree *t, node at, struct step *s) {
    s->left = tree_bool(t, at, "strip_left", true);
    s->right = tree_bool(t, at, "strip_right", true);
    return !heed_failed(t->cx);
}

static enum applied strip(heed_ctx *cx, const struct step *step, const struct aligned *from, struct aligned *to) {
    const char *text = from->text.s, *end = text + from->text.size, *first = text, *last = end;
    for (const char *s = text; step->left && s < end && unicode_is_space(utf8_next(&s, end));) first = s;
    while (step->right && last > first) {
        const char *s = last - 1;
        while (s > first && (*s & 0xC0) == 0x80) s--;
        const char *begin = s;
        if (!unicode_is_space(utf8_next(&s, last))) break;
        last = begin;
    }
    if (first == text && last == end) return UNCHANGED;
    return aligned_copy(cx, to, from, (size_t)(first - text), (size_t)(last - text)) ? CHANGED : FAILED;
}

static int32_t without_marks(int32_t c) { return c >= 0x300 && peer_is_mark(c) ? -1 : c; }

static enum applied strip_accents(heed_ctx *cx, const struct step *s, const struct aligned *from, struct aligned *to) {
    return (void)s, map_characters(cx, without_marks, from, to);
}

/* ---- BERT ---- */

static int32_t cleaned(int32_t c) {
    if (c >= 0x20 && c < 0x7F) return c;
    if (c == '\t' || c == '\n' || c == '\r') return ' ';
    if (c == 0 || c == 0xFFFD || peer_is_other(c)) return -1;
    return unicode_is_space(c) ? ' ' : c;
}

static int32_t without_nonspacing(int32_t c) { return c >= 0x300 && peer_is_nonspacing(c) ? -1 : c; }

static bool is_chinese(int32_t c) {
    return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x20000 && c <= 0x2A6DF) ||
           (c >= 0x2A700 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) || (c >= 0xF900 && c <= 0xFAFF) ||
           (c >= 0x2F800 && c <= 0x2FA1F);
}

/* Spaces around Chinese characters. */
static enum applied space_chinese(heed_ctx *cx, const struct aligned *from, struct aligned *to) {
    const char *text = from->text.s, *end = text + from->text.size, *kept = text;
    for (const char *s = text; s < end;) {
        const char *begin = s;
        if ((unsigned char)*s < 0xE3) { /* none lies before U+3400 */
            s++;
            continue;
        }
        if (!is_chinese(utf8_next(&s, end))) continue;
        const struct origin origin = aligned_at(from, (size_t)(begin - text));
        if (!aligned_copy(cx, to, from, (size_t)(kept - text), (size_t)(begin - text)) ||
            !aligned_put(cx, to, " ", 1, origin) ||
            !aligned_copy(cx, to, from, (size_t)(begin - text), (size_t)(s - text)) ||
            !aligned_put(cx, to, " ", 1, origin))
            return FAILED;
        kept = s;
    }
    if (kept == text) return UNCHANGED;
    return aligned_copy(cx, to, from, (size_t)(kept - text), from->text.size) ? CHANGED : FAILED;
}

static bool read_bert(const struct tree *t, node at, struct step *s) {
    s->clean = tree_bool(t, at, "clean_text", true);
    s->chinese = tree_bool(t, at, "handle_chinese_chars", true);
    s->lower = tree_bool(t, at, "lowercase", true);
    s->accents = tree_bool(t, at, "strip_accents", s->lower);
    return !heed_failed(t->cx);
}

/* Its parts one after the other, between two buffers. */
static enum applied bert(heed_ctx *cx, const struct step *step, const struct aligned *from, struct aligned *to) {
    struct aligned other = {0};
    const struct aligned *now = from;
    enum applied result = UNCHANGED;
    for (int part = 0; part < 5 && result != FAILED; part++) {
        struct aligned *next = now == to ? &other : to;
        aligned_begin(next, from);
        enum applied did = UNCHANGED;
        if (part == 0 && step->clean) did = map_characters(cx, cleaned, now, next);
        if (part == 1 && step->chinese) did = space_chinese(cx, now, next);
        if (part == 2 && step->accents) did = normal_form(cx, false, false, now, next);
        if (part == 3 && step->accents) did = map_characters(cx, without_nonspacing, now, next);
        if (part == 4 && step->lower) did = lowercase(cx, step, now, next);
        if (did == CHANGED) now = next;
        if (did != UNCHANGED) result = did;
    }
    if (result == CHANGED && now == &other) {
        const struct aligned swap = *to;
        *to = other;
        other = swap;
    }
    aligned_free(cx, &other);
    return result;
}

/* ---- replacing ---- */

static bool read_replace(const struct tree *t, node at, struct step *s) {
    return read_pattern(t, at, s) && read_string(t, at, "content", &s->content);
}

static enum applied replace(heed_ctx *cx, const struct step *step, const struct aligned *from, struct aligned *to) {
    struct matcher m;
    size_t start, end, kept = 0;
    bool changed = false, ok = matcher_begin(&m, cx, step->regex, from->text.s, from->text.size);
    for (int64_t i = 1; ok && matcher_next(&m, &start, &end); i++) {
        if (i % 4096 == 0 && heed_cancelled(cx)) break;
        const struct origin origin = end > 0 ? aligned_at(from, end - 1) : (struct origin){from->base, from->base};
        ok =
            aligned_copy(cx, to, from, kept, start) && aligned_put(cx, to, step->content.s, step->content.size, origin);
        kept = end;
        changed = true;
    }
    matcher_end(&m);
    if (!ok || heed_failed(cx)) return FAILED;
    if (!changed) return UNCHANGED;
    return aligned_copy(cx, to, from, kept, from->text.size) ? CHANGED : FAILED;
}

static bool read_prepend(const struct tree *t, node at, struct step *s) {
    return read_string(t, at, "prepend", &s->content);
}

static enum applied prepend(heed_ctx *cx, const struct step *step, const struct aligned *from, struct aligned *to) {
    if (from->text.size == 0 || step->content.size == 0) return UNCHANGED;
    return aligned_put(cx, to, step->content.s, step->content.size, aligned_at(from, 0)) &&
                   aligned_copy(cx, to, from, 0, from->text.size)
               ? CHANGED
               : FAILED;
}

/* ---- others ---- */

static int32_t nmt_character(int32_t c) {
    if ((c >= 0x01 && c <= 0x08) || c == 0x0B || (c >= 0x0E && c <= 0x1F) || c == 0x7F || c == 0x8F || c == 0x9F)
        return -1;
    const bool space = c == 0x09 || c == 0x0A || c == 0x0C || c == 0x0D || c == 0x1680 ||
                       (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xFEFF ||
                       c == 0xFFFD;
    return space ? ' ' : c;
}

static enum applied nmt(heed_ctx *cx, const struct step *s, const struct aligned *from, struct aligned *to) {
    return (void)s, map_characters(cx, nmt_character, from, to);
}

static bool read_precompiled(const struct tree *t, node at, struct step *s) {
    return charsmap_read(t, at, &s->charsmap);
}

static enum applied precompiled(heed_ctx *cx, const struct step *s, const struct aligned *from, struct aligned *to) {
    return charsmap_apply(cx, &s->charsmap, from, to);
}

static enum applied byte_level(heed_ctx *cx, const struct step *s, const struct aligned *from, struct aligned *to) {
    (void)s;
    for (size_t i = 0; i < from->text.size; i++) {
        char out[4];
        const size_t n = (size_t)utf8_put(out, byte_character((unsigned char)from->text.s[i]));
        if (!aligned_put(cx, to, out, n, aligned_at(from, i))) return FAILED;
    }
    return from->text.size > 0 ? CHANGED : UNCHANGED;
}

const struct step_kind normalizer_kinds[] = {
    {"NFC", .normalize = nfc},
    {"NFD", .normalize = nfd},
    {"NFKC", .normalize = nfkc},
    {"NFKD", .normalize = nfkd},
    {"Lowercase", .normalize = lowercase},
    {"Strip", .read = read_strip, .normalize = strip},
    {"StripAccents", .normalize = strip_accents},
    {"BertNormalizer", .read = read_bert, .normalize = bert},
    {"Replace", .read = read_replace, .normalize = replace},
    {"Prepend", .read = read_prepend, .normalize = prepend},
    {"Nmt", .normalize = nmt},
    {"Precompiled", .read = read_precompiled, .normalize = precompiled},
    {"ByteLevel", .normalize = byte_level},
    {.name = NULL},
};

#define LONG_TEXT 65536 /* bytes: between the steps of a longer one cancellation is looked at */

bool normalize(heed_ctx *cx, const struct steps *steps, struct aligned *text, struct aligned *spare) {
    for (int i = 0; i < steps->count; i++) {
        aligned_begin(spare, text);
        if (!heed_string_put(cx, &spare->text, "", 0)) return false;
        if (text->text.size > LONG_TEXT && heed_cancelled(cx)) return false;
        const enum applied did = steps->step[i].kind->normalize(cx, &steps->step[i], text, spare);
        if (did == FAILED) return false;
        if (did == UNCHANGED) continue;
        const struct aligned swap = *text;
        *text = *spare;
        *spare = swap;
    }
    return true;
}
