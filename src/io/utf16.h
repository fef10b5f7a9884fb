/* UTF-16 with a byte order mark, as spreadsheets write "Unicode text", into UTF-8. */
#ifndef IO_UTF16_H
#define IO_UTF16_H

#include "heed/base.h"

bool utf16_is(const void *bytes, size_t size); /* by its byte order mark */
/* A new block with a 0 behind it, without the mark; NULL where it is not well-formed, with `name` in the sentence. */
char *utf16_decode(heed_ctx *cx, const char *name, const void *bytes, size_t size, size_t *length);

#endif
