/* Commands whose result is pictures that a model has made: a sheet of them as PNG, and their numbers as npy. */
#ifndef CLI_USE_PICTURE_SHEET_H
#define CLI_USE_PICTURE_SHEET_H

#include "cli/core/options.h"
#include "heed/autoencode.h"

/* To be inserted in a command's table: --png, --npy, --zoom. */
extern const heed_field sheet_options[];
/* Whether there is a file to write, with an ending that fits; false after saying what is wrong. */
bool sheet_fits(const struct options *o);
/* Writes pixels (n, channels, height, width) as a sheet in rows of `columns`; what: "64 new pictures". */
bool sheet_write(const struct options *o, heed_ctx *cx, const heed_coder *coder, const float *pixels, int64_t n,
                 int64_t columns, const char *what);
/* The same to another path than that of --png. */
bool sheet_write_to(const struct options *o, heed_ctx *cx, const heed_coder *coder, const float *pixels, int64_t n,
                    int64_t columns, const char *path, const char *what);
/* The numbers alone, (n, channels, height, width). */
bool sheet_write_npy(const struct options *o, heed_ctx *cx, const heed_coder *coder, const float *pixels, int64_t n);

#endif
