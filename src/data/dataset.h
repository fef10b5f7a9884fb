/* Data sets from the inside. */
#ifndef DATA_DATASET_H
#define DATA_DATASET_H

#include "heed/dataset.h"

/* Whether a data set can be worked with; fails the context with a sentence that begins with `op` if not. */
bool dataset_check(heed_ctx *cx, const char *op, const heed_dataset *set);
int64_t column_elements(const heed_column *c); /* numbers of an example, of a ragged column of an element */
size_t column_bytes(const heed_column *c);     /* of such */
/* Example i as it is stored. */
heed_cell column_cell(const heed_column *c, int64_t i);

/* Whether an example of `width` still fits with `held` others that are `widest` wide into `tokens`, padding included.
 */
static inline bool group_fits(int64_t held, int64_t widest, int64_t width, int64_t tokens) {
    return held == 0 || (held + 1) * (width > widest ? width : widest) <= tokens;
}

#endif
