/* Unicode's normal forms, with origins: decomposed, marks put in order, and composed again (UAX 15). Each character
 * says whether it replaces one of the text or is new, as transform_put takes it. Linear but for the sorting of marks,
 * which is n log n in the length of a run. */
#include "base/checked.h"
#include "text/tokenizer/step.h"
#include "text/unicode/unicode_tables.h"

#include <string.h>
#include <utf8proc.h>

struct part {
    int32_t c;
    uint8_t class;
    int8_t change;
};
struct parts {
    heed_ctx *cx;
    struct part *part;
    size_t count, room, pending; /* from `pending` on marks may still have to be sorted */
};

static bool push(struct parts *p, int32_t c, uint8_t class, int8_t change) {
    if (p->count == p->room) {
        const size_t room = p->room ? 2 * p->room : 256;
        size_t bytes;
        struct part *larger = size_mul(room, sizeof *larger, &bytes) ? heed_mem_resize(p->cx, p->part, bytes) : NULL;
        if (!larger) return heed_fail(p->cx, HEED_ERR_MEMORY, "encode: the text is too long to be normalized");
        p->part = larger;
        p->room = room;
    }
    p->part[p->count++] = (struct part){c, class, change};
    return true;
}

/* ---- order ---- */

static void merge(struct part *a, size_t n, size_t m, struct part *work) {
    size_t i = 0, j = n, k = 0;
    while (i < n && j < m) work[k++] = a[j].class < a[i].class ? a[j++] : a[i++];
    while (i < n) work[k++] = a[i++];
    memcpy(a, work, k * sizeof *a); /* those from j on lie where they belong */
}

/* Stable, by class. */
static bool sort_marks(heed_ctx *cx, struct part *a, size_t n) {
    if (n <= 24) {
        for (size_t i = 1; i < n; i++) {
            const struct part one = a[i];
            size_t k = i;
            for (; k > 0 && a[k - 1].class > one.class; k--) a[k] = a[k - 1];
            a[k] = one;
        }
        return true;
    }
    struct part *work = heed_mem_new(cx, n * sizeof *work);
    if (!work) return false;
    for (size_t width = 1; width < n; width *= 2)
        for (size_t i = 0; i + width < n; i += 2 * width)
            merge(a + i, width, 2 * width < n - i ? 2 * width : n - i, work);
    heed_mem_free(cx, work);
    return true;
}

static bool settle(struct parts *p) {
    const bool ok = sort_marks(p->cx, p->part + p->pending, p->count - p->pending);
    p->pending = p->count;
    return ok;
}

/* The canonical combining class. */
static uint8_t class_of(int32_t c) {
    const utf8proc_propval_t class = c < 0x300 ? 0 : utf8proc_get_property(c)->combining_class;
    return class == 0 || peer_is_starter(c) ? 0 : (uint8_t) class;
}

static bool decompose(struct parts *p, bool compat, const char *text, size_t size) {
    const utf8proc_option_t options =
        (utf8proc_option_t)(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | (compat ? UTF8PROC_COMPAT : 0));
    for (const char *s = text, *end = text + size; s < end;) {
        const int32_t c = utf8_next(&s, end);
        utf8proc_int32_t out[32];
        int bound = 0;
        utf8proc_ssize_t n = 1;
        out[0] = c;
        if (c >= 0xA0 && !peer_keeps_whole(c)) n = utf8proc_decompose_char(c, out, 32, options, &bound);
        if (n < 1 || n > 32) n = 1, out[0] = c;
        for (utf8proc_ssize_t i = 0; i < n; i++) {
            const uint8_t class = class_of(out[i]);
            if (class == 0 && p->pending < p->count && !settle(p)) return false;
            if (!push(p, out[i], class, i > 0)) return false;
            if (class == 0) p->pending = p->count; /* nothing before it moves any more */
        }
    }
    return settle(p);
}

/* ---- composition ---- */

/* The one character that a and b make, or -1. */
static int32_t composed(int32_t a, int32_t b) {
    utf8proc_int32_t pair[3] = {a, b, 0};
    if (b < 0x300 || b == 0x11A7) return -1; /* U+11A7 is no final consonant, but utf8proc drops it as one */
    const utf8proc_ssize_t n =
        utf8proc_normalize_utf32(pair, 2, (utf8proc_option_t)(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
    return n == 1 && !peer_keeps_whole(pair[0]) ? pair[0] : -1;
}

/* In place: a starter takes the marks that follow it and are not blocked by another of their class or a higher one. */
static void compose(struct parts *p) {
    struct part *a = p->part;
    size_t to = 0, starter = SIZE_MAX;
    int blocked = -1; /* the class of the last mark that was kept behind the starter */
    for (size_t i = 0; i < p->count; i++) {
        const struct part one = a[i];
        if (starter != SIZE_MAX && (blocked < 0 || blocked < one.class)) {
            const int32_t c = composed(a[starter].c, one.c);
            if (c >= 0) {
                a[starter].c = c;
                a[starter].change = (int8_t)(a[starter].change + one.change - 1);
                continue;
            }
        }
        if (one.class == 0) {
            starter = to;
            blocked = -1;
        } else if (starter != SIZE_MAX)
            blocked = one.class;
        a[to++] = one;
    }
    p->count = to;
}

/* Whether no form changes the text: nothing below U+0300 is composed, nothing below U+00A0 decomposed. */
static bool stays(const struct aligned *from, bool compat, bool compose) {
    const unsigned char *s = (const unsigned char *)from->text.s;
    const unsigned char least = compose && !compat ? 0xCC : 0xC2; /* the lead byte of U+0300, of U+0080 */
    for (size_t i = 0; i < from->text.size; i++)
        if (s[i] >= least) return false;
    return true;
}

enum applied normal_form(heed_ctx *cx, bool compat, bool compose_again, const struct aligned *from,
                         struct aligned *to) {
    if (stays(from, compat, compose_again)) return UNCHANGED;
    struct parts p = {.cx = cx};
    struct transform t = {.cx = cx, .from = from, .to = to};
    bool ok = decompose(&p, compat, from->text.s, from->text.size);
    if (ok && compose_again) compose(&p);
    for (size_t i = 0; ok && i < p.count; i++) ok = transform_put(&t, p.part[i].c, p.part[i].change);
    heed_mem_free(cx, p.part);
    return ok ? CHANGED : FAILED;
}
