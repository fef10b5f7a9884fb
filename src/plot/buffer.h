/* Text that grows, in memory of heed's own. After a failure, which the context remembers, it takes no more. */
#ifndef PLOT_BUFFER_H
#define PLOT_BUFFER_H

#include "heed/base.h"

struct buffer {
    heed_ctx *cx;
    char *data; /* ended by a 0 that is not counted, once anything was put */
    size_t size, room;
};

bool buffer_put(struct buffer *b, const void *data, size_t size);
bool buffer_text(struct buffer *b, const char *text);
bool buffer_repeat(struct buffer *b, const char *text, int64_t times);
bool buffer_format(struct buffer *b, const char *format, ...) HEED_PRINTF(2, 3); /* up to 255 bytes */
/* The text, which is now the caller's; NULL when the context has failed. The buffer is empty again. */
char *buffer_take(struct buffer *b);
void buffer_free(struct buffer *b);

#endif
