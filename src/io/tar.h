/* tar archives in memory: ustar, with GNU's long names and the paths of pax headers. */
#ifndef IO_TAR_H
#define IO_TAR_H

#include "heed/base.h"

#define TAR_PATH 1024

struct tar {
    heed_ctx *cx;
    const char *name; /* in sentences */
    const unsigned char *data;
    size_t size, at;
    char path[TAR_PATH]; /* of the current file, */
    const unsigned char *file;
    size_t file_size;
};

/* The next regular file; false at the end, and where the context fails. */
bool tar_next(struct tar *t);

#endif
