/* Batches, with the choice that heed_batches_open makes by itself. */
#ifndef DATA_BATCHES_H
#define DATA_BATCHES_H

#include "heed/dataset.h"

/* ahead: made by a thread of their own; else by heed_batches_next itself, to the same bits. */
heed_batches *batches_open(heed_ctx *cx, const heed_dataset *set, const heed_batches_opts *opts, bool ahead);

#endif
