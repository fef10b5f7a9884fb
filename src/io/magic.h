/* What a file is whose contents heed does not read, by its first bytes. */
#ifndef IO_MAGIC_H
#define IO_MAGIC_H

#include <stdbool.h>
#include <stddef.h>

struct magic {
    const char *name;   /* "an Excel workbook" */
    const char *remedy; /* "save it as CSV" */
    bool picture;       /* of a format that heed does not decode */
};
/* NULL: nothing that is known. `name` is the file's, whose ending says what is in a zip archive. */
const struct magic *magic_find(const char *name, const void *bytes, size_t size);

#endif
