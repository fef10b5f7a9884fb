/* How much is read of each kind of file: a file is somebody else's word, and a small one may unfold to anything. */
#ifndef IO_LIMITS_H
#define IO_LIMITS_H

#include "heed/io.h"

#define IO_CONFIG_LIMIT    ((size_t)16 << 20)  /* config.json and its like */
#define IO_INDEX_LIMIT     ((size_t)64 << 20)  /* model.safetensors.index.json */
#define IO_TOKENIZER_LIMIT ((size_t)100000000) /* tokenizer.json */

/* heed_json_open for a kind of file. */
heed_json json_open_within(heed_ctx *cx, const char *path, size_t most);

#endif
