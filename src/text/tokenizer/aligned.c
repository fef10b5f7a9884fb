/* Text with origins: see the header. */
#include "text/tokenizer/aligned.h"
#include "base/checked.h"

#include <string.h>

void aligned_begin(struct aligned *to, const struct aligned *like) {
    to->text.size = 0;
    to->tracked = like->tracked;
    to->base = like->base;
    to->most = like->most;
}

void aligned_free(heed_ctx *cx, struct aligned *a) {
    heed_string_free(cx, &a->text);
    heed_mem_free(cx, a->from);
    *a = (struct aligned){0};
}

bool grown_too_far(heed_ctx *cx, const char *what, size_t most) {
    return heed_fail(cx, HEED_ERR_RANGE, "%s: the tokenizer makes the text grow beyond %zu bytes", what, most);
}

static bool make_room(heed_ctx *cx, struct aligned *a, size_t more) {
    size_t bytes;
    if (a->most > 0 && (a->text.size > a->most || more > a->most - a->text.size))
        return grown_too_far(cx, "encode", a->most);
    if (!a->tracked || a->text.size + more <= a->room) return true;
    const size_t room = 2 * (a->text.size + more) + 32;
    struct origin *larger = size_mul(room, sizeof *larger, &bytes) ? heed_mem_resize(cx, a->from, bytes) : NULL;
    if (!larger) return heed_fail(cx, HEED_ERR_MEMORY, "encode: the text is too long");
    a->from = larger;
    a->room = room;
    return true;
}

bool aligned_put(heed_ctx *cx, struct aligned *to, const char *text, size_t size, struct origin origin) {
    if (!make_room(cx, to, size)) return false;
    const size_t at = to->text.size;
    if (!heed_string_put(cx, &to->text, text, size)) return false;
    for (size_t i = 0; to->tracked && i < size; i++) to->from[at + i] = origin;
    return true;
}

bool aligned_put_plain(heed_ctx *cx, struct aligned *to, const char *text, size_t size, uint32_t base) {
    if (!make_room(cx, to, size)) return false;
    const size_t at = to->text.size;
    if (!heed_string_put(cx, &to->text, text, size)) return false;
    for (size_t i = 0, n; to->tracked && i < size; i += n) {
        const unsigned char lead = (unsigned char)text[i];
        n = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
        for (size_t k = 0; k < n && i + k < size; k++)
            to->from[at + i + k] = (struct origin){base + (uint32_t)i, base + (uint32_t)(i + n)};
    }
    return true;
}

bool aligned_copy(heed_ctx *cx, struct aligned *to, const struct aligned *from, size_t start, size_t end) {
    if (start >= end) return heed_string_put(cx, &to->text, "", 0);
    if (!make_room(cx, to, end - start)) return false;
    const size_t at = to->text.size;
    if (!heed_string_put(cx, &to->text, from->text.s + start, end - start)) return false;
    if (to->tracked) memcpy(to->from + at, from->from + start, (end - start) * sizeof *to->from);
    return true;
}

static void skip_character(struct transform *t) {
    const char *s = t->from->text.s + t->at, *end = t->from->text.s + t->from->text.size;
    if (s >= end) return;
    utf8_next(&s, end);
    t->at = (size_t)(s - t->from->text.s);
}

bool transform_put(struct transform *t, int32_t c, int change) {
    char text[4];
    const struct aligned *from = t->from;
    struct origin origin = {from->base, from->base};
    if (from->tracked && from->text.size > 0) {
        const size_t last = from->text.size - 1, at = change > 0 ? t->at - 1 : t->at;
        if (change <= 0 || t->at > 0) origin = from->from[at < last ? at : last];
    }
    for (int i = change; i <= 0; i++) skip_character(t);
    return aligned_put(t->cx, t->to, text, (size_t)utf8_put(text, c), origin);
}
