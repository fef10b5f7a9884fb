/* Arrays as the readers make them. */
#ifndef IO_ARRAY_H
#define IO_ARRAY_H

#include "heed/io.h"

/* More than this is refused of files that are read whole, gunzipped: a small file may unfold to anything. */
#define IO_READ_LIMIT ((size_t)8 << 30)

/* Elements and bytes of a shape. false when rank, type or a size makes no sense, or the product overflows. */
bool array_measure(heed_dtype dtype, int rank, const int64_t *shape, int64_t *count, size_t *bytes);

/* A new array in one block, its data (aligned to 64) undefined and writable through array_data; the shape must have
 * been measured. NULL and a failed context when there is no memory. */
heed_array *array_new(heed_ctx *cx, const char *name, heed_dtype dtype, int rank, const int64_t *shape);
static inline void *array_data(heed_array *a) { return (char *)a + ((sizeof *a + 63) & ~(size_t)63); }

/* Whether an array of a caller can be written; fails the context with a sentence that begins with `what` if not. */
bool array_check(heed_ctx *cx, const char *what, const heed_array *a, size_t *bytes);

/* "(2,3)" */
struct shape_text {
    char text[HEED_MAX_RANK * 21 + 3];
};
struct shape_text shape_text(int rank, const int64_t *shape);

#endif
