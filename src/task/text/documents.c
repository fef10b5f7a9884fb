/* Texts with newlines in them: a file cut into documents. */
#include "base/checked.h"
#include "base/ctx.h"
#include "task/text/lm.h"
#include <string.h>

bool documents_put(heed_ctx *cx, struct documents *to, const char *text, size_t size) {
    if (to->count + 1 >= to->room) {
        const int64_t room = to->room ? 2 * to->room : 64;
        size_t bytes;
        int64_t *larger = size_mul((size_t)room, sizeof *larger, &bytes) ? heed_mem_resize(cx, to->start, bytes) : NULL;
        if (!larger) return heed_fail(cx, HEED_ERR_MEMORY, "lm: too many documents");
        to->start = larger;
        to->room = room;
    }
    to->start[to->count] = (int64_t)to->text.size;
    if (!heed_string_put(cx, &to->text, text, size) || !heed_string_put(cx, &to->text, "", 1)) return false;
    to->start[++to->count] = (int64_t)to->text.size;
    return true;
}

bool documents_take(heed_ctx *cx, struct documents *from, heed_lines *to) {
    (void)cx;
    *to = (heed_lines){from->text.s, from->start, from->count};
    *from = (struct documents){0};
    return true;
}

void documents_free(heed_ctx *cx, struct documents *d) {
    heed_string_free(cx, &d->text);
    heed_mem_free(cx, d->start);
    *d = (struct documents){0};
}

static bool is_blank(const char *s, size_t size) {
    size_t i = 0;
    while (i < size && strchr(" \t\r\n\f\v", s[i]) && s[i]) i++;
    return i == size;
}

/* Whether a line ends a document. */
static bool separates(const char *line, size_t size, const char *separator) {
    if (!separator) return is_blank(line, size);
    if (size > 0 && line[size - 1] == '\r') size--;
    return strlen(separator) == size && memcmp(line, separator, size) == 0;
}

bool documents_cut(heed_ctx *cx, const char *text, size_t size, const char *separator, struct documents *to) {
    const char *const end = text + size;
    for (const char *line = text, *first = text; line < end;) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        if (!stop) stop = end;
        const bool cut = separates(line, (size_t)(stop - line), separator), last = stop + 1 >= end;
        const char *to_here = cut ? line : stop;
        if (cut || last) {
            const size_t length = (size_t)(to_here - first),
                         kept = length > 0 && to_here[-1] == '\n' ? length - 1 : length;
            if (!is_blank(first, kept) && !documents_put(cx, to, first, kept)) return false;
            first = stop < end ? stop + 1 : end;
        }
        line = stop < end ? stop + 1 : end;
    }
    return !heed_failed(cx);
}

int64_t documents_kept(const heed_lines *d, double fraction) {
    const double most = (1 - fraction) * (double)d->start[d->count];
    int64_t n = 0;
    if (fraction <= 0 || d->count < 2) return d->count;
    while (n < d->count && (double)d->start[n] < most) n++;
    return n < 1 ? 1 : n == d->count ? n - 1 : n;
}
