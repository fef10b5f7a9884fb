/* A JSON document as json.c and json_write.c share it. jansson's types stay within these two. */
#ifndef IO_JSON_H
#define IO_JSON_H

#include "heed/io.h"

#include <jansson.h>

#define JSON_MAX_BYTES ((size_t)100000000)
#define JSON_MAX_DEPTH 128

struct heed_json_doc {
    heed_ctx *cx;
    json_t *root;
    size_t counted; /* bytes that jansson takes for it, as counted against the budget */
    char name[];    /* of the file, for sentences */
};

/* What jansson takes at most, with malloc's own bytes: it takes memory past the allocator hook. */
enum {
    JSON_ARRAY_BYTES = 144,
    JSON_OBJECT_BYTES = 240,
    JSON_STRING_BYTES = 136, /* a key or a value, and its text */
    JSON_NUMBER_BYTES = 32,
    JSON_PLACE_BYTES = 24, /* in an array */
};

/* Takes over root, which may be NULL for want of memory, and the bytes counted for it; NONE and a failed context on
 * trouble. */
heed_json json_document(heed_ctx *cx, const char *name, json_t *root, size_t counted);

#endif
