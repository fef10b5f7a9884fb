/* The normalizers of a tokenizer: lower case, Unicode's normal forms, and stripping. Each works on the whole text and
 * leaves UTF-8. */
#include "base/checked.h"
#include "text/tokenizer.h"

#include <utf8proc.h>

static bool put_lower(heed_ctx *cx, const char *text, size_t size, heed_string *to) {
    const char *end = text + size;
    while (text < end) {
        char lower[UTF8_LOWER];
        const int n = utf8_put_lower(lower, utf8_next(&text, end));
        if (!heed_string_put(cx, to, lower, (size_t)n)) return false;
    }
    return true;
}

static bool is_ascii(const char *text, size_t size) {
    for (size_t i = 0; i < size; i++)
        if ((unsigned char)text[i] >= 0x80) return false;
    return true;
}

static bool put_normal_form(heed_ctx *cx, enum normal_kind kind, const char *text, size_t size, heed_string *to) {
    static const int forms[] = {
        [NORMAL_NFC] = UTF8PROC_COMPOSE,
        [NORMAL_NFD] = UTF8PROC_DECOMPOSE,
        [NORMAL_NFKC] = UTF8PROC_COMPOSE | UTF8PROC_COMPAT,
        [NORMAL_NFKD] = UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT,
    };
    if (is_ascii(text, size)) return heed_string_put(cx, to, text, size);
    const utf8proc_option_t form = (utf8proc_option_t)(forms[kind] | UTF8PROC_STABLE);
    const utf8proc_uint8_t *from = (const utf8proc_uint8_t *)text;
    const utf8proc_ssize_t n = utf8proc_decompose(from, (utf8proc_ssize_t)size, NULL, 0, form);
    size_t bytes;
    if (n < 0 || !size_mul((size_t)n + 1, sizeof(utf8proc_int32_t), &bytes))
        return heed_fail(cx, HEED_ERR_RANGE, "encode: a text of %zu bytes cannot be normalised", size);
    utf8proc_int32_t *characters = heed_mem_new(cx, bytes); /* re-encoded in place, with a final 0 */
    bool ok = characters && utf8proc_decompose(from, (utf8proc_ssize_t)size, characters, n, form) == n;
    if (ok) {
        const utf8proc_ssize_t written = utf8proc_reencode(characters, n, form);
        ok = written >= 0 && heed_string_put(cx, to, (const char *)characters, (size_t)written);
    }
    heed_mem_free(cx, characters);
    return ok || heed_fail(cx, HEED_ERR_RANGE, "encode: a text of %zu bytes cannot be normalised", size);
}

static bool put_stripped(heed_ctx *cx, const struct normalizer *step, const char *text, size_t size, heed_string *to,
                         bool *cut) {
    const char *end = text + size, *first = step->left ? end : text, *last = step->right ? text : end;
    for (const char *s = text; s < end;) {
        const char *start = s;
        if (unicode_is_space(utf8_next(&s, end))) continue;
        if (step->left && first == end) first = start;
        if (step->right) last = s;
    }
    *cut = *cut || first > text;
    return heed_string_put(cx, to, first, last > first ? (size_t)(last - first) : 0);
}

static bool take_step(heed_ctx *cx, const struct normalizer *step, const char *text, size_t size, heed_string *to,
                      bool *cut) {
    to->size = 0;
    if (step->kind == NORMAL_LOWER) return heed_string_put(cx, to, "", 0) && put_lower(cx, text, size, to);
    if (step->kind == NORMAL_STRIP) return put_stripped(cx, step, text, size, to, cut);
    return put_normal_form(cx, step->kind, text, size, to);
}

bool normalise(heed_ctx *cx, const struct normalizer *steps, int n, const char *text, size_t size, heed_string *to,
               bool *cut) {
    heed_string other = {0};
    *cut = false;
    to->size = 0;
    bool ok = n > 0 ? take_step(cx, &steps[0], text, size, to, cut) : heed_string_put(cx, to, text, size);
    for (int i = 1; ok && i < n; i++) {
        ok = take_step(cx, &steps[i], to->s, to->size, &other, cut);
        const heed_string swap = *to;
        *to = other;
        other = swap;
    }
    heed_string_free(cx, &other);
    return ok;
}
