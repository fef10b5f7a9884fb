/* Text that grows. */
#include "plot/buffer.h"
#include "base/checked.h"

#include <stdio.h>
#include <string.h>

bool buffer_put(struct buffer *b, const void *data, size_t size) {
    if (heed_failed(b->cx)) return false;
    size_t need;
    if (!size_add(b->size, size, &need) || need >= SIZE_MAX / 4)
        return heed_fail(b->cx, HEED_ERR_RANGE, "plot: a text too long");
    if (need + 1 > b->room) {
        const size_t room = 2 * need + 256;
        char *more = heed_mem_resize(b->cx, b->data, room);
        if (!more) return false;
        b->data = more;
        b->room = room;
    }
    if (size > 0) memcpy(b->data + b->size, data, size);
    b->size = need;
    b->data[need] = '\0';
    return true;
}

bool buffer_text(struct buffer *b, const char *text) { return buffer_put(b, text, strlen(text)); }

bool buffer_repeat(struct buffer *b, const char *text, int64_t times) {
    for (; times > 0; times--)
        if (!buffer_text(b, text)) return false;
    return true;
}

bool buffer_format(struct buffer *b, const char *format, ...) {
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return buffer_text(b, text);
}

char *buffer_take(struct buffer *b) {
    if (heed_failed(b->cx) || !buffer_text(b, "")) {
        buffer_free(b);
        return NULL;
    }
    char *const data = b->data;
    *b = (struct buffer){.cx = b->cx};
    return data;
}

void buffer_free(struct buffer *b) {
    heed_mem_free(b->cx, b->data);
    *b = (struct buffer){.cx = b->cx};
}
