/* Dry contexts within a budget. What they plan is not taken; weights that a model loads in one are real memory. */
#ifndef BASE_DRY_H
#define BASE_DRY_H

#include "heed/base.h"

/* What a dry context has taken from the system, at most `most`; `needed` when that is not enough: at least so many. */
struct dry {
    size_t held, most, needed;
};
/* budget 0: any; a smaller one than a gigabyte is a gigabyte. `d` must outlive the context. */
heed_ctx *dry_open(struct dry *d, int threads, size_t budget);

#endif
