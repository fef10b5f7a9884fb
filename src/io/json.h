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
    char name[]; /* of the file, for sentences */
};

/* Takes over root, which may be NULL for want of memory; NONE and a failed context on trouble. */
heed_json json_document(heed_ctx *cx, const char *name, json_t *root);

#endif
