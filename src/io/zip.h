/* zip archives in memory, as numpy's .npz files are: members stored or deflated, found by the central directory. */
#ifndef IO_ZIP_H
#define IO_ZIP_H

#include "heed/base.h"

#define ZIP_NAME 256

struct zip {
    heed_ctx *cx;
    const char *name; /* in sentences */
    const unsigned char *data;
    size_t size;
    size_t at, left;       /* in the central directory: the next entry, and how many there are */
    bool opened;           /* the directory has been found */
    char member[ZIP_NAME]; /* of the current member, */
    int method;            /* and where and how it lies */
    uint32_t crc;
    size_t packed, unpacked, header;
};

/* The next member that is a file; false at the end, and where the context fails. */
bool zip_next(struct zip *z);
/* The bytes of the current member, unpacked and checked, to be freed; more than `limit` are refused. */
unsigned char *zip_read(struct zip *z, size_t limit);

#endif
