/* Generated text, printed as it comes. */
#ifndef CLI_CORE_TEXT_OUT_H
#define CLI_CORE_TEXT_OUT_H

#include "heed/generate.h"

struct text_stream {
    heed_ctx *cx;
    heed_string text; /* so far */
};
/* opts.on_text, of a struct text_stream */
bool stream_take(void *user, int64_t sequence, const char *text, size_t size);
void stream_say(heed_string *text); /* prints a text that comes before */

#endif
