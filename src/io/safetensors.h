/* A safetensors handle: one file, or an index whose parts are files. */
#ifndef IO_SAFETENSORS_H
#define IO_SAFETENSORS_H

#include "base/file.h"
#include "heed/io.h"

#define ST_MAX_HEADER ((uint64_t)100000000)

struct st_tensor {
    heed_array array; /* data NULL while it has to be copied and nobody has asked */
    const unsigned char *bytes;
    size_t size;
    size_t begin, order; /* offset in the data; number in the header, then in the list that is given out */
    void *copy;
};

struct heed_safetensors {
    heed_ctx *cx;
    struct file_map map; /* nothing when the bytes are the caller's */
    size_t count;
    struct st_tensor **list;    /* in the order of the data, or of the index */
    struct st_tensor **by_name; /* sorted */
    /* One file. */
    struct st_tensor *tensors;
    heed_pair *metadata;
    size_t metadata_count;
    char *strings;
    /* An index. */
    heed_safetensors **parts;
    size_t part_count;
};

/* An empty handle. */
heed_safetensors *st_new(heed_ctx *cx);
/* Makes room for `count` tensors in list and by_name. */
bool st_make_lists(heed_safetensors *st, size_t count);
/* Once the list is filled: numbers it and makes by_name. */
void st_sort_names(heed_safetensors *st);
heed_safetensors *st_open_file(heed_ctx *cx, const char *path);
heed_safetensors *st_open_index(heed_ctx *cx, const char *path);

/* Begins a file with its header; the data of the arrays follow from the caller, in order (their own must not be NULL,
 * but are not read). */
struct file_writer *st_write_open(heed_ctx *cx, const char *path, const heed_array *arrays, int64_t n,
                                  const heed_pair *metadata, int64_t metadata_n);

const char *st_dtype_text(heed_dtype dtype); /* "F32" */

#endif
